// test::atomic and test::atomic_flag: as std's, but interleaved. And faults at will.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>

#include <pilfer/pilfer.hpp>
#include <pilfer/test.hpp>

namespace {

using pilfer::test::require;
using pilfer::test::result;
using pilfer::test::schedules;
using pilfer::test::strategy;
using ::testing::HasSubstr;
using ::testing::Not;

// ---- values -----------------------------------------------------------------------------------

template <class A>
concept has_add = requires(A a) {
    a.fetch_add(1);
};
template <class A>
concept has_increment = requires(A a) {
    ++a;
};
template <class A>
concept has_bits = requires(A a, typename A::value_type v) {
    a.fetch_and(v);
    a.fetch_or(v);
    a.fetch_xor(v);
    a &= v;
    a |= v;
    a ^= v;
};

struct pair {
    int a;
    int b;
    friend bool operator==(const pair&, const pair&) = default;
};

template <class T>
constexpr bool is_like_std =
    has_add<pilfer::test::atomic<T>> == has_add<std::atomic<T>>&& has_increment<pilfer::test::atomic<T>> ==
    has_increment<std::atomic<T>>&& has_bits<pilfer::test::atomic<T>> ==
    has_bits<std::atomic<T>>&& pilfer::test::atomic<T>::is_always_lock_free ==
    std::atomic<T>::is_always_lock_free;
static_assert(is_like_std<int> && is_like_std<unsigned char> && is_like_std<char32_t>);
static_assert(is_like_std<bool> && is_like_std<double> && is_like_std<pair>);
static_assert(is_like_std<int*>);

template <class T>
constexpr bool is_ref_like_std =
    has_add<pilfer::test::atomic_ref<T>> ==
    has_add<std::atomic_ref<T>>&& has_increment<pilfer::test::atomic_ref<T>> ==
    has_increment<std::atomic_ref<T>>&& has_bits<pilfer::test::atomic_ref<T>> ==
    has_bits<std::atomic_ref<T>>&& pilfer::test::atomic_ref<T>::required_alignment ==
    std::atomic_ref<T>::required_alignment;
static_assert(is_ref_like_std<int> && is_ref_like_std<unsigned char>);
static_assert(!has_add<pilfer::test::atomic_ref<bool>>);
static_assert(is_ref_like_std<double> && is_ref_like_std<pair> && is_ref_like_std<int*>);
static_assert(std::is_same_v<pilfer::test::atomic<int*>::difference_type, std::ptrdiff_t>);

/// Calls f with an atomic of each kind, and compares what comes back.
template <class T, class F>
void both(T first, F f) {
    std::atomic<T> right(first);
    pilfer::test::atomic<T> mine(first);
    const auto expected = f(right);
    EXPECT_EQ(f(mine), expected);
    EXPECT_EQ(mine.load(), right.load());
    EXPECT_EQ(mine.is_lock_free(), right.is_lock_free());
    if constexpr (std::is_scalar_v<T>) { // for others clang++ needs libatomic, also by std::atomic_ref
        alignas(std::atomic_ref<T>::required_alignment) T object(first);
        const pilfer::test::atomic_ref<T> there(object);
        EXPECT_EQ(f(there), expected);
        EXPECT_EQ(there.load(), right.load());
        EXPECT_EQ(there.is_lock_free(), std::atomic_ref<T>(object).is_lock_free());
    }
}

TEST(test_atomic, computes_as_std) {
    both(12, [](auto& a) {
        return std::array{a.fetch_add(3),
                          a.fetch_sub(1),
                          a.fetch_and(6),
                          a.fetch_or(9),
                          a.fetch_xor(5),
                          a += 4,
                          a -= 2,
                          a &= 14,
                          a |= 1,
                          a ^= 3,
                          ++a,
                          a++,
                          --a,
                          a--,
                          a.exchange(7),
                          int(a = 8),
                          a.load(),
                          int(a)};
    });
    both(1.5, [](auto& a) {
        return std::array{a.fetch_add(3), a.fetch_sub(1), a += 4, a -= 2, a.exchange(7)};
    });
    std::array<int, 9> numbers{};
    both(numbers.data(), [](auto& a) {
        return std::array{a.fetch_add(3), a.fetch_sub(1), a += 4, a -= 2, ++a, a++, --a, a--};
    });
    both(pair{1, 2}, [](auto& a) {
        pair e{3, 4};
        const bool wrong = a.compare_exchange_strong(e, {5, 6});
        const bool right = a.compare_exchange_strong(e, {7, 8});
        return std::array{pair{wrong, right}, e, a.load()};
    });
    both(true, [](auto& a) { return std::array{a.exchange(false), a.load()}; });
    both(3, [](auto& a) {
        int e = 3;
        return a.compare_exchange_weak(e, 4, std::memory_order_acq_rel, std::memory_order_acquire);
    });
    EXPECT_EQ(pilfer::test::atomic<int>().load(), 0);
}

// ---- waits ------------------------------------------------------------------------------------

TEST(test_atomic, wait_ends_by_a_notification) {
    for (const strategy how : {strategy::mixed, strategy::exhaustive}) {
        const result r = schedules(5'000, {.strategy = how}, [] {
            pilfer::test::atomic<int> stage{0};
            (void)pilfer::join(
                [&] {
                    stage.wait(0);
                    require(stage == 1);
                    stage = 2;
                    stage.notify_all();
                },
                [&] {
                    stage = 1;
                    stage.notify_one();
                    stage.wait(1);
                    require(stage == 2);
                });
        });
        EXPECT_TRUE(r) << r;
    }
}

