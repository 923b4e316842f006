// merge, nth_element, partial_sort, is_sorted and is_sorted_until give what the standard library gives.
// Optimised lightly, also with AddressSanitizer: without inlining its runs take ten times as long.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <pilfer/sort.hpp>

#include "algorithm/sort_patterns.hpp"
#include "support/harness.hpp"

namespace {

using sort_patterns::numbers;
using sort_patterns::pattern;

class merging : public support::over_workers {};

using pair = std::pair<std::uint64_t, int>;

/// Keys with the number of their range: a merge must keep the first range's before the second's.
std::vector<pair> sorted_pairs(pattern p, std::size_t n, std::uint64_t seed, int from) {
    std::vector<pair> result;
    for (const std::uint64_t x : numbers(p, n, seed)) {
        result.emplace_back(x, from);
    }
    return sort_patterns::stably_sorted(result, std::ranges::less{}, &pair::first);
}

void expect_merge_as_std(const std::vector<pair>& a, const std::vector<pair>& b) {
    std::vector<pair> expected(a.size() + b.size());
    std::vector<pair> got(a.size() + b.size());
    std::ranges::merge(a, b, expected.begin(), {}, &pair::first, &pair::first);
    const auto ends = pilfer::merge(a, b, got.begin(), {}, &pair::first, &pair::first);
    ASSERT_EQ(got, expected);
    EXPECT_EQ(ends.in1, a.end());
    EXPECT_EQ(ends.in2, b.end());
    EXPECT_EQ(ends.out, got.end());
}

TEST_P(merging, every_short_length) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (std::size_t n = 0; n <= 300; ++n) {
            const std::size_t m = n * 7919 % 301;
            expect_merge_as_std(sorted_pairs(pattern::small, n, n, 1), sorted_pairs(pattern::few, m, m, 2));
        }
    });
}

TEST_P(merging, long_and_lopsided_inputs) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const pattern p : sort_patterns::all) {
            for (const auto& [n, m] :
                 {std::pair{30'000, 30'001}, {50'000, 3}, {0, 40'000}, {1'000, 60'000}}) {
                const auto a = sorted_pairs(p, static_cast<std::size_t>(n), 1, 1);
                const auto b = sorted_pairs(pattern::random, static_cast<std::size_t>(m), 2, 2);
                expect_merge_as_std(a, b);
                expect_merge_as_std(b, a);
                expect_merge_as_std(a, sorted_pairs(p, static_cast<std::size_t>(m), 3, 3));
            }
        }
    });
}

TEST_P(merging, random_inputs_and_two_projections) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        std::mt19937_64 random(1);
        for (std::uint64_t turn = 0; turn < support::hundredth_of(10'000, 10); ++turn) {
            auto a = numbers(turn % 2 == 0 ? pattern::small : pattern::random, random() % 9'000, random());
            auto b = numbers(pattern::small, random() % 9'000, random());
            auto down = [](std::uint64_t x) { return -static_cast<std::int64_t>(x >> 1); };
            auto half = [](std::uint64_t x) { return -static_cast<std::int64_t>(x / 2); };
            std::ranges::sort(a, std::ranges::less{}, down);
            std::ranges::sort(b, std::ranges::less{}, half);
            std::deque<std::uint64_t> other(b.begin(), b.end());
            std::vector<std::uint64_t> expected(a.size() + b.size());
            std::vector<std::uint64_t> got(expected.size());
            std::ranges::merge(a, b, expected.begin(), std::ranges::less{}, down, half);
            pilfer::merge(a.begin(), a.end(), other.begin(), other.end(), got.begin(), std::ranges::less{},
                          down, half);
            ASSERT_EQ(got, expected);
        }
    });
}

