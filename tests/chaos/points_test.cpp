// The disturbances themselves: quiet at level 0, repeatable by seed, and everywhere they are promised.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include <pilfer/detail/base/chaos.hpp>

#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
namespace chaos = pilfer::detail::chaos;

constexpr auto points = static_cast<unsigned>(chaos::point::count);
constexpr auto choices = static_cast<unsigned>(chaos::choice::count);

[[nodiscard]] std::vector<std::uint64_t> all_counts() {
    std::vector<std::uint64_t> counts;
    for (unsigned p = 0; p < points; ++p) {
        counts.push_back(chaos::disturbances(static_cast<chaos::point>(p)));
    }
    for (unsigned c = 0; c < choices; ++c) {
        counts.push_back(chaos::disturbances(static_cast<chaos::choice>(c)));
    }
    return counts;
}

class at_level {
public:
    explicit at_level(unsigned level, std::uint64_t seed = 1) { chaos::configure({seed, level, false}); }
    at_level(const at_level&) = delete;
    at_level& operator=(const at_level&) = delete;
    ~at_level() { chaos::configure({1, 0, false}); }
};

/// Something of everything.
void usual_load(const pilfer::options& o) {
    pilfer::pool pool(o);
    EXPECT_EQ(pool.run([] { return fib_join(12); }), fib(12));
    EXPECT_EQ(pool.run([] { return fib_spawn(12); }), fib(12));
    EXPECT_EQ(pool.run([] { return fib_fork(12); }), fib(12));
    std::vector<pilfer::future<std::uint64_t>> results;
    for (unsigned i = 0; i < 20; ++i) {
        results.push_back(pool.async([i] { return fib_join(i % 8); }));
    }
    for (unsigned i = 0; i < 20; ++i) {
        EXPECT_EQ(results[i].get(), fib(i % 8));
    }
    pool.shutdown();
    EXPECT_EQ(pool.counters().suspends, pool.counters().resumes);
}

class chaos_points : public guarded {};

TEST_F(chaos_points, nothing_is_disturbed_at_level_0) {
    const auto before = all_counts();
    usual_load(workers(3));
    EXPECT_EQ(all_counts(), before);
}

TEST_F(chaos_points, every_point_and_choice_comes_up_and_results_stay_right) {
    const at_level on(3);
    pilfer::options few = workers(3);
    few.max_contexts = 40; // stacks are refused only to callers that must expect it
    few.stack_size = std::size_t{1} << 20;
#if defined(PILFER_CHECKED)
    // A checked pool, which counts all, is tripped at each push as it is.
    constexpr auto never = static_cast<int>(chaos::choice::trip);
#else
    constexpr int never = -1;
#endif
    const bool all = eventually([&] {
        usual_load(workers(4));
        usual_load(few);
        const auto counts = all_counts();
        return std::count(counts.begin(), counts.end(), 0U) == (never < 0 ? 0 : 1);
    });
    for (unsigned p = 0; p < points; ++p) {
        EXPECT_GT(chaos::disturbances(static_cast<chaos::point>(p)), 0U)
            << chaos::name_of(static_cast<chaos::point>(p));
    }
    for (unsigned c = 0; c < choices; ++c) {
        if (static_cast<int>(c) == never) {
            continue;
        }
        EXPECT_GT(chaos::disturbances(static_cast<chaos::choice>(c)), 0U)
            << chaos::name_of(static_cast<chaos::choice>(c));
    }
    EXPECT_TRUE(all);
}

/// One thread of a given number asks the same questions twice.
[[nodiscard]] std::vector<unsigned> answers(std::uint64_t seed, std::uint64_t number) {
    const at_level on(2, seed);
    std::vector<unsigned> got;
    std::thread([&] {
        chaos::thread_is(number);
        for (int i = 0; i < 500; ++i) {
            got.push_back(chaos::number_below(1000));
            got.push_back(chaos::maybe(chaos::choice::expose) ? 1 : 0);
        }
    }).join();
    return got;
}

TEST_F(chaos_points, a_thread_does_the_same_again_with_the_same_seed_and_number) {
    EXPECT_EQ(answers(5, 77), answers(5, 77));
    EXPECT_NE(answers(5, 77), answers(6, 77));
    EXPECT_NE(answers(5, 77), answers(5, 78));
}

TEST_F(chaos_points, a_pool_without_a_limit_is_never_refused_a_stack) {
    const at_level on(3);
    const auto before = chaos::disturbances(chaos::choice::refuse_context);
    for (int i = 0; i < 5; ++i) {
        pilfer::pool pool(workers(3));
        EXPECT_EQ(pool.run([] { return fib_spawn(12); }), fib(12));
        EXPECT_EQ(pool.counters().no_context, 0U);
    }
    EXPECT_EQ(chaos::disturbances(chaos::choice::refuse_context), before);
}

} // namespace
