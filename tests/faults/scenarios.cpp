#include "faults/scenarios.hpp"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace faults {
namespace {

std::atomic<unsigned> missing{0};
std::atomic<bool> plain{false};

void expect(bool right, const char* what) {
    if (!right) {
        const harness_code harness;
        throw wrong_result{what};
    }
}

template <class T, class U>
void expect_equal(const T& got, const U& wanted, const char* what) {
    if (got != static_cast<T>(wanted)) {
        const harness_code harness;
        throw wrong_result{std::string(what) + ": " + std::to_string(got) + " instead of " +
                           std::to_string(wanted)};
    }
}

/// Room for `n` elements, which is no concern of the library.
template <class T>
[[nodiscard]] std::vector<T> reserved(std::size_t n) {
    const harness_code harness;
    std::vector<T> v;
    v.reserve(n);
    return v;
}

/// A pool that reports what it had to do without.
class watched_pool {
public:
    explicit watched_pool(const pilfer::options& o) : m_pool(o), m_bounded(o.max_contexts != 0) {
        if (o.workers != 0) {
            missing += o.workers - m_pool.workers();
        }
        expect(m_pool.workers() >= 1 && m_pool.workers() == m_pool.settings().workers, "number of workers");
    }
    ~watched_pool() {
        if (!m_bounded && m_pool.counters().no_context != 0) {
            plain = true;
        }
    }
    watched_pool(const watched_pool&) = delete;
    watched_pool& operator=(const watched_pool&) = delete;

