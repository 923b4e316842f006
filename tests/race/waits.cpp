// Races beside futures, locks, channels and the like.
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include <pilfer/channel.hpp>
#include <pilfer/event.hpp>
#include <pilfer/future.hpp>
#include <pilfer/latch.hpp>
#include <pilfer/mutex.hpp>
#include <pilfer/shared_mutex.hpp>

#include "cases.hpp"

using cases::keep;

PLANTED(read_before_get, "a task's result outside of its future") {
    int x = 0;
    auto f = pilfer::async([&] { x = 1; }); // races
    const int seen = x;                     // races
    f.get();
    keep(seen);
}
REPAIRED(read_before_get) {
    int x = 0;
    auto f = pilfer::async([&] { x = 1; });
    f.get();
    const int seen = x;
    keep(seen);
}

PLANTED(another_future, "two futures, and get() of the other one") {
    int a = 0;
    int b = 0;
    auto first = pilfer::async([&] { a = 1; });
    auto second = pilfer::async([&] { b = 2; }); // races
    first.get();
    keep(a + b); // races
    second.get();
}
REPAIRED(another_future) {
    int a = 0;
    int b = 0;
    auto first = pilfer::async([&] { a = 1; });
    auto second = pilfer::async([&] { b = 2; });
    first.get();
    second.get();
    keep(a + b);
}

namespace {

struct account {
    pilfer::mutex lock;
    int balance = 100;
};

} // namespace

PLANTED(reader_without_lock, "the reader forgets the lock") {
    account a;
    int seen = 0;
    pilfer::scope all;
    all.fork([&] {
        const std::lock_guard hold(a.lock);
        a.balance -= 10; // races
    });
    all.fork([&] { seen = a.balance; }); // races
    all.sync();
    keep(seen);
}
REPAIRED(reader_without_lock) {
    account a;
    int seen = 0;
    pilfer::scope all;
    all.fork([&] {
        const std::lock_guard hold(a.lock);
        a.balance -= 10;
    });
    all.fork([&] {
        const std::lock_guard hold(a.lock);
        seen = a.balance;
    });
    all.sync();
    keep(seen);
}

PLANTED(two_locks, "one object and two locks") {
    int value = 0;
    pilfer::mutex of_a;
    pilfer::mutex of_b;
    pilfer::join(
        [&] {
            const std::lock_guard hold(of_a);
            ++value; // races
        },
        [&] {
            const std::lock_guard hold(of_b);
            ++value; // races
        });
    keep(value);
}
REPAIRED(two_locks) {
    int value = 0;
    pilfer::mutex lock;
    pilfer::join(
        [&] {
            const std::lock_guard hold(lock);
            ++value;
        },
        [&] {
            const std::lock_guard hold(lock);
            ++value;
        });
    keep(value);
}

PLANTED(writer_with_shared_lock, "a writer that takes the lock of the readers") {
    int value = 0;
    pilfer::shared_mutex lock;
    pilfer::join(
        [&] {
            const std::shared_lock hold(lock);
            ++value; // races
        },
        [&] {
            const std::shared_lock hold(lock);
            ++value; // races
        });
    keep(value);
}
REPAIRED(writer_with_shared_lock) {
    int value = 0;
    pilfer::shared_mutex lock;
    pilfer::join(
        [&] {
            const std::unique_lock hold(lock);
            ++value;
        },
        [&] {
            const std::shared_lock hold(lock);
            keep(value);
        });
}

PLANTED(changed_after_send, "an object that is changed after it was sent") {
    pilfer::channel<std::shared_ptr<int>> queue(4);
    pilfer::scope both;
    both.fork([&] {
        const auto item = std::make_shared<int>(1);
        (void)queue.send(item);
        *item = 2; // races
        queue.close();
    });
    while (auto item = queue.receive()) {
        const int seen = **item; // races
        keep(seen);
    }
    both.sync();
}
REPAIRED(changed_after_send) {
    pilfer::channel<std::shared_ptr<int>> queue(4);
    pilfer::scope both;
    both.fork([&] {
        const auto item = std::make_shared<int>(1);
        *item = 2;
        (void)queue.send(item);
        queue.close();
    });
    while (auto item = queue.receive()) {
        const int seen = **item;
        keep(seen);
    }
    both.sync();
}

PLANTED(set_before_write, "an event that is set too early") {
    int data = 0;
    pilfer::event ready;
    pilfer::scope both;
    both.fork([&] {
        ready.set();
        data = 1; // races
    });
    ready.wait();
    const int seen = data; // races
    both.sync();
    keep(seen);
}
REPAIRED(set_before_write) {
    int data = 0;
    pilfer::event ready;
    pilfer::scope both;
    both.fork([&] {
        data = 1;
        ready.set();
    });
    ready.wait();
    const int seen = data;
    both.sync();
    keep(seen);
}

PLANTED(latch_too_small, "a latch that expects one arrival too few") {
    std::vector<int> part(2);
    pilfer::latch done(1);
    pilfer::scope all;
    all.fork([&] {
        part[0] = 1; // races
    });
    all.fork([&] {
        part[1] = 1;
        done.count_down();
    });
    done.wait();
    keep(part[0] + part[1]); // races
    all.sync();
}
REPAIRED(latch_too_small) {
    std::vector<int> part(2);
    pilfer::latch done(2);
    pilfer::scope all;
    all.fork([&] {
        part[0] = 1;
        done.count_down();
    });
    all.fork([&] {
        part[1] = 1;
        done.count_down();
    });
    done.wait();
    keep(part[0] + part[1]);
    all.sync();
}

