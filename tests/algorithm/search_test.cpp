// Searches and comparisons: equal to std, the lowest index wins, no piece begins after it.
// Optimised lightly: without inlining its many runs take ten times as long by g++.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <vector>

#include "algorithm/inputs.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using namespace algorithm_tests;

class algorithm_search : public over_workers {};

/// A value that is, or may be, somewhere in the input.
int some_value(const std::vector<int>& values) { return values.empty() ? 0 : values[values.size() * 2 / 3]; }

TEST_P(algorithm_search, count_and_count_if) {
    pilfer::pool pool(with_workers());
    over_inputs(11, [&](const input& in) {
        const auto& v = in.values;
        const int value = some_value(v);
        const auto low = lingering{[&](int x) { return x < value; }, in.slow};
        pool.run([&] {
            EXPECT_EQ(pilfer::count(v, value, {}, in.grain), std::ranges::count(v, value));
            EXPECT_EQ(pilfer::count_if(v.begin(), v.end(), low, {}, in.grain), std::ranges::count_if(v, low));
            EXPECT_EQ(pilfer::count(v, -value, std::negate<>{}), std::ranges::count(v, value));
        });
    });
}

TEST_P(algorithm_search, find_gives_the_lowest_index) {
    pilfer::pool pool(with_workers());
    over_inputs(12, [&](const input& in) {
        const auto& v = in.values;
        const int value = some_value(v);
        const auto same = lingering{[&](int x) { return x == value; }, in.slow};
        pool.run([&] {
            EXPECT_TRUE(pilfer::find(v, value, {}, in.grain) == std::ranges::find(v, value));
            EXPECT_TRUE(pilfer::find(v.begin(), v.end(), -7) == v.end());
            EXPECT_TRUE(pilfer::find_if(v, same, {}, in.grain) == std::ranges::find(v, value));
            EXPECT_TRUE(pilfer::find_if_not(v, same, {}, in.grain) == std::ranges::find_if_not(v, same));
            EXPECT_TRUE(pilfer::find(v, -value, std::negate<>{}) == std::ranges::find(v, value));
        });
    });
}

// The first pieces of a loop are shorter than a block.
constexpr pilfer::grain one_piece{1000};

template <class T>
void search_at_every_position(T other, T wanted) {
    std::vector<T> v;
    for (std::size_t n = 0; n <= 100; ++n, v.push_back(other)) {
        EXPECT_TRUE(pilfer::find(v, wanted, {}, one_piece) == v.end()) << n;
        for (std::size_t at = 0; at != n; ++at) {
            v[at] = wanted;
            v[n - 1] = wanted;
            EXPECT_EQ(pilfer::find(v, wanted, {}, one_piece) - v.begin(), static_cast<std::ptrdiff_t>(at))
                << n;
            v[at] = other;
            v[n - 1] = other;
        }
    }
}

// Numbers are compared in blocks.
TEST_P(algorithm_search, find_of_numbers_at_every_position) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        search_at_every_position<int>(7, -7);
        search_at_every_position<char>('a', '\0');
        search_at_every_position<std::uint64_t>(0, ~std::uint64_t{0});
        search_at_every_position<double>(std::numeric_limits<double>::quiet_NaN(), 0.0);
    });
}

TEST_P(algorithm_search, find_compares_numbers_as_the_operator_does) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        std::vector<double> v(70, std::numeric_limits<double>::quiet_NaN());
        EXPECT_TRUE(pilfer::find(v, v[0], {}, one_piece) == v.end());
        v[50] = -0.0;
        EXPECT_TRUE(pilfer::find(v, 0.0, {}, one_piece) == v.begin() + 50);
        EXPECT_TRUE(pilfer::find(v, 0, {}, one_piece) == v.begin() + 50);
        const std::vector<unsigned char> bytes(70, 255);
        EXPECT_TRUE(pilfer::find(bytes, -1, {}, one_piece) == bytes.end()); // after the promotion of 255
        EXPECT_TRUE(pilfer::find(bytes, 255L, {}, one_piece) == bytes.begin());
        std::vector<bool> bits(70);
        bits[40] = true;
        EXPECT_TRUE(pilfer::find(bits, true, {}, one_piece) == bits.begin() + 40);
    });
}

TEST_P(algorithm_search, any_all_and_none) {
    pilfer::pool pool(with_workers());
    over_inputs(13, [&](const input& in) {
        const auto& v = in.values;
        const int value = some_value(v);
        const auto same = lingering{[&](int x) { return x == value; }, in.slow};
        const auto never = [](int x) { return x < 0; };
        pool.run([&] {
            EXPECT_EQ(pilfer::any_of(v, same, {}, in.grain), std::ranges::any_of(v, same));
            EXPECT_EQ(pilfer::all_of(v, same, {}, in.grain), std::ranges::all_of(v, same));
            EXPECT_EQ(pilfer::none_of(v, same, {}, in.grain), std::ranges::none_of(v, same));
            EXPECT_FALSE(pilfer::any_of(v.begin(), v.end(), never));
            EXPECT_TRUE(pilfer::none_of(v.begin(), v.end(), never));
            EXPECT_EQ(pilfer::all_of(v.begin(), v.end(), never), v.empty());
        });
    });
}

