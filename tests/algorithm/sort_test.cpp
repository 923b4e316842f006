// sort, stable_sort and integer_sort give what the standard library gives, on every input.
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pilfer/sort.hpp>

#include "algorithm/sort_patterns.hpp"
#include "support/harness.hpp"

namespace {

using sort_patterns::numbers;
using sort_patterns::pattern;

class sorting : public support::over_workers {};

/// Equal in order, but not in `place`: what a sort has done to equal elements can be seen.
struct record {
    std::uint32_t key;
    std::uint32_t place;
    friend bool operator==(const record&, const record&) = default;
};
bool by_key(const record& a, const record& b) { return a.key < b.key; }

std::vector<record> records(pattern p, std::size_t n, std::uint64_t seed) {
    std::vector<record> result;
    for (const std::uint64_t x : numbers(p, n, seed)) {
        result.push_back({static_cast<std::uint32_t>(x % 500), static_cast<std::uint32_t>(result.size())});
    }
    return result;
}

template <class T>
std::vector<T> as(const std::vector<std::uint64_t>& from) {
    std::vector<T> result(from.size());
    std::ranges::transform(from, result.begin(), [](std::uint64_t x) { return static_cast<T>(x); });
    return result;
}

/// Sorts copies by std and by pilfer.
template <class T, class... Order>
void expect_as_std(const std::vector<T>& input, Order... order) {
    const std::vector<T> expected = sort_patterns::stably_sorted(input, order...);
    std::vector<T> got = input;
    EXPECT_EQ(pilfer::stable_sort(got, order...), got.end());
    ASSERT_EQ(got, expected);
    got = input;
    EXPECT_EQ(pilfer::sort(got.begin(), got.end(), order...), got.end());
    ASSERT_EQ(got, expected);
}

/// As expect_as_std() for elements that compare equal but differ.
void expect_records_as_std(const std::vector<record>& input) {
    const std::vector<record> expected = sort_patterns::stably_sorted(input, by_key);
    std::vector<record> got = input;
    pilfer::stable_sort(got, by_key);
    ASSERT_EQ(got, expected);
    got = input;
    pilfer::stable_sort(got, {}, &record::key);
    ASSERT_EQ(got, expected);
    got = input;
    pilfer::integer_sort(got, &record::key);
    ASSERT_EQ(got, expected);
    got = input;
    pilfer::sort(got, by_key);
    ASSERT_TRUE(std::ranges::is_sorted(got, by_key));
    std::ranges::sort(got, {}, &record::place);
    ASSERT_EQ(got, input);
    got = input;
    pilfer::sort(got, std::ranges::greater{}, &record::key);
    ASSERT_TRUE(std::ranges::is_sorted(got, std::ranges::greater{}, &record::key));
}

TEST_P(sorting, every_short_length) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (std::size_t n = 0; n <= 300; ++n) {
            const pattern p = sort_patterns::all[n % std::size(sort_patterns::all)];
            expect_as_std(numbers(pattern::random, n, n));
            expect_as_std(as<std::int16_t>(numbers(p, n, n)));
            expect_records_as_std(records(p, n, n));
        }
    });
}

TEST_P(sorting, every_pattern_in_long) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        const std::size_t n = support::sanitized ? 20'011 : 100'003;
        for (const pattern p : sort_patterns::all) {
            const auto input = numbers(p, n, 3);
            expect_as_std(input);
            expect_as_std(input, std::ranges::greater{});
            expect_as_std(
                input, [](std::uint64_t a, std::uint64_t b) { return a < b; },
                [](std::uint64_t x) { return ~x; });
            expect_as_std(as<double>(input), std::greater<double>{});
            expect_records_as_std(records(p, n, 5));
        }
    });
}

TEST_P(sorting, strings) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const pattern p : sort_patterns::all) {
            for (const std::size_t n : {2U, 33U, 300U, 9'001U}) {
                std::vector<std::string> input;
                for (const std::uint64_t x : numbers(p, n, n)) {
                    input.push_back(sort_patterns::text(x));
                }
                expect_as_std(input);
                auto by_size = input;
                const auto expected =
                    sort_patterns::stably_sorted(input, std::ranges::less{}, &std::string::size);
                pilfer::stable_sort(by_size, {}, &std::string::size);
                ASSERT_EQ(by_size, expected);
                expect_as_std(std::vector<std::string_view>(input.begin(), input.end()));
            }
        }
    });
}

TEST_P(sorting, random_inputs) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        std::mt19937_64 random(11);
        for (std::uint64_t turn = 0; turn < support::hundredth_of(10'000, 10); ++turn) {
            const std::size_t n = random() % (turn % 10 == 0 ? 30'000 : 3'000);
            const std::uint64_t mask = ~std::uint64_t{0} >> random() % 64 << random() % 8;
            auto input = numbers(pattern::random, n, random());
            for (std::uint64_t& x : input) {
                x &= mask;
            }
            expect_as_std(input);
            expect_as_std(as<std::int16_t>(input));
            std::vector<std::uint64_t> expected = input;
            std::ranges::sort(expected);
            pilfer::integer_sort(input);
            ASSERT_EQ(input, expected);
        }
    });
}

