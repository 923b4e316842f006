// Coroutines that wait for latches and at barriers.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "coroutine/cancelled.hpp"
#include "sync/support.hpp"

namespace {

using namespace coroutine_tests;

class coroutine_latches : public over_workers {};
class coroutine_barriers : public over_workers {};
class coroutine_arrivals_cancel : public in_a_pool {};
INSTANTIATE_TEST_SUITE_P(workers, coroutine_arrivals_cancel, testing::Values(1U, 2U, 3U, 8U));

void get_all(std::vector<pilfer::future<void>>& all) {
    for (auto& f : all) {
        f.get();
    }
}

[[nodiscard]] bool is_reported(pilfer::pool& p, const char* what) {
    return eventually([&] {
        std::ostringstream out;
        p.dump(out);
        return out.str().find(what) != std::string::npos;
    });
}

// ---- latches ----------------------------------------------------------------------------------

task<> waits_for_latch(const pilfer::latch& l, std::atomic<int>& passed) {
    co_await pilfer::wait(l);
    EXPECT_TRUE(l.try_wait());
    ++passed;
}

TEST_P(coroutine_latches, are_waited_for_without_a_stack) {
    pilfer::pool pool(with_workers());
    pilfer::latch l(3);
    std::atomic<int> passed{0};
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 200; ++i) {
        all.push_back(pool.async(waits_for_latch(l, passed)));
    }
    EXPECT_TRUE(is_reported(pool, "waits for a latch"));
    l.count_down();
    pool.run([&] { l.count_down(); });
    EXPECT_EQ(passed, 0);
    pool.run([](pilfer::latch& last) -> task<> {
        last.count_down();
        co_return;
    }(l));
    get_all(all);
    EXPECT_EQ(passed, 200);
    EXPECT_EQ(pool.counters().suspends, 0U) << "a coroutine has kept its stack";
    pool.run(waits_for_latch(l, passed)); // open
    EXPECT_EQ(passed, 201);
}

TEST_P(coroutine_latches, are_opened_by_the_last_of_all_kinds) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < hundredth_of(5'000); ++round) {
        pilfer::latch l(8);
        std::atomic<int> arrived{0};
        std::vector<pilfer::future<void>> all;
        for (int i = 0; i < 3; ++i) {
            all.push_back(pool.async([](pilfer::latch& of, std::atomic<int>& n) -> task<> {
                n += 2;
                co_await pilfer::arrive_and_wait(of, 2);
                EXPECT_EQ(n, 8);
            }(l, arrived)));
        }
        all.push_back(pool.async([&] {
            ++arrived;
            l.arrive_and_wait();
            EXPECT_EQ(arrived, 8);
        }));
        std::thread outside([&] {
            ++arrived;
            l.arrive_and_wait();
            EXPECT_EQ(arrived, 8);
        });
        get_all(all);
        outside.join();
        EXPECT_TRUE(l.try_wait());
    }
}

TEST_P(coroutine_latches, count_nothing_if_the_wait_is_refused) {
    pilfer::pool pool(with_workers());
    pilfer::latch l(2);
    pool.run([](pilfer::latch& of) -> task<> {
        pilfer::mutex plain;
        const std::lock_guard own(plain);
        bool refused = false;
        try {
            co_await pilfer::arrive_and_wait(of);
        } catch (const pilfer::usage_error&) {
            refused = true;
        }
        EXPECT_TRUE(refused);
        of.count_down();
        EXPECT_FALSE(of.try_wait()) << "the refused call has arrived";
        co_await pilfer::arrive_and_wait(of); // the last one does not wait
    }(l));
    EXPECT_TRUE(l.try_wait());
}

/// The waiter's parameter is the latch, and its frame ends as soon as it has gone on.
TEST_P(coroutine_latches, may_end_with_the_first_that_goes_on) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < hundredth_of(20'000); ++round) {
        auto owned = std::make_unique<pilfer::latch>(1);
        pilfer::latch& l = *owned;
        const auto waits = pool.async([](std::unique_ptr<pilfer::latch> of) -> task<> {
            co_await pilfer::wait(*of);
        }(std::move(owned)));
        switch (round % 3) {
        case 0:
            pool.run([](pilfer::latch& of) -> task<> { co_await pilfer::arrive_and_wait(of); }(l));
            break;
        case 1:
            l.count_down();
            break;
        default:
            pool.run([&] { l.count_down(); });
        }
        waits.get();
    }
}