TEST(test_atomic_ref, loses_an_update_between_two_steps) {
    for (const bool right : {true, false}) {
        const result r = schedules(1'000, {.strategy = strategy::exhaustive}, [right] {
            int sum = 0;
            const auto add = [&] {
                const pilfer::test::atomic_ref<int> a(sum); // one for each task
                if (right) {
                    ++a;
                } else {
                    a = a + 1;
                }
            };
            (void)pilfer::join(add, add);
            require(sum == 2, "both additions count");
        });
        EXPECT_EQ(r.passed, right) << r;
        EXPECT_TRUE(!right || r.complete) << r;
        EXPECT_TRUE(right || r.trace.find("task 2 loads atomic 1") != std::string::npos) << r;
    }
}

TEST(test_atomic_ref, references_to_an_object_share_waits) {
    for (const bool notifies : {true, false}) {
        const result r = schedules(1'000, [notifies] {
            int stage = 0;
            (void)pilfer::join([&] { pilfer::test::atomic_ref<int>(stage).wait(0); },
                               [&] {
                                   const pilfer::test::atomic_ref<int> a(stage);
                                   a = 1;
                                   if (notifies) {
                                       a.notify_one();
                                   }
                               });
        });
        EXPECT_EQ(r.passed, notifies) << r;
        EXPECT_TRUE(notifies || r.message.find("waits for a change of atomic 1") != std::string::npos) << r;
    }
}

TEST(test_atomic_ref, weak_exchange_fails_by_choice) {
    const result r = schedules(200, {.faults = 1}, [] {
        int n = 3;
        int expected = 3;
        require(pilfer::test::atomic_ref<int>(n).compare_exchange_weak(expected, 4), "it exchanges");
    });
    ASSERT_FALSE(r.passed);
    EXPECT_THAT(r.trace, HasSubstr("has a fault: a weak exchange of atomic 1"));
}

TEST(test_atomic, missing_notification_is_a_deadlock) {
    const result r = schedules(1'000, [] {
        pilfer::test::atomic<int> stage{0};
        (void)pilfer::join([&] { stage.wait(0); }, [&] { stage = 1; });
    });
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, HasSubstr("a deadlock"));
    EXPECT_THAT(r.message, HasSubstr("waits for a change of atomic 1"));
    EXPECT_THAT(r.trace, HasSubstr("begins to wait for atomic 1"));
}

TEST(test_atomic, one_notification_wakes_one) {
    const result r = schedules(1'000, [] {
        pilfer::test::atomic<int> stage{0};
        pilfer::scope s;
        s.fork([&] { stage.wait(0); });
        s.fork([&] { stage.wait(0); });
        s.fork([&] {
            stage = 1;
            stage.notify_one();
        });
        s.sync();
    });
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, HasSubstr("a deadlock"));
    const result all = schedules(1'000, [] {
        pilfer::test::atomic<int> stage{0};
        pilfer::test::atomic<int> other{0};
        pilfer::scope s;
        s.fork([&] { stage.wait(0); });
        s.fork([&] { stage.wait(0); });
        s.fork([&] { other.wait(0); });
        s.fork([&] {
            stage = 1;
            stage.notify_all();
            other = 1;
            other.notify_one();
        });
        s.sync();
    });
    EXPECT_TRUE(all) << all;
}

