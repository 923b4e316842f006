// Loops and algorithms.
#include "user.hpp"

namespace {

TEST(tbb_loops, parallel_for_calls_each_index_once) {
    std::vector<std::atomic<int>> calls(100'000);
    tbb::parallel_for(std::size_t{0}, calls.size(), [&](std::size_t i) { ++calls[i]; });
    EXPECT_TRUE(std::all_of(calls.begin(), calls.end(), [](const auto& n) { return n == 1; }));
}

TEST(tbb_loops, each_partitioner_covers_the_range) {
    std::vector<std::atomic<int>> calls(10'000);
    const auto body = [&](const tbb::blocked_range<std::size_t>& r) {
        for (std::size_t i = r.begin(); i != r.end(); ++i) {
            ++calls[i];
        }
    };
    const tbb::blocked_range<std::size_t> all(0, calls.size());
    tbb::affinity_partitioner kept;
    for (int round = 0; round < 20; ++round) {
        tbb::parallel_for(all, body, tbb::simple_partitioner());
        tbb::parallel_for(all, body, tbb::auto_partitioner());
        tbb::parallel_for(all, body, tbb::static_partitioner());
        tbb::parallel_for(all, body, kept);
    }
    EXPECT_TRUE(std::all_of(calls.begin(), calls.end(), [](const auto& n) { return n == 80; }));
}

/// A thread that has used half of its stack takes no tasks of others any more, but its own.
TEST(tbb_loops, own_parts_run_deep_in_the_stack) {
    const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    tbb::task_arena arena(4);
    long calls = 0;
    std::thread([&] {
        pthread_attr_t attributes;
        void* low = nullptr;
        std::size_t bytes = 0;
        ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
        ASSERT_EQ(pthread_attr_getstack(&attributes, &low, &bytes), 0);
        pthread_attr_destroy(&attributes);
        const char* const deep = static_cast<const char*>(low) + bytes / 16 * 7;
        const std::function<void()> deeper = [&] {
            if (static_cast<const char*>(__builtin_frame_address(0)) > deep) {
                tbb::parallel_for(
                    0, 4,
                    [&](int part) {
                        ++calls;
                        if (part == 0) {
                            deeper();
                        }
                    },
                    tbb::static_partitioner());
            }
        };
        arena.execute(deeper);
    }).join();
    EXPECT_GT(calls, 4);
    EXPECT_EQ(calls % 4, 0);
}

TEST(tbb_loops, a_step_that_is_not_positive_throws) {
    EXPECT_THROW(tbb::parallel_for(0, 10, 0, [](int) {}), std::invalid_argument);
}

TEST(tbb_loops, parallel_reduce_and_its_deterministic_form) {
    std::vector<double> values(100'000);
    std::iota(values.begin(), values.end(), 1.0);
    const auto sum = [&](const tbb::blocked_range<std::size_t>& r, double s) {
        return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(r.begin()),
                               values.begin() + static_cast<std::ptrdiff_t>(r.end()), s);
    };
    const tbb::blocked_range<std::size_t> all(0, values.size(), 100);
    EXPECT_EQ(tbb::parallel_reduce(all, 0.0, sum, std::plus<>()), 5'000'050'000.0);
    const double first = tbb::parallel_deterministic_reduce(all, 0.0, sum, std::plus<>());
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(tbb::parallel_deterministic_reduce(all, 0.0, sum, std::plus<>()), first);
    }
}

TEST(tbb_loops, parallel_scan_equals_the_serial_one) {
    std::vector<int> in(50'000);
    std::iota(in.begin(), in.end(), 0);
    std::vector<long> out(in.size());
    const long total = tbb::parallel_scan(
        tbb::blocked_range<std::size_t>(0, in.size()), 0L,
        [&](const tbb::blocked_range<std::size_t>& r, long s, bool is_final) {
            for (std::size_t i = r.begin(); i != r.end(); ++i) {
                s += in[i];
                if (is_final) {
                    out[i] = s;
                }
            }
            return s;
        },
        std::plus<>());
    std::vector<long> expected(in.size());
    std::inclusive_scan(in.begin(), in.end(), expected.begin(), std::plus<>(), 0L);
    EXPECT_EQ(out, expected);
    EXPECT_EQ(total, expected.back());
}

TEST(tbb_loops, parallel_sort_sorts) {
    std::vector<int> values(200'000);
    unsigned x = 1;
    for (int& v : values) {
        v = static_cast<int>((x = x * 1664525U + 1013904223U) >> 8);
    }
    std::vector<int> expected = values;
    std::sort(expected.begin(), expected.end());
    tbb::parallel_sort(values);
    EXPECT_EQ(values, expected);
    tbb::parallel_sort(values, std::greater<>());
    EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend()));
}

TEST(tbb_loops, parallel_for_each_takes_items_that_are_added) {
    std::atomic<int> sum{0};
    const std::vector<int> first{5, 6, 7};
    tbb::parallel_for_each(first, [&](int n, tbb::feeder<int>& more) {
        sum += 1;
        if (n > 0) {
            more.add(n - 1);
        }
    });
    EXPECT_EQ(sum, 6 + 7 + 8);
}

TEST(tbb_loops, parallel_invoke_calls_all) {
    std::atomic<int> calls{0};
    const auto f = [&] { ++calls; };
    tbb::parallel_invoke(f, f, f, f, f, f, f, f, f, f, f);
    EXPECT_EQ(calls, 11);
}

TEST(tbb_loops, loops_in_loops_in_loops) {
    std::atomic<int> calls{0};
    tbb::parallel_for(0, 20, [&](int) {
        tbb::parallel_for(0, 20, [&](int) { tbb::parallel_for(0, 20, [&](int) { ++calls; }); });
    });
    EXPECT_EQ(calls, 8'000);
}

} // namespace
