// pipeline: stages that wait, pipelines inside stages and tasks, and calls from threads outside.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/harness.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

class pipeline_waits : public over_workers {};
class pipeline_outside : public guarded {};

[[nodiscard]] auto numbers(int n) {
    return pilfer::serial_in_order([n, given = 0]() mutable -> std::optional<int> {
        return given == n ? std::nullopt : std::optional<int>(given++);
    });
}

/// A pipeline whose last stage is ordered. Returns the sum of what arrived there, or -1 if the order was
/// wrong.
template <class Pass>
[[nodiscard]] long sum_in_order(pilfer::pool& pool, std::size_t tokens, int n, Pass pass) {
    long sum = 0;
    int expected = 0;
    bool ok = true;
    pilfer::pipeline(pool, tokens, numbers(n), pilfer::parallel_stage([&pass](int i) {
                         pass(i);
                         return i;
                     }),
                     pilfer::serial_in_order([&](int i) {
                         ok = ok && i == expected++;
                         sum += i;
                     }));
    return ok ? sum : -1;
}
[[nodiscard]] constexpr long sum_of(int n) { return long{n} * (n - 1) / 2; }

TEST_P(pipeline_waits, sleeping_items_free_their_workers) {
    pilfer::pool pool(with_workers());
    std::atomic<int> asleep{0};
    std::atomic<int> most{0};
    EXPECT_EQ(sum_in_order(pool, 32, 64,
                           [&](int) {
                               const int now = ++asleep;
                               int before = most;
                               while (before < now && !most.compare_exchange_weak(before, now)) {
                               }
                               pilfer::sleep_for(20ms);
                               --asleep;
                           }),
              sum_of(64));
    EXPECT_GT(most, 1) << "one item held up the others";
}

TEST_P(pipeline_waits, items_wait_for_a_mutex_a_future_and_each_other) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    long locked = 0; // plain
    EXPECT_EQ(sum_in_order(pool, 16, 300,
                           [&](int i) {
                               m.lock();
                               ++locked;
                               m.unlock();
                               if (i % 3 == 0) {
                                   EXPECT_EQ(pool.async([i] { return i; }).get(), i);
                               }
                               if (i % 5 == 0) {
                                   pilfer::yield();
                               }
                           }),
              sum_of(300));
    EXPECT_EQ(locked, 300);
}

TEST_P(pipeline_waits, a_serial_stage_that_waits_holds_up_its_own_items_only) {
    pilfer::pool pool(with_workers());
    int in_order = 0; // plain
    int as_they_come = 0;
    bool ok = true;
    pilfer::pipeline(pool, 8, pilfer::serial_in_order([given = 0]() mutable -> std::optional<int> {
                         pilfer::yield();
                         return given == 200 ? std::nullopt : std::optional<int>(given++);
                     }),
                     pilfer::serial_out_of_order([&](int i) {
                         if (i % 10 == 0) {
                             pilfer::sleep_for(100us);
                         }
                         ++as_they_come;
                         return i;
                     }),
                     pilfer::parallel_stage([](int i) {
                         if (i % 7 == 0) {
                             pilfer::sleep_for(50us);
                         }
                         return i;
                     }),
                     pilfer::serial_in_order([&](int i) {
                         pilfer::yield();
                         ok = ok && i == in_order;
                         ++in_order;
                     }));
    EXPECT_TRUE(ok);
    EXPECT_EQ(in_order, 200);
    EXPECT_EQ(as_they_come, 200);
}

// Short items are carried by one task, and the scout stands by until one of them waits.
TEST_P(pipeline_waits, an_item_after_many_short_ones_waits_for_a_later_item) {
    constexpr int n = 200'000;
    pilfer::pool pool(with_workers());
    pilfer::event later;
    EXPECT_EQ(sum_in_order(pool, 4, n,
                           [&](int i) {
                               if (i == n - 10) {
                                   later.wait();
                               } else if (i == n - 8) {
                                   later.set();
                               }
                           }),
              sum_of(n));
}

