// pipeline: exceptions and cancellations at any point; each value is destroyed exactly once.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/harness.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

class pipeline_failure : public over_workers {};

/// Counts the objects that live; one that is destroyed twice makes the count negative.
struct counted {
    explicit counted(int v, std::atomic<int>& l) : value(v), live(&l) { ++*live; }
    counted(counted&& other) noexcept : value(other.value), live(other.live), block(std::move(other.block)) {
        ++*live;
    }
    counted& operator=(counted&&) = delete;
    ~counted() { --*live; }

    int value;
    std::atomic<int>* live;
    std::unique_ptr<int> block = std::make_unique<int>(value); // AddressSanitizer sees a second destruction
};

/// A pipeline of all three kinds of stages. `act(stage, item)` is called in each call.
template <class Act>
void run_all_kinds(pilfer::pool& pool, std::size_t tokens, int n, std::atomic<int>& live, Act act) {
    int given = 0;
    pilfer::pipeline(pool, tokens, pilfer::serial_in_order([&]() -> std::optional<counted> {
                         if (given == n) {
                             return std::nullopt;
                         }
                         act(0, given);
                         return std::optional<counted>(std::in_place, given++, live);
                     }),
                     pilfer::parallel_stage([&](counted c) {
                         act(1, c.value);
                         return c;
                     }),
                     pilfer::serial_out_of_order([&](counted&& c) {
                         act(2, c.value);
                         return counted(std::move(c));
                     }),
                     pilfer::parallel_stage([&](const counted& c) {
                         act(3, c.value);
                         return counted(c.value, live);
                     }),
                     pilfer::serial_in_order([&](counted c) {
                         act(4, c.value);
                         return c;
                     }),
                     pilfer::parallel_stage([&](counted c) { act(5, c.value); }));
}

TEST_P(pipeline_failure, an_exception_of_any_call_of_any_stage_is_rethrown) {
    pilfer::pool pool(with_workers());
    const int step = sanitized ? 7 : 1;
    for (int bad_stage = 0; bad_stage < 6; ++bad_stage) {
        for (int bad_item = 0; bad_item < 30; bad_item += step) {
            std::atomic<int> live{0};
            std::atomic<int> running{0};
            std::atomic<int> given{0};
            try {
                run_all_kinds(pool, 4, 40, live, [&](int stage, int item) {
                    ++running;
                    if (stage == 0) {
                        ++given;
                    }
                    if (item % 5 == 0) {
                        pilfer::yield();
                    }
                    --running;
                    if (stage == bad_stage && item == bad_item) {
                        throw std::out_of_range(std::to_string(item));
                    }
                });
                ADD_FAILURE() << "nothing was thrown";
            } catch (const std::out_of_range& e) {
                EXPECT_EQ(e.what(), std::to_string(bad_item));
            }
            ASSERT_EQ(live, 0) << bad_stage << ' ' << bad_item;
            EXPECT_EQ(running, 0);
            if (bad_stage < 5) { // in or before the ordered stage, which no item passes any more
                EXPECT_LE(given, bad_item + 1 + 4) << "the source goes on";
            }
        }
    }
}

TEST_P(pipeline_failure, the_exception_at_the_end_of_the_input) {
    pilfer::pool pool(with_workers());
    std::atomic<int> live{0};
    int given = 0;
    EXPECT_THROW(pilfer::pipeline(pool, 4, pilfer::serial_in_order([&]() -> std::optional<counted> {
                                      if (given == 10) {
                                          throw std::runtime_error("the file is cut");
                                      }
                                      return std::optional<counted>(std::in_place, given++, live);
                                  }),
                                  pilfer::parallel_stage([](const counted&) { pilfer::yield(); })),
                 std::runtime_error);
    EXPECT_EQ(live, 0);
}

TEST_P(pipeline_failure, one_of_several_exceptions_is_rethrown_and_the_others_are_counted) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> live{0};
        std::atomic<std::uint64_t> thrown{0};
        pool.run([&] {
            try {
                run_all_kinds(pool, 8, 100, live, [&](int stage, int) {
                    if (stage == 3) {
                        pilfer::yield();
                        ++thrown;
                        throw std::runtime_error("bad");
                    }
                });
                ADD_FAILURE() << "nothing was thrown";
            } catch (const std::runtime_error&) {
                EXPECT_EQ(pilfer::suppressed_exceptions(), thrown - 1);
            }
        });
        EXPECT_EQ(live, 0);
    }
}

