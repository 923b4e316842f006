// Seats that guests take and leave, and frames that return to one: src/guest/guest_slot.cpp.
#include <pilfer/detail/deque/submissions.hpp>
#include <pilfer/detail/idle/sleep.hpp>
#include <pilfer/detail/task/completion.hpp>

#include "../harness.hpp"
#include "../resting.hpp"
#include "guest/visiting.hpp"
#include "sleeping.hpp"

namespace {

using namespace model;
using pilfer::detail::acq;
using pilfer::detail::rel;
using pilfer::detail::rlx;

/// One seat with an inbox, to which `Frames` frames return.
template <unsigned Frames>
class seat {
protected:
    using queue = pilfer::detail::submission_queue<atom>;
    struct frame : queue::node {
        unsigned number = 0;
    };

    /// waker::send_to()
    void send(unsigned i) {
        m_frames[i].number = i;
        m_tasks.announce(i);
        (void)m_inbox.push(&m_frames[i]);
        atom::fence_sc(); // pool.V2, in notify(); the seat is in no map while its guest is awake
        if (!m_there.load(rlx)) {
            forward();
        }
    }
    /// guest_slots::admit()
    void visit() {
        std::uint64_t free = m_free.load(rlx);
        do {
            if (free == 0) {
                return;
            }
        } while (!m_free.compare_exchange_weak(free, 0, acq, rlx)); // pool.V1
        m_words = m_words + 1;
        m_there.store(true, rlx);
        run(m_inbox.pop());
        m_there.store(false, rlx);
        atom::fence_sc(); // pool.V2
        forward();
        m_words = m_words + 1;
        m_free.store(1, rel); // pool.V1
    }
    void finish_all() {
        while (!m_runnable.empty()) {
            run(m_runnable.pop());
        }
        check(m_inbox.empty(), "a frame stays at a seat where nobody sits");
        m_tasks.finish();
        check(m_words % 2 == 0, "what a guest wrote was lost");
    }

private:
    void run(queue::node* n) {
        if (n != nullptr) {
            m_tasks.run(static_cast<frame*>(n)->number);
        }
    }
    /// guest_slot::forward_inbox()
    void forward() {
        for (unsigned round = 0; !m_inbox.empty(); ++round) {
            if (auto* n = m_inbox.pop()) {
                m_runnable.push(n);
            } else {
                atom::relax(round);
            }
        }
    }

    queue m_inbox;
    queue m_runnable;
    frame m_frames[Frames];
    tasks<Frames> m_tasks;
    atom::atomic<std::uint64_t> m_free{1};
    atom::atomic<bool> m_there{false};
    plain<unsigned> m_words; // of the owner
};

/// `Senders` with a frame each, `Guests` that come for one look each.
template <unsigned Senders, unsigned Guests>
struct comes_home : seat<Senders> {
    static constexpr unsigned threads = Senders + Guests;
    void thread(unsigned i) {
        if (i < Senders) {
            this->send(i);
        } else {
            this->visit();
        }
    }
    void finish() { this->finish_all(); }
};

/// run_until() with a condition that another thread changes before it notifies, twice.
template <class Atom>
struct notified {
    using sleepers = pilfer::detail::sleepers<Atom, resting::park>;
    static constexpr unsigned threads = 2;

    void thread(unsigned i) {
        if (i == 0) {
            visit();
        } else {
            for (unsigned k = 1; k <= 2; ++k) {
                m_condition.store(k, rlx);
                m_notices.fetch_add(1, rel); // pool.V3
                Atom::fence_sc();
                (void)m_idle.wake(0, 0);
            }
        }
        resting::at_the_end();
    }
    void finish() {}

private:
    /// guest_slot::work_until() of one that finds nothing to run.
    void visit() {
        for (;;) {
            const std::uint32_t seen = m_notices.load(acq); // pool.V3
            m_idle.settle_token(0);
            check(!m_idle.anyone_asleep(), "the condition is asked while a wake-up for others may come here");
            if (m_condition.load(rlx) == 2) {
                return;
            }
            (void)m_idle.sleep(
                0, [] {}, [this, seen] { return m_notices.load(acq) != seen; },
                [](auto& word) { resting::park::wait(word, sleepers::asleep); });
        }
    }

    typename sleepers::seat m_seats[1];
    typename sleepers::map_word m_map[1];
    sleepers m_idle{m_seats, m_map, 1, nullptr};
    typename Atom::template atomic<std::uint32_t> m_condition{0};
    typename Atom::template atomic<std::uint32_t> m_notices{0};
    resting m_resting;
};

/// A guest waits for a latch. A thread that knows nothing of the pool releases it. Beside them are a worker
/// and a publisher of `Count` tasks that never looks again. The guest's wait ends, and its wake-up is not
/// lost with it.
template <class Atom, unsigned Count>
struct latched final : workers<Atom, 3, Count> {
    using base = workers<Atom, 3, Count>;
    using typename base::outcome;
    using typename base::sleepers;
    using typename base::trip;
    static constexpr unsigned threads = 4;
    static constexpr unsigned seat = 1; // woken before the worker

    void thread(unsigned i) {
        switch (i) {
        case 0:
            for (unsigned k = 0; k < Count; ++k) {
                this->push(0, k);
            }
            resting::in_endless_task();
        case seat:
            visit();
            break;
        case 2:
            this->work(2);
            return;
        default:
            m_latch.template release<resting::park>();
        }
        resting::at_the_end();
    }
    bool at_rest() { return m_over && this->nothing_beside_a_sleeper(threads, Count); }
    void finish() {}

private:
    /// guest_slot::work_until()
    void visit() {
        while (!m_latch.is_released()) {
            if (!this->step(seat) && sleep() == outcome::found && !m_latch.is_released() &&
                !this->step(seat)) {
                Atom::relax(0);
            }
        }
        this->found_work(seat);
        m_over = true;
    }
    /// sleeper::sleep(), of a guest.
    outcome sleep() {
        const auto tell_all = [this] {
            for (unsigned k = 1; k < 3; ++k) {
                auto& wire = this->m_worker[(seat + k) % 3].deque.signal();
                if (!wire.has(trip::wanted)) {
                    wire.set(trip::wanted);
                }
            }
        };
        const auto how = this->m_idle.sleep(
            seat, tell_all, [this] { return this->anything_ready(seat) || m_latch.is_released(); },
            [this](auto& state) {
                pilfer::detail::rest_on_two<resting::park>(this->m_idle, seat, state, m_latch.word(),
                                                           [] { return std::optional<std::uint64_t>(0); });
            });
        this->m_worker[seat].token = this->m_worker[seat].token || how == outcome::woken;
        return how;
    }
    void body(unsigned self, unsigned) final {
        if (self != seat) {
            resting::in_endless_task(); // it answers no second wake-up
        }
    }

    pilfer::detail::thread_latch<Atom> m_latch;
    bool m_over = false; // of the checker itself
};

const registered<latched<atom, 1>> r6("visits_latch", "a task is pushed while a guest's wait ends");
const registered<latched<symmetric_atom, 1>> r7("visits_latch_pinned", "visits_latch without membarrier");
const registered<notified<atom>> r4("visits_notified", "a condition that changes before notify()");
const registered<notified<symmetric_atom>> r5("visits_notified_pinned", "visits_notified without membarrier");
const registered<comes_home<1, 1>> r1("visits_one", "a frame comes home while its guest leaves");
const registered<comes_home<2, 1>> r2("visits_two_frames", "two frames, one guest");
const registered<comes_home<1, 2>> r3("visits_in_turn", "a frame and two guests, in turn or one alone");

} // namespace
