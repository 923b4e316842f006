// Philosophers dine and drink, by the calls of objects. Some are cancelled in the middle of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

constexpr unsigned seats = 16;

class philosophers : public support::over_workers {};
INSTANTIATE_TEST_SUITE_P(workers, philosophers, ::testing::Values(1U, 2U, 3U, 8U, 16U, 64U),
                         ::testing::PrintToStringParamName());

/// f(seat) for each as a task of the pool, awaited.
template <class F>
void at_the_table(pilfer::pool& pool, F f) {
    std::vector<pilfer::future<void>> all;
    for (unsigned seat = 0; seat < seats; ++seat) {
        all.push_back(pool.async([&f, seat] { f(seat); }));
    }
    for (auto& p : all) {
        p.get();
    }
}

/// The holder of each fork or bottle; never two at once.
class held {
public:
    void take(unsigned which, unsigned by) {
        EXPECT_EQ(m_by[which].exchange(by + 1), 0U) << "two have number " << which;
    }
    void give(unsigned which, unsigned by) { EXPECT_EQ(m_by[which].exchange(0), by + 1); }
    [[nodiscard]] bool none() const {
        return std::all_of(m_by.begin(), m_by.end(), [](const auto& by) { return by == 0; });
    }

private:
    std::array<std::atomic<unsigned>, seats> m_by{};
};

// Each fork is an object with a lock, and a meal a call of two of them.
TEST_P(philosophers, dine_by_call_all) {
    pilfer::pool pool(with_workers());
    std::array<pilfer::synchronized<unsigned>, seats> forks;
    held hands;
    const auto meals = static_cast<unsigned>(support::hundredth_of(10'000));
    std::array<unsigned, seats> eaten{};
    at_the_table(pool, [&](unsigned seat) {
        const unsigned right = (seat + 1) % seats;
        for (; eaten[seat] < meals; ++eaten[seat]) {
            pilfer::call_all(
                [&](unsigned& a, unsigned& b) {
                    hands.take(seat, seat);
                    hands.take(right, seat);
                    ++a;
                    ++b;
                    if (eaten[seat] % 16 == seat) {
                        pilfer::yield(); // with both forks in hand
                    }
                    hands.give(seat, seat);
                    hands.give(right, seat);
                },
                forks[seat], forks[right]);
        }
    });
    for (auto& fork : forks) {
        EXPECT_EQ(fork.read([](unsigned used) { return used; }), 2 * meals);
    }
    EXPECT_TRUE(hands.none());
}

using forks_on_the_table = std::array<bool, seats>; // true: taken

// The table is one object: both forks or none, in the order in which they got hungry.
TEST_P(philosophers, dine_when_both_forks_are_free) {
    pilfer::pool pool(with_workers());
    pilfer::monitor<forks_on_the_table> table;
    held hands;
    const auto meals = static_cast<unsigned>(support::hundredth_of(10'000));
    at_the_table(pool, [&](unsigned seat) {
        const unsigned right = (seat + 1) % seats;
        for (unsigned i = 0; i < meals; ++i) {
            table.call_when([&](const auto& taken) { return !taken[seat] && !taken[right]; },
                            [&](auto& taken) { taken[seat] = taken[right] = true; });
            hands.take(seat, seat);
            hands.take(right, seat);
            if (i % 16 == seat) {
                pilfer::yield();
            }
            hands.give(seat, seat);
            hands.give(right, seat);
            table.call([&](auto& taken) { taken[seat] = taken[right] = false; });
        }
    });
    EXPECT_TRUE(hands.none());
    EXPECT_EQ(table.read([](const auto& taken) { return std::count(taken.begin(), taken.end(), true); }), 0);
}

// The evening ends while some wait, some drink, and some have not begun. A philosopher that leaves puts its
// bottles back, and no other bottle is missing.
TEST_P(philosophers, leave_when_the_evening_is_cancelled) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t evening = 0; evening < support::hundredth_of(4000, 4); ++evening) {
        pilfer::monitor<std::uint32_t> table(0U);
        held hands;
        std::atomic<unsigned> sessions{0};
        std::atomic<unsigned> came{0};
        std::atomic<unsigned> left{0};
        struct putting_back {
            pilfer::monitor<std::uint32_t>& table;
            held& hands;
            std::uint32_t mine;
            unsigned seat;
            ~putting_back() { // also while `stopped` is in flight
                for (unsigned i = 0; i < seats; ++i) {
                    if ((mine >> i & 1U) != 0) {
                        hands.give(i, seat);
                    }
                }
                table.call([this](std::uint32_t& taken) { taken &= ~mine; });
            }
        };
        pool.run([&] {
            pilfer::scope s;
            for (unsigned seat = 0; seat < seats; ++seat) {
                s.fork([&, seat] {
                    const struct visit {
                        std::atomic<unsigned>& n;
                        ~visit() { ++n; }
                    } at_end{left};
                    ++came;
                    std::minstd_rand random(seat + 1 + static_cast<unsigned>(evening));
                    for (;;) { // until the evening ends
                        const std::uint32_t wanted = (1U << (random() % seats)) | (1U << (random() % seats));
                        table.call_when(
                            [wanted](const std::uint32_t& taken) { return (taken & wanted) == 0; },
                            [&, wanted](std::uint32_t& taken) {
                                taken |= wanted;
                                for (unsigned i = 0; i < seats; ++i) {
                                    if ((wanted >> i & 1U) != 0) {
                                        hands.take(i, seat);
                                    }
                                }
                            });
                        const putting_back guard{table, hands, wanted, seat};
                        ++sessions;
                        pilfer::sleep_for(1us);
                    }
                });
            }
            s.fork([&] {
                while (sessions < evening % 64) {
                    pilfer::yield();
                }
                s.cancel();
            });
            s.sync();
        });
        ASSERT_EQ(came, left);
        ASSERT_TRUE(hands.none());
        ASSERT_EQ(table.read([](std::uint32_t taken) { return taken; }), 0U);
    }
}

} // namespace
