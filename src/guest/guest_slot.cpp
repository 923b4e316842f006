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

/// On the visiting thread's own stack, on top of the frame that waits. Tasks run on contexts, as ever.
void guest_slot::work_until(guest& v) noexcept {
    // What contexts of former guests have looked at here is written anew: those that have ended, and those
    // that have suspended. ThreadSanitizer takes them for strangers to their thread.
    san::acquire(&m_pool);
    m_worker.switching.take_over();
    m_worker.appear();
    m_worker.thread_id.store(os::thread_id(), rlx);
    m_worker.exceptions = reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
    const exception_state mine = m_worker.exceptions->load(); // it may wait in a catch block
    m_worker.exceptions->store({nullptr, 0});
    const with_rounding modes(m_pool.modes()); // contexts begin with what they find
    m_worker.switching.enter_thread();
    san::release(static_cast<worker*>(&m_worker));
    m_guest = &v;
    m_worker.current_activity.store(activity::other, rel);
    m_there.store(true, rlx);
    auto* const g = m_pool.governor();
    if (g != nullptr) {
        g->work_begins();
    }
    // The question may fork(): in the child nothing here may be touched.
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
        // What a token or a search stands for: another one looks in this one's place.
        m_worker.resting.found_work(m_worker.index);
        m_worker.log.note_missed();
        leave_slot();
    }
    m_worker.exceptions->store(mine);
    m_worker.disappear();
}

bool guest_slot::is_stirred() noexcept { return m_guest != nullptr && m_guest->stirred(*m_guest); }

/// Descriptors are the watch's to look at. One that is released by a word other than its own leaves that to a
/// worker, where one sleeps; else it looks now and then.
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
    // Two at the descriptors would take each other's notifier. So this one sleeps there as the watch or not
    // at all.
    return m_worker.watch_alarms() == never;
}

/// `io`: what it has to watch over, null if it does not.
void guest_slot::rest_as_guest(std::atomic<std::uint32_t>& state, std::uint64_t ns, readiness* io) noexcept {
    constexpr std::uint32_t asleep = pool_core::pool_sleepers::asleep;
    std::atomic<std::uint32_t>* const word = m_guest->word;
    if (word == nullptr) {
        if (io != nullptr) {
            m_worker.sleep_at_descriptors(*io, ns); // whoever wakes it rings
        } else if (ns == 0) {
            os::futex_wait(state, asleep);
        } else {
            os::futex_wait_for(state, asleep, ns);
        }
        return;
    }
    rest_on_two<either_park>(
        m_pool.idle(), m_worker.index, state, *word, [&]() -> std::optional<std::uint64_t> {
            constexpr std::uint64_t soon = 1'000'000; // ns: so late its own wait may be seen to be over
            if (io == nullptr) {
                return ns;
            }
            if (!hands_watch_on()) {
                m_worker.sleep_at_descriptors(*io, ns != 0 && ns < soon ? ns : soon);
                return std::nullopt;
            }
            return 10 * soon; // the other one may find a task that does not end: then this one watches again
        });
}

void guest_slot::leave_slot() noexcept {
    m_there.store(false, rlx);
    std_atom::fence_sc(); // pool.V2
    forward_inbox();
    m_worker.switching.give_contexts();
    m_worker.current_activity.store(activity::resting, rel);
    // What its frames have left in the deque is within reach of everybody, as behind a long task.
    const bool leaves_tasks = m_worker.deque.thief().has_any();
    if (leaves_tasks) {
        m_pool.left_tasks.leave(); // idle.S9
    }
    if (leaves_tasks || m_worker.anything_queued()) {
        m_pool.notify_any();
    }
    if (m_pool.stall().is_watched_by(m_worker.index)) {
        // Whoever lies down next watches over a standstill.
        if (const unsigned other = m_pool.idle().wake_one(m_worker.index, m_worker.index);
            other != pool_core::pool_sleepers::nobody) {
            m_worker.woke(other);
        }
    }
    m_pool.worker_is_idle(); // pool.D2: its last unit has ended
}

/// Of a seat where nobody sits: what has to go on here goes on anywhere.
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

/// For run_until(): code of the user, as on a thread outside whose end the pool's own would wait for. It may
/// wait for what a wake-up was about that came here: somebody else looks after that. Not for what lies in
/// this seat's deque since an earlier visit: a taken seat is nobody's who has gone.
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
