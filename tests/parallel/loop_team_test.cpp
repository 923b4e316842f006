// loop_team: every element once in each phase, stable placement, and members that are late, wait or fail.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/allocations.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;

class loop_team : public over_workers {};
class loop_team_of_two : public guarded {};

using counts = std::vector<std::atomic<unsigned>>;

[[nodiscard]] bool all_are(const counts& c, unsigned value) {
    return std::all_of(c.begin(), c.end(), [value](const auto& one) { return one == value; });
}

TEST_P(loop_team, every_element_once) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::loop_team team;
        EXPECT_EQ(team.members(), GetParam());
        for (unsigned n = 0; n <= 300; ++n) {
            counts seen(n);
            team.for_each(0U, n, [&](unsigned i) { ++seen[i]; });
            ASSERT_TRUE(all_are(seen, 1)) << n;
        }
    });
}

TEST_P(loop_team, runs_phases_until_a_body_throws) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::loop_team team;
        for (const std::uint64_t times : {std::uint64_t{1} << 48, (std::uint64_t{1} << 48) + 1, UINT64_MAX}) {
            std::atomic<std::uint64_t> last{0};
            EXPECT_THROW(team.phases(times, 0U, 100U,
                                     [&](std::uint64_t phase, unsigned, unsigned) {
                                         last = phase;
                                         if (phase == 5) {
                                             throw std::runtime_error("enough");
                                         }
                                     }),
                         std::runtime_error);
            EXPECT_EQ(last, 5U);
        }
    });
}

TEST_P(loop_team, chunks_cover_ranges_of_iterators) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::loop_team team;
        std::vector<int> values(1000, 1);
        std::atomic<std::ptrdiff_t> elements{0};
        team.for_each_chunk(values.begin(), values.end(), [&](auto first, auto last) {
            EXPECT_LT(first, last);
            elements += last - first;
            for (; first != last; ++first) {
                *first += 1;
            }
        });
        EXPECT_EQ(elements, 1000);
        EXPECT_EQ(std::count(values.begin(), values.end(), 2), 1000);
        team.for_each(values.begin(), values.end(), [](int& v) { v = 7; });
        EXPECT_EQ(std::count(values.begin(), values.end(), 7), 1000);
    });
}

TEST_P(loop_team, bounds_of_every_kind) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::loop_team team;
        std::atomic<std::int64_t> sum{0};
        team.for_each(-100, 101, [&](int i) { sum += i; });
        EXPECT_EQ(sum, 0);
        std::atomic<int> calls{0};
        team.for_each(5, 5, [&](int) { ++calls; });
        team.for_each(5, -5, [&](int) { ++calls; });
        team.phases(0, 0, 10, [&](std::uint64_t, int, int) { ++calls; });
        EXPECT_EQ(calls, 0);
        team.for_each(INT64_MAX - 10, INT64_MAX, [&](std::int64_t) { ++calls; });
        team.for_each(UINT64_MAX - 10, UINT64_MAX, [&](std::uint64_t) { ++calls; });
        team.for_each(std::int8_t{-128}, std::int8_t{127}, [&](std::int8_t) { ++calls; });
        EXPECT_EQ(calls, 275);
        std::atomic<std::uint64_t> covered{0};
        team.for_each_chunk(std::uint64_t{0}, UINT64_MAX,
                            [&](std::uint64_t first, std::uint64_t last) { covered += last - first; });
        EXPECT_EQ(covered, UINT64_MAX);
    });
}

TEST_P(loop_team, phases_follow_each_other) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::loop_team team;
        constexpr unsigned n = 100;
        const auto phases = static_cast<unsigned>(hundredth_of(100'000, 20));
        std::vector<unsigned> now(n, 0);
        std::vector<unsigned> next(n, 0);
        std::atomic<unsigned> early{0};
        // Plain reads of the neighbours: a phase that began early would be a data race, and be counted.
        team.phases(phases, 0U, n, [&](std::uint64_t phase, unsigned first, unsigned last) {
            const auto& from = phase % 2 == 0 ? now : next;
            auto& to = phase % 2 == 0 ? next : now;
            for (unsigned i = first; i < last; ++i) {
                const unsigned left = from[(i + n - 1) % n];
                const unsigned right = from[(i + 1) % n];
                if (left != phase || right != phase) {
                    ++early;
                }
                to[i] = from[i] + 1;
            }
        });
        EXPECT_EQ(early, 0U);
        const auto& last = phases % 2 == 0 ? now : next;
        EXPECT_EQ(std::count(last.begin(), last.end(), phases), n);
    });
}

