// Exceptions of joins: in every position, stolen or not, inside catch blocks.
#include <array>
#include <atomic>
#include <exception>
#include <stdexcept>
#include <thread>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

struct position_error {
    int position;
};

class join_exceptions : public over_workers {};

/// Joins four functions. Those in `mask` throw.
void join_with(unsigned mask, std::atomic<int>& begun, std::atomic<int>& ended) {
    const auto part = [&](int i) {
        return [&, i] {
            begun.fetch_add(1);
            struct at_end {
                std::atomic<int>& count;
                ~at_end() { count.fetch_add(1); }
            } count{ended};
            if ((mask >> i & 1U) != 0) {
                throw position_error{i};
            }
            return i;
        };
    };
    auto results = pilfer::join(part(0), part(1), part(2), part(3));
    ASSERT_EQ(results, std::make_tuple(0, 1, 2, 3));
}

TEST_P(join_exceptions, every_position) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 20; ++round) {
        for (unsigned mask = 0; mask < 16; ++mask) {
            std::atomic<int> begun{0};
            std::atomic<int> ended{0};
            int caught = -1;
            try {
                pool.run([&] { join_with(mask, begun, ended); });
            } catch (const position_error& e) {
                caught = e.position;
            }
            if (mask == 0) {
                EXPECT_EQ(caught, -1);
                EXPECT_EQ(ended, 4);
            } else {
                ASSERT_GE(caught, 0) << "mask " << mask;
                EXPECT_NE(mask >> caught & 1U, 0U) << "rethrew what nobody threw";
            }
            EXPECT_EQ(begun, ended) << "the join returned before its functions did";
        }
    }
}

TEST_P(join_exceptions, a_stolen_function_throws) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    pilfer::pool pool(with_workers());
    std::atomic<bool> stolen{false};
    EXPECT_THROW(pool.run([&] {
        (void)pilfer::join(
            [&] {
                while (!stolen) {
                    std::this_thread::yield();
                }
            },
            [&] {
                stolen = true;
                throw std::out_of_range("stolen");
            });
    }),
                 std::out_of_range);
}

TEST_P(join_exceptions, both_throw_and_the_other_is_counted) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    pilfer::pool pool(with_workers());
    std::atomic<bool> stolen{false};
    std::atomic<bool> first_runs{false}; // a function that has not begun is dropped
    pool.run([&] {
        try {
            (void)pilfer::join(
                [&] {
                    first_runs = true;
                    while (!stolen) {
                        std::this_thread::yield();
                    }
                    throw position_error{0};
                },
                [&] {
                    stolen = true;
                    while (!first_runs) {
                        std::this_thread::yield();
                    }
                    throw position_error{1};
                });
            ADD_FAILURE() << "nothing was thrown";
        } catch (const position_error& e) {
            EXPECT_EQ(e.position, 0);
            EXPECT_EQ(pilfer::suppressed_exceptions(), 1U);
        }
    });
    EXPECT_EQ(pool.counters().exceptions_suppressed, 1U);
}

TEST_P(join_exceptions, all_but_the_first_of_three_are_suppressed) {
    if (GetParam() < 3) {
        GTEST_SKIP() << "three functions run at once on three workers";
    }
    pilfer::pool pool(with_workers());
    for (const int fail : {3, 2, 1}) { // the last `fail` functions
        std::atomic<int> inside{0};
        const auto part = [&](int i) {
            return [&, i] {
                inside.fetch_add(1);
                while (inside < 3) { // all start before one throws
                    std::this_thread::yield();
                }
                if (i >= 3 - fail) {
                    throw position_error{i};
                }
            };
        };
        const auto before = pool.counters().exceptions_suppressed;
        const auto expected = static_cast<std::uint64_t>(fail - 1);
        pool.run([&] {
            try {
                (void)pilfer::join(part(0), part(1), part(2));
                ADD_FAILURE() << "nothing was thrown";
            } catch (const position_error& e) {
                EXPECT_EQ(pilfer::suppressed_exceptions(), expected);
                EXPECT_EQ(e.position, 3 - fail);
            }
        });
        EXPECT_EQ(pool.counters().exceptions_suppressed - before, expected);
    }
}

