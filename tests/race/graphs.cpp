// Races between tasks of graphs and between stages of pipelines.
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pilfer/event.hpp>
#include <pilfer/graph.hpp>
#include <pilfer/pipeline.hpp>

#include "cases.hpp"

using cases::keep;
using pilfer::graph;

PLANTED(unordered_tasks, "two tasks of a graph without an edge that write one variable") {
    int x = 0;
    graph g;
    g.task([&] { x = 1; }); // races
    g.task([&] { x = 2; }); // races
    g.run();
    keep(x);
}
REPAIRED(unordered_tasks) {
    int x = 0;
    graph g;
    const auto first = g.task([&] { x = 1; });
    g.task([&] { x = 2; }).succeed(first);
    g.run();
    x = 3;
    keep(x);
}

PLANTED(read_without_edge, "a task that reads what a task further up writes, which is not before it") {
    int x = 0;
    int y = 0;
    graph g;
    const auto writes = g.task([&] { x = 1; }); // races
    const auto other = g.task([&] { y = 1; });
    g.task([&] { y += x; }).succeed(other); // races
    g.task([] {}).succeed(writes, other);
    g.run();
    keep(y);
}
REPAIRED(read_without_edge) {
    int x = 0;
    int y = 0;
    graph g;
    const auto writes = g.task([&] { x = 1; });
    const auto other = g.task([&] { y = 1; });
    g.task([&] { y += x; }).succeed(other, writes);
    g.task([] {}).succeed(writes, other);
    g.run();
    keep(y);
}

PLANTED(loop_in_a_task, "a loop in one task, and another task that looks at its elements") {
    std::vector<int> v(64);
    int sum = 0;
    graph g;
    g.task([&] { pilfer::for_each(0u, 64u, [&](unsigned i) { v[i] = 1; }); }); // races
    g.task([&] { sum = v[9]; });                                               // races
    g.run();
    keep(sum);
}
REPAIRED(loop_in_a_task) {
    std::vector<int> v(64);
    int sum = 0;
    graph g;
    const auto fills = g.task([&] { pilfer::for_each(0u, 64u, [&](unsigned i) { v[i] = 1; }); });
    const auto adds = g.task([&] {
        sum = pilfer::reduce(
            v.begin(), v.end(), 0, [](int x) { return x; }, std::plus<>{});
    });
    fills.precede(adds);
    g.run();
    keep(sum);
}

PLANTED(loop_within_a_task, "elements of a loop in a task") {
    int x = 0;
    graph g;
    g.task([&] { pilfer::for_each(0, 9, [&](int i) { x = i; }); }); // races
    g.run();
    keep(x);
}
REPAIRED(loop_within_a_task) {
    std::array<int, 9> x{};
    graph g;
    g.task([&] { pilfer::for_each(0u, 9u, [&](unsigned i) { x[i] = 1; }); });
    g.run();
    keep(x);
}

PLANTED(shortcut_in_a_diamond, "the right side of a diamond uses a result of the left one") {
    int left = 0;
    int right = 0;
    graph g;
    const auto top = g.task([&] { left = right = 1; });
    const auto a = g.task([&] { left = 2; });         // races
    const auto b = g.task([&] { right = left + 1; }); // races
    const auto bottom = g.task([&] { keep(left + right); });
    top.precede(a, b);
    bottom.succeed(a, b);
    g.run();
}
REPAIRED(shortcut_in_a_diamond) {
    graph g;
    const auto top = g.task([] { return 1; });
    const auto a = g.task([](int n) { return std::to_string(n); }, top);
    const auto b = g.task([](int n) { return std::string(99, char('0' + n)); }, top);
    const auto bottom = g.task([](const std::string& l, const std::string& r) { return l + r; }, a, b);
    g.run();
    g.run();
    keep(bottom.value().size());
}