TEST_P(algorithm_search, adjacent_find) {
    pilfer::pool pool(with_workers());
    over_inputs(14, [&](const input& in) {
        auto v = in.values;
        const auto falls = lingering{[](int a, int b) { return a > b; }, in.slow};
        pool.run([&] {
            EXPECT_TRUE(pilfer::adjacent_find(v, {}, {}, in.grain) == std::ranges::adjacent_find(v));
            std::ranges::sort(v);
            EXPECT_TRUE(pilfer::adjacent_find(v, falls, {}, in.grain) == v.end());
            if (v.size() > 3) {
                std::swap(v[v.size() - 1], v[0]);
            }
            EXPECT_TRUE(pilfer::adjacent_find(v.begin(), v.end(), falls, std::identity{}, in.grain) ==
                        std::ranges::adjacent_find(v, falls));
        });
    });
}

TEST_P(algorithm_search, equal_and_mismatch) {
    pilfer::pool pool(with_workers());
    over_inputs(15, [&](const input& in) {
        const auto& v = in.values;
        const auto same = lingering{std::equal_to<>{}, in.slow};
        auto other = v;
        pool.run([&] {
            EXPECT_TRUE(pilfer::equal(v, other, same, {}, {}, in.grain));
            EXPECT_TRUE(pilfer::mismatch(v, other, same, {}, {}, in.grain).in1 == v.end());
            for (int change = 0; change < 3 && !v.empty(); ++change) {
                const std::size_t at = v.size() * 5 / (6U + static_cast<unsigned>(change));
                other[std::min(at, v.size() - 1)] -= 1;
                const auto got = pilfer::mismatch(v, other, same, {}, {}, in.grain);
                const auto want = std::ranges::mismatch(v, other);
                EXPECT_TRUE(got.in1 == want.in1 && got.in2 == want.in2);
                EXPECT_FALSE(pilfer::equal(v.begin(), v.end(), other.begin(), other.end(), same));
            }
            other = v;
            other.push_back(1);
            EXPECT_FALSE(pilfer::equal(v, other));
            EXPECT_TRUE(pilfer::mismatch(v, other).in2 == other.end() - 1);
        });
    });
}

TEST_P(algorithm_search, the_first_of_the_smallest_and_the_last_of_the_largest) {
    pilfer::pool pool(with_workers());
    over_inputs(16, [&](const input& in) {
        const auto& v = in.values;
        const auto less = lingering{[](int a, int b) { return a / 2 < b / 2; }, in.slow};
        pool.run([&] {
            EXPECT_TRUE(pilfer::min_element(v, less, {}, in.grain) == std::ranges::min_element(v, less));
            EXPECT_TRUE(pilfer::max_element(v, less, {}, in.grain) == std::ranges::max_element(v, less));
            const auto got = pilfer::minmax_element(v, less, {}, in.grain);
            const auto want = std::ranges::minmax_element(v, less);
            EXPECT_TRUE(got.min == want.min && got.max == want.max);
            EXPECT_TRUE(pilfer::min_element(v.begin(), v.end(), {}, std::negate<>{}) ==
                        std::ranges::max_element(v));
        });
    });
}

TEST_P(algorithm_search, a_search_ends_soon_after_its_result) {
    pilfer::pool pool(with_workers());
    constexpr int n = 10'000;
    std::atomic<int> calls{0};
    const int found = pool.run([&] {
        std::vector<int> v(n);
        v[3] = 1;
        const auto one = [&](int x) {
            calls.fetch_add(1, std::memory_order_relaxed);
            linger();
            return x == 1;
        };
        return static_cast<int>(pilfer::find_if(v, one) - v.begin());
    });
    EXPECT_EQ(found, 3);
    // Every worker may be at one element when the result is found. A whole search would take 10,000 calls.
    EXPECT_LT(calls, n / 2);
}

/// A predicate that can only be moved.
auto equals(int value) {
    return [wanted = std::make_unique<int>(value)](int x) { return x == *wanted; };
}

