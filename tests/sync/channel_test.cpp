// Channels: every value comes once, in order. A close, a time limit or an exception loses no value.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

#include "sync/support.hpp"

namespace {

using namespace sync_tests;
using support::workers;

class channel_exchange : public over_workers {};
class channel_ends : public support::guarded {};
PILFER_OVER_WORKERS(channel_exchange);

TEST_P(channel_exchange, producers_and_consumers_of_every_kind) {
    for (const std::size_t capacity : {0U, 1U, 7U, 1000U}) {
        pilfer::pool pool(with_workers());
        pilfer::channel<std::pair<unsigned, unsigned>> c(capacity);
        constexpr unsigned senders = 5;
        constexpr unsigned values = 60;
        std::atomic<unsigned> left{senders};
        std::atomic<unsigned> received{0};
        // 0..3 and 8 send, 4..7 and 9 receive: tasks and a thread of each.
        all_at_once(pool, 8, 2, [&](unsigned self) {
            if (self < 4 || self == 8) {
                for (unsigned i = 0; i < values; ++i) {
                    EXPECT_TRUE(c.send({std::min(self, 4U), i}));
                }
                if (--left == 0) {
                    c.close();
                }
                return;
            }
            int latest[senders] = {-1, -1, -1, -1, -1};
            while (const auto got = c.receive()) {
                EXPECT_GT(static_cast<int>(got->second), latest[got->first]) << "out of order";
                latest[got->first] = static_cast<int>(got->second);
                ++received;
            }
        });
        EXPECT_EQ(received, senders * values) << capacity;
        EXPECT_EQ(c.size(), 0U);
        EXPECT_FALSE(c.send({0, 0}));
    }
}

TEST_P(channel_exchange, pipelines) {
    constexpr int stages = 20;
    constexpr int values = 100;
    pilfer::pool pool(with_workers());
    std::vector<std::unique_ptr<pilfer::channel<int>>> pipes;
    for (int i = 0; i <= stages; ++i) {
        pipes.push_back(std::make_unique<pilfer::channel<int>>(static_cast<std::size_t>(i % 3)));
    }
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < stages; ++i) {
        all.push_back(pool.async(
            [&in = *pipes[static_cast<std::size_t>(i)], &out = *pipes[static_cast<std::size_t>(i) + 1]] {
                while (const auto v = in.receive()) {
                    EXPECT_TRUE(out.send(*v + 1));
                }
                out.close();
            }));
    }
    std::thread feeder([&] {
        for (int i = 0; i < values; ++i) {
            EXPECT_TRUE(pipes.front()->send(i));
        }
        pipes.front()->close();
    });
    int expected = stages;
    while (const auto v = pipes.back()->receive()) {
        EXPECT_EQ(*v, expected++);
    }
    EXPECT_EQ(expected, stages + values);
    feeder.join();
    for (auto& f : all) {
        f.get();
    }
}

// The row's own: 5,000 contexts that each put one item into a channel.
TEST_P(channel_exchange, five_thousand_contexts_send_one_value_each) {
    pilfer::pool pool(with_workers());
    pilfer::channel<unsigned> c(3);
    const unsigned many = support::sanitized ? 500 : 5000;
    std::vector<pilfer::future<void>> senders;
    for (unsigned i = 0; i < many; ++i) {
        senders.push_back(pool.async([&c, i] { EXPECT_TRUE(c.send(i)); }));
    }
    until_suspended(pool, many - 3); // all at once
    std::vector<bool> seen(many);
    for (unsigned i = 0; i < many; ++i) {
        const auto v = c.receive();
        ASSERT_TRUE(v.has_value() && *v < many && !seen[*v]);
        seen[*v] = true;
    }
    for (auto& f : senders) {
        f.get();
    }
    EXPECT_EQ(c.try_receive(), std::nullopt);
}

TEST_P(channel_exchange, time_limits_race_the_other_side) {
    for (const std::size_t capacity : {0U, 1U}) {
        pilfer::pool pool(with_workers());
        pilfer::channel<std::unique_ptr<unsigned>> c(capacity);
        std::atomic<unsigned> sent{0};
        std::atomic<unsigned> received{0};
        std::atomic<unsigned> sum{0};
        std::atomic<unsigned> left{5};
        all_at_once(pool, 8, 2, [&](unsigned self) {
            if (self % 2 == 0) {
                for (unsigned i = 0; i < 50; ++i) {
                    auto v = std::make_unique<unsigned>(i);
                    if (c.try_send_for(std::move(v), std::chrono::microseconds(i))) {
                        ++sent;
                        sum += i;
                    } else {
                        ASSERT_NE(v, nullptr) << "a value that was not sent is the caller's";
                        EXPECT_EQ(*v, i);
                    }
                }
                if (--left == 0) {
                    c.close();
                }
                return;
            }
            while (!c.closed() || c.size() != 0) {
                if (const auto v = c.try_receive_until(std::chrono::steady_clock::now() + 5us)) {
                    ++received;
                    sum -= **v;
                }
            }
        });
        EXPECT_EQ(sent.load(), received.load());
        EXPECT_EQ(sum.load(), 0U);
    }
}

