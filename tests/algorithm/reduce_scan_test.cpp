// Reductions and scans: equal to std, in order, the same bits for every number of workers.
// Optimised lightly: without inlining its many runs take ten times as long by g++.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <deque>
#include <functional>
#include <list>
#include <numeric>
#include <ranges>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "algorithm/inputs.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using namespace algorithm_tests;

class algorithm_reduce : public over_workers {};
class algorithm_scan : public over_workers {};

/// A product of matrices modulo 2^32: associative, and it does not commute.
struct matrix {
    unsigned a = 1;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 1;
    friend bool operator==(const matrix&, const matrix&) = default;
};
matrix operator*(const matrix& x, const matrix& y) {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
}
std::vector<matrix> matrices(const std::vector<int>& values) {
    std::vector<matrix> all;
    for (const int v : values) {
        all.push_back({static_cast<unsigned>(v), 1, 1, static_cast<unsigned>(v) + 2});
    }
    return all;
}
std::vector<double> fractions(std::size_t n) {
    std::vector<double> all(n);
    for (std::size_t i = 0; i < n; ++i) {
        all[i] = std::sin(static_cast<double>(i)) * std::pow(10.0, static_cast<double>(i % 17));
    }
    return all;
}

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

TEST_P(algorithm_scan, inclusive_and_exclusive) {
    pilfer::pool pool(with_workers());
    over_inputs(23, [&](const input& in) {
        std::vector<int> v = in.values;
        for (int& x : v) {
            x %= 10'000; // an int holds the sum of 200,000 such numbers
        }
        const auto add = lingering{std::plus<>{}, in.slow};
        std::vector<long> got(v.size());
        std::vector<long> want(v.size());
        const auto expect_same = [&](auto result) {
            EXPECT_TRUE(result.in == v.end() && result.out == got.end());
            EXPECT_EQ(got, want);
            std::ranges::fill(got, -1);
        };
        pool.run([&] {
            std::inclusive_scan(v.begin(), v.end(), want.begin());
            expect_same(pilfer::inclusive_scan(v, got.begin()));
            expect_same(pilfer::inclusive_scan(v.begin(), v.end(), got.begin(), add, in.grain));
            std::inclusive_scan(v.begin(), v.end(), want.begin(), std::plus<>{}, 7L);
            expect_same(pilfer::inclusive_scan(v, got.begin(), add, 7L, in.grain));
            std::exclusive_scan(v.begin(), v.end(), want.begin(), 7L);
            expect_same(pilfer::exclusive_scan(v, got.begin(), 7L, add, in.grain));
            expect_same(pilfer::exclusive_scan(v.begin(), v.end(), got.begin(), 7L));
        });
    });
}

TEST_P(algorithm_scan, with_a_map_and_an_operation_that_does_not_commute) {
    pilfer::pool pool(with_workers());
    over_inputs(24, [&](const input& in) {
        const auto m = matrices(in.values);
        const matrix start{3, 1, 4, 1};
        const auto times = lingering{std::multiplies<>{}, in.slow};
        const auto twice = [](const matrix& x) { return x * x; };
        std::vector<matrix> got(m.size());
        std::vector<matrix> want(m.size());
        pool.run([&] {
            std::transform_inclusive_scan(m.begin(), m.end(), want.begin(), std::multiplies<>{}, twice);
            pilfer::transform_inclusive_scan(m, got.begin(), times, twice, in.grain);
            EXPECT_TRUE(got == want);
            std::transform_inclusive_scan(m.begin(), m.end(), want.begin(), std::multiplies<>{}, twice,
                                          start);
            pilfer::transform_inclusive_scan(m.begin(), m.end(), got.begin(), times, twice, start, in.grain);
            EXPECT_TRUE(got == want);
            std::transform_exclusive_scan(m.begin(), m.end(), want.begin(), start, std::multiplies<>{},
                                          twice);
            pilfer::transform_exclusive_scan(m, got.begin(), start, times, twice, in.grain);
            EXPECT_TRUE(got == want);
        });
    });
}

TEST_P(algorithm_scan, in_place) {
    pilfer::pool pool(with_workers());
    over_inputs(25, [&](const input& in) {
        std::vector<long> got(in.values.begin(), in.values.end());
        auto want = got;
        const auto add = lingering{[](long a, long b) { return a + b; }, in.slow};
        pool.run([&] {
            std::exclusive_scan(want.begin(), want.end(), want.begin(), 2L);
            pilfer::exclusive_scan(got, got.begin(), 2L, add, in.grain);
            EXPECT_EQ(got, want);
            std::inclusive_scan(want.begin(), want.end(), want.begin());
            pilfer::inclusive_scan(got, got.begin(), add, in.grain);
            EXPECT_EQ(got, want);
        });
    });
}

