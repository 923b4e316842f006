// Sleeping and waking: workers as in src/worker/scheduler.cpp and announce.cpp, cut down to what they do with
// deques, tripwires, tokens and the queue. The promise, when nobody can go on: no task beside a sleeper.
#include <pilfer/detail/deque.hpp>
#include <pilfer/detail/sleep.hpp>
#include <pilfer/detail/submissions.hpp>

#include "../harness.hpp"
#include "../resting.hpp"

namespace {

using namespace model;
using pilfer::detail::acq;
using pilfer::detail::rel;
using pilfer::detail::rlx;
using pilfer::detail::steal_status;
using pilfer::detail::task_word;

/// `Workers` of them with a deque each, at most `Tasks` tasks, each announced once. A theft takes up to
/// `Haul`.
template <class Atom, unsigned Workers, unsigned Tasks, bool Queue = false, unsigned Haul = 1>
class workers {
protected:
    using deque_type = pilfer::detail::split_deque<Atom>;
    using trip = pilfer::detail::tripwire<Atom>;
    using sleepers = pilfer::detail::sleepers<Atom, resting::park>;
    using outcome = typename sleepers::outcome;
    using queue = pilfer::detail::submission_queue<Atom>;
    using map_word = typename sleepers::map_word;
    using seat = typename sleepers::seat;
    static constexpr bool pinned = std::is_same_v<Atom, symmetric_atom>;

    struct submission : queue::node {
        unsigned task = 0;
    };
    struct none {};
    struct worker {
        typename pilfer::detail::ring<Atom>::slot slots[4];
        pilfer::detail::ring<Atom> ring{3, nullptr, slots};
        deque_type deque{&ring, pinned};
        unsigned last_woken = sleepers::nobody;
        bool token = false;
    };

    // ---- announcing: announce(), scheduler::tripped(), scheduler::answer() ------------------------
    void push(unsigned self, unsigned task) {
        m_tasks.announce(task);
        if (m_worker[self].deque.owner().push(task + 1)) {
            check(m_worker[self].deque.owner().make_room(), "no room");
            after_push(self);
        }
    }
    /// scheduler::insert()
    void insert(unsigned self, task_word task) {
        if (m_worker[self].deque.owner().push(task)) {
            after_push(self);
        }
    }
    void after_push(unsigned self) {
        worker& me = m_worker[self];
        if constexpr (pinned) {
            Atom::fence_sc();
        }
        const auto bits = me.deque.trip().take();
        if ((bits & (trip::expose | trip::wanted)) == 0) {
            return;
        }
        if (me.deque.owner().shared_size() <= 0) {
            (void)me.deque.owner().expose(Haul);
        }
        if ((bits & trip::wanted) != 0 && me.deque.thief().has_any()) {
            (void)m_idle.publish(self, me.last_woken, me.deque.trip());
        }
    }

    // ---- others: pool_core::accept(), wake_somebody() ---------------------------------------------
    void submit(unsigned task, unsigned from) {
        m_submission[task].task = task;
        m_tasks.announce(task);
        m_queue.push(&m_submission[task]);
        Atom::fence_sc();
        if (m_idle.anyone_asleep()) {
            (void)m_idle.wake_one(from, from);
        }
    }

    // ---- looking for work: step(), search(), sleep(), found_work() --------------------------------
    bool step(unsigned self) { return run_own(self) || run_submission(self) || search(self); }

