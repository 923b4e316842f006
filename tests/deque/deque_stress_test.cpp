// The split deque under thieves: every task is taken exactly once, by its owner or by a thief. This holds at
// every count of threads, also with more of them than CPUs.
#include <gtest/gtest.h>

#include <memory>

#include <pilfer/detail/deque/deque.hpp>

#include "deque/rings.hpp"
#include "support/protocol_support.hpp"

namespace {

using namespace pilfer_test;
using detail::std_atom;
using detail::steal_status;

constexpr std::int64_t everything = INT64_MAX / 4;

/// The payload of each task, written without atomics: ThreadSanitizer sees whether an edge publishes it.
struct ledger {
    explicit ledger(std::int64_t n)
        : payload(static_cast<std::size_t>(n) + 1),
          taken(std::make_unique<std::atomic<std::uint8_t>[]>(static_cast<std::size_t>(n) + 1)) {}

    task_word write(std::int64_t id) {
        payload[static_cast<std::size_t>(id)] = 3 * id + 1;
        return static_cast<task_word>(id) << 2;
    }
    void take(task_word task) {
        const auto id = static_cast<std::size_t>(task >> 2);
        if (payload.at(id) != 3 * static_cast<std::int64_t>(id) + 1) {
            wrong_payload.fetch_add(1);
        }
        taken[id].fetch_add(1, std::memory_order_relaxed);
        progressed();
    }
    void expect_each_once() const {
        EXPECT_EQ(wrong_payload.load(), 0);
        std::size_t lost = 0;
        std::size_t twice = 0;
        for (std::size_t id = 1; id < payload.size(); ++id) {
            lost += taken[id].load() == 0 ? 1 : 0;
            twice += taken[id].load() > 1 ? 1 : 0;
        }
        EXPECT_EQ(lost, 0U);
        EXPECT_EQ(twice, 0U);
    }

    std::vector<std::int64_t> payload;
    std::unique_ptr<std::atomic<std::uint8_t>[]> taken;
    std::atomic<int> wrong_payload{0};
};

/// The owner's own view: a stack of its pushed tasks that it has not seen leave. Thieves take from its far
/// end.
template <class Atom>
class owner_thread {
public:
    owner_thread(tested_deque<Atom>& d, ledger& book, std::uint64_t seed)
        : m_d(d), m_book(book), m_random(seed) {}

    void run(std::int64_t tasks) {
        for (std::int64_t id = 1; id <= tasks;) {
            const unsigned what = m_random.below(100);
            if (what < 48) {
                m_mine.push_back(m_book.write(id++));
                m_d.push(m_mine.back());
            } else if (what < 70) {
                pop();
            } else if (what < 88) {
                pop_if();
            } else if (what < 98) {
                (void)m_d.deque.owner().expose(m_random.below(4));
            } else {
                drain();
                if (m_random.below(4) == 0) {
                    std::this_thread::yield(); // the others meet a silent owner, also on a single CPU
                }
            }
        }
        drain();
    }
    int wrong = 0; // not the newest

private:
    void drain() {
        while (pop()) {
        }
    }
    void took(task_word got) {
        if (got == 0) {
            m_mine.clear(); // thieves take the oldest first: if the newest is gone, so are all others
            return;
        }
        wrong += m_mine.empty() || got != m_mine.back() ? 1 : 0;
        if (!m_mine.empty()) {
            m_mine.pop_back();
        }
        m_book.take(got);
    }
    bool pop() {
        const task_word got = m_d.deque.owner().pop(most());
        took(got);
        return got != 0;
    }
    void pop_if() {
        if (m_mine.empty()) {
            return;
        }
        using popped = typename tested_deque<Atom>::owner_end::popped;
        const auto got = m_d.deque.owner().pop_if(m_mine.back());
        if (got == popped::gone) {
            // Only where a larger ring was made without the stale slot.
            wrong += m_d.deque.owner().shared_size() + m_d.deque.owner().private_size() != 0 ? 1 : 0;
            took(0);
        } else {
            took(got == popped::taken ? m_mine.back() : m_d.deque.owner().pop_slow(most()));
        }
    }
    std::int64_t most() { return m_random.below(2) == 0 ? 1 : everything; }

    tested_deque<Atom>& m_d;
    ledger& m_book;
    dice m_random;
    std::vector<task_word> m_mine;
};

template <class Atom>
void thief_thread(tested_deque<Atom>& d, ledger& book, std::atomic<bool>& over, unsigned seed) {
    dice random(seed + 77);
    auto thief = d.deque.thief();
    for (;;) {
        const bool last = over.load();
        const auto got = thief.steal(any_task);
        if (got.status == steal_status::success) {
            book.take(got.task);
            continue;
        }
        if (got.status == steal_status::lost) {
            continue;
        }
        if (last) {
            return;
        }
        switch (random.below(8)) {
        case 0:
            (void)thief.force_expose(1 + random.below(3));
            break;
        case 1:
            d.deque.signal().set(detail::signal_word<Atom>::expose);
            break;
        case 2:
            std::this_thread::yield();
            break;
        default:
            detail::cpu_relax();
        }
    }
}

template <class Atom>
void exactly_once(bool pinned, unsigned threads, std::int64_t tasks) {
    SCOPED_TRACE(testing::Message() << threads << " threads" << (pinned ? ", pinned" : ""));
    const watchdog dog("the exactly-once stress");
    ledger book(tasks);
    // Indices up to the last one that the limit can name.
    tested_deque<Atom> d(4, pinned, detail::signal_word<Atom>::limit_mask - tasks - 4096);
    owner_thread<Atom> owner(d, book, threads);
    std::atomic<bool> over{false};
    together(threads, [&](unsigned i) {
        if (i == 0) {
            owner.run(tasks);
            over.store(true);
        } else {
            thief_thread(d, book, over, i);
        }
    });
    EXPECT_EQ(owner.wrong, 0);
    EXPECT_FALSE(d.deque.thief().has_any());
    book.expect_each_once();
}

// On a machine with many other programs a million tasks take longer than the watchdog waits.
TEST(Ledger, ATakenTaskIsProgress) {
    ledger book(1);
    const task_word task = book.write(1);
    moved.store(false);
    book.take(task);
    EXPECT_TRUE(moved.load());
}

class DequeStress : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Threads, DequeStress, testing::Values(1U, 2U, 3U, 8U));

