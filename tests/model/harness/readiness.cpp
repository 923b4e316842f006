// Descriptors: the waiters of each, the answer of an event, and the sleeper in the call that watches them.
#include <pilfer/detail/idle/sleep.hpp>
#include <pilfer/detail/io/readiness.hpp>
#include <pilfer/detail/timer/timers.hpp>

#include "../resting.hpp"
#include "waiting.hpp"

namespace {

using namespace model;
constexpr std::uint32_t can_read = 1;
constexpr std::uint32_t can_write = 2;

// ---- questions and answers --------------------------------------------------------------------

/// One number of a descriptor, as an epoll sees it: one event for each question, for the file that the
/// question was about. Its lock models the kernel's.
class kernel {
public:
    /// For descriptor_waits.
    int arm(int, std::uint32_t what, std::uint64_t tag, bool) noexcept {
        m_lock.lock();
        m_asked[m_file] = what;
        m_tag[m_file] = tag;
        tell();
        m_lock.unlock();
        return 0;
    }
    void becomes(unsigned file, std::uint32_t what) {
        m_lock.lock();
        m_ready[file] = m_ready[file] | what;
        tell();
        m_lock.unlock();
    }
    /// The number is given to another file; the first one lives on, and is watched.
    void next_file() {
        m_lock.lock();
        m_file = m_file + 1;
        m_lock.unlock();
    }
    /// Sleeps until there may be an event; true: here is one.
    bool wait(std::uint64_t& tag, std::uint32_t& what) {
        park::wait(m_there, 0);
        m_lock.lock();
        bool found = false;
        (void)m_there.exchange(0, std::memory_order_acq_rel); // after this, the reason of the ring is visible
        for (unsigned f = 0; f < 2 && !found; ++f) {
            what = m_asked[f] & m_ready[f];
            tag = m_tag[f];
            found = what != 0;
            if (found) {
                m_asked[f] = 0; // EPOLLONESHOT
            }
        }
        if (found) {
            tell();
        }
        m_lock.unlock();
        return found;
    }
    void ring() {
        m_there.fetch_or(1, std::memory_order_acq_rel);
        park::wake(m_there);
    }

private:
    void tell() {
        if ((m_asked[0] & m_ready[0]) != 0 || (m_asked[1] & m_ready[1]) != 0) {
            ring();
        }
    }
    pilfer::detail::raw_lock<hasty_atom, park, 0> m_lock;
    plain<unsigned> m_file{0};
    plain<std::uint32_t> m_asked[2] = {0, 0};
    plain<std::uint32_t> m_ready[2] = {0, 0};
    plain<std::uint64_t> m_tag[2] = {0, 0};
    model::atomic<std::uint32_t> m_there{0};
};

struct descriptor_client {
    using waits_type = pilfer::detail::descriptor_waits<hasty_atom, park, kernel, 4>;
    using fate = waits_type::list_type::fate;
    static constexpr int fd = 3;
    kernel system;
    waits_type waits{system};
    model::atomic<unsigned> over{0};

    fate wait(std::uint32_t what, bool timed) {
        box<waits_type::entry> e;
        e.make();
        waits_type::slot* const slot = waits.slot_for(fd);
        check(waits.enter(*slot, fd, *e.get(), what) == 0, "the kernel takes every question");
        wait_in(slot->list, *e.get(), timed);
        const fate how = e->end;
        check(timed || how == fate::notified, "a wait without a limit is withdrawn");
        e.end();
        return how;
    }
    /// For at most one waiter. False: this thread has not seen a wait.
    bool forget() {
        waits_type::slot* const slot = waits.slot_if_made(fd);
        if (slot == nullptr) {
            return false;
        }
        slot->list.lock();
        auto* const all = waits_type::forget_locked(*slot);
        slot->list.unlock();
        if (all != nullptr) {
            go_on(*all);
        }
        return true;
    }
    void leave() {
        over.fetch_add(1, std::memory_order_acq_rel);
        system.ring();
    }
    /// As a worker that sleeps there, until `waiters` have left.
    void dispatch(unsigned waiters) {
        while (over.load(std::memory_order_acquire) != waiters) {
            std::uint64_t tag = 0;
            std::uint32_t what = 0;
            if (!system.wait(tag, what)) {
                continue;
            }
            for (auto* e = waits.happened(tag, what); e != nullptr;) {
                auto* const next = static_cast<waits_type::entry*>(e->next);
                go_on(*e);
                e = next;
            }
        }
    }
    void finish() {}
};

/// A reader and a writer of one descriptor. It becomes ready for both, one after the other; or for the second
/// when the reader has resumed.
template <bool Timed>
struct both_kinds : descriptor_client {
    static constexpr unsigned threads = 4;
    void thread(unsigned i) {
        switch (i) {
        case 0:
            (void)wait(can_read, Timed);
            if (!Timed) {
                system.becomes(0, can_write);
            }
            leave();
            break;
        case 1:
            (void)wait(can_write, false);
            leave();
            break;
        case 2:
            system.becomes(0, can_read);
            if (Timed) {
                system.becomes(0, can_write);
            }
            break;
        default:
            dispatch(2);
        }
    }
};

/// A wait was withdrawn, and the number is reused for another file. An event of the first file is no answer
/// to a waiter of the second one.
struct number_comes_back : descriptor_client {
    static constexpr unsigned threads = 3;
    bool second_ready = false; // of the checker itself
    void thread(unsigned i) {
        if (i == 0) {
            if (wait(can_read, true) == fate::withdrawn) {
                system.next_file();
                (void)wait(can_read, false);
                check(second_ready, "woken by the file that had this number before");
            }
            leave();
        } else if (i == 1) {
            system.becomes(0, can_read);
            second_ready = true;
            system.becomes(1, can_read);
        } else {
            dispatch(1);
        }
    }
};

/// All waiters are notified of the end, while an event comes.
struct forgotten : descriptor_client {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i == 0) {
            box<waits_type::entry> e;
            e.make();
            waits_type::slot* const slot = waits.slot_for(fd);
            check(waits.enter(*slot, fd, *e.get(), can_read) == 0, "the kernel takes every question");
            wait_in(slot->list, *e.get(), false);
            const bool told = e->wants == waits_type::forgotten;
            check(e->end == fate::notified && (told || e->wants == can_read), "neither ready nor forgotten");
            e.end();
            leave();
        } else if (i == 1) {
            (void)forget();
            system.becomes(0, can_read);
        } else {
            dispatch(1);
        }
    }
};

