// transform, copy, fill, generate, reverse, rotate, chunks and index spaces: equal to std, every index once.
// Optimised lightly: without inlining its many runs take ten times as long by g++.
#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <limits>
#include <ranges>
#include <string>
#include <vector>

#include "algorithm/inputs.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using namespace algorithm_tests;

class algorithm_loops : public over_workers {};

TEST_P(algorithm_loops, for_each_of_a_range) {
    pilfer::pool pool(with_workers());
    over_inputs(1, [&](const input& in) {
        auto got = in.values;
        auto want = in.values;
        std::ranges::for_each(want, [](int& x) { x = x * 3 + 1; });
        pool.run([&] {
            pilfer::for_each(got, lingering{[](int& x) { x = x * 3 + 1; }, in.slow}, std::identity{},
                             in.grain);
        });
        EXPECT_EQ(got, want);
    });
}

TEST_P(algorithm_loops, transform_of_one_range) {
    pilfer::pool pool(with_workers());
    over_inputs(2, [&](const input& in) {
        const auto f = lingering{[](int x) { return x / 2L + 7; }, in.slow};
        std::vector<long> want(in.values.size() + 1, -1);
        std::vector<long> got = want;
        std::ranges::transform(
            in.values, want.begin(), [](int x) { return x / 2L + 7; }, std::negate<>{});
        pool.run([&] {
            const auto r = pilfer::transform(in.values, got.begin(), f, std::negate<>{}, in.grain);
            EXPECT_TRUE(r.in == in.values.end() && r.out == got.end() - 1);
        });
        EXPECT_EQ(got, want);
    });
}

TEST_P(algorithm_loops, transform_of_two_ranges_ends_with_the_shorter) {
    pilfer::pool pool(with_workers());
    over_inputs(3, [&](const input& in) {
        std::vector<int> other(in.values.rbegin(), in.values.rend());
        if (other.size() > 2) {
            other.pop_back();
        }
        std::vector<int> want(in.values.size(), -1);
        std::vector<int> got = want;
        std::ranges::transform(in.values, other, want.begin(), std::minus<>{});
        pool.run([&] {
            const auto r =
                pilfer::transform(in.values.begin(), in.values.end(), other.begin(), other.end(), got.begin(),
                                  lingering{std::minus<>{}, in.slow}, {}, {}, in.grain);
            EXPECT_TRUE(r.in2 == other.end() && r.out - got.begin() == r.in1 - in.values.begin());
        });
        EXPECT_EQ(got, want);
    });
}

TEST_P(algorithm_loops, copy_fill_and_generate) {
    pilfer::pool pool(with_workers());
    over_inputs(4, [&](const input& in) {
        std::vector<int> got(in.values.size(), -1);
        pool.run([&] {
            const auto r = pilfer::copy(in.values, got.begin(), in.grain);
            EXPECT_TRUE(r.in == in.values.end() && r.out == got.end());
            EXPECT_EQ(got, in.values);
            EXPECT_TRUE(pilfer::fill(got.begin(), got.end(), 42, in.grain) == got.end());
            EXPECT_EQ(std::ranges::count(got, 42), std::ranges::ssize(got));
            std::atomic<int> next{0};
            EXPECT_TRUE(pilfer::generate(got, lingering{[&] { return next++; }, in.slow}, in.grain) ==
                        got.end());
        });
        std::ranges::sort(got);
        for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i], static_cast<int>(i));
        }
    });
}

/// An assignment takes the old value away first, also from itself.
struct emptied_first {
    int value = 1;
    emptied_first() = default;
    emptied_first(const emptied_first&) = default;
    emptied_first& operator=(const emptied_first& other) {
        value = 0;
        value = other.value;
        return *this;
    }
    ~emptied_first() = default;
};

TEST_P(algorithm_loops, fill_with_an_element_of_the_range) {
    pilfer::pool pool(with_workers());
    std::vector<emptied_first> v(1000);
    v[300].value = 42;
    pool.run([&] { EXPECT_TRUE(pilfer::fill(v, v[300]) == v.end()); });
    EXPECT_EQ(std::ranges::count(v, 42, &emptied_first::value), 1000);
}

TEST_P(algorithm_loops, fill_with_a_value_that_cannot_be_copied) {
    struct number {
        int value;
        number(int v) : value(v) {}
        number(const number&) = delete;
        number& operator=(const number&) = delete;
        ~number() = default;
        operator int() const { return value; }
    };
    pilfer::pool pool(with_workers());
    std::vector<int> v(1000);
    std::vector<std::string> words(1000);
    const number seven(7);
    pool.run([&] {
        pilfer::fill(v, seven);
        pilfer::fill(words, "word"); // an array
    });
    EXPECT_EQ(std::ranges::count(v, 7), 1000);
    EXPECT_EQ(std::ranges::count(words, "word"), 1000);
}

TEST_P(algorithm_loops, reverse_and_rotate_move_only_values) {
    pilfer::pool pool(with_workers());
    over_inputs(5, [&](const input& in) {
        auto want = in.values;
        auto got = movable(in.values);
        std::ranges::reverse(want);
        EXPECT_TRUE(pool.run([&] { return pilfer::reverse(got, in.grain); }) == got.end());
        EXPECT_EQ(numbers(got.begin(), got.end()), want);
        const auto by = static_cast<std::ptrdiff_t>(want.size() / 3);
        const auto want_new = std::ranges::rotate(want, want.begin() + by);
        const auto got_new = pool.run([&] { return pilfer::rotate(got, got.begin() + by, in.grain); });
        EXPECT_EQ(numbers(got.begin(), got.end()), want);
        EXPECT_EQ(got_new.begin() - got.begin(), want_new.begin() - want.begin());
        EXPECT_TRUE(got_new.end() == got.end());
    });
}

