// A session without other ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>

#include <pilfer/cluster.hpp>
#include <pilfer/parallel/for_each.hpp>

#include "cluster/journal_file.hpp"
#include "cluster/one_session.hpp"
#include "cluster/tree.hpp"

namespace {

using namespace tasks;
namespace cluster = pilfer::cluster;
using one_session::number_of;
using one_session::session;

/// Refused when it is made; before the session, so that the session is no reason.
const std::string error_of_weak_order = [] {
    try {
        const cluster::bound<int, std::less_equal<>> b(0);
    } catch (const pilfer::usage_error& e) {
        return std::string(e.what());
    }
    return std::string();
}();

TEST(alone, is_one_rank) {
    EXPECT_EQ(session().rank(), 0);
    EXPECT_EQ(session().size(), 1);
    EXPECT_EQ(session().pool().workers(), 3u);
    EXPECT_EQ(session().stats().size(), 1u);
}

TEST(alone, programs_have_their_results) {
    EXPECT_EQ(session().run(fib{20}), 6765);
    EXPECT_EQ(session().run(uts_small{bench::uts::root_of(small_tree)}),
              count_serially(bench::uts::root_of(small_tree), small_tree));
    EXPECT_EQ(session().run(queens{8, 0, 0, 0, 0}), 92);
    EXPECT_EQ(session().run(mixed{2}), "hello you,hello 1,hello 2");
    session().run(nothing{});
    auto sorted = numbers(10'000);
    EXPECT_EQ(session().run(merge_sort{sorted}), (std::sort(sorted.begin(), sorted.end()), sorted));
}

TEST(alone, ranges_are_mapped_and_reduced) {
    EXPECT_EQ(session().map_reduce(
                  0, 1000, 5L, [](int i) { return long{i}; }, std::plus<>{}),
              499'505);
    EXPECT_EQ(session().map_reduce(
                  3, 3, 5, [](int i) { return i; }, std::plus<>{}),
              5);
    EXPECT_EQ(session().map_reduce(
                  -3, 3, 0, [](int i) { return i; }, std::plus<>{}),
              -3);
    const auto squares = session().map_collect(0, 20'000, [](int i) { return i * i; });
    ASSERT_EQ(squares.size(), 20'000u);
    for (int i = 0; i < 20'000; ++i) {
        ASSERT_EQ(squares[static_cast<std::size_t>(i)], i * i);
    }
    EXPECT_TRUE(session().map_collect(1, 0, [](int i) { return i; }).empty());
}

TEST(alone, exceptions_have_the_form_that_they_have_on_every_rank) {
    const auto error_of = [](const thrower& t) -> std::string {
        try {
            (void)session().run(t);
        } catch (const cluster::remote_error& e) {
            EXPECT_EQ(e.rank, 0);
            return e.what();
        }
        return "";
    };
    EXPECT_EQ(error_of({3, 0, 5, false}), "leaf 5");
    EXPECT_EQ(error_of({3, 0, 5, true}), "an exception that is no std::exception");
    EXPECT_EQ(error_of({3, 0, 99, false}), "");
    EXPECT_EQ(session().run(catcher{2}), 4);
    try {
        (void)session().map_reduce(
            0, 10, 0, [](int i) { return i == 7 ? throw std::runtime_error("seven") : i; }, std::plus<>{});
        ADD_FAILURE() << "nothing thrown";
    } catch (const cluster::remote_error& e) {
        EXPECT_STREQ(e.what(), "seven");
    }
}

TEST(alone, misuse_is_refused) {
    EXPECT_EQ(session().run(fib{5}), 5);
    EXPECT_THROW(cluster::session(0, nullptr), pilfer::usage_error) << "a second session";
    EXPECT_THROW(session().pool().run([] { return session().run(fib{3}); }), pilfer::usage_error)
        << "in a task";
    std::thread([] {
        EXPECT_THROW((void)session().run(fib{3}), pilfer::usage_error) << "another thread";
    }).join();
    EXPECT_EQ(session().run(fib{10}), 55) << "goes on";
}

TEST(journal, second_call_runs_nothing_and_has_the_same_bits) {
    const journal_files::temporary_file file;
    std::atomic<int> calls{0};
    const auto f = [&](int i) {
        ++calls;
        return 1.0 / (i + 4);
    };
    constexpr int last = 20'000; // parts of 3 elements
    const double plain = session().map_reduce(-3, last, 1.5, f, std::plus<>{});
    EXPECT_EQ(calls.exchange(0), last + 3);
    EXPECT_EQ(session().map_reduce_journaled(file.path, -3, last, 1.5, f, std::plus<>{}), plain);
    EXPECT_EQ(calls.exchange(0), last + 3);
    EXPECT_EQ(session().map_reduce_journaled(file.path, -3, last, 1.5, f, std::plus<>{}), plain);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(session().map_reduce_journaled(file.path, 3, 3, 1.5, f, std::plus<>{}), 1.5) << "nothing to do";
}

TEST(journal, call_that_threw_goes_on_where_it_was) {
    const journal_files::temporary_file file;
    std::atomic<int> calls{0};
    std::atomic<bool> throws{true};
    const auto f = [&](int i) {
        if (i == 700 && throws) {
            throw std::runtime_error("seven hundred");
        }
        ++calls;
        return std::string(1, static_cast<char>('a' + i % 26));
    };
    const auto run = [&] {
        return session().map_reduce_journaled(file.path, 0, 1000, std::string(">"), f, std::plus<>{});
    };
    try {
        (void)run();
        ADD_FAILURE() << "nothing thrown";
    } catch (const cluster::remote_error& e) {
        EXPECT_STREQ(e.what(), "seven hundred");
    }
    const int before = calls.exchange(0);
    throws = false;
    std::string wanted = ">";
    for (int i = 0; i < 1000; ++i) {
        wanted += static_cast<char>('a' + i % 26);
    }
    EXPECT_EQ(run(), wanted);
    EXPECT_EQ(before + calls, 1000) << "each element once";
    EXPECT_GT(before, 0);
}

TEST(journal, of_another_call_is_an_error_of_the_call) {
    const journal_files::temporary_file file;
    const auto one = [](int) { return 1; };
    EXPECT_EQ(session().map_reduce_journaled(file.path, 0, 10, 0, one, std::plus<>{}), 10);
    try {
        (void)session().map_reduce_journaled(file.path, 0, 11, 0, one, std::plus<>{});
        ADD_FAILURE() << "nothing thrown";
    } catch (const cluster::remote_error& e) {
        EXPECT_THAT(e.what(), testing::HasSubstr(file.path + " belongs to another call"));
    }
    EXPECT_THROW((void)session().map_reduce_journaled(
                     file.path, 0, 10, 0, [](int) { return 2; }, std::plus<>{}),
                 cluster::remote_error)
        << "another function";
    EXPECT_EQ(session().map_reduce_journaled(file.path, 0, 10, 5, one, std::plus<>{}), 15);
}

TEST(bounds, take_better_values_only) {
    (void)session().run(fib{1}); // begins with the worst value
    EXPECT_EQ(smallest.get(), 1'000'000);
    EXPECT_TRUE(smallest.improve(5));
    EXPECT_FALSE(smallest.improve(5));
    EXPECT_FALSE(smallest.improve(6));
    EXPECT_TRUE(smallest.improve(-7));
    EXPECT_EQ(smallest.get(), -7);
    EXPECT_FALSE(largest.improve(-1));
    EXPECT_FALSE(largest.improve(std::numeric_limits<double>::quiet_NaN()));
    EXPECT_TRUE(largest.improve(std::numeric_limits<double>::infinity()));
    (void)session().run(fib{1});
    EXPECT_EQ(largest.get(), 0);
}

TEST(bounds, have_the_best_value_of_a_run) {
    EXPECT_EQ(session().run(offering{5, 0}), 32);
    EXPECT_EQ(smallest.get(), 17);
    EXPECT_EQ(largest.get(), 16'017);
}

TEST(bounds, keep_one_of_equal_values_on_all_ranks) {
    (void)session().run(fib{1}); // begins with the worst value
    pilfer::detail::bound_word& costs = *pilfer::detail::cluster_bounds().at(number_of(cheapest));
    const std::uint64_t a = std::uint64_t{7} << 32 | 1;
    const std::uint64_t b = std::uint64_t{7} << 32 | 2;
    EXPECT_TRUE(cheapest.improve(b));
    EXPECT_FALSE(cheapest.improve(a)) << "no better";
    EXPECT_TRUE(costs.learn(a)) << "as a rank that was offered it first";
    EXPECT_FALSE(costs.learn(b));
    EXPECT_FALSE(costs.learn(a));
    EXPECT_EQ(cheapest.get(), a);
    EXPECT_FALSE(costs.learn(std::uint64_t{8} << 32)) << "worse";
    EXPECT_TRUE(costs.learn(std::uint64_t{6} << 32 | 9));
    (void)session().run(fib{1});
    for (const bool first : {true, false}) { // two ranks, in both orders
        (void)session().run(fib{1});
        EXPECT_TRUE(cheapest.improve(first ? a : b));
        (void)costs.learn(first ? b : a);
        EXPECT_EQ(cheapest.get(), a);
    }
}

TEST(bounds, of_many_tasks_at_once_keep_the_best) {
    (void)session().run(fib{1});
    std::atomic<int> better{0};
    session().pool().run([&] {
        pilfer::for_each(0, 20'000, [&](int i) {
            better += smallest.improve(500'000 - i * 7919 % 20'000) ? 1 : 0;
            (void)largest.improve(i * 7919 % 20'000);
        });
    });
    EXPECT_EQ(smallest.get(), 480'001);
    EXPECT_EQ(largest.get(), 19'999);
    EXPECT_GE(better, 1);
}

TEST(bounds, exist_before_the_session) {
    (void)session();
    EXPECT_THROW(cluster::bound<int>(3), pilfer::usage_error);
    EXPECT_THAT(error_of_weak_order, testing::HasSubstr("a value better than itself"));
    EXPECT_EQ(std::ranges::count(pilfer::detail::cluster_bounds(),
                                 std::string(typeid(cluster::bound<int, std::less_equal<>>).name()),
                                 &pilfer::detail::bound_word::type),
              0)
        << "none is left behind";
}

} // namespace
