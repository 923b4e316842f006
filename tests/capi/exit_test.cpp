// Early exits, time limits of scopes, and locks that are cut short through <pilfer/pilfer.h>.
#include <pilfer/pilfer.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

constexpr std::uint64_t hour = 3'600'000'000'000;

class c_first_result_scope_over_workers : public over_workers {};
PILFER_OVER_WORKERS(c_first_result_scope_over_workers);
class c_first_result_scope : public guarded {};

template <class F>
int spawn(pilfer_first_result_scope& s, F& f) {
    return pilfer_first_result_scope_spawn(&s, call_of<F>, &f);
}
template <class F>
int fork(pilfer_first_result_scope& s, F& f) {
    return pilfer_first_result_scope_fork(&s, call_of<F>, &f);
}
template <class F>
int fork(pilfer_scope& s, F& f) {
    return pilfer_scope_fork(&s, call_of<F>, &f);
}
template <class F>
int exit_by(pilfer_first_result_scope& s, F& make) {
    return pilfer_first_result_scope_exit(
        &s, [](void* f, void** value) { return (*static_cast<F*>(f))(value); }, &make);
}

/// An event that is never set.
struct never_set {
    pilfer_event event;
    never_set() { EXPECT_EQ(pilfer_event_init(&event, 0), 0); }
    never_set(const never_set&) = delete;
    never_set& operator=(const never_set&) = delete;
    ~never_set() { pilfer_event_destroy(&event); }
    int wait() { return pilfer_event_wait(&event); }
};

// ---- exit scopes ------------------------------------------------------------------------------

