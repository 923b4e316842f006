// Alarms: armed, disarmed, fired, and the sleeper that watches over them.
#include <algorithm>
#include <iterator>

#include <pilfer/detail/idle/sleep.hpp>
#include <pilfer/detail/timer/timers.hpp>

#include "../resting.hpp"
#include "frame.hpp"

namespace {

using namespace model;
using heap_type = pilfer::detail::timer_heap<atom, park>;
using watch_type = pilfer::detail::timer_watch<atom>;

/// The owner disarms, ends the alarm, and sets it again, while two others fire.
struct owned {
    static constexpr unsigned threads = 3;
    heap_type heap;
    box<heap_type::timer> alarm;
    plain<unsigned> frame = 0; // Read by the thread that fires; its owner's after that.
    unsigned fired = 0;        // Of the checker itself.
    unsigned taken_back = 0;

    void fire() {
        if (auto* const t = heap.take_due(100)) {
            check(t == alarm.get() && alarm.alive(), "an alarm fires that is not there");
            frame = frame + 1;
            ++fired;
            t->over();
        }
    }
    void thread(unsigned i) {
        if (i != 0) {
            fire();
            return;
        }
        for (unsigned round = 0; round < 2; ++round) {
            heap.arm(*alarm.make(), 10 - round);
            taken_back += heap_type::disarm(*alarm.get()) ? 1 : 0;
            frame = frame + 1;
            alarm.end();
        }
    }
    void finish() {
        check(fired + taken_back == 2, "an alarm is fired or disarmed, and once");
        check(heap.earliest() == heap_type::never, "an empty heap has an earliest alarm");
    }
};

/// Two owners share a heap with a thread that fires.
struct shared {
    static constexpr unsigned threads = 3;
    heap_type heap;
    box<heap_type::timer> alarms[2];
    unsigned fired = 0;
    unsigned taken_back = 0;
    void thread(unsigned i) {
        if (i == 2) {
            while (auto* const t = heap.take_due(100)) {
                ++fired;
                t->over();
            }
            return;
        }
        heap.arm(*alarms[i].make(), 20 - i);
        taken_back += heap_type::disarm(*alarms[i].get()) ? 1 : 0;
        alarms[i].end();
    }
    void finish() { check(fired + taken_back == 2, "an alarm is fired or disarmed, and once"); }
};

/// Workers that sleep as `scheduler` does, and the timekeeper. Workers beyond a limit step aside. The
/// promise: when no thread moves any more, each alarm has a worker or the timekeeper that sleeps no longer
/// than until it is due.
template <unsigned Workers>
struct watched : resting {
    using park = resting::park;
    using sleepers_type = pilfer::detail::sleepers<atom, park>;
    static constexpr std::uint64_t never = heap_type::never;

    typename sleepers_type::seat seats[Workers];
    typename sleepers_type::map_word map[1];
    typename sleepers_type::map_word aside[1];
    sleepers_type idle{seats, map, Workers, aside};
    heap_type heaps[2];
    box<heap_type::timer> alarms[2];
    watch_type watch;
    model::atomic<unsigned> limit{Workers};
    pilfer::detail::time_keeping<atom, park> timekeeper;
    model::atomic<unsigned> tasks{0};
    // Of the checker itself:
    std::uint64_t bound[Workers + 1] = {}; // the last one is the timekeeper's
    std::uint64_t due[2] = {never, never};