TEST_P(merging, nth_element) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        std::mt19937_64 random(2);
        std::vector<std::size_t> lengths{5'000, 40'000};
        for (std::size_t n = 1; n <= 300; ++n) {
            lengths.push_back(n);
        }
        for (std::uint64_t turn = 0; turn < support::hundredth_of(10'000, 10); ++turn) {
            lengths.push_back(1 + random() % 20'000);
        }
        for (const std::size_t n : lengths) {
            const pattern p = sort_patterns::all[random() % std::size(sort_patterns::all)];
            auto values = numbers(p, n, random());
            auto sorted = values;
            std::ranges::sort(sorted, std::greater<>{});
            const auto nth = static_cast<std::ptrdiff_t>(random() % n);
            ASSERT_EQ(pilfer::nth_element(values, values.begin() + nth, std::greater<>{}), values.end());
            ASSERT_EQ(values[static_cast<std::size_t>(nth)], sorted[static_cast<std::size_t>(nth)]);
            for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(n); ++i) {
                const std::uint64_t x = values[static_cast<std::size_t>(i)];
                ASSERT_TRUE(i < nth ? x >= values[static_cast<std::size_t>(nth)]
                                    : x <= values[static_cast<std::size_t>(nth)]);
            }
            std::ranges::sort(values, std::greater<>{});
            ASSERT_EQ(values, sorted); // nothing was lost
        }
        std::vector<int> none;
        EXPECT_EQ(pilfer::nth_element(none, none.begin()), none.end());
        std::vector<int> one{1};
        EXPECT_EQ(pilfer::nth_element(one, one.end()), one.end());
    });
}

TEST_P(merging, partial_sort) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        std::mt19937_64 random(3);
        for (std::size_t turn = 0; turn < 300 + support::hundredth_of(10'000, 10); ++turn) {
            const std::size_t n = turn <= 300 ? turn : random() % 5'000;
            std::vector<std::string> values;
            for (const std::uint64_t x : numbers(pattern::small, n, turn)) {
                values.push_back(sort_patterns::text(x));
            }
            auto expected = values;
            const auto middle = static_cast<std::ptrdiff_t>(random() % (n + 1));
            std::ranges::partial_sort(expected, expected.begin() + middle);
            ASSERT_EQ(pilfer::partial_sort(values, values.begin() + middle), values.end());
            ASSERT_TRUE(std::equal(values.begin(), values.begin() + middle, expected.begin()));
            std::ranges::sort(values);
            std::ranges::sort(expected);
            ASSERT_EQ(values, expected);
        }
    });
}

TEST_P(merging, is_sorted_until) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        std::mt19937_64 random(4);
        for (std::size_t turn = 0; turn < 300 + support::hundredth_of(10'000, 10); ++turn) {
            const std::size_t n = turn <= 300 ? turn : random() % 100'000;
            auto values = numbers(turn % 3 == 0 ? pattern::few : pattern::sorted, n, turn);
            std::ranges::sort(values);
            EXPECT_TRUE(pilfer::is_sorted(values));
            EXPECT_EQ(pilfer::is_sorted_until(values), values.end());
            for (int i = 0; n > 0 && i < 3; ++i) {
                values[random() % n] = random() % (n + 10);
                ASSERT_EQ(pilfer::is_sorted_until(values), std::ranges::is_sorted_until(values));
                ASSERT_EQ(pilfer::is_sorted(values), std::ranges::is_sorted(values));
                auto up = [](std::uint64_t x) { return ~x; };
                ASSERT_EQ(pilfer::is_sorted_until(values.cbegin(), values.cend(), std::greater<>{}, up),
                          std::ranges::is_sorted_until(values.cbegin(), values.cend(), std::greater<>{}, up));
            }
        }
    });
}

PILFER_OVER_WORKERS(merging);

TEST(merging_anywhere, outside_of_a_pool) {
    expect_merge_as_std(sorted_pairs(pattern::small, 40'000, 1, 1),
                        sorted_pairs(pattern::small, 40'000, 2, 2));
    auto values = numbers(pattern::random, 100'000, 1);
    auto sorted = values;
    std::ranges::sort(sorted);
    pilfer::nth_element(values, values.begin() + 70'000);
    EXPECT_EQ(values[70'000], sorted[70'000]);
    EXPECT_FALSE(pilfer::is_sorted(values));
    EXPECT_TRUE(pilfer::is_sorted(sorted));
}

} // namespace