TEST_P(loop_team, the_first_exception_ends_the_run_and_the_team_stays_usable) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::loop_team team;
        for (int bad = 0; bad < 200; bad += 7) {
            std::atomic<int> inside{0};
            std::atomic<std::uint64_t> last_phase{0};
            try {
                team.phases(5, 0, 200, [&](std::uint64_t phase, int first, int last) {
                    ++inside;
                    last_phase = phase;
                    for (int i = first; i < last; ++i) {
                        if (i == bad && phase == 2) {
                            --inside;
                            throw std::out_of_range(std::to_string(i));
                        }
                    }
                    --inside;
                });
                ADD_FAILURE() << "nothing was thrown";
            } catch (const std::out_of_range& e) {
                EXPECT_EQ(e.what(), std::to_string(bad));
            }
            EXPECT_EQ(inside, 0) << "a body still runs";
            EXPECT_EQ(last_phase, 2U);
            counts seen(50);
            team.for_each(0U, 50U, [&](unsigned i) { ++seen[i]; });
            ASSERT_TRUE(all_are(seen, 1));
        }
    });
}

TEST_P(loop_team, other_exceptions_are_counted) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::loop_team team;
        std::atomic<std::uint64_t> thrown{0};
        EXPECT_THROW(team.for_each(0, 64,
                                   [&](int) {
                                       ++thrown;
                                       throw std::runtime_error("bad");
                                   }),
                     std::runtime_error);
        EXPECT_EQ(pilfer::suppressed_exceptions(), thrown - 1);
    });
}

TEST_P(loop_team, cancellation_ends_the_run) {
    PILFER_NOT_ON_ONE_LOCK("fork may be a plain call there, so that the canceller never starts");
    pilfer::pool pool(with_workers());
    pool.run([&] {
        for (int round = 0; round < 10; ++round) {
            pilfer::scope s;
            std::atomic<bool> left_by_stopped{false};
            std::atomic<bool> begun{false};
            s.fork([&] {
                pilfer::loop_team team;
                try {
                    for (;;) {
                        team.for_each(0, 100, [&](int) { begun = true; });
                    }
                } catch (const pilfer::stopped&) {
                    left_by_stopped = true;
                    throw;
                }
            });
            s.fork([&] {
                while (!begun) {
                    pilfer::yield();
                }
                s.cancel();
            });
            s.sync();
            EXPECT_TRUE(left_by_stopped || !begun);
        }
    });
}

TEST_P(loop_team, cancelled_while_bodies_wait) {
    PILFER_NOT_ON_ONE_LOCK("fork may be a plain call there, so that the canceller never starts");
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::scope s;
        pilfer::event never;
        std::atomic<int> waiting{0};
        s.fork([&] {
            pilfer::loop_team team;
            team.for_each(0, 100, [&](int) {
                ++waiting;
                never.wait();
            });
            ADD_FAILURE() << "the loop ended";
        });
        s.fork([&] {
            while (waiting == 0) {
                pilfer::yield();
            }
            s.cancel();
        });
        s.sync();
    });
}

TEST_P(loop_team, bodies_may_wait_for_each_other_and_for_other_tasks) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::loop_team team;
        for (int round = 0; round < 20; ++round) {
            pilfer::event ready;
            std::atomic<int> passed{0};
            pilfer::scope other;
            other.fork([&] {
                pilfer::sleep_for(std::chrono::microseconds(200));
                ready.set();
            });
            team.for_each(0, 40, [&](int) {
                ready.wait();
                ++passed;
            });
            other.sync();
            EXPECT_EQ(passed, 40);
        }
    });
}

