// The cost of a cancellation beside tasks that it does not concern: thousands that wait, and one deep below
// scopes.
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include <pilfer/pilfer.hpp>

#include "common/bench.hpp"
#include "masters/masters.hpp"

namespace bench::masters {
namespace {

using namespace std::chrono_literals;

/// Tasks that wait in `scopes` scopes until the end.
class crowd {
public:
    crowd(unsigned tasks, unsigned scopes) {
        for (unsigned i = 0; i < scopes; ++i)
            m_scopes.push_back(std::make_unique<pilfer::scope>());
        for (unsigned i = 0; i < tasks; ++i) {
            m_scopes[i % scopes]->fork([this] {
                m_waiting.fetch_add(1, std::memory_order_relaxed);
                m_end.wait();
            });
        }
        while (m_waiting.load(std::memory_order_relaxed) != tasks)
            pilfer::sleep_for(1ms);
        pilfer::sleep_for(5ms); // the last ones are on their way into the wait
    }
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;
    ~crowd() {
        m_end.set();
        while (!m_scopes.empty())
            m_scopes.pop_back(); // in the reverse order of their beginning
    }

private:
    pilfer::event m_end;
    std::atomic<unsigned> m_waiting{0};
    std::vector<std::unique_ptr<pilfer::scope>> m_scopes;
};

/// Microseconds of cancel() of a scope with one task that waits.
double us_of_cancel() {
    pilfer::scope one;
    std::atomic<bool> waits{false};
    one.fork([&] {
        waits = true;
        pilfer::sleep_for(1h);
    });
    while (!waits)
        pilfer::sleep_for(1ms);
    pilfer::sleep_for(2ms);
    const auto begin = clock::now();
    one.cancel();
    const double took = us_since(begin);
    one.sync();
    return took;
}

void row(const char* name, const std::vector<double>& took) {
    std::printf("%-52s %9.2f %9.2f %9.2f\n", name, median(took), quantile(took, 0.9), quantile(took, 1));
}

void beside_crowd(const setting& s, const char* name, unsigned tasks, unsigned scopes, bool same_tree) {
    constexpr int cancels = 20;
    pilfer::pool pool({.workers = s.workers});
    std::vector<double> took;
    const auto measure = [&] {
        for (int i = 0; i < cancels; ++i)
            took.push_back(us_of_cancel());
    };
    if (same_tree) {
        pool.run([&] {
            pilfer::scope root;
            root.fork([&] {
                const crowd others(tasks, scopes);
                measure();
            });
            root.sync();
        });
    } else {
        std::atomic<bool> measured{false};
        std::atomic<bool> ready{false};
        std::thread elsewhere([&] {
            pool.run([&] {
                const crowd others(tasks, scopes);
                ready = true;
                while (!measured)
                    pilfer::sleep_for(1ms);
            });
        });
        while (!ready)
            std::this_thread::sleep_for(1ms);
        pool.run(measure);
        measured = true;
        elsewhere.join();
    }
    row(name, took);
}

/// Nanoseconds of a join of two small functions below `depth` scopes.
double ns_of_join(unsigned depth) {
    pilfer::scope here;
    if (depth > 0)
        return ns_of_join(depth - 1);
    constexpr unsigned joins = 20'000;
    const auto begin = clock::now();
    for (unsigned i = 0; i < joins; ++i) {
        const auto [a, b] = pilfer::join([i] { return i; }, [i] { return i + 1; });
        unsigned sum = a + b;
        forget(sum);
    }
    return 1000 * us_since(begin) / joins;
}

void below_scopes(const setting& s, unsigned depth) {
    pilfer::pool pool({.workers = 1, .stack_size = 4U << 20});
    std::vector<double> quiet;
    std::vector<double> cancelled;
    for (unsigned round = 0; round < s.repeat; ++round) {
        pool.run([&] { quiet.push_back(ns_of_join(depth)); });
        std::atomic<bool> is{false};
        std::atomic<bool> ends{false};
        std::thread canceller([&] {
            pilfer::scope unrelated;
            unrelated.cancel(); // until its end
            is = true;
            while (!ends)
                std::this_thread::sleep_for(1ms);
        });
        while (!is)
            std::this_thread::yield();
        pool.run([&] { cancelled.push_back(ns_of_join(depth)); });
        ends = true;
        canceller.join();
    }
    std::printf("a join below %4u scopes, ns: %8.1f; while an unrelated scope is cancelled: %8.1f\n", depth,
                median(quiet), median(cancelled));
}

} // namespace

bool strangers(const setting& s) {
    const unsigned tasks = s.tiny ? 100 : 10'000;
    std::printf("%u workers; cancel() of a scope with one waiting task, us: median, 90 %%, most\n",
                s.workers);
    beside_crowd(s, "alone", 0, 1, true);
    beside_crowd(s, "beside waiting tasks in a scope of this tree", tasks, 1, true);
    beside_crowd(s, "beside waiting tasks in 100 scopes of this tree", tasks, 100, true);
    beside_crowd(s, "beside waiting tasks in a scope of another tree", tasks, 1, false);
    beside_crowd(s, "beside waiting tasks in 100 scopes of another tree", tasks, 100, false);
    for (const unsigned depth : {1U, 100U, 1000U})
        below_scopes(s, depth);
    return true;
}

} // namespace bench::masters
