// Trees of tasks that are cancelled: the saved time, and the time that the cancellation takes.
#include <atomic>
#include <cstdio>
#include <thread>

#include <pilfer/pilfer.hpp>

#include "common/bench.hpp"
#include "common/flat.hpp"
#include "masters/masters.hpp"

namespace bench::masters {
namespace {

/// A task of about `us` microseconds; the sum over all tasks is the check of a run.
struct worked {
    std::atomic<std::uint64_t> ran{0};
    void work(unsigned us) {
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < us; ++i)
            sum += flat::value_of(i);
        forget(sum);
        ran.fetch_add(1, std::memory_order_relaxed);
    }
};

/// Nested scopes, each with its own share of leaves. All leaves are announced before the innermost frame
/// continues, so nearly none has started then.
struct announced {
    unsigned depth;
    unsigned leaves; ///< of each scope
    unsigned us;     ///< of each leaf

    template <class Behind>
    void level(worked& w, unsigned below, const Behind& behind) const {
        if (below == 0) {
            behind();
            return;
        }
        pilfer::scope s;
        for (unsigned i = 0; i < leaves; ++i)
            s.fork([&w, n = us] { w.work(n); });
        level(w, below - 1, behind);
        s.sync();
    }
    /// Microseconds from the last announcement on. `wrong` unless each leaf either ran or was dropped. (The
    /// number of leaves that ran depends on time: the canceller may lose its CPU.)
    double run(pilfer::pool& pool, bool cancels, bool& wrong) const {
        worked w;
        double took = 0;
        const std::uint64_t dropped_before = pool.counters().dropped;
        pool.run([&] {
            pilfer::scope root;
            clock::time_point begin;
            root.spawn([&] {
                level(w, depth, [&] {
                    begin = clock::now();
                    if (cancels)
                        root.cancel();
                });
            });
            root.sync();
            took = us_since(begin);
        });
        const std::uint64_t all = std::uint64_t{depth} * leaves;
        const std::uint64_t dropped = pool.counters().dropped - dropped_before;
        wrong = wrong || w.ran + dropped != all || (dropped != 0 && !cancels);
        return took;
    }
};

/// A tree that is still growing: ten-way forks down to leaves. The first leaf cancels everything.
struct growing {
    unsigned depth;
    unsigned us;

    void node(worked& w, unsigned below, pilfer::scope& root, bool cancels) const {
        if (below == 0) {
            w.work(us);
            if (cancels)
                root.cancel();
            return;
        }
        pilfer::scope s;
        for (int i = 0; i < 10; ++i)
            s.spawn([this, &w, below, &root, cancels] { node(w, below - 1, root, cancels); });
        s.sync();
    }
    double run(pilfer::pool& pool, bool cancels, bool& wrong) const {
        worked w;
        double took = 0;
        pool.run([&] {
            const auto begin = clock::now();
            pilfer::scope root;
            root.spawn([&] { node(w, depth, root, cancels); });
            root.sync();
            took = us_since(begin);
        });
        std::uint64_t all = 1;
        for (unsigned i = 0; i < depth; ++i)
            all *= 10;
        wrong = wrong || (cancels ? w.ran == 0 || w.ran > all : w.ran != all);
        return took;
    }
};

template <class Tree>
bool saved(const setting& s, const char* name, const Tree& tree) {
    pilfer::pool pool({.workers = s.workers});
    bool wrong = false;
    (void)tree.run(pool, true, wrong);
    std::vector<double> whole;
    std::vector<double> cancelled;
    for (unsigned i = 0; i < s.repeat; ++i) {
        whole.push_back(tree.run(pool, false, wrong));
        cancelled.push_back(tree.run(pool, true, wrong));
    }
    std::printf("%-38s %10.1f ms %10.3f ms   saved %6.2f %%\n", name, median(whole) / 1000,
                median(cancelled) / 1000, 100 * (1 - median(cancelled) / median(whole)));
    return !wrong;
}

} // namespace

bool tree(const setting& s) {
    std::printf("%u workers, medians of %u rounds      all run    cancelled\n", s.workers, s.repeat);
    const unsigned depth = s.tiny ? 10 : 100;
    const unsigned leaves = s.tiny ? 100 : 10'000;
    const unsigned forks = s.tiny ? 3 : 6;
    bool right = saved(s, "announced, 1 us each", announced{depth, leaves, 1});
    right = saved(s, "announced, 10 us each", announced{depth, leaves, 10}) && right;
    return saved(s, "growing tree, 1 us each", growing{forks, 1}) && right;
}

/// Tasks of one millisecond; one of them cancels at its end. Then at most the running tasks continue, to
/// their ends.
bool tail(const setting& s) {
    constexpr unsigned task_us = 1000;
    const unsigned tasks = s.tiny ? 100 : 1'000'000;
    pilfer::pool pool({.workers = s.workers});
    std::vector<double> last_begin;
    std::vector<double> last_end;
    std::vector<double> synced;
    std::vector<double> lengths;
    bool right = true;
    for (unsigned round = 0; round < s.repeat; ++round) {
        struct times {
            clock::time_point begin;
            clock::time_point end;
        };
        std::vector<times> ran(tasks);
        std::atomic<unsigned> count{0};
        clock::time_point cancelled;
        clock::time_point over;
        // Not before all are announced, and the other workers have tasks.
        constexpr unsigned nobody = ~0U;
        std::atomic<unsigned> canceller{nobody};
        const std::uint64_t dropped_before = pool.counters().dropped;
        pool.run([&] {
            pilfer::scope root;
            for (unsigned i = 0; i < tasks; ++i) {
                root.fork([&] {
                    const unsigned mine = count.fetch_add(1, std::memory_order_relaxed);
                    ran[mine].begin = clock::now();
                    worked().work(task_us);
                    ran[mine].end = clock::now();
                    if (mine == canceller.load(std::memory_order_relaxed)) {
                        cancelled = clock::now();
                        root.cancel();
                    }
                });
            }
            canceller = count + 8 * s.workers;
            root.sync();
            over = clock::now();
        });
        const unsigned begun = count;
        right = right && begun > canceller && begun + pool.counters().dropped - dropped_before == tasks;
        double begin = 0;
        double end = 0;
        std::vector<double> length;
        for (unsigned i = 0; i < begun; ++i) {
            begin = std::max(begin, us_between(cancelled, ran[i].begin));
            end = std::max(end, us_between(cancelled, ran[i].end));
            length.push_back(us_between(ran[i].begin, ran[i].end));
        }
        lengths.push_back(median(length));
        last_begin.push_back(begin);
        last_end.push_back(end);
        synced.push_back(us_between(cancelled, over));
    }
    std::printf(
        "%u workers, %u tasks of %.0f us, %u rounds; from cancel() to    median      90 %%     most, us\n",
        s.workers, tasks, median(lengths), s.repeat);
    const auto print = [](const char* name, const std::vector<double>& row) {
        std::printf("%-58s %9.1f %9.1f %9.1f\n", name, median(row), quantile(row, 0.9), quantile(row, 1));
    };
    print("the begin of the last task that began afterwards (0: none)", last_begin);
    print("the end of the last running task", last_end);
    print("the return of sync()", synced);
    return right;
}

} // namespace bench::masters