    bool run_own(unsigned self) {
        auto own = m_worker[self].deque.owner();
        const task_word task = own.peek() == 0 ? 0 : own.pop(1);
        return task != 0 && execute(self, static_cast<unsigned>(task) - 1);
    }
    bool run_submission(unsigned self) {
        if constexpr (Queue) {
            auto* n = m_queue.empty() ? nullptr : m_queue.pop();
            return n != nullptr && execute(self, static_cast<submission*>(n)->task);
        }
        return false;
    }
    bool search(unsigned self) {
        if (m_worker[self].token) {
            const unsigned hint = m_idle.hint(self);
            if (hint < Workers && hint != self && try_steal(self, hint, false)) {
                return true;
            }
        }
        for (unsigned k = 1; k < Workers; ++k) {
            if (try_steal(self, (self + k) % Workers, true)) {
                return true;
            }
        }
        return false;
    }
    bool try_steal(unsigned self, unsigned victim, bool reach) {
        auto thief = m_worker[victim].deque.thief();
        const auto any = [](task_word) { return true; };
        auto got = thief.steal(any);
        const unsigned amount = m_worker[self].deque.owner().peek() == 0 ? Haul : 1;
        if (got.status == steal_status::empty && reach && thief.has_any() && thief.reach(amount) > 0) {
            got = thief.steal(any);
        }
        if (got.status == steal_status::success) {
            if (amount > 1) {
                take_more(self, victim, amount - 1);
            }
            return execute(self, static_cast<unsigned>(got.task) - 1);
        }
        auto& wire = m_worker[victim].deque.trip();
        if (got.status == steal_status::empty && thief.has_any() && !wire.has(trip::expose)) {
            wire.set(trip::expose);
        }
        return false;
    }
    void take_more(unsigned self, unsigned victim, std::int64_t more) {
        auto thief = m_worker[victim].deque.thief();
        auto own = m_worker[self].deque.owner();
        const auto there = thief.look();
        if (there.shared < more && there.own > 0) {
            (void)thief.reach(more - there.shared);
        }
        for (std::int64_t taken = 0; taken < more && (own.has_room() || own.make_room());) {
            const auto got = thief.steal([](task_word) { return true; });
            if (got.status == steal_status::empty) {
                return;
            }
            if (got.status == steal_status::success) {
                insert(self, got.task);
                ++taken;
            }
        }
    }
    bool anything_ready(unsigned self) {
        if (stopping()) {
            return true;
        }
        if constexpr (Queue) {
            if (!m_queue.empty()) {
                return true;
            }
        }
        for (unsigned k = 0; k < Workers; ++k) {
            if (m_worker[(self + k) % Workers].deque.thief().has_any()) {
                return true;
            }
        }
        return false;
    }
    outcome sleep(unsigned self) {
        const auto tell_all = [this, self] {
            for (unsigned k = 1; k < Workers; ++k) {
                auto& wire = m_worker[(self + k) % Workers].deque.trip();
                if (!wire.has(trip::wanted)) {
                    wire.set(trip::wanted);
                }
            }
        };
        const auto how = m_idle.sleep(self, tell_all, [this, self] { return anything_ready(self); });
        m_worker[self].token = m_worker[self].token || how == outcome::woken;
        return how;
    }
    void found_work(unsigned self) {
        if (!m_worker[self].token) {
            return;
        }
        m_worker[self].token = false;
        m_idle.settle_token(self);
        const unsigned victim = m_idle.hint(self);
        for (unsigned woken = 0; woken < 2 && anything_ready(self); ++woken) {
            if (m_idle.wake_one(self, victim) == sleepers::nobody) {
                return;
            }
        }
    }
    bool execute(unsigned self, unsigned task) {
        found_work(self);
        // What the throttle rests on: a publisher takes `token` for "will look again".
        check(!m_idle.is_searching(self), "a token in the seat of a worker that runs a task");
        m_tasks.run(task);
        body(self, task);
        return true;
    }
    /// scheduler::run()
    void work(unsigned self) {
        for (;;) {
            if (step(self)) {
                continue;
            }
            if (stopping()) {
                resting::at_the_end();
                return;
            }
            if (sleep(self) == outcome::found && !step(self)) {
                Atom::relax(0); // somebody is at it
            }
        }
    }
    virtual void body(unsigned self, unsigned task) = 0;
    virtual bool stopping() { return false; }
    ~workers() = default;

    [[nodiscard]] bool nothing_beside_a_sleeper(unsigned threads, unsigned tasks) const {
        bool all = true;
        for (unsigned i = 0; i < tasks; ++i) {
            all = all && m_tasks.ran(i);
        }
        return resting::nobody_waits(threads) && (all || !resting::somebody_sleeps());
    }