TEST_P(DequeStress, EachTaskExactlyOnce) {
    ASSERT_TRUE(detail::heavy_fence_reaches_all())
        << "this kernel has no membarrier: only the pinned mode is sound";
    exactly_once<std_atom>(false, GetParam(), scaled(1'000'000));
}

TEST_P(DequeStress, EachTaskExactlyOncePinned) { exactly_once<std_atom>(true, GetParam(), scaled(250'000)); }

TEST_P(DequeStress, EachTaskExactlyOncePinnedWithoutMembarrier) {
    exactly_once<own_fence_atom>(true, GetParam(), scaled(250'000));
}

TEST_P(DequeStress, ASilentOwnersTasksAreAllReached) {
    const watchdog dog("reaching a silent owner");
    const std::int64_t tasks = scaled(5'000);
    ledger book(tasks);
    tested_deque<std_atom> d(2);
    for (std::int64_t id = 1; id <= tasks; ++id) {
        d.push(book.write(id));
    }
    together(GetParam(), [&](unsigned) {
        auto thief = d.deque.thief();
        while (thief.has_any()) {
            const auto got = thief.steal(any_task);
            if (got.status == steal_status::success) {
                book.take(got.task);
            } else if (got.status == steal_status::empty) {
                (void)thief.force_expose(1);
            }
        }
    });
    EXPECT_EQ(d.deque.owner().pop(1), 0U);
    book.expect_each_once();
}

TEST_P(DequeStress, OldestFirstForEveryThief) {
    const watchdog dog("the order of thefts");
    const std::int64_t tasks = scaled(200'000);
    ledger book(tasks);
    tested_deque<std_atom> d(2);
    std::atomic<bool> over{false};
    std::atomic<int> disorder{0};
    const unsigned thieves = GetParam();
    together(thieves + 1, [&](unsigned i) {
        if (i == 0) {
            // Never pops: the ring grows under the thieves, or its slots are reused after their thefts.
            for (std::int64_t id = 1; id <= tasks; ++id) {
                d.push(book.write(id));
                (void)d.deque.owner().expose(everything);
            }
            // A reach that held the lock may have cost the last exposure.
            wait_until([&] {
                return d.deque.owner().expose(everything) == 0 && d.deque.owner().private_size() == 0;
            });
            over.store(true);
            return;
        }
        task_word before = 0;
        for (;;) {
            const bool last = over.load();
            const auto got = d.deque.thief().steal(any_task);
            if (got.status == steal_status::success) {
                disorder.fetch_add(got.task <= before ? 1 : 0);
                before = got.task;
                book.take(got.task);
            } else if (last && got.status == steal_status::empty) {
                return;
            } else {
                std::this_thread::yield();
            }
        }
    });
    EXPECT_EQ(disorder.load(), 0);
    book.expect_each_once();
}

/// All thieves and the owner at one task, over and over.
TEST_P(DequeStress, StampedeAtOneTask) {
    const watchdog dog("the stampede");
    const std::int64_t rounds = scaled(20'000);
    const unsigned threads = GetParam();
    tested_deque<std_atom> d(2);
    std::atomic<std::int64_t> round{0};
    std::atomic<unsigned> arrived{0};
    std::atomic<std::int64_t> wins{0};
    together(threads, [&](unsigned i) {
        for (std::int64_t r = 1; r <= rounds; ++r) {
            if (i == 0) {
                d.push(task_word{4});
                if (r % 2 == 0) {
                    (void)d.deque.owner().expose(1);
                }
                arrived.store(0);
                round.store(r);
                wins.fetch_add(d.deque.owner().pop(r % 3 == 0 ? everything : 1) != 0 ? 1 : 0);
                wait_until([&] { return arrived.load() == threads - 1; });
                ASSERT_EQ(wins.load(), r) << "one task was taken twice or by nobody";
                continue;
            }
            wait_until([&] { return round.load() == r; });
            auto thief = d.deque.thief();
            auto got = thief.steal(any_task);
            if (got.status == steal_status::empty && thief.force_expose(1) > 0) {
                got = thief.steal(any_task);
            }
            wins.fetch_add(got.status == steal_status::success ? 1 : 0);
            arrived.fetch_add(1);
        }
    });
    EXPECT_EQ(wins.load(), rounds);
}

} // namespace
