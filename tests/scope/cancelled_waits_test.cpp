// Waits in a cancelled scope: each ends at once, and what was handed over is not lost.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "scope/cancelling.hpp"
#include "support/process.hpp"

namespace {

using namespace cancel_tests;

class cancelled_waits : public over_few_workers {};
PILFER_OVER_FEW_WORKERS(cancelled_waits);

TEST_P(cancelled_waits, a_thousand_sleepers_leave_at_once) {
    constexpr int sleepers = 1000;
    std::atomic<int> begun{0};
    std::atomic<int> left{0};
    pool.run([&] {
        pilfer::event never;
        pilfer::channel<int> empty(0);
        pilfer::channel<int> full(1);
        EXPECT_TRUE(full.try_send(0));
        pilfer::mutex held;
        pilfer::promise<int> unset;
        auto result = unset.get_future(); // wait() is const: any number of tasks may
        held.lock();
        pilfer::scope s;
        for (int i = 0; i < sleepers; ++i) {
            s.fork([&, i] {
                struct at_end {
                    std::atomic<int>& n;
                    ~at_end() { ++n; }
                } const at{left};
                ++begun;
                switch (i % 7) {
                case 0:
                    pilfer::sleep_for(1h);
                    break;
                case 1:
                    never.wait();
                    break;
                case 2:
                    (void)empty.receive();
                    break;
                case 3:
                    (void)full.send(i);
                    break;
                case 4:
                    held.lock_cancellable();
                    break;
                case 5:
                    result.wait();
                    break;
                default:
                    (void)never.wait_for(1h);
                    break;
                }
                ADD_FAILURE() << "the wait of a stopped task returned: " << i % 7;
            });
        }
        s.fork([&] { // the newest: if it is alone it makes way for all others
            EXPECT_TRUE(soon([&] { return begun == sleepers; }));
            s.cancel();
        });
        s.sync();
        held.unlock();
        unset.set_value(1);
        EXPECT_TRUE(held.try_lock());
        held.unlock();
        EXPECT_EQ(full.size(), 1U);
        EXPECT_EQ(result.get(), 1);
    });
    EXPECT_EQ(left, sleepers);
}

TEST_P(cancelled_waits, lock_is_never_cut_short) {
    pool.run([&] {
        pilfer::mutex m;
        std::atomic<int> waits{0};
        std::atomic<int> had_it{0};
        m.lock();
        pilfer::scope s;
        for (int i = 0; i < 10; ++i) {
            s.fork([&] {
                ++waits;
                m.lock();
                ++had_it;
                m.unlock();
            });
        }
        auto let_go = pilfer::async([&] {
            EXPECT_TRUE(soon([&] { return waits == 10; }));
            s.cancel();
            EXPECT_EQ(had_it, 0);
        });
        s.fork([&] {
            while (!s.cancelled()) {
                pilfer::yield();
            }
        });
        let_go.get();
        m.unlock();
        s.sync();
        EXPECT_EQ(had_it, 10);
    });
}

// A value that was handed over is received, also if a cancellation comes at that moment. It is never lost.
TEST_P(cancelled_waits, handed_over_or_stopped_never_both) {
    for (std::uint64_t round = 0; round < support::hundredth_of(5'000); ++round) {
        pool.run([&] {
            pilfer::channel<int> c(0);
            std::atomic<int> sent{0};
            std::atomic<int> received{0};
            pilfer::scope s;
            for (int i = 0; i < 3; ++i) {
                s.fork([&] {
                    for (;;) {
                        if (c.receive()) {
                            ++received;
                        }
                    }
                });
                s.fork([&] {
                    for (;;) {
                        if (c.send(1)) {
                            ++sent;
                        }
                    }
                });
            }
            s.fork([&] {
                EXPECT_TRUE(soon([&] { return received >= 20; }));
                s.cancel();
            });
            s.sync();
            EXPECT_EQ(sent, received);
        });
    }
}

// A call that is served takes place, one that is stopped does not: never both, never neither.
TEST_P(cancelled_waits, monitor_calls_are_served_or_stopped) {
    for (std::uint64_t round = 0; round < support::hundredth_of(3'000); ++round) {
        pool.run([] {
            pilfer::monitor<int> tickets(0);
            std::atomic<int> begun{0};
            std::atomic<int> ran{0};
            std::atomic<int> served{0};
            std::atomic<int> left{0};
            pilfer::scope outer;
            for (int i = 0; i < 20; ++i) {
                outer.fork([&] {
                    ++begun;
                    try {
                        tickets.call_when([](const int& n) { return n > 0; },
                                          [&](int& n) {
                                              --n;
                                              ++ran;
                                          });
                        ++served;
                    } catch (const pilfer::stopped&) {
                        ++left;
                        throw;
                    }
                });
            }
            outer.fork([&] {
                EXPECT_TRUE(soon([&] { return begun == 20; }));
                tickets.call([](int& n) { n = 7; });
                outer.cancel();
            });
            outer.sync();
            EXPECT_EQ(served, ran);
            EXPECT_EQ(served + left, 20);
            EXPECT_EQ(tickets.call([](int& n) { return n; }), 7 - served);
        });
    }
}

// One call, one that serves it, and one that cancels, each at any moment, in a scope that nothing else
// shares.
TEST_P(cancelled_waits, exactly_one_of_finished_and_cancelled) {
    std::atomic<int> finished{0};
    std::atomic<int> stopped{0};
    const std::uint64_t rounds = support::hundredth_of(100'000);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        pool.run([&] {
            pilfer::monitor<int> q(0);
            std::atomic<int> ran{0};
            std::atomic<int> returned{0};
            std::atomic<int> left{0};
            pilfer::scope outer;
            std::atomic<bool> begun{false};
            outer.spawn([&] {
                begun = true;
                try {
                    q.call_when([](int v) { return v == 1; },
                                [&](int& v) {
                                    ++ran;
                                    v = 2;
                                });
                    ++returned;
                } catch (const pilfer::stopped&) {
                    ++left;
                    throw;
                }
            });
            const auto spin = [](std::uint64_t turns) {
                for (std::atomic<std::uint64_t> i{0}; i < turns;) {
                    ++i;
                }
            };
            const auto act = [&](bool cancels) {
                if (cancels) {
                    outer.cancel();
                } else {
                    q.call([](int& v) { v = 1; });
                }
            };
            while (!begun) { // before the cancellation, after which it would not begin
                pilfer::yield();
            }
            std::atomic<bool> there{false};
            auto other = pool.async([&] {
                there = true;
                spin(round * 7 % 64 * 256);
                act(round % 2 == 0);
            });
            while (!there && GetParam() > 1) {
                std::this_thread::yield();
            }
            spin(round * 13 % 64 * 128);
            act(round % 2 != 0);
            other.get();
            outer.sync();
            EXPECT_EQ(returned + left, 1);
            EXPECT_EQ(returned, ran);
            EXPECT_EQ(q.read([](int v) { return v; }), 1 + ran);
            finished += returned;
            stopped += left;
        });
    }
    EXPECT_EQ(finished + stopped, static_cast<int>(rounds));
}

TEST_P(cancelled_waits, a_wait_for_a_descriptor_leaves) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
    std::atomic<int> told{0};
    pool.run([&] {
        std::atomic<int> begun{0};
        pilfer::scope s;
        for (int i = 0; i < 20; ++i) {
            s.fork([&] {
                char c = 0;
                ++begun;
                const auto error = pilfer::io::read(ends[0], &c, 1).error;
                told += error == std::errc::operation_canceled && pilfer::cancelled() ? 1 : 0;
            });
        }
        s.fork([&] {
            EXPECT_TRUE(soon([&] { return begun == 20; }));
            s.cancel();
        });
        s.sync();
    });
    EXPECT_EQ(told, 20);
    (void)::close(ends[0]);
    (void)::close(ends[1]);
}

// Its time may be over or not: a stopped task leaves; the owner of a cancelled scope sees its end.
TEST_P(cancelled_waits, sync_for) {
    pool.run([&] {
        pilfer::scope s;
        s.fork([&] {
            pilfer::scope own;
            own.fork([] { pilfer::sleep_for(1h); });
            while (!own.sync_for(1ms)) {
                s.cancel();
            }
            ADD_FAILURE() << "sync_for() of a stopped task returned true";
        });
        EXPECT_TRUE(s.sync_for(60s));
        EXPECT_FALSE(s.cancelled());
        std::atomic<int> ran{0};
        s.fork([&] { ++ran; });
        EXPECT_TRUE(s.sync_for(60s));
        EXPECT_EQ(ran, 1);
    });
}

} // namespace