/// A waiter that waits again and again. The number is forgotten after its first wait began, and then belongs
/// to another file, which becomes ready.
struct forgotten_between_waits : descriptor_client {
    static constexpr unsigned threads = 3;
    bool entered = false; // of the checker itself
    bool forgot = false;  // of the checker itself
    std::uint32_t seen = 0;

    /// False: it was forgotten.
    bool wait_again(bool first) {
        box<waits_type::entry> e;
        e.make();
        waits_type::slot* const slot = waits.slot_for(fd);
        const int error = waits.enter_again(*slot, fd, *e.get(), can_read, seen, first);
        bool ready = false;
        if (error == 0) {
            entered = true;
            wait_in(slot->list, *e.get(), false);
            ready = e->wants != waits_type::forgotten;
        }
        e.end();
        return ready;
    }
    void thread(unsigned i) {
        if (i == 0) {
            if (wait_again(true)) {
                system.next_file();
                check(!wait_again(false) || !forgot, "woken by the file that was given this number");
            }
            leave();
        } else if (i == 1) {
            system.becomes(0, can_read);
            const bool in_time = entered;
            forgot = forget() && in_time;
            system.becomes(1, can_read);
        } else {
            dispatch(1);
        }
    }
};

// ---- the sleeper in that call -----------------------------------------------------------------

/// Where the one that watches sleeps once there are descriptors: an epoll with a notifier in it.
class field {
public:
    void ring() {
        m_there.fetch_or(rung, std::memory_order_acq_rel);
        resting::park::wake(m_there);
    }
    void reset() { m_there.fetch_and(~rung, std::memory_order_acq_rel); }
    /// An event; the task that it wakes belongs to the pool.
    void happens() {
        m_there.fetch_or(event, std::memory_order_acq_rel);
        resting::park::wake(m_there);
    }
    void wait() { resting::park::wait(m_there, 0); }
    [[nodiscard]] bool was_rung() { return (m_there.load(std::memory_order_acquire) & rung) != 0; }
    [[nodiscard]] bool take() {
        return (m_there.load(std::memory_order_acquire) & event) != 0 &&
               (m_there.fetch_and(~event, std::memory_order_acq_rel) & event) != 0;
    }

private:
    static constexpr std::uint32_t rung = 1;
    static constexpr std::uint32_t event = 2;
    model::atomic<std::uint32_t> m_there{0};
};

/// Two workers that look for work, sleep as `scheduler` does, and never return from a task.
struct polling : resting {
    using park = resting::park;
    using sleepers_type = pilfer::detail::sleepers<atom, park, field>;
    static constexpr unsigned workers = 2;
    static constexpr std::uint64_t never = UINT64_MAX;
    static constexpr std::uint64_t any_time = never - 1;

    sleepers_type::seat seats[workers];
    sleepers_type::map_word map[1];
    sleepers_type idle{seats, map, workers};
    pilfer::detail::timer_watch<atom> watch;
    field there;
    model::atomic<unsigned> made{0};
    model::atomic<unsigned> awaited{0};
    model::atomic<unsigned> tasks{0};
    std::uint64_t alarm = never; // No thread sets it while threads run.
    unsigned left = 0;           // Of the checker itself: tasks and events that are left.

