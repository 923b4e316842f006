// Reductions: equal to std, in order, the same bits for every number of workers, as have scans.
// Optimised lightly: without inlining its many runs take ten times as long by g++.
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <numeric>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "algorithm/inputs.hpp"
#include "algorithm/operands.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using namespace algorithm_tests;

class algorithm_reduce : public over_workers {};

TEST_P(algorithm_reduce, sums_and_products_in_order) {
    pilfer::pool pool(with_workers());
    over_inputs(21, [&](const input& in) {
        const auto& v = in.values;
        const auto m = matrices(v);
        const matrix start{3, 1, 4, 1};
        const auto times = lingering{std::multiplies<>{}, in.slow};
        pool.run([&] {
            EXPECT_EQ(pilfer::reduce(v, 5L), std::accumulate(v.begin(), v.end(), 5L));
            EXPECT_EQ(pilfer::reduce(v.begin(), v.end(), 5L, std::plus<>{}),
                      std::accumulate(v.begin(), v.end(), 5L));
            EXPECT_EQ(pilfer::reduce(m, start, std::identity{}, times, in.grain),
                      std::accumulate(m.begin(), m.end(), start, std::multiplies<>{}));
        });
    });
}

TEST_P(algorithm_reduce, transform_reduce_has_the_order_of_std) {
    pilfer::pool pool(with_workers());
    over_inputs(22, [&](const input& in) {
        const auto& v = in.values;
        const auto square = lingering{[](int x) { return 1L * x * x; }, in.slow};
        const long want = std::transform_reduce(v.begin(), v.end(), 9L, std::plus<>{}, square);
        pool.run([&] {
            EXPECT_EQ(pilfer::transform_reduce(v, 9L, std::plus<>{}, square, in.grain), want);
            EXPECT_EQ(pilfer::transform_reduce(v.begin(), v.end(), 9L, std::plus<>{}, square), want);
            const auto times = [](long a, long b) { return a * b; };
            EXPECT_EQ(pilfer::transform_reduce(v, v, 9L, std::plus<>{}, times, in.grain), want);
            EXPECT_EQ(pilfer::transform_reduce(v.begin(), v.end(), v.begin(), 9L, std::plus<>{}, times),
                      want);
        });
    });
}

TEST(algorithm_reduce_pairs, a_map_may_return_a_reference_to_its_argument) {
    const watchdog limit{patience};
    const auto squares =
        std::views::iota(0, 1000) | std::views::transform([](int i) { return std::to_string(i * i); });
    const auto first = [](const std::string& a, int) -> const std::string& { return a; };
    EXPECT_EQ(
        pilfer::transform_reduce(squares, std::views::iota(0, 4), std::string("="), std::plus<>{}, first),
        "=0149");
}

TEST(algorithm_reduce_pairs, an_initial_value_may_be_a_range_and_ranges_may_be_arrays) {
    const watchdog limit{patience};
    const std::vector<int> v{1, 2, 3};
    const int a[3] = {1, 2, 3};
    const auto join = [](std::vector<int> x, const std::vector<int>& y) {
        x.insert(x.end(), y.begin(), y.end());
        return x;
    };
    const auto twice = [](int x) { return std::vector<int>(2, x); };
    EXPECT_EQ(pilfer::transform_reduce(v, std::vector<int>{0}, join, twice),
              (std::vector<int>{0, 1, 1, 2, 2, 3, 3}));
    EXPECT_EQ(pilfer::transform_reduce(v, std::vector<int>{0}, join, twice, pilfer::grain{2}).size(), 7U);
    EXPECT_EQ(pilfer::transform_reduce(v, v, 1), 15);
    EXPECT_EQ(pilfer::transform_reduce(v.begin(), v.end(), v.begin(), 1), 15);
    EXPECT_EQ(pilfer::transform_reduce(a, a, 1, std::plus<>{}, std::multiplies<>{}), 15);
    EXPECT_EQ(pilfer::transform_reduce(a, a + 3, a, 1), 15);
    EXPECT_EQ(pilfer::transform_reduce(a, a + 3, 1, std::plus<>{}, std::negate<>{}), -5);
}

