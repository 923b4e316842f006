// The public face of a pool.
#include <pilfer/pool.hpp>
#include <pilfer/yield.hpp>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/raw_lock.hpp>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "backend/helping.hpp"
#include "backend/make.hpp"
#include "balance/text.hpp"
#include "base/write.hpp"
#include "machine/plan.hpp"
#include "platform/cpus.hpp"
#include "platform/os.hpp"
#include "platform/pressure.hpp"
#include "platform/signal_thread.hpp"
#include "pool/environment.hpp"
#include "pool/figures.hpp"
#include "pool/pool_core.hpp"
#include "pool/stand_in.hpp"

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

constexpr std::size_t least_traced = 64;
constexpr std::size_t most_traced = std::size_t{1} << 24;
constexpr std::size_t traced_by_environment = std::size_t{1} << 16;

[[nodiscard]] detail::pool_core::paths written_files(bool only_workers = false) noexcept {
    if (os::has_added_rights()) {
        return {};
    }
    return {std::getenv("PILFER_TRACE"), std::getenv("PILFER_PROFILE"), std::getenv("PILFER_PROFILE_GRAPH"),
            only_workers ? nullptr : std::getenv("PILFER_ADVICE")};
}
[[nodiscard]] bool profiled(const detail::pool_core::paths& files) noexcept {
    return files.profile != nullptr || files.graph != nullptr;
}

/// A recording pool has one worker. If the environment asks for recording, it overrules options.workers. If
/// the program asks for it with more workers, the contradiction is an error.
void choose_profile(options& o, const detail::pool_core::paths& files) {
    if (profiled(files)) {
        o.debug.profile = true;
    } else if (o.debug.profile && o.workers > 1) {
        throw std::invalid_argument(
            "pilfer: options.debug.profile records one worker: options.workers must be 0 or "
            "1 with it, not " +
            std::to_string(o.workers));
    }
    if (o.debug.profile) {
        o.workers = 1;
    }
}

/// If options.backend is automatic, PILFER_BACKEND chooses the backend.
void choose_backend(options& o) {
    check("backend", static_cast<std::size_t>(o.backend), 0, 2);
    if (o.backend == backend::automatic) {
        const char* name = std::getenv("PILFER_BACKEND");
        const std::string_view word = name != nullptr ? name : "work_stealing";
        if (word != "work_stealing" && word != "one_lock") {
            throw std::invalid_argument("pilfer: PILFER_BACKEND must be work_stealing or one_lock, not \"" +
                                        std::string(word) + '"');
        }
        o.backend = word == "one_lock" ? backend::one_lock : backend::work_stealing;
    }
    if (o.backend != backend::one_lock) {
        return;
    }
    if (o.debug.profile) {
        throw std::invalid_argument("pilfer: a pool with backend one_lock cannot record: "
                                    "options.debug.profile and PILFER_PROFILE need "
                                    "work_stealing");
    }
    if (o.resume == resume::elsewhere) {
        throw std::invalid_argument(
            "pilfer: options.resume must not be elsewhere with backend one_lock, whose tasks never move");
    }
    if (o.when_full != when_full::grow) {
        throw std::invalid_argument(
            "pilfer: options.when_full must be grow with backend one_lock, whose queue has no bound");
    }
    o.resume = resume::own_thread;
}

/// A frame that began in a guest slot must be able to resume anywhere. A pool on one lock has no guest slots
/// and blocks its guests.
void check_attachable(const options& o) {
    if (o.attachable != 0 && o.resume != resume::anywhere && o.backend != backend::one_lock) {
        throw std::invalid_argument("pilfer: options.attachable must be 0 unless options.resume is anywhere");
    }
}

/// Rejects or disables options that need more threads than the workers, if options.only_workers is set. The
/// environment is not read in that case: see choose_governor() and written_files().
void choose_helpers(options& o) {
    if (!o.only_workers) {
        return;
    }
    if (o.governor == governing::on || o.advice || o.debug.dump_signal != 0) {
        throw std::invalid_argument("pilfer: options.governor must not be on, and options.advice and "
                                    "options.debug.dump_signal must be unset, with options.only_workers");
    }
    o.max_extra_workers = 0;
    o.governor = governing::off;
}