PLANTED(reads_of_many_tasks, "a write beside reads of tasks, of which another one is after it") {
    int x = 1;
    int y = 0;
    int z = 0;
    graph g;
    const auto first = g.task([&] { y = x; });
    g.task([&] { z = x; });                       // races
    const auto third = g.task([] {});             // so that the write runs after both reads
    g.task([&] { x = 2; }).succeed(first, third); // races
    g.run();
    keep(y + z);
}
REPAIRED(reads_of_many_tasks) {
    int x = 1;
    int y = 0;
    int z = 0;
    graph g;
    const auto first = g.task([&] { y = x; });
    const auto second = g.task([&] { z = x; });
    g.task([&] { x = 2; }).succeed(first, second);
    g.run();
    g.run();
    keep(y + z);
}

PLANTED(subgraph_beside_a_task, "a task of a subgraph beside one of the graph around it") {
    int x = 0;
    graph inner;
    inner.task([&] { x = 1; }); // races
    graph outer;
    outer.subgraph(inner);
    outer.task([&] { x = 2; }); // races
    outer.run();
    keep(x);
}
REPAIRED(subgraph_beside_a_task) {
    int x = 0;
    int y = 0;
    graph inner;
    inner.task([&] { x = 1; });
    inner.task([&] { y = 1; });
    graph outer;
    const auto inside = outer.subgraph(inner);
    outer.task([&] { x += y; }).succeed(inside);
    outer.run();
    keep(x);
}

PLANTED(graph_beside_a_child, "a graph that runs in a child of a scope, beside its parent") {
    int x = 0;
    graph g;
    g.task([&] { x = 1; }); // races
    pilfer::scope all;
    all.fork([&] { g.run(); });
    x = 2; // races
    all.sync();
    keep(x);
}
REPAIRED(graph_beside_a_child) {
    int x = 0;
    graph g;
    g.task([&] { x = 1; });
    pilfer::scope all;
    all.fork([&] { g.run(); });
    all.sync();
    x = 2;
    keep(x);
}

PLANTED(limit_of_two, "tasks of which two may run at once") {
    int x = 0;
    pilfer::graph_limit two(2);
    graph g;
    for (int i = 0; i < 4; ++i) {
        g.task([&] { ++x; }).limited_by(two); // races
    }
    g.run();
    keep(x);
}
REPAIRED(limit_of_two) {
    int x = 0;
    pilfer::graph_limit one(1);
    graph g;
    for (int i = 0; i < 4; ++i) {
        g.task([&] { ++x; }).limited_by(one);
    }
    g.run();
    g.run();
    keep(x);
}

namespace {

/// 1,000 tasks in rows of 25, each after those to the left of it and above it, whose cells it adds.
struct grid {
    std::vector<long> cells = std::vector<long>(1000, 1);
    std::vector<pilfer::node<>> tasks;
    graph all;

    template <class Add>
    void make(Add add, unsigned forgotten) {
        for (unsigned i = 0; i < 1000; ++i) {
            tasks.push_back(all.task([this, add, i] { add(cells, i); }));
            if (i >= 25 && i != forgotten) {
                tasks[i].succeed(tasks[i - 25]);
            }
            if (i % 25 != 0) {
                tasks[i].succeed(tasks[i - 1]);
            }
        }
    }
};

} // namespace

PLANTED(grid_without_an_edge, "one of 2,000 edges is forgotten") {
    const auto add = [](std::vector<long>& cells, unsigned i) {
        cells[i] += i >= 25 ? cells[i - 25] % 1000 : 0; // races
    };
    grid g;
    g.make(add, 500);
    g.all.run();
    keep(g.cells[999]);
}
REPAIRED(grid_without_an_edge) {
    const auto add = [](std::vector<long>& cells, unsigned i) {
        cells[i] += (i >= 25 ? cells[i - 25] % 1000 : 0) + (i % 25 != 0 ? cells[i - 1] % 1000 : 0);
    };
    grid g;
    g.make(add, 0);
    g.all.run();
    g.all.run();
    keep(g.cells[999]);
}

