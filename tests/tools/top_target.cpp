// A program for tests of `pilfer top`: `top_target KIND` makes a state that does not change, says "ready",
// and waits until its standard input ends. A letter m there prints prometheus_text().
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace {

void say_ready() {
    std::puts("ready");
    std::fflush(stdout);
    for (int c; (c = std::getchar()) != EOF;) {
        if (c == 'm') {
            std::fputs((pilfer::prometheus_text() + "# EOF\n").c_str(), stdout);
            std::fflush(stdout);
        }
    }
    std::_Exit(0); // tasks may wait for ever
}

/// Suspended contexts by the counters. A task is counted a moment before its context can be seen. Then both
/// workers have to be asleep: on a busy machine they may search for long.
void await_suspended(const pilfer::pool& p, std::uint64_t n) {
    for (;;) {
        const pilfer::counters c = p.counters();
        if (c.suspends - c.resumes >= n &&
            pilfer::prometheus_text().find("state=\"asleep\"} 2\n") != std::string::npos) {
            return;
        }
        std::this_thread::yield();
    }
}

pilfer::mutex first;
pilfer::mutex second;

/// Two tasks lock two mutexes in opposite orders.
void locks(pilfer::pool& p) {
    static pilfer::barrier both(2);
    const auto task = [](pilfer::mutex& a, pilfer::mutex& b) {
        a.lock();
        both.arrive_and_wait();
        b.lock();
    };
    p.submit({.name = "transfer money"}, [task] { task(first, second); });
    p.submit({.name = "close account"}, [task] { task(second, first); });
    await_suspended(p, 2);
}

/// Tasks that are inside locks of other kinds, and tasks that wait for these.
void holders(pilfer::pool& p) {
    static pilfer::shared_mutex alone, read, outside;
    static pilfer::synchronized<int> plain;
    static pilfer::synchronized<int, pilfer::shared_mutex> shared, by_coroutine;
    static pilfer::monitor<int> gate;
    static pilfer::event never;
    static const pilfer::object_name names[] = {
        {alone, "alone"},   {read, "read"}, {outside, "outside"},          {plain, "plain"},
        {shared, "shared"}, {gate, "gate"}, {by_coroutine, "by coroutine"}};
    outside.lock();
    p.submit({.name = "writer"}, [] {
        alone.lock();
        never.wait();
    });
    p.submit({.name = "reader"}, [] {
        read.lock_shared();
        never.wait();
    });
    p.submit({.name = "in plain"}, [] { plain.call([](int&) { never.wait(); }); });
    p.submit({.name = "in shared"}, [] { shared.call([](int&) { never.wait(); }); });
    p.submit({.name = "in gate"}, [] { gate.call([](int&) { never.wait(); }); });
    const auto inside = [](auto& o) -> pilfer::task<> {
        co_await pilfer::call(o, [](int&) { never.wait(); });
    };
    p.submit({.name = "coroutine"}, [inside] { pilfer::sync_wait(inside(by_coroutine)); });
    await_suspended(p, 6);
    p.submit([] { alone.lock_shared(); });
    p.submit([] { read.lock(); });
    p.submit([] { outside.lock(); });
    p.submit([] { plain.call([](int&) {}); });
    p.submit([] { shared.read([](const int&) {}); });
    p.submit([] { gate.call([](int&) {}); });
    p.submit([] { by_coroutine.call([](int&) {}); });
    await_suspended(p, 13);
}

/// As locks(), with names of the mutexes, one of a structure around them, and many of other objects.
void named(pilfer::pool& p) {
    static std::vector<pilfer::event> others(2'000);
    static std::vector<pilfer::object_name> names;
    for (std::size_t i = 0; i < others.size(); ++i) {
        names.emplace_back(others[i], "event " + std::to_string(i));
    }
    names.emplace_back(first, "an older name");
    names.emplace_back(first, "accounts");
    names.emplace_back(second, "audit \"log\"");
    p.submit({.name = "listener"}, [] { others[1'500].wait(); });
    locks(p);
    await_suspended(p, 3);
}

/// `n` tasks wait for a channel that stays empty.
void waits(pilfer::pool& p, unsigned n) {
    static pilfer::channel<int> queue(1);
    for (unsigned i = 0; i < n; ++i) {
        p.submit([] { (void)queue.receive(); });
    }
    await_suspended(p, n);
}

[[gnu::always_inline]] inline void take_price(pilfer::channel<int>& queue) { (void)queue.receive(); }
[[gnu::noinline]] void serve_customer(pilfer::channel<int>& queue) {
    take_price(queue);
    std::atomic_signal_fence(std::memory_order_seq_cst); // no tail call
}
[[gnu::noinline]] void open_shop(pilfer::channel<int>& queue) {
    serve_customer(queue);
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// A task waits in known functions, and a child of `spawn`, on another stack, waits too.
void stacks(pilfer::pool& p) {
    static pilfer::channel<int> queue(1);
    p.submit({.name = "shop"}, [] { open_shop(queue); });
    p.submit({.name = "branch"}, [] {
        pilfer::scope both;
        both.spawn([] { serve_customer(queue); });
        both.sync();
    });
    await_suspended(p, 3);
}

/// Tasks with names that are not plain ASCII.
void texts(pilfer::pool& p) {
    static pilfer::channel<int> queue(1);
    static const std::string names[] = {
        "Z\xc3\xbcrich",
        "no UTF-8 \xff\xfe",
        "clears the screen \xc2\x9bJ",     // U+009B, which terminals obey
        std::string(63, 'x') + "\xc3\xbc", // the 64th byte is inside a character
        "\xed\xa0\x80",                    // a surrogate
    };
    for (const std::string& name : names) {
        p.submit({.name = name}, [] { (void)queue.receive(); });
    }
    await_suspended(p, std::size(names));
}

/// A task waits for its children, which wait for its future.
void family(pilfer::pool& p) {
    static pilfer::future<void> parent;
    static std::atomic<bool> known{false};
    parent = p.async([] {
        while (!known) {
            std::this_thread::yield();
        }
        pilfer::scope children;
        children.spawn([] {
            pilfer::scope own;
            parent.get();
            own.sync();
        });
        std::atomic<bool> stolen{false};
        children.fork([&stolen] {
            stolen = true;
            parent.get();
        });
        while (!stolen) {
            std::this_thread::yield();
        }
        children.sync();
    });
    known = true;
    await_suspended(p, 3);
}

/// Every worker computes for ever, and a task is queued.
void hogs(pilfer::pool& p) {
    static std::atomic<int> running{0};
    for (unsigned i = 0; i < 2; ++i) {
        p.submit({.name = "endless loop"}, [] {
            for (++running;;) {
                std::this_thread::yield();
            }
        });
    }
    while (running < 2) {
        std::this_thread::yield();
    }
    p.submit([] {});
}

/// The only worker computes for ever beside three tasks in a queue of five places.
void bounded() {
    static pilfer::pool p({.workers = 1, .queue_capacity = 5, .when_full = pilfer::when_full::wait});
    static std::atomic<bool> running{false};
    p.submit([] {
        for (running = true;;) {
            std::this_thread::yield();
        }
    });
    while (!running) {
        std::this_thread::yield();
    }
    for (int i = 0; i < 3; ++i) {
        p.submit([] {});
    }
}

/// One task sleeps and wakes all the time.
void naps(pilfer::pool& p) {
    static std::atomic<int> naps{0};
    p.submit([] {
        for (;; ++naps) {
            pilfer::sleep_for(std::chrono::milliseconds(1));
        }
    });
    while (naps < 20) {
        std::this_thread::yield();
    }
}

/// A timer ticks far away and a task waits for a time: no stall.
void timers(pilfer::pool& p) {
    static pilfer::event never;
    p.submit({.name = "patient"}, [] { pilfer::sleep_for(std::chrono::hours(1)); });
    p.submit({.name = "listener"}, [] { never.wait(); });
    await_suspended(p, 2);
}

int leaves(int depth) {
    if (depth == 0) {
        return 1;
    }
    const auto [a, b] = pilfer::join([=] { return leaves(depth - 1); }, [=] { return leaves(depth - 1); });
    return a + b;
}

/// Tasks begin, wait, resume and end all the time, and none stays.
void busy(pilfer::pool& p) {
    static pilfer::mutex m;
    static std::atomic<bool> ready{false};
    for (int i = 0; i < 4; ++i) {
        p.submit({.name = "busy"}, [] {
            pilfer::channel<int> queue(1);
            for (unsigned round = 0;; ++round) {
                auto later = pilfer::async([round] { return leaves(static_cast<int>(round % 8)); });
                m.lock();
                pilfer::yield();
                m.unlock();
                pilfer::scope s;
                s.fork([&queue] {
                    for (int k = 0; k < 10; ++k) {
                        (void)queue.send(k);
                    }
                });
                for (int k = 0; k < 10; ++k) {
                    (void)queue.receive();
                }
                s.sync();
                (void)later.get();
                ready = true;
            }
        });
    }
    while (!ready) {
        std::this_thread::yield();
    }
}

} // namespace

int main(int count, char** words) {
    const char* const kind = count > 1 ? words[1] : "";
    if (std::strcmp(kind, "none") == 0) {
        say_ready(); // it has the library, and no pool
    }
    const bool quoted = std::strcmp(kind, "quoted") == 0;
    static pilfer::pool& p = *new pilfer::pool(
        {.workers = 2, .name = quoted ? "a\"b\\c" : "target", .debug = {.stall_report = 0}});
    if (std::strcmp(kind, "locks") == 0) {
        locks(p);
    } else if (quoted || std::strcmp(kind, "waits") == 0) {
        waits(p, count > 2 ? static_cast<unsigned>(std::atoi(words[2])) : 3);
    } else if (std::strcmp(kind, "named") == 0) {
        named(p);
    } else if (std::strcmp(kind, "holders") == 0) {
        holders(p);
    } else if (std::strcmp(kind, "stacks") == 0) {
        stacks(p);
    } else if (std::strcmp(kind, "texts") == 0) {
        texts(p);
    } else if (std::strcmp(kind, "family") == 0) {
        family(p);
    } else if (std::strcmp(kind, "hogs") == 0) {
        hogs(p);
    } else if (std::strcmp(kind, "bounded") == 0) {
        bounded();
    } else if (std::strcmp(kind, "naps") == 0) {
        naps(p);
    } else if (std::strcmp(kind, "timers") == 0) {
        timers(p);
    } else if (std::strcmp(kind, "busy") == 0) {
        busy(p);
    } else {
        std::fputs("top_target: unknown kind\n", stderr);
        return 2;
    }
    say_ready();
}