/// The opening comes after the coroutine has seen the latch closed, or it is the opener after all.
TEST(coroutine_arrivals_ends, a_latch_opens_before_the_wait) {
    const watchdog w(patience);
    pilfer::pool pool(workers(1));
    pilfer::latch first(1);
    pilfer::latch second(2);
    const auto waits = pool.async([](pilfer::latch& of) -> task<> { co_await pilfer::wait(of); }(second));
    pool.run([](pilfer::latch& one, pilfer::latch& two) -> task<> {
        co_await overtaken{pilfer::wait(one), [&] { one.count_down(); }};
        EXPECT_TRUE(one.try_wait());
        co_await overtaken{pilfer::arrive_and_wait(two), [&] { two.count_down(); }};
        EXPECT_TRUE(two.try_wait());
    }(first, second));
    waits.get(); // hangs if the opener has not let it go on
    pilfer::latch late(1);
    pool.run([](pilfer::latch& of) -> task<> {
        const bool open = co_await overtaken{pilfer::wait_for(of, 1h), [&] { of.count_down(); }};
        EXPECT_TRUE(open);
    }(late));
}

PILFER_OVER_WORKERS(coroutine_latches);

TEST_P(coroutine_arrivals_cancel, ends_a_wait_for_a_latch) {
    pool.run([&] {
        pilfer::latch l(7); // one more than arrive
        std::atomic<int> begun{0};
        std::atomic<int> passed{0};
        const auto arrives = [](pilfer::latch& of, std::atomic<int>& n, std::atomic<int>& out) -> task<> {
            ++n;
            co_await pilfer::arrive_and_wait(of);
            ++out;
        };
        pilfer::scope s;
        for (int i = 0; i < 5; ++i) {
            s.fork([&] { pool.run(arrives(l, begun, passed)); });
        }
        const auto stays = pool.async(arrives(l, begun, passed)); // in no scope
        until([&] { return begun == 6; });
        s.cancel();
        s.sync();
        EXPECT_EQ(passed, 0);
        EXPECT_FALSE(l.try_wait());
        l.count_down();
        stays.get(); // hangs if a coroutine has left without its arrival
        EXPECT_EQ(passed, 1);
    });
}

// ---- barriers ---------------------------------------------------------------------------------

/// Takes part in so many phases; `phase` is written by the completion alone.
template <class Barrier>
task<> takes_part(pilfer::pool& p, Barrier& b, const int& phase, int phases) {
    for (int i = 0; i < phases; ++i) {
        EXPECT_EQ(phase, i);
        if (i % 4 == 1) {
            co_await p.schedule();
        }
        co_await pilfer::arrive_and_wait(b);
        EXPECT_EQ(phase, i + 1);
    }
}

TEST_P(coroutine_barriers, keep_all_kinds_in_step) {
    pilfer::pool pool(with_workers());
    int phase = 0;
    const auto completion = [&phase]() noexcept { ++phase; };
    pilfer::barrier b(12, completion);
    const int phases = static_cast<int>(hundredth_of(10'000));
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 8; ++i) {
        all.push_back(pool.async(takes_part(pool, b, phase, phases)));
    }
    sync_tests::all_at_once(pool, 2, 2, [&](unsigned) {
        for (int i = 0; i < phases; ++i) {
            EXPECT_EQ(phase, i);
            b.arrive_and_wait();
        }
    });
    get_all(all);
    EXPECT_EQ(phase, phases);
}

TEST_P(coroutine_barriers, keep_no_stack) {
    pilfer::pool pool(with_workers());
    int phase = 0;
    const auto completion = [&phase]() noexcept { ++phase; };
    pilfer::barrier b(101, completion);
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 100; ++i) {
        all.push_back(pool.async(takes_part(pool, b, phase, 10)));
    }
    EXPECT_TRUE(is_reported(pool, "waits for a barrier"));
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(phase, i);
        b.arrive_and_wait();
    }
    get_all(all);
    EXPECT_EQ(pool.counters().suspends, 0U) << "a coroutine has kept its stack";
}

/// The completion runs in the coroutine's task, so it may wait there.
TEST_P(coroutine_barriers, have_completions_that_wait) {
    pilfer::pool pool(with_workers());
    int phase = 0;
    const auto completion = [&]() noexcept {
        EXPECT_TRUE(runs_in(pool));
        pilfer::sleep_for(1us);
        ++phase;
    };
    pilfer::barrier b(4, completion);
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(pool.async(takes_part(pool, b, phase, 20)));
    }
    get_all(all);
    EXPECT_EQ(phase, 20);
}

/// All have gone on from the last phase when the second of them destroys it.
TEST_P(coroutine_barriers, may_end_when_all_have_gone_on) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < hundredth_of(20'000); ++round) {
        auto b = std::make_unique<pilfer::barrier<>>(2);
        std::atomic<int> passed{0};
        const auto one = [](auto& of, std::atomic<int>& n) -> task<> {
            co_await pilfer::arrive_and_wait(*of);
            if (++n == 2) {
                of.reset();
            }
        };
        const auto first = pool.async(one(b, passed));
        const auto second = pool.async(one(b, passed));
        first.get();
        second.get();
        EXPECT_EQ(b, nullptr);
    }
}