TEST_P(sorting, move_only_values) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const std::size_t n : {3U, 100U, 20'000U}) {
            const auto input = numbers(pattern::small, n, n);
            auto expected = input;
            std::ranges::sort(expected);
            auto check = [&](auto sort) {
                std::vector<std::unique_ptr<std::uint64_t>> pointers;
                for (const std::uint64_t x : input) {
                    pointers.push_back(std::make_unique<std::uint64_t>(x));
                }
                sort(pointers);
                ASSERT_TRUE(std::ranges::equal(pointers, expected, {}, [](const auto& p) { return *p; }));
            };
            auto value = [](const std::unique_ptr<std::uint64_t>& p) { return *p; };
            check([&](auto& v) { pilfer::sort(v, {}, value); });
            check([&](auto& v) { pilfer::stable_sort(v, {}, value); });
            check([&](auto& v) { pilfer::integer_sort(v, value); });
        }
    });
}

TEST_P(sorting, iterators_that_are_not_contiguous) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const std::size_t n : {2U, 100U, 20'000U}) {
            const auto input = records(pattern::small, n, n);
            const auto expected = sort_patterns::stably_sorted(input, by_key);
            std::deque<record> values(input.begin(), input.end());
            pilfer::stable_sort(values, by_key);
            EXPECT_TRUE(std::ranges::equal(values, expected));
            values.assign(input.begin(), input.end());
            pilfer::integer_sort(values, &record::key);
            EXPECT_TRUE(std::ranges::equal(values, expected));
            values.assign(input.rbegin(), input.rend());
            pilfer::sort(values.rbegin(), values.rend(), {}, &record::key);
            EXPECT_TRUE(std::ranges::is_sorted(values.rbegin(), values.rend(), by_key));
            // A counted iterator with a sentinel, over a part of the range.
            const auto half = static_cast<std::ptrdiff_t>(n / 2);
            auto part =
                sort_patterns::stably_sorted(std::vector(input.begin(), input.begin() + half), by_key);
            part.insert(part.end(), input.begin() + half, input.end());
            std::vector<record> got = input;
            auto end =
                pilfer::stable_sort(std::counted_iterator(got.begin(), half), std::default_sentinel, by_key);
            EXPECT_EQ(end.base(), got.begin() + half);
            EXPECT_EQ(got, part);
        }
    });
}

TEST_P(sorting, order_of_special_numbers) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        using limit = std::numeric_limits<double>;
        std::vector<double> values;
        for (int i = 0; i < 500; ++i) {
            values.insert(values.end(), {limit::infinity(), -limit::infinity(), limit::lowest(), limit::max(),
                                         limit::denorm_min(), -limit::denorm_min(), 0.0, 1.0 * i, -1.0 * i});
        }
        expect_as_std(values, std::greater<double>{});
        // The zeros compare equal, so that the stable sort keeps their order.
        std::vector<double> zeros;
        for (int i = 0; i < 2000; ++i) {
            zeros.push_back(i % 3 == 0 ? -0.0 : i % 3 == 1 ? 0.0 : 2.0 - i % 2);
        }
        const auto expected = sort_patterns::stably_sorted(zeros);
        pilfer::stable_sort(zeros);
        for (std::size_t i = 0; i < zeros.size(); ++i) {
            ASSERT_EQ(std::signbit(zeros[i]), std::signbit(expected[i])) << i;
        }
        std::array<bool, 1000> bools{};
        bools[3] = true;
        pilfer::sort(bools);
        EXPECT_TRUE(bools.back());
        enum class side : std::int8_t { left = -1, middle, right };
        std::vector<side> sides(1000, side::middle);
        sides[1] = side::right;
        sides[2] = side::left;
        pilfer::sort(sides);
        EXPECT_EQ(sides.front(), side::left);
        EXPECT_EQ(sides.back(), side::right);
    });
}

PILFER_OVER_WORKERS(sorting);

TEST(sorting_anywhere, outside_of_a_pool) {
    for (const std::size_t n : {0U, 1U, 100U, 50'000U}) {
        expect_as_std(numbers(pattern::random, n, n));
        expect_records_as_std(records(pattern::random, n, n));
    }
}

TEST(sorting_anywhere, returns_what_std_returns) {
    std::vector<int> values{3, 1, 2};
    EXPECT_EQ(pilfer::sort(std::span(values)), std::span(values).end());
    static_assert(std::same_as<decltype(pilfer::sort(std::vector<int>())), std::ranges::dangling>);
    static_assert(std::same_as<decltype(pilfer::stable_sort(std::vector<int>())), std::ranges::dangling>);
    static_assert(!std::invocable<decltype(pilfer::sort)&, std::vector<int>&, std::less<std::string>>);
}

TEST(sorting_anywhere, many_tasks_sort_at_once) {
    pilfer::pool pool(support::workers(3));
    pool.run([] {
        pilfer::for_each(0, 20, [](int i) {
            auto values = numbers(pattern::random, 20'000, static_cast<std::uint64_t>(i));
            pilfer::sort(values, [](std::uint64_t a, std::uint64_t b) { return a > b; });
            EXPECT_TRUE(std::ranges::is_sorted(values, std::greater<>{}));
        });
    });
}

} // namespace
