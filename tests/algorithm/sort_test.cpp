// sort, stable_sort and integer_sort give what the standard library gives, on every input.
// Optimised lightly: without inlining its many runs take ten times as long by g++.
#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
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
#include <type_traits>
#include <utility>
#include <vector>

#include <pilfer/sort.hpp>

#include "algorithm/sort_patterns.hpp"
#include "support/harness.hpp"

namespace greedy {

/// An element whose namespace has functions of the names that the sorts use inside.
struct value {
    int x;
    friend auto operator<=>(const value&, const value&) = default;
};
void at(value*, std::size_t) = delete;
void relocate(value*, value*) = delete;
void relocate(value*, std::size_t, value*) = delete;
void place_of(std::vector<value>::iterator) = delete;
template <class... Arguments>
void gather(Arguments&&...) = delete;
template <class... Arguments>
void insertion_sort(Arguments&&...) = delete;
template <class... Arguments>
void merge_here(Arguments&&...) = delete;
template <class... Arguments>
void merge_to(Arguments&&...) = delete;
template <class... Arguments>
void sort_to(Arguments&&...) = delete;
template <class... Arguments>
void partition(Arguments&&...) = delete;
template <class... Arguments>
void select(Arguments&&...) = delete;
template <class... Arguments>
void swap_parts(Arguments&&...) = delete;

} // namespace greedy

namespace own_order {

/// Its order is not that of its numbers.
enum class rank : std::uint8_t { low, middle, high };
constexpr bool operator<(rank a, rank b) { return static_cast<int>(a) > static_cast<int>(b); }

} // namespace own_order

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

/// Trivially copyable, but it cannot be copied.
struct only_moved {
    std::uint32_t key;
    explicit only_moved(std::uint32_t k) : key(k) {}
    only_moved(only_moved&&) = default;
    only_moved& operator=(only_moved&&) = default;
};
static_assert(std::is_trivially_copyable_v<only_moved> && !std::is_copy_assignable_v<only_moved>);

TEST_P(sorting, trivially_copyable_values_that_cannot_be_copied) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        auto check = [](auto sort) {
            std::vector<only_moved> values;
            for (const std::uint64_t x : numbers(pattern::random, 20'000, 1)) {
                values.emplace_back(static_cast<std::uint32_t>(x % 5'000));
            }
            std::vector<std::uint32_t> expected(values.size());
            std::ranges::transform(values, expected.begin(), &only_moved::key);
            std::ranges::sort(expected);
            sort(values);
            EXPECT_TRUE(std::ranges::equal(values, expected, {}, &only_moved::key));
        };
        check([](auto& v) { pilfer::sort(v, {}, &only_moved::key); });
        check([](auto& v) { pilfer::stable_sort(v, {}, &only_moved::key); });
        check([](auto& v) { pilfer::integer_sort(v, &only_moved::key); });
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

TEST(sorting_anywhere, functions_of_the_elements_namespace_are_not_called) {
    std::vector<greedy::value> values;
    for (const std::uint64_t x : numbers(pattern::random, 20'000, 1)) {
        values.push_back({static_cast<int>(x % 1000)});
    }
    pilfer::nth_element(values, values.begin() + 100);
    pilfer::sort(values);
    EXPECT_TRUE(pilfer::is_sorted(values));
    pilfer::stable_sort(values, std::greater<>{});
    EXPECT_TRUE(std::ranges::is_sorted(values, std::greater<>{}));
}

TEST(sorting_anywhere, an_enumeration_has_its_own_order) {
    using own_order::rank;
    std::vector<rank> ranks;
    for (const std::uint64_t x : numbers(pattern::random, 2'000, 1)) {
        ranks.push_back(static_cast<rank>(x % 3));
    }
    const auto own_less = std::less<>{};
    auto expected = ranks;
    std::ranges::sort(expected, own_less);
    auto got = ranks;
    pilfer::sort(got, own_less);
    EXPECT_EQ(got, expected);
    got = ranks;
    pilfer::stable_sort(got, own_less);
    EXPECT_EQ(got, expected);
}

TEST(sorting_anywhere, with_nan_every_element_stays) {
    for (const std::size_t n : {15U, 300U, 9'000U}) {
        std::vector<double> values;
        for (std::size_t i = 0; i < n; ++i) {
            values.push_back(i % 7 == 3 ? std::numeric_limits<double>::quiet_NaN()
                                        : static_cast<double>(i * 7919 % n));
        }
        auto got = values;
        pilfer::sort(got);
        const auto all = [](double x) { return std::isnan(x) ? -1.0 : x; };
        std::ranges::sort(got, {}, all);
        std::ranges::sort(values, {}, all);
        EXPECT_TRUE(std::ranges::equal(got, values, {}, all, all));
    }
}

template <class Key>
void expect_integer_sort_by() {
    auto input = as<std::uint32_t>(numbers(pattern::random, 2'000, 1));
    const auto key = [](std::uint32_t x) { return static_cast<Key>(x % 256); };
    const auto expected = sort_patterns::stably_sorted(input, std::ranges::less{}, key);
    std::deque<std::uint32_t> values(input.begin(), input.end());
    pilfer::integer_sort(input, key);
    EXPECT_EQ(input, expected);
    pilfer::integer_sort(values, key);
    EXPECT_TRUE(std::ranges::equal(values, expected));
}

TEST(sorting_anywhere, keys_that_are_bool_or_characters) {
    expect_integer_sort_by<bool>();
    expect_integer_sort_by<char8_t>();
    expect_integer_sort_by<char16_t>();
    expect_integer_sort_by<char32_t>();
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