TEST_P(loop_team, bodies_may_fork_and_run_loops_of_their_own) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::loop_team team;
        for (int round = 0; round < 5; ++round) {
            std::atomic<unsigned> sum{0};
            team.for_each(0, 10, [&](int) {
                pilfer::loop_team inner({.members = 3, .slices = 2});
                inner.for_each(0, 10, [&](int) { ++sum; });
                pilfer::for_each(0, 10, [&](int) { ++sum; });
                sum += static_cast<unsigned>(fib_join(10));
            });
            EXPECT_EQ(sum, 10 * (20 + fib(10)));
        }
    });
}

TEST_P(loop_team, only_its_owner_runs_loops) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::loop_team team;
        EXPECT_THROW(team.for_each(0, 10, [&](int) { team.for_each(0, 10, [](int) {}); }),
                     pilfer::usage_error);
        pilfer::scope s;
        s.fork([&] { team.for_each(0, 10, [](int) {}); });
        EXPECT_THROW(s.sync(), pilfer::usage_error);
        std::atomic<int> calls{0};
        team.for_each(0, 10, [&](int) { ++calls; });
        EXPECT_EQ(calls, 10);
    });
}

TEST_P(loop_team, other_tasks_of_the_pool_run_meanwhile) {
    pilfer::pool pool(with_workers());
    std::atomic<bool> ran{false};
    std::atomic<bool> begun{false};
    std::thread outside([&] {
        while (!begun) {
            std::this_thread::yield();
        }
        pool.run([&] { ran = true; });
    });
    pool.run([&] {
        pilfer::loop_team team;
        while (!ran) {
            team.for_each(0, 100, [&](int) { begun = true; });
        }
    });
    outside.join();
}

TEST_P(loop_team, many_teams_at_once) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        std::atomic<unsigned> sum{0};
        pilfer::scope s;
        for (int t = 0; t < 8; ++t) {
            s.fork([&] {
                pilfer::loop_team team;
                for (int round = 0; round < 50; ++round) {
                    team.for_each(0, 20, [&](int) { sum.fetch_add(1, std::memory_order_relaxed); });
                }
            });
        }
        s.sync();
        EXPECT_EQ(sum, 8U * 50 * 20);
    });
}

TEST_P(loop_team, with_few_stacks) {
    pilfer::options o = with_workers();
    o.max_contexts = GetParam() + 2;
    pilfer::pool pool(o);
    pool.run([&] {
        pilfer::loop_team team;
        std::atomic<unsigned> sum{0};
        for (int round = 0; round < 200; ++round) {
            team.for_each(0U, 20U, [&](unsigned) { sum += static_cast<unsigned>(fib_spawn(5)); });
        }
        EXPECT_EQ(sum, 200 * 20 * fib(5));
    });
}

TEST_P(loop_team, outside_a_pool) {
    pilfer::loop_team team({.members = GetParam()});
    std::atomic<int> calls{0};
    for (int round = 0; round < 100; ++round) {
        team.for_each(0, 30, [&](int) { ++calls; });
    }
    EXPECT_EQ(calls, 3000);
}

TEST_P(loop_team, helpers_end_and_begin_again) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::loop_team team;
        std::atomic<int> calls{0};
        for (int round = 0; round < 20; ++round) {
            team.for_each(0, 30, [&](int) { ++calls; });
            pilfer::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_EQ(calls, 600);
    });
}

PILFER_OVER_WORKERS(loop_team);

/// The thread of each element in one loop of some length.
std::vector<std::thread::id> threads_of(pilfer::loop_team& team, std::size_t n) {
    std::vector<std::thread::id> who(n);
    team.for_each(std::size_t{0}, n, [&](std::size_t i) {
        who[i] = std::this_thread::get_id();
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
        while (std::chrono::steady_clock::now() < end) {
        }
    });
    return who;
}

