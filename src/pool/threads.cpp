#include "pool/threads.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <pilfer/error.hpp>

#include "backend/helping.hpp"
#include "base/write.hpp"
#include "context/exceptions.hpp"
#include "context/overflow.hpp"
#include "platform/os.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr const char* usual_name = "pilfer";

struct keeper {
    keeper() = default;
    keeper(const keeper&) = delete;
    keeper& operator=(const keeper&) = delete;
    ~keeper() { gone = true; }
    bool gone = false;
};

/// Until the calling thread ends, the library is not unloaded.
PILFER_NOINLINE void keep_loaded() noexcept {
    // dlclose() leaves a library alone while any thread has such an object of it.
    // The C library records the destructor in memory of the thread. In a child of fork() that thread is gone.
    const san::never_lost note;
    static thread_local keeper mine;
    mine.gone = false;
}

[[noreturn]] void ends_program(const char* option, const std::exception_ptr& error) noexcept {
    char text[512]; // written at once: several may end it at the same time
    const auto write = [&](const char* what) {
        std::snprintf(text, sizeof text, "pilfer: options.%s has thrown: %.400s\n", option, what);
        os::write_error(text);
    };
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        write(e.what());
    } catch (...) {
        write("something that is no std::exception");
    }
    std::terminate();
}

/// Calls `f` as a thread outside of the pool, which is registered as one that the end of `p` waits for.
/// Returns the exception that `f` threw, or null.
[[nodiscard]] std::exception_ptr call(const std::function<void(unsigned)>& f, unsigned number,
                                      const pool_core& p) noexcept {
    const helping here(p);
    try {
        f(number);
    } catch (...) {
        return caught_error();
    }
    return nullptr;
}

void name_worker(scheduler& w, const options& o, int usual_nice) noexcept {
    char name[16];
    std::snprintf(name, sizeof name, "%s/%u", o.name.empty() ? usual_name : o.name.c_str(), w.index);
    os::thread_name(name);
    if (o.priority != 0) {
        w.has_priority.store(os::make_nice(usual_nice + o.priority), rlx);
    }
}

} // namespace

void name_helper(const options& o) noexcept {
    char name[16];
    std::snprintf(name, sizeof name, "%s/blocking", o.name.empty() ? usual_name : o.name.c_str());
    os::thread_name(name);
}

worker_threads::worker_threads(pool_core& p)
    : m_pool(p), m_seating(machine::seat(p.settings().workers, p.first_spare(), p.settings().pin)),
      m_wanted(p.settings().workers) {}

// ---- the thread of one worker -----------------------------------------------------------------

void* worker_threads::main(void* self) noexcept {
    auto& w = *static_cast<scheduler*>(self);
    pool_core& p = w.core();
    if (p.never_ends()) {
        keep_loaded();
    }
    p.threads.begin_thread(w);
    name_worker(w, p.settings(), p.threads.m_nice);
    const overflow::thread_stack alternate;
    if (p.threads.begins(w.index)) {
        p.threads.wait_for_start();
        if (w.index < p.first_spare()) {
            w.theft.pool_has_started(p.threads.m_seating.near.of(w.index));
        }
        p.backend().run(w);
        w.disappear();
        p.threads.ends(w.index);
    }
    return nullptr;
}

void worker_threads::begin_thread(scheduler& w) const noexcept {
    w.appear();
#if defined(PILFER_CHAOS)
    chaos::thread_is(m_number << 12 | w.index);
#endif
    m_pool.modes().set(); // this thread may have been made by a task that rounds in another way
    w.thread_id.store(os::thread_id(), rel);
    // First of all, so that what it touches first is near it.
    w.on_its_cpu.store(
        w.index < m_seating.cpu.size() && os::pin_thread(m_seating.cpu[w.index], m_seating.mask), rlx);
    w.exceptions = static_cast<exception_state*>(exceptions_of_thread());
    w.switching.enter_thread();
    san::release(static_cast<worker*>(&w)); // every task of this thread comes after its start
}

/// False: the pool cannot be made, and this thread ends.
bool worker_threads::begins(unsigned worker) noexcept {
    const auto& begin = m_pool.settings().on_start;
    if (!begin) {
        return true;
    }
    scheduler& w = m_pool.at(worker);
    w.disappear();
    const std::exception_ptr error = call(begin, worker, m_pool);
    if (!has_begun(error) && error != nullptr) {
        ends_program("on_start", error);
    }
    if (error == nullptr) {
        w.appear();
    }
    return error == nullptr;
}

/// Called after everything else that a worker does for the pool.
void worker_threads::ends(unsigned worker) noexcept {
    if (const auto& end = m_pool.settings().on_stop) {
        if (const std::exception_ptr error = call(end, worker, m_pool)) {
            ends_program("on_stop", error);
        }
    }
}

/// options.on_start has ended on one more thread, with an exception or null. False: the pool has already
/// started, so no thread waits for the exception.
bool worker_threads::has_begun(std::exception_ptr error) noexcept {
    if (m_started.load(acq) != 0) {
        return false;
    }
    if (error != nullptr) {
        const std::lock_guard lock(m_begun_mutex);
        if (m_refusal == nullptr) {
            m_refusal = std::move(error);
        }
    }
    m_begun.fetch_add(1, rel);
    os::futex_wake(&m_begun, 1);
    return true;
}