TEST(algorithm_scan_values, elements_are_converted_to_the_type_of_the_sums) {
    const watchdog limit{patience};
    const std::vector<double> v(300, 0.1);
    const std::vector<float> narrow(300, 0.1F);
    std::vector<float> got(v.size());
    std::vector<float> want(v.size());
    const auto add = [](float a, auto b) {
        static_assert(std::is_same_v<decltype(b), float>);
        return a + b;
    };
    pilfer::exclusive_scan(narrow, want.begin(), 0.0F, add, pilfer::grain{1000});
    pilfer::exclusive_scan(v, got.begin(), 0.0F, add, pilfer::grain{1000});
    EXPECT_EQ(got, want);
    EXPECT_GT(pilfer::reduce(v, 0.0F, std::identity{}, add, pilfer::grain{4}), 29.0F);
}

TEST(algorithm_scan_values, sums_of_narrow_types_warn_of_no_conversion) {
    const watchdog limit{patience};
    const std::vector<short> v(100, 3);
    std::vector<short> out(v.size());
    EXPECT_EQ(pilfer::reduce(v, short{1}), 301);
    EXPECT_EQ(pilfer::reduce(v, short{1}, std::identity{}, std::plus<>(), pilfer::grain{4}), 301);
    EXPECT_EQ(pilfer::reduce(
                  0, 100, static_cast<signed char>(1), [](int) { return 1; }, std::plus<>()),
              101);
    pilfer::inclusive_scan(v, out.begin());
    EXPECT_EQ(out.back(), 300);
    pilfer::exclusive_scan(v, out.begin(), short{0});
    EXPECT_EQ(out.back(), 297);
}

/// The bits that the guide promises: four elements are combined first.
TEST(algorithm_scan_values, numbers_are_combined_in_groups_of_four) {
    const watchdog limit{patience};
    const auto v = fractions(61);
    std::vector<double> got(v.size());
    std::vector<double> want;
    double before = v[0];
    want.push_back(before);
    for (std::size_t i = 1; i != v.size(); ++i) { // element 1 begins the first block
        if (i == 1) {
            want.push_back(before += v[i]);
            continue;
        }
        double sum = v[i];
        const std::size_t end = v.size() - i >= 4 ? i + 4 : i + 1;
        want.push_back(before + sum);
        for (; i + 1 != end; ++i) {
            sum += v[i + 1];
            want.push_back(before + sum);
        }
        before += sum;
    }
    pilfer::inclusive_scan(v, got.begin());
    EXPECT_EQ(got, want);
}

/// 256 blocks of 64 elements on two workers. The calls for an element are counted, and may wait for calls for
/// others.
class algorithm_scan_ahead : public ::testing::Test {
protected:
    static constexpr int block = 64;
    static constexpr int middle = 64 * block; // where the helper begins
    static constexpr int n = 256 * block;

    /// Runs a scan whose map calls on_call(i, whether it is the first call for i).
    template <class F>
    void run(F on_call) {
        std::vector<int> v(n);
        std::iota(v.begin(), v.end(), 0);
        std::vector<long> got(n);
        std::vector<long> want(n);
        const auto call = [&](int i) {
            on_call(i, count(i));
            return long{i} * 3;
        };
        std::transform_inclusive_scan(
            v.begin(), v.end(), want.begin(), std::plus<>{}, [](int i) { return long{i} * 3; }, 5L);
        pilfer::pool pool(workers(2));
        pool.run([&] { pilfer::transform_inclusive_scan(v, got.begin(), std::plus<>{}, call, 5L); });
        EXPECT_EQ(got, want);
    }
    /// Whether it is the first call for i.
    bool count(int i) { return m_calls[static_cast<std::size_t>(i)].fetch_add(1) == 0; }
    [[nodiscard]] int calls(int i) const { return m_calls[static_cast<std::size_t>(i)]; }

    const watchdog m_limit{patience};
    std::vector<std::atomic<int>> m_calls = std::vector<std::atomic<int>>(n);
};

TEST_F(algorithm_scan_ahead, a_helper_goes_on_from_where_the_other_worker_arrives) {
    pilfer::event summed;  // the helper has come to its third block
    pilfer::event arrived; // the other worker is in the helper's first block
    pilfer::event leads;   // the helper is past its third block
    run([&](int i, bool first) {
        if (i == 0 && first) {
            summed.wait();
        } else if (i == middle + 2 * block && first) {
            summed.set();
            arrived.wait();
        } else if (i == middle && !first) {
            arrived.set();
            leads.wait();
        } else if (i == middle + 3 * block && first) {
            leads.set();
        }
    });
    for (int i = middle; i != middle + 3 * block; ++i) {
        ASSERT_EQ(calls(i), 2) << i; // a sum and a result
    }
    EXPECT_EQ(calls(middle + 3 * block), 1); // a result
}