TEST_P(join_exceptions, functions_not_started_are_dropped_and_counted) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 1; round <= 50; ++round) {
        const auto before = pool.counters().dropped;
        std::atomic<std::uint64_t> ran{0};
        const auto count = [&] { ++ran; };
        EXPECT_THROW(
            pool.run([&] { (void)pilfer::join([] { throw position_error{0}; }, count, count, count); }),
            position_error);
        ASSERT_EQ(pool.counters().dropped - before + ran, 3U);
        if (GetParam() == 1) {
            ASSERT_EQ(ran, 0U) << "nobody takes them meanwhile";
        }
    }
}

TEST_P(join_exceptions, a_moved_frame_keeps_the_exception_it_handles) {
    pilfer::options o = with_workers();
    o.resume = pilfer::resume::elsewhere;
    pilfer::pool pool(o);
    pool.run([] {
        for (int i = 0; i < 200; ++i) {
            try {
                throw position_error{i};
            } catch (const position_error& e) {
                const auto before = std::current_exception();
                auto [a, b] = pilfer::join([] { return fib_join(5); },
                                           [i] {
                                               try {
                                                   throw i;
                                               } catch (int n) {
                                                   return n;
                                               }
                                           });
                ASSERT_EQ(a, fib(5));
                ASSERT_EQ(b, i);
                ASSERT_EQ(before, std::current_exception());
                ASSERT_EQ(e.position, i);
                try {
                    throw;
                } catch (const position_error& again) {
                    ASSERT_EQ(&again, &e);
                }
            }
            ASSERT_EQ(std::current_exception(), nullptr);
        }
    });
}

TEST_P(join_exceptions, a_moved_frame_keeps_uncaught_exceptions) {
    pilfer::options o = with_workers();
    o.resume = pilfer::resume::elsewhere;
    pilfer::pool pool(o);
    struct joins_while_unwinding {
        std::atomic<int>& wrong;
        ~joins_while_unwinding() {
            wrong += std::uncaught_exceptions() != 1;
            (void)pilfer::join([this] { wrong += fib_join(4) != fib(4); },
                               [this] { wrong += fib_join(3) != fib(3); });
            wrong += std::uncaught_exceptions() != 1;
        }
    };
    std::atomic<int> wrong{0};
    pool.run([&] {
        for (int i = 0; i < 200; ++i) {
            try {
                const joins_while_unwinding guard{wrong};
                throw i;
            } catch (int n) {
                wrong += n != i;
            }
            wrong += std::uncaught_exceptions() != 0;
        }
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(join_exceptions, deep_throws_reach_the_root) {
    pilfer::pool pool(with_workers());
    struct tree {
        static int grow(int depth, int bad) {
            if (depth == 0) {
                if (bad == 0) {
                    throw position_error{7};
                }
                return 1;
            }
            auto [a, b] = pilfer::join([=] { return grow(depth - 1, bad); },
                                       [=] { return grow(depth - 1, bad - (1 << (depth - 1))); });
            return a + b;
        }
    };
    for (int bad = 0; bad < 64; ++bad) {
        EXPECT_THROW((void)pool.run([bad] { return tree::grow(6, bad); }), position_error);
    }
    EXPECT_EQ(pool.run([] { return tree::grow(10, -1); }), 1024);
}

TEST_P(join_exceptions, an_exception_leaves_the_pool_usable) {
    pilfer::pool pool(with_workers());
    for (int i = 0; i < 100; ++i) {
        EXPECT_THROW(pool.run([] { throw std::runtime_error("body"); }), std::runtime_error);
    }
    EXPECT_EQ(pool.run([] { return fib_join(10); }), fib(10));
}

PILFER_OVER_WORKERS(join_exceptions);

} // namespace
