// Planted errors around mutexes and condition variables.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "explore/bugs_common.hpp"

namespace bugs {

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

} // namespace bugs
