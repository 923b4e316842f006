#include "timer/timekeeper.hpp"

#include <algorithm>
#include <new>

#include <pilfer/timer.hpp>

#include "base/write.hpp"
#include "platform/clock.hpp"
#include "platform/os.hpp"
#include "timer/alarm_watch.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

struct keeper_state {
    raw_lock<std_atom, futex_park> life; // of the thread: taken before `pools`
    raw_lock<std_atom, futex_park> pools;
    kept_time* first = nullptr; // under `pools`
    std::uintptr_t thread = 0;  // under `life`
    bool has_thread = false;    // under `life`
    std::atomic<bool> stop{false};
    time_keeping<std_atom, futex_park> keeping;
    std::atomic<std::uint64_t> wake_ups{0};
    submission_queue<std_atom>* soon = nullptr; // of the thread
    std::string* report = nullptr;              // likewise: what it writes as soon as it holds no lock
};

constinit keeper_state the_keeper;
constinit thread_local bool keeps_time = false;

class all_kept {
public:
    all_kept() noexcept { the_keeper.pools.lock(); }
    ~all_kept() { the_keeper.pools.unlock(); }
    all_kept(const all_kept&) = delete;
    all_kept& operator=(const all_kept&) = delete;

    template <class F>
    void each(F f) noexcept {
        for (kept_time* k = the_keeper.first; k != nullptr; k = k->next) {
            f(*k);
        }
    }
};

/// When the first alarm is due that no worker watches over.
[[nodiscard]] instant first_unwatched() noexcept {
    instant first = never;
    all_kept().each([&first](const kept_time& k) { first = std::min(first, k.first_unwatched()); });
    return first;
}

void fire_unwatched() noexcept {
    all_kept().each([t = now()](kept_time& k) { k.fire_unwatched(t, *the_keeper.report); });
}

void run_what_is_due() noexcept {
    while (auto* const n = the_keeper.soon->pop()) {
        static_cast<timed_task*>(static_cast<submission*>(n))->run_by_timekeeper();
    }
}

void* keep_time(void* /*unused*/) noexcept {
    keeps_time = true;
    submission_queue<std_atom> soon;
    the_keeper.soon = &soon;
    std::string report;
    the_keeper.report = &report;
    os::thread_name("pilfer/time");
    const auto look = [] {
        the_keeper.wake_ups.fetch_add(1, rlx);
        fire_unwatched();
        // Without the lock: this runs user code, and writes to a file that may be full.
        run_what_is_due();
        os::write_all(2, the_keeper.report->data(), the_keeper.report->size());
        the_keeper.report->clear();
    };
    const auto sleep = [](std::atomic<std::uint32_t>& word, std::uint32_t expected, instant due) {
        if (the_keeper.stop.load(acq)) {
            return;
        }
        if (due >= any_time) { // also for sleeps without a time limit
            os::futex_wait(word, expected);
            return;
        }
        const instant until = std::min(due, any_time - timekeeper::patience) + timekeeper::patience;
        if (const instant t = now(); t < until) {
            os::futex_wait_for(word, expected, until - t);
        }
    };
    while (!the_keeper.stop.load(acq)) {
        the_keeper.keeping.look_and_sleep(look, &first_unwatched, sleep);
    }
    return nullptr;
}

/// Under `life`.
[[nodiscard]] bool has_thread() noexcept {
    if (!the_keeper.has_thread) {
        the_keeper.stop.store(false, rlx);
        the_keeper.has_thread = os::thread_start(the_keeper.thread, &keep_time, nullptr) == 0;
    }
    return the_keeper.has_thread;
}

[[nodiscard]] bool is_listed(kept_time& k) noexcept {
    if (k.listed.load(rlx)) {
        return true;
    }
    const std::lock_guard lock(the_keeper.life);
    if (k.over || !has_thread()) {
        return false; // no thread can be made now, but perhaps next time
    }
    the_keeper.pools.lock();
    if (!k.listed.load(rlx)) {
        k.next = the_keeper.first;
        the_keeper.first = &k;
        k.listed.store(true, rlx);
    }
    the_keeper.pools.unlock();
    return true;
}

[[nodiscard]] bool unlink(kept_time& k) noexcept {
    the_keeper.pools.lock();
    kept_time** at = &the_keeper.first;
    while (*at != &k) {
        at = &(*at)->next;
    }
    *at = k.next;
    k.listed.store(false, rlx);
    const bool last = the_keeper.first == nullptr;
    the_keeper.pools.unlock();
    return last;
}

} // namespace

bool kept_time::may_be_kept() const noexcept {
    return !m_team.settings().only_workers && !m_team.is_forked_child();
}

namespace timekeeper {

void expect(kept_time& k, instant due) noexcept {
    if (const os::time_source* clock = os::current_time_source(); clock != nullptr && clock->now != nullptr) {
        return; // a test's clock, which stands still while all workers are busy
    }
    if (!k.may_be_kept()) {
        return; // the alarm waits for a worker
    }
    if (!is_listed(k)) {
        return;
    }
    the_keeper.keeping.expect(due == any_time ? now() + io_interval : due);
}

void forget(kept_time& k) noexcept {
    const std::lock_guard lock(the_keeper.life);
    k.over = true;
    if (!k.listed.load(rlx)) {
        return;
    }
    if (unlink(k) && !keeps_time) { // a function that it runs may end the last pool: then it stays
        the_keeper.stop.store(true, rel);
        the_keeper.keeping.call();
        os::thread_join(the_keeper.thread);
        the_keeper.has_thread = false;
    }
}

bool is_here() noexcept { return keeps_time; }

void run_soon(timed_task& t) noexcept { the_keeper.soon->push(&t); }

std::uint64_t wake_ups() noexcept { return the_keeper.wake_ups.load(rlx); }

void forget_all() noexcept {
    ::new (&the_keeper) keeper_state;
    keeps_time = false;
}

} // namespace timekeeper

} // namespace detail
} // namespace v0
} // namespace pilfer
