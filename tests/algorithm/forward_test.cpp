// Ranges of linked nodes: the same results as std's, also after exceptions and cancellations.
#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstring>
#include <forward_list>
#include <functional>
#include <list>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <pilfer/algorithm.hpp>

#include "support/harness.hpp"

namespace {

using namespace support;

class linked_nodes : public over_workers {};

constexpr std::size_t lengths[] = {0, 1, 2, 3, 7, 64, 300, 1023, 1024, 1025, 5000, 20'000};

std::list<int> ascending(std::size_t n) {
    std::list<int> all(n);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

TEST_P(linked_nodes, for_each_visits_every_element_once) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const std::size_t n : lengths) {
            auto list = ascending(n);
            pilfer::for_each(list, [](int& x) { x += 5; });
            pilfer::for_each(list.begin(), list.end(), [](int& x) { x -= 4; });
            int expected = 0;
            EXPECT_TRUE(std::ranges::all_of(list, [&](int x) { return x == ++expected; })) << n;
        }
        std::forward_list<std::string> words{"a", "bb", "ccc"};
        std::atomic<std::size_t> letters{0};
        pilfer::for_each(
            words, [&](std::size_t size) { letters += size; }, &std::string::size);
        EXPECT_EQ(letters, 6U);
    });
}

TEST_P(linked_nodes, transform_takes_linked_inputs_and_outputs) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const std::size_t n : lengths) {
            const auto list = ascending(n);
            const std::vector<int> numbers(list.begin(), list.end());
            std::forward_list<int> linked(n + 1, -1);
            std::vector<int> flat(n);
            const auto twice = [](int x) { return 2 * x; };
            const auto a = pilfer::transform(list, flat.begin(), twice);
            EXPECT_TRUE(a.in == list.end() && a.out == flat.end());
            const auto b = pilfer::transform(numbers, linked.begin(), twice);
            EXPECT_TRUE(b.in == numbers.end() && *b.out == -1);
            EXPECT_TRUE(std::equal(flat.begin(), flat.end(), linked.begin()));
            const auto c = pilfer::transform(list.begin(), list.end(), linked.begin(), linked.end(),
                                             flat.begin(), std::plus<>{});
            EXPECT_TRUE(c.in1 == list.end() && *c.in2 == -1 && c.out == flat.end());
            for (std::size_t i = 0; i < n; ++i) {
                EXPECT_EQ(flat[i], 3 * static_cast<int>(i));
            }
            auto in_place = list;
            pilfer::transform(in_place, in_place.begin(), twice);
            pilfer::transform(in_place, flat, in_place.begin(), std::minus<>{});
            EXPECT_TRUE(std::equal(in_place.begin(), in_place.end(), list.begin(),
                                   [](int x, int y) { return x == -y; }));
        }
    });
}

TEST_P(linked_nodes, searches_and_counts) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const std::size_t n : lengths) {
            const auto list = ascending(n);
            const auto odd = [](int x) { return x % 2 != 0; };
            EXPECT_EQ(pilfer::count_if(list, odd), static_cast<std::ptrdiff_t>(n / 2));
            EXPECT_EQ(pilfer::count(list.begin(), list.end(), 5), n > 5 ? 1 : 0);
            for (const std::size_t at : {std::size_t{0}, n / 3, n / 2, n - 1, n}) {
                const int value = static_cast<int>(at);
                const auto found = pilfer::find(list, value);
                EXPECT_TRUE(found == std::ranges::find(list, value)) << at << " of " << n;
                EXPECT_TRUE(pilfer::find_if(list.begin(), list.end(), [=](int x) { return x >= value; }) ==
                            found);
                EXPECT_TRUE(pilfer::find_if_not(list, [=](int x) { return x < value; }) == found);
                const auto is_value = [=](int x) { return x == value; };
                EXPECT_EQ(pilfer::any_of(list, is_value), at < n);
                EXPECT_EQ(pilfer::none_of(list, is_value), at >= n);
                EXPECT_EQ(pilfer::all_of(list, [=](int x) { return x != value; }), at >= n);
            }
        }
    });
}

TEST_P(linked_nodes, a_search_walks_at_most_twice_the_way_and_asks_nothing_far_behind) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        const auto list = ascending(100'000);
        std::atomic<int> last{0};
        const auto third = [&](int x) {
            int seen = last;
            while (seen < x && !last.compare_exchange_weak(seen, x)) {
            }
            return x == 3;
        };
        EXPECT_EQ(*pilfer::find_if(list, third), 3);
        EXPECT_LT(last, 1024);
    });
}

