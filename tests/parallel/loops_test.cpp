// for_each and reduce: every index once, and in order if order is promised.
#include <atomic>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/harness.hpp"
#include "support/peaks.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

class for_each_loop : public over_workers {};

TEST_P(for_each_loop, every_index_once) {
    pilfer::pool pool(with_workers());
    for (const int n : {1, 2, 3, 7, 64, 1000, 100'000}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
        pool.run(
            [&] { pilfer::for_each(0, n, [&](int i) { seen[static_cast<std::size_t>(i)].fetch_add(1); }); });
        for (auto& s : seen) {
            ASSERT_EQ(s, 1);
        }
    }
}

TEST_P(for_each_loop, negative_and_large_bounds) {
    pilfer::pool pool(with_workers());
    std::atomic<std::int64_t> sum{0};
    pool.run([&] { pilfer::for_each(-100, 101, [&](int i) { sum.fetch_add(i); }); });
    EXPECT_EQ(sum, 0);
    std::atomic<int> count{0};
    pool.run([&] {
        pilfer::for_each(INT64_MAX - 10, INT64_MAX, [&](std::int64_t) { count.fetch_add(1); });
        pilfer::for_each(UINT64_MAX - 10, UINT64_MAX, [&](std::uint64_t) { count.fetch_add(1); });
        pilfer::for_each(INT64_MIN, INT64_MIN + 10, [&](std::int64_t) { count.fetch_add(1); });
    });
    EXPECT_EQ(count, 30);
}

TEST_P(for_each_loop, the_full_range_of_small_types) {
    pilfer::pool pool(with_workers());
    std::vector<std::atomic<int>> seen(256);
    pool.run([&] {
        pilfer::for_each(std::int8_t{-128}, std::int8_t{127}, [&](std::int8_t i) {
            seen[static_cast<std::size_t>(i + 128)].fetch_add(1);
            if (i % 16 == 0) {
                std::this_thread::yield();
            }
        });
    });
    for (std::size_t i = 0; i < 255; ++i) {
        ASSERT_EQ(seen[i], 1) << i;
    }
    EXPECT_EQ(seen[255], 0);
    std::atomic<int> bytes{0};
    pool.run([&] {
        pilfer::for_each(std::uint8_t{0}, std::uint8_t{255}, [&](std::uint8_t) { bytes.fetch_add(1); });
    });
    EXPECT_EQ(bytes, 255);
}

TEST_P(for_each_loop, iterators) {
    pilfer::pool pool(with_workers());
    std::deque<int> values(5000, 1);
    pool.run([&] { pilfer::for_each(values.begin(), values.end(), [](int& v) { v *= 3; }); });
    EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), 15'000);
}

TEST_P(for_each_loop, empty_and_reversed_do_nothing) {
    pilfer::pool pool(with_workers());
    int calls = 0;
    pool.run([&] {
        pilfer::for_each(5, 5, [&](int) { ++calls; });
        pilfer::for_each(5, 4, [&](int) { ++calls; });
        pilfer::for_each(0, -100, [&](int) { ++calls; });
        std::vector<int> none;
        pilfer::for_each(none.begin(), none.end(), [&](int) { ++calls; });
        EXPECT_EQ(pilfer::reduce(
                      5, 4, 17, [](int i) { return i; }, std::plus<>()),
                  17);
        EXPECT_EQ(pilfer::reduce(
                      none.begin(), none.end(), 17, [](int i) { return i; }, std::plus<>()),
                  17);
    });
    EXPECT_EQ(calls, 0);
}

TEST_P(for_each_loop, an_exception_ends_the_loop) {
    pilfer::pool pool(with_workers());
    for (int bad = 0; bad < 1000; bad += 37) {
        std::atomic<int> inside{0};
        try {
            pool.run([&] {
                pilfer::for_each(0, 1000, [&](int i) {
                    inside.fetch_add(1);
                    if (i == bad) {
                        inside.fetch_sub(1);
                        throw std::out_of_range(std::to_string(i));
                    }
                    inside.fetch_sub(1);
                });
            });
            ADD_FAILURE() << "nothing was thrown";
        } catch (const std::out_of_range& e) {
            EXPECT_EQ(e.what(), std::to_string(bad));
        }
        EXPECT_EQ(inside, 0) << "a body still runs";
    }
}