template <class R>
void search_with_functions_that_only_move(R numbers) {
    EXPECT_EQ(*pilfer::find_if(numbers, equals(2)), 2);
    EXPECT_EQ(*pilfer::find_if(numbers.begin(), numbers.end(), equals(2)), 2);
    EXPECT_EQ(*pilfer::find_if_not(numbers, equals(1)), 2);
    EXPECT_EQ(pilfer::count_if(numbers, equals(2)), 2);
    EXPECT_EQ(pilfer::count_if(numbers.begin(), numbers.end(), equals(2)), 2);
    EXPECT_TRUE(pilfer::any_of(numbers, equals(3)));
    EXPECT_TRUE(pilfer::any_of(numbers.begin(), numbers.end(), equals(3)));
    EXPECT_TRUE(pilfer::none_of(numbers, equals(4)));
    EXPECT_TRUE(pilfer::none_of(numbers.begin(), numbers.end(), equals(4)));
    EXPECT_FALSE(pilfer::all_of(numbers, equals(1)));
}

TEST(algorithm_predicates, may_be_movable_only) {
    const watchdog limit{patience};
    search_with_functions_that_only_move(std::vector<int>{1, 2, 3, 2});
    search_with_functions_that_only_move(std::list<int>{1, 2, 3, 2});
}

/// An array is a range and an iterator.
TEST(algorithm_arrays, both_forms_take_an_array) {
    const watchdog limit{patience};
    int a[4] = {1, 2, 3, 2};
    int out[4] = {};
    int* pointers[2] = {a, a + 1};
    const auto even = [](int x) { return x % 2 == 0; };
    EXPECT_EQ(pilfer::find(a, a + 4, 2), a + 1);
    EXPECT_EQ(pilfer::find(a, 3), a + 2);
    EXPECT_EQ(pilfer::find(pointers, a + 1), pointers + 1);
    EXPECT_EQ(pilfer::count_if(a, a + 4, even), pilfer::count_if(a, even));
    EXPECT_EQ(pilfer::min_element(a, a + 4), a);
    EXPECT_EQ(pilfer::max_element(a, a + 4, std::ranges::less{}, std::negate<>{}), a);
    EXPECT_EQ(pilfer::filter(a, a + 4, even), pilfer::filter(a, even));
    EXPECT_EQ(pilfer::transform(a, a + 4, out, std::negate<>{}).out, out + 4);
    EXPECT_EQ(pilfer::copy_if(a, a + 4, out, even).out, out + 2);
    EXPECT_EQ(pilfer::inclusive_scan(a, a + 4, out, std::plus<>{}, 1).out, out + 4);
    EXPECT_EQ(pilfer::exclusive_scan(a, a + 4, out, 0).out, out + 4);
    EXPECT_EQ(pilfer::exclusive_scan(a, out, 0).out, out + 4);
    pilfer::for_each(a, a + 4, [](int& x) { ++x; });
    EXPECT_EQ(pilfer::fill(a, a + 4, 7), a + 4);
    EXPECT_EQ(pilfer::transform(a, a, std::negate<>{}).out, a + 4);
    EXPECT_EQ(pilfer::reduce(a, a + 4, 0), -28);
    EXPECT_EQ(pilfer::reduce(a, a + 4, 0, std::plus<>{}), pilfer::reduce(a, 0));
}

TEST(algorithm_arrays, two_arrays_are_two_ranges) {
    const watchdog limit{patience};
    const int a[4] = {1, 2, 3, 4};
    int b[4] = {5, 6, 7, 8};
    int out[8] = {};
    EXPECT_EQ(pilfer::transform(a, b, out, std::plus<>{}).out, out + 4);
    EXPECT_EQ(out[3], 12);
    const auto less = [](auto x, auto y) { return x - y; };
    EXPECT_EQ(pilfer::transform(b, b, out, less, std::negate<>{}).out, out + 4);
    EXPECT_EQ(out[3], -16);
    EXPECT_EQ(pilfer::transform(b, b + 4, out, std::negate<>{}, std::negate<>{}).out, out + 4);
    EXPECT_EQ(out[3], 8);
    EXPECT_FALSE(pilfer::equal(a, b));
    EXPECT_EQ(pilfer::mismatch(a, b).in1, a);
    EXPECT_EQ(pilfer::merge(a, b, out).out, out + 8);
    EXPECT_EQ(pilfer::transform_reduce(a, b, 0), 70);
}

/// As with std::ranges::find, the compiler does not warn, which would be an error here.
TEST(algorithm_numbers, are_found_by_numbers_of_other_types) {
    const watchdog limit{patience};
    std::vector<unsigned> numbers(100, 2);
    numbers[70] = 3;
    EXPECT_EQ(pilfer::find(numbers, 3) - numbers.begin(), 70);
    EXPECT_EQ(pilfer::find(numbers, 3, [](std::size_t x) { return x; }) - numbers.begin(), 70);
    EXPECT_EQ(pilfer::count(numbers, 2L), 99);
    EXPECT_EQ(pilfer::count(std::vector<float>(10, 2.0F), 2), 10);
}

PILFER_OVER_WORKERS(algorithm_search);

} // namespace
