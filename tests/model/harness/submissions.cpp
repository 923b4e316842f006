// The submission queue: pushers without a lock, takers that give way, and the look before sleep.
#include <pilfer/detail/deque/submissions.hpp>
#include <pilfer/detail/idle/sleep.hpp>

#include "../harness.hpp"
#include "../resting.hpp"

namespace {

using namespace model;
using pilfer::detail::acq_rel;
using pilfer::detail::rlx;

template <class Atom, unsigned N>
class queue_client {
protected:
    using queue = pilfer::detail::submission_queue<Atom>;
    struct item : queue::node {
        unsigned number = 0;
    };
    void push(unsigned i) {
        m_items[i].number = i;
        m_tasks.announce(i);
        (void)m_queue.push(&m_items[i]);
    }
    /// The last step of pop() releases the lock, so code after it runs in the order of the lock's holders.
    bool pop() {
        auto* n = static_cast<item*>(m_queue.pop());
        if (n == nullptr) {
            return false;
        }
        m_tasks.run(n->number);
        // Two in a row belong to one pusher.
        check(n->number % 2 == 0 || m_tasks.ran(n->number - 1), "a younger submission came first");
        return true;
    }
    void drain(unsigned n) {
        while (pop()) {
        }
        check(m_queue.empty(), "an empty queue says that it has something");
        m_tasks.finish(n);
    }

    queue m_queue;
    item m_items[N];
    tasks<N> m_tasks;
};

/// Two pushers with two each, two takers.
struct first_in : queue_client<atom, 4> {
    static constexpr unsigned threads = 4;
    void thread(unsigned i) {
        for (unsigned k = 0; k < 2; ++k) {
            if (i < 2) {
                push(2 * i + k);
            } else {
                (void)pop();
            }
        }
    }
    void finish() { drain(4); }
};

/// Four items, at most three takings, another one pushed: never empty.
struct never_empty : queue_client<atom, 6> {
    static constexpr unsigned threads = 4;
    never_empty() {
        for (unsigned i = 0; i < 4; ++i) {
            push(i);
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            (void)pop();
            (void)pop();
        } else if (i == 1) {
            (void)pop();
        } else if (i == 2) {
            push(4);
            check(!m_queue.empty(), "empty() overlooks what its caller has pushed");
        } else {
            check(!m_queue.empty(), "empty() overlooks what was inside and stays");
            check(!m_queue.empty(), "empty() overlooks what was inside and stays");
        }
    }
    void finish() { drain(5); }
};

/// Pushers that look at the map, workers that look at the queue before they sleep. `Alert`: a searching
/// worker says so, and a pusher wakes no worker then.
template <class Atom, bool Alert = false>
struct slept_over : queue_client<Atom, 4> {
    static constexpr unsigned threads = 4;
    using item = typename queue_client<Atom, 4>::item;
    using sleepers = pilfer::detail::sleepers<Atom, resting::park>;
    using outcome = typename sleepers::outcome;