TEST_P(pipeline_failure, calls_that_have_begun_end_before_the_exception_arrives) {
    pilfer::pool pool(with_workers());
    std::atomic<int> inside{0};
    std::atomic<int> live{0};
    EXPECT_THROW(run_all_kinds(pool, 8, 100, live,
                               [&](int stage, int item) {
                                   if (stage == 3) {
                                       ++inside;
                                       pilfer::sleep_for(item == 2 ? 1ms : 5ms);
                                       --inside;
                                       if (item == 2) {
                                           throw std::runtime_error("bad");
                                       }
                                   }
                               }),
                 std::runtime_error);
    EXPECT_EQ(inside, 0);
    EXPECT_EQ(live, 0);
}

TEST_P(pipeline_failure, the_pool_runs_another_pipeline_afterwards) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        for (int round = 0; round < 10; ++round) {
            std::atomic<int> live{0};
            EXPECT_THROW(run_all_kinds(pool, 3, 50, live,
                                       [&](int stage, int item) {
                                           if (stage == 1 && item == 20) {
                                               throw std::runtime_error("bad");
                                           }
                                       }),
                         std::runtime_error);
            std::atomic<int> last{0};
            run_all_kinds(pool, 3, 50, live, [&](int stage, int) { last += stage == 5 ? 1 : 0; });
            EXPECT_EQ(last, 50);
            EXPECT_EQ(live, 0);
        }
    });
}

TEST_P(pipeline_failure, a_cancelled_scope_ends_a_pipeline_that_would_never_end) {
    pilfer::pool pool(with_workers());
    std::atomic<int> live{0};
    std::atomic<bool> ended_by_stopped{false};
    pool.run([&] {
        pilfer::scope s;
        std::atomic<int> through{0};
        s.fork([&] {
            try {
                run_all_kinds(pool, 4, -1, live, [&](int stage, int) {
                    if (stage == 5 && ++through == 100) {
                        s.cancel();
                    }
                });
            } catch (const pilfer::stopped&) {
                ended_by_stopped = true;
                throw;
            }
        });
        s.sync();
    });
    EXPECT_TRUE(ended_by_stopped);
    EXPECT_EQ(live, 0);
}

TEST_P(pipeline_failure, cancellation_at_any_time) {
    pilfer::pool pool(with_workers());
    std::mt19937 random(GetParam());
    const auto rounds = hundredth_of(10'000, 20);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        std::atomic<int> live{0};
        std::atomic<int> inside{0};
        const auto delay = std::chrono::microseconds(random() % 300);
        pool.run([&] {
            pilfer::scope s;
            s.fork([&] {
                run_all_kinds(pool, 1 + round % 9, -1, live, [&](int stage, int item) {
                    ++inside;
                    struct guard {
                        std::atomic<int>* i;
                        ~guard() { --*i; }
                    } leave{&inside};
                    if ((stage + item) % 7 == 0) {
                        pilfer::sleep_for(1us);
                    }
                });
            });
            s.fork([&] {
                pilfer::sleep_for(delay);
                s.cancel();
            });
            s.sync();
        });
        ASSERT_EQ(live, 0) << round;
        ASSERT_EQ(inside, 0) << round;
    }
}

TEST_P(pipeline_failure, a_stage_that_waits_for_ever_is_woken_by_a_cancellation) {
    pilfer::pool pool(with_workers());
    std::atomic<int> live{0};
    pilfer::event never;
    pool.run([&] {
        pilfer::scope s;
        pilfer::deadline limit(s, 5ms);
        s.fork([&] {
            run_all_kinds(pool, 6, 100, live, [&](int stage, int item) {
                if (stage == 2 && item == 3) {
                    never.wait();
                }
            });
            ADD_FAILURE() << "the pipeline ended";
        });
        s.sync();
    });
    EXPECT_EQ(live, 0);
}

TEST_P(pipeline_failure, an_exception_is_not_hidden_by_a_later_cancellation) {
    pilfer::pool pool(with_workers());
    std::atomic<int> live{0};
    pool.run([&] {
        pilfer::scope s;
        EXPECT_THROW(
            {
                s.fork([&] {
                    run_all_kinds(pool, 4, 100, live, [&](int stage, int item) {
                        if (stage == 4 && item == 7) {
                            s.cancel();
                            throw std::runtime_error("bad");
                        }
                    });
                });
                s.sync();
            },
            std::runtime_error);
    });
    EXPECT_EQ(live, 0);
}

PILFER_OVER_WORKERS(pipeline_failure);

} // namespace