    [[nodiscard]] std::uint64_t earliest() const {
        const std::uint64_t a = heaps[0].earliest();
        const std::uint64_t b = heaps[1].earliest();
        return a < b ? a : b;
    }
    /// arm() with told::at_once.
    void arm(unsigned k, std::uint64_t when) {
        heaps[k].arm(*alarms[k].make(), when);
        due[k] = when;
        tell(when);
    }
    void tell(std::uint64_t when) {
        if (!watch.is_late_for(when)) {
            return;
        }
        const std::uint32_t who = watch.holder();
        if (who == watch_type::nobody) {
            atom::fence_sc();
            if (idle.wake_one(0, 0) == sleepers_type::nobody) {
                timekeeper.expect(when);
            }
        } else {
            (void)idle.wake(who, who);
        }
    }
    [[nodiscard]] std::uint64_t first_unwatched() const {
        return watch.holder() == watch_type::nobody ? earliest() : never;
    }
    /// Worker `i` goes off to work, and something is left to watch over.
    void find_watch(unsigned i) {
        if (idle.wake_one(i, i) == sleepers_type::nobody) {
            timekeeper.expect(first_unwatched());
        }
    }
    /// The timekeeper's thread.
    void keep_time() {
        for (;;) {
            timekeeper.look_and_sleep([] {}, [this] { return first_unwatched(); },
                                      [this](auto& word, std::uint32_t expected, std::uint64_t until) {
                                          bound[Workers] = until;
                                          park::wait(word, expected);
                                          bound[Workers] = never;
                                      });
        }
    }
    /// Puts a task into a queue.
    void submit() {
        tasks.fetch_add(1, std::memory_order_acq_rel);
        atom::fence_sc();
        (void)idle.wake_one(0, 0);
    }
    [[nodiscard]] bool take_task() {
        unsigned n = tasks.load(std::memory_order_acquire);
        while (n != 0) {
            if (tasks.compare_exchange_strong(n, n - 1, std::memory_order_acq_rel,
                                              std::memory_order_acquire)) {
                return true;
            }
        }
        return false;
    }
    /// worker_threads::follow_limits()
    void shrink(unsigned to) {
        limit.store(to, std::memory_order_relaxed);
        atom::fence_sc();
        for (unsigned i = to; i < Workers; ++i) {
            (void)idle.wake(i, i);
        }
    }
    [[nodiscard]] bool retires(unsigned i) { return i >= limit.load(std::memory_order_relaxed); }
    /// lookout::found_work()
    void found_work(unsigned i, bool token, bool watches) {
        if (watches && watch.held_by(i) && watch.get_up([this] { return earliest(); })) {
            find_watch(i);
        }
        if (token) {
            idle.settle_token(i);
            if (first_unwatched() != never) {
                find_watch(i); // settled_token()
            }
            if (tasks.load(std::memory_order_acquire) != 0) {
                (void)idle.wake_one(i, i);
            }
        }
    }
    /// Looks for work and sleeps. It never returns from the task that it finds, and not after it has stepped
    /// aside.
    void work(unsigned i) {
        bool token = false;
        bool watches = false;
        for (;;) {
            if (retires(i)) {
                found_work(i, token, watches);
                (void)idle.park(
                    i, [] { return false; }, [](auto& word) { park::wait(word, sleepers_type::asleep); });
                check(false, "called back by nobody");
            }
            if (take_task()) {
                found_work(i, token, watches);
                in_endless_task();
            }
            const auto how = idle.sleep(
                i, [] {}, [this, i] { return retires(i) || tasks.load(std::memory_order_acquire) != 0; },
                [&](auto& word) {
                    const std::uint64_t until = watch.lie_down(i, [this] { return earliest(); });
                    watches = watches || until != never;
                    bound[i] = until;
                    park::wait(word, sleepers_type::asleep);
                    bound[i] = never;
                });
            token = token || how == sleepers_type::outcome::woken;
        }
    }
    void finish() {}
    [[nodiscard]] bool at_rest(unsigned threads) const {
        if (!nobody_waits(threads)) {
            return false;
        }
        for (const std::uint64_t d : due) {
            bool kept = d == never;
            for (const std::uint64_t b : bound) {
                kept = kept || b <= d;
            }
            if (!kept) {
                return false;
            }
        }
        return true;
    }
};

/// A third worker, inside a task that never ends, sets two alarms.
struct told_by_a_task : watched<2> {
    static constexpr unsigned threads = 4;
    told_by_a_task() { std::fill(std::begin(bound), std::end(bound), never); }
    void thread(unsigned i) {
        if (i < 2) {
            work(i);
        } else if (i == 3) {
            keep_time();
        } else {
            arm(0, 20);
            arm(1, 10);
            at_the_end();
        }
    }
    [[nodiscard]] bool at_rest() const { return watched::at_rest(threads); }
};

/// A task calls the watching worker away; an alarm is set meanwhile.
template <bool ArmsToo, unsigned Tasks = 1>
struct called_away : watched<2> {
    static constexpr unsigned threads = 4;
    called_away() {
        std::fill(std::begin(bound), std::end(bound), never);
        heaps[0].arm(*alarms[0].make(), 20);
        due[0] = 20;
    }
    void thread(unsigned i) {
        if (i < 2) {
            work(i);
        } else if (i == 3) {
            keep_time();
        } else {
            for (unsigned k = 0; k < Tasks; ++k) {
                submit();
            }
            if (ArmsToo) {
                arm(1, 10);
            }
            at_the_end();
        }
    }
    [[nodiscard]] bool at_rest() const { return watched::at_rest(threads); }
};

/// All but one worker are sent away, also the watching one and the one that is woken to replace it. An alarm
/// is set meanwhile.
template <bool ArmsToo>
struct sent_away : watched<3> {
    static constexpr unsigned threads = ArmsToo ? 6 : 5;
    sent_away() {
        std::fill(std::begin(bound), std::end(bound), never);
        heaps[0].arm(*alarms[0].make(), 20);
        due[0] = 20;
    }
    void thread(unsigned i) {
        if (i < 3) {
            work(i);
            return;
        }
        if (i == 4) {
            keep_time();
        }
        if (i == 3) {
            shrink(1);
        } else {
            arm(1, 10);
        }
        at_the_end();
    }
    [[nodiscard]] bool at_rest() const { return watched::at_rest(threads); }
};

/// The only worker is called away while a task elsewhere sets an alarm.
struct busy_and_told : watched<1> {
    static constexpr unsigned threads = 3;
    busy_and_told() { std::fill(std::begin(bound), std::end(bound), never); }
    void thread(unsigned i) {
        if (i == 0) {
            work(i);
        } else if (i == 1) {
            keep_time();
        } else {
            submit();
            arm(0, 10);
            at_the_end();
        }
    }
    [[nodiscard]] bool at_rest() const { return watched::at_rest(threads); }
};

/// The watch without sleepers: worker 0 watched over an alarm that is gone by now.
struct watch_alone {
    heap_type heaps[2];
    box<heap_type::timer> alarms[2];
    watch_type watch;
    model::atomic<unsigned> map{0};
    [[nodiscard]] std::uint64_t earliest() const {
        return std::min(heaps[0].earliest(), heaps[1].earliest());
    }