    pilfer::pool* operator->() { return &m_pool; }
    pilfer::pool& operator*() { return m_pool; }

private:
    pilfer::pool m_pool;
    bool m_bounded;
};

[[nodiscard]] pilfer::options workers(unsigned n) {
    pilfer::options o;
    o.workers = n;
    return o;
}

/// A thread of the program's own; without one the scenario does with less.
class foreign_thread {
public:
    template <class F>
    explicit foreign_thread(F f) {
        const harness_code harness;
        m_thread = std::thread([this, f] {
            try {
                f();
            } catch (...) {
                m_error = std::current_exception();
            }
        });
    }
    foreign_thread(const foreign_thread&) = delete;
    foreign_thread& operator=(const foreign_thread&) = delete;
    ~foreign_thread() { end(); }
    /// Waits, and throws what the thread threw.
    void join() {
        end();
        if (m_error) {
            std::rethrow_exception(std::exchange(m_error, nullptr));
        }
    }

private:
    void end() {
        if (m_thread.joinable()) {
            m_thread.join();
        }
    }
    std::exception_ptr m_error;
    std::thread m_thread;
};

void nap() {
    const timespec t{0, 50'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
}

std::uint64_t fib_serial(unsigned n) { return n < 2 ? n : fib_serial(n - 1) + fib_serial(n - 2); }

std::uint64_t fib_join(unsigned n) {
    if (n < 2) {
        return n;
    }
    auto [a, b] = pilfer::join([n] { return fib_join(n - 1); }, [n] { return fib_join(n - 2); });
    return a + b;
}

/// The children nap, so that others have the time to steal what follows them.
std::uint64_t fib_spawn(unsigned n, unsigned napping) {
    if (n < 2) {
        return n;
    }
    std::uint64_t a = 0;
    pilfer::scope s;
    s.spawn([&a, n, napping] {
        if (n % 4 == napping) {
            nap();
        }
        a = fib_spawn(n - 1, napping);
    });
    const std::uint64_t b = fib_spawn(n - 2, napping);
    s.sync();
    return a + b;
}

constexpr unsigned never_naps = 99;

void start_and_stop(unsigned n) {
    watched_pool p(workers(n));
    expect_equal(p->run([] { return fib_join(12); }), fib_serial(12), "fib by join");
}

void start_automatic() {
    watched_pool p(pilfer::options{});
    expect_equal(p->run([] { return fib_join(12); }), fib_serial(12), "fib by join");
}

/// Every level keeps a stack, and after 256 of them a larger ring: `n` nested children.
std::uint64_t nested(std::uint64_t n) {
    if (n == 0) {
        return 0;
    }
    std::uint64_t below = 0;
    pilfer::scope s;
    s.spawn([&below, n] { below = nested(n - 1); });
    s.sync();
    return below + 1;
}

void spawn_deep(unsigned n) {
    pilfer::options o = workers(n);
    o.stack_size = std::size_t{512} * 1024; // all of them fit on one, where no other can be had
    watched_pool p(o);
    expect_equal(p->run([] { return nested(600); }), 600, "nested spawns");
}

void spawn_stolen() {
    watched_pool p(workers(8));
    expect_equal(p->run([] { return fib_spawn(12, 0); }), fib_serial(12), "fib by spawn");
}

/// Stacks so large that each is a mapping of its own, which goes back to the system afterwards.
void large_stacks() {
    pilfer::options o = workers(2);
    o.stack_size = std::size_t{8} << 20;
    watched_pool p(o);
    expect_equal(p->run([] { return nested(40); }), 40, "nested spawns");
}

void bounded(unsigned contexts) {
    pilfer::options o = workers(2);
    o.max_contexts = contexts;
    watched_pool p(o);
    expect_equal(p->run([] { return fib_spawn(11, 0) + nested(20); }), fib_serial(11) + 20, "spawns");
}

/// The test mode: every join goes on elsewhere, and every deque is pinned.
void elsewhere() {
    pilfer::options o = workers(3);
    o.resume = pilfer::resume::elsewhere;
    watched_pool p(o);
    expect_equal(p->run([] { return fib_join(9) + fib_spawn(8, never_naps); }), fib_serial(9) + fib_serial(8),
                 "fib");
}

void own_thread() {
    pilfer::options o = workers(3);
    o.resume = pilfer::resume::own_thread;
    watched_pool p(o);
    expect_equal(p->run([] { return fib_join(12) + fib_spawn(9, 0); }), fib_serial(12) + fib_serial(9), "fib");
}

/// `n` deferred children of `Bytes` bytes. All that were accepted run, also when one of them was not.
template <std::size_t Bytes>
void defer_many(unsigned threads, std::size_t n) {
    watched_pool p(workers(threads));
    std::atomic<std::size_t> ran{0};
    std::atomic<std::size_t> accepted{0};
    const auto all = [&] {
        struct child {
            std::atomic<std::size_t>* ran;
            std::array<std::byte, Bytes - sizeof(void*)> rest;
            void operator()() const { ran->fetch_add(1, std::memory_order_relaxed); }
        };
        pilfer::scope s;
        for (std::size_t i = 0; i < n; ++i) {
            s.defer(child{&ran, {}});
            accepted.fetch_add(1, std::memory_order_relaxed);
        }
        s.sync();
        expect_equal(accepted.load(), n, "children accepted");
    };
    try {
        p->run(all);
    } catch (const std::bad_alloc&) {
        expect_equal(ran.load(), accepted.load(), "children run after one was refused");
        throw;
    }
    expect_equal(ran.load(), accepted.load(), "children run");
}

/// Children of children, announced from below the scope.
void defer_below() {
    watched_pool p(workers(4));
    std::atomic<std::size_t> ran{0};
    p->run([&] {
        pilfer::scope s;
        for (int i = 0; i < 40; ++i) {
            s.defer([&] {
                nap();
                for (int k = 0; k < 20; ++k) {
                    s.defer([&] { ran.fetch_add(1, std::memory_order_relaxed); });
                }
            });
        }
        s.sync();
    });
    expect_equal(ran.load(), 800U, "children of children");
}

void futures_from_outside() {
    watched_pool p(workers(2));
    auto all = reserved<pilfer::future<int>>(150);
    for (int i = 0; i < 150; ++i) {
        all.push_back(p->async([i] { return i; }));
    }
    int sum = 0;
    for (const auto& f : all) {
        sum += f.get();
    }
    expect_equal(sum, 150 * 149 / 2, "sum of futures");
}

/// Futures of futures, more than the first ring holds, and waits that suspend.
void futures_inside() {
    watched_pool p(workers(3));
    const auto body = [] {
        auto all = reserved<pilfer::future<int>>(300);
        for (int i = 0; i < 300; ++i) {
            all.push_back(pilfer::async([i] {
                if (i % 32 == 0) {
                    nap();
                    return pilfer::async([i] { return i; }).get();
                }
                return i;
            }));
        }
        int sum = 0;
        for (const auto& f : all) {
            sum += f.get();
        }
        return sum;
    };
    expect_equal(p->run(body), 300 * 299 / 2, "sum of futures");
}

void loops() {
    watched_pool p(workers(4));
    constexpr int n = 20'000;
    std::atomic<std::uint64_t> sum{0};
    p->run([&] {
        pilfer::for_each(0, n, [&](int i) {
            if (i % 4096 == 0) {
                nap();
            }
            sum.fetch_add(static_cast<std::uint64_t>(i), std::memory_order_relaxed);
        });
    });
    expect_equal(sum.load(), std::uint64_t{n} * (n - 1) / 2, "for_each");
    const auto squares = p->run([] {
        return pilfer::reduce(
            0, n, std::uint64_t{0}, [](int i) { return static_cast<std::uint64_t>(i) & 3; },
            std::plus<std::uint64_t>{});
    });
    expect_equal(squares, n / 4 * 6, "reduce");
}

struct own_error {
    int number;
};

/// Exceptions need memory too; libstdc++ keeps some for when there is none.
void exceptions() {
    watched_pool p(workers(3));
    for (int i = 0; i < 12; ++i) {
        try {
            p->run([i] {
                pilfer::scope s;
                s.defer([] { nap(); });
                s.spawn([i] {
                    nap();
                    throw own_error{i};
                });
                const auto fail = [] {
                    nap();
                    throw own_error{-1};
                };
                pilfer::join([] { return fib_join(5); }, [&] {
                    try {
                        pilfer::join(fail, [] { return 1; });
                    } catch (const own_error&) {
                        nap();
                    }
                });
                s.sync();
            });
            expect(false, "an exception was lost");
        } catch (const own_error& e) {
            expect_equal(e.number, i, "which exception");
        }
    }
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

/// A pool made and destroyed inside a task, whose tasks give children to the outer one.
void nested_pools() {
    watched_pool outer(workers(2));
    std::atomic<int> ran{0};
    const auto body = [&] {
        pilfer::scope s;
        watched_pool inner(workers(2));
        const auto below = [&] {
            for (int i = 0; i < 20; ++i) {
                s.defer([&] { ran.fetch_add(1, std::memory_order_relaxed); });
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
                inner += p->async([] { return 1; }).get(); // not refused: it is part of what was accepted
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

/// One worker inside a task; behind it futures, a run() and a child of another pool that drop has to end.
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
            auto sent = other->async([&] { s.defer([&] { dropped = -1000; }); });
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

/// Children that a thread outside gives to the pool of everybody.
void common() {
    std::atomic<int> ran{0};
    pilfer::scope s;
    for (int i = 0; i < 30; ++i) {
        s.defer([&] { ran.fetch_add(1, std::memory_order_relaxed); });
        s.spawn([&] { ran.fetch_add(1, std::memory_order_relaxed); });
    }
    s.sync();
    expect_equal(ran.load(), 60, "children of a scope outside");
    expect_equal(fib_join(10), fib_serial(10), "fib by join outside");
    pilfer::for_each(0, 100, [&](int) { ran.fetch_add(1, std::memory_order_relaxed); });
    expect_equal(ran.load(), 160, "for_each outside");
    expect_equal(pilfer::async([] { return 7; }).get(), 7, "async outside");
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

// Wrong on purpose: the driver must see each of these.

void breaks_leak() {
    void* volatile kept = ::operator new(16); // volatile: or the compiler leaves the allocation out
    (void)kept;
}
void breaks_thread() {
    const harness_code harness;
    std::thread([] {
        for (;;) {
            nap();
        }
    }).detach();
}
void breaks_descriptor() {
    if (dup(0) < 0) {
        throw std::bad_alloc();
    }
}
void breaks_result() { expect_equal(1, 2, "a result"); }
void breaks_exception() { throw std::runtime_error("that nobody documents"); }
void breaks_crash() { std::abort(); }
void breaks_hang() {
    for (;;) {
        nap();
    }
}
void breaks_bad_alloc() { throw std::bad_alloc(); } // though nothing failed

constexpr scenario broken_scenarios[] = {
    {"breaks_leak", breaks_leak},           {"breaks_thread", breaks_thread},
    {"breaks_descriptor", breaks_descriptor}, {"breaks_result", breaks_result},
    {"breaks_exception", breaks_exception}, {"breaks_crash", breaks_crash},
    {"breaks_hang", breaks_hang},           {"breaks_bad_alloc", breaks_bad_alloc},
};

constexpr scenario all_scenarios[] = {
    {"start_1", [] { start_and_stop(1); }},
    {"start_2", [] { start_and_stop(2); }},
    {"start_8", [] { start_and_stop(8); }},
    {"start_automatic", start_automatic},
    {"spawn_deep_1", [] { spawn_deep(1); }},
    {"spawn_deep_2", [] { spawn_deep(2); }},
    {"spawn_stolen", spawn_stolen},
    {"large_stacks", large_stacks},
    {"max_contexts_1", [] { bounded(1); }},
    {"max_contexts_4", [] { bounded(4); }},
    {"resume_elsewhere", elsewhere},
    {"resume_own_thread", own_thread},
    {"defer_small", [] { defer_many<16>(2, 100'000); }},
    {"defer_large", [] { defer_many<120>(1, 10'000); }},
    {"defer_boxed", [] { defer_many<200>(2, 400); }},
    {"defer_below", defer_below},
    {"futures_from_outside", futures_from_outside},
    {"futures_inside", futures_inside},
    {"loops", loops},
    {"exceptions", exceptions},
    {"foreign_threads", foreign_threads},
    {"nested_pools", nested_pools},
    {"drain", drain},
    {"drop", drop},
    {"common", common, true},
    {"overflow", overflow},
};

} // namespace

std::span<const scenario> scenarios() { return all_scenarios; }
std::span<const scenario> broken() { return broken_scenarios; }
unsigned missing_workers() { return missing; }
bool plain_calls() { return plain; }
std::size_t common_threads() { return pilfer::pool::common().workers(); }

void works_again(bool common) {
    pilfer::pool p(workers(2));
    expect_equal(p.workers(), 2, "workers afterwards");
    expect_equal(p.run([] { return fib_join(12) + fib_spawn(9, never_naps); }), fib_serial(12) + fib_serial(9),
                 "fib afterwards");
    if (common) {
        expect_equal(fib_join(12), fib_serial(12), "fib in common() afterwards");
    }
}

} // namespace faults
