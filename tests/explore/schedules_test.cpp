// test::schedules: what is explored, virtual time, and wrong calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <pilfer/pilfer.hpp>
#include <pilfer/test.hpp>

namespace {

using namespace std::chrono_literals;
using pilfer::test::require;
using pilfer::test::result;
using pilfer::test::schedules;
using pilfer::test::strategy;
using ::testing::HasSubstr;
using ::testing::PrintToString;
template <class T>
using shared = pilfer::test::atomic<T>;

/// A wait for a descriptor suspends its task. The kernel is asked when nothing else can run.
TEST(descriptors, are_waited_for_by_tasks) {
    const auto talk = [] {
        int ends[2] = {-1, -1};
        require(::pipe2(ends, O_NONBLOCK) == 0, "a pipe");
        pilfer::scope both;
        std::string heard(5, ' ');
        both.fork([&] { require(pilfer::io::read(ends[0], heard.data(), 5).bytes == 5, "all of it"); });
        require(pilfer::io::write(ends[1], "hello", 5).bytes == 5);
        both.sync();
        require(heard == "hello");
        char c = 0;
        require(pilfer::io::read(ends[0], &c, 1, 1h).error == std::errc::timed_out, "nobody writes");
        require(!pilfer::io::close(ends[0]) && !pilfer::io::close(ends[1]));
    };
    for (const strategy s : {strategy::random, strategy::exhaustive}) {
        const result r = schedules(100, {.strategy = s, .io_faults = false}, talk);
        EXPECT_TRUE(r) << r;
    }
}

TEST(descriptors, that_nobody_makes_ready_are_a_deadlock) {
    const result r = schedules(5, [] {
        int ends[2] = {-1, -1};
        require(::pipe2(ends, O_NONBLOCK) == 0, "a pipe");
        char c = 0;
        (void)pilfer::io::read(ends[0], &c, 1);
    });
    EXPECT_THAT(PrintToString(r), HasSubstr("waits for a descriptor to be readable"));
}

// ---- what is explored -------------------------------------------------------------------------

TEST(schedules, run_body_so_often) {
    int calls = 0;
    const result r = schedules(37, [&] { ++calls; });
    EXPECT_TRUE(r) << r;
    EXPECT_EQ(calls, 37);
    EXPECT_EQ(r.schedules, 37U);
    EXPECT_FALSE(r.complete);
    EXPECT_EQ(PrintToString(r), "passed: 37 schedules");
}

TEST(schedules, interleave_tasks_of_every_kind) {
    const auto orders_of = [](const std::function<void(const std::function<void(char)>&)>& run) {
        std::set<std::string> orders;
        const result r = schedules(500, {.strategy = strategy::random}, [&] {
            std::string order;
            run([&](char c) {
                pilfer::test::point();
                order += c;
            });
            orders.insert(order);
        });
        EXPECT_TRUE(r) << r;
        return orders;
    };
    const auto all = testing::UnorderedElementsAre("ab", "ba");
    EXPECT_THAT(
        orders_of([](const auto& note) { (void)pilfer::join([&] { note('a'); }, [&] { note('b'); }); }), all);
    EXPECT_THAT(orders_of([](const auto& note) {
                    pilfer::scope s;
                    s.fork([&] { note('a'); });
                    s.fork([&] { note('b'); });
                    s.sync();
                }),
                all);
    EXPECT_THAT(orders_of([](const auto& note) {
                    pilfer::scope s;
                    s.spawn([&] { note('a'); });
                    note('b');
                    s.sync();
                }),
                all);
    EXPECT_THAT(orders_of([](const auto& note) {
                    auto a = pilfer::async([&] { note('a'); });
                    auto b = pilfer::async([&] { note('b'); });
                    a.get();
                    b.get();
                }),
                all);
    EXPECT_THAT(orders_of([](const auto& note) { pilfer::for_each(0, 2, [&](int i) { note("ab"[i]); }); }),
                all);
}

TEST(schedules, splits_of_spawns_in_one_scope_keep_apart) {
    const result r = schedules(3'000, {.strategy = strategy::exhaustive}, [] {
        shared<int> n{0};
        pilfer::scope s;
        for (int i = 0; i < 4; ++i) {
            s.spawn([&] { n += 1; });
        }
        s.sync();
        require(n == 4);
    });
    EXPECT_TRUE(r) << r;
}