TEST(test_atomic, one_notification_wakes_any) {
    using namespace std::chrono_literals;
    for (const strategy how : {strategy::mixed, strategy::exhaustive}) {
        const auto body = [](char wrong) {
            pilfer::test::atomic<int> stage{0};
            char first = ' ';
            const auto waits = [&](std::chrono::hours arrives, char name) {
                pilfer::sleep_for(arrives);
                stage.wait(0);
                first = first == ' ' ? name : first;
            };
            pilfer::scope s;
            s.fork([&] { waits(1h, 'a'); });
            s.fork([&] { waits(2h, 'b'); });
            s.fork([&] { waits(3h, 'c'); });
            pilfer::sleep_for(4h);
            stage = 1;
            stage.notify_one();
            pilfer::sleep_for(1h);
            stage.notify_all();
            s.sync();
            require(first != wrong, "the first one");
        };
        for (const char name : {'a', 'b', 'c'}) {
            const result r = schedules(1'000, {.strategy = how}, [&] { body(name); });
            ASSERT_FALSE(r) << name;
            EXPECT_THAT(r.message, HasSubstr("the first one"));
            EXPECT_EQ(schedules(1, {.replay = r.schedule}, [&] { body(name); }).message, r.message);
        }
        EXPECT_TRUE(schedules(1'000, {.strategy = how}, [&] { body('d'); }));
    }
}

TEST(test_atomic, wait_of_a_thread_ends_by_the_value) {
    pilfer::test::atomic<int> stage{0};
    std::thread waits([&] { stage.wait(0); });
    stage = 1;
    stage.notify_one();
    waits.join();
    pilfer::pool usual;
    usual.run([&] { stage.wait(0); });
    EXPECT_EQ(stage, 1);
}

TEST(test_atomic_flag, is_a_lock) {
    const auto count = [](bool locks) {
        return schedules(1'000, [locks] {
            pilfer::test::atomic_flag flag;
            pilfer::test::atomic<int> n{0};
            const auto add = [&] {
                while (locks && flag.test_and_set()) {
                    flag.wait(true);
                }
                n = n + 1;
                flag.clear();
                flag.notify_one();
            };
            (void)pilfer::join(add, add);
            require(n == 2 && !flag.test());
        });
    };
    EXPECT_TRUE(count(true));
    EXPECT_FALSE(count(false));
    pilfer::test::atomic_flag flag;
    EXPECT_FALSE(flag.test_and_set());
    EXPECT_TRUE(flag.test_and_set());
}

// ---- faults -----------------------------------------------------------------------------------

/// Adds without the loop that a weak exchange needs.
void add_once() {
    pilfer::test::atomic<int> n{0};
    int now = n.load();
    (void)n.compare_exchange_weak(now, now + 1);
    require(n == 1, "added");
}

TEST(faults, weak_exchanges_fail_if_asked_for) {
    EXPECT_TRUE(schedules(1'000, &add_once));
    for (const strategy how : {strategy::random, strategy::pct, strategy::mixed, strategy::exhaustive}) {
        const result r = schedules(1'000, {.strategy = how, .faults = 1}, &add_once);
        ASSERT_FALSE(r);
        EXPECT_THAT(r.trace, HasSubstr("has a fault: a weak exchange of atomic 1"));
        EXPECT_THAT(r.schedule, HasSubstr("!1@"));
        const result again = schedules(1, {.replay = r.schedule}, &add_once);
        EXPECT_EQ(again.message, r.message) << "the text has the number of faults";
        EXPECT_EQ(again.trace, r.trace);
        std::string without = r.schedule;
        without.erase(without.find("!1"), 2);
        EXPECT_FALSE(schedules(1, {.replay = without}, &add_once).fits) << "it needs as many faults";
    }
}

TEST(faults, are_at_most_so_many) {
    for (const std::uint64_t most : {0U, 1U, 3U}) {
        std::uint64_t seen = 0;
        const result r = schedules(500, {.strategy = strategy::random, .faults = most}, [&] {
            std::uint64_t now = 0;
            for (int i = 0; i < 20; ++i) {
                now += pilfer::test::fault("the disk is full") ? 1 : 0;
            }
            require(now <= most);
            seen = std::max(seen, now);
        });
        EXPECT_TRUE(r) << r;
        EXPECT_EQ(seen, most);
    }
    EXPECT_FALSE(pilfer::test::fault("outside"));
}

TEST(faults, are_all_searched) {
    int calls = 0;
    const result r = schedules(10'000, {.strategy = strategy::exhaustive, .faults = 1}, [&] {
        for (int i = 0; i < 3; ++i) {
            calls += pilfer::test::fault("the disk is full") ? 1 : 0;
        }
    });
    EXPECT_TRUE(r.complete) << r;
    EXPECT_EQ(r.schedules, 4U) << "in the first call, the second, the third, in none";
    EXPECT_NEAR(r.estimate, 4, 3.5);
}

TEST(faults, are_left_out_if_the_failure_comes_without) {
    const auto body = [] {
        for (int i = 0; i < 10; ++i) {
            (void)pilfer::test::fault("the disk is full");
        }
        require(false);
    };
    const result r = schedules(1'000, {.strategy = strategy::random, .faults = 5}, body);
    ASSERT_FALSE(r);
    EXPECT_THAT(r.trace, Not(HasSubstr("fault:")));
    EXPECT_THAT(r.schedule, testing::StartsWith("d1:!5@"));
}

} // namespace