TEST_P(c_first_result_scope_over_workers, one_winner) {
    const c_pool pool(GetParam());
    pool.run([] {
        pilfer_first_result_scope s;
        ASSERT_EQ(pilfer_first_result_scope_begin(&s), 0);
        for (std::uint64_t round = 0; round < hundredth_of(20'000); ++round) {
            std::atomic<int> winners{0};
            std::atomic<int*> winner{nullptr};
            std::atomic<int> begun{0};
            std::array<int, 4> values{};
            struct racer {
                pilfer_first_result_scope* scope;
                std::atomic<int>* winners;
                std::atomic<int*>* winner;
                std::atomic<int>* begun;
                int* value;
                void operator()() const {
                    begun->fetch_add(1);
                    while (*begun < 4) { // else the first one would keep the others from starting
                        pilfer_yield();
                    }
                    const int first = pilfer_first_result_scope_exit_value(scope, value);
                    EXPECT_TRUE(first == 0 || first == 1) << first;
                    if (first == 1) {
                        winners->fetch_add(1);
                        winner->store(value);
                    }
                }
            };
            std::array<racer, 4> racers{};
            for (std::size_t i = 0; i < 4; ++i) {
                racers[i] = {&s, &winners, &winner, &begun, &values[i]};
                const int code = i % 2 == 0 ? fork(s, racers[i]) : spawn(s, racers[i]);
                EXPECT_EQ(code, 0);
            }
            void* value = nullptr;
            ASSERT_EQ(pilfer_first_result_scope_sync(&s, &value), 1);
            ASSERT_EQ(winners, 1);
            ASSERT_EQ(value, winner.load());
        }
        void* value = &s;
        EXPECT_EQ(pilfer_first_result_scope_sync(&s, &value), 0);
        EXPECT_EQ(value, nullptr);
        EXPECT_EQ(pilfer_first_result_scope_end(&s), 0);
    });
}

TEST_P(c_first_result_scope_over_workers, the_maker_of_the_value_is_not_cancelled_and_the_others_are) {
    const c_pool pool(GetParam());
    pool.run([] {
        never_set never;
        for (std::uint64_t round = 0; round < hundredth_of(2000); ++round) {
            std::atomic<int> begun{0};
            std::atomic<int> left{0};
            int ten = 0;
            pilfer_first_result_scope s;
            ASSERT_EQ(pilfer_first_result_scope_begin(&s), 0);
            auto waits = [&] {
                ++begun;
                EXPECT_EQ(never.wait(), PILFER_ECANCELED);
                EXPECT_EQ(pilfer_cancelled(), 1);
                ++left;
            };
            auto exits = [&] { // two scopes below
                pilfer_scope own;
                EXPECT_EQ(pilfer_scope_begin(&own), 0);
                auto below = [&] {
                    auto make = [&](void** value) {
                        EXPECT_EQ(*value, nullptr);
                        std::atomic<int> ran{0};
                        auto one = [&] {
                            pilfer_yield();
                            ran += 1 - pilfer_cancelled();
                        };
                        pilfer_scope its;
                        EXPECT_EQ(pilfer_scope_begin(&its), 0);
                        for (int i = 0; i < 10; ++i) {
                            EXPECT_EQ(fork(its, one), 0);
                        }
                        EXPECT_EQ(pilfer_scope_end(&its), 0);
                        EXPECT_EQ(pilfer_first_result_scope_exit_value(&s, nullptr), 0) << "a second exit";
                        ten = ran;
                        *value = &ten;
                        return 0;
                    };
                    EXPECT_EQ(exit_by(s, make), 1);
                    EXPECT_EQ(pilfer_cancelled(), 1) << "behind it the caller is stopped, too";
                };
                EXPECT_EQ(fork(own, below), 0);
                EXPECT_EQ(pilfer_scope_end(&own), PILFER_ECANCELED);
            };
            EXPECT_EQ(spawn(s, waits), 0);
            EXPECT_EQ(fork(s, waits), 0);
            EXPECT_EQ(fork(s, exits), 0);
            void* value = nullptr;
            EXPECT_EQ(pilfer_first_result_scope_sync(&s, &value), 1);
            ASSERT_EQ(value, &ten);
            EXPECT_EQ(ten, 10);
            EXPECT_EQ(begun, left);
            EXPECT_EQ(pilfer_first_result_scope_end(&s), 0);
        }
    });
}

TEST_P(c_first_result_scope_over_workers, an_exit_without_a_value) {
    const c_pool pool(GetParam());
    pool.run([] {
        pilfer_first_result_scope s;
        ASSERT_EQ(pilfer_first_result_scope_begin(&s), 0);
        for (const int code : {int{PILFER_ENOMEM}, -1000, -12'345}) {
            auto fails = [code](void** value) {
                *value = value; // discarded
                return code;
            };
            EXPECT_EQ(exit_by(s, fails), code);
            EXPECT_EQ(pilfer_first_result_scope_exit_value(&s, &s), 0) << "it is claimed";
            void* value = &s;
            EXPECT_EQ(pilfer_first_result_scope_sync(&s, &value), 0);
            EXPECT_EQ(value, nullptr);
        }
        auto positive = [](void**) { return 7; };
        EXPECT_EQ(exit_by(s, positive), PILFER_EINVAL);
        EXPECT_EQ(pilfer_first_result_scope_sync(&s, nullptr), 0);
        EXPECT_EQ(pilfer_first_result_scope_cancel(&s), 0);
        EXPECT_EQ(pilfer_first_result_scope_exit_value(&s, &s), 0);
        EXPECT_EQ(pilfer_first_result_scope_sync(&s, nullptr), 0);
        // NULL is a value.
        EXPECT_EQ(pilfer_first_result_scope_exit_value(&s, nullptr), 1);
        void* value = &s;
        EXPECT_EQ(pilfer_first_result_scope_sync(&s, &value), 1);
        EXPECT_EQ(value, nullptr);
        EXPECT_EQ(pilfer_first_result_scope_exit_value(&s, &s), 1);
        EXPECT_EQ(pilfer_first_result_scope_end(&s), 0) << "the value is lost";
    });
}

TEST_P(c_first_result_scope_over_workers, an_outer_cancellation_ends_the_protection) {
    const c_pool pool(GetParam());
    pool.run([] {
        never_set never;
        for (const bool gives_up : {true, false}) {
            for (std::uint64_t round = 0; round < hundredth_of(1000); ++round) {
                std::atomic<bool> making{false};
                int made = 0;
                pilfer_scope outer;
                ASSERT_EQ(pilfer_scope_begin(&outer), 0);
                auto owner = [&] {
                    pilfer_first_result_scope inner;
                    EXPECT_EQ(pilfer_first_result_scope_begin(&inner), 0);
                    auto child = [&] {
                        auto make = [&](void** value) {
                            making = true;
                            EXPECT_EQ(never.wait(), PILFER_ECANCELED);
                            *value = &made;
                            return gives_up ? PILFER_ECANCELED : 0;
                        };
                        EXPECT_EQ(exit_by(inner, make), gives_up ? PILFER_ECANCELED : 1);
                    };
                    EXPECT_EQ(fork(inner, child), 0);
                    void* value = &inner;
                    EXPECT_EQ(pilfer_first_result_scope_sync(&inner, &value), PILFER_ECANCELED);
                    // The made value is not lost: it may have to be freed.
                    EXPECT_EQ(value, gives_up ? nullptr : &made);
                    EXPECT_EQ(pilfer_first_result_scope_end(&inner), PILFER_ECANCELED);
                };
                auto canceller = [&] {
                    while (!making) {
                        pilfer_yield();
                    }
                    EXPECT_EQ(pilfer_scope_cancelled(&outer), 0);
                    EXPECT_EQ(pilfer_scope_cancel(&outer), 0);
                    EXPECT_EQ(pilfer_scope_cancelled(&outer), 1);
                };
                EXPECT_EQ(fork(outer, canceller), 0);
                EXPECT_EQ(fork(outer, owner), 0);
                ASSERT_EQ(pilfer_scope_sync(&outer), 0);
                EXPECT_EQ(pilfer_scope_cancelled(&outer), 0);
                ASSERT_EQ(pilfer_scope_end(&outer), 0);
            }
        }
    });
}

TEST_F(c_first_result_scope, a_first_result_scope_of_a_thread) {
    with_a_common_pool([] {
        pilfer_first_result_scope s;
        ASSERT_EQ(pilfer_first_result_scope_begin(&s), 0);
        int value = 0;
        auto exits = [&] { EXPECT_EQ(pilfer_first_result_scope_exit_value(&s, &value), 1); };
        EXPECT_EQ(spawn(s, exits), 0);
        void* got = nullptr;
        EXPECT_EQ(pilfer_first_result_scope_sync(&s, &got), 1);
        EXPECT_EQ(got, &value);
        EXPECT_EQ(pilfer_first_result_scope_end(&s), 0);
    });
}

// ---- time limits, locks that are cut short ----------------------------------------------------

TEST_P(c_first_result_scope_over_workers, deadline) {
    const c_pool pool(GetParam());
    pool.run([] {
        never_set never;
        std::atomic<int> left{0};
        auto waits = [&] { left += never.wait() == PILFER_ECANCELED ? 1 : 0; };
        auto sleeps = [&] {
            pilfer_sleep_for(hour);
            left += pilfer_cancelled();
        };
        pilfer_scope s;
        ASSERT_EQ(pilfer_scope_begin(&s), 0);
        pilfer_deadline limit;
        ASSERT_EQ(pilfer_deadline_begin(&limit, &s, 1'000'000), 0);
        EXPECT_EQ(pilfer_scope_spawn(&s, call_of<decltype(waits)>, &waits), 0);
        EXPECT_EQ(fork(s, sleeps), 0);
        while (pilfer_scope_cancelled(&s) == 0) {
            pilfer_yield();
        }
        EXPECT_EQ(pilfer_scope_sync(&s), 0);
        EXPECT_LE(left, 2);
        EXPECT_EQ(pilfer_deadline_end(&limit), 0);
        // Those that end before their time do nothing.
        for (const std::uint64_t ns : {hour, std::uint64_t{UINT64_MAX}}) {
            std::atomic<int> ran{0};
            auto runs = [&] { ++ran; };
            ASSERT_EQ(pilfer_deadline_begin(&limit, &s, ns), 0);
            EXPECT_EQ(fork(s, runs), 0);
            pilfer_sleep_for(100'000);
            EXPECT_EQ(pilfer_deadline_end(&limit), 0);
            EXPECT_EQ(pilfer_scope_cancelled(&s), 0);
            EXPECT_EQ(pilfer_scope_sync(&s), 0);
            EXPECT_EQ(ran, 1);
        }
        EXPECT_EQ(pilfer_scope_end(&s), 0);
    });
}

TEST_F(c_first_result_scope, bad_input_a_deadline_without_a_pool) {
    const auto result = in_child([] {
        pilfer_pool* common = nullptr;
        pilfer_scope s;
        pilfer_deadline limit;
        const bool refused = pilfer_pool_common(&common) == 0 &&
                             pilfer_pool_shutdown(common, PILFER_DRAIN) == 0 && pilfer_scope_begin(&s) == 0 &&
                             pilfer_deadline_begin(&limit, &s, 1) == PILFER_ECLOSED &&
                             pilfer_scope_cancelled(&s) == 0 && pilfer_scope_end(&s) == 0;
        return refused ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

/// Sums whose parts own memory.
struct owning_sums {
    std::atomic<int> owned{0};
    std::atomic<bool> folds{false};
    std::atomic<bool> go_on{false};
    static owning_sums& of(void* self) { return *static_cast<owning_sums*>(self); }
    static void identity(void* value, void* self) {
        *static_cast<std::uint64_t**>(value) = new std::uint64_t{0};
        ++of(self).owned;
    }
    static void fold(void* value, std::size_t begin, std::size_t end, void* self) {
        for (; begin != end; ++begin) {
            **static_cast<std::uint64_t**>(value) += begin;
        }
        of(self).folds = true;
        while (!of(self).go_on) {
            std::this_thread::yield();
        }
    }
    static void combine(void* left, void* right, void* self) {
        **static_cast<std::uint64_t**>(left) += **static_cast<std::uint64_t**>(right);
        delete *static_cast<std::uint64_t**>(right);
        --of(self).owned;
    }
    static constexpr pilfer_reducer how{sizeof(std::uint64_t*), identity, fold, combine};
};

// Its joins throw if the task is stopped, and no part that has begun may be lost.
TEST_P(c_first_result_scope_over_workers, loops_of_a_stopped_task) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody is beside who could cancel";
    }
    const c_pool pool(GetParam());
    pool.run([] {
        for (std::uint64_t round = 0; round < hundredth_of(10'000); ++round) {
            pilfer_scope s;
            ASSERT_EQ(pilfer_scope_begin(&s), 0);
            owning_sums sums;
            std::atomic<int> ended{0};
            auto loops = [&] {
                std::uint64_t whole = 0;
                std::uint64_t* sum = &whole;
                EXPECT_EQ(pilfer_reduce(0, 100'000, &owning_sums::how, &sums, &sum), PILFER_ECANCELED);
                EXPECT_EQ(sum, &whole);
                EXPECT_EQ(sums.owned, 0);
                EXPECT_EQ(pilfer_for_each(
                              0, 100'000, [](std::size_t, std::size_t, void*) {}, nullptr),
                          PILFER_ECANCELED);
                ++ended;
            };
            ASSERT_EQ(fork(s, loops), 0);
            while (!sums.folds) {
                std::this_thread::yield();
            }
            ASSERT_EQ(pilfer_scope_cancel(&s), 0);
            sums.go_on = true;
            ASSERT_EQ(pilfer_scope_end(&s), 0);
            ASSERT_EQ(ended, 1);
        }
    });
}

TEST_P(c_first_result_scope_over_workers, lock_cancellable) {
    const c_pool pool(GetParam());
    pool.run([] {
        pilfer_mutex mutex;
        ASSERT_EQ(pilfer_mutex_init(&mutex), 0);
        for (std::uint64_t round = 0; round < hundredth_of(2000); ++round) {
            ASSERT_EQ(pilfer_mutex_lock(&mutex), 0);
            pilfer_scope s;
            ASSERT_EQ(pilfer_scope_begin(&s), 0);
            std::atomic<int> stopped{0};
            auto wants = [&] {
                const int code = pilfer_mutex_lock_cancellable(&mutex);
                EXPECT_EQ(code, PILFER_ECANCELED);
                ++stopped;
            };
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(pilfer_scope_spawn(&s, call_of<decltype(wants)>, &wants), 0);
            }
            EXPECT_EQ(pilfer_scope_cancel(&s), 0);
            EXPECT_EQ(pilfer_scope_sync(&s), 0);
            EXPECT_LE(stopped, 3);
            EXPECT_EQ(pilfer_mutex_unlock(&mutex), 0);
            EXPECT_EQ(pilfer_mutex_lock_cancellable(&mutex), 0);
            EXPECT_EQ(pilfer_mutex_try_lock(&mutex), PILFER_ETIMEDOUT);
            EXPECT_EQ(pilfer_mutex_unlock(&mutex), 0);
            EXPECT_EQ(pilfer_scope_end(&s), 0);
        }
        pilfer_mutex_destroy(&mutex);
    });
}

TEST_P(c_first_result_scope_over_workers, an_older_scope_drops_a_child_that_a_holder_forks) {
    const c_pool pool(GetParam());
    std::atomic<int> ran{0};
    pool.run([&] {
        pilfer_mutex mutex;
        ASSERT_EQ(pilfer_mutex_init(&mutex), 0);
        pilfer_scope s;
        ASSERT_EQ(pilfer_scope_begin(&s), 0);
        auto holds = [&] {
            pilfer_scope own;
            ASSERT_EQ(pilfer_scope_begin(&own), 0);
            auto child = [&] {
                EXPECT_EQ(pilfer_cancelled(), 0);
                pilfer_sleep_for(1000);
                ++ran;
            };
            ASSERT_EQ(pilfer_mutex_lock(&mutex), 0);
            pilfer_scope younger;
            ASSERT_EQ(pilfer_scope_begin(&younger), 0);
            EXPECT_EQ(pilfer_scope_cancel(&s), 0);
            EXPECT_EQ(pilfer_scope_spawn(&own, call_of<decltype(child)>, &child), 0);
            EXPECT_EQ(pilfer_scope_fork(&own, call_of<decltype(child)>, &child), 0);
            EXPECT_EQ(pilfer_scope_sync(&own), 0);
            EXPECT_EQ(ran, 0);
            EXPECT_EQ(pilfer_scope_spawn(&younger, call_of<decltype(child)>, &child), 0);
            EXPECT_EQ(pilfer_scope_fork(&younger, call_of<decltype(child)>, &child), 0);
            EXPECT_EQ(pilfer_scope_end(&younger), 0);
            EXPECT_EQ(ran, 2);
            EXPECT_EQ(pilfer_mutex_unlock(&mutex), 0);
            EXPECT_EQ(pilfer_cancelled(), 1);
            EXPECT_EQ(pilfer_scope_spawn(&own, call_of<decltype(child)>, &child), PILFER_ECANCELED);
            EXPECT_EQ(pilfer_scope_fork(&own, call_of<decltype(child)>, &child), PILFER_ECANCELED);
            (void)pilfer_scope_end(&own);
        };
        EXPECT_EQ(pilfer_scope_spawn(&s, call_of<decltype(holds)>, &holds), 0);
        EXPECT_EQ(pilfer_scope_end(&s), 0);
        pilfer_mutex_destroy(&mutex);
    });
    EXPECT_EQ(ran, 2);
}

TEST_P(c_first_result_scope_over_workers, an_older_scope_stops_a_running_child_under_the_lock) {
    const c_pool pool(GetParam());
    std::atomic<bool> began{false};
    std::atomic<bool> left{false};
    pool.run([&] {
        pilfer_mutex mutex;
        ASSERT_EQ(pilfer_mutex_init(&mutex), 0);
        pilfer_scope own;
        ASSERT_EQ(pilfer_scope_begin(&own), 0);
        auto child = [&] {
            began = true;
            pilfer_sleep_for(60'000'000'000);
            EXPECT_EQ(pilfer_cancelled(), 1);
            left = true;
        };
        ASSERT_EQ(pilfer_mutex_lock(&mutex), 0);
        EXPECT_EQ(pilfer_scope_spawn(&own, call_of<decltype(child)>, &child), 0);
        while (!began) {
            pilfer_yield();
        }
        EXPECT_EQ(pilfer_scope_cancel(&own), 0);
        EXPECT_EQ(pilfer_scope_sync(&own), 0);
        EXPECT_TRUE(left);
        EXPECT_EQ(pilfer_mutex_unlock(&mutex), 0);
        EXPECT_EQ(pilfer_scope_end(&own), 0);
        pilfer_mutex_destroy(&mutex);
    });
}

TEST_P(c_first_result_scope_over_workers, shared_mutex_and_barrier) {
    const c_pool pool(GetParam());
    pool.run([] {
        pilfer_shared_mutex mutex;
        pilfer_barrier barrier;
        ASSERT_EQ(pilfer_shared_mutex_init(&mutex), 0);
        ASSERT_EQ(pilfer_barrier_init(&barrier, 2, nullptr, nullptr), 0);
        ASSERT_EQ(pilfer_shared_mutex_lock(&mutex), 0);
        pilfer_scope s;
        ASSERT_EQ(pilfer_scope_begin(&s), 0);
        std::atomic<int> begun{0};
        std::atomic<int> stopped{0};
        auto writes = [&] {
            ++begun;
            EXPECT_EQ(pilfer_shared_mutex_lock_cancellable(&mutex), PILFER_ECANCELED);
            ++stopped;
        };
        auto reads = [&] {
            ++begun;
            EXPECT_EQ(pilfer_shared_mutex_lock_shared_cancellable(&mutex), PILFER_ECANCELED);
            ++stopped;
        };
        auto arrives = [&] {
            ++begun;
            EXPECT_EQ(pilfer_barrier_arrive_and_wait(&barrier), PILFER_ECANCELED);
            ++stopped;
        };
        EXPECT_EQ(pilfer_scope_spawn(&s, call_of<decltype(writes)>, &writes), 0);
        EXPECT_EQ(pilfer_scope_spawn(&s, call_of<decltype(reads)>, &reads), 0);
        EXPECT_EQ(pilfer_scope_spawn(&s, call_of<decltype(arrives)>, &arrives), 0);
        while (begun < 3) {
            pilfer_yield();
        }
        // This task has held the lock since before the scope began; the scope is cancelled nevertheless.
        EXPECT_EQ(pilfer_scope_cancel(&s), 0);
        EXPECT_EQ(pilfer_scope_end(&s), 0);
        EXPECT_EQ(stopped, 3);
        EXPECT_EQ(pilfer_shared_mutex_unlock(&mutex), 0);
        EXPECT_EQ(pilfer_shared_mutex_lock_cancellable(&mutex), 0);
        EXPECT_EQ(pilfer_shared_mutex_unlock(&mutex), 0);
        EXPECT_EQ(pilfer_shared_mutex_lock_shared_cancellable(&mutex), 0);
        EXPECT_EQ(pilfer_shared_mutex_unlock_shared(&mutex), 0);
        EXPECT_EQ(pilfer_barrier_arrive_and_wait(&barrier), 0); // beside the arrival of the stopped one
        EXPECT_EQ(pilfer_barrier_arrive_and_wait(&barrier), 0); // alone
        pilfer_shared_mutex_destroy(&mutex);
        pilfer_barrier_destroy(&barrier);
    });
}

// ---- wrong calls ------------------------------------------------------------------------------

TEST_F(c_first_result_scope, bad_input_from_a_task_of_no_child) {
    with_a_common_pool([] {
        c_pool pool(2U);
        pilfer_first_result_scope s;
        ASSERT_EQ(pilfer_first_result_scope_begin(&s), 0);
        int value = 0;
        EXPECT_EQ(pilfer_first_result_scope_exit_value(&s, &value), 1);
        auto nothing = [] {};
        const auto strange = [&] {
            void* got = &s;
            EXPECT_EQ(spawn(s, nothing), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_first_result_scope_sync(&s, &got), PILFER_EUSAGE);
            EXPECT_EQ(got, &s) << "as before";
            EXPECT_EQ(pilfer_first_result_scope_end(&s), PILFER_EUSAGE);
        };
        pool.run(strange);
        std::thread(strange).join();
        void* got = nullptr;
        EXPECT_EQ(pilfer_first_result_scope_sync(&s, &got), 1) << "the value has stayed";
        EXPECT_EQ(got, &value);
        EXPECT_EQ(spawn(s, nothing), 0);
        EXPECT_EQ(pilfer_first_result_scope_end(&s), 0);
    });
}

} // namespace