    worker m_worker[Workers];
    seat m_seats[Workers];
    map_word m_map[1];
    sleepers m_idle{m_seats, m_map, Workers};
    std::conditional_t<Queue, queue, none> m_queue;
    std::conditional_t<Queue, submission, none> m_submission[Tasks];
    tasks<Tasks> m_tasks;
    resting m_resting;
};

/// One publisher with `Count` tasks and an endless end, `Sleepers` that search and sleep. The first `Short`
/// tasks end, the others never do.
template <class Atom, unsigned Sleepers, unsigned Count, unsigned Short, unsigned Haul = 1>
struct published final : workers<Atom, Sleepers + 1, Count, false, Haul> {
    static constexpr unsigned threads = Sleepers + 1;
    void thread(unsigned i) {
        if (i != 0) {
            this->work(i);
            return;
        }
        for (unsigned k = 0; k < Count; ++k) {
            this->push(0, k);
        }
        resting::in_endless_task();
    }
    bool at_rest() { return this->nothing_beside_a_sleeper(threads, Count); }
    void finish() {}

private:
    void body(unsigned, unsigned task) final {
        if (task >= Short) {
            resting::in_endless_task();
        }
    }
};

/// Two publishers that push and never look again, `Sleepers` others.
template <unsigned Sleepers, unsigned First, unsigned Second, unsigned Short>
struct two_publishers final : workers<atom, Sleepers + 2, First + Second> {
    static constexpr unsigned threads = Sleepers + 2;
    void thread(unsigned i) {
        if (i > 1) {
            this->work(i);
            return;
        }
        for (unsigned k = 0; k < (i == 0 ? First : Second); ++k) {
            this->push(i, i == 0 ? k : First + k);
        }
        resting::in_endless_task();
    }
    bool at_rest() { return this->nothing_beside_a_sleeper(threads, First + Second); }
    void finish() {}

private:
    void body(unsigned, unsigned task) final {
        if (task >= Short) {
            resting::in_endless_task();
        }
    }
};

/// A task that announces another one inside whoever took it: the taker was perhaps asleep when the other
/// worker lay down.
struct handed_down final : workers<atom, 3, 3> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i == 0) {
            push(0, 0);
            resting::in_endless_task();
        }
        work(i);
    }
    bool at_rest() {
        const unsigned known = m_tasks.ran(0) ? 2 : 1;
        return nothing_beside_a_sleeper(threads, known);
    }
    void finish() {}

private:
    void body(unsigned self, unsigned task) final {
        if (task == 0) {
            push(self, 1);
        }
        resting::in_endless_task();
    }
};

/// A publisher that takes its own tasks back, goes to search and sleeps as the others do.
struct taken_back final : workers<atom, 2, 3> {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0) {
            push(0, 0);
            (void)run_own(0);
            push(0, 1);
            push(0, 2);
        }
        work(i);
    }
    bool at_rest() { return nothing_beside_a_sleeper(threads, 3); }
    void finish() {}

private:
    void body(unsigned, unsigned task) final {
        if (task == 1) {
            resting::in_endless_task();
        }
    }
};

/// A foreign thread submits, a worker publishes; two workers sleep.
struct submitted final : workers<atom, 3, 3, true> {
    static constexpr unsigned threads = 4;
    void thread(unsigned i) {
        if (i == 3) {
            submit(1, 0);
            submit(2, 1);
            resting::at_the_end();
            return;
        }
        if (i == 0) {
            push(0, 0);
            resting::in_endless_task();
        }
        work(i);
    }
    bool at_rest() { return nothing_beside_a_sleeper(threads, 3); }
    void finish() {}

private:
    void body(unsigned, unsigned task) final {
        if (task != 1) {
            resting::in_endless_task();
        }
    }
};

/// The end: pool_core::stop_threads() while a task is pushed, taken and searched for.
template <class Atom>
struct stopped final : workers<Atom, 2, 1> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i == 0) {
            this->push(0, 0);
        }
        if (i < 2) {
            this->work(i);
            return;
        }
        m_stop.store(1, rel);
        Atom::fence_sc();
        for (unsigned k = 0; k < 2; ++k) {
            (void)this->m_idle.wake(k, k);
        }
    }
    void finish() { this->m_tasks.finish(1); }

private:
    void body(unsigned, unsigned) final {}
    bool stopping() final { return m_stop.load(acq) != 0; }
    typename Atom::template atomic<int> m_stop;
};

/// The seats alone: every wake-up that a waker counts is one that a sleeper gets, also where its scan found
/// something at that moment.
struct withdrawn {
    using sleepers = pilfer::detail::sleepers<atom, resting::park>;
    static constexpr unsigned threads = 4;