TEST_P(for_each_loop, all_but_one_of_the_exceptions_are_suppressed) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "the first exception ends the only piece";
    }
    pilfer::pool pool(with_workers());
    // The piece that begins the upper half sets a flag. From then on each piece throws as soon as two of them
    // run.
    constexpr int half = 1'000'000;
    for (int round = 0; round < 5; ++round) {
        std::atomic<bool> split{false};
        std::atomic<std::uint64_t> failures{0};
        const auto before = pool.counters().exceptions_suppressed;
        pool.run([&] {
            try {
                pilfer::for_each(0, 2 * half, [&](int i) {
                    if (i >= half) {
                        split = true;
                    }
                    if (!split) {
                        std::this_thread::sleep_for(std::chrono::microseconds(200));
                        return;
                    }
                    failures.fetch_add(1);
                    while (failures < 2) {
                        std::this_thread::yield();
                    }
                    throw std::out_of_range("piece");
                });
                ADD_FAILURE() << "nothing was thrown";
            } catch (const std::out_of_range&) {
                EXPECT_EQ(pilfer::suppressed_exceptions(), failures - 1);
            }
        });
        EXPECT_GE(failures, 2U);
        EXPECT_EQ(pool.counters().exceptions_suppressed - before, failures - 1);
    }
}

/// The numbers from 0 on. An iterator that is at or after `bad` cannot move, but can be reached.
struct fragile_number {
    using value_type = int;
    using difference_type = std::ptrdiff_t;
    static constexpr int bad = 1'000'000; // that many bodies take longer than any delay of the exception
    static inline pilfer::event* threw = nullptr;
    int at = 0;

    int operator*() const { return at; }
    int operator[](std::ptrdiff_t n) const { return at + static_cast<int>(n); }
    fragile_number& operator+=(std::ptrdiff_t n) {
        if (at >= bad) {
            threw->set();
            throw std::out_of_range("an iterator");
        }
        at += static_cast<int>(n);
        return *this;
    }
    fragile_number& operator-=(std::ptrdiff_t n) { return *this += -n; }
    fragile_number& operator++() { return *this += 1; }
    fragile_number& operator--() { return *this -= 1; }
    fragile_number operator++(int) { return std::exchange(*this, *this + 1); }
    fragile_number operator--(int) { return std::exchange(*this, *this - 1); }
    friend fragile_number operator+(fragile_number i, std::ptrdiff_t n) { return i += n; }
    [[maybe_unused]] friend fragile_number operator+(std::ptrdiff_t n, fragile_number i) { return i += n; }
    friend fragile_number operator-(fragile_number i, std::ptrdiff_t n) { return i -= n; }
    friend std::ptrdiff_t operator-(fragile_number a, fragile_number b) { return a.at - b.at; }
    friend auto operator<=>(const fragile_number&, const fragile_number&) = default;
};

TEST_P(for_each_loop, an_iterator_that_throws_stops_the_parts_of_other_workers) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        pilfer::event threw;
        fragile_number::threw = &threw;
        std::atomic<int> bodies{0};
        EXPECT_THROW(pilfer::for_each(fragile_number{}, fragile_number{2 * fragile_number::bad},
                                      [&](int) {
                                          threw.wait(); // so that another task has begun the upper half
                                          ++bodies;
                                          pilfer::sleep_for(std::chrono::milliseconds(1));
                                      }),
                     std::out_of_range);
        EXPECT_LT(bodies, fragile_number::bad);
    });
}

TEST_P(for_each_loop, loops_nest_and_fork) {
    pilfer::pool pool(with_workers());
    std::atomic<std::uint64_t> sum{0};
    pool.run([&] {
        pilfer::for_each(0, 20, [&](int) {
            pilfer::for_each(0, 20, [&](int) {
                auto [a, b] = pilfer::join([] { return fib_spawn(4); }, [] { return fib_fork(4); });
                sum.fetch_add(a + b);
            });
        });
    });
    EXPECT_EQ(sum, 400 * 2 * fib(4));
}

TEST_P(for_each_loop, idle_workers_get_a_part) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "there is nobody idle";
    }
    pilfer::pool pool(with_workers());
    // One worker alone would spend minutes in the lower half: another one must begin the upper one.
    constexpr int half = 1'000'000;
    std::atomic<int> lower{0};
    std::atomic<int> lower_when_upper_began{-1};
    pool.run([&] {
        pilfer::for_each(0, 2 * half, [&](int i) {
            if (i < half) {
                lower.fetch_add(1, std::memory_order_relaxed);
                if (lower_when_upper_began < 0) { // splits happen between pieces: each is short
                    std::this_thread::sleep_for(std::chrono::microseconds(200));
                }
            } else if (lower_when_upper_began < 0) {
                int none = -1;
                lower_when_upper_began.compare_exchange_strong(none, lower);
            }
        });
    });
    EXPECT_EQ(lower, half);
    EXPECT_GE(lower_when_upper_began, 0);
    EXPECT_LT(lower_when_upper_began, half);
}

PILFER_OVER_WORKERS(for_each_loop);

class reduction : public over_workers {};

