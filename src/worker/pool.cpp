// The public face of a pool.
#include <pilfer/pool.hpp>

#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "base/cpus.hpp"
#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace {

void check(const char* field, std::size_t value, std::size_t least, std::size_t most,
           const char* besides = "") {
    if (value < least || value > most) {
        throw std::invalid_argument(std::string("pilfer: options.") + field + " must be from " +
                                    std::to_string(least) + " to " + std::to_string(most) + besides +
                                    ", not " + std::to_string(value));
    }
}

[[nodiscard]] options checked(options o) {
    if (o.workers == 0) {
        o.workers = os::automatic_workers();
    }
    check("workers", o.workers, 1, 4096, " (or 0 for automatic)");
    check("stack_size", o.stack_size, std::size_t{16} * 1024, std::size_t{1} << 30);
    check("max_contexts", o.max_contexts, 0, std::size_t{1} << 31);
    check("exposure", static_cast<std::size_t>(o.exposure), 0, 1);
    check("resume", static_cast<std::size_t>(o.resume), 0, 2);
    check("take_back", static_cast<std::size_t>(o.take_back), 0, 1);
    return o;
}

} // namespace

pool::pool(const options& o) : m_core(new detail::pool_core(checked(o))) {}

pool::~pool() {
    const detail::worker* w = detail::this_worker();
    if (w != nullptr && w->pool == m_core) {
        os::write_error("pilfer: a pool was destroyed by one of its own tasks\n");
        std::terminate();
    }
    delete m_core;
}

unsigned pool::workers() const noexcept { return m_core->size(); }

const options& pool::settings() const noexcept { return m_core->settings(); }

counters pool::counters() const noexcept { return m_core->sum(); }

counters pool::counters(unsigned i) const {
    if (i >= m_core->size()) {
        throw std::out_of_range("pilfer: this pool has no such worker");
    }
    return m_core->of(i);
}

void pool::shutdown(shutdown_mode mode) {
    if (mode != shutdown_mode::drain && mode != shutdown_mode::drop) {
        throw std::invalid_argument("pilfer: shutdown's mode must be drain or drop, not " +
                                    std::to_string(static_cast<int>(mode)));
    }
    m_core->shutdown(mode);
}

pool& pool::common() {
    // Never destroyed: tasks of other static objects may still use it, and a static destructor that
    // joins threads hangs in a library that is being unloaded.
    static pool* const shared = new pool(options{});
    return *shared;
}

namespace detail {

void submit(pool_core& p, submission* s) { p.accept(s); }

pool_core& common_core() { return pool::common().core(); }

void unit_begins(worker* w) noexcept { static_cast<scheduler*>(w)->units.begin(); }

void unit_ends(worker* w) noexcept { static_cast<scheduler*>(w)->units.end(); }

bool dropping(const worker* w) noexcept { return w->pool->dropping(); }

void count_dropped(worker* w, std::uint64_t tasks) noexcept {
    if (w != nullptr) {
        static_cast<scheduler*>(w)->count.dropped.add(tasks);
    }
}

void count_plain_call(worker* w) noexcept { static_cast<scheduler*>(w)->count.no_context.add(); }

namespace {

// Reached through functions that are never inlined, by link-time optimisation either: a caller would keep
// the address across a switch, and then use the variable of its former thread.
thread_local std::atomic<std::uint64_t> last_suppressed = 0;

} // namespace

void count_suppressed(std::uint64_t others) noexcept {
    if (worker* w = this_worker(); w != nullptr && others != 0) {
        static_cast<scheduler*>(w)->count.exceptions_suppressed.add(others);
    }
}

PILFER_NOINLINE void note_suppressed(std::uint64_t others) noexcept { last_suppressed.store(others, rlx); }

} // namespace detail

PILFER_NOINLINE std::uint64_t suppressed_exceptions() noexcept {
    return detail::last_suppressed.load(detail::rlx);
}

} // namespace v0
} // namespace pilfer
