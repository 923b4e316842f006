// A submission queue for each level: the word that says that there are levels, and the look before sleep.
#include <pilfer/detail/deque/levels.hpp>
#include <pilfer/detail/idle/sleep.hpp>

#include "../harness.hpp"
#include "../resting.hpp"

namespace {

using namespace model;
using pilfer::priority;

/// Pushers of the first low, the first high and a normal submission; workers that look before they sleep. If
/// there are two, a worker does not wait for one that holds a queue.
template <class Atom, unsigned Workers, unsigned Pushers = 2>
struct levels_client {
    static constexpr unsigned threads = Pushers + Workers;
    static constexpr unsigned items = Pushers + 1;
    using queue = pilfer::detail::leveled_queue<Atom, Workers == 1 ? 64 : 0>;
    using sleepers = pilfer::detail::sleepers<Atom, resting::park>;
    using outcome = typename sleepers::outcome;
    struct item : queue::node {
        unsigned number = 0;
    };
    static constexpr priority levels[3] = {priority::low, priority::high, priority::normal};

    void push(unsigned i) {
        m_items[i].number = i;
        m_tasks.announce(i);
        (void)m_queue.push(&m_items[i], levels[i]);
        Atom::fence_sc(); // waker::wake_any()
        if (m_idle.anyone_asleep()) {
            (void)m_idle.wake_one(i % Workers, i % Workers);
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            push(0);
            push(1);
            resting::at_the_end();
            return;
        }
        if (i < Pushers) {
            push(2);
            resting::at_the_end();
            return;
        }
        for (const unsigned self = i - Pushers;;) {
            if (pop(self)) {
                continue;
            }
            const auto how = m_idle.sleep(
                self, [] {}, [this] { return !m_queue.empty(); });
            m_token[self] = m_token[self] || how == outcome::woken;
            if (how == outcome::found) {
                Atom::relax(0); // another worker may hold a queue
            }
        }
    }
    bool at_rest() {
        bool all_ran = true;
        for (unsigned i = 0; i < items; ++i) {
            all_ran = all_ran && m_tasks.ran(i);
        }
        return resting::nobody_waits(threads) && (all_ran || !resting::somebody_sleeps());
    }
    void finish() {}

private:
    bool pop(unsigned self) {
        std::uint32_t turn = m_turn[self];
        auto* n = static_cast<item*>(m_queue.pop(turn).what);
        m_turn[self] = turn;
        if (n == nullptr) {
            return false;
        }
        if (m_token[self]) { // as lookout::found_work()
            m_token[self] = false;
            m_idle.settle_token(self);
            for (unsigned woken = 0; woken < 2 && !m_queue.empty(); ++woken) {
                if (m_idle.wake_one(self, self) == sleepers::nobody) {
                    break;
                }
            }
        }
        m_tasks.run(n->number);
        if (Workers > 1) {
            resting::in_endless_task(); // another worker must take what is left
        }
        return true;
    }

    queue m_queue;
    item m_items[items];
    tasks<items> m_tasks;
    typename sleepers::seat m_seats[Workers];
    typename sleepers::map_word m_map[1];
    sleepers m_idle{m_seats, m_map, Workers};
    bool m_token[Workers] = {};
    std::uint32_t m_turn[Workers] = {};
    resting m_resting;
};

/// The submissions leave in the order of the levels, once each, and any worker may take them. A worker that
/// does not insist may get nothing while another one holds a queue.
template <bool Insists>
struct levels_in_order {
    static constexpr unsigned threads = 2;
    using queue = pilfer::detail::leveled_queue<atom, 0>;
    struct item : queue::node {
        unsigned number = 0;
    };
    levels_in_order() {
        for (unsigned i = 0; i < 4; ++i) {
            m_items[i].number = i;
            m_tasks.announce(i);
            (void)m_queue.push(&m_items[i], i < 2 ? priority::low : priority::high);
        }
    }
    void thread(unsigned) {
        std::uint32_t turn = 0;
        bool low = false;
        for (int k = 0; k < 2; ++k) {
            auto* n = next(turn);
            while (!Insists && n == nullptr) {
                atom::relax(0);
                n = next(turn);
            }
            check(n != nullptr, "nothing, though more is there than is taken");
            m_tasks.run(n->number);
            check(!low || n->number < 2, "a lower level went first");
            low = n->number < 2;
        }
    }
    void finish() {
        check(m_queue.empty(), "an empty queue says that it has something");
        m_tasks.finish(4);
    }

private:
    item* next(std::uint32_t& turn) {
        return static_cast<item*>((Insists ? m_queue.insist_from(priority::low) : m_queue.pop(turn)).what);
    }

    queue m_queue;
    item m_items[4];
    tasks<4> m_tasks;
};

const registered<levels_client<atom, 1>> r1("levels_one", "pushers at three levels, one worker that sleeps");
const registered<levels_in_order<false>> r2("levels_taken", "two takers at two levels");
const registered<levels_in_order<true>> r3("levels_insisted", "levels_taken, and nothing may be missed");
const registered<levels_client<atom, 2, 1>> r4("levels_two",
                                               "a pusher at two levels, two workers with endless tasks");

} // namespace
