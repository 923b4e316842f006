// <pilfer/pilfer_graph.h>: graphs of tasks.
#include <pilfer/pilfer_graph.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <string>
#include <thread>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

class c_graphs : public over_workers {};
class c_graphs_alone : public guarded {};

constexpr int own_code = -1000;

/// A function of C from a callable that lives as long as the graph.
template <class F>
int result_of(void* f) {
    return (*static_cast<F*>(f))();
}
int nothing(void*) { return 0; }
int never(void*) {
    ADD_FAILURE() << "was called";
    return 0;
}

class c_graph {
public:
    c_graph() { EXPECT_EQ(pilfer_graph_new(&m_graph), 0); }
    c_graph(const c_graph&) = delete;
    c_graph& operator=(const c_graph&) = delete;
    ~c_graph() { EXPECT_EQ(pilfer_graph_free(m_graph), 0); }
    operator pilfer_graph*() const { return m_graph; } // NOLINT(*-explicit-*)

    template <class F>
    [[nodiscard]] pilfer_node task(F& f) const {
        pilfer_node made{};
        EXPECT_EQ(pilfer_graph_task(m_graph, result_of<F>, &f, &made), 0);
        return made;
    }
    [[nodiscard]] pilfer_node task(int (*f)(void*) = nothing) const {
        pilfer_node made{};
        EXPECT_EQ(pilfer_graph_task(m_graph, f, nullptr, &made), 0);
        return made;
    }
    template <class F>
    [[nodiscard]] pilfer_node condition(F& f) const {
        pilfer_node made{};
        EXPECT_EQ(pilfer_graph_condition(m_graph, result_of<F>, &f, &made), 0);
        return made;
    }
    [[nodiscard]] pilfer_node part(pilfer_graph* inner) const {
        pilfer_node made{};
        EXPECT_EQ(pilfer_graph_subgraph(m_graph, inner, &made), 0);
        return made;
    }

private:
    pilfer_graph* m_graph = nullptr;
};

void order(pilfer_node earlier, pilfer_node later) { EXPECT_EQ(pilfer_node_precede(earlier, later), 0); }

[[nodiscard]] std::string drawn(pilfer_graph* g) {
    std::string text;
    const auto take = [](const char* from, std::size_t bytes, void* to) {
        static_cast<std::string*>(to)->assign(from, bytes);
        return from[bytes] == 0 ? 0 : own_code;
    };
    EXPECT_EQ(pilfer_graph_dot(g, take, &text), 0);
    return text;
}

TEST_P(c_graphs, tasks_run_in_their_order_in_each_run) {
    const c_pool pool(GetParam());
    const c_graph g;
    int left = 0;
    int right = 0;
    int sum = 0;
    int runs = 0;
    auto begin = [&] { return ++runs, 0; };
    auto set_left = [&] { return left = 10 * runs, 0; };
    auto set_right = [&] { return right = runs, 0; };
    auto add = [&] { return sum = left + right, 0; };
    const pilfer_node last = g.task(add); // edges also lead to tasks that were added earlier
    const pilfer_node first = g.task(begin);
    for (const pilfer_node middle : {g.task(set_left), g.task(set_right)}) {
        order(first, middle);
        EXPECT_EQ(pilfer_node_succeed(last, middle), 0);
    }
    EXPECT_EQ(pilfer_graph_size(g), 4U);
    for (int i = 1; i <= 20; ++i) {
        EXPECT_EQ(pilfer_graph_run(pool, g), 0);
        EXPECT_EQ(sum, 11 * i);
    }
    pool.run([&] { EXPECT_EQ(pilfer_graph_run(nullptr, g), 0); });
    EXPECT_EQ(sum, 11 * 21);
}

TEST_P(c_graphs, a_condition_chooses_the_next_task) {
    const c_pool pool(GetParam());
    const c_graph g;
    int steps = 0;
    int ends = 0;
    int stop_at = 7;
    auto begin = [&] { return steps = 0; };
    auto step = [&] { return ++steps, 0; };
    auto again = [&] { return steps < stop_at ? 0 : 1; };
    auto end = [&] { return ++ends, 0; };
    const pilfer_node body = g.task(step);
    const pilfer_node choice = g.condition(again);
    order(g.task(begin), body);
    order(body, choice);
    EXPECT_EQ(pilfer_node_choose(choice, body), 0);
    EXPECT_EQ(pilfer_graph_run(pool, g), 0); // there is no task of index 1 yet
    EXPECT_EQ(steps, 7);
    EXPECT_EQ(ends, 0);
    EXPECT_EQ(pilfer_node_choose(choice, g.task(end)), 0);
    stop_at = 9;
    EXPECT_EQ(pilfer_graph_run(pool, g), 0);
    EXPECT_EQ(steps, 9);
    EXPECT_EQ(ends, 1);
}