namespace {

struct checked_twice {
    pilfer::mutex lock;
    bool ready = false;
    int value = 0;

    int get() {
        if (!ready) { // races
            const std::lock_guard hold(lock);
            if (!ready) {
                value = 7;    // races
                ready = true; // races
            }
        }
        return value; // races
    }
    int get_locked() {
        const std::lock_guard hold(lock);
        if (!ready) {
            value = 7;
            ready = true;
        }
        return value;
    }
};

} // namespace

PLANTED(double_checked, "double-checked locking with a plain bool") {
    checked_twice c;
    pilfer::join([&] { keep(c.get()); }, [&] { keep(c.get()); });
}
REPAIRED(double_checked) {
    checked_twice c;
    pilfer::join([&] { keep(c.get_locked()); }, [&] { keep(c.get_locked()); });
}

PLANTED(continuation_and_caller, "a continuation beside its caller") {
    std::string text;
    auto f = pilfer::async([] { return 1; }).then([&](int n) { text.assign(std::size_t(n), 'x'); }); // races
    text.clear();                                                                                    // races
    f.get();
    keep(text);
}
REPAIRED(continuation_and_caller) {
    std::string text;
    auto f = pilfer::async([] { return 1; }).then([&](int n) { text.assign(std::size_t(n), 'x'); });
    f.get();
    text.clear();
    keep(text);
}

PLANTED(event_of_the_element_before, "an element of a reduction relies on the wait of the one before it") {
    long data = 0;
    pilfer::event ready;
    pilfer::scope both;
    both.fork([&] {
        data = 1; // races
        ready.set();
    });
    const auto element = [&](int i) {
        if (i == 9) {
            ready.wait();
        }
        return i == 10 ? data : 0; // races
    };
    keep(pilfer::reduce(0, 32, 0L, element, std::plus<>{}));
    both.sync();
}
REPAIRED(event_of_the_element_before) {
    long data = 0;
    pilfer::event ready;
    pilfer::scope both;
    both.fork([&] {
        data = 1;
        ready.set();
    });
    const auto element = [&](int i) {
        if (i == 10) {
            ready.wait();
        }
        return i == 10 ? data : 0;
    };
    keep(pilfer::reduce(0, 32, 0L, element, std::plus<>{}));
    keep(data + 1);
    both.sync();
}

PLANTED(event_beside_an_operation, "an operation of a reduction relies on a wait of an element beside it") {
    long first = 0;
    long second = 0;
    pilfer::event has_first;
    pilfer::event has_second;
    pilfer::scope all;
    all.fork([&] {
        first = 1;
        has_first.set();
    });
    all.fork([&] {
        second = 1; // races
        has_second.set();
    });
    const auto element = [&](long i) {
        if (i == 3) {
            has_second.wait();
        }
        if (i == 20) {
            has_first.wait();
        }
        return i;
    };
    const auto operation = [&](long a, long b) { return a + (a == 16 && b == 24 ? second : 0); }; // races
    keep(pilfer::reduce(0L, 32L, 0L, element, operation));
    all.sync();
}
REPAIRED(event_beside_an_operation) {
    long first = 0;
    long second = 0;
    pilfer::event has_first;
    pilfer::event has_second;
    pilfer::scope all;
    all.fork([&] {
        first = 1;
        has_first.set();
    });
    all.fork([&] {
        second = 1;
        has_second.set();
    });
    const auto element = [&](long i) {
        if (i == 3) {
            has_first.wait();
        }
        if (i == 20) {
            has_second.wait();
        }
        return i;
    };
    const auto operation = [&](long a, long b) {
        if (a == 0 && b == 8) {
            keep(first + 1);
        }
        if (a == 0 && b == 16) {
            keep(first + second); // after all elements
        }
        return a;
    };
    keep(pilfer::reduce(0L, 32L, 0L, element, operation));
    keep(first + second);
    all.sync();
}

PLANTED(event_between_elements, "an operation writes what an element beside it has waited for") {
    long data = 0;
    pilfer::event ready;
    const auto element = [&](long i) {
        if (i == 9) {
            data = 1;
            ready.set();
        }
        if (i == 20) {
            ready.wait();
            return i + data - 1; // races
        }
        return i;
    };
    const auto operation = [&](long a, long b) {
        if (a == 8 && b == 12) {
            data = 1; // races
        }
        return a;
    };
    keep(pilfer::reduce(0L, 32L, 0L, element, operation));
}
REPAIRED(event_between_elements) {
    long data = 0;
    pilfer::event ready;
    const auto element = [&](long i) {
        if (i == 9) {
            data = 1;
            ready.set();
        }
        if (i == 20) {
            ready.wait();
            return i + data - 1;
        }
        return i;
    };
    const auto operation = [&](long a, long b) {
        if (a == 0 && b == 16) {
            data = 1;
        }
        return a;
    };
    keep(pilfer::reduce(0L, 32L, 0L, element, operation));
}
