// Graphs of small tasks: pilfer::graph, oneTBB's flow graph and Taskflow, in turn. Prints medians of the time
// to build a graph and to run it, and the ratio of pilfer's time and that of each other runtime.
//
// bench-graph [WORKERS [ROUNDS [SIDE]]]: the chain and the tree have SIDE * SIDE tasks, the wavefront is SIDE
// wide and high. A task computes one number from those of the tasks before it; the last number is compared
// with the serial one.
//
// bench-graph WORKERS ROUNDS SIDE NS SHAPE: tasks of one shape that also work for NS nanoseconds each. Prints
// one line of JSON with the seconds of a task in the second and later runs, by plain calls also.
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#if defined(BENCH_GRAPH_TASKFLOW)
#include <taskflow/taskflow.hpp>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pilfer/graph.hpp>

#include "common/work.hpp"

namespace {

using cells = std::vector<std::uint32_t>;
constexpr std::size_t none = SIZE_MAX;
std::uint64_t steps_of_a_task = 0;

/// The tasks before task i, which come earlier; none: there is none.
struct shape {
    std::string name;
    std::size_t tasks;
    std::function<std::size_t(std::size_t)> first;
    std::function<std::size_t(std::size_t)> second;
};

void compute(cells& c, std::size_t i, std::size_t a, std::size_t b) {
    const std::uint32_t sum = (a != none ? c[a] : 1U) * 31 + (b != none ? c[b] : 7U);
    c[i] = static_cast<std::uint32_t>(bench::work(sum, steps_of_a_task));
}

/// Plain calls, in an order that the edges allow.
struct plain_calls {
    cells& values;
    std::vector<std::pair<std::size_t, std::size_t>> inputs;

    plain_calls(const shape& s, cells& c) : values(c) {
        for (std::size_t i = 0; i < s.tasks; ++i) {
            inputs.emplace_back(s.first(i), s.second(i));
        }
    }
    void run() {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            compute(values, i, inputs[i].first, inputs[i].second);
        }
    }
};

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
    t.build.push_back(bench::seconds([&] { g.emplace(s, c); }));
    t.first.push_back(bench::seconds([&] { g->run(); }));
    for (int i = 0; i < 3; ++i) {
        std::fill(c.begin(), c.end(), 0U);
        t.again.push_back(bench::seconds([&] { g->run(); }));
    }
    if (c != expected) {
        std::fprintf(stderr, "bench-graph: %s: wrong result\n", s.name.c_str());
        std::exit(1);
    }
}

void print(const shape& s, const char* what, std::vector<double> times::*which, const times& ours,
           const std::vector<times>& others) {
    const double each = 1e9 / static_cast<double>(s.tasks);
    const double a = bench::median(ours.*which) * each;
    std::printf("| %-9s | %-9s | %6.1f |", s.name.c_str(), what, a);
    for (const times& other : others) {
        const double b = bench::median(other.*which) * each;
        std::printf(" %6.1f | %.2f |", b, a / b);
    }
    std::printf("\n");
}

[[nodiscard]] cells expected_cells(const shape& s) {
    cells expected(s.tasks, 0);
    for (std::size_t i = 0; i < s.tasks; ++i) {
        compute(expected, i, s.first(i), s.second(i));
    }
    return expected;
}

[[nodiscard]] std::vector<shape> shapes(std::size_t side) {
    const std::size_t n = side * side;
    return {
        {"chain", n, [](std::size_t i) { return i - 1; }, [](std::size_t) { return none; }},
        {"tree", n, [](std::size_t i) { return i == 0 ? none : (i - 1) / 2; },
         [](std::size_t) { return none; }},
        {"wavefront", n, [side](std::size_t i) { return i >= side ? i - side : none; },
         [side](std::size_t i) { return i % side != 0 ? i - 1 : none; }},
    };
}

void print_tables(unsigned workers, long rounds, std::size_t side, pilfer::pool& pool) {
#if defined(BENCH_GRAPH_TASKFLOW)
    constexpr std::size_t rivals = 2;
    constexpr const char* titles = " oneTBB | ratio | Taskflow | ratio |";
#else
    constexpr std::size_t rivals = 1;
    constexpr const char* titles = " oneTBB | ratio |";
#endif
    std::printf("%u workers, %ld rounds, %zu tasks; ns a task\n| graph | time | pilfer |%s\n", workers,
                rounds, side * side, titles);
    for (const shape& s : shapes(side)) {
        const cells expected = expected_cells(s);
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

/// False if there is no such shape.
[[nodiscard]] bool print_line(const std::string& name, long rounds, std::size_t side, pilfer::pool& pool) {
    for (const shape& s : shapes(side)) {
        if (s.name != name) {
            continue;
        }
        const cells expected = expected_cells(s);
        times plain;
        times ours;
        times tbb;
        for (long round = 0; round < rounds; ++round) {
            measure<plain_calls>(s, expected, plain);
            pool.run([&] { measure<pilfer_graph>(s, expected, ours); });
            measure<tbb_graph>(s, expected, tbb);
        }
        std::vector<bench::timed> all{{"plain", plain.again}, {"pilfer", ours.again}, {"oneTBB", tbb.again}};
        for (bench::timed& one : all) {
            for (double& seconds : one.seconds) {
                seconds /= static_cast<double>(s.tasks);
            }
        }
        bench::print_json(all);
        return true;
    }
    return false;
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
#if defined(BENCH_GRAPH_TASKFLOW)
    tf::Executor flows(workers);
    executor = &flows;
#endif
    if (argc <= 5) {
        print_tables(workers, rounds, side, pool);
        return 0;
    }
    steps_of_a_task = bench::steps_for(std::atof(argv[4]));
    return print_line(argv[5], rounds, side, pool) ? 0 : 2;
}