PLANTED(one_of_many_edges, "a task after 600 others, but for one") {
    std::vector<long> cells(600);
    long sum = 0;
    graph g;
    const auto last = g.task([&] {
        for (const long cell : cells) { // races
            sum += cell;
        }
    });
    for (unsigned i = 0; i < 600; ++i) {
        const auto one = g.task([&cells, i] { cells[i] = 1; }); // races
        if (i != 300) {
            one.precede(last);
        }
    }
    g.run();
    keep(sum);
}
REPAIRED(one_of_many_edges) {
    std::vector<long> cells(600);
    long sum = 0;
    graph inner;
    const auto last_inside = inner.task([&] {
        for (const long cell : cells) {
            sum += cell;
        }
    });
    for (unsigned i = 0; i < 600; ++i) {
        inner.task([&cells, i] { ++cells[i]; }).precede(last_inside);
    }
    graph g;
    const auto last = g.task([&] {
        sum = cells[7];
        inner.run();
        for (const long cell : cells) {
            sum += cell;
        }
    });
    for (unsigned i = 0; i < 600; ++i) {
        g.task([&cells, i] { cells[i] = 1; }).precede(last);
    }
    g.run();
    g.run();
    keep(sum);
}

PROMISES(graph_in_any_schedule, "in any schedule") {
    const std::vector<int> shared(100, 1);
    pilfer::for_each(0u, 100u, [&](unsigned i) { keep(shared[i] + shared[0]); });
    std::array<int, 9> sums{};
    graph g;
    const auto first = g.task([&] { return shared[1]; });
    for (int& sum : sums) {
        g.task(
            [&](int n) {
                pilfer::for_each(0u, 9u, [&](unsigned i) { keep(shared[i] + n); });
                sum = n;
            },
            first);
    }
    for (int i = 0; i < 9; ++i) {
        g.run();
    }
    keep(sums);
}
PROMISES(graph_with_conditions, "graphs with conditions, whose tasks count as one after the other") {
    int x = 0;
    graph g;
    const auto start = g.task([&] { x = 0; });
    const auto again = g.task([&] { ++x; });
    const auto loop = g.condition([&] { return x < 9 ? 0 : 1; });
    start.precede(again);
    again.precede(loop);
    loop.chooses(again);
    g.task([&] { x = 100; });
    g.run();
    keep(x);
}
// A search for the first task would grow with every turn.
PROMISES(condition_with_many_turns, "graphs with conditions, whose tasks count as one after the other") {
    int step = 0;
    int x = 0;
    graph g;
    const auto start = g.task([&] { step = 1; });
    const auto again = g.task([&] { x += step; });
    const auto loop = g.condition([&] { return x < 200'000 ? 0 : 1; });
    start.precede(again);
    again.precede(loop);
    loop.chooses(again);
    g.run();
    keep(x);
}
PROMISES(limit_of_one, "graph_limits of one task") {
    int x = 0;
    pilfer::graph_limit one(1);
    graph g;
    g.task([&] { ++x; }).limited_by(one);
    g.task([&] { ++x; }).limited_by(one);
    g.run();
    keep(x);
}
PROMISES(task_left_out, "left out after an exception") {
    int x = 0;
    graph g;
    const auto first = g.task([] { throw 1; });
    g.task([&] { x = 1; }).succeed(first);
    g.task([&] { x = 2; }).succeed(first);
    try {
        g.run();
    } catch (int) {
        x = 3;
    }
    keep(x);
}

namespace {

/// Gives 0 to 39.
auto numbers() {
    return pilfer::serial_in_order(
        [n = 0]() mutable { return n < 40 ? std::optional<int>(n++) : std::nullopt; });
}

} // namespace

PLANTED(counter_in_a_parallel_stage, "a parallel stage that counts its items") {
    int count = 0;
    pilfer::pipeline(8, numbers(), pilfer::parallel_stage([&](int n) {
                         ++count; // races
                         return n;
                     }),
                     pilfer::serial_in_order([](int n) { keep(n); }));
    keep(count);
}
REPAIRED(counter_in_a_parallel_stage) {
    int count = 0;
    long sum = 0;
    pilfer::pipeline(8, numbers(), pilfer::parallel_stage([](int n) { return std::make_unique<int>(n); }),
                     pilfer::serial_in_order([&](std::unique_ptr<int> n) {
                         ++count;
                         return *n;
                     }),
                     pilfer::parallel_stage([](int n) { return std::string(99, char('0' + n % 10)); }),
                     pilfer::serial_in_order([&](const std::string& s) { sum += s[7] + long(s.size()); }));
    keep(count + sum);
}

PLANTED(two_serial_stages, "a variable that two serial stages share") {
    int x = 0;
    pilfer::pipeline(8, numbers(), pilfer::serial_in_order([&](int n) {
                         x = n; // races
                         return n;
                     }),
                     pilfer::serial_in_order([&](int n) { keep(n + x); })); // races
    keep(x);
}
REPAIRED(two_serial_stages) {
    int x = 0;
    int y = 0;
    pilfer::pipeline(8, numbers(), pilfer::serial_in_order([&](int n) { return x += n; }),
                     pilfer::serial_in_order([&](int n) { y += n; }));
    keep(x + y);
}

// A slot is free again when its item has ended, because items end in order.
PLANTED(one_slot_too_few, "slots for items, of which there is one too few") {
    std::array<int, 3> slots{};
    pilfer::pipeline(4, numbers(), pilfer::serial_in_order([&](int n) {
                         slots[std::size_t(n) % 3] = n; // races
                         return n;
                     }),
                     pilfer::parallel_stage([&](int n) { return n + slots[std::size_t(n) % 3]; }), // races
                     pilfer::serial_in_order([](int n) { keep(n); }));
    keep(slots);
}
REPAIRED(one_slot_too_few) {
    std::array<int, 4> slots{};
    pilfer::pipeline(4, numbers(), pilfer::serial_in_order([&](int n) {
                         slots[std::size_t(n) % 4] = n;
                         return n;
                     }),
                     pilfer::parallel_stage([&](int n) { return n + slots[std::size_t(n) % 4]; }),
                     pilfer::serial_in_order([](int n) { keep(n); }));
    keep(slots);
}

// A slot is free once its item has passed the last stage in order: a token is of that item or a later one.
PLANTED(slot_after_the_order, "slots that are used after the last stage in order") {
    std::array<int, 4> slots{};
    pilfer::pipeline(4, numbers(), pilfer::parallel_stage([&](int n) {
                         slots[std::size_t(n) % 4] = n; // races
                         return n;
                     }),
                     pilfer::serial_in_order([](int n) { return n; }),
                     pilfer::parallel_stage([&](int n) { keep(n + slots[std::size_t(n) % 4]); })); // races
    keep(slots);
}
REPAIRED(slot_after_the_order) {
    std::array<int, 4> slots{};
    pilfer::pipeline(4, numbers(), pilfer::parallel_stage([&](int n) {
                         slots[std::size_t(n) % 4] = n;
                         return n;
                     }),
                     pilfer::serial_in_order([&](int n) { return slots[std::size_t(n) % 4]; }),
                     pilfer::parallel_stage([](int n) { keep(n); }));
    keep(slots);
}

PROMISES(pipeline_in_any_schedule, "in any schedule") {
    long sum = 0;
    pilfer::pipeline(4, numbers(), pilfer::parallel_stage([](int n) { return n + 1; }),
                     pilfer::serial_in_order([&](int n) { sum += n; }));
    pilfer::pipeline(1, numbers(), pilfer::parallel_stage([&](int n) { sum += n; }));
    keep(sum);
}
PROMISES(stage_out_of_order, "stages that are serial out of order") {
    long sum = 0;
    pilfer::pipeline(4, numbers(), pilfer::serial_out_of_order([&](int n) { sum += n; }));
    keep(sum);
}