    void watched_before() {
        heaps[0].arm(*alarms[0].make(), 20);
        check(watch.lie_down(0, [this] { return earliest(); }) == 20, "nobody watches");
        check(heap_type::disarm(*alarms[0].get()), "an alarm that nobody fires");
    }
};

/// It gets up while an alarm is set that is due later than the one it watched.
struct leaving : watch_alone {
    static constexpr unsigned threads = 2;
    bool left = false; // of the checker itself
    bool told = false;
    leaving() { watched_before(); }
    void thread(unsigned i) {
        if (i == 0) {
            left = watch.get_up([this] { return earliest(); });
        } else {
            heaps[1].arm(*alarms[1].make(), 30);
            told = watch.is_late_for(30) && watch.holder() == watch_type::nobody;
        }
    }
    void finish() { check(left || told, "an alarm that nobody watches over"); }
};

/// Another worker lies down meanwhile: the one before must not clear its entry.
struct succession : watch_alone {
    static constexpr unsigned threads = 2;
    std::uint64_t until = 0; // of the checker itself
    succession() {
        watched_before();
        heaps[1].arm(*alarms[1].make(), 30);
    }
    void thread(unsigned i) {
        if (i == 0) {
            (void)watch.get_up([this] { return earliest(); });
        } else {
            until = watch.lie_down(1, [this] { return earliest(); });
        }
    }
    void finish() {
        check(until == 30 || watch.holder() == watch_type::nobody, "two watch");
        check(until != 30 || !watch.is_late_for(40), "one watches, and is said to sleep for good");
    }
};

/// It lies down again, and its alarm is gone. Another alarm is set meanwhile, due later than the first one.
struct nothing_left : watch_alone {
    static constexpr unsigned threads = 2;
    std::uint64_t until = 0; // of the checker itself
    bool told = false;
    nothing_left() { watched_before(); }
    void thread(unsigned i) {
        if (i == 0) {
            map.fetch_or(1, std::memory_order_acq_rel);
            atom::fence_sc();
            until = watch.lie_down(0, [this] { return earliest(); });
            return;
        }
        heaps[1].arm(*alarms[1].make(), 30);
        if (watch.is_late_for(30)) {
            atom::fence_sc(); // of wake_one() and wake()
            told = map.load(std::memory_order_relaxed) != 0;
        }
    }
    void finish() { check(until == 30 || told, "an alarm that nobody watches over"); }
};

/// A thread that knows of a watching worker finds it in the map, or that worker looks again itself.
struct found : watch_alone {
    static constexpr unsigned threads = 2;
    std::uint64_t until = 0; // of the checker itself
    bool missed = false;
    found() { heaps[0].arm(*alarms[0].make(), 20); }
    void thread(unsigned i) {
        if (i == 0) {
            map.fetch_or(1, std::memory_order_acq_rel);
            atom::fence_sc();
            until = watch.lie_down(0, [this] { return earliest(); });
            return;
        }
        heaps[1].arm(*alarms[1].make(), 10);
        const bool late = watch.is_late_for(10);
        missed = late && watch.holder() == 0 && map.load(std::memory_order_relaxed) == 0;
    }
    void finish() { check(!missed || until == 10, "the one that watches is not woken"); }
};

const registered<leaving> r6("timers_leaving", "the one that watches gets up while an alarm is set");
const registered<succession> r7("timers_succession", "another one watches in its place");
const registered<found> r8("timers_found", "the one that watches is in the map");
const registered<nothing_left> r9("timers_nothing_left", "the one that watched finds no alarm any more");
const registered<owned> r1("timers_owned", "fired or disarmed, then ended and set again");
const registered<shared> r2("timers_shared", "two owners, one that fires");
const registered<told_by_a_task> r3("timers_told", "a task sets alarms while workers lie down");
const registered<called_away<false>> r4("timers_called_away", "whoever watches is called away");
const registered<called_away<true>> r5("timers_called_and_told", "the same while an alarm is set");
const registered<called_away<false, 2>> r10("timers_all_busy", "all workers are called away");
const registered<busy_and_told> r11("timers_busy_and_told", "one worker, called away while an alarm is set");
const registered<sent_away<false>> r20("timers_sent_away", "all but one worker step aside");
const registered<sent_away<true>> r21("timers_sent_and_told", "the same while an alarm is set");

} // namespace