TEST_P(algorithm_reduce, strings_stay_in_order) {
    pilfer::pool pool(with_workers());
    for (const int n : {0, 1, 2, 10, 100, 3000, 10'000}) {
        std::string want = "begin";
        for (int i = 0; i < n; ++i) {
            want += std::to_string(i);
        }
        const auto append = [](std::string a, const std::string& b) { return std::move(a.append(b)); };
        EXPECT_EQ(pool.run([&] {
            return pilfer::reduce(
                0, n, std::string("begin"), [](int i) { return std::to_string(i); }, append);
        }),
                  want);
    }
}

/// Numbers in memory are combined several at a time, blocks of 512 of them. All values below are exact.
template <class T>
void sum_and_multiply() {
    std::vector<T> v(10'000);
    for (std::size_t i = 0; i < v.size(); ++i) {
        v[i] = static_cast<T>(i * 7 % 23);
    }
    const auto times = [](T a, T b) { return static_cast<T>(a * b); };
    for (const std::size_t n : {0U, 1U, 8U, 63U, 64U, 511U, 512U, 513U, 1023U, 1024U, 5000U, 9996U}) {
        for (const std::size_t from : {0U, 1U, 3U}) {
            const std::span<const T> part(v.data() + from, n);
            const T sum = std::accumulate(part.begin(), part.end(), T(3),
                                          [](T a, T b) { return static_cast<T>(a + b); });
            EXPECT_EQ(pilfer::reduce(part, T(3)), sum) << n << " from " << from;
            EXPECT_EQ(pilfer::reduce(part.begin(), part.end(), T(3), std::plus<T>{}), sum)
                << n << " from " << from;
            std::vector<T> factors(n, T(1));
            for (std::size_t i = 0; i < n; i += n / 3 + 1) {
                factors[i] = T(3);
            }
            const T product = std::accumulate(factors.begin(), factors.end(), T(2), times);
            EXPECT_EQ(pilfer::reduce(factors, T(2), std::multiplies<>{}), product) << n;
            EXPECT_EQ(pilfer::reduce(factors, T(2), std::multiplies<T>{}), product) << n;
        }
    }
}

TEST(algorithm_reduce, numbers_in_memory_are_summed_and_multiplied) {
    sum_and_multiply<double>();
    sum_and_multiply<float>();
    sum_and_multiply<long double>();
    sum_and_multiply<long>();
    sum_and_multiply<unsigned>();
    sum_and_multiply<short>();
    sum_and_multiply<unsigned char>();
    sum_and_multiply<char16_t>();
}

/// The sum of a tree whose nodes of n leaves have the largest power of two below n on the left side.
template <class T>
T tree_sum(std::span<const T> v) {
    if (v.size() == 1) {
        return v[0];
    }
    const std::size_t left = std::bit_floor(v.size() - 1);
    return tree_sum(v.first(left)) + tree_sum(v.subspan(left));
}
/// The order that docs/guides/algorithms.md names for sums of numbers.
template <class T>
T sum_by_rows(std::span<const T> v) {
    constexpr std::size_t row = 128 / sizeof(T);
    if (std::has_single_bit(v.size()) && v.size() >= 2 * row && v.size() <= 512) {
        std::vector<T> places(v.begin(), v.begin() + row);
        for (std::size_t i = row; i < v.size(); ++i) {
            places[i % row] += v[i];
        }
        return tree_sum<T>(places);
    }
    if (v.size() < 2 * row) {
        return tree_sum(v);
    }
    const std::size_t left = std::bit_floor(v.size() - 1);
    return sum_by_rows(v.first(left)) + sum_by_rows(v.subspan(left));
}

TEST_P(algorithm_reduce, sums_of_numbers_have_the_documented_order) {
    pilfer::pool pool(with_workers());
    for (const std::size_t n : {15U, 32U, 63U, 64U, 500U, 512U, 513U, 1000U, 4097U, 100'000U, 300'000U}) {
        const std::vector<double> v = fractions(n);
        const std::vector<float> f(v.begin(), v.end());
        const std::deque<float> chunks(f.begin(), f.end());
        const std::list<float> nodes(f.begin(), f.end());
        for (int i = 0; i < 5; ++i) {
            EXPECT_EQ(pool.run([&] { return pilfer::reduce(v, 0.0); }), sum_by_rows<double>(v)) << n;
            EXPECT_EQ(pool.run([&] { return pilfer::reduce(f, 0.0F); }), sum_by_rows<float>(f)) << n;
            EXPECT_EQ(pool.run([&] { return pilfer::reduce(chunks, 0.0F); }), sum_by_rows<float>(f)) << n;
            EXPECT_EQ(pool.run([&] { return pilfer::reduce(nodes, 0.0F); }), sum_by_rows<float>(f)) << n;
        }
    }
}

TEST_P(algorithm_reduce, sums_of_mapped_numbers_have_the_documented_order) {
    pilfer::pool pool(with_workers());
    for (const std::size_t n : {1U, 15U, 32U, 150U, 512U, 1000U, 4097U, 100'000U}) {
        const std::vector<double> v = fractions(n);
        const std::vector<double> threes(n, 3.0);
        std::vector<double> mapped(n);
        std::vector<float> narrow(n);
        for (std::size_t i = 0; i < n; ++i) {
            mapped[i] = v[i] * 3.0;
            narrow[i] = static_cast<float>(mapped[i]);
        }
        const double want = sum_by_rows<double>(mapped);
        const float want_narrow = sum_by_rows<float>(narrow);
        for (const bool slow : {false, true}) {
            if (slow && n > 200) {
                continue;
            }
            const auto map = lingering{[](double x) { return x * 3.0; }, slow};
            const auto times = lingering{std::multiplies<>{}, slow};
            for (int i = 0; i < 5; ++i) {
                pool.run([&] {
                    EXPECT_EQ(pilfer::transform_reduce(v, 0.0, std::plus<>{}, map), want) << n;
                    EXPECT_EQ(pilfer::transform_reduce(v, threes, 0.0, std::plus<>{}, times), want) << n;
                    EXPECT_EQ(pilfer::transform_reduce(v, 0.0F, std::plus<>{}, map), want_narrow) << n;
                });
            }
        }
    }
}

/// Each call waits for all others: no call of a block is kept back by another one.
TEST_P(algorithm_reduce, long_maps_of_a_block_run_at_once) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::latch all(100);
        const auto after_all = [&](int i) {
            all.arrive_and_wait();
            return static_cast<double>(i);
        };
        EXPECT_EQ(pilfer::reduce(0, 100, 0.0, after_all, std::plus<>{}), 4950.0);
    });
}

