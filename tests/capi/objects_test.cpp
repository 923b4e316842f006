// Objects that are reached by calls through <pilfer/pilfer.h>.
#include <pilfer/pilfer.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

constexpr std::uint64_t hour = 3'600'000'000'000;

class c_objects : public over_workers {};
PILFER_OVER_WORKERS(c_objects);

void add_one(void* value, void*) { ++*static_cast<long*>(value); }
void add(void* value, void* arg) { *static_cast<long*>(value) += *static_cast<long*>(arg); }
void look(const void* value, void* arg) { *static_cast<long*>(arg) = *static_cast<const long*>(value); }
int at_least(const void* value, void* arg) {
    return *static_cast<const long*>(value) >= *static_cast<long*>(arg) ? 1 : 0;
}
void take(void* value, void* arg) {
    EXPECT_EQ(at_least(value, arg), 1) << "called where its condition does not hold";
    *static_cast<long*>(value) -= *static_cast<long*>(arg);
}

using make_locked = int (*)(pilfer_synchronized**, void*);
constexpr make_locked both_kinds[] = {pilfer_synchronized_new, pilfer_synchronized_new_shared};

TEST_P(c_objects, locked_one_at_a_time) {
    const c_pool pool(GetParam());
    for (const make_locked make : both_kinds) {
        long sum = 0;
        pilfer_synchronized* object = nullptr;
        ASSERT_EQ(make(&object, &sum), 0);
        const auto rounds = static_cast<long>(hundredth_of(20'000));
        const auto adds = [&](unsigned who) {
            for (long i = 0; i < rounds; ++i) {
                switch ((static_cast<unsigned>(i) + who) % 4) {
                case 0:
                    while (pilfer_synchronized_try_call(object, add_one, nullptr) == PILFER_ETIMEDOUT) {
                        pilfer_yield();
                    }
                    break;
                case 1:
                    EXPECT_EQ(pilfer_synchronized_call_for(object, add_one, nullptr, hour), 0);
                    break;
                default:
                    EXPECT_EQ(pilfer_synchronized_call(object, add_one, nullptr), 0);
                }
            }
        };
        std::thread outside(adds, 5U);
        tasks(pool, 4, adds);
        outside.join();
        long seen = 0;
        EXPECT_EQ(pilfer_synchronized_read(object, look, &seen), 0);
        EXPECT_EQ(seen, 5 * rounds);
        pilfer_synchronized_free(object);
    }
}

TEST_P(c_objects, a_nested_call_and_one_whose_time_is_over) {
    const c_pool pool(GetParam());
    for (const make_locked make : both_kinds) {
        long value = 0;
        struct shared {
            pilfer_synchronized* object = nullptr;
            pilfer_event inside{};
            pilfer_event go{};
        } all;
        ASSERT_EQ(make(&all.object, &value), 0);
        ASSERT_EQ(pilfer_event_init(&all.inside, 0), 0);
        ASSERT_EQ(pilfer_event_init(&all.go, 0), 0);
        tasks(pool, 2, [&](unsigned who) {
            if (who == 0) {
                const auto stays = [](void* held, void* arg) {
                    auto& at = *static_cast<shared*>(arg);
                    EXPECT_EQ(pilfer_synchronized_call(at.object, add_one, nullptr), PILFER_EUSAGE);
                    EXPECT_EQ(pilfer_synchronized_try_call(at.object, add_one, nullptr), PILFER_EUSAGE);
                    EXPECT_EQ(pilfer_call_all(
                                  &at.object, 1, [](void* const*, void*) { FAIL(); }, nullptr),
                              PILFER_EUSAGE);
                    EXPECT_EQ(pilfer_event_set(&at.inside), 0);
                    EXPECT_EQ(pilfer_event_wait(&at.go), 0);
                    ++*static_cast<long*>(held);
                };
                EXPECT_EQ(pilfer_synchronized_call(all.object, stays, &all), 0);
                return;
            }
            EXPECT_EQ(pilfer_event_wait(&all.inside), 0);
            EXPECT_EQ(pilfer_synchronized_try_call(all.object, add_one, nullptr), PILFER_ETIMEDOUT);
            EXPECT_EQ(pilfer_synchronized_call_for(all.object, add_one, nullptr, 0), PILFER_ETIMEDOUT);
            EXPECT_EQ(pilfer_synchronized_call_for(all.object, add_one, nullptr, 1000), PILFER_ETIMEDOUT);
            EXPECT_EQ(pilfer_event_set(&all.go), 0);
            EXPECT_EQ(pilfer_synchronized_call_for(all.object, add_one, nullptr, hour), 0);
        });
        EXPECT_EQ(value, 2);
        const auto reads = [](const void*, void* arg) {
            auto& at = *static_cast<shared*>(arg);
            EXPECT_EQ(pilfer_synchronized_try_call(at.object, add_one, nullptr), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_synchronized_call(at.object, add_one, nullptr), PILFER_EUSAGE);
        };
        EXPECT_EQ(pilfer_synchronized_read(all.object, reads, &all), 0);
        EXPECT_EQ(value, 2);
        pilfer_synchronized_free(all.object);
        pilfer_event_destroy(&all.inside);
        pilfer_event_destroy(&all.go);
    }
}

TEST_P(c_objects, readers_run_at_the_same_time) {
    const c_pool pool(GetParam());
    long value = 3;
    pilfer_synchronized* object = nullptr;
    ASSERT_EQ(pilfer_synchronized_new_shared(&object, &value), 0);
    pilfer_latch all;
    ASSERT_EQ(pilfer_latch_init(&all, 3), 0);
    tasks(pool, 3, [&](unsigned) {
        // None leaves before all are inside.
        const auto meet = [](const void* held, void* arg) {
            EXPECT_EQ(*static_cast<const long*>(held), 3);
            EXPECT_EQ(pilfer_latch_count_down(static_cast<pilfer_latch*>(arg), 1), 0);
            EXPECT_EQ(pilfer_latch_wait(static_cast<pilfer_latch*>(arg)), 0);
        };
        EXPECT_EQ(pilfer_synchronized_read(object, meet, &all), 0);
    });
    EXPECT_EQ(pilfer_synchronized_try_call(object, add_one, nullptr), 0);
    EXPECT_EQ(value, 4);
    pilfer_latch_destroy(&all);
    pilfer_synchronized_free(object);
}

TEST_P(c_objects, call_all) {
    const c_pool pool(GetParam());
    static constexpr unsigned n = 11; // more than fit on the stack
    std::array<long, n> money{};
    money.fill(100);
    std::array<pilfer_synchronized*, n> accounts{};
    for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(both_kinds[i % 2](&accounts[i], &money[i]), 0);
    }
    const auto rounds = static_cast<unsigned>(hundredth_of(20'000));
    tasks(pool, 6, [&](unsigned who) {
        for (unsigned i = 0; i < rounds; ++i) {
            const unsigned from = (who + i) % n;
            const unsigned to = (from + 1 + who) % n;
            std::array<pilfer_synchronized*, 2> both = {accounts[from], accounts[to]};
            const auto transfer = [](void* const* values, void* expected) {
                EXPECT_EQ(values[0], static_cast<void**>(expected)[0]);
                EXPECT_EQ(values[1], static_cast<void**>(expected)[1]);
                --*static_cast<long*>(values[0]);
                ++*static_cast<long*>(values[1]);
            };
            std::array<void*, 2> expected = {&money[from], &money[to]};
            EXPECT_EQ(pilfer_call_all(both.data(), 2, transfer, expected.data()), 0);
            if (i % 16 == 0) {
                const auto sum = [](void* const* values, void*) {
                    const long all = std::accumulate(
                        values, values + n, 0L, [](long s, void* v) { return s + *static_cast<long*>(v); });
                    EXPECT_EQ(all, 100L * n);
                };
                EXPECT_EQ(pilfer_call_all(accounts.data(), n, sum, nullptr), 0);
            }
        }
    });
    std::array<pilfer_synchronized*, 3> twice = {accounts[2], accounts[0], accounts[2]};
    const auto never = [](void* const*, void*) { ADD_FAILURE() << "called"; };
    EXPECT_EQ(pilfer_call_all(twice.data(), 3, never, nullptr), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_synchronized_try_call(accounts[2], add_one, nullptr), 0) << "it is free again";
    twice[2] = nullptr;
    EXPECT_EQ(pilfer_call_all(twice.data(), 3, never, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_synchronized_try_call(accounts[0], add_one, nullptr), 0);
    for (pilfer_synchronized* account : accounts) {
        pilfer_synchronized_free(account);
    }
}

TEST_P(c_objects, monitor_calls_are_served) {
    const c_pool pool(GetParam());
    long there = 0;
    pilfer_monitor* object = nullptr;
    ASSERT_EQ(pilfer_monitor_new(&object, &there), 0);
    const auto rounds = static_cast<long>(hundredth_of(10'000));
    std::thread outside([&] {
        for (long i = 0; i < rounds; ++i) {
            long two = 2;
            EXPECT_EQ(pilfer_monitor_call_when(object, at_least, take, &two), 0);
        }
    });
    tasks(pool, 6, [&](unsigned who) {
        for (long i = 0; i < rounds; ++i) {
            long one = 1;
            long two = 2;
            if (who < 3) {
                EXPECT_EQ(pilfer_monitor_call(object, add, &two), 0);
            } else if (who == 3) {
                EXPECT_EQ(pilfer_monitor_call_when(object, at_least, take, &two), 0);
            } else if (who == 4) {
                EXPECT_EQ(pilfer_monitor_call_when_for(object, at_least, take, &one, hour), 0);
            } else {
                while (pilfer_monitor_try_call_when(object, at_least, take, &one) == PILFER_ETIMEDOUT) {
                    pilfer_yield();
                }
            }
        }
    });
    outside.join();
    long left = -1;
    EXPECT_EQ(pilfer_monitor_read(object, look, &left), 0);
    EXPECT_EQ(left, 0);
    long one = 1;
    EXPECT_EQ(pilfer_monitor_try_call_when(object, at_least, take, &one), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_monitor_call_when_for(object, at_least, take, &one, 0), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_monitor_call_when_for(object, at_least, take, &one, 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(there, 0);
    const auto again = [](void*, void* o) {
        auto* self = static_cast<pilfer_monitor*>(o);
        long none = 0;
        EXPECT_EQ(pilfer_monitor_call(self, add, &none), PILFER_EUSAGE);
        EXPECT_EQ(pilfer_monitor_call_when(self, at_least, take, &none), PILFER_EUSAGE);
        EXPECT_EQ(pilfer_monitor_try_call_when(self, at_least, take, &none), PILFER_EUSAGE);
    };
    EXPECT_EQ(pilfer_monitor_call(object, again, object), 0);
    pilfer_monitor_free(object);
}

TEST_P(c_objects, a_monitor_call_is_served_or_stopped) {
    const c_pool pool(GetParam());
    pool.run([] {
        for (std::uint64_t round = 0; round < hundredth_of(5000); ++round) {
            long there = 0;
            pilfer_monitor* object = nullptr;
            ASSERT_EQ(pilfer_monitor_new(&object, &there), 0);
            std::atomic<long> served{0};
            std::atomic<long> begun{0};
            std::atomic<long> left{0};
            auto wants = [&] {
                ++begun;
                long one = 1;
                const int code = pilfer_monitor_call_when(object, at_least, take, &one);
                EXPECT_TRUE(code == 0 || code == PILFER_ECANCELED) << code;
                served += code == 0 ? 1 : 0;
                ++left;
            };
            pilfer_scope s;
            ASSERT_EQ(pilfer_scope_begin(&s), 0);
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(pilfer_scope_spawn(&s, call_of<decltype(wants)>, &wants), 0);
            }
            long one = 1;
            EXPECT_EQ(pilfer_monitor_call(object, add, &one), 0);
            EXPECT_EQ(pilfer_scope_cancel(&s), 0);
            EXPECT_EQ(pilfer_scope_end(&s), 0);
            EXPECT_EQ(begun, left);
            EXPECT_EQ(there + served, 1);
            pilfer_monitor_free(object);
        }
    });
}

} // namespace
