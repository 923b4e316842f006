// Selections, histograms and groups: equal to std, each function called once for every element.
// Optimised lightly: without inlining its many runs take ten times as long by g++.
#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithm/inputs.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using namespace algorithm_tests;

class algorithm_select : public over_workers {};
class algorithm_group : public over_workers {};

TEST_P(algorithm_select, copy_if_and_filter_keep_the_order) {
    pilfer::pool pool(with_workers());
    over_inputs(31, [&](const input& in) {
        const auto& v = in.values;
        std::atomic<std::size_t> calls{0};
        const auto odd = lingering{[&](int x) {
                                       calls.fetch_add(1, std::memory_order_relaxed);
                                       return x % 2 != 0;
                                   },
                                   in.slow};
        std::vector<int> want;
        std::ranges::copy_if(v, std::back_inserter(want), [](int x) { return x % 2 != 0; });
        std::vector<int> got(want.size() + 1, -1);
        pool.run([&] {
            const auto r = pilfer::copy_if(v, got.begin(), odd);
            EXPECT_TRUE(r.in == v.end() && r.out == got.end() - 1);
            EXPECT_EQ(calls, v.size());
            EXPECT_EQ(got.back(), -1);
            got.pop_back();
            EXPECT_EQ(got, want);
            EXPECT_EQ(pilfer::filter(v, odd), want);
            EXPECT_EQ(calls, 2 * v.size());
            EXPECT_EQ(pilfer::filter(v.begin(), v.end(), odd, std::identity{}), want);
        });
    });
}

TEST_P(algorithm_select, filter_to_a_large_vector) {
    std::vector<std::uint64_t> v(9 << 19);
    std::iota(v.begin(), v.end(), std::uint64_t{0});
    pilfer::pool pool(with_workers());
    pool.run([&] {
        const auto got = pilfer::filter(v, [](std::uint64_t i) { return i % 1024 != 5; });
        ASSERT_EQ(got.size(), v.size() / 1024 * 1023);
        for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i], i + (i + 1018) / 1023);
        }
    });
}

TEST_P(algorithm_select, filter_without_default_constructor_and_of_bools) {
    pilfer::pool pool(with_workers());
    struct bare {
        explicit bare(int v) : value(v) {}
        int value;
    };
    std::vector<bare> v;
    std::vector<bool> bits;
    for (int i = 0; i < 20'000; ++i) {
        v.emplace_back(i);
        bits.push_back(i % 3 == 0);
    }
    pool.run([&] {
        const auto got = pilfer::filter(v, [](const bare& b) { return b.value % 7 == 0; });
        EXPECT_EQ(got.size(), 2858U);
        for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i].value, static_cast<int>(i) * 7);
        }
        EXPECT_EQ(pilfer::filter(bits, std::identity{}).size(), 6667U);
    });
}

TEST_P(algorithm_select, filter_of_elements_that_cannot_be_assigned) {
    pilfer::pool pool(with_workers());
    struct constant {
        const int value = 0;
    };
    std::vector<constant> v;
    for (int i = 0; i < 20'000; ++i) {
        v.push_back(constant{i});
    }
    pool.run([&] {
        const auto got = pilfer::filter(v, [](const constant& c) { return c.value % 7 == 0; });
        EXPECT_EQ(got.size(), 2858U);
        for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i].value, static_cast<int>(i) * 7);
        }
    });
}

TEST_P(algorithm_select, remove_if_moves_what_stays) {
    pilfer::pool pool(with_workers());
    over_inputs(32, [&](const input& in) {
        auto want = in.values;
        auto got = movable(in.values);
        const auto third = lingering{[](int x) { return x % 3 == 0; }, in.slow};
        want.erase(std::ranges::remove_if(want, [](int x) { return x % 3 == 0; }).begin(), want.end());
        const auto rest = pool.run([&] { return pilfer::remove_if(got, third, &move_only::get, in.grain); });
        EXPECT_EQ(numbers(got.begin(), rest.begin()), want);
        EXPECT_TRUE(rest.end() == got.end());
    });
}

