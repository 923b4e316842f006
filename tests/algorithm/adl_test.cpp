// The algorithms are objects: a call without `pilfer::` finds std's by ADL, and theirs never meet.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <list>
#include <numeric>
#include <vector>

#include <pilfer/algorithm.hpp>

#include "support/harness.hpp"
#include "support/hijack.hpp"

namespace greedy {

struct number {
    int value = 0;
    friend bool operator==(const number&, const number&) = default;
    friend bool operator<(const number& a, const number& b) { return a.value < b.value; }
    friend number operator+(const number& a, const number& b) { return {a.value + b.value}; }
};
struct odd {
    bool operator()(const number& n) const { return n.value % 2 != 0; }
};
struct below {
    bool operator()(const number& a, const number& b) const { return a.value < b.value; }
};
struct twice {
    number operator()(const number& n) const { return {2 * n.value}; }
};
struct parity {
    std::size_t operator()(const number& n) const { return n.value % 2 != 0 ? 1 : 0; }
};
struct add {
    number operator()(const number& a, const number& b) const { return a + b; }
};

} // namespace greedy

namespace {

using namespace support;

class algorithm_adl : public guarded {};

TEST_F(algorithm_adl, no_function_of_a_users_namespace_is_called) {
    pilfer::pool pool(workers(2));
    std::vector<greedy::number> v(1000);
    std::vector<greedy::number> out(1000);
    for (int i = 0; i < 1000; ++i) {
        v[static_cast<std::size_t>(i)] = {i};
    }
    pool.run([&] {
        pilfer::transform(v, out.begin(), greedy::twice{});
        EXPECT_EQ(out[999].value, 1998);
        EXPECT_EQ(pilfer::count_if(v, greedy::odd{}), 500);
        EXPECT_TRUE(pilfer::find(v, greedy::number{77}) == v.begin() + 77);
        EXPECT_TRUE(pilfer::min_element(v, greedy::below{}) == v.begin());
        EXPECT_TRUE(pilfer::minmax_element(v, greedy::below{}).max == v.end() - 1);
        EXPECT_TRUE(pilfer::equal(v, v));
        EXPECT_EQ(pilfer::reduce(v, greedy::number{}, greedy::twice{}, greedy::add{}).value, 999'000);
        pilfer::inclusive_scan(v, out.begin(), greedy::add{});
        EXPECT_EQ(out[999].value, 499'500);
        EXPECT_EQ(pilfer::filter(v, greedy::odd{}).size(), 500U);
        EXPECT_EQ(pilfer::copy_if(v, out.begin(), greedy::odd{}).out - out.begin(), 500);
        pilfer::transform(v, out, out.begin(), greedy::add{});
        pilfer::exclusive_scan(v, out.begin(), greedy::number{}, greedy::add{});
        EXPECT_EQ(out[999].value, 498'501);
        std::vector<greedy::number> merged(2000);
        (void)pilfer::merge(v, v, merged.begin(), greedy::below{});
        EXPECT_EQ(merged[1999].value, 999);
        EXPECT_EQ(pilfer::histogram(v, 2, greedy::parity{})[1], 500U);
        std::list<greedy::number> nodes(v.begin(), v.end());
        pilfer::transform(nodes, nodes.begin(), greedy::twice{});
        EXPECT_TRUE(pilfer::find(nodes, greedy::number{1000}) == std::next(nodes.begin(), 500));
        pilfer::reverse(v);
        pilfer::sort(v, greedy::below{});
        pilfer::stable_sort(v, greedy::below{});
        (void)pilfer::nth_element(v, v.begin() + 500, greedy::below{});
        EXPECT_EQ(v[500].value, 500);
        (void)pilfer::partition(v, greedy::odd{});
        EXPECT_EQ(pilfer::remove_if(v, greedy::odd{}).begin() - v.begin(), 500);
        (void)pilfer::unique(v);
        EXPECT_EQ(pilfer::group_by_key(v, [](const greedy::number& n) { return n.value % 3; }).size(), 3U);
    });
}

TEST_F(algorithm_adl, names_of_std_stay_reachable_beside_ours) {
    // An iterator of a vector of pilfer's own type: ADL looks into namespace pilfer, and finds no function.
    std::vector<pilfer::grain> v(3);
    const auto it = find_if(v.begin(), v.end(), [](const pilfer::grain& g) { return g.size == 2; });
    EXPECT_TRUE(it == v.end());
    EXPECT_EQ(count_if(v.begin(), v.end(), [](const pilfer::grain& g) { return g.size == 1; }), 3);
}

} // namespace