    [[nodiscard]] std::uint64_t expected() const {
        const bool io =
            made.load(std::memory_order_acquire) != 0 && awaited.load(std::memory_order_relaxed) != 0;
        return alarm != never ? alarm : (io ? any_time : never);
    }
    void wake_watch() {
        const std::uint32_t who = watch.holder();
        if (who != pilfer::detail::timer_watch<atom>::nobody) {
            (void)idle.wake(who, who);
            return;
        }
        atom::fence_sc();
        (void)idle.wake_one(0, 0);
    }
    /// descriptor_watch::get() and a wait, by a task of another worker; then the event comes.
    void wait_for_descriptor() {
        made.store(1, std::memory_order_release);
        atom::fence_sc();
        wake_watch();
        awaited.fetch_add(1, std::memory_order_relaxed);
        if (watch.is_late_for(any_time)) {
            wake_watch();
        }
        ++left;
        there.happens();
    }
    void submit() {
        ++left;
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
    void work(unsigned i) {
        bool token = false;
        bool watches = false;
        for (;;) {
            if (take_task() || (made.load(std::memory_order_acquire) != 0 && there.take())) {
                --left;
                if (watches && watch.held_by(i) && watch.get_up([this] { return expected(); })) {
                    (void)idle.wake_one(i, i);
                }
                if (token) {
                    idle.settle_token(i);
                    if (tasks.load(std::memory_order_acquire) != 0) {
                        (void)idle.wake_one(i, i);
                    }
                }
                in_endless_task();
            }
            const auto how = idle.sleep(
                i, [] {}, [this] { return tasks.load(std::memory_order_acquire) != 0; },
                [&](auto& word) { rest(i, word, watches); });
            token = token || how == sleepers_type::outcome::woken;
        }
    }
    void rest(unsigned i, model::atomic<std::uint32_t>& word, bool& watches) {
        const std::uint64_t until = watch.lie_down(i, [this] { return expected(); });
        watches = watches || until != never;
        if (until == never || made.load(std::memory_order_acquire) == 0) {
            park::wait(word, sleepers_type::asleep);
            return;
        }
        if (!idle.start_polling(i, there)) {
            return;
        }
        there.wait();
        if (there.was_rung()) {
            there.reset();
        }
        idle.stop_polling(i);
        if (there.take()) {
            tasks.fetch_add(1, std::memory_order_acq_rel); // the resumed task is queued
            (void)idle.wake(i, i);
        }
    }
    void finish() {}
    [[nodiscard]] bool at_rest(unsigned threads) const {
        return nobody_waits(threads) && (left == 0 || !somebody_sleeps());
    }
};

/// The first wait of the pool, while workers lie down, one of them perhaps for an alarm.
template <bool Alarm>
struct first_wait : polling {
    static constexpr unsigned threads = 3;
    first_wait() { alarm = Alarm ? 20 : never; }
    void thread(unsigned i) {
        if (i < workers) {
            work(i);
        } else {
            wait_for_descriptor();
            at_the_end();
        }
    }
    [[nodiscard]] bool at_rest() const { return polling::at_rest(threads); }
};

/// A task waits already. Tasks call away the worker that sleeps for it, then the event comes.
template <unsigned Tasks>
struct called_away : polling {
    static constexpr unsigned threads = 3;
    called_away() {
        made.store(1, std::memory_order_relaxed);
        awaited.store(1, std::memory_order_relaxed);
    }
    void thread(unsigned i) {
        if (i < workers) {
            work(i);
            return;
        }
        for (unsigned k = 0; k < Tasks; ++k) {
            submit();
        }
        ++left;
        there.happens();
        at_the_end();
    }
    [[nodiscard]] bool at_rest() const { return polling::at_rest(threads); }
};

const registered<both_kinds<false>> r1("readiness_both_kinds", "a reader and a writer of one descriptor");
const registered<both_kinds<true>> r2("readiness_time_limit", "the same, and the reader's time may be over");
const registered<number_comes_back> r3("readiness_number_comes_back", "a number stands for another file");
const registered<forgotten> r4("readiness_forgotten", "told that it is over while an event comes");
const registered<forgotten_between_waits> r9("readiness_forgotten_between_waits",
                                             "forgotten while it runs between two waits");
const registered<first_wait<false>> r5("readiness_first_wait", "the first wait while workers lie down");
const registered<first_wait<true>> r6("readiness_first_wait_alarm",
                                      "the same while one watches over an alarm");
const registered<called_away<1>> r7("readiness_called_away", "whoever sleeps there is called away by a task");
const registered<called_away<2>> r8("readiness_called_twice",
                                    "the same with two tasks: nobody is left to sleep");

} // namespace