TEST_P(algorithm_select, unique_keeps_the_first_of_a_run) {
    pilfer::pool pool(with_workers());
    over_inputs(33, [&](const input& in) {
        auto want = in.values;
        for (std::size_t i = 1; i < want.size(); i += 2) { // runs of two and more
            want[i] = want[i - 1] / 3;
        }
        auto got = movable(want);
        const auto same = lingering{[](int a, int b) { return a / 3 == b / 3; }, in.slow};
        want.erase(std::ranges::unique(want, [](int a, int b) { return a / 3 == b / 3; }).begin(),
                   want.end());
        const auto rest = pool.run([&] { return pilfer::unique(got, same, &move_only::get, in.grain); });
        EXPECT_EQ(numbers(got.begin(), rest.begin()), want);
        EXPECT_TRUE(rest.end() == got.end());
    });
}

TEST_P(algorithm_select, partition_keeps_all_elements) {
    pilfer::pool pool(with_workers());
    over_inputs(34, [&](const input& in) {
        auto want = in.values;
        auto got = movable(in.values);
        const auto even = lingering{[](int x) { return x % 2 == 0; }, in.slow};
        const auto others = pool.run([&] { return pilfer::partition(got, even, &move_only::get, in.grain); });
        auto first = numbers(got.begin(), others.begin());
        auto second = numbers(others.begin(), others.end());
        EXPECT_TRUE(std::ranges::all_of(first, [](int x) { return x % 2 == 0; }));
        EXPECT_TRUE(std::ranges::none_of(second, [](int x) { return x % 2 == 0; }));
        first.insert(first.end(), second.begin(), second.end());
        std::ranges::sort(first);
        std::ranges::sort(want);
        EXPECT_EQ(first, want);
    });
}

/// A number that knows if it was swapped with itself.
struct swapped_number {
    int value;
    bool with_itself = false;
    friend void swap(swapped_number& a, swapped_number& b) noexcept {
        a.with_itself = a.with_itself || &a == &b;
        std::swap(a.value, b.value);
    }
};

TEST_P(algorithm_select, partition_swaps_no_element_with_itself) {
    pilfer::pool pool(with_workers());
    over_inputs(39, [&](const input& in) {
        std::vector<swapped_number> v;
        for (const int value : in.values) {
            v.push_back({value});
        }
        const auto is_small = lingering{[](const swapped_number& x) { return x.value % 3 != 0; }, in.slow};
        pool.run([&] { pilfer::partition(v, is_small, {}, in.grain); });
        EXPECT_TRUE(std::ranges::is_partitioned(v, is_small));
        EXPECT_TRUE(std::ranges::none_of(v, &swapped_number::with_itself));
    });
}

TEST_P(algorithm_select, partition_by_iterators_of_concepts_alone) {
    pilfer::pool pool(with_workers());
    over_inputs(37, [&](const input& in) {
        auto v = in.values;
        auto* const end = v.data() + v.size();
        const auto is_odd = [](int x) { return x % 2 != 0; };
        pool.run([&] {
            const concept_iterator first(v.data(), end);
            const auto others = pilfer::partition(first, concept_iterator(end, end), is_odd, {}, in.grain);
            EXPECT_EQ(others.begin() - first, std::ranges::count_if(in.values, is_odd));
        });
        EXPECT_TRUE(std::ranges::is_partitioned(v, is_odd));
        auto want = in.values;
        std::ranges::sort(v);
        std::ranges::sort(want);
        EXPECT_EQ(v, want);
    });
}

TEST_P(algorithm_group, histogram) {
    pilfer::pool pool(with_workers());
    over_inputs(35, [&](const input& in) {
        std::vector<std::uint64_t> want(13);
        for (const int x : in.values) {
            ++want[static_cast<std::size_t>(x % 13)];
        }
        const auto bin = lingering{[](int x) { return x % 13; }, in.slow};
        pool.run([&] {
            EXPECT_EQ(pilfer::histogram(in.values, 13, bin, in.grain), want);
            EXPECT_EQ(pilfer::histogram(in.values.begin(), in.values.end(), 13, bin), want);
        });
    });
}

