// Workers as in src/worker/scheduler.cpp, announcer.cpp and sleeper.cpp, reduced to their use of deques,
// signal_words, tokens and the queue: for the harnesses of sleeping and of stepping aside.
#pragma once

#include <pilfer/detail/deque/deque.hpp>
#include <pilfer/detail/deque/submissions.hpp>
#include <pilfer/detail/idle/sleep.hpp>

#include "../harness.hpp"
#include "../resting.hpp"

namespace model {

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
    using trip = pilfer::detail::signal_word<Atom>;
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

    // ---- announcing: announce(), announcer::tripped(), announcer::answer() ------------------------
    void push(unsigned self, unsigned task) {
        m_tasks.announce(task);
        if (m_worker[self].deque.owner().push(task + 1)) {
            check(m_worker[self].deque.owner().make_room(), "no room");
            after_push(self);
        }
    }
    /// announcer::insert()
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
        const auto bits = me.deque.signal().take();
        if ((bits & (trip::expose | trip::wanted)) == 0) {
            return;
        }
        if (me.deque.owner().shared_size() <= 0) {
            (void)me.deque.owner().expose(Haul);
        }
        if ((bits & trip::wanted) != 0 && me.deque.thief().has_any()) {
            (void)m_idle.publish(self, me.last_woken, me.deque.signal());
        }
    }

    // ---- others: submission_gate::accept(), waker::wake_any() ---------------------------------------------
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
        if (got.status == steal_status::empty && reach && thief.has_any() && thief.force_expose(amount) > 0) {
            got = thief.steal(any);
        }
        if (got.status == steal_status::success) {
            if (amount > 1) {
                take_more(self, victim, amount - 1);
            }
            return execute(self, static_cast<unsigned>(got.task) - 1);
        }
        auto& wire = m_worker[victim].deque.signal();
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
            (void)thief.force_expose(more - there.shared);
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
                auto& wire = m_worker[(self + k) % Workers].deque.signal();
                if (!wire.has(trip::wanted)) {
                    wire.set(trip::wanted);
                }
            }
        };
        const auto how =
            m_idle.sleep(self, tell_all, [this, self] { return retires(self) || anything_ready(self); });
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
        // The assumption of the throttle: a publisher takes `token` for "will look again".
        check(!m_idle.is_searching(self), "a token in the seat of a worker that runs a task");
        m_tasks.run(task);
        body(self, task);
        return true;
    }
    /// scheduler::work()
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
                Atom::relax(0); // another worker holds the queue
            }
        }
    }
    virtual void body(unsigned self, unsigned task) = 0;
    virtual bool stopping() { return false; }
    virtual bool retires(unsigned) { return false; }
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
    map_word m_retired[1];
    sleepers m_idle{m_seats, m_map, Workers, m_retired};
    std::conditional_t<Queue, queue, none> m_queue;
    std::conditional_t<Queue, submission, none> m_submission[Tasks];
    tasks<Tasks> m_tasks;
    resting m_resting;
};

} // namespace model
