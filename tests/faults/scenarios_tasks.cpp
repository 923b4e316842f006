// Tasks: forks, children, futures, loops, exceptions.
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <system_error>

#include "faults/watched.hpp"

namespace faults {
namespace {

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
    o.stack_size = std::size_t{512} * 1024; // all of them fit on one stack if no second one is available
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

/// The test mode: every join resumes elsewhere, and every deque is pinned.
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
    expect_equal(p->run([] { return fib_join(12) + fib_spawn(9, 0); }), fib_serial(12) + fib_serial(9),
                 "fib");
}

/// `n` forked children of `Bytes` bytes. All that were accepted run, also when one of them was not.
template <std::size_t Bytes>
void fork_many(unsigned threads, std::size_t n) {
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
            s.fork(child{&ran, {}});
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

/// Children of children, announced by descendants of the scope.
void fork_below() {
    watched_pool p(workers(4));
    std::atomic<std::size_t> ran{0};
    p->run([&] {
        pilfer::scope s;
        for (int i = 0; i < 40; ++i) {
            s.fork([&] {
                nap();
                for (int k = 0; k < 20; ++k) {
                    s.fork([&] { ran.fetch_add(1, std::memory_order_relaxed); });
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

std::uint64_t nested_joins(std::uint64_t n) {
    if (n == 0) {
        return 0;
    }
    auto [below, one] = pilfer::join([n] { return nested_joins(n - 1); }, [] { return std::uint64_t{1}; });
    return below + one;
}

/// The ring is full and there is no memory for a larger one: the next task must be called instead. Forked
/// children fill it, because a thousand of them cost one allocation.
template <class Announce>
void full_ring(Announce announce) {
    watched_pool p(workers(1));
    std::atomic<int> ran{0};
    const auto body = [&] {
        pilfer::scope s;
        for (int i = 0; i < 250; ++i) {
            s.fork([&] { ran.fetch_add(1, std::memory_order_relaxed); });
        }
        const std::uint64_t announced = announce();
        s.sync();
        return announced;
    };
    expect_equal(p->run(body), 12, "tasks announced beside a full ring");
    expect_equal(ran.load(), 250, "children in a full ring");
}

std::uint64_t twelve_futures() {
    auto all = reserved<pilfer::future<std::uint64_t>>(12);
    for (int i = 0; i < 12; ++i) {
        all.push_back(pilfer::async([] { return std::uint64_t{1}; }));
    }
    std::uint64_t sum = 0;
    for (const auto& f : all) {
        sum += f.get();
    }
    return sum;
}

std::uint64_t twelve_children() {
    std::uint64_t ran = 0;
    pilfer::scope s;
    for (int i = 0; i < 12; ++i) {
        s.fork([&] { ++ran; });
    }
    s.sync();
    return ran;
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

/// The list of waits that may end early is made by the first of them. Without memory there is no wait; one
/// without a limit would have no end.
pilfer::task<int> waits_before_it_sets(pilfer::promise<int>& p, pilfer::future<int> f) {
    bool early = true;
    try {
        early = co_await pilfer::wait_for(f, std::chrono::microseconds(1)) == pilfer::future_status::timeout;
    } catch (const std::bad_alloc&) {
    }
    p.set_value(early ? 1 : 0);
    co_return co_await f;
}
void coroutine_limits() {
    watched_pool p(workers(2));
    int sum = 0;
    for (int i = 0; i < 50; ++i) {
        pilfer::promise<int> promise;
        sum += p->run(waits_before_it_sets(promise, promise.get_future()));
    }
    expect_equal(sum, 50, "waits of coroutines that ended early");
}

/// Tasks that end only when every worker runs one of them: a wake-up that is lost is a hang. Without stacks
/// it cannot end either, so the driver lets only waits fail here.
void rendezvous() {
    watched_pool p(workers(3));
    const unsigned all = p->workers();
    for (int round = 0; round < 30; ++round) {
        std::atomic<unsigned> arrived{0};
        const auto arrive = [&] {
            ++arrived;
            while (arrived < all) {
                sched_yield();
            }
        };
        p->run([&] {
            pilfer::scope s;
            for (unsigned i = 0; i < all; ++i) {
                s.fork(arrive);
            }
            s.sync();
        });
        expect_equal(arrived.load(), all, "tasks that met");
        nap();
        nap(); // time to fall asleep
    }
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
                s.fork([] { nap(); });
                s.spawn([i] {
                    nap();
                    throw own_error{i};
                });
                const auto fail = [] {
                    nap();
                    throw own_error{-1};
                };
                pilfer::join([] { return fib_join(5); },
                             [&] {
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

/// A wait for a descriptor that the system refuses reports that, and leaves no state for the next wait.
void descriptors() {
    watched_pool p(workers(2));
    int ends[2] = {-1, -1};
    {
        const harness_code own;
        expect(pipe(ends) == 0, "no pipe");
    }
    struct closing { // also if the run is refused
        int (&both)[2];
        ~closing() {
            const harness_code own;
            close(both[0]);
            close(both[1]);
        }
    } const closed{ends};
    std::uint64_t heard = 0;
    const auto say = [&] {
        nap();
        const harness_code own;
        expect(write(ends[1], "x", 1) == 1, "a full pipe");
    };
    p->run([&] {
        for (int i = 0; i < 20; ++i) {
            std::jthread outside;
            pilfer::scope s;
            if (i % 5 == 4) { // all workers sleep
                const harness_code own;
                outside = std::jthread(say);
            } else {
                s.fork(say);
            }
            if (const std::error_code error = pilfer::io::wait_readable(ends[0])) {
                expect(error == std::errc::too_many_files_open || error == std::errc::no_space_on_device ||
                           error == std::errc::too_many_files_open_in_system ||
                           error == std::errc::not_enough_memory,
                       "another error than the system's");
                s.sync(); // it may be refused for good
            }
            {
                const harness_code own;
                char c = 0;
                heard += read(ends[0], &c, 1) == 1 ? 1 : 0;
            }
            s.sync();
        }
    });
    const harness_code own;
    expect_equal(heard, 20, "what came through the pipe");
}

constexpr scenario list[] = {
    {"descriptors", descriptors},
    {"spawn_deep_1", [] { spawn_deep(1); }},
    {"spawn_deep_2", [] { spawn_deep(2); }},
    {"spawn_stolen", spawn_stolen},
    {"large_stacks", large_stacks},
    {"max_contexts_1", [] { bounded(1); }},
    {"max_contexts_4", [] { bounded(4); }},
    {"resume_elsewhere", elsewhere},
    {"resume_own_thread", own_thread},
    {"fork_small", [] { fork_many<16>(2, 100'000); }},
    {"fork_large", [] { fork_many<120>(1, 10'000); }},
    {"fork_boxed", [] { fork_many<200>(2, 400); }},
    {"fork_below", fork_below},
    {"futures_from_outside", futures_from_outside},
    {"futures_inside", futures_inside},
    {"full_ring_join", [] { full_ring([] { return nested_joins(12); }); }},
    {"full_ring_spawn", [] { full_ring([] { return nested(12); }); }},
    {"full_ring_fork", [] { full_ring(twelve_children); }},
    {"full_ring_async", [] { full_ring(twelve_futures); }},
    {"loops", loops},
    {"coroutine_limits", coroutine_limits},
    {"rendezvous", rendezvous},
    {"exceptions", exceptions},
};

} // namespace

std::span<const scenario> task_scenarios() { return list; }

} // namespace faults