TEST(schedules, explore_algorithms) {
    const result r = schedules(200, [] {
        std::vector<int> v(50);
        pilfer::for_each(0, 50, [&](int i) { v[static_cast<std::size_t>(i)] = i; });
        const int sum = pilfer::reduce(
            v.begin(), v.end(), 0, [](int i) { return i; }, std::plus<>{});
        require(sum == 49 * 25);
    });
    EXPECT_TRUE(r) << r;
}

pilfer::task<int> answer(pilfer::event& asked) {
    co_await asked;
    co_return 42;
}

TEST(schedules, explore_coroutines) {
    const result r = schedules(500, [] {
        pilfer::event asked;
        auto got = pilfer::async(answer(asked));
        asked.set();
        require(got.get() == 42);
    });
    EXPECT_TRUE(r) << r;
}

TEST(schedules, all_of_a_small_program_are_said_to_be_all) {
    const result r = schedules(10'000, {.strategy = strategy::exhaustive}, [] {
        shared<int> n{0};
        (void)pilfer::join([&] { n += 1; }, [&] { n += 1; });
    });
    EXPECT_TRUE(r) << r;
    EXPECT_TRUE(r.complete);
    EXPECT_GT(r.estimate, 1);
    EXPECT_THAT(PrintToString(r), HasSubstr("which are all"));
    const result some = schedules(20, {.strategy = strategy::exhaustive}, [] {
        shared<int> n{0};
        (void)pilfer::join(
            [&] {
                n += 1;
                n += 1;
                n += 1;
            },
            [&] {
                n += 1;
                n += 1;
                n += 1;
            });
    });
    EXPECT_FALSE(some.complete);
    EXPECT_THAT(PrintToString(some), HasSubstr("of about"));
}

TEST(schedules, a_bound_of_preemptions_makes_fewer) {
    const auto count = [](std::uint64_t preemptions) {
        const result r =
            schedules(100'000, {.strategy = strategy::exhaustive, .preemptions = preemptions}, [] {
                shared<int> n{0};
                (void)pilfer::join(
                    [&] {
                        n += 1;
                        n += 1;
                    },
                    [&] {
                        n += 1;
                        n += 1;
                    });
            });
        EXPECT_TRUE(r.complete) << r;
        return r.schedules;
    };
    EXPECT_LT(count(0), count(1));
    EXPECT_LT(count(1), count(UINT64_MAX));
}

TEST(schedules, all_are_counted_once) {
    std::multiset<std::string> orders;
    const result r = schedules(1'000, {.strategy = strategy::exhaustive}, [&] {
        std::string order;
        pilfer::scope s;
        for (const char c : {'a', 'b', 'c'}) {
            s.fork([&order, c] { order += c; });
        }
        s.sync();
        orders.insert(order);
    });
    EXPECT_TRUE(r.complete);
    EXPECT_EQ(r.schedules + 50, orders.size()) << "50 ran by chance, for the estimate";
    EXPECT_EQ(std::set<std::string>(orders.begin(), orders.end()).size(), 6U);
}

TEST(schedules, a_yield_may_return_at_once) {
    const auto body = [] {
        bool begun = false;
        pilfer::scope s;
        s.fork([&] { begun = true; });
        pilfer::yield();
        require(begun, "a yield waits for nobody");
        s.sync();
    };
    EXPECT_FALSE(schedules(100, {.strategy = strategy::random}, body));
    EXPECT_FALSE(schedules(100, {.strategy = strategy::exhaustive}, body));
}

TEST(schedules, all_of_tasks_that_yield_in_turn_end) {
#if defined(PILFER_SANITIZED)
    constexpr std::uint64_t most = 5'000; // what is not found so is found without a sanitizer
#else
    constexpr std::uint64_t most = 200'000;
#endif
    const result r = schedules(most, {.strategy = strategy::exhaustive, .steps = 200}, [] {
        shared<bool> over{false};
        const auto spin = [&] {
            while (!over) {
                pilfer::yield();
            }
        };
        pilfer::scope s;
        s.fork(spin);
        s.fork(spin);
        s.fork([&] { over = true; });
        s.sync();
    });
    EXPECT_TRUE(r) << r;
}

