// task::suspend() and task::resume(), and what waits while a stack is suspended.
#include "scheduler.hpp"

#include <cstdio>
#include <cstdlib>

namespace tbb::detail::r1 {

namespace suspended {
std::atomic<int> count{0};

namespace {
struct blocked_thread {
    explicit blocked_thread(nap& n) noexcept : rest(n) {}
    nap& rest;
    blocked_thread* previous = nullptr;
    blocked_thread* next = nullptr;
};
short_lock lock;
chain<blocked_thread> blocked;
} // namespace

void begin() noexcept {
    if (count.fetch_add(1, std::memory_order_seq_cst) == 0) {
        // From now on they wait without a slot, which a resumed stack may need.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        sleepers::wake_slot_keepers();
        // A task that resumes the stack may need their threads.
        const guard held(lock);
        for (blocked_thread* b = blocked.first(); b != nullptr; b = b->next) {
            b->rest.wake();
        }
    }
}

void block_until_any(nap& n) noexcept {
    blocked_thread self(n);
    {
        const guard held(lock);
        blocked.push_back(self);
    }
    // begin() has the lock after its count: it sees this thread, or is seen here.
    any() ? n.sleep() : n.block();
    const guard held(lock);
    blocked.remove(self);
}

void forget_threads() noexcept {
    count.store(0, std::memory_order_relaxed);
    (void)lock.open_for_good();
    blocked = {};
}
} // namespace suspended

void suspend(suspend_callback_type callback, void* user) {
    const call inside;
    thread_data& t = inside.data();
    suspend_point_type& p = t.point;
    suspended::begin();
    p.resumed.reset();
    p.may_be_resumed.store(true, std::memory_order_release);
    // After a callback that throws no thread could know whether the stack may be resumed.
    [&]() noexcept { callback(user, &p); }();
    const auto wait = [](void* on) {
        auto& own = *static_cast<suspend_point_type*>(on);
        own.resumed.sleep();
        own.stack->part->resumed_here.fetch_sub(1, std::memory_order_relaxed);
    };
    if (p.resumed.woken()) {
        wait(&p);
    } else {
        t.step_out(true, wait, &p);
    }
    suspended::end();
}

void resume(suspend_point_type* p) {
    if (p == nullptr || !p->may_be_resumed.exchange(false, std::memory_order_acq_rel)) {
        std::fprintf(stderr, "libpilfer-tbb: tbb::task::resume() of a task that is not suspended\n");
        std::abort();
    }
    p->stack->part->resumed_here.fetch_add(1, std::memory_order_relaxed);
    p->resumed.wake();
}

suspend_point_type* current_suspend_point() { return &thread_data::here().point; }

} // namespace tbb::detail::r1