void choose_governor(options& o) {
    if (o.governor == governing::automatic) {
        const char* text = std::getenv("PILFER_GOVERNOR");
        const std::string_view word = text != nullptr ? text : "off";
        if (word != "off" && word != "on") {
            throw std::invalid_argument("pilfer: PILFER_GOVERNOR must be off or on, not \"" +
                                        std::string(word) + '"');
        }
        o.governor = word == "on" ? governing::on : governing::off;
    }
    if (o.governor == governing::on && !os::waited_ns("", os::thread_id())) {
        o.governor = governing::off;
    }
}

[[nodiscard]] options checked(const options& asked, const detail::pool_core::paths& files) {
    options o = asked;
    if (o.workers != 0) {
        check("workers", o.workers, 1, 4096, " (or 0 for automatic)");
    }
    choose_profile(o, files);
#if defined(PILFER_RACE)
    o.workers = 1; // the order of the run is that of a serial program
    o.max_workers = 1;
#endif
    if (o.workers == 0) {
        o.workers = os::automatic_workers();
        if (o.max_workers != 0) {
            o.workers = std::min(o.workers, o.max_workers);
        }
    }
    if (o.stack_size == 0) {
        o.stack_size = detail::stack_from(std::getenv("PILFER_STACK"));
    }
    check("stack_size", o.stack_size, detail::least_stack, detail::most_stack, " (or 0 for automatic)");
    check("spin", static_cast<std::size_t>(o.spin), 0, 3);
    if (o.spin == idle::automatic) {
        o.spin = detail::spin_from(std::getenv("PILFER_SPIN"));
    }
    check("max_extra_workers", o.max_extra_workers, 0, 4096);
    if (o.max_workers == 0) {
        o.max_workers = o.workers;
    }
    check("max_workers", o.max_workers, o.workers, 4096, " (or 0 for as many as the pool begins with)");
    check("attachable", o.attachable, 0, 64);
    check("max_contexts", o.max_contexts, 0, std::size_t{1} << 31);
    check("balance.exposure", static_cast<std::size_t>(o.balance.exposure), 0, 6);
    check("balance.victim", static_cast<std::size_t>(o.balance.victim), 0, 5);
    check("balance.steal.what", static_cast<std::size_t>(o.balance.steal.what), 0, 4);
    check("balance.steal.denominator", o.balance.steal.denominator, 1, 65'536);
    check("balance.steal.numerator", o.balance.steal.numerator, 1, o.balance.steal.denominator);
    check("balance.threshold.at_least", o.balance.threshold.at_least, 1, std::size_t{1} << 62);
    check("balance.threshold.below", o.balance.threshold.below, 1, std::size_t{1} << 62);
    check("balance.threshold.count", o.balance.threshold.count, 0, std::size_t{1} << 62);
    check("balance.threshold.denominator", o.balance.threshold.denominator, 1, 65'536);
    check("balance.threshold.numerator", o.balance.threshold.numerator, 1, o.balance.threshold.denominator);
    check("balance.eager", o.balance.eager, 1, 65'536);
    balance::resolve(o.balance, std::getenv("PILFER_BALANCE"));
    check("pin", static_cast<std::size_t>(o.pin), 0, 3);
    if (o.pin == pinning::automatic) {
        o.pin = machine::pinning_from(std::getenv("PILFER_PIN"));
    }
    check("governor", static_cast<std::size_t>(o.governor), 0, 2);
    choose_helpers(o);
    choose_governor(o);
    detail::check_thread_name(o.name);
    if (o.priority < -20 || o.priority > 19) {
        throw std::invalid_argument("pilfer: options.priority must be from -20 to 19, not " +
                                    std::to_string(o.priority));
    }
    check("resume", static_cast<std::size_t>(o.resume), 0, 2);
    choose_backend(o);
    check_attachable(o);
    check("balance.unshare", static_cast<std::size_t>(o.balance.unshare), 0, 1);
    if (o.debug.trace_events != 0) {
        check("debug.trace_events", o.debug.trace_events, least_traced, most_traced,
              " and a power of two (or 0 for none)");
        if (!std::has_single_bit(o.debug.trace_events)) {
            throw std::invalid_argument("pilfer: options.debug.trace_events must be a power of two from " +
                                        std::to_string(least_traced) + " to " + std::to_string(most_traced) +
                                        ", not " + std::to_string(o.debug.trace_events));
        }
    } else if (files.trace != nullptr) {
        o.debug.trace_events = traced_by_environment;
    }
    o.debug.count_all = o.debug.count_all || detail::checked_build; // the sums are checked at the end
    check("queue_capacity", o.queue_capacity, 1, std::size_t{1} << 31);
    check("when_full", static_cast<std::size_t>(o.when_full), 0, 2);
    check("debug.stall_report", o.debug.stall_report, 0, 86'400'000);
    if (o.debug.dump_signal != 0 && !os::usable_signal(o.debug.dump_signal)) {
        throw std::invalid_argument(
            "pilfer: options.debug.dump_signal must be 0 or, from 1 to 64, a signal that can "
            "be caught and is no fault, not " +
            std::to_string(o.debug.dump_signal));
    }
    return o;
}

/// True while the thread is inside make_common(), which does not suspend. A relaxed atomic, because two tasks
/// of one thread may read it, and ThreadSanitizer takes them for different threads.
constinit thread_local std::atomic<bool> makes_common{false};

} // namespace

pool::pool(const options& o) {
    const auto files = written_files(o.only_workers);
#if defined(PILFER_TEST)
    if (detail::stand_in != nullptr && detail::test_backend == nullptr) {
        m_core = &detail::stand_in->begins(*this, checked(o, files));
        return;
    }
#endif
    auto core = detail::make_pool(checked(o, files), files, o, makes_common.load(detail::rlx));
    if (os::is_static_in_program(this)) {
        core->must_note_exit();
    }
    m_core = core.release();
}

pool::~pool() {
#if defined(PILFER_TEST)
    if (detail::stood_for(*this) != nullptr) {
        detail::stand_in->ends(*this);
        return;
    }
#endif
    if (m_core->is_forked_child()) {
        m_core->abandon();
        return;
    }
    const detail::worker* w = detail::this_worker();
    const bool is_own = w != nullptr && w->pool == m_core;
    // A task has called exit():
    // 1. The task's thread cannot join itself.
    // 2. It must not wait for frames of another pool: a frame that waits for this task never resumes.
    // 3. So static pools of the program stay, as the common pool does.
    // 4. A static pool of a library may be about to be unloaded. It ends unless the task is its own.
    const bool in_task = w != nullptr || detail::helping::is_for_any();
    if (is_own ? os::is_static(this) : in_task && os::exit_has_begun() && os::is_static_in_program(this)) {
        return;
    }
    if (is_own) {
        os::write_error("pilfer: a pool was destroyed by one of its own tasks\n");
        std::terminate();
    }
    delete m_core;
}

unsigned pool::workers() const noexcept {
    detail::race::cannot_follow("the number of workers, of which a pool has one here");
#if defined(PILFER_TEST)
    if (const options* const asked = detail::stood_for(*this)) {
        return asked->workers;
    }
#endif
    return m_core->active();
}

unsigned pool::resize(unsigned n) { return m_core->threads.resize(n); }

const options& pool::settings() const noexcept {
#if defined(PILFER_TEST)
    if (const options* const asked = detail::stood_for(*this)) {
        return *asked;
    }
#endif
    return m_core->settings();
}

work_span pool::profile() const {
    const std::optional<work_span> figures = m_core->backend().figures();
    if (!figures) {
        throw usage_error("pilfer: this pool does not record: see options.debug.profile");
    }
    return *figures;
}

counters pool::counters() const noexcept { return detail::figures::sum(*m_core); }

counters pool::counters(unsigned i) const {
#if defined(PILFER_TEST)
    // One worker stands for all of them.
    if (const options* const asked = detail::stood_for(*this); asked != nullptr && i < asked->workers) {
        return detail::figures::of(m_core->at(0));
    }
#endif
    if (i >= m_core->size()) {
        throw std::out_of_range("pilfer: this pool has no such worker");
    }
    return detail::figures::of(m_core->at(i));
}

void pool::shutdown(shutdown_mode mode) {
    if (mode != shutdown_mode::drain && mode != shutdown_mode::drop) {
        throw std::invalid_argument("pilfer: shutdown's mode must be drain or drop, not " +
                                    std::to_string(static_cast<int>(mode)));
    }
#if defined(PILFER_TEST)
    if (detail::stood_for(*this) != nullptr) {
        detail::stand_in->drains();
        return;
    }
#endif
    m_core->shutdown(mode);
#if defined(PILFER_RACE)
    detail::race::acquire(detail::race::detached_tasks);
#endif
}

namespace {

// Not a static of the function: in a child of fork() it is reset, even if another thread was making the pool.
constinit std::atomic<pool*> made_common{nullptr};

/// Never freed. In a child of fork() only `older` refers to the common pools of parents; without it
/// LeakSanitizer would report them.
struct common_pool : pool {
    common_pool* older = nullptr;
};
constinit common_pool* newest_common = nullptr; // under the lock

constinit detail::raw_lock<detail::std_atom, detail::futex_park> making_common;

PILFER_COLD pool& make_common() {
    if (const detail::worker* w = detail::this_worker(); w != nullptr) {
        w->pool->check_here(); // in a child of fork() no thread would run a task of that pool
    }
    struct making {
        making() noexcept {
            making_common.lock();
            makes_common.store(true, detail::rlx);
        }
        making(const making&) = delete;
        making& operator=(const making&) = delete;
        ~making() {
            makes_common.store(false, detail::rlx);
            making_common.unlock();
        }
    };
    const making now;
    if (pool* const p = made_common.load(std::memory_order_relaxed)) {
        return *p;
    }
    auto* const p = new common_pool;
    p->older = std::exchange(newest_common, p);
    for (unsigned round = 0; p->core().at(0).thread_id.load(detail::acq) == 0; ++round) {
        detail::std_atom::relax(round); // this worker has made sure that the library stays loaded
    }
    made_common.store(p, std::memory_order_release);
    // This pool never ends, so its files are written at the end of the program.
    if (const auto files = written_files(); files.trace != nullptr || profiled(files)) {
        std::atexit([] {
            if (detail::pool_core* const core = detail::common_core_if_made()) {
                core->write_files();
            }
        });
    }
    return *p;
}

} // namespace

namespace detail {

pool_core* common_core_if_made() noexcept {
    pool* const p = made_common.load(std::memory_order_acquire);
    return p != nullptr ? &p->core() : nullptr;
}

void forget_common_pool() noexcept {
    made_common.store(nullptr, std::memory_order_relaxed);
    ::new (&making_common) raw_lock<std_atom, futex_park>;
}

} // namespace detail

pool& pool::common() {
    // Never destroyed, because tasks of other static objects may still use it. Also, a static destructor that
    // joins threads hangs in a library that is being unloaded.
    if (pool* const p = made_common.load(std::memory_order_acquire)) [[likely]] {
        return *p;
    }
    return make_common();
}

namespace detail {

void submit(pool_core& p, submission* s) {
    const worker* w = this_worker();
    p.gate.accept(s, w != nullptr ? static_cast<const scheduler*>(w)->level() : priority::normal);
}
void submit(pool_core& p, submission* s, priority level) {
    if (level == priority::automatic) {
        submit(p, s);
        return;
    }
    const worker* w = this_worker();
    if (w != nullptr && w->pool == &p) {
        p.check_here();
        p.gate.accept_inside(s, level);
    } else {
        p.gate.accept(s, level);
    }
}

void check(const task_options& o) {
    if (static_cast<unsigned>(o.priority) > static_cast<unsigned>(priority::automatic)) {
        throw std::invalid_argument("pilfer: a priority must be high, normal, low or automatic, not " +
                                    std::to_string(static_cast<unsigned>(o.priority)));
    }
    if (o.weight < 1 || o.weight > task_options::most_weight) {
        throw std::invalid_argument("pilfer: a weight must be from 1 to " +
                                    std::to_string(task_options::most_weight) + ", not " +
                                    std::to_string(o.weight));
    }
}

void check_child(const task_options& o) {
    check(o);
    if (o.priority != priority::automatic) {
        throw std::invalid_argument("pilfer: a child of a scope has no priority: it is in a deque");
    }
}

pool_core& common_core() { return pool::common().core(); }

bool is_forked_child(const pool_core& p) noexcept { return p.is_forked_child(); }

namespace {

// Accessed only through functions that are never inlined, not even by link-time optimisation. Otherwise a
// caller would keep the address across a switch, and then use the variable of its former thread.
thread_local std::atomic<std::uint64_t> last_suppressed = 0;

} // namespace

void count_suppressed(std::uint64_t others) noexcept {
    if (worker* w = this_worker(); w != nullptr && others != 0) {
        static_cast<scheduler*>(w)->count.exceptions_suppressed.add(others);
    }
}

PILFER_NOINLINE void note_suppressed(std::uint64_t others) noexcept { last_suppressed.store(others, rlx); }

} // namespace detail

void yield() noexcept {
    if (detail::worker* w = detail::this_worker()) {
        detail::backend_of(w).yield(*static_cast<detail::scheduler*>(w));
    } else {
        std::this_thread::yield();
    }
}

PILFER_NOINLINE std::uint64_t suppressed_exceptions() noexcept {
    return detail::last_suppressed.load(detail::rlx);
}

} // namespace v0
} // namespace pilfer
