// The submission queue: oldest first, nothing lost, and empty() is true only if that is certain.
#include <gtest/gtest.h>

#include <functional>

#include <pilfer/detail/deque/submissions.hpp>

#include "support/protocol_support.hpp"

namespace {

using namespace pilfer_test;
using queue = pilfer::detail::submission_queue<pilfer::detail::std_atom>;

struct item : queue::node {
    unsigned producer = 0;
    std::int64_t number = 0;
    std::atomic<int> taken{0};
};

TEST(Submissions, EmptyGivesNothing) {
    queue q;
    EXPECT_TRUE(q.empty());
    EXPECT_EQ(q.pop(), nullptr);
}

TEST(Submissions, OldestFirstAcrossSeveralFillings) {
    queue q;
    std::vector<item> items(10);
    std::size_t in = 0;
    std::size_t out = 0;
    for (const std::size_t upto : {3U, 4U, 9U, 10U}) {
        while (in < upto) {
            q.push(&items[in++]);
        }
        EXPECT_FALSE(q.empty());
        EXPECT_EQ(q.pop(), &items[out++]);
        EXPECT_EQ(q.pop(), &items[out++]);
    }
    while (out < items.size()) {
        EXPECT_FALSE(q.empty());
        EXPECT_EQ(q.pop(), &items[out++]);
    }
    EXPECT_TRUE(q.empty());
    EXPECT_EQ(q.pop(), nullptr);
}

TEST(Submissions, ANodeMayBeReusedAtOnce) {
    queue q;
    item a;
    item b;
    q.push(&a);
    for (int i = 0; i < 100; ++i) {
        q.push(&b);
        EXPECT_EQ(q.pop(), &a);
        q.push(&a);
        EXPECT_EQ(q.pop(), &b);
    }
    EXPECT_EQ(q.pop(), &a);
    EXPECT_TRUE(q.empty());
}

/// Atomics that let the test look at the queue in between, as another thread could.
struct watched_atom : pilfer::detail::std_atom {
    static inline std::function<void()> look;
    template <class T>
    struct atomic : std::atomic<T> {
        using std::atomic<T>::atomic;
        T exchange(T value, std::memory_order order) noexcept {
            const T before = std::atomic<T>::exchange(value, order);
            watched_atom::look();
            return before;
        }
        void store(T value, std::memory_order order) noexcept {
            std::atomic<T>::store(value, order);
            watched_atom::look();
        }
    };
};

TEST(Submissions, IsNotEmptyAtAnyStepOfATaker) {
    using watched_queue = pilfer::detail::submission_queue<watched_atom>;
    watched_queue q;
    watched_queue::node nodes[3];
    int looks = 0;
    bool all_told = true;
    watched_atom::look = [&] {
        ++looks;
        all_told = all_told && !q.empty();
    };
    for (auto& one : nodes) {
        q.push(&one);
    }
    EXPECT_EQ(q.pop(), &nodes[0]);
    EXPECT_EQ(q.pop(), &nodes[1]);
    EXPECT_GE(looks, 7) << "lock, m_in, m_out, unlock; lock, m_out, unlock";
    EXPECT_TRUE(all_told);
    watched_atom::look = [] {};
    EXPECT_EQ(q.pop(), &nodes[2]);
    EXPECT_TRUE(q.empty());
}

/// pop() gives up if another worker holds the queue. The queue is not empty then, and empty() says so. After
/// all items of a round were pushed, a worker that sees an empty queue therefore misses one item at most.
/// That item is in the other taker's hand and not yet counted.
TEST(Submissions, IsNotEmptyWhileATakerHoldsTheLock) {
    const watchdog dog("a queue whose lock is held");
    queue q;
    std::vector<item> items(64);
    std::atomic<std::int64_t> pushed{0};
    std::atomic<std::int64_t> taken{0};
    std::atomic<std::int64_t> too_early{0};
    const std::int64_t rounds = scaled(2'000);
    together(3, [&](unsigned i) {
        for (std::int64_t r = 0; r < rounds; ++r) {
            const std::int64_t all = (r + 1) * 64;
            if (i == 0) {
                for (auto& one : items) {
                    q.push(&one);
                }
                pushed.store(all);
                wait_until([&] { return taken.load() == all; });
                // The other taker may still hold the lock, and find nothing.
                wait_until([&] { return q.empty(); });
                continue;
            }
            while (taken.load() < all) {
                const bool complete = pushed.load() == all;
                if (q.pop() != nullptr) {
                    taken.fetch_add(1);
                    continue;
                }
                if (q.empty() && complete && taken.load() < all - 1) {
                    too_early.fetch_add(1);
                }
                std::this_thread::yield();
            }
        }
    });
    EXPECT_EQ(taken.load(), rounds * 64);
    EXPECT_EQ(too_early.load(), 0);
    EXPECT_TRUE(q.empty());
}

class SubmissionStress : public testing::TestWithParam<std::tuple<unsigned, unsigned>> {};
INSTANTIATE_TEST_SUITE_P(ProducersAndConsumers, SubmissionStress,
                         testing::Combine(testing::Values(1U, 2U, 3U, 8U), testing::Values(1U, 2U, 3U, 8U)));

TEST_P(SubmissionStress, EachOnceAndInTheOrderOfItsProducer) {
    const watchdog dog("producers and consumers");
    const unsigned producers = std::get<0>(GetParam());
    const unsigned consumers = std::get<1>(GetParam());
    const auto each = scaled(50'000) / static_cast<std::int64_t>(producers) + 1;
    const std::int64_t all = each * static_cast<std::int64_t>(producers);
    queue q;
    std::vector<item> items(static_cast<std::size_t>(all));
    std::atomic<std::int64_t> taken{0};
    std::atomic<int> disorder{0};
    together(producers + consumers, [&](unsigned i) {
        if (i < producers) {
            for (std::int64_t k = 0; k < each; ++k) {
                item& one = items[static_cast<std::size_t>(i * each + k)];
                one.producer = i;
                one.number = k + 1;
                q.push(&one);
            }
            return;
        }
        std::vector<std::int64_t> last(producers, 0);
        while (taken.load() < all) {
            auto* one = static_cast<item*>(q.pop());
            if (one == nullptr) {
                std::this_thread::yield();
                continue;
            }
            disorder.fetch_add(one->number <= last[one->producer] ? 1 : 0);
            last[one->producer] = one->number;
            one->taken.fetch_add(1);
            taken.fetch_add(1);
        }
    });
    EXPECT_EQ(disorder.load(), 0);
    EXPECT_TRUE(q.empty());
    for (const auto& one : items) {
        ASSERT_EQ(one.taken.load(), 1);
    }
}

TEST(SubmissionStress, OneOrderForAllProducers) {
    const watchdog dog("the order of all producers");
    const std::int64_t all = scaled(200'000);
    queue q;
    std::vector<item> items(static_cast<std::size_t>(all));
    std::mutex ticket;
    std::int64_t next = 0;
    std::int64_t expected = 0;
    together(4, [&](unsigned i) {
        if (i == 0) {
            while (expected < all) {
                if (auto* one = static_cast<item*>(q.pop())) {
                    ASSERT_EQ(one->number, expected);
                    ++expected;
                } else {
                    std::this_thread::yield();
                }
            }
            return;
        }
        for (;;) {
            const std::lock_guard lock(ticket); // the earlier number enters earlier
            if (next == all) {
                return;
            }
            item& one = items[static_cast<std::size_t>(next)];
            one.number = next++;
            q.push(&one);
        }
    });
}

/// The promise for a sleeper: an item that was inside before the call and stays there is not overlooked. The
/// only producer looks. A taker counts every attempt before it makes it. If `attempts` is lower than the
/// number of pushes, an item was inside all the time.
TEST(SubmissionStress, EmptyNeverOverlooksARemainingItem) {
    for (const unsigned takers : {1U, 2U, 7U}) {
        const watchdog dog("a queue said to be empty");
        const std::int64_t bursts = scaled(10'000) / takers + 1;
        constexpr std::int64_t burst = 200;
        std::atomic<std::int64_t> bursts_in{0}; // takers begin together with the looks
        queue q;
        std::vector<item> items(burst);
        std::atomic<std::int64_t> attempts{0};
        std::atomic<std::int64_t> taken{0};
        std::atomic<bool> over{false};
        std::int64_t lies = 0;
        std::int64_t looks = 0;
        together(takers + 1, [&](unsigned i) {
            if (i != 0) {
                while (!over.load()) {
                    if (taken.load() >= bursts_in.load() * burst) {
                        std::this_thread::yield();
                        continue;
                    }
                    attempts.fetch_add(1);
                    if (q.pop() != nullptr) {
                        taken.fetch_add(1);
                    } else {
                        attempts.fetch_sub(1);
                        std::this_thread::yield();
                    }
                }
                return;
            }
            for (std::int64_t b = 1; b <= bursts; ++b) {
                for (auto& one : items) {
                    q.push(&one);
                }
                bursts_in.store(b);
                progressed();
                while (taken.load() < b * burst) {
                    const bool said_empty = q.empty();
                    lies += said_empty && attempts.load() < b * burst ? 1 : 0;
                    if (said_empty || ++looks % 64 == 0) {
                        std::this_thread::yield();
                    }
                }
            }
            over.store(true);
        });
        EXPECT_EQ(lies, 0) << takers << " takers";
    }
}

} // namespace