TEST_P(channel_exchange, closing_ends_all_waits) {
    pilfer::pool pool(with_workers());
    pilfer::channel<std::string> full(2);
    EXPECT_TRUE(full.send("a"));
    EXPECT_TRUE(full.send("b"));
    pilfer::channel<std::string> empty(2);
    std::atomic<unsigned> refused{0};
    std::atomic<unsigned> nothing{0};
    std::thread sender([&] {
        std::string mine = "thread";
        refused += full.send(std::move(mine)) ? 0 : 1;
        EXPECT_EQ(mine, "thread");
    });
    std::thread receiver([&] { nothing += empty.receive().has_value() ? 0 : 1; });
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 10; ++i) {
        all.push_back(pool.async([&] {
            const std::string copied = "task";
            refused += full.send(copied) ? 0 : 1;
        }));
        all.push_back(pool.async([&] { nothing += empty.try_receive_for(for_ever).has_value() ? 0 : 1; }));
    }
    until_suspended(pool, 20);
    full.close();
    empty.close();
    full.close();
    for (auto& f : all) {
        f.get();
    }
    sender.join();
    receiver.join();
    EXPECT_EQ(refused, 11U);
    EXPECT_EQ(nothing, 11U);
    EXPECT_TRUE(full.closed());
    EXPECT_EQ(full.receive(), "a") << "what was accepted can still be received";
    EXPECT_EQ(full.receive(), "b");
    EXPECT_EQ(full.receive(), std::nullopt);
    EXPECT_EQ(full.try_receive(), std::nullopt);
}

TEST_F(channel_ends, tries_do_not_wait) {
    pilfer::channel<std::unique_ptr<int>> c(1);
    EXPECT_EQ(c.capacity(), 1U);
    auto v = std::make_unique<int>(1);
    EXPECT_TRUE(c.try_send(std::move(v)));
    EXPECT_EQ(v, nullptr);
    v = std::make_unique<int>(2);
    EXPECT_FALSE(c.try_send(std::move(v)));
    ASSERT_NE(v, nullptr);
    EXPECT_EQ(*v, 2);
    EXPECT_FALSE(c.try_send_for(std::move(v), -1s));
    ASSERT_NE(v, nullptr);
    EXPECT_EQ(c.size(), 1U);
    EXPECT_EQ(**c.try_receive(), 1);
    EXPECT_EQ(c.try_receive(), std::nullopt);
    EXPECT_EQ(c.try_receive_for(0s), std::nullopt);
    pilfer::channel<int> meeting(0);
    EXPECT_FALSE(meeting.try_send(1)) << "nobody is there to receive it";
    pilfer::pool pool(workers(1));
    auto receiver = pool.async([&] { return meeting.receive(); });
    until_suspended(pool, 1);
    EXPECT_TRUE(meeting.try_send(7));
    EXPECT_EQ(receiver.get(), 7);
}

/// A given number of its moves throw; it counts its live objects.
struct brittle {
    inline static std::atomic<int> alive{0};
    inline static std::atomic<int> throws{0};
    int value;
    explicit brittle(int v) : value(v) { ++alive; }
    brittle(brittle&& other) : value(other.value) {
        if (throws > 0) {
            --throws;
            throw std::runtime_error("brittle");
        }
        ++alive;
    }
    brittle& operator=(brittle&&) = default;
    ~brittle() { --alive; }
};

TEST_F(channel_ends, a_move_that_throws_loses_nothing) {
    for (const std::size_t capacity : {0U, 4U}) {
        pilfer::channel<brittle> c(capacity);
        pilfer::pool pool(workers(2));
        brittle::throws = 1;
        EXPECT_THROW((void)c.send(brittle(1)), std::runtime_error);
        EXPECT_EQ(c.size(), 0U);
        // Once its first value is taken it would move the second one beside the receive that is to throw.
        auto sender = pool.async([&] { return c.send(brittle(2)) && (capacity == 0 || c.send(brittle(3))); });
        if (capacity == 0) {
            until_suspended(pool, 1);
        } else {
            EXPECT_TRUE(sender.get());
        }
        brittle::throws = 1;
        EXPECT_THROW((void)c.receive(), std::runtime_error);
        EXPECT_EQ(c.receive()->value, 2) << "it is the next again";
        if (capacity != 0) {
            EXPECT_EQ(c.receive()->value, 3);
        }
        EXPECT_TRUE(sender.get());
    }
    EXPECT_EQ(brittle::alive, 0);
}

TEST_F(channel_ends, unreceived_values_end_with_the_channel) {
    const auto watched = std::make_shared<int>(1);
    {
        pilfer::channel<std::shared_ptr<int>> c(10);
        EXPECT_TRUE(c.send(watched));
        EXPECT_TRUE(c.send(watched));
        EXPECT_EQ(watched.use_count(), 3);
        c.close();
    }
    EXPECT_EQ(watched.use_count(), 1);
}

TEST_F(channel_ends, the_last_receiver_may_end_the_channel) {
    pilfer::pool pool(workers(3));
    for (int i = 0; i < 200; ++i) {
        auto c = std::make_unique<pilfer::channel<int>>(static_cast<std::size_t>(i % 2));
        auto* const raw = c.get();
        auto sender = pool.async([raw] { EXPECT_TRUE(raw->send(1)); });
        EXPECT_EQ(c->receive(), 1);
        c.reset(); // the sender may be on its way out
        sender.get();
    }
}

} // namespace