TEST_F(loop_team_of_two, places_for_attached_threads_are_no_members) {
    auto with = workers(2);
    with.attachable = 3;
    pilfer::pool pool(with);
    pool.run([] { EXPECT_EQ(pilfer::loop_team().members(), 2); });
    pool.resize(1);
    pool.run([] { EXPECT_EQ(pilfer::loop_team().members(), 1); });
}

TEST_F(loop_team_of_two, a_slice_stays_with_its_thread) {
    PILFER_NOT_ON_ONE_LOCK("no worker searches there while another one is inside a task");
    pilfer::pool pool(workers(2));
    pool.run([&] {
        pilfer::loop_team team;
        // Other programs may take a CPU. Only pairs of loops count that both threads have shared evenly.
        const auto even = [](const std::vector<std::thread::id>& who) {
            return std::count(who.begin(), who.end(), who[0]) == 8;
        };
        int pairs = 0;
        bool stable = false;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!stable && pairs < 50 && std::chrono::steady_clock::now() < end) {
            const auto before = threads_of(team, 16);
            const auto after = threads_of(team, 16);
            pairs += even(before) && even(after) ? 1 : 0;
            stable = even(before) && before == after;
        }
        if (!stable && pairs < 50) {
            GTEST_SKIP() << "only " << pairs << " pairs of loops were shared evenly";
        }
        EXPECT_TRUE(stable) << pairs << " pairs of loops, and the slices moved in each";
    });
}

TEST_F(loop_team_of_two, the_slices_of_a_member_that_is_held_up_run_elsewhere) {
    PILFER_NOT_ON_ONE_LOCK("no worker searches there while another one is inside a task");
    pilfer::pool pool(workers(2));
    pool.run([&] {
        pilfer::loop_team team;
        // The first slice of one member waits until all others have ended, its own later ones, too.
        for (int round = 0; round < 100; ++round) {
            std::atomic<int> ended{0};
            team.for_each(0, 8, [&](int i) {
                while (i == 4 && ended < 7) {
                    std::this_thread::yield();
                }
                ++ended;
            });
            EXPECT_EQ(ended, 8);
        }
    });
}

TEST_F(loop_team_of_two, slices_move_after_two_phases) {
    PILFER_NOT_ON_ONE_LOCK("no worker searches there while another one is inside a task");
    pilfer::pool pool(workers(2));
    pool.run([&] {
        std::atomic<bool> held{false};
        std::atomic<bool> release{false};
        pilfer::scope s;
        s.fork([&] { // takes the other worker away, as a program on its CPU would
            held = true;
            while (!release) {
                std::this_thread::yield();
            }
        });
        while (!held) {
            std::this_thread::yield();
        }
        pilfer::loop_team team;
        for (int round = 0; round < 3; ++round) {
            const auto who = threads_of(team, 8);
            EXPECT_EQ(std::count(who.begin(), who.end(), std::this_thread::get_id()), 8);
        }
        release = true;
        s.sync();
        // The worker that is back gets its share again.
        bool both = false;
        for (int round = 0; round < 2000 && !both; ++round) {
            const auto who = threads_of(team, 8);
            both = std::count(who.begin(), who.end(), who[0]) == 4;
        }
        EXPECT_TRUE(both);
    });
}

TEST_F(loop_team_of_two, bad_options_are_refused) {
    EXPECT_THROW(pilfer::loop_team({.members = 4097}), std::invalid_argument);
    EXPECT_THROW(pilfer::loop_team({.slices = 0}), std::invalid_argument);
    EXPECT_THROW(pilfer::loop_team({.slices = 17}), std::invalid_argument);
}

TEST_F(loop_team_of_two, a_loop_allocates_nothing) {
    pilfer::pool pool(workers(2));
    pool.run([&] {
        pilfer::loop_team team;
        team.for_each(0, 100, [](int) {});
        const auto before = support::allocations();
        for (int round = 0; round < 1000; ++round) {
            team.for_each(0, 100, [](int) {});
        }
        EXPECT_LT(support::allocations() - before, 100U);
    });
}

} // namespace
