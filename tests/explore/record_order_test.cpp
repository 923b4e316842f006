// A repetition has the order of the recorded run, whatever its tasks did: a result that depends on it is the
// same.
#include "explore/recorded.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace recorded_runs;
using std::chrono::microseconds;

// ---- what tasks a run has -----------------------------------------------------------------------

TEST(order, of_a_loop) {
    has_same_order([] {
        ordered_sum s;
        pilfer::for_each(0, 200, [&](int i) {
            if (i % 16 == 0) {
                linger();
            }
            s.add(static_cast<std::uint64_t>(i));
        });
        return s.sum;
    });
}

TEST(order, of_spawned_children) {
    has_same_order([] {
        ordered_sum s;
        pilfer::scope all;
        for (std::uint64_t i = 0; i < 40; ++i) {
            all.spawn([&s, i] {
                if (i % 8 == 0) {
                    linger();
                }
                s.add(i);
                (void)pilfer::join([&] { s.add(i + 100); }, [&] { s.add(i + 200); });
            });
        }
        all.sync();
        return s.sum;
    });
}

TEST(order, of_attempts_at_a_channel) {
    has_same_order([] {
        pilfer::channel<std::uint64_t> c(2);
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
        both(
            [&] {
                for (std::uint64_t i = 1; i < 20; ++i) {
                    sent = 2 * sent + (c.try_send(i) ? 1 : 0);
                }
            },
            [&] {
                for (int i = 0; i < 20; ++i) {
                    if (i % 5 == 0) {
                        linger();
                    }
                    received = 3 * received + c.try_receive().value_or(0);
                }
            });
        return 31 * sent + received;
    });
}

TEST(order, of_tasks_that_sleep_block_and_submit) {
    has_same_order([] {
        ordered_sum s;
        std::vector<pilfer::future<void>> all;
        for (std::uint64_t i = 0; i < 8; ++i) {
            all.push_back(pilfer::async([&s, i] {
                pilfer::sleep_for(std::chrono::microseconds(100 * (i % 3)));
                s.add(i);
                pilfer::blocking([] { linger(); });
                s.add(i + 100);
                pilfer::yield();
                pilfer::async([&s, i] { s.add(i + 200); }).get();
            }));
        }
        for (auto& one : all) {
            one.get();
        }
        return s.sum;
    });
}

TEST(order, of_futures_that_follow) {
    has_same_order([] {
        ordered_sum s;
        std::vector<pilfer::future<void>> all;
        for (std::uint64_t i = 0; i < 6; ++i) {
            auto one = pilfer::async([&s, i] {
                if (i % 2 == 0) {
                    linger();
                }
                s.add(i);
            });
            all.push_back(std::move(one).then([&s, i] { s.add(i + 100); }));
        }
        for (auto& one : all) {
            one.get();
        }
        return s.sum;
    });
}

// ---- time limits: what ends a wait is part of the order ------------------------------------------

/// Each call of `attempt` says whether it was in time. Others give and take meanwhile.
template <class Attempt, class Give>
[[nodiscard]] std::uint64_t attempts_in_time(Attempt attempt, Give give) {
    ordered_sum s;
    pilfer::scope all;
    for (std::uint64_t i = 0; i < 3; ++i) {
        all.fork([&, i] {
            for (std::uint64_t k = 0; k < 12; ++k) {
                const bool in_time = attempt(microseconds(40 * (k % 5)));
                s.add(100 * i + 2 * k + (in_time ? 1 : 0));
            }
        });
    }
    for (int k = 0; k < 12; ++k) {
        pilfer::sleep_for(microseconds(60));
        give();
    }
    all.sync();
    return s.sum;
}

TEST(order, of_limited_waits_for_a_channel) {
    has_same_order([] {
        pilfer::channel<int> c(2);
        return attempts_in_time([&](microseconds limit) { return c.try_receive_for(limit).has_value(); },
                                [&] { (void)c.try_send(1); });
    });
}