TEST_P(linked_nodes, sums_have_the_bits_of_a_vectors) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const std::size_t n : lengths) {
            std::vector<double> flat(n);
            for (std::size_t i = 0; i < n; ++i) {
                flat[i] = 1.0 / static_cast<double>(1 + i * 7919 % 1009);
            }
            const std::list<double> list(flat.begin(), flat.end());
            const auto half = [](double x) { return x / 2; };
            const auto same = [](double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; };
            EXPECT_TRUE(same(pilfer::reduce(list, 0.0), pilfer::reduce(flat, 0.0)));
            EXPECT_TRUE(same(pilfer::reduce(list.begin(), list.end(), 1.0), pilfer::reduce(flat, 1.0)));
            EXPECT_TRUE(same(pilfer::reduce(list, 0.0, half, std::plus<>{}),
                             pilfer::reduce(flat, 0.0, half, std::plus<>{})));
            EXPECT_TRUE(same(pilfer::transform_reduce(list, 0.0, std::plus<>{}, half),
                             pilfer::transform_reduce(flat, 0.0, std::plus<>{}, half)));
        }
        const std::forward_list<std::string> words{"a", "b", "c", "d", "e"};
        EXPECT_EQ(pilfer::reduce(words, std::string(">")), ">abcde");
    });
}

TEST_P(linked_nodes, an_exception_at_any_call_leaves_the_algorithm) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        auto list = ascending(300);
        for (int k = 0; k < 300; k += 13) {
            const auto throws = [k](int x) -> int {
                if (x == k) {
                    throw std::runtime_error("k");
                }
                return x;
            };
            const auto holds = [&](int x) { return throws(x) < 0; };
            EXPECT_THROW(pilfer::for_each(list, throws), std::runtime_error);
            EXPECT_THROW((void)pilfer::transform(list, list.begin(), throws), std::runtime_error);
            EXPECT_THROW((void)pilfer::count_if(list, holds), std::runtime_error);
            EXPECT_THROW((void)pilfer::find_if(list, holds), std::runtime_error);
            EXPECT_THROW((void)pilfer::any_of(list, holds), std::runtime_error);
            EXPECT_THROW((void)pilfer::reduce(list, 0, throws, std::plus<>{}), std::runtime_error);
        }
        EXPECT_EQ(pilfer::reduce(list, 0), 299 * 150);
    });
}

TEST_P(linked_nodes, a_cancelled_task_leaves_the_algorithm) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        const auto list = ascending(2000);
        for (int k = 0; k < 2000; k += 333) {
            pilfer::scope s;
            std::atomic<int> ended{0};
            s.fork([&] {
                pilfer::for_each(list, [&](int x) {
                    if (x == k) {
                        s.cancel();
                    }
                });
                (void)pilfer::count_if(list, [](int x) { return x > 3; });
                ++ended;
            });
            s.sync();
            EXPECT_EQ(ended, 0) << "stopped in the loop, or at the start of the next one";
        }
    });
}

PILFER_OVER_WORKERS(linked_nodes);

/// Algorithms that need random access refuse other iterators at compile time, and concepts can ask.
template <class F, class... Arguments>
inline constexpr bool takes = std::invocable<const F&, Arguments...>;
using linked = std::list<int>&;
using place = std::list<int>::iterator;
static_assert(takes<pilfer::transform_algorithm, linked, place, std::negate<>>);
static_assert(takes<pilfer::find_algorithm, linked, int>);
static_assert(!takes<pilfer::sort_function, linked>);
static_assert(!takes<pilfer::copy_algorithm, linked, place>);
static_assert(!takes<pilfer::inclusive_scan_algorithm, linked, place>);
static_assert(!takes<pilfer::reverse_algorithm, linked>);
static_assert(!takes<pilfer::adjacent_find_algorithm, linked>);

TEST(linked_nodes_alone, a_thread_outside_of_a_pool) {
    const watchdog limit{patience};
    const auto list = ascending(5000);
    EXPECT_EQ(pilfer::reduce(list, 0L), 4999L * 2500);
    EXPECT_EQ(*pilfer::find(list, 4000), 4000);
}

} // namespace
