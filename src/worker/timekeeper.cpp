#include "worker/timekeeper.hpp"

#include <algorithm>
#include <new>

#include <pilfer/timer.hpp>

#include "base/clock.hpp"
#include "base/os.hpp"
#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

struct keeper_state {
    raw_lock<std_atom, futex_park> life; // of the thread: taken before `pools`
    raw_lock<std_atom, futex_park> pools;
    pool_core* first = nullptr; // under `pools`
    std::uintptr_t thread = 0;  // under `life`
    bool has_thread = false;    // under `life`
    std::atomic<bool> stop{false};
    time_keeping<std_atom, futex_park> keeping;
    std::atomic<std::uint64_t> wake_ups{0};
    submission_queue<std_atom>* soon = nullptr; // of the thread
};

constinit keeper_state state;
constinit thread_local bool keeps_time = false;

class all_kept {
public:
    all_kept() noexcept { state.pools.lock(); }
    ~all_kept() { state.pools.unlock(); }
    all_kept(const all_kept&) = delete;
    all_kept& operator=(const all_kept&) = delete;

    template <class F>
    void each(F f) noexcept {
        for (pool_core* p = state.first; p != nullptr; p = p->kept.next) {
            f(*p);
        }
    }
};

/// When the first alarm is due that no worker watches over.
[[nodiscard]] instant first_unwatched() noexcept {
    instant first = never;
    all_kept().each([&first](pool_core& p) {
        first = std::min({first, p.first_unwatched(), p.blocked().due()});
    });
    return first;
}

void fire_unwatched() noexcept {
    all_kept().each([t = now()](pool_core& p) {
        p.fire_unwatched(t);
        p.blocked().look(p, t);
    });
}

void run_what_is_due() noexcept {
    while (auto* const n = state.soon->pop()) {
        static_cast<timed_task*>(static_cast<submission*>(n))->run_by_timekeeper();
    }
}

void* keep_time(void* /*unused*/) noexcept {
    keeps_time = true;
    submission_queue<std_atom> soon;
    state.soon = &soon;
    os::thread_name("pilfer/time");
    const auto look = [] {
        state.wake_ups.fetch_add(1, rlx);
        fire_unwatched();
        run_what_is_due(); // without the lock: code of the user, which may end pools
    };
    const auto sleep = [](std::atomic<std::uint32_t>& word, std::uint32_t expected, instant due) {
        if (state.stop.load(acq)) {
            return;
        }
        if (due == never) {
            os::futex_wait(word, expected);
            return;
        }
        const instant until = due + timekeeper::patience;
        if (const instant t = now(); t < until) {
            os::futex_wait_for(word, expected, until - t);
        }
    };
    while (!state.stop.load(acq)) {
        state.keeping.look_and_sleep(look, &first_unwatched, sleep);
    }
    return nullptr;
}

/// Under `life`.
[[nodiscard]] bool has_thread() noexcept {
    if (!state.has_thread) {
        state.stop.store(false, rlx);
        state.has_thread = os::thread_start(state.thread, &keep_time, nullptr) == 0;
    }
    return state.has_thread;
}

[[nodiscard]] bool is_listed(pool_core& p) noexcept {
    if (p.kept.listed.load(rlx)) {
        return true;
    }
    const std::lock_guard lock(state.life);
    if (!has_thread()) {
        return false; // no thread can be had now, but perhaps next time
    }
    state.pools.lock();
    if (!p.kept.listed.load(rlx)) {
        p.kept.next = state.first;
        state.first = &p;
        p.kept.listed.store(true, rlx);
    }
    state.pools.unlock();
    return true;
}

[[nodiscard]] bool unlink(pool_core& p) noexcept {
    state.pools.lock();
    pool_core** at = &state.first;
    while (*at != &p) {
        at = &(*at)->kept.next;
    }
    *at = p.kept.next;
    p.kept.listed.store(false, rlx);
    const bool last = state.first == nullptr;
    state.pools.unlock();
    return last;
}

} // namespace

namespace timekeeper {

void expect(pool_core& p, instant due) noexcept {
    if (const os::time_source* clock = os::current_time_source(); clock != nullptr && clock->now != nullptr) {
        return; // a test's clock, which stands still while all workers are busy
    }
    if (p.has_no_helpers()) {
        return; // the alarm waits for a worker
    }
    if (!is_listed(p)) {
        return;
    }
    state.keeping.expect(due == any_time ? now() + io_interval : due);
}

void forget(pool_core& p) noexcept {
    if (!p.kept.listed.load(rlx)) {
        return;
    }
    const std::lock_guard lock(state.life);
    if (unlink(p) && !keeps_time) { // a function that it runs may end the last pool: then it stays
        state.stop.store(true, rel);
        state.keeping.call();
        os::thread_join(state.thread);
        state.has_thread = false;
    }
}

bool is_here() noexcept { return keeps_time; }

void run_soon(timed_task& t) noexcept { state.soon->push(&t); }

std::uint64_t wake_ups() noexcept { return state.wake_ups.load(rlx); }

void forget_all() noexcept {
    ::new (&state) keeper_state;
    keeps_time = false;
}

} // namespace timekeeper

instant pool_core::first_unwatched() const noexcept {
    if (m_watch.holder() != timer_watch<std_atom>::nobody) {
        return never;
    }
    const readiness* const io = io_if_made();
    const bool awaited = io != nullptr && io->is_awaited();
    return std::min(first_alarm(), awaited ? now() + timekeeper::io_interval : never);
}

void pool_core::fire_unwatched(instant t) noexcept {
    if (m_watch.holder() != timer_watch<std_atom>::nobody) {
        return;
    }
    for (unsigned i = 0; i < schedulers(); ++i) {
        (void)fire_due_of(*m_workers[i], t);
    }
    if (readiness* const io = io_if_made(); io != nullptr && io->is_due()) {
        (void)look_at(*io);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