TEST(order, of_limited_waits_for_a_mutex) {
    has_same_order([] {
        pilfer::mutex m;
        return attempts_in_time(
            [&](microseconds limit) {
                if (!m.try_lock_for(limit)) {
                    return false;
                }
                linger();
                m.unlock();
                return true;
            },
            [&] {
                const lock l(m);
                linger();
            });
    });
}

TEST(order, of_limited_waits_for_a_shared_mutex) {
    has_same_order([] {
        pilfer::shared_mutex m;
        return attempts_in_time(
            [&](microseconds limit) {
                if (!m.try_lock_shared_for(limit)) {
                    return false;
                }
                m.unlock_shared();
                return true;
            },
            [&] {
                const std::lock_guard l(m);
                linger();
            });
    });
}

TEST(order, of_limited_waits_for_a_semaphore) {
    has_same_order([] {
        pilfer::counting_semaphore<> s(1);
        return attempts_in_time([&](microseconds limit) { return s.try_acquire_for(limit); },
                                [&] { s.release(2); });
    });
}

TEST(order, of_limited_waits_for_an_event) {
    has_same_order([] {
        pilfer::event e;
        return attempts_in_time([&](microseconds limit) { return e.wait_for(limit); },
                                [&] {
                                    e.set();
                                    linger();
                                    e.reset();
                                });
    });
}

TEST(order, of_limited_waits_for_a_condition) {
    has_same_order([] {
        pilfer::mutex m;
        pilfer::condition_variable c;
        int ready = 0;
        return attempts_in_time(
            [&](microseconds limit) {
                lock l(m);
                const bool has_one = c.wait_for(l, limit, [&] { return ready > 0; });
                ready -= has_one ? 1 : 0;
                return has_one;
            },
            [&] {
                const lock l(m);
                ++ready;
                c.notify_one();
            });
    });
}

TEST(order, of_limited_waits_for_a_future) {
    has_same_order([] {
        ordered_sum s;
        for (std::uint64_t i = 0; i < 12; ++i) {
            auto f = pilfer::async([] { linger(); });
            const bool in_time = f.wait_for(microseconds(100 * (i % 6))) == pilfer::future_status::ready;
            s.add(2 * i + (in_time ? 1 : 0));
            f.get();
        }
        return s.sum;
    });
}

// ---- calls of a monitor, and timers ---------------------------------------------------------------

TEST(order, of_calls_of_a_monitor) {
    has_same_order([] {
        struct buffer {
            std::vector<std::uint64_t> items;
            std::uint64_t sum = 1;
        };
        pilfer::monitor<buffer> m;
        ordered_sum s;
        pilfer::scope all;
        for (std::uint64_t i = 0; i < 3; ++i) {
            all.fork([&, i] {
                for (std::uint64_t k = 0; k < 12; ++k) {
                    if (k % 3 == i) {
                        linger();
                    }
                    m.call_when([](const buffer& b) { return b.items.size() < 2; },
                                [&](buffer& b) { b.items.push_back(100 * i + k); });
                }
            });
            all.fork([&, i] {
                for (std::uint64_t k = 0; k < 12; ++k) {
                    m.call_when([](const buffer& b) { return !b.items.empty(); },
                                [&](buffer& b) {
                                    b.sum = b.sum * 31 + 1'000 * i + b.items.back();
                                    b.items.pop_back();
                                    s.add(b.sum); // perhaps on the stack of another task
                                });
                    s.add(m.try_call_when([](const buffer& b) { return b.items.size() == 1; },
                                          [](const buffer& b) { return b.items.front(); })
                              .value_or(7));
                }
            });
        }
        all.sync();
        return s.sum + m.read([](const buffer& b) { return b.sum; });
    });
}