TEST_F(algorithm_scan_ahead, a_helper_that_is_caught_leaves) {
    pilfer::event summed;  // the helper has come to its second block
    pilfer::event arrived; // the other worker is at the end of the first one
    run([&](int i, bool first) {
        if (i == 0 && first) {
            summed.wait();
        } else if (i == middle + block && first) {
            summed.set();
            arrived.wait();
            // The other worker comes to this block meanwhile, as a rule.
            for (int k = 0; k != 100; ++k) {
                std::this_thread::yield();
            }
        } else if (i == middle + block - 1 && !first) {
            arrived.set();
        }
    });
    EXPECT_EQ(calls(middle), 2);
    EXPECT_EQ(calls(middle + block), 2); // in vain if it was caught
}

/// Whether two workers call a function for some elements, which the first one of them waits for.
class shared_elements {
public:
    /// Called at the first element of a block, and with `waits` from its third or later block on.
    void begins(bool waits) {
        pilfer::detail::worker* none = nullptr;
        pilfer::detail::worker* const here = pilfer::detail::this_worker();
        if (!m_first.compare_exchange_strong(none, here) && none != here) {
            m_are_shared = true;
        }
        while (waits && !m_are_shared) {
            std::this_thread::yield();
        }
    }
    /// Called at the last element of a block: the next look sees that the other worker is idle.
    void ends() const {
        using asks = pilfer::detail::signal_word<pilfer::detail::std_atom>;
        while (!m_are_shared && !pilfer::detail::this_worker()->deque.signal().has(asks::wanted)) {
            std::this_thread::yield();
        }
    }

private:
    std::atomic<pilfer::detail::worker*> m_first{nullptr};
    std::atomic<bool> m_are_shared{false};
};

TEST_F(algorithm_scan_ahead, a_helper_shares_sums) {
    pilfer::event summed;
    shared_elements sums;
    run([&](int i, bool first) {
        if (i == 0 && first) {
            summed.wait();
        } else if (i >= middle && first && i % block == 0) {
            sums.begins(i >= middle + 4 * block);
        } else if (i >= middle && first && i % block == block - 1) {
            sums.ends();
            if (i == n - 1) {
                summed.set();
            }
        }
    });
}

TEST_F(algorithm_scan_ahead, workers_share_results_of_blocks_with_known_sums) {
    pilfer::event summed;
    shared_elements results;
    run([&](int i, bool first) {
        if (i == 0 && first) {
            summed.wait();
        } else if (i == n - 1 && first) {
            summed.set();
        } else if (i >= middle && !first && i % block == 0) {
            results.begins(i >= middle + 2 * block);
        } else if (i >= middle && !first && i % block == block - 1) {
            results.ends();
        }
    });
    EXPECT_EQ(calls(middle), 2);
    EXPECT_EQ(calls(n - 1), 2);
}

TEST_F(algorithm_scan_ahead, a_cancelled_scan_ends_among_blocks_with_known_sums) {
    pilfer::event summed;
    pilfer::pool pool(workers(2));
    std::atomic<bool> is_cancelled{false};
    std::vector<int> v(n, 1);
    std::vector<long> out(n);
    pool.run([&] {
        pilfer::scope all;
        all.fork([&] {
            std::iota(v.begin(), v.end(), 0);
            const auto call = [&](int i) {
                const bool first = count(i);
                if (i == 0 && first) {
                    summed.wait();
                } else if (i == middle + 9 * block && first) {
                    summed.set();
                    while (!is_cancelled) {
                        std::this_thread::yield();
                    }
                    // The other worker goes on meanwhile, if it does not look.
                    for (int k = 0; k != 100; ++k) {
                        std::this_thread::yield();
                    }
                } else if (i == middle && !first) {
                    all.cancel();
                    is_cancelled = true;
                }
                return long{i};
            };
            pilfer::transform_inclusive_scan(v, out.begin(), std::plus<>{}, call, 5L);
        });
        all.sync();
    });
    EXPECT_EQ(calls(middle), 2);
    EXPECT_EQ(calls(middle + block), 1);
}

PILFER_OVER_WORKERS(algorithm_reduce);
PILFER_OVER_WORKERS(algorithm_scan);

} // namespace
