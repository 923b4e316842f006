// Planted errors around objects that tasks wait for: channels, semaphores, futures, latches, events.
#pragma once

#include <array>
#include <chrono>

#include "explore/bugs_common.hpp"

namespace bugs {

/// The answer and the time limit both fulfil the promise.
inline void answer_and_timeout(bool repaired) {
    pilfer::promise<int> answer;
    auto result = answer.get_future();
    shared<bool> done{false};
    const auto fulfil = [&](int with) {
        const bool first = repaired ? !done.exchange(true) : !done;
        if (first) {
            done = true;
            answer.set_value(with);
        }
    };
    both([&] { fulfil(1); }, [&] { fulfil(2); });
    require(result.get() > 0);
}

/// A request that is given up gives its permit back only if it has no connection yet.
inline void permit_leak(bool repaired) {
    pilfer::counting_semaphore<> permits(1);
    shared<int> state{0}; // 1: connected, 2: given up
    permits.acquire();
    both(
        [&] {
            if (state == 0) {
                state = 1;
                permits.release(); // at the end of the request
            }
        },
        [&] {
            int expected = 0;
            if (repaired) {
                if (state.compare_exchange_strong(expected, 2)) {
                    permits.release();
                }
            } else if (state == 0) {
                state = 2;
                permits.release();
            }
        });
    require(permits.try_acquire(), "the permit is back");
    require(repaired || !permits.try_acquire(), "it is back once");
}

/// Two paths of an error each give the permit back, and two requests are inside at once.
inline void double_release(bool repaired) {
    pilfer::counting_semaphore<> permits(1);
    shared<int> inside{0};
    const auto request = [&](bool fails) {
        permits.acquire();
        require(++inside == 1, "one request at a time");
        --inside;
        permits.release();
        if (fails && !repaired) {
            permits.release();
        }
    };
    pilfer::scope s;
    for (int i = 0; i < 3; ++i) {
        s.fork([&, i] { request(i == 0); });
    }
    s.sync();
}

/// Between the look and the send the channel is closed, and the lost value is counted.
inline void send_after_look(bool repaired) {
    pilfer::channel<int> queue(4);
    int accepted = 0;
    int received = 0;
    both(
        [&] {
            if (repaired) {
                accepted += queue.send(1) ? 1 : 0;
            } else if (!queue.closed()) {
                (void)queue.send(1);
                ++accepted;
            }
        },
        [&] { queue.close(); });
    while (queue.receive()) {
        ++received;
    }
    require(accepted == received, "what was accepted arrives");
}

/// The first producer that ends closes the channel of both.
inline void first_one_closes(bool repaired) {
    pilfer::channel<int> queue(4);
    shared<int> producers{2};
    int received = 0;
    const auto produce = [&] {
        (void)queue.send(1);
        if (--producers == 0 || !repaired) {
            queue.close();
        }
    };
    pilfer::scope s;
    s.fork(produce);
    s.fork(produce);
    while (queue.receive()) {
        ++received;
    }
    s.sync();
    require(received == 2, "both values arrive");
}

/// Each of two producers thinks that the other one is still busy, and the channel stays open.
inline void nobody_closes(bool repaired) {
    pilfer::channel<int> queue(4);
    std::array<shared<bool>, 2> busy{true, true};
    shared<int> left{2};
    const auto produce = [&](unsigned i) {
        (void)queue.send(1);
        const bool other = busy[1 - i];
        busy[i] = false;
        if (repaired ? --left == 0 : !other) {
            queue.close();
        }
    };
    pilfer::scope s;
    s.fork([&] { produce(0); });
    s.fork([&] { produce(1); });
    while (queue.receive()) {
    }
    s.sync();
}

/// A task outlives the object that it uses.
inline void use_after_scope(bool repaired) {
    shared<bool> alive{true};
    struct session {
        shared<bool>& alive;
        ~session() { alive = false; }
    };
    pilfer::future<void> log;
    {
        session s{alive};
        log = pilfer::async([&alive] { require(alive, "the session lives"); });
        if (repaired) {
            log.get();
        }
    }
    log.get();
}

/// The second task is taken for later than the first.
inline void order_of_futures(bool repaired) {
    shared<int> stage{0};
    auto first = pilfer::async([&] { stage = 1; });
    auto second = repaired ? first.then([&] { require(stage == 1, "the first stage is over"); })
                           : pilfer::async([&] { require(stage == 1, "the first stage is over"); });
    first.get();
    second.get();
}

inline void latch_before_work(bool repaired) {
    pilfer::latch ready(2);
    std::array<shared<int>, 2> parts{0, 0};
    pilfer::scope s;
    for (unsigned i = 0; i < 2; ++i) {
        s.fork([&, i] {
            if (repaired) {
                parts[i] = 1;
                ready.count_down();
            } else {
                ready.count_down();
                parts[i] = 1;
            }
        });
    }
    ready.wait();
    require(parts[0] + parts[1] == 2, "all parts are there");
    s.sync();
}

/// Each task reads its neighbour's cell of this round, which the neighbour may not have written.
inline void one_barrier_too_few(bool repaired) {
    pilfer::barrier<> round(2);
    std::array<shared<int>, 2> cells{0, 0};
    const auto work = [&](unsigned i) {
        for (int r = 1; r <= 2; ++r) {
            cells[i] = r;
            round.arrive_and_wait();
            require(cells[1 - i] == r, "the neighbour is in this round");
            if (repaired) {
                round.arrive_and_wait();
            }
        }
    };
    both([&] { work(0); }, [&] { work(1); });
}

/// A task keeps its slot while it waits for a child that needs one.
inline void slot_for_the_child(bool repaired) {
    pilfer::counting_semaphore<> slots(2);
    const auto parent = [&] {
        slots.acquire();
        if (repaired) {
            slots.release();
        }
        auto child = pilfer::async([&] {
            slots.acquire();
            slots.release();
        });
        child.get();
        if (!repaired) {
            slots.release();
        }
    };
    both(parent, parent);
}

/// An event that is set and reset at once is missed by one that comes to wait in between.
inline void pulse(bool repaired) {
    pilfer::event go;
    both([&] { go.wait(); },
         [&] {
             go.set();
             if (!repaired) {
                 go.reset();
             }
         });
}

/// A value that arrives together with the end of the time is thrown away.
inline void value_at_the_limit(bool repaired) {
    constexpr std::chrono::milliseconds limit(5);
    pilfer::channel<int> queue(1);
    shared<bool> late{false};
    int got = 0;
    both(
        [&] {
            const auto value = queue.try_receive_for(limit);
            if (value && (repaired || !late)) {
                ++got;
            }
            queue.close();
        },
        [&] {
            pilfer::sleep_for(limit);
            late = true;
            got += queue.send(1) ? 0 : 1;
        });
    while (queue.receive()) {
        ++got;
    }
    require(got == 1, "the value is received or refused");
}

/// The group is waited for before a task has joined it.
inline void joins_too_late(bool repaired) {
    shared<int> members{0};
    pilfer::event empty;
    shared<int> finished{0};
    if (repaired) {
        members = 2;
    }
    pilfer::scope s;
    for (int i = 0; i < 2; ++i) {
        s.fork([&] {
            if (!repaired) {
                members += 1;
            }
            finished += 1;
            if (--members == 0) {
                empty.set();
            }
        });
    }
    empty.wait();
    require(finished == 2, "all have finished");
    s.sync();
}

} // namespace bugs
