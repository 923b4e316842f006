#include "guest/guest_slot.hpp"

#include <cxxabi.h>

#include <optional>

#include "base/os.hpp"
#include "context/rounding.hpp"
#include "guest/visiting.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

struct either_park : futex_park {
    static void wait_either(std::atomic<std::uint32_t>& a, std::uint32_t in_a, std::atomic<std::uint32_t>& b,
                            std::uint32_t in_b, std::uint64_t ns) noexcept {
        os::futex_wait_either(a, in_a, b, in_b, ns);
    }
};

} // namespace

guest_slot::guest_slot(scheduler& w, pool_core& p) noexcept : m_worker(w), m_pool(p) {}

void guest_slot::has_no_thread() noexcept {
    m_worker.theft.pool_has_started({});
    m_there.store(false, rlx);
    m_worker.current_activity.store(activity::resting, rlx);
}

/// Runs on the guest thread's own stack, on top of the frame that waits. The tasks run on contexts, as they
/// do on a worker.
void guest_slot::work_until(guest& v) noexcept {
    // The next lines overwrite words that contexts of former guests have read. These contexts have ended or
    // suspended, but ThreadSanitizer takes them for other threads. So the order is declared here.
    san::acquire(&m_pool);
    m_worker.switching.take_over();
    m_worker.appear();
    m_worker.thread_id.store(os::thread_id(), rlx);
    m_worker.exceptions = reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
    const exception_state mine = m_worker.exceptions->load(); // the guest may wait in a catch block
    m_worker.exceptions->store({nullptr, 0});
    const with_rounding modes(m_pool.modes()); // a new context inherits the modes of its thread
    m_worker.switching.enter_thread();
    san::release(static_cast<worker*>(&m_worker));
    m_guest = &v;
    m_worker.current_activity.store(activity::other, rel);
    m_there.store(true, rlx);
    auto* const g = m_pool.governor();
    if (g != nullptr) {
        g->work_begins();
    }
    // over() may call fork(). The child must not touch this slot.
    while (!v.over(v) && !m_pool.stopping() && !m_pool.is_forked_child()) {
        if (!m_worker.step() && !m_pool.stopping() && !m_worker.resting.looks_again()) {
            m_worker.resting.sleep();
            if (g != nullptr) {
                g->work_begins();
            }
        }
    }
    m_guest = nullptr;
    if (!m_pool.is_forked_child()) {
        // If this guest was woken or searched, another worker has to look instead.
        m_worker.resting.found_work(m_worker.index);
        m_worker.log.note_missed();
        leave_slot();
    }
    m_worker.exceptions->store(mine);
    m_worker.disappear();
}

bool guest_slot::is_stirred() noexcept { return m_guest != nullptr && m_guest->stirred(*m_guest); }

/// Hands the watch over descriptors to a sleeping worker, if there is one. For a guest with a word of its
/// own, which cannot sleep in the kernel's poll for long. False: this guest holds the watch, and polls at
/// times.
bool guest_slot::hands_watch_on() noexcept {
    if (m_pool.watch().held_by(m_worker.index)) {
        (void)m_pool.watch().get_up([this] { return m_pool.first_expected(); });
    }
    for (unsigned i = 0; i < m_pool.first_spare(); ++i) {
        if (m_pool.idle().wake(i, i)) {
            m_worker.watches_no_more();
            m_worker.woke(i);
            return true;
        }
    }
    // Two threads in the poll would consume each other's notification. So this guest polls only as the watch.
    return m_worker.watch_alarms() == never;
}

/// `io`: the descriptors that the guest has to watch, or null.
void guest_slot::rest_as_guest(std::atomic<std::uint32_t>& state, std::uint64_t ns, readiness* io) noexcept {
    constexpr std::uint32_t asleep = pool_core::pool_sleepers::asleep;
    std::atomic<std::uint32_t>* const word = m_guest->word;
    if (word == nullptr) {
        if (io != nullptr) {
            m_worker.sleep_at_descriptors(*io, ns); // the waker rings the notifier
        } else if (ns == 0) {
            os::futex_wait(state, asleep);
        } else {
            os::futex_wait_for(state, asleep, ns);
        }
        return;
    }
    rest_on_two<either_park>(
        m_pool.idle(), m_worker.index, state, *word, [&]() -> std::optional<std::uint64_t> {
            constexpr std::uint64_t soon =
                1'000'000; // ns: the largest delay before the guest sees the end of its own wait
            if (io == nullptr) {
                return ns;
            }
            if (!hands_watch_on()) {
                m_worker.sleep_at_descriptors(*io, ns != 0 && ns < soon ? ns : soon);
                return std::nullopt;
            }
            return 10 * soon; // that worker may run a task that does not end: then this guest watches again
        });
}

void guest_slot::leave_slot() noexcept {
    m_there.store(false, rlx);
    std_atom::fence_sc(); // pool.V2
    forward_inbox();
    m_worker.switching.give_contexts();
    m_worker.current_activity.store(activity::resting, rel);
    // Thieves can steal the tasks that its frames have left in the deque, as they do during a long task.
    const bool leaves_tasks = m_worker.deque.thief().has_any();
    if (leaves_tasks) {
        m_pool.left_tasks.leave(); // idle.S9
    }
    if (leaves_tasks || m_worker.anything_queued()) {
        m_pool.notify_any();
    }
    if (m_pool.stall().is_watched_by(m_worker.index)) {
        // The woken worker watches for a stall when it sleeps again.
        if (const unsigned other = m_pool.idle().wake_one(m_worker.index, m_worker.index);
            other != pool_core::pool_sleepers::nobody) {
            m_worker.woke(other);
        }
    }
    m_pool.worker_is_idle(); // pool.D2: the guest's last outstanding task has ended
}

/// The inbox of a slot without a guest: its contexts may resume on any worker.
void guest_slot::forward_inbox() noexcept {
    for (unsigned round = 0; !m_worker.inbox().empty(); ++round) {
        if (auto* n = m_worker.inbox().pop()) {
            m_pool.runnable.push(n);
            m_pool.notify_any();
        } else {
            std_atom::relax(round);
        }
    }
}

/// Calls the condition of run_until(), which is user code. It runs as on a helper thread that the pool's end
/// joins.
///
/// The condition may wait for a task that this slot was woken for. So another worker looks for that task
/// first. Tasks that an earlier guest left in this slot's deque are not covered: while the slot is taken,
/// has_left() is false for it.
bool guest_slot::ask_outside(bool (*ask)(void*), void* self) noexcept {
    m_worker.resting.found_work(m_worker.index);
    m_worker.disappear();
    const blocking_threads::helping here(m_pool);
    const bool yes = ask(self);
    m_worker.appear();
    return yes;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