void worker_threads::wait_for_start() noexcept {
    while (m_started.load(acq) == 0) {
        os::futex_wait(m_started, 0);
    }
}

// ---- all threads ------------------------------------------------------------------------------

std::exception_ptr worker_threads::start() {
    const unsigned wanted = m_pool.settings().workers;
    m_threads = make_all();
    // Nothing may be thrown from here on: there are threads that use the pool.
    // Fewer threads than wanted are no error: the pool has as many workers as threads could be made.
    m_wanted.store(m_follows_quota && m_threads == wanted ? m_pool.settings().max_workers : m_threads, rlx);
    m_granted = m_follows_quota ? m_threads : UINT_MAX;
    if (m_pool.first_spare() == wanted) {
        m_seating.near.shrink(m_threads);
    }
    m_pool.has_threads(m_threads);
    m_pool.each_service([](service& s) { s.threads_are_made(); });
    m_pool.backend().shrink(m_threads);
    std::exception_ptr refusal = wait_until_begun();
    if (refusal != nullptr) {
        m_pool.stop(); // the threads that were made end at once
    }
    let_go();
    return refusal;
}

/// Throws std::system_error if there is no thread at all.
unsigned worker_threads::make_all() {
    const unsigned wanted = m_pool.settings().workers;
    for (unsigned i = wanted; i < m_pool.first_spare(); ++i) {
        m_pool.idle().seat_empty(i, true);
    }
    unsigned made = 0;
    int error = 0;
    // One try per thread: an EAGAIN may be momentary, so a first failure does not predict the others.
    for (unsigned tries = 0; tries < wanted; ++tries) {
        const int refused = m_pool.start_thread(made);
        if (refused == 0) {
            ++made;
        } else {
            error = refused;
        }
    }
    if (made == 0) {
        throw std::system_error(error, std::generic_category(), "pilfer: no thread can be made");
    }
    return made;
}

void worker_threads::let_go() noexcept {
    m_started.store(1, rel);
    os::futex_wake(&m_started, m_threads);
}

/// Waits until all threads have called options.on_start. Returns the first exception that a call threw, or
/// null.
std::exception_ptr worker_threads::wait_until_begun() noexcept {
    if (!m_pool.settings().on_start) {
        return nullptr;
    }
    for (;;) {
        const std::uint32_t begun = m_begun.load(acq);
        if (begun == m_threads) {
            break;
        }
        os::futex_wait(m_begun, begun);
    }
    const std::lock_guard lock(m_begun_mutex);
    return m_refusal;
}

void worker_threads::stop() noexcept {
    unsigned threads = 0;
    {
        const std::lock_guard lock(m_mutex);
        m_resized_no_more = true;
        threads = m_threads;
        m_pool.stop();
    }
    std_atom::fence_sc();
    m_pool.each_service([](service& s) { s.pool_stops(); });
    m_pool.backend().end_threads(threads);
}

// ---- more and fewer: protocol in README.md, "Fewer workers, and more" ------------------------------

unsigned worker_threads::resize(unsigned n) {
    m_pool.check_here();
    const unsigned most = m_pool.settings().max_workers;
    if (n < 1 || n > most) {
        throw std::invalid_argument("pilfer: a pool is resized to 1 to " + std::to_string(most) +
                                    " workers (options.max_workers), not to " + std::to_string(n));
    }
    if (m_pool.gate.is_closed()) {
        throw pool_closed();
    }
    const std::lock_guard lock(m_mutex);
    m_wanted.store(n, rlx);
    follow_limits();
    return m_pool.active();
}

void worker_threads::grant(unsigned n) noexcept {
    const std::lock_guard lock(m_mutex);
    m_granted = std::max(n, 1U);
    follow_limits();
}

/// Under the mutex.
void worker_threads::follow_limits() noexcept {
    if (!m_pool.backend().can_resize() || m_resized_no_more) {
        return;
    }
    const unsigned wanted = std::min(m_wanted.load(rlx), m_granted);
    // One try for each, as in make_all().
    for (unsigned tries = m_threads; tries < wanted; ++tries) {
        m_pool.idle().seat_empty(m_threads, false);
        if (m_pool.start_thread(m_threads) != 0) {
            m_pool.idle().seat_empty(m_threads, true);
        } else {
            ++m_threads;
        }
    }
    const unsigned now = std::min(wanted, m_threads);
    const unsigned before = m_pool.set_active(now);
    std_atom::fence_sc(); // idle.S7: the new count is published before the looks at retired workers
    for (unsigned i = before; i < now; ++i) {
        (void)m_pool.idle().unpark(i);
    }
    for (unsigned i = now; i < std::max(before, now); ++i) {
        // A sleeping worker wakes and retires. A busy worker yields at one of its next announcements.
        if (!m_pool.idle().wake(i, i)) {
            m_pool.at(i).deque.signal().set(signal_word<std_atom>::yield_request);
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
