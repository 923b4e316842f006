// Pools: their start and end, and foreign threads.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include <pilfer/pilfer.h>
#include <pilfer/threadpool.h>

#include "faults/watched.hpp"

namespace faults {
namespace {

void start_and_stop(unsigned n) {
    watched_pool p(workers(n));
    expect_equal(p->run([] { return fib_join(12); }), fib_serial(12), "fib by join");
}

void start_automatic() {
    watched_pool p(pilfer::options{});
    expect_equal(p->run([] { return fib_join(12); }), fib_serial(12), "fib by join");
}

[[nodiscard]] pilfer::options pinned(unsigned n, pilfer::pinning how) {
    pilfer::options o = workers(n);
    o.pin = how;
    return o;
}

/// Two pools after each other: the topology is read for each, and a refusal is forgotten.
void pinned_compact() {
    for (int round = 0; round < 2; ++round) {
        watched_pool p(pinned(2, pilfer::pinning::compact));
        expect_equal(p->run([] { return fib_join(12); }), fib_serial(12), "fib by join");
    }
}

/// More workers than CPUs, and thieves that prefer near victims.
void pinned_spread() {
    pilfer::options o = pinned(8, pilfer::pinning::spread);
    o.balance.victim = pilfer::victim::nearest;
    watched_pool p(o);
    expect_equal(p->run([] { return fib_join(12); }), fib_serial(12), "fib by join");
}

/// Threads that are made when they are first needed. If that is refused there are fewer.
void resized() {
    pilfer::options o = workers(2);
    o.max_workers = 6;
    watched_pool p(o);
    for (const unsigned n : {3U, 1U, 6U, 2U}) {
        const unsigned there = p->resize(n);
        if (there < 1 || there > n || there != p->workers()) {
            throw wrong_result("a pool was resized to another number than it says");
        }
        missing += n - there;
        expect_equal(p->run([] { return fib_join(12); }), fib_serial(12), "fib by join");
    }
}

/// A thread that looks, and files that cannot be read.
void governed() {
    pilfer::options o = workers(2);
    o.governor = pilfer::governing::on;
    {
        const harness_code harness;
        o.name = "tencharact"; // no string of its threads' names fits into a small one
    }
    o.advice = [] { return 2U; }; // asks, and changes nothing
    watched_pool p(o);
    missing += p->settings().advice ? 0 : 1; // its thread
    for (int round = 0; round < 20; ++round) {
        expect_equal(p->run([] { return fib_join(12); }), fib_serial(12), "fib by join");
    }
}

/// A task on a pinned worker makes a pool, whose threads must have all CPUs.
void pinned_nested() {
    watched_pool outer(pinned(2, pilfer::pinning::compact));
    const auto body = [] {
        watched_pool inner(pinned(2, pilfer::pinning::spread));
        return inner->run([] { return fib_join(10); });
    };
    expect_equal(outer->run(body), fib_serial(10), "fib in the inner pool");
}

/// Joins, spawns, forked children, futures that a context waits for, and a thread outside.
void record() {
    pilfer::options o;
    o.debug.profile = true;
    watched_pool p(o);
    const auto body = [] {
        std::uint64_t sum = fib_join(6) + fib_spawn(6, never_naps);
        std::atomic<int> ran{0};
        pilfer::scope s;
        const auto f = pilfer::async([] { return fib_join(4); });
        for (int i = 0; i < 3; ++i) {
            s.fork([&ran, f] {
                (void)f.get();
                ran.fetch_add(1, std::memory_order_relaxed);
            });
        }
        s.sync();
        pilfer::for_each(0, 100, [&](int) { ran.fetch_add(1, std::memory_order_relaxed); });
        sum += f.get();
        expect_equal(ran.load(), 103, "forked children and iterations");
        return sum;
    };
    for (int round = 0; round < 2; ++round) {
        expect_equal(p->run(body), 2 * fib_serial(6) + fib_serial(4), "fib while recording");
    }
    expect(p->profile().work_ns >= p->profile().span_ns, "a span that is longer than the work");
}

/// The graph is written too, to a file that no test reads.
void record_graph() {
    {
        const harness_code harness;
        setenv("PILFER_PROFILE_GRAPH", "/dev/null", 1);
    }
    struct unset {
        ~unset() {
            const harness_code harness;
            unsetenv("PILFER_PROFILE_GRAPH");
        }
    };
    const unset at_the_end;
    record();
}

void foreign_threads() {
    watched_pool p(workers(2));
    std::atomic<std::uint64_t> sum{0};
    const auto submit = [&] {
        for (unsigned i = 0; i < 10; ++i) {
            sum += p->run([] { return fib_spawn(7, never_naps); });
        }
    };
    foreign_thread first(submit);
    foreign_thread second(submit);
    foreign_thread third(submit);
    first.join();
    second.join();
    third.join();
    expect_equal(sum.load(), 30 * fib_serial(7), "sum over foreign threads");
}

/// A pool made and destroyed inside a task. Its tasks fork children into the outer one.
void nested_pools() {
    watched_pool outer(workers(2));
    std::atomic<int> ran{0};
    const auto body = [&] {
        pilfer::scope s;
        watched_pool inner(workers(2));
        const auto below = [&] {
            for (int i = 0; i < 20; ++i) {
                s.fork([&] { ran.fetch_add(1, std::memory_order_relaxed); });
            }
            return fib_join(10);
        };
        const std::uint64_t result = inner->run(below);
        s.sync();
        return result;
    };
    expect_equal(outer->run(body), fib_serial(10), "fib in the inner pool");
    expect_equal(ran.load(), 20, "children given to the outer pool");
}

void drain() {
    std::atomic<int> ran{0};
    std::atomic<int> inner{0};
    int accepted = 0;
    watched_pool p(workers(2));
    for (; accepted < 60; ++accepted) {
        p->async([&] {
            nap();
            ran.fetch_add(1, std::memory_order_relaxed);
            try {
                inner += p->async([] { return 1; }).get(); // not refused: it belongs to an accepted task
            } catch (const std::bad_alloc&) {
                inner += 1;
            }
        });
    }
    foreign_thread other([&] { p->shutdown(); });
    p->shutdown();
    expect_equal(ran.load(), accepted, "tasks run when shutdown returned");
    expect_equal(inner.load(), accepted, "futures made while draining");
    other.join();
    int refused = 0;
    try {
        p->run([] {});
    } catch (const pilfer::pool_closed&) {
        ++refused;
    }
    try {
        p->async([] {});
    } catch (const pilfer::pool_closed&) {
        ++refused;
    }
    expect_equal(refused, 2, "what a closed pool refused");
}

/// How the waiter for a dropped task learns of it: by broken_promise, or for want of memory by bad_alloc.
template <class Wait>
[[nodiscard]] bool was_dropped(Wait wait) {
    try {
        wait();
    } catch (const pilfer::broken_promise&) {
        return true;
    }
    return false;
}

/// One worker inside a task. Queued after it: futures, a run() and a child of another pool that drop must
/// end.
void drop() {
    enum class stage { before, inside, failed };
    std::atomic<stage> now{stage::before};
    std::atomic<bool> open{false};
    std::atomic<int> dropped{0};
    struct opener {
        std::atomic<bool>& open;
        ~opener() { open = true; }
    };
    watched_pool p(workers(1));
    watched_pool other(workers(1));
    const opener before_the_pools{open}; // they wait for the task
    auto gate = p->async([&] {
        pilfer::scope s;
        try {
            // Through the submissions. This task does not suspend: p's only worker would run the child.
            auto sent = other->async([&] { s.fork([&] { dropped = -1000; }); });
            while (!sent.ready()) {
                sched_yield();
            }
            sent.get();
            now = stage::inside;
        } catch (...) {
            now = stage::failed;
            throw;
        }
        while (!open) {
            sched_yield();
        }
        s.sync();
    });
    while (now == stage::before) {
        sched_yield();
    }
    if (now == stage::failed) {
        gate.get();
    }
    auto waiting = reserved<pilfer::future<int>>(8);
    for (int i = 0; i < 8; ++i) {
        waiting.push_back(p->async([] { return 1; }));
    }
    foreign_thread runner([&] {
        try {
            dropped += was_dropped([&] { p->run([] {}); }) ? 1 : 0;
        } catch (const pilfer::pool_closed&) {
            dropped += 1; // too late to be dropped
        }
    });
    foreign_thread closer([&] { p->shutdown(pilfer::shutdown_mode::drop); });
    const opener before_the_threads{open};
    // Closed once it refuses work: until then the task must stay, or nothing is left to be dropped.
    for (bool closed = false; !closed;) {
        const harness_code harness;
        try {
            (void)p->async([] {});
            nap();
        } catch (const pilfer::pool_closed&) {
            closed = true;
        }
    }
    open = true;
    for (const auto& f : waiting) {
        dropped += was_dropped([&] { (void)f.get(); }) ? 1 : 0;
    }
    dropped += was_dropped([&] { gate.get(); }) ? 1 : 0;
    closer.join();
    runner.join();
    expect_equal(dropped.load(), 10, "tasks dropped");
}

/// Lists and threads under one lock. Nothing in here may get stuck: a temporary thread may not be had.
void one_lock() {
    pilfer::options o = workers(2);
    o.backend = pilfer::backend::one_lock;
    watched_pool p(o);
    std::atomic<int> ran{0};
    const auto body = [&] {
        auto many = reserved<pilfer::future<std::uint64_t>>(10);
        for (int i = 0; i < 10; ++i) {
            many.push_back(pilfer::async([] { return fib_join(5); }));
        }
        const auto behind = many[0].then([](std::uint64_t n) { return n; });
        std::uint64_t sum = 0;
        for (const auto& f : many) {
            sum += f.get();
        }
        p->submit([&] { ran.fetch_add(1, std::memory_order_relaxed); });
        return sum + behind.get();
    };
    expect_equal(p->run(body), 11 * fib_serial(5), "futures inside");
    expect_equal(p->async(body).get(), 11 * fib_serial(5), "futures from outside");
    p->shutdown();
    expect_equal(ran.load(), 2, "tasks that nobody waits for");
}

/// Children that a foreign thread forks into the common pool.
void common() {
    std::atomic<int> ran{0};
    pilfer::scope s;
    for (int i = 0; i < 30; ++i) {
        s.fork([&] { ran.fetch_add(1, std::memory_order_relaxed); });
        s.spawn([&] { ran.fetch_add(1, std::memory_order_relaxed); });
    }
    s.sync();
    expect_equal(ran.load(), 60, "children of a scope outside");
    expect_equal(fib_join(10), fib_serial(10), "fib by join outside");
    pilfer::for_each(0, 100, [&](int) { ran.fetch_add(1, std::memory_order_relaxed); });
    expect_equal(ran.load(), 160, "for_each outside");
    expect_equal(pilfer::async([] { return 7; }).get(), 7, "async outside");
}

/// C gets a null pointer if a call is refused; then the task computes the value itself.
void* fib_for_c(thread_pool* pool, void* data) {
    const auto n = reinterpret_cast<std::uintptr_t>(data);
    if (n < 2) {
        return data;
    }
    void* const below = reinterpret_cast<void*>(n - 1);
    future* const first = thread_pool_submit(pool, fib_for_c, below);
    const auto b = reinterpret_cast<std::uintptr_t>(fib_for_c(pool, reinterpret_cast<void*>(n - 2)));
    const auto a =
        reinterpret_cast<std::uintptr_t>(first != nullptr ? future_get(first) : fib_for_c(pool, below));
    future_free(first);
    return reinterpret_cast<void*>(a + b);
}

/// All three threads or none; futures that outlive them.
void threadpool() {
    thread_pool* const pool = thread_pool_new(3);
    if (pool == nullptr) {
        throw refused();
    }
    std::vector<future*> futures = reserved<future*>(20);
    bool all = true;
    for (int i = 0; i < 20; ++i) {
        futures.push_back(thread_pool_submit(pool, fib_for_c, reinterpret_cast<void*>(6)));
        all = all && futures.back() != nullptr;
    }
    thread_pool_shutdown_and_destroy(pool);
    for (future* const f : futures) {
        if (f != nullptr) {
            expect_equal(reinterpret_cast<std::uintptr_t>(future_get(f)), fib_serial(6), "fib for C");
        }
        future_free(f);
    }
    if (!all) {
        throw refused();
    }
}

void count_one(void* counter) { static_cast<std::atomic<int>*>(counter)->fetch_add(1); }

/// Codes, which become the exceptions that they were.
void expect_code(int code) {
    if (code == PILFER_ENOMEM) {
        throw std::bad_alloc();
    }
    if (code == PILFER_ESYSTEM) {
        throw refused();
    }
    expect(code == 0, pilfer_strerror(code));
}

void c_interface() {
    struct owner {
        pilfer_options* options = nullptr;
        pilfer_pool* pool = nullptr;
        pilfer_future* future = nullptr;
        ~owner() {
            pilfer_future_free(future);
            (void)pilfer_pool_destroy(pool);
            pilfer_options_free(options);
        }
    } c;
    expect_code(pilfer_options_new(&c.options));
    expect_code(pilfer_options_set(c.options, "workers", "1"));
    expect_code(pilfer_options_set(c.options, "balance", "half,random"));
    expect_code(pilfer_pool_new(&c.pool, c.options));
    struct work {
        std::atomic<int> ran{0};
        int code = 0;
        int announced = 0;
    } w;
    const auto body = [](void* data) {
        auto& self = *static_cast<work*>(data);
        pilfer_scope s;
        (void)pilfer_scope_begin(&s);
        for (int i = 0; i < 20; ++i) {
            const int code = pilfer_scope_fork(&s, count_one, &self.ran);
            self.code = code != 0 ? code : self.code;
            self.announced += code == 0 ? 2 : 1;
            (void)pilfer_scope_spawn(&s, count_one, &self.ran);
        }
        (void)pilfer_scope_end(&s);
    };
    expect_code(pilfer_pool_run(c.pool, body, &w));
    expect_equal(w.ran.load(), w.announced, "children for C");
    expect_code(w.code);
    expect_code(pilfer_async(
        c.pool, [](void* p) { return p; }, &w, &c.future));
    void* result = nullptr;
    expect_code(pilfer_future_get(c.future, &result));
    expect(result == &w, "a result for C");
}

/// Deeper than any stack, so that it runs off this one.
[[gnu::noinline]] std::uint64_t endless(std::uint64_t n) {
    if (n == UINT64_MAX) {
        return 0;
    }
    volatile char frame[2048];
    frame[n % sizeof frame] = 1;
    frame[0] = 0;
    return endless(n + 1) + static_cast<std::uint64_t>(frame[0]);
}

void overflow() {
    watched_pool p(workers(1));
    (void)p->run([] { return endless(0); });
    expect(false, "an endless recursion ended");
}

/// Names, priorities, and the calls at the beginning and the end of each thread.
void own_threads() {
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    pilfer::options o = workers(2);
    {
        const harness_code harness;
        o.name = "faulty";
        o.priority = 1;
        o.on_start = [&](unsigned) { begun.fetch_add(1, std::memory_order_relaxed); };
        o.on_stop = [&](unsigned) { ended.fetch_add(1, std::memory_order_relaxed); };
    }
    unsigned n = 0;
    {
        watched_pool p(o);
        n = p->workers();
        expect_equal(begun.load(), n, "threads that have begun behind the constructor");
        expect_equal(p->run([] { return fib_join(8); }), fib_serial(8), "fib");
    }
    expect_equal(ended.load(), n, "threads that have ended behind the destructor");
}

/// Threads outside that work while they wait, for a latch and for a condition.
void guests() {
    pilfer::options o = workers(1);
    o.attachable = 2;
    std::atomic<int> ran{0};
    std::atomic<int> refused{0};
    watched_pool p(o);
    const auto visit = [&] {
        const auto here = p->attach();
        for (int i = 0; i < 5; ++i) {
            expect_equal(p->run([] { return fib_join(6) + fib_spawn(5, 1); }), fib_serial(6) + fib_serial(5),
                         "fib of a guest");
            try {
                p->submit([&] {
                    nap();
                    ran.fetch_add(1);
                    p->notify();
                });
            } catch (const std::bad_alloc&) {
                refused.fetch_add(1);
            }
        }
        p->run_until([&] { return ran + refused >= 5; });
    };
    foreign_thread other(visit);
    visit();
    other.join();
    p->shutdown();
    expect_equal(ran + refused, 10, "tasks of guests");
}

/// Three levels, and values of workers.
void levels() {
    using pilfer::priority;
    pilfer::worker_local<int> sum([] { return 0; });
    std::atomic<int> ran{0};
    watched_pool p(workers(2)); // after what its tasks use: after a failed async no code waits for them
    const auto body = [&](priority level) {
        auto many = reserved<pilfer::future<void>>(6);
        for (int i = 0; i < 6; ++i) {
            many.push_back(p->async({.priority = level}, [&] {
                ++*sum.lease();
                ran.fetch_add(1, std::memory_order_relaxed);
            }));
        }
        for (const auto& f : many) {
            f.get();
        }
    };
    for (const auto level : {priority::low, priority::high, priority::normal}) {
        p->run({.priority = level}, [&] { body(level); });
        body(level);
    }
    expect_equal(ran.load(), 36, "tasks of three levels");
    int all = 0;
    sum.for_each([&](const int& part) { all += part; });
    expect_equal(all, 36, "values of workers");
}

/// The child continues the scenario; its parent ends with the child's status.
void forked() {
    auto* const parents = new watched_pool(workers(2));
    expect_equal((*parents)->run([] { return fib_join(8); }), fib_serial(8), "fib in the parent");
    {
        const harness_code harness;
        if (const pid_t child = fork(); child != 0) {
            int status = -1;
            waitpid(child, &status, 0);
            if (WIFSIGNALED(status)) {
                signal(WTERMSIG(status), SIG_DFL);
                raise(WTERMSIG(status));
            }
            _exit(child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
        }
    }
    bool told = false;
    try {
        (*parents)->run([] {});
    } catch (const pilfer::pool_forked&) {
        told = true;
    }
    expect(told, "a pool of the parent took a task");
    delete parents;
    {
        watched_pool mine(workers(2));
        expect_equal(mine->run([] { return fib_join(10); }), fib_serial(10), "fib in the child");
    }
    common();
}

constexpr scenario list[] = {
    {"start_1", [] { start_and_stop(1); }},
    {"start_2", [] { start_and_stop(2); }},
    {"start_8", [] { start_and_stop(8); }},
    {"start_automatic", start_automatic},
    {"pinned_compact", pinned_compact},
    {"pinned_spread", pinned_spread},
    {"pinned_nested", pinned_nested},
    {"resize", resized},
    {"governor", governed},
    {"own_threads", own_threads},
    {"guests", guests},
    {"levels", levels},
    {"record", record},
    {"record_graph", record_graph},
    {"foreign_threads", foreign_threads},
    {"nested_pools", nested_pools},
    {"drain", drain},
    {"drop", drop},
    {"one_lock", one_lock},
    {"common", common, true},
    {"forked", forked, true},
    {"threadpool", threadpool},
    {"c_interface", c_interface},
    {"overflow", overflow},
};

} // namespace

std::span<const scenario> pool_scenarios() { return list; }

void works_again(bool common) {
    pilfer::pool p(workers(2));
    expect_equal(p.workers(), 2, "workers afterwards");
    expect_equal(p.run([] { return fib_join(12) + fib_spawn(9, never_naps); }),
                 fib_serial(12) + fib_serial(9), "fib afterwards");
    if (common) {
        expect_equal(fib_join(12), fib_serial(12), "fib in common() afterwards");
    }
}

} // namespace faults