/// One call makes the conditions of more calls true than it runs itself.
TEST(order, of_many_calls_that_wait_for_one) {
    has_same_order([] {
        pilfer::monitor<bool> open(false);
        ordered_sum s;
        pilfer::scope all;
        for (std::uint64_t i = 0; i < 150; ++i) {
            all.spawn([&, i] {
                open.call_when([](const bool& o) { return o; }, [&](bool&) { s.add(i); });
                s.add(i + 1'000);
            });
        }
        open.call([](bool& o) { o = true; });
        all.sync();
        return s.sum;
    });
}

/// A function of a timer may outlive the body, which does not wait for it.
struct shared_sum : ordered_sum {
    std::uint64_t now() {
        const lock l(m);
        return sum;
    }
};

/// Each call of one task looks at a call that waits, and leaves the monitor after that.
TEST(order, of_attempts_beside_a_call_that_waits) {
    has_same_order([] {
        pilfer::monitor<int> m(0);
        std::uint64_t answers = 0;
        constexpr int most = 20;
        pilfer::scope waits;
        waits.spawn([&] { m.call_when([](const int& i) { return i == most; }, [](int&) {}); });
        both(
            [&] {
                for (int i = 0; i < most; ++i) {
                    m.call([](int& n) {
                        linger();
                        ++n;
                    });
                }
            },
            [&] {
                for (int i = 0; i < 2 * most; ++i) {
                    linger();
                    const auto n =
                        m.try_call_when([](const int&) { return true; }, [](const int& k) { return k; });
                    answers = answers * 31 + static_cast<std::uint64_t>(n.value_or(most + 1));
                }
            });
        waits.sync();
        return answers;
    });
}

TEST(order, of_begins_and_cancellations_of_timers) {
    has_same_order([] {
        const auto s = std::make_shared<shared_sum>();
        for (std::uint64_t i = 0; i < 100; ++i) {
            auto t = pilfer::after(microseconds(5 * (i % 40)), [=] { s->add(i); });
            std::this_thread::sleep_for(
                microseconds(10)); // the task does not wait, and a thief fires the alarm
            s->add(t.cancel() ? 3 : 5);
        }
        return s->now();
    });
}

TEST(order, of_functions_that_run_later) {
    has_same_order([] {
        const auto s = std::make_shared<shared_sum>();
        const auto ran = std::make_shared<pilfer::latch>(6);
        for (std::uint64_t i = 0; i < 6; ++i) {
            (void)pilfer::after(microseconds(50 * (i * 5 % 6)), [=] {
                s->add(i);
                linger();
                ran->count_down();
            });
        }
        for (std::uint64_t i = 0; i < 6; ++i) {
            auto shortly = pilfer::after(microseconds(60 * i), [=] { s->add(100 * i); });
            pilfer::sleep_for(microseconds(200));
            s->add(shortly.cancel() ? 3 : 5);
        }
        ran->wait();
        return s->now();
    });
}

TEST(order, of_functions_that_run_again_and_again) {
    has_same_order([] {
        const auto s = std::make_shared<shared_sum>();
        const auto has_ended = std::make_shared<pilfer::event>();
        auto ends = pilfer::every(microseconds(70), [s, has_ended, left = 8]() mutable {
            s->add(static_cast<std::uint64_t>(left));
            if (--left == 0) {
                has_ended->set();
            }
            return left != 0;
        });
        auto goes_on = pilfer::every(microseconds(90), [s] { s->add(1'000); });
        auto nested = pilfer::every(microseconds(110), [s] {
            (void)pilfer::after(microseconds(30), [s] { s->add(2'000); });
            linger();
            s->add(3'000);
        });
        has_ended->wait();
        s->add(ends.cancel() ? 3 : 5);
        s->add(goes_on.cancel() ? 3 : 5);
        s->add(nested.cancel() ? 3 : 5);
        return s->now();
    });
}

/// Its destructor is code of the program.
struct last_words {
    std::shared_ptr<shared_sum> s;
    std::uint64_t id;
    last_words(std::shared_ptr<shared_sum> sum, std::uint64_t i) : s(std::move(sum)), id(i) {}
    last_words(last_words&&) = default;
    last_words(const last_words&) = delete;
    last_words& operator=(last_words&&) = delete;
    last_words& operator=(const last_words&) = delete;
    ~last_words() {
        if (s != nullptr) {
            s->add(id);
        }
    }
    bool operator()() const {
        s->add(1'000 + id);
        return true;
    }
};

TEST(order, of_destructors_of_cancelled_functions) {
    for (int round = 0; round < 5; ++round) {
        has_same_order([] {
            const auto s = std::make_shared<shared_sum>();
            for (std::uint64_t i = 0; i < 60; ++i) {
                const microseconds soon(5 * (i % 12) + 1);
                auto t = i % 3 == 0 ? pilfer::every(soon, last_words(s, i))
                                    : pilfer::after(soon, last_words(s, i));
                std::this_thread::sleep_for(microseconds(10));
                if (i % 2 != 0) {
                    pilfer::sleep_for(microseconds(20));
                }
                s->add(t.cancel() ? 3 : 5);
            }
            return s->now();
        });
    }
}

TEST(order, of_own_children_that_fork_more) {
    std::uint64_t first = 0;
    const auto run = [](std::uint64_t& result) {
        ordered_sum s;
        pilfer::scope outer;
        for (std::uint64_t i = 0; i < 4; ++i) {
            outer.fork([&s, &outer, i] {
                pilfer::scope inner;
                for (std::uint64_t k = 0; k < 3; ++k) {
                    inner.fork([&s, i, k] { s.add(10 * i + k); });
                }
                inner.sync();
                outer.fork([&s, i] { s.add(100 + i); });
            });
        }
        outer.sync();
        result = s.sum;
    };
    const recording r = record({.workers = 1}, [&] { run(first); });
    ASSERT_TRUE(r) << r.message;
    std::uint64_t second = 0;
    const result again = repeat(r.schedule, [&] { run(second); });
    EXPECT_TRUE(again) << again.message;
    EXPECT_EQ(second, first) << r.schedule;
}

/// Other tasks fork into a scope while its owner waits, so its owner goes on beside their children.
TEST(order, of_children_that_other_tasks_fork) {
    has_same_order([] {
        ordered_sum s;
        pilfer::scope all;
        for (std::uint64_t i = 0; i < 20; ++i) {
            all.fork([&s, &all, i] {
                pilfer::yield();
                all.fork([&s, i] {
                    linger();
                    s.add(i);
                });
            });
        }
        all.sync();
        return s.sum;
    });
}

/// Tasks put into a small buffer and take from it, so owners wait inside of their children.
[[nodiscard]] std::uint64_t order_of_a_buffer() {
    struct buffer {
        std::vector<std::uint64_t> v;
        std::uint64_t sum = 1;
    };
    pilfer::monitor<buffer> m;
    pilfer::scope s;
    for (std::uint64_t i = 0; i < 4; ++i) {
        s.fork([&m, i] {
            for (std::uint64_t k = 0; k < 8; ++k) {
                if (k % 3 == i % 3) {
                    std::this_thread::sleep_for(microseconds(20));
                }
                m.call_when([](const buffer& b) { return b.v.size() < 2; },
                            [&](buffer& b) { b.v.push_back(i * 10 + k); });
            }
        });
        s.fork([&m, i] {
            for (int k = 0; k < 8; ++k) {
                m.call_when([](const buffer& b) { return !b.v.empty(); },
                            [&](buffer& b) {
                                b.sum = b.sum * 31 + b.v.back() + i * 1'000;
                                b.v.pop_back();
                            });
            }
        });
    }
    s.sync();
    return m.read([](const buffer& b) { return b.sum; });
}

TEST(order, of_own_children_that_wait) {
    for (int round = 0; round < 20; ++round) {
        has_same_order(&order_of_a_buffer);
    }
}

} // namespace