TEST_P(algorithm_loops, chunks_cover_the_range_once_and_keep_to_the_grain) {
    pilfer::pool pool(with_workers());
    over_inputs(6, [&](const input& in) {
        const int n = static_cast<int>(in.values.size());
        const auto size = static_cast<int>(std::max<std::uint64_t>(in.grain.size, 1));
        std::vector<std::atomic<int>> seen(in.values.size());
        pool.run([&] {
            pilfer::for_each_chunk(
                -5, n - 5,
                [&](int b, int e) {
                    EXPECT_LT(b, e);
                    EXPECT_EQ((b + 5) % size, 0);
                    EXPECT_TRUE((e + 5) % size == 0 || e == n - 5);
                    if (in.slow) {
                        linger();
                    }
                    for (; b != e; ++b) {
                        seen[static_cast<std::size_t>(b + 5)].fetch_add(1);
                    }
                },
                in.grain);
        });
        for (const auto& s : seen) {
            ASSERT_EQ(s, 1);
        }
    });
}

TEST_P(algorithm_loops, chunks_of_iterators) {
    pilfer::pool pool(with_workers());
    std::deque<int> values(10'000, 1);
    pool.run([&] {
        pilfer::for_each_chunk(values.begin(), values.end(), [](auto b, auto e) {
            for (; b != e; ++b) {
                *b += 1;
            }
        });
    });
    EXPECT_EQ(std::ranges::count(values, 2), 10'000);
}

TEST_P(algorithm_loops, index_spaces_of_two_and_three_dimensions) {
    pilfer::pool pool(with_workers());
    for (const int slow : {0, 1}) {
        for (const int rows : {-1, 0, 1, 2, 7, 40}) {
            for (const int columns : {0, 1, 3, 40}) {
                if (slow != 0 && rows * columns > 100) {
                    continue;
                }
                const auto all = static_cast<std::size_t>(std::max(rows * columns, 0));
                std::vector<std::atomic<int>> flat(all);
                std::vector<std::atomic<int>> deep(all * 3);
                pool.run([&] {
                    pilfer::for_each_2d(rows, columns, [&](int i, int j) {
                        if (slow != 0) {
                            linger();
                        }
                        ASSERT_TRUE(i >= 0 && i < rows && j >= 0 && j < columns);
                        flat[static_cast<std::size_t>(i * columns + j)].fetch_add(1);
                    });
                    pilfer::for_each_3d(
                        rows, 3, columns,
                        [&](int p, int i, int j) {
                            ASSERT_TRUE(p >= 0 && p < rows && i >= 0 && i < 3 && j >= 0 && j < columns);
                            deep[static_cast<std::size_t>((p * 3 + i) * columns + j)].fetch_add(1);
                        },
                        pilfer::grain{5});
                });
                for (const auto& s : flat) {
                    ASSERT_EQ(s, 1);
                }
                for (const auto& s : deep) {
                    ASSERT_EQ(s, 1);
                }
            }
        }
    }
}

/// Its constant call gives another type, so only the other one is that of std.
struct two_calls {
    int offset;
    int operator()(int x) { return x + offset; }
    double operator()(int x) const { return x + 0.5; }
};

TEST_P(algorithm_loops, the_call_that_is_not_constant_is_chosen) {
    pilfer::pool pool(with_workers());
    std::vector<double> out(3);
    pool.run([&] { pilfer::transform(std::vector{1, 2, 3}, out.begin(), two_calls{10}); });
    EXPECT_EQ(out, (std::vector<double>{11, 12, 13}));
}

TEST_P(algorithm_loops, members_are_functions) {
    struct item {
        int calls = 0;
        void call() { ++calls; }
    };
    pilfer::pool pool(with_workers());
    std::vector<item> v(100);
    pool.run([&] {
        pilfer::for_each(v, &item::call);
        pilfer::for_each(v.begin(), v.end(), &item::call);
        pilfer::loop_team().for_each(v.begin(), v.end(), &item::call);
    });
    EXPECT_EQ(std::count_if(v.begin(), v.end(), [](const item& i) { return i.calls == 3; }), 100);
}

TEST_P(algorithm_loops, views_and_sentinels) {
    pilfer::pool pool(with_workers());
    std::vector<int> out(1000);
    pool.run([&] { pilfer::transform(std::views::iota(0, 1000), out.begin(), [](int i) { return 2 * i; }); });
    EXPECT_EQ(out[999], 1998);
    const char text[] = "terminated";
    struct zero {
        bool operator==(const char* at) const { return *at == 0; }
    };
    std::vector<char> copied(sizeof text);
    EXPECT_TRUE(pilfer::copy(&text[0], zero{}, copied.begin()).in == &text[sizeof text - 1]);
    EXPECT_EQ(copied[9], 'd');
}

TEST_P(algorithm_loops, a_temporary_range_gives_no_iterator) {
    std::vector<int> out(3);
    const auto r = pilfer::copy(std::vector<int>{1, 2, 3}, out.begin());
    static_assert(std::is_same_v<decltype(r.in), std::ranges::dangling>);
    EXPECT_TRUE(r.out == out.end());
}

TEST(algorithm_loops_outside, a_thread_without_a_worker_uses_the_common_pool) {
    const watchdog limit{patience};
    std::vector<int> v(10'000, 1);
    pilfer::transform(v, v.begin(), [](int x) { return x + 1; });
    EXPECT_EQ(pilfer::reduce(v, 0), 20'000);
    EXPECT_EQ(pilfer::count(v, 2), 10'000);
}

PILFER_OVER_WORKERS(algorithm_loops);

} // namespace
