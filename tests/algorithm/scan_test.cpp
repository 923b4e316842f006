// Scans: equal to std, in order, and shared by workers.
// Optimised lightly: without inlining its many runs take ten times as long by g++.
#include <atomic>
#include <functional>
#include <numeric>
#include <ranges>
#include <thread>
#include <vector>

#include "algorithm/inputs.hpp"
#include "algorithm/operands.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using namespace algorithm_tests;

class algorithm_scan : public over_workers {};

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
    std::atomic<bool> is_summed{false}; // the helper has come to its third block
    pilfer::event arrived;              // the other worker is in the helper's first block
    pilfer::event leads;                // the helper is past its third block
    run([&](int i, bool first) {
        if (i == 0 && first) {
            while (!is_summed) { // a worker whose task waits would ask the helper to share its sums
                std::this_thread::yield();
            }
        } else if (i == middle + 2 * block && first) {
            is_summed = true;
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

PILFER_OVER_WORKERS(algorithm_scan);

} // namespace