TEST_P(algorithm_group, a_bin_out_of_range_is_an_error) {
    pilfer::pool pool(with_workers());
    std::vector<int> v(5000, 2);
    pool.run([&] {
        EXPECT_EQ(pilfer::histogram(v, 3)[2], 5000U);
        v[4321] = 3;
        EXPECT_THROW((void)pilfer::histogram(v, 3), std::out_of_range);
        v[4321] = -1;
        EXPECT_THROW((void)pilfer::histogram(v, 3), std::out_of_range);
        EXPECT_THROW((void)pilfer::histogram(v, 0), std::out_of_range);
        for (const double wrong : {1e300, 0x1p64, std::numeric_limits<double>::infinity(), -0.5,
                                   std::numeric_limits<double>::quiet_NaN(), 3.0}) {
            EXPECT_THROW((void)pilfer::histogram(std::vector<double>(9, wrong), 3), std::out_of_range)
                << wrong;
        }
        EXPECT_EQ(pilfer::histogram(std::vector<double>{0.0, 0.9, 2.5}, 3),
                  (std::vector<std::uint64_t>{2, 0, 1}));
        EXPECT_EQ(pilfer::histogram(std::vector<float>{0x1p24F}, (1U << 24) + 1).back(), 1U);
        __extension__ using wide = unsigned __int128;
        EXPECT_THROW((void)pilfer::histogram(std::vector<wide>{wide{1} << 64}, 3), std::out_of_range);
        EXPECT_EQ(pilfer::histogram(std::vector<bool>{true, false, true}, 2),
                  (std::vector<std::uint64_t>{1, 2}));
    });
}

TEST_P(algorithm_group, keys_and_values_come_in_the_order_of_their_elements) {
    pilfer::pool pool(with_workers());
    over_inputs(36, [&](const input& in) {
        std::vector<std::pair<std::string, std::vector<int>>> want;
        std::map<std::string, std::size_t> places;
        const auto name = [](int x) { return std::to_string(x % 1000); };
        for (const int x : in.values) {
            const auto [at, is_new] = places.emplace(name(x), want.size());
            if (is_new) {
                want.emplace_back(name(x), std::vector<int>());
            }
            want[at->second].second.push_back(-x);
        }
        pool.run([&] {
            EXPECT_EQ(pilfer::group_by_key(in.values, lingering{name, in.slow}, std::negate<>{},
                                           std::hash<std::string>{}, std::equal_to<>{}, in.grain),
                      want);
        });
    });
}

TEST_P(algorithm_group, bad_hashes_and_move_only_values) {
    pilfer::pool pool(with_workers());
    std::vector<int> v(3000);
    for (std::size_t i = 0; i < v.size(); ++i) {
        v[i] = static_cast<int>(i % 50) << 20;
    }
    const auto constant = [](int) { return std::size_t{7}; };
    const auto groups = pool.run([&] {
        return pilfer::group_by_key(
            v.begin(), v.end(), std::identity{}, [](int x) { return move_only(x); }, constant);
    });
    ASSERT_EQ(groups.size(), 50U);
    for (std::size_t i = 0; i < 50; ++i) {
        EXPECT_EQ(groups[i].first, static_cast<int>(i) << 20);
        ASSERT_EQ(groups[i].second.size(), 60U);
        EXPECT_EQ(groups[i].second[59].get(), static_cast<int>(i) << 20);
    }
}

TEST(algorithm_group_values, as_many_keys_as_elements) {
    const watchdog limit{patience};
    std::vector<int> v(200'000);
    std::iota(v.begin(), v.end(), 0);
    const auto groups = pilfer::group_by_key(v, std::identity{});
    ASSERT_EQ(groups.size(), v.size());
    EXPECT_EQ(groups.back(), std::pair(199'999, std::vector<int>{199'999}));
}

TEST(algorithm_group_values, bools_of_a_vector_are_values) {
    const watchdog limit{patience};
    const std::vector<bool> bits{true, false, true};
    using group = std::pair<bool, std::vector<bool>>;
    const std::vector<group> groups = pilfer::group_by_key(bits, std::identity{});
    EXPECT_EQ(groups, (std::vector<group>{{true, {true, true}}, {false, {false}}}));
    std::vector<int> any(3);
    pilfer::inclusive_scan(std::vector<bool>{false, true, false}, any.begin(), std::logical_or<>{});
    EXPECT_EQ(any, (std::vector<int>{0, 1, 1}));
}

PILFER_OVER_WORKERS(algorithm_select);
PILFER_OVER_WORKERS(algorithm_group);

} // namespace
