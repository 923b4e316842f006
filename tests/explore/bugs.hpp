// Programs with an error that only some schedules show, each with its repair. Written anew after reports that
// users filed elsewhere, where `origin` names one.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pilfer/pilfer.hpp>
#include <pilfer/test.hpp>

namespace bugs {

using namespace std::chrono_literals;
using pilfer::test::require;
template <class T>
using shared = pilfer::test::atomic<T>;
using lock = std::unique_lock<pilfer::mutex>;

struct bug {
    const char* name;
    const char* origin; ///< Empty: a classic of textbooks.
    void (*body)(bool repaired);
};

/// Runs both at once.
template <class F, class G>
void both(F f, G g) {
    (void)pilfer::join(f, g);
}

inline void lost_update(bool repaired) {
    shared<int> count{0};
    const auto add = [&] {
        if (repaired) {
            count += 1;
        } else {
            count = count + 1;
        }
    };
    both(add, add);
    require(count == 2, "both additions count");
}

/// The flag changes without the mutex: between the waiter's look and its wait the notification is lost.
inline void notify_without_lock(bool repaired) {
    pilfer::mutex m;
    pilfer::condition_variable changed;
    shared<bool> ready{false};
    both(
        [&] {
            lock l(m);
            while (!ready) {
                changed.wait(l);
            }
        },
        [&] {
            if (repaired) {
                const lock l(m);
                ready = true;
            } else {
                ready = true;
            }
            changed.notify_one();
        });
}

inline void lock_order(bool repaired) {
    pilfer::mutex accounts;
    pilfer::mutex journal;
    both(
        [&] {
            const lock a(accounts);
            const lock b(journal);
        },
        [&] {
            const lock a(repaired ? accounts : journal);
            const lock b(repaired ? journal : accounts);
        });
}

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

inline void check_then_insert(bool repaired) {
    pilfer::mutex m;
    std::map<int, int> cache;
    int computed = 0;
    const auto get = [&] {
        lock l(m);
        if (cache.count(7) != 0) {
            return;
        }
        if (!repaired) {
            l.unlock();
            l.lock();
        }
        ++computed;
        cache[7] = 49;
    };
    both(get, get);
    require(computed == 1, "a value is computed once");
}

/// The look under the lock is missing.
inline void double_checked(bool repaired) {
    pilfer::mutex m;
    shared<bool> made{false};
    int times = 0;
    const auto get = [&] {
        if (made) {
            return;
        }
        const lock l(m);
        if (repaired && made) {
            return;
        }
        ++times;
        made = true;
    };
    both(get, get);
    require(times == 1, "an instance is made once");
}

/// A stack of free cells, by compare and exchange of its top alone.
inline void reused_cell(bool repaired) {
    constexpr unsigned none = 3;
    std::array<shared<unsigned>, 3> next{1U, 2U, none};
    shared<unsigned> top{0}; // the cell, and above it a count of changes
    std::array<shared<int>, 3> owners{0, 0, 0};
    const auto pop = [&]() -> unsigned {
        for (;;) {
            unsigned seen = top;
            const unsigned cell = seen & 255;
            if (cell == none) {
                return none;
            }
            const unsigned then = next[cell] | (repaired ? (seen & ~255U) + 256 : 0);
            if (top.compare_exchange_strong(seen, then)) {
                return cell;
            }
        }
    };
    const auto push = [&](unsigned cell) {
        for (;;) {
            unsigned seen = top;
            next[cell] = seen & 255;
            if (top.compare_exchange_strong(seen, cell | (repaired ? (seen & ~255U) + 256 : 0))) {
                return;
            }
        }
    };
    const auto own = [&](unsigned cell) {
        if (cell != none) {
            require(++owners[cell] == 1, "a cell has one owner");
        }
    };
    both([&] { own(pop()); },
         [&] {
             const unsigned a = pop();
             own(a);
             own(pop());
             if (a != none) {
                 --owners[a];
                 push(a);
             }
             own(pop());
             own(pop());
         });
}

/// A worker that is about to wait misses the stop.
inline void stop_flag(bool repaired) {
    pilfer::mutex m;
    pilfer::condition_variable work;
    shared<bool> stop{false};
    std::vector<int> queue{1};
    both(
        [&] {
            while (!stop) {
                lock l(m);
                if (queue.empty() && !(repaired && stop)) {
                    work.wait(l);
                }
                if (!queue.empty()) {
                    queue.pop_back();
                }
            }
        },
        [&] {
            {
                const lock l(m);
                stop = true;
            }
            work.notify_all();
        });
}

/// The condition is asked once: another consumer may have been faster.
inline void condition_without_loop(bool repaired) {
    pilfer::mutex m;
    pilfer::condition_variable filled;
    std::vector<int> queue;
    int got = 0;
    const auto consume = [&] {
        lock l(m);
        if (repaired) {
            while (queue.empty()) {
                filled.wait(l);
            }
        } else if (queue.empty()) {
            filled.wait(l);
        }
        require(!queue.empty(), "there is something to consume");
        queue.pop_back();
        ++got;
    };
    pilfer::scope s;
    s.fork(consume);
    s.fork(consume);
    for (int i = 0; i < 2; ++i) {
        const lock l(m);
        queue.push_back(i);
        filled.notify_one();
    }
    s.sync();
    require(got == 2);
}

/// Producers and consumers wait for one condition variable, and one of them is woken: perhaps the wrong one.
inline void one_condition_for_two(bool repaired) {
    pilfer::mutex m;
    pilfer::condition_variable changed;
    int filled = 0;
    const auto tell = [&] { repaired ? changed.notify_all() : changed.notify_one(); };
    const auto produce = [&] {
        lock l(m);
        while (filled == 1) {
            changed.wait(l);
        }
        ++filled;
        tell();
    };
    const auto consume = [&] {
        lock l(m);
        while (filled == 0) {
            changed.wait(l);
        }
        --filled;
        tell();
    };
    pilfer::scope s;
    for (int i = 0; i < 2; ++i) {
        s.fork(consume);
        s.fork(produce);
    }
    s.sync();
}

/// Two readers want to write, and each waits for the other to stop reading.
inline void upgrade_of_readers(bool repaired) {
    pilfer::shared_mutex m;
    int value = 0;
    const auto raise = [&] {
        m.lock_shared();
        const int seen = value;
        if (repaired) {
            m.unlock_shared();
        }
        m.lock();
        value = seen + 1;
        m.unlock();
        if (!repaired) {
            m.unlock_shared();
        }
    };
    both(raise, raise);
}

/// The count is read once more after it was lowered.
inline void reference_count(bool repaired) {
    shared<int> count{2};
    int ended = 0;
    const auto release = [&] {
        const int left = count.fetch_sub(1) - 1;
        if ((repaired ? left : count.load()) == 0) {
            ++ended;
        }
    };
    both(release, release);
    require(ended == 1, "an object ends once");
}

/// A weak reference looks whether the object lives, and only then counts itself.
inline void weak_reference(bool repaired) {
    shared<int> count{1};
    shared<bool> alive{true};
    both(
        [&] {
            if (count.fetch_sub(1) == 1) {
                alive = false;
            }
        },
        [&] {
            bool got = false;
            if (repaired) {
                for (int seen = count; seen != 0 && !got;) {
                    got = count.compare_exchange_strong(seen, seen + 1);
                }
            } else if (count != 0) {
                count += 1;
                got = true;
            }
            require(!got || alive, "a locked reference refers to a living object");
        });
}

/// An observer that is called under a lock waits for a task that wants to unsubscribe.
inline void callback_under_lock(bool repaired) {
    pilfer::mutex subject;
    pilfer::mutex window;
    std::vector<int> observers{1};
    both(
        [&] {
            lock l(subject);
            const std::vector<int> copy = observers;
            if (repaired) {
                l.unlock();
            }
            for ([[maybe_unused]] const int one : copy) {
                const lock draws(window);
            }
        },
        [&] {
            const lock closes(window);
            const lock l(subject);
            observers.clear();
        });
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

inline void philosophers(bool repaired) {
    std::array<pilfer::mutex, 3> forks;
    pilfer::scope s;
    for (std::size_t i = 0; i < 3; ++i) {
        s.fork([&, i] {
            std::size_t left = i;
            std::size_t right = (i + 1) % 3;
            if (repaired && right < left) {
                std::swap(left, right);
            }
            const lock a(forks[left]);
            const lock b(forks[right]);
        });
    }
    s.sync();
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
    pilfer::channel<int> queue(1);
    shared<bool> late{false};
    int got = 0;
    both(
        [&] {
            const auto value = queue.try_receive_for(5ms);
            if (value && (repaired || !late)) {
                ++got;
            }
            queue.close();
        },
        [&] {
            pilfer::sleep_for(5ms);
            late = true;
            got += queue.send(1) ? 0 : 1;
        });
    while (queue.receive()) {
        ++got;
    }
    require(got == 1, "the value is received or refused");
}

/// The index is checked before the other task shortens the list.
inline void index_after_erase(bool repaired) {
    pilfer::mutex m;
    std::vector<int> list{1, 2};
    both(
        [&] {
            lock l(m);
            const std::size_t last = list.size() - 1;
            if (!repaired) {
                l.unlock();
                l.lock();
            }
            require(last < list.size(), "the index is within the list");
        },
        [&] {
            const lock l(m);
            list.pop_back();
        });
}

/// The handler is registered after the look, and the cancellation comes in between.
inline void handler_after_look(bool repaired) {
    shared<bool> cancelled{false};
    shared<bool> registered{false};
    shared<int> told{0};
    both(
        [&] {
            if (!repaired && cancelled) {
                told += 1;
                return;
            }
            registered = true;
            if (repaired && cancelled && registered.exchange(false)) {
                told += 1;
            }
        },
        [&] {
            cancelled = true;
            if (registered.exchange(false)) {
                told += 1;
            }
        });
    require(told == 1, "the handler is told once");
}

inline void torn_read(bool repaired) {
    shared<unsigned> version{0};
    shared<int> x{0};
    shared<int> y{0};
    both(
        [&] {
            version += 1;
            x = 1;
            y = 1;
            version += 1;
        },
        [&] {
            for (;;) {
                const unsigned before = version;
                const int a = x;
                const int b = y;
                if (repaired && (before % 2 != 0 || version != before)) {
                    pilfer::yield();
                    continue;
                }
                require(a == b, "both halves are of one version");
                return;
            }
        });
}

/// A lock made of a flag: looked at, then set.
inline void flag_as_lock(bool repaired) {
    shared<bool> taken{false};
    int inside = 0;
    const auto enter = [&] {
        if (repaired) {
            while (taken.exchange(true)) {
                pilfer::yield();
            }
        } else {
            while (taken) {
                pilfer::yield();
            }
            taken = true;
        }
        require(++inside == 1, "one task is inside");
        pilfer::test::point();
        --inside;
        taken = false;
    };
    both(enter, enter);
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

inline constexpr bug all[] = {
    {"lost_update", "", &lost_update},
    {"notify_without_lock", "github.com/maplibre/maplibre-native/pull/2636", &notify_without_lock},
    {"lock_order", "github.com/jubatus/jubatus/issues/180", &lock_order},
    {"answer_and_timeout", "github.com/bnoguchi/everyauth/issues/176", &answer_and_timeout},
    {"check_then_insert", "github.com/lostb1t/remux/issues/353", &check_then_insert},
    {"double_checked", "github.com/CharmedBaryon/CommonLibSSE-NG/issues/112", &double_checked},
    {"reused_cell", "github.com/pmodels/argobots/issues/178", &reused_cell},
    {"stop_flag", "github.com/skalenetwork/skaled/issues/410", &stop_flag},
    {"condition_without_loop", "github.com/AccessKit/accesskit/issues/522", &condition_without_loop},
    {"one_condition_for_two", "github.com/nanocurrency/nano-node/pull/2831", &one_condition_for_two},
    {"upgrade_of_readers", "github.com/osquery/osquery/pull/4721", &upgrade_of_readers},
    {"reference_count", "github.com/steinbergmedia/vst3_base/issues/3", &reference_count},
    {"weak_reference", "github.com/drsnuggles8/OloEngineBase/pull/615", &weak_reference},
    {"callback_under_lock", "github.com/pocoproject/poco/issues/5168", &callback_under_lock},
    {"permit_leak", "github.com/AsyncHttpClient/async-http-client/issues/2189", &permit_leak},
    {"double_release", "github.com/mongodb/mongo-java-driver/pull/699", &double_release},
    {"send_after_look", "github.com/gnacho/netpulse/issues/202", &send_after_look},
    {"first_one_closes", "github.com/golang/go/issues/30372", &first_one_closes},
    {"nobody_closes", "", &nobody_closes},
    {"use_after_scope", "", &use_after_scope},
    {"order_of_futures", "", &order_of_futures},
    {"latch_before_work", "", &latch_before_work},
    {"one_barrier_too_few", "", &one_barrier_too_few},
    {"philosophers", "", &philosophers},
    {"slot_for_the_child", "github.com/jwiegley/async-pool/issues/4", &slot_for_the_child},
    {"pulse", "", &pulse},
    {"value_at_the_limit", "", &value_at_the_limit},
    {"index_after_erase", "", &index_after_erase},
    {"handler_after_look", "", &handler_after_look},
    {"torn_read", "", &torn_read},
    {"flag_as_lock", "", &flag_as_lock},
    {"joins_too_late", "", &joins_too_late},
};

} // namespace bugs
