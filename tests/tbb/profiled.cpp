// A program of oneTBB, run by profiled.py, which knows how many tasks its parts have.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

namespace {

unsigned fib(unsigned n) {
    if (n < 2) {
        return n;
    }
    unsigned a = 0;
    tbb::task_group group;
    group.run([&] { a = fib(n - 1); });
    const unsigned b = fib(n - 2);
    group.wait();
    return a + b;
}

void loop(int parts) {
    tbb::parallel_for(
        tbb::blocked_range<int>(0, parts), [](const auto&) {}, tbb::simple_partitioner());
}

/// Two threads have both slots, and none is left for a worker.
void full_arena() {
    tbb::task_arena arena(2);
    std::atomic<int> inside{0};
    const auto call = [&] {
        arena.execute([&] {
            ++inside;
            while (inside < 2) {
                std::this_thread::yield();
            }
            loop(4);
        });
    };
    std::thread other(call);
    call();
    other.join();
}

void wait_for(const std::atomic<bool>& flag) {
    while (!flag) {
        std::this_thread::yield();
    }
}

/// A task waits for a group that gets its task after that one has begun.
void late_task() {
    tbb::task_group first;
    tbb::task_group second;
    std::atomic<bool> begun{false};
    std::atomic<bool> queued{false};
    first.run([&] {
        begun = true;
        wait_for(queued);
        second.wait();
    });
    wait_for(begun);
    second.run([] {});
    queued = true;
    first.wait();
}

/// Two groups share a context. A task of one ends after the wait for the other.
void shared_context(bool suspends) {
    tbb::task_group_context context;
    tbb::task_group first(context);
    tbb::task_group second(context);
    std::atomic<tbb::task::suspend_point> point{nullptr};
    std::atomic<bool> begun{false};
    std::atomic<bool> may_end{false};
    first.run([] {});
    second.run([&] {
        if (suspends) {
            tbb::task::suspend([&](tbb::task::suspend_point p) {
                point = p;
                begun = true;
            });
        } else {
            begun = true;
            wait_for(may_end);
        }
    });
    wait_for(begun);
    first.wait();
    may_end = true;
    if (suspends) {
        tbb::task::resume(point);
    }
    second.wait();
}

/// A task waits for a lock that the thread outside holds during a loop.
void lock_held_outside() {
    tbb::mutex lock;
    tbb::task_group group;
    std::atomic<bool> begun{false};
    {
        const tbb::mutex::scoped_lock held(lock);
        group.run([&] {
            begun = true;
            const tbb::mutex::scoped_lock inside(lock);
        });
        wait_for(begun);
        loop(4);
    }
    group.wait();
}

/// Each of two bodies waits for the other one by a loop: two threads have to run them.
void meeting() {
    std::atomic<int> inside{0};
    tbb::parallel_for(
        0, 2,
        [&](int) {
            ++inside;
            while (inside < 2) {
                std::this_thread::yield();
            }
        },
        tbb::simple_partitioner());
}

/// Each of two items passes two nodes.
void graph() {
    tbb::flow::graph g;
    using node = tbb::flow::function_node<int, int>;
    node first(g, tbb::flow::unlimited, [](int i) { return i; });
    node second(g, tbb::flow::unlimited, [](int i) { return i; });
    tbb::flow::make_edge(first, second);
    first.try_put(1);
    first.try_put(2);
    g.wait_for_all();
}

} // namespace

int main(int, char** arguments) {
    const char* const what = arguments[1];
    if (std::strcmp(what, "loop") == 0) {
        loop(16);
    } else if (std::strcmp(what, "loops") == 0) {
        loop(8);
        tbb::task_arena one(1);
        one.execute([] { loop(8); });
    } else if (std::strcmp(what, "fib") == 0) {
        std::printf("%u\n", fib(10));
    } else if (std::strcmp(what, "graph") == 0) {
        graph();
    } else if (std::strcmp(what, "arena") == 0) {
        full_arena();
    } else if (std::strcmp(what, "meeting") == 0) {
        meeting();
    } else if (std::strcmp(what, "late") == 0) {
        late_task();
    } else if (std::strcmp(what, "shared") == 0) {
        shared_context(false);
    } else if (std::strcmp(what, "suspended") == 0) {
        shared_context(true);
    } else if (std::strcmp(what, "lock") == 0) {
        lock_held_outside();
    }
}