/// None of those that have arrived needs it any more.
TEST_P(coroutine_barriers, may_end_with_the_first_that_goes_on) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < hundredth_of(20'000); ++round) {
        auto b = std::make_unique<pilfer::barrier<>>(3);
        std::atomic<int> passed{0};
        const auto one = [](auto& of, std::atomic<int>& n) -> task<> {
            co_await pilfer::arrive_and_wait(*of);
            if (++n == 1) {
                of.reset();
            }
        };
        std::vector<pilfer::future<void>> all;
        for (int i = 0; i < 3; ++i) {
            all.push_back(pool.async(one(b, passed)));
        }
        get_all(all);
        EXPECT_EQ(b, nullptr);
    }
}

/// The others arrive after the coroutine has seen that it is not the last one.
TEST(coroutine_arrivals_ends, the_last_one_of_a_phase_may_begin_to_wait) {
    const watchdog w(patience);
    pilfer::pool pool(workers(1));
    int phase = 0;
    const auto completion = [&phase]() noexcept { ++phase; };
    pilfer::barrier b(3, completion);
    const auto waits = pool.async([](auto& of) -> task<> { co_await pilfer::arrive_and_wait(of); }(b));
    pool.run([](auto& of, const int& ended) -> task<> {
        co_await overtaken{pilfer::arrive_and_wait(of), [&] { (void)of.arrive(); }};
        EXPECT_EQ(ended, 1);
    }(b, phase));
    waits.get(); // hangs if the last one has not ended the phase
    const auto token = b.arrive(3);
    EXPECT_TRUE(b.wait_for(token, 0s));
    EXPECT_EQ(phase, 2);
}

TEST_P(coroutine_barriers, count_nothing_if_the_wait_is_refused) {
    pilfer::pool pool(with_workers());
    pilfer::barrier b(2);
    pool.run([](pilfer::barrier<>& of) -> task<> {
        pilfer::mutex plain;
        const std::lock_guard own(plain);
        bool refused = false;
        try {
            co_await pilfer::arrive_and_wait(of);
        } catch (const pilfer::usage_error&) {
            refused = true;
        }
        EXPECT_TRUE(refused);
        const auto token = of.arrive();
        EXPECT_FALSE(of.wait_for(token, 0s)) << "the refused call has arrived";
        co_await pilfer::arrive_and_wait(of); // the last one does not wait
        EXPECT_TRUE(of.wait_for(token, 0s));
    }(b));
}

PILFER_OVER_WORKERS(coroutine_barriers);

TEST_P(coroutine_arrivals_cancel, a_cancelled_coroutine_is_not_expected_again) {
    pool.run([&] {
        int phase = 0;
        const auto completion = [&phase]() noexcept { ++phase; };
        pilfer::barrier b(5, completion);
        std::atomic<int> begun{0};
        std::atomic<int> passed{0};
        const auto one = [](auto& of, std::atomic<int>& n, std::atomic<int>& out) -> task<> {
            ++n;
            co_await pilfer::arrive_and_wait(of);
            ++out;
        };
        pilfer::scope s;
        for (int i = 0; i < 3; ++i) {
            s.fork([&] { pool.run(one(b, begun, passed)); });
        }
        until([&] { return begun == 3; });
        s.cancel();
        s.sync();
        EXPECT_EQ(passed, 0);
        for (int i = 0; i < 3; ++i) { // hangs in the second phase if three are still expected
            const auto other = pool.async(one(b, begun, passed));
            pool.run(one(b, begun, passed));
            other.get();
            EXPECT_EQ(phase, i + 1);
        }
        EXPECT_EQ(passed, 6);
    });
}

/// The end of the phase and a cancellation at once: the coroutine goes on and is expected again, or neither.
TEST_P(coroutine_arrivals_cancel, races_the_end_of_a_phase) {
    for (std::uint64_t round = 0; round < hundredth_of(50'000); ++round) {
        pool.run([&] {
            pilfer::barrier b(2);
            std::atomic<bool> begun{false};
            bool passed = false;
            pilfer::scope s;
            s.fork([&] {
                pool.run([](pilfer::barrier<>& of, std::atomic<bool>& begins, bool& out) -> task<> {
                    begins = true;
                    co_await pilfer::arrive_and_wait(of);
                    out = true;
                }(b, begun, passed));
            });
            until([&] { return begun.load(); });
            const auto done = pilfer::async([&] { b.arrive_and_wait(); });
            for (std::atomic<std::uint64_t> i{0}; i < round * 37 % 400;) {
                ++i;
            }
            s.cancel();
            s.sync();
            done.get();
            const auto token = b.arrive();
            EXPECT_EQ(b.wait_for(token, 0s), !passed);
            if (passed) {
                b.arrive_and_wait();
            }
        });
    }
}

} // namespace