    void thread(unsigned i) {
        if (i < 2) {
            this->push(2 * i);
            tell_somebody(i);
            if (i == 0) {
                this->push(1);
                tell_somebody(0);
            }
            resting::at_the_end();
            return;
        }
        for (const unsigned self = i - 2;;) {
            if (pop(self)) {
                continue;
            }
            if constexpr (Alert) { // thief::search()
                if (!m_token[self]) {
                    m_alert[self] = true;
                    m_idle.be_alert(self);
                }
                if (pop(self)) {
                    continue;
                }
            }
            const auto how = m_idle.sleep(
                self, [] {}, [this] { return !this->m_queue.empty(); });
            m_token[self] = m_token[self] || how == outcome::woken;
            if (how == outcome::found) {
                Atom::relax(0); // another worker may hold the queue
            }
        }
    }
    bool at_rest() {
        const bool all_ran = this->m_tasks.ran(0) && this->m_tasks.ran(1) && this->m_tasks.ran(2);
        return resting::nobody_waits(threads) && (all_ran || !resting::somebody_sleeps());
    }
    void finish() {}

private:
    /// A foreign thread. Production spares the wake-up only if the push before was fetched. That condition is
    /// for speed; nothing rests on it.
    void tell_somebody(unsigned from) {
        Atom::fence_sc();
        if (m_idle.anyone_asleep() && !(Alert && m_idle.anyone_alert(from, 2) != sleepers::nobody)) {
            (void)m_idle.wake_one(from, from);
        }
    }
    /// The first task is short, the others have no end.
    bool pop(unsigned self) {
        auto* n = static_cast<item*>(this->m_queue.pop());
        if (n == nullptr) {
            return false;
        }
        if (m_token[self]) {
            settle(self);
        } else if (m_alert[self]) {
            settle_alert(self);
        }
        this->m_tasks.run(n->number);
        if (m_ended++ != 0) {
            resting::in_endless_task();
        }
        return true;
    }
    /// As lookout::found_work().
    void settle(unsigned self) {
        m_token[self] = false;
        m_alert[self] = false;
        m_idle.settle_token(self);
        for (unsigned woken = 0; woken < 2 && !this->m_queue.empty(); ++woken) {
            if (m_idle.wake_one(self, self) == sleepers::nobody) {
                return;
            }
        }
    }

    /// settle() with the alert, and waker::notify_any().
    void settle_alert(unsigned self) {
        m_alert[self] = false;
        m_idle.settle_alert(self);
        if (!this->m_queue.empty()) {
            Atom::fence_sc();
            (void)m_idle.wake_one(self, self);
        }
    }

    typename sleepers::seat m_seats[2];
    typename sleepers::map_word m_map[1];
    sleepers m_idle{m_seats, m_map, 2};
    bool m_token[2] = {};
    bool m_alert[2] = {};
    resting m_resting;
    unsigned m_ended = 0; // of the checker itself
};

/// A submitter that summons, and a worker inside a task that looks at its signal word.
struct summoned : queue_client<atom, 4> {
    static constexpr unsigned threads = 3;
    using trip = pilfer::detail::signal_word<atom>;

    void thread(unsigned i) {
        if (i == 0) {
            for (unsigned k = 0; k < 2; ++k) {
                if (m_signal.pending(0) && (m_signal.take() & trip::yield_request) != 0) {
                    atom::fence_sc(); // announcer::yield_to_queued()
                    while (!m_queue.empty()) {
                        (void)pop();
                    }
                }
            }
            return;
        }
        push(2 * (i - 1));
        yield_request();
        if (i == 1) {
            push(1);
            yield_request();
        }
    }
    void finish() {
        const bool all_ran = m_tasks.ran(0) && m_tasks.ran(1) && m_tasks.ran(2);
        check(all_ran || m_signal.has(trip::yield_request),
              "a submission waits for a worker that was not summoned");
        drain(3);
    }

private:
    void yield_request() {
        atom::fence_sc();
        if (!m_signal.has(trip::yield_request)) {
            m_signal.set(trip::yield_request);
        }
    }
    trip m_signal{100};
};

const registered<first_in> r1("submissions_fifo", "two pushers, two takers: each once, in order");
const registered<never_empty> r2("submissions_empty", "empty() beside takers and a pusher");
const registered<slept_over<atom>> r3("submissions_sleep",
                                      "pushers that look at the map, workers that sleep");
const registered<slept_over<symmetric_atom>> r4("submissions_sleep_pinned", "the same without membarrier");
const registered<slept_over<atom, true>> r6("submissions_alert",
                                            "the same, and searching workers that spare a wake-up");
const registered<slept_over<symmetric_atom, true>> r7("submissions_alert_pinned",
                                                      "the same without membarrier");
const registered<summoned> r5("submissions_summon", "submitters that yield_request a worker inside a task");

} // namespace