    void thread(unsigned i) {
        if (i > 1) {
            // In front of the wake-up: what the token shows to its holder.
            m_shown[i - 2] = i;
            if (i == 2 ? m_idle.wake(0, i) : m_idle.wake_one(1, i) != sleepers::nobody) {
                ++m_given;
            }
            resting::at_the_end();
            return;
        }
        for (unsigned k = 0; k < 2; ++k) {
            const auto how = m_idle.sleep(
                i, [] {}, [] { return here().choose(2) != 0; });
            if (how == sleepers::outcome::woken) {
                ++m_received;
                const unsigned by = m_idle.hint(i);
                check(by == 2 || by == 3, "a hint that nobody gave");
                check(m_shown[by - 2] == by, "a token without what its giver knew");
                m_idle.settle_token(i);
            }
        }
        resting::at_the_end();
    }
    bool at_rest() { return resting::nobody_waits(threads) && m_given == m_received; }
    void finish() { check(m_given == m_received, "a wake-up was lost or came twice"); }

private:
    sleepers::seat m_seats[2];
    sleepers::map_word m_map[1];
    sleepers m_idle{m_seats, m_map, 2};
    plain<unsigned> m_shown[2];
    unsigned m_given = 0; // of the checker itself, as the next two
    unsigned m_received = 0;
    resting m_resting;
};

/// 65 workers, of which three are there: at the ends of the map's first word, and the second one's only bit.
struct two_words {
    using sleepers = pilfer::detail::sleepers<atom, resting::park>;
    static constexpr unsigned threads = 5;
    static constexpr unsigned who[3] = {0, 63, 64};

    two_words() {
        for (const unsigned i : who) {
            ::new (&seats()[i]) sleepers::seat;
        }
    }
    void thread(unsigned i) {
        if (i < 3) {
            if (m_idle.sleep(
                    who[i], [] {}, [this] { return m_work.load(acq) != 0; }) == sleepers::outcome::woken) {
                ++m_received;
            }
            resting::at_the_end();
            return;
        }
        m_work.store(1, rel);
        atom::fence_sc();
        while (m_idle.anyone_asleep()) {
            if (m_idle.wake_one(i == 3 ? 63 : 20, 0) != sleepers::nobody) {
                ++m_given;
            }
        }
        resting::at_the_end();
    }
    bool at_rest() { return false; }
    void finish() { check(m_given == m_received, "a wake-up was lost or came twice"); }

private:
    [[nodiscard]] sleepers::seat* seats() { return reinterpret_cast<sleepers::seat*>(m_room); }
    alignas(sleepers::seat) std::byte m_room[65 * sizeof(sleepers::seat)];
    sleepers::map_word m_map[2];
    sleepers m_idle{seats(), m_map, 65};
    atomic<int> m_work;
    unsigned m_given = 0; // of the checker itself, as the next one
    unsigned m_received = 0;
    resting m_resting;
};

const registered<published<atom, 1, 2, 1>> r1("sleep_one", "a publisher and one sleeper");
const registered<published<atom, 2, 2, 0>> r2("sleep_two", "two endless tasks, two sleepers");
const registered<published<atom, 2, 3, 1>> r3("sleep_three",
                                              "three tasks, the first one short, two sleepers");
const registered<two_publishers<2, 1, 1, 0>> r4("sleep_spent",
                                                "two publishers, two sleepers, one task for each");
const registered<two_publishers<1, 1, 2, 2>> r5("sleep_told", "two publishers, one sleeper, two short tasks");
const registered<handed_down> r6("sleep_chain", "a task that announces another one where it is taken");
const registered<taken_back> r7("sleep_own", "a publisher that takes back and goes to sleep itself");
const registered<submitted> r8("sleep_submit", "a foreign submitter and a publisher, two sleepers");
const registered<stopped<atom>> r9("sleep_stop", "the stop of all workers");
const registered<published<symmetric_atom, 2, 2, 0>> r10("sleep_two_pinned", "sleep_two without membarrier");
const registered<stopped<symmetric_atom>> r11("sleep_stop_pinned", "sleep_stop without membarrier");
const registered<withdrawn> r12("sleep_withdraw", "wakers against sleepers that withdraw");
const registered<published<atom, 2, 2, 0, 2>> r14("sleep_haul",
                                                  "two endless tasks, two sleepers, both taken at once");
const registered<published<atom, 2, 3, 1, 3>> r15("sleep_haul_three", "three tasks, the first one short");
const registered<published<symmetric_atom, 2, 2, 0, 2>> r16("sleep_haul_pinned",
                                                            "sleep_haul without membarrier");
const registered<two_words> r13("sleep_map", "bits on both sides of the end of a map word");

} // namespace
