// Graphs of small tasks: pilfer::graph, oneTBB's flow graph and Taskflow, in turn. Prints medians of the time
// to build a graph and to run it, and the ratio of pilfer's time and that of each other runtime.
//
// bench-graph [WORKERS [ROUNDS [SIDE]]]: the chain and the tree have SIDE * SIDE tasks, the wavefront is SIDE
// wide and high. A task computes one number from those of the tasks before it; the last number is compared
// with the serial one.
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#if defined(BENCH_GRAPH_TASKFLOW)
#include <taskflow/taskflow.hpp>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pilfer/graph.hpp>

namespace {

using cells = std::vector<std::uint32_t>;
constexpr std::size_t none = SIZE_MAX;

/// The tasks before task i, which come earlier; none: there is none.
struct shape {
    std::string name;
    std::size_t tasks;
    std::function<std::size_t(std::size_t)> first;
    std::function<std::size_t(std::size_t)> second;
};

void compute(cells& c, std::size_t i, std::size_t a, std::size_t b) {
    c[i] = (a != none ? c[a] : 1U) * 31 + (b != none ? c[b] : 7U);
}

struct pilfer_graph {
    pilfer::graph graph;
    std::vector<pilfer::node<>> tasks;

    pilfer_graph(const shape& s, cells& c) {
        tasks.reserve(s.tasks);
        for (std::size_t i = 0; i < s.tasks; ++i) {
            const std::size_t a = s.first(i);
            const std::size_t b = s.second(i);
            tasks.push_back(graph.task([&c, i, a, b] { compute(c, i, a, b); }));
            for (const std::size_t before : {a, b}) {
                if (before != none) {
                    tasks[before].precede(tasks[i]);
                }
            }
        }
    }
    void run() { graph.run(); }
};

struct tbb_graph {
    using node = tbb::flow::continue_node<tbb::flow::continue_msg>;
    tbb::flow::graph graph;
    std::vector<std::unique_ptr<node>> tasks;

    tbb_graph(const shape& s, cells& c) {
        tasks.reserve(s.tasks);
        for (std::size_t i = 0; i < s.tasks; ++i) {
            const std::size_t a = s.first(i);
            const std::size_t b = s.second(i);
            tasks.push_back(std::make_unique<node>(
                graph, [&c, i, a, b](const tbb::flow::continue_msg&) { compute(c, i, a, b); }));
            for (const std::size_t before : {a, b}) {
                if (before != none) {
                    tbb::flow::make_edge(*tasks[before], *tasks[i]);
                }
            }
        }
    }
    void run() {
        tasks[0]->try_put(tbb::flow::continue_msg());
        graph.wait_for_all();
    }
};

#if defined(BENCH_GRAPH_TASKFLOW)
tf::Executor* executor = nullptr;
struct taskflow_graph {
    tf::Taskflow graph;
    std::vector<tf::Task> tasks;

    taskflow_graph(const shape& s, cells& c) {
        tasks.reserve(s.tasks);
        for (std::size_t i = 0; i < s.tasks; ++i) {
            const std::size_t a = s.first(i);
            const std::size_t b = s.second(i);
            tasks.push_back(graph.emplace([&c, i, a, b] { compute(c, i, a, b); }));
            for (const std::size_t before : {a, b}) {
                if (before != none) {
                    tasks[before].precede(tasks[i]);
                }
            }
        }
    }
    void run() { executor->run(graph).wait(); }
};
#endif

[[nodiscard]] double seconds(const std::function<void()>& f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
[[nodiscard]] double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

struct times {
    std::vector<double> build;
    std::vector<double> first;
    std::vector<double> again;
};

/// Builds the graph, and runs it four times.
template <class Graph>
void measure(const shape& s, const cells& expected, times& t) {
    cells c(s.tasks, 0);
    std::optional<Graph> g;
    t.build.push_back(seconds([&] { g.emplace(s, c); }));
    t.first.push_back(seconds([&] { g->run(); }));
    for (int i = 0; i < 3; ++i) {
        std::fill(c.begin(), c.end(), 0U);
        t.again.push_back(seconds([&] { g->run(); }));
    }
    if (c != expected) {
        std::fprintf(stderr, "bench-graph: %s: wrong result\n", s.name.c_str());
        std::exit(1);
    }
}

void print(const shape& s, const char* what, std::vector<double> times::*which, const times& ours,
           const std::vector<times>& others) {
    const double each = 1e9 / static_cast<double>(s.tasks);
    const double a = median(ours.*which) * each;
    std::printf("| %-9s | %-9s | %6.1f |", s.name.c_str(), what, a);
    for (const times& other : others) {
        const double b = median(other.*which) * each;
        std::printf(" %6.1f | %.2f |", b, a / b);
    }
    std::printf("\n");
}

} // namespace

int main(int argc, char** argv) {
    const auto argument = [&](int i, long otherwise) {
        return argc > i ? std::max(std::atol(argv[i]), 1L) : otherwise;
    };
    const auto workers = static_cast<unsigned>(argument(1, 2));
    const long rounds = argument(2, 7);
    const auto side = static_cast<std::size_t>(argument(3, 1000));
    pilfer::options o;
    o.workers = workers;
    pilfer::pool pool(o);
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
    const std::size_t n = side * side;
#if defined(BENCH_GRAPH_TASKFLOW)
    tf::Executor flows(workers);
    executor = &flows;
    constexpr std::size_t rivals = 2;
    constexpr const char* titles = " oneTBB | ratio | Taskflow | ratio |";
#else
    constexpr std::size_t rivals = 1;
    constexpr const char* titles = " oneTBB | ratio |";
#endif
    const shape shapes[] = {
        {"chain", n, [](std::size_t i) { return i - 1; }, [](std::size_t) { return none; }},
        {"tree", n, [](std::size_t i) { return i == 0 ? none : (i - 1) / 2; },
         [](std::size_t) { return none; }},
        {"wavefront", n, [side](std::size_t i) { return i >= side ? i - side : none; },
         [side](std::size_t i) { return i % side != 0 ? i - 1 : none; }},
    };
    std::printf("%u workers, %ld rounds, %zu tasks; ns a task\n| graph | time | pilfer |%s\n", workers,
                rounds, n, titles);
    for (const shape& s : shapes) {
        cells expected(n, 0);
        for (std::size_t i = 0; i < n; ++i) {
            compute(expected, i, s.first(i), s.second(i));
        }
        times ours;
        std::vector<times> others(rivals);
        for (long round = 0; round < rounds; ++round) {
            pool.run([&] { measure<pilfer_graph>(s, expected, ours); });
            measure<tbb_graph>(s, expected, others[0]);
#if defined(BENCH_GRAPH_TASKFLOW)
            measure<taskflow_graph>(s, expected, others[1]);
#endif
        }
        print(s, "build", &times::build, ours, others);
        print(s, "first run", &times::first, ours, others);
        print(s, "next runs", &times::again, ours, others);
    }
}
