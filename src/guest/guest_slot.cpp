#include "guest/guest_slot.hpp"

#include <optional>

#include "backend/helping.hpp"
#include "context/exceptions.hpp"
#include "context/rounding.hpp"
#include "guest/guest.hpp"
#include "guest/visiting.hpp"
#include "platform/os.hpp"
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

guest_slot::guest_slot(pool_core& p) noexcept : m_pool(p) {}

void guest_slot::open(scheduler& w) noexcept {
    m_worker = &w;
    w.theft.pool_has_started({});
    w.set_there(false);
    w.current_activity.store(activity::resting, rlx);
}

void guest_slot::work_begins() noexcept {
    m_pool.each_service([this](service& s) { s.work_begins(*m_worker); });
}

/// Runs on the guest thread's own stack, on top of the frame that waits. The tasks run on contexts, as they
/// do on a worker.
void guest_slot::work_until(guest& v) noexcept {
    // The next lines overwrite words that contexts of former guests have read. These contexts have ended or
    // suspended, but ThreadSanitizer takes them for other threads. So the order is declared here.
    san::acquire(&m_pool);
    m_worker->switching.take_over();
    m_worker->appear();
    m_worker->thread_id.store(os::thread_id(), rlx);
    m_worker->exceptions = static_cast<exception_state*>(exceptions_of_thread());
    const exception_state mine = m_worker->exceptions->load(); // the guest may wait in a catch block
    m_worker->exceptions->store({nullptr, 0});
    const with_rounding modes(m_pool.modes()); // a new context inherits the modes of its thread
    m_worker->switching.enter_thread();
    san::release(static_cast<worker*>(m_worker));
    m_guest = &v;
    m_worker->guest = this;
    m_worker->current_activity.store(activity::other, rel);
    m_worker->set_there(true);
    work_begins();
    // over() may call fork(). The child must not touch this slot.
    while (!v.over(v) && !m_pool.stopping() && !m_pool.is_forked_child()) {
        if (!m_worker->step() && !m_pool.stopping() && !m_worker->looking.looks_again()) {
            m_worker->resting.sleep();
            work_begins();
        }
    }
    m_guest = nullptr;
    m_worker->guest = nullptr;
    if (!m_pool.is_forked_child()) {
        // If this guest was woken or searched, another worker has to look instead.
        m_worker->looking.found_work(m_worker->index);
        m_worker->log.note_missed();
        leave();
    }
    m_worker->exceptions->store(mine);
    m_worker->disappear();
}

bool guest_slot::is_stirred() noexcept { return m_guest->stirred(*m_guest); }

void guest_slot::rest(std::atomic<std::uint32_t>& state, const rest_plan& plan) noexcept {
    constexpr std::uint32_t asleep = team::pool_sleepers::asleep;
    std::atomic<std::uint32_t>* const word = m_guest->word;
    if (word == nullptr) {
        if (plan.place != nullptr) {
            plan.place->sleep(*m_worker, plan.limit); // the waker rings the notifier
        } else if (plan.limit == 0) {
            os::futex_wait(state, asleep);
        } else {
            os::futex_wait_for(state, asleep, plan.limit);
        }
        return;
    }
    rest_on_two<either_park>(
        m_pool.idle(), m_worker->index, state, *word, [&]() -> std::optional<std::uint64_t> {
            constexpr std::uint64_t soon =
                1'000'000; // ns: the largest delay before the guest sees the end of its own wait
            if (plan.place == nullptr) {
                return plan.limit;
            }
            if (!plan.place->hand_on(*m_worker)) {
                plan.place->sleep(*m_worker, plan.limit != 0 && plan.limit < soon ? plan.limit : soon);
                return std::nullopt;
            }
            return 10 * soon; // that worker may run a task that does not end: then this guest watches again
        });
}

void guest_slot::leave() noexcept {
    m_worker->set_there(false);
    std_atom::fence_sc(); // pool.V2
    m_worker->forward_inbox();
    m_worker->reserve.give_contexts();
    m_worker->current_activity.store(activity::resting, rel);
    // Thieves can steal the tasks that its frames have left in the deque, as they do during a long task.
    const bool leaves_tasks = m_worker->deque.thief().has_any();
    if (leaves_tasks) {
        m_pool.left_tasks.leave(); // idle.S9
    }
    if (leaves_tasks || m_worker->anything_queued()) {
        m_pool.wakes.notify_any();
    }
    m_pool.each_service([this](service& s) { s.leaves(*m_worker); });
    m_pool.life.worker_is_idle(); // pool.D2: the guest's last outstanding task has ended
}

/// Calls the condition of run_until(), which is user code. It runs as on a helper thread that the pool's end
/// joins.
///
/// The condition may wait for a task that this slot was woken for. So another worker looks for that task
/// first. Tasks that an earlier guest left in this slot's deque are not covered: while the slot is taken,
/// has_left() is false for it.
bool guest_slot::ask_outside(bool (*ask)(void*), void* self) noexcept {
    m_worker->looking.found_work(m_worker->index);
    m_worker->disappear();
    const helping here(m_pool);
    const bool yes = ask(self);
    m_worker->appear();
    return yes;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