/// The bits of sums and scans, computed with every number of workers and under steals, are those of one
/// worker.
TEST_P(algorithm_reduce, floating_point_has_the_same_bits_for_every_number_of_workers) {
    pilfer::pool one(workers(1));
    pilfer::pool pool(with_workers());
    for (const std::size_t n : {1U, 2U, 3U, 17U, 100U, 1000U, 4097U, 100'000U}) {
        const auto v = fractions(n);
        for (const std::uint64_t g : {1U, 5U}) {
            for (const bool slow : {false, true}) {
                if (slow && n > 200) {
                    continue;
                }
                const auto all = [&] {
                    const auto add = lingering{std::plus<>{}, slow};
                    std::vector<double> out(2 * n + 2);
                    pilfer::inclusive_scan(v, out.begin(), add, pilfer::grain{g});
                    pilfer::transform_exclusive_scan(
                        v, out.begin() + static_cast<std::ptrdiff_t>(n), 0.1, add,
                        [](double x) { return x * 1.5; }, pilfer::grain{g});
                    out[2 * n] = pilfer::reduce(v, 0.1, std::identity{}, add, pilfer::grain{g});
                    out.back() = pilfer::reduce(v, 0.1);
                    return out;
                };
                const auto want = one.run(all);
                for (std::uint64_t round = 0; round < hundredth_of(500, 3); ++round) {
                    const auto got = pool.run(all);
                    for (std::size_t i = 0; i < got.size(); ++i) {
                        ASSERT_EQ(std::bit_cast<std::uint64_t>(got[i]), std::bit_cast<std::uint64_t>(want[i]))
                            << i << " of " << n << ", grain " << g << (slow ? ", slow" : "");
                    }
                }
            }
        }
    }
}

TEST(algorithm_reduce_tree, the_grouping_is_the_documented_tree) {
    const watchdog limit{patience};
    const auto pair = [](const std::string& a, const std::string& b) { return "(" + a + b + ")"; };
    const auto digit = [](int i) { return std::to_string(i); };
    const auto shape = [&](int n, std::uint64_t g) {
        return pilfer::reduce(0, n, std::string("i"), digit, pair, pilfer::grain{g});
    };
    EXPECT_EQ(shape(1, 1), "(i0)");
    EXPECT_EQ(shape(5, 1), "(i(((01)(23))4))");
    EXPECT_EQ(shape(7, 1), "(i(((01)(23))((45)6)))");
    EXPECT_EQ(shape(5, 3), "(i(((01)2)(34)))");
}

TEST(algorithm_reduce_tree, a_tree_of_numbers_is_more_exact_than_a_fold) {
    const watchdog limit{patience};
    const std::vector<float> v(1 << 20, 0.1F);
    const float fold = std::accumulate(v.begin(), v.end(), 0.0F);
    const float tree = pilfer::reduce(v, 0.0F);
    EXPECT_LT(std::abs(tree - 104857.6F), 1.0F);
    EXPECT_GT(std::abs(fold - 104857.6F), 100.0F);
}

PILFER_OVER_WORKERS(algorithm_reduce);

} // namespace