TEST_P(reduction, sums) {
    pilfer::pool pool(with_workers());
    const auto identity = [](std::int64_t i) { return i; };
    for (const std::int64_t n : {1, 2, 3, 1000, 300'000}) {
        EXPECT_EQ(pool.run([&] {
            return pilfer::reduce(std::int64_t{0}, n, std::int64_t{5}, identity, std::plus<>());
        }),
                  5 + n * (n - 1) / 2);
    }
    std::vector<int> values(1234, 2);
    EXPECT_EQ(pool.run([&] {
        return pilfer::reduce(
            values.begin(), values.end(), 0, [](int v) { return v; }, std::plus<>());
    }),
              2468);
    EXPECT_EQ(pool.run([&] {
        return pilfer::reduce(
            std::int8_t{-128}, std::int8_t{127}, 0, [](std::int8_t v) { return int{v}; }, std::plus<>());
    }),
              -255);
}

TEST_P(reduction, combines_in_index_order) {
    pilfer::pool pool(with_workers());
    std::string expected = "start";
    for (int i = 0; i < 2000; ++i) {
        expected += ',' + std::to_string(i);
    }
    for (int round = 0; round < 10; ++round) {
        const std::string all = pool.run([&] {
            return pilfer::reduce(
                0, 2000, std::string("start"),
                [](int i) {
                    if (i % 100 == 0) {
                        std::this_thread::sleep_for(std::chrono::microseconds(20)); // gives thieves a chance
                    }
                    return ',' + std::to_string(i);
                },
                [](std::string a, const std::string& b) { return std::move(a) + b; });
        });
        ASSERT_EQ(all, expected);
    }
}

TEST_P(reduction, the_initial_value_is_used_once) {
    pilfer::pool pool(with_workers());
    std::atomic<int> copies{0};
    struct counted {
        std::vector<int> parts;
        bool initial;
    };
    const auto result = pool.run([&] {
        return pilfer::reduce(
            0, 5000, counted{{}, true},
            [](int i) {
                return counted{{i}, false};
            },
            [&](counted a, counted b) {
                copies += b.initial; // it may only be at the front
                a.parts.insert(a.parts.end(), b.parts.begin(), b.parts.end());
                return a;
            });
    });
    EXPECT_TRUE(result.initial);
    EXPECT_EQ(copies, 0);
    ASSERT_EQ(result.parts.size(), 5000U);
    for (int i = 0; i < 5000; ++i) {
        ASSERT_EQ(result.parts[static_cast<std::size_t>(i)], i);
    }
}

TEST_P(reduction, values_that_only_move) {
    pilfer::pool pool(with_workers());
    auto sum = pool.run([] {
        return pilfer::reduce(
            0, 1000, std::make_unique<int>(0), [](int i) { return std::make_unique<int>(i); },
            [](std::unique_ptr<int> a, std::unique_ptr<int> b) { return std::make_unique<int>(*a + *b); });
    });
    EXPECT_EQ(*sum, 499'500);
}

TEST_P(reduction, exceptions_of_map_and_combine) {
    pilfer::pool pool(with_workers());
    for (const int bad : {0, 1, 500, 998, 999}) {
        EXPECT_THROW((void)pool.run([&] {
            return pilfer::reduce(
                0, 1000, 0,
                [&](int i) {
                    if (i == bad) {
                        throw std::domain_error("map");
                    }
                    return 1;
                },
                std::plus<>());
        }),
                     std::domain_error);
        EXPECT_THROW((void)pool.run([&] {
            return pilfer::reduce(
                0, 1000, 0, [](int i) { return i; },
                [&](int a, int b) {
                    if (b == bad || a == bad) {
                        throw std::range_error("combine");
                    }
                    return -1;
                });
        }),
                     std::range_error);
    }
}

PILFER_OVER_WORKERS(reduction);

class loop_memory : public guarded {};

TEST_F(loop_memory, loops_allocate_nothing) {
    if (!support::counts_allocations) {
        GTEST_SKIP() << "a sanitizer has the allocator";
    }
    pilfer::pool pool(workers(2));
    std::atomic<std::uint64_t> sum{0};
    const auto loop = [&] {
        pilfer::for_each(0, 20'000, [&](int i) { sum.fetch_add(static_cast<std::uint64_t>(i)); });
        sum.fetch_add(pilfer::reduce(
            0, 20'000, std::uint64_t{0}, [](int) { return std::uint64_t{1}; }, std::plus<>()));
    };
    meet_all(pool);
    for (int round = 0; round < 10; ++round) {
        expect_steady(pool, [&] { pool.run(loop); });
    }
    EXPECT_EQ(sum, 10 * (20'000ULL * 19'999 / 2 + 20'000));
}

} // namespace
