// Ranges without an end: the second one of a pair goes as far as the first one, alone they are refused.
#include <algorithm>
#include <concepts>
#include <functional>
#include <iterator>
#include <list>
#include <numeric>
#include <ranges>
#include <vector>

#include <pilfer/algorithm.hpp>

#include "support/harness.hpp"

namespace {

using namespace support;

class endless_ranges : public over_workers {};

/// Where a list of small numbers ends. It cannot be subtracted.
struct at_nine {
    friend bool operator==(const std::list<int>::iterator& it, at_nine) { return *it == 9; }
    friend bool operator==(const std::vector<int>::iterator& it, at_nine) { return *it == 9; }
};

TEST_P(endless_ranges, transform_ends_with_the_other_range) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        std::vector<int> ones(1000, 1);
        std::vector<long> out(1000);
        const auto plus = [](long a, long b) { return a + b; };
        const auto a = pilfer::transform(ones, std::views::iota(0L), out.begin(), plus);
        EXPECT_TRUE(a.in1 == ones.end() && *a.in2 == 1000 && a.out == out.end());
        EXPECT_EQ(out[999], 1000);
        const auto b = pilfer::transform(std::views::iota(5L), ones, out.begin(), plus);
        EXPECT_TRUE(*b.in1 == 1005 && b.in2 == ones.end() && b.out == out.end());
        EXPECT_EQ(out[999], 1005);
        std::list<int> nodes(10);
        std::iota(nodes.begin(), nodes.end(), 0);
        const auto c = pilfer::transform(std::views::iota(7L), nodes, out.begin(), plus);
        EXPECT_TRUE(*c.in1 == 17 && c.in2 == nodes.end() && c.out == out.begin() + 10);
        EXPECT_EQ(out[9], 25);
        const auto d = pilfer::transform(nodes.begin(), std::unreachable_sentinel, nodes.begin(), at_nine{},
                                         out.begin(), plus);
        EXPECT_TRUE(*d.in1 == 9 && *d.in2 == 9 && d.out == out.begin() + 9);
        EXPECT_EQ(out[8], 16);
    });
}

TEST_P(endless_ranges, comparisons_and_inner_products_end_with_the_other_range) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        std::vector<int> v(1000);
        std::iota(v.begin(), v.end(), 0);
        const auto m = pilfer::mismatch(v, std::views::iota(0));
        EXPECT_TRUE(m.in1 == v.end() && *m.in2 == 1000);
        EXPECT_EQ(*pilfer::mismatch(std::views::iota(0), v).in1, 1000);
        EXPECT_EQ(*pilfer::mismatch(v.begin(), at_nine{}, v.begin(), std::unreachable_sentinel).in1, 9);
        EXPECT_FALSE(pilfer::equal(v, std::views::iota(0)));
        EXPECT_FALSE(pilfer::equal(std::views::iota(0), v));
        EXPECT_TRUE(pilfer::equal(v.begin(), at_nine{}, v.begin(), v.begin() + 9));
        EXPECT_FALSE(pilfer::equal(v.begin(), at_nine{}, v.begin(), v.begin() + 8));
        EXPECT_FALSE(pilfer::equal(v.begin(), v.begin() + 10, v.begin(), at_nine{}));
        EXPECT_EQ(pilfer::transform_reduce(v, std::views::iota(0L), 0L), 332'833'500);
        EXPECT_EQ(pilfer::transform_reduce(std::views::iota(0L), v, 0L, std::plus<>{}, std::plus<>{}),
                  999'000);
    });
}

PILFER_OVER_WORKERS(endless_ranges);

template <class F, class... Arguments>
inline constexpr bool takes = std::invocable<const F&, Arguments...>;
using numbers = decltype(std::views::iota(0));
using vector = std::vector<int>&;
using place = std::vector<int>::iterator;
using no_end = std::unreachable_sentinel_t;
using holds = bool (*)(int);
using change = int (*)(int);
using add = int (*)(int, int);

static_assert(takes<pilfer::find_algorithm, vector, int>);
static_assert(takes<pilfer::find_algorithm, place, place, int>);
static_assert(!takes<pilfer::find_algorithm, numbers, int>);
static_assert(!takes<pilfer::find_algorithm, place, no_end, int>);
static_assert(!takes<pilfer::find_if_algorithm, std::list<int>::iterator, no_end, holds>);
static_assert(!takes<pilfer::any_of_algorithm, numbers, holds>);
static_assert(!takes<pilfer::count_algorithm, place, no_end, int>);
static_assert(!takes<pilfer::transform_algorithm, numbers, place, change>);
static_assert(takes<pilfer::transform_algorithm, vector, numbers, place, add>);
static_assert(!takes<pilfer::transform_algorithm, numbers, numbers, place, add>);
static_assert(!takes<pilfer::mismatch_algorithm, numbers, numbers>);
static_assert(!takes<pilfer::fill_algorithm, place, no_end, int>);
static_assert(!takes<pilfer::inclusive_scan_algorithm, numbers, place>);
static_assert(!takes<pilfer::filter_algorithm, numbers, holds>);
static_assert(!takes<pilfer::histogram_algorithm, numbers, std::size_t>);
static_assert(!takes<pilfer::strided_function, numbers, int>);
static_assert(!takes<pilfer::sort_function, place, no_end>);
static_assert(!takes<pilfer::merge_function, vector, numbers, place>);

template <class R>
concept can_loop = requires(R range) {
    pilfer::for_each(range, [](int) {});
};
static_assert(can_loop<vector> && !can_loop<numbers>);
template <class R>
concept can_add = requires(R range) {
    pilfer::reduce(range, 0);
};
static_assert(can_add<vector> && !can_add<numbers>);

} // namespace