TEST_P(c_graphs, a_limit_lets_so_many_tasks_run_at_once) {
    const c_pool pool(GetParam());
    pilfer_graph_limit* limit = nullptr;
    ASSERT_EQ(pilfer_graph_limit_new(&limit, 2), 0);
    {
        const c_graph g;
        std::atomic<int> inside{0};
        std::atomic<int> most{0};
        std::atomic<int> calls{0};
        auto count = [&] {
            const int now = ++inside;
            int before = most;
            while (before < now && !most.compare_exchange_weak(before, now)) {
            }
            pilfer_sleep_for(200'000);
            --inside;
            ++calls;
            return 0;
        };
        for (int i = 0; i < 30; ++i) {
            EXPECT_EQ(pilfer_node_limit(g.task(count), limit), 0);
        }
        EXPECT_EQ(pilfer_graph_run(pool, g), 0);
        EXPECT_EQ(calls, 30);
        EXPECT_LE(most, 2);
    }
    pilfer_graph_limit_free(limit);
}

TEST_P(c_graphs, more_tasks_than_workers_may_wait) {
    const c_pool pool(GetParam());
    pilfer_event ready;
    EXPECT_EQ(pilfer_event_init(&ready, 0), 0);
    const c_graph g;
    std::atomic<int> seen{0};
    auto wait = [&] {
        const int code = pilfer_event_wait(&ready);
        ++seen;
        return code;
    };
    auto open = [&] { return pilfer_event_set(&ready); };
    for (int i = 0; i < 100; ++i) {
        (void)g.task(wait);
    }
    (void)g.task(open);
    EXPECT_EQ(pilfer_graph_run(pool, g), 0);
    EXPECT_EQ(seen, 100);
    pilfer_event_destroy(&ready);
}

TEST_P(c_graphs, a_graph_may_be_a_task_of_another_one) {
    const c_pool pool(GetParam());
    const c_graph inner;
    const c_graph outer; // destroyed before the inner one
    int calls = 0;
    int seen = 0;
    auto count = [&] { return ++calls, 0; };
    auto look = [&] { return seen = calls, 0; };
    order(inner.task(count), inner.task(count));
    const pilfer_node part = outer.part(inner);
    order(part, outer.task(look));
    EXPECT_EQ(pilfer_graph_run(pool, outer), 0);
    EXPECT_EQ(seen, 2);
}

// ---- codes of tasks ---------------------------------------------------------------------------------

TEST_P(c_graphs, the_code_of_a_task_ends_the_run_and_is_its_result) {
    const c_pool pool(GetParam());
    const c_graph inner;
    const c_graph g;
    bool fails = true;
    std::atomic<int> later{0};
    auto fail = [&] { return fails ? own_code : 0; };
    auto count = [&] { return ++later, 0; };
    order(inner.task(fail), inner.task(count));
    order(g.part(inner), g.task(count));
    for (int round = 0; round < 10; ++round) {
        later = 0;
        fails = true;
        EXPECT_EQ(pilfer_graph_run(pool, g), own_code);
        EXPECT_EQ(later, 0);
        fails = false;
        EXPECT_EQ(pilfer_graph_run(pool, g), 0);
        EXPECT_EQ(later, 2);
    }
}

TEST_P(c_graphs, a_failure_ends_the_waits_of_other_tasks) {
    const c_pool pool(GetParam());
    const c_graph g;
    std::atomic<int> waiting{0};
    std::atomic<int> cancelled{0};
    auto wait = [&] {
        ++waiting;
        while (pilfer_cancelled() == 0) {
            pilfer_sleep_for(1'000'000);
        }
        ++cancelled;
        return int{PILFER_ECANCELED}; // does not hide the code of the task that failed
    };
    auto fail = [&] {
        while (waiting < 10) {
            pilfer_sleep_for(100'000);
        }
        return own_code - 1;
    };
    for (int i = 0; i < 10; ++i) {
        (void)g.task(wait);
    }
    (void)g.task(fail);
    EXPECT_EQ(pilfer_graph_run(pool, g), own_code - 1);
    EXPECT_EQ(cancelled, 10);
}

TEST_P(c_graphs, the_code_of_a_cancelled_call_hides_no_later_code) {
    const c_pool pool(GetParam());
    const c_graph g;
    std::atomic<int> there{0};
    auto meet = [&] {
        for (++there; there < 2;) {
            pilfer_sleep_for(100'000);
        }
    };
    auto stop = [&] { return meet(), int{PILFER_ECANCELED}; };
    auto fail = [&] {
        for (meet(); pilfer_cancelled() == 0;) { // until `stop` has ended
            pilfer_sleep_for(100'000);
        }
        return own_code;
    };
    (void)g.task(stop);
    (void)g.task(fail);
    EXPECT_EQ(pilfer_graph_run(pool, g), own_code);
}

TEST_P(c_graphs, a_cancelled_scope_ends_the_run) {
    const c_pool pool(GetParam());
    const c_graph g;
    pilfer_scope scope;
    auto cancel = [&] { return pilfer_scope_cancel(&scope); };
    order(g.task(cancel), g.task(never));
    pool.run([&] {
        EXPECT_EQ(pilfer_scope_begin(&scope), 0);
        int code = 0;
        auto run = [&] { code = pilfer_graph_run(nullptr, g); };
        EXPECT_EQ(pilfer_scope_fork(&scope, call_of<decltype(run)>, &run), 0);
        EXPECT_EQ(pilfer_scope_end(&scope), 0);
        EXPECT_EQ(code, PILFER_ECANCELED);
    });
}

TEST_P(c_graphs, a_task_may_end_the_run_without_an_error_of_its_own) {
    const c_pool pool(GetParam());
    const c_graph g;
    auto stop = [] { return int{PILFER_ECANCELED}; };
    order(g.task(stop), g.task(never));
    EXPECT_EQ(pilfer_graph_run(pool, g), PILFER_ECANCELED);
}

TEST_P(c_graphs, a_positive_result_of_a_task_is_refused) {
    const c_pool pool(GetParam());
    const c_graph g;
    auto one = [] { return 1; };
    order(g.task(one), g.task(never));
    EXPECT_EQ(pilfer_graph_run(pool, g), PILFER_EINVAL);
}

TEST_P(c_graphs, a_negative_result_of_a_condition_ends_the_run) {
    const c_pool pool(GetParam());
    const c_graph g;
    auto fail = [] { return own_code; };
    const pilfer_node choice = g.condition(fail);
    EXPECT_EQ(pilfer_node_choose(choice, g.task(never)), 0);
    EXPECT_EQ(pilfer_graph_run(pool, g), own_code);
}

// ---- misuse -----------------------------------------------------------------------------------------

TEST_P(c_graphs, a_graph_that_runs_is_neither_run_nor_changed_nor_freed) {
    const c_pool pool(GetParam());
    const c_graph other;
    const c_graph g;
    pilfer_graph_limit* limit = nullptr;
    ASSERT_EQ(pilfer_graph_limit_new(&limit, 1), 0);
    pilfer_node self{};
    int calls = 0;
    auto misuse = [&] {
        pilfer_node none = self;
        EXPECT_EQ(pilfer_graph_run(nullptr, g), PILFER_EUSAGE);
        EXPECT_EQ(pilfer_graph_free(g), PILFER_EUSAGE);
        EXPECT_EQ(pilfer_graph_task(g, never, nullptr, &none), PILFER_EUSAGE);
        EXPECT_EQ(none.task, nullptr);
        EXPECT_EQ(pilfer_graph_condition(g, never, nullptr, nullptr), PILFER_EUSAGE);
        EXPECT_EQ(pilfer_graph_subgraph(g, other, nullptr), PILFER_EUSAGE);
        EXPECT_EQ(pilfer_node_precede(self, self), PILFER_EUSAGE);
        EXPECT_EQ(pilfer_node_set_name(self, "late"), PILFER_EUSAGE);
        EXPECT_EQ(pilfer_node_limit(self, limit), PILFER_EUSAGE);
        return ++calls, 0;
    };
    self = g.task(misuse);
    EXPECT_EQ(pilfer_graph_run(pool, g), 0);
    EXPECT_EQ(pilfer_graph_run(pool, g), 0); // nothing has changed
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(pilfer_graph_size(g), 1U);
    pilfer_graph_limit_free(limit);
}

// Another thread frees the graph as soon as that is not refused any more.
TEST_P(c_graphs, the_end_of_a_run_is_seen_by_the_thread_that_frees) {
    const c_pool pool(GetParam());
    for (int round = 0; round < 20; ++round) {
        pilfer_graph* g = nullptr;
        ASSERT_EQ(pilfer_graph_new(&g), 0);
        std::atomic<bool> runs{false};
        auto wait = [&] {
            runs.store(true, std::memory_order_relaxed);
            pilfer_sleep_for(100'000);
            return 0;
        };
        EXPECT_EQ(pilfer_graph_task(g, result_of<decltype(wait)>, &wait, nullptr), 0);
        std::thread other([&] {
            while (!runs.load(std::memory_order_relaxed) || pilfer_graph_free(g) == PILFER_EUSAGE) {
                std::this_thread::yield();
            }
        });
        EXPECT_EQ(pilfer_graph_run(pool, g), 0);
        other.join();
    }
}

TEST_F(c_graphs_alone, a_cycle_and_a_graph_without_a_first_task_are_refused) {
    const c_pool pool(2U);
    const c_graph g;
    const pilfer_node first = g.task();
    const pilfer_node a = g.task(never);
    const pilfer_node b = g.task(never);
    order(first, a);
    order(a, b);
    order(b, a);
    EXPECT_EQ(pilfer_graph_run(pool, g), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_graph_run(pool, g), PILFER_EUSAGE);

    const c_graph chosen;
    auto choose_first = [] { return 0; };
    const pilfer_node choice = chosen.condition(choose_first);
    EXPECT_EQ(pilfer_node_choose(choice, choice), 0);
    EXPECT_EQ(pilfer_graph_run(pool, chosen), PILFER_EUSAGE);

    const c_graph empty;
    EXPECT_EQ(pilfer_graph_run(pool, empty), 0);
}

TEST_F(c_graphs_alone, edges_stay_inside_a_graph) {
    const c_pool pool(2U);
    const c_graph g;
    const c_graph other;
    int calls = 0;
    auto count = [&] { return ++calls, 0; };
    auto choose_first = [] { return 0; };
    const pilfer_node here = g.task(count);
    const pilfer_node there = other.task();
    const pilfer_node choice = g.condition(choose_first);
    EXPECT_EQ(pilfer_node_precede(here, there), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_node_succeed(here, there), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_node_choose(choice, there), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_node_choose(here, here), PILFER_EUSAGE) << "no condition";
    EXPECT_EQ(pilfer_node_precede(choice, here), PILFER_EUSAGE) << "a condition chooses";
    EXPECT_EQ(pilfer_graph_subgraph(g, g, nullptr), PILFER_EUSAGE);
    (void)other.part(g);
    EXPECT_EQ(pilfer_graph_subgraph(g, other, nullptr), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_graph_run(pool, g), 0);
    EXPECT_EQ(calls, 1);
}

TEST_F(c_graphs_alone, a_limit_serves_one_graph) {
    const c_pool pool(2U);
    pilfer_graph_limit* limit = nullptr;
    EXPECT_EQ(pilfer_graph_limit_new(nullptr, 1), PILFER_EINVAL);
    limit = reinterpret_cast<pilfer_graph_limit*>(&limit);
    EXPECT_EQ(pilfer_graph_limit_new(&limit, 0), PILFER_EINVAL);
    EXPECT_EQ(limit, nullptr);
    ASSERT_EQ(pilfer_graph_limit_new(&limit, 1), 0);
    {
        const c_graph g;
        const c_graph other;
        EXPECT_EQ(pilfer_node_limit(g.task(), limit), 0);
        EXPECT_EQ(pilfer_node_limit(other.task(), limit), PILFER_EUSAGE);
        EXPECT_EQ(pilfer_node_limit(g.task(), nullptr), PILFER_EINVAL);
        EXPECT_EQ(pilfer_graph_run(pool, g), 0);
    }
    pilfer_graph_limit_free(limit);
    pilfer_graph_limit_free(nullptr);
}

TEST_F(c_graphs_alone, missing_arguments_are_refused) {
    const c_graph g;
    const pilfer_node a = g.task();
    const pilfer_node none{};
    EXPECT_EQ(pilfer_graph_new(nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_graph_free(nullptr), 0);
    EXPECT_EQ(pilfer_graph_size(nullptr), 0U);
    EXPECT_EQ(pilfer_graph_run(nullptr, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_graph_dot(g, nullptr, nullptr), PILFER_EINVAL);
    const auto write = [](const char*, std::size_t, void*) { return 0; };
    EXPECT_EQ(pilfer_graph_dot(nullptr, write, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_node_set_name(a, nullptr), PILFER_EINVAL);
    using add = int (*)(pilfer_graph*, int (*)(void*), void*, pilfer_node*);
    for (const add call : {pilfer_graph_task, pilfer_graph_condition}) {
        pilfer_node out = a;
        EXPECT_EQ(call(nullptr, nothing, nullptr, &out), PILFER_EINVAL);
        EXPECT_EQ(out.graph, nullptr);
        out = a;
        EXPECT_EQ(call(g, nullptr, nullptr, &out), PILFER_EINVAL);
        EXPECT_EQ(out.task, nullptr);
        EXPECT_EQ(call(g, nullptr, nullptr, nullptr), PILFER_EINVAL);
    }
    EXPECT_EQ(pilfer_graph_subgraph(nullptr, g, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_graph_subgraph(g, nullptr, nullptr), PILFER_EINVAL);
    // A node that is none.
    pilfer_graph_limit* limit = nullptr;
    ASSERT_EQ(pilfer_graph_limit_new(&limit, 1), 0);
    EXPECT_EQ(pilfer_node_precede(none, a), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_node_precede(a, none), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_node_succeed(a, none), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_node_choose(none, a), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_node_set_name(none, "x"), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_node_limit(none, limit), PILFER_EUSAGE);
    pilfer_graph_limit_free(limit);
    EXPECT_EQ(pilfer_graph_size(g), 1U);
}

TEST_F(c_graphs_alone, a_pool_that_is_shut_down_runs_no_graph) {
    const c_pool pool(2U);
    const c_graph g;
    (void)g.task(never);
    EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), 0);
    EXPECT_EQ(pilfer_graph_run(pool, g), PILFER_ECLOSED);
}

TEST_F(c_graphs_alone, an_exception_of_a_task_or_condition_ends_the_process) {
    using add = int (*)(pilfer_graph*, int (*)(void*), void*, pilfer_node*);
    for (const add call : {pilfer_graph_task, pilfer_graph_condition}) {
        const auto result = in_child([call] {
            const c_pool pool(2U);
            const c_graph g;
            (void)call(
                g, [](void*) -> int { throw 1; }, nullptr, nullptr);
            return pilfer_graph_run(pool, g);
        });
        EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
        EXPECT_TRUE(result.said("left a function that was given to the C interface")) << result;
    }
}

// ---- the rest ---------------------------------------------------------------------------------------

TEST_F(c_graphs_alone, the_drawing_has_names_and_edges) {
    const c_graph g;
    auto choose_first = [] { return 0; };
    const pilfer_node a = g.task();
    const pilfer_node c = g.condition(choose_first);
    EXPECT_EQ(pilfer_node_set_name(a, "read"), 0);
    order(a, c);
    EXPECT_EQ(pilfer_node_choose(c, a), 0);
    EXPECT_EQ(drawn(g), "digraph {\n"
                        "    n0 [label=\"read\"];\n"
                        "    n1 [label=\"condition 1\" shape=diamond];\n"
                        "    n0 -> n1;\n"
                        "    n1 -> n0 [style=dashed label=0];\n"
                        "}\n");
    const auto refuse = [](const char*, std::size_t, void*) { return own_code; };
    EXPECT_EQ(pilfer_graph_dot(g, refuse, nullptr), own_code);
}

TEST_F(c_graphs_alone, a_graph_outside_a_pool_runs_in_the_common_one) {
    with_a_common_pool([] {
        const c_graph g;
        std::atomic<int> calls{0};
        auto count = [&] { return ++calls, 0; };
        for (int i = 0; i < 50; ++i) {
            (void)g.task(count);
        }
        EXPECT_EQ(pilfer_graph_run(nullptr, g), 0);
        EXPECT_EQ(calls, 50);
    });
}

PILFER_OVER_WORKERS(c_graphs);

} // namespace