TEST_P(pipeline_waits, many_short_items_end_by_an_error_or_a_cancellation) {
    constexpr int n = 100'000;
    pilfer::pool pool(with_workers());
    const auto throws = [](int i) {
        if (i == n - 1) {
            throw std::runtime_error("the last item");
        }
    };
    EXPECT_THROW((void)sum_in_order(pool, 4, n, throws), std::runtime_error);
    pool.run([&] {
        pilfer::scope outer;
        outer.fork([&] {
            (void)sum_in_order(pool, 4, n, [&](int i) {
                if (i == n / 2) {
                    outer.cancel();
                }
            });
            ADD_FAILURE() << "the pipeline was not stopped";
        });
        outer.sync();
    });
}

TEST_P(pipeline_waits, the_caller_gives_its_worker_away_while_items_wait) {
    pilfer::pool pool(with_workers());
    pilfer::event go;
    std::atomic<bool> other_ran{false};
    pool.run([&] {
        pilfer::scope s;
        s.fork([&] {
            pilfer::yield();
            other_ran = true;
            go.set();
        });
        // Without the other task, which needs a worker, no item passes.
        EXPECT_EQ(sum_in_order(pool, 4, 8, [&](int) { go.wait(); }), sum_of(8));
        s.sync();
    });
    EXPECT_TRUE(other_ran);
}

TEST_P(pipeline_waits, a_pipeline_in_each_stage_of_a_pipeline) {
    pilfer::pool pool(with_workers());
    long all = 0;
    pilfer::pipeline(
        pool, 4, numbers(20),
        pilfer::parallel_stage([&](int i) { return sum_in_order(pool, 3, i, [](int) { pilfer::yield(); }); }),
        pilfer::serial_in_order([&](long inner) { all += inner + sum_in_order(pool, 2, 10, [](int) {}); }));
    long right = 0;
    for (int i = 0; i < 20; ++i) {
        right += sum_of(i) + sum_of(10);
    }
    EXPECT_EQ(all, right);
}

TEST_P(pipeline_waits, pipelines_in_tasks_in_branches_and_in_loops) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::scope s;
        std::atomic<int> right{0};
        const auto one = [&](int n) {
            if (sum_in_order(pool, 4, n, [](int) {}) == sum_of(n)) {
                ++right;
            }
        };
        for (int i = 0; i < 10; ++i) {
            s.fork([&one, i] { one(100 + i); });
        }
        s.spawn([&one] { one(50); });
        pilfer::join([&one] { one(30); }, [&one] { one(40); });
        pilfer::for_each(0, 10, one);
        s.sync();
        EXPECT_EQ(right, 23);
    });
}

TEST_P(pipeline_waits, several_threads_outside_use_one_pool) {
    pilfer::pool pool(with_workers());
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int round = 0; round < 5; ++round) {
                if (sum_in_order(pool, static_cast<std::size_t>(1 + t), 100, [](int) {}) == sum_of(100)) {
                    ++right;
                }
            }
        });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    EXPECT_EQ(right, 20);
}

TEST_P(pipeline_waits, a_task_of_another_pool_waits_for_a_pipeline) {
    pilfer::pool pool(with_workers());
    pilfer::pool other(workers(1));
    other.run([&] {
        const pilfer::pool* seen = nullptr;
        pilfer::pipeline(pool, 2, numbers(10), pilfer::serial_in_order([&](int) { seen = &pool; }));
        EXPECT_EQ(seen, &pool);
        EXPECT_EQ(sum_in_order(pool, 4, 100, [](int) {}), sum_of(100));
    });
}

TEST_F(pipeline_outside, a_thread_outside_uses_the_common_pool) {
    int sum = 0;
    std::atomic<int> on_workers{0};
    pilfer::pipeline(4, numbers(100), pilfer::parallel_stage([&](int i) {
                         if (pilfer::detail::this_worker() != nullptr) {
                             ++on_workers;
                         }
                         return i;
                     }),
                     pilfer::serial_in_order([&](int i) { sum += i; }));
    EXPECT_EQ(sum, 4950);
    EXPECT_EQ(on_workers, 100);
}

TEST_F(pipeline_outside, a_task_uses_its_own_pool) {
    pilfer::pool pool(workers(2));
    pool.run([&] {
        std::atomic<int> elsewhere{0};
        pilfer::pipeline(4, numbers(100), pilfer::parallel_stage([&](int) {
                             if (pilfer::detail::this_worker()->pool != &pool.core()) {
                                 ++elsewhere;
                             }
                         }));
        EXPECT_EQ(elsewhere, 0);
    });
}

PILFER_OVER_WORKERS(pipeline_waits);

} // namespace