TEST(schedules, who_goes_on_after_the_end_of_a_task_is_no_preemption) {
    std::set<std::string> orders;
    const result r = schedules(10'000, {.strategy = strategy::exhaustive, .preemptions = 0}, [&] {
        std::string order;
        pilfer::scope s;
        s.fork([&] {
            pilfer::sleep_for(2us);
            order += 'c';
        });
        (void)pilfer::join([] { pilfer::sleep_for(1us); },
                           [&] {
                               pilfer::sleep_for(2us);
                               order += 'f';
                           });
        order += 'p';
        s.sync();
        orders.insert(order);
    });
    EXPECT_TRUE(r.complete) << r;
    EXPECT_THAT(orders, testing::IsSupersetOf({"cfp", "fcp", "fpc"}));
}

// ---- time -------------------------------------------------------------------------------------

TEST(virtual_time, jumps) {
    const auto start = std::chrono::steady_clock::now();
    int wakes = 0;
    const result r = schedules(1, [&] {
        for (int hour = 0; hour < 72; ++hour) {
            pilfer::sleep_for(1h);
            ++wakes;
        }
    });
    EXPECT_TRUE(r) << r;
    EXPECT_EQ(wakes, 72);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 1h);
}

TEST(virtual_time, ends_waits_in_their_order) {
    const result r = schedules(1'000, [] {
        pilfer::event never;
        shared<int> stage{0};
        pilfer::scope s;
        s.fork([&] {
            require(!never.wait_for(20ms));
            require(stage.exchange(2) == 1);
        });
        s.fork([&] {
            pilfer::sleep_for(10ms);
            require(stage.exchange(1) == 0);
        });
        s.sync();
    });
    EXPECT_TRUE(r) << r;
}

TEST(virtual_time, of_tasks_that_only_yield_goes_on) {
    for (const auto how : {strategy::random, strategy::pct, strategy::exhaustive}) {
        const result r = schedules(20, {.strategy = how}, [] {
            shared<bool> over{false};
            auto t = pilfer::after(1h, [&] { over = true; });
            const auto spin = [&] {
                while (!over) {
                    pilfer::yield();
                }
            };
            (void)pilfer::join(spin, spin);
        });
        EXPECT_TRUE(r) << r;
    }
}

TEST(virtual_time, is_not_that_of_other_threads) {
    pilfer::pool usual;
    const auto start = std::chrono::steady_clock::now();
    auto slept = usual.async([] { pilfer::sleep_for(20ms); });
    EXPECT_TRUE(schedules(10, [] { pilfer::sleep_for(24h); }));
    slept.get();
    const auto took = std::chrono::steady_clock::now() - start;
    EXPECT_GE(took, 20ms);
    EXPECT_LT(took, 1h);
}

// ---- wrong calls ------------------------------------------------------------------------------

template <class F>
[[nodiscard]] std::string refusal(F call) {
    try {
        (void)call();
    } catch (const std::exception& e) {
        return e.what();
    }
    return "taken";
}

TEST(wrong_calls, say_what_is_wrong) {
    const auto nothing = [] {};
    EXPECT_THAT(refusal([&] { return schedules(0, nothing); }), HasSubstr("0 schedules"));
    EXPECT_THAT(refusal([&] { return schedules(1, {.depth = 0}, nothing); }),
                HasSubstr("depth must be from 1"));
    EXPECT_THAT(refusal([&] { return schedules(1, {.depth = 1'001}, nothing); }), HasSubstr("not 1001"));
    EXPECT_THAT(refusal([&] { return schedules(1, {.steps = 0}, nothing); }),
                HasSubstr("steps must be at least 1"));
    EXPECT_THAT(refusal([&] { return schedules(1, {.strategy = static_cast<strategy>(9)}, nothing); }),
                HasSubstr("not 9"));
    EXPECT_THAT(refusal([&] { return schedules(1, {.replay = "d1:1-x"}, nothing); }),
                HasSubstr("is no schedule"));
    EXPECT_THAT(refusal([&] { return schedules(1, std::function<void()>()); }), HasSubstr("body is empty"));
}

TEST(wrong_calls, inside_a_task) {
    const auto nested = [] { (void)schedules(1, [] {}); };
    const result r = schedules(1, nested);
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, HasSubstr("called by a task"));
    pilfer::pool p;
    EXPECT_THROW(p.run(nested), pilfer::usage_error);
}

TEST(wrong_calls, two_threads_take_turns) {
    std::vector<std::thread> threads;
    shared<int> passed{0};
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] { passed += schedules(50, [] { pilfer::yield(); }) ? 1 : 0; });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    EXPECT_EQ(passed.load(), 3);
}

} // namespace
