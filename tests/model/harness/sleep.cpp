// Sleeping and waking. The promise: when no thread can run, there is no task beside a sleeper.
#include "sleeping.hpp"

namespace {

using namespace model;

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

/// A task that announces another one. The worker that took it was perhaps asleep when the other worker lay
/// down.
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

/// The end: worker_threads::stop() while a task is pushed, taken and searched for.
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

/// The seats alone: every wake-up that a waker counts reaches a sleeper, also one whose scan found a task at
/// that moment.
struct withdrawn {
    using sleepers = pilfer::detail::sleepers<atom, resting::park>;
    static constexpr unsigned threads = 4;

    void thread(unsigned i) {
        if (i > 1) {
            // Before the wake-up: data that the token publishes to its holder.
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

/// A map for 65 workers. Three workers exist: at the ends of the map's first word, and at the only bit of the
/// second.
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
