// graph: each mistake is reported, and the text of a graph.
#include <atomic>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <pilfer/graph.hpp>

#include "support/harness.hpp"

namespace {

using namespace support;

class graph_misuse : public guarded {};
class graph_text : public guarded {};

/// The text of the usage_error that f throws.
template <class F>
std::string error_of(F f) {
    try {
        f();
    } catch (const pilfer::usage_error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

TEST_F(graph_misuse, a_cycle_names_one_of_its_tasks) {
    pilfer::pool pool(workers(2));
    pilfer::graph g;
    auto start = g.task([] {});
    auto a = g.task([] {}, start);
    auto b = g.task([] {}, a);
    auto c = g.task([] {}, b);
    auto after = g.task([] {}, c);
    after.name("after"); // after the cycle, not on it
    (void)g.task([] {}, after);
    a.name("a");
    b.name("b");
    c.name("c");
    c.precede(a);
    for (int round = 0; round < 2; ++round) {
        const std::string text = error_of([&] { g.run(pool); });
        EXPECT_TRUE(text == "pilfer: a graph has a cycle through \"a\"" ||
                    text == "pilfer: a graph has a cycle through \"b\"" ||
                    text == "pilfer: a graph has a cycle through \"c\"")
            << text;
    }
}

TEST_F(graph_misuse, a_task_that_precedes_itself) {
    pilfer::pool pool(workers(2));
    pilfer::graph g;
    auto start = g.task([] {});
    auto a = g.task([] {}, start);
    a.precede(a);
    EXPECT_EQ(error_of([&] { g.run(pool); }), "pilfer: a graph has a cycle through task 1");
}

TEST_F(graph_misuse, nothing_to_start_with) {
    pilfer::pool pool(workers(2));
    pilfer::graph g;
    auto c = g.condition([] { return 0; });
    c.chooses(c);
    EXPECT_EQ(error_of([&] { g.run(pool); }),
              "pilfer: a graph has no task to start with: each one is preceded or chosen");
    pilfer::graph h; // with a start
    auto d = h.condition([] { return 1; });
    d.chooses(d);
    d.succeed(h.task([] {}));
    h.run(pool);
}

TEST_F(graph_misuse, tasks_of_another_graph) {
    pilfer::graph g;
    pilfer::graph h;
    auto a = g.task([] { return 1; });
    auto b = h.task([] { return 2; });
    a.name("a");
    EXPECT_EQ(error_of([&] { (void)g.task([](int) {}, b); }), "pilfer: an input is a task of another graph");
    EXPECT_EQ(error_of([&] { (void)g.condition([](int) { return 0; }, b); }),
              "pilfer: an input is a task of another graph");
    EXPECT_EQ(error_of([&] { a.precede(b); }), "pilfer: \"a\" and task 0 are tasks of different graphs");
    EXPECT_EQ(error_of([&] { a.succeed(b); }), "pilfer: task 0 and \"a\" are tasks of different graphs");
    auto c = g.condition([] { return 0; });
    EXPECT_EQ(error_of([&] { c.chooses(b); }),
              "pilfer: condition 1 and task 0 are tasks of different graphs");
    EXPECT_EQ(g.size(), 2U);
    pilfer::graph_limit l(1);
    a.limited_by(l);
    EXPECT_EQ(error_of([&] { b.limited_by(l); }), "pilfer: a graph_limit is used by another graph");
    EXPECT_THROW(pilfer::graph_limit(0), std::invalid_argument);
}

TEST_F(graph_misuse, empty_handles) {
    pilfer::graph g;
    auto a = g.task([] { return 1; });
    const pilfer::node<int> none;
    const std::string text = "pilfer: the handle of a task of a graph is empty";
    EXPECT_EQ(error_of([&] { a.precede(none); }), text);
    EXPECT_EQ(error_of([&] { none.precede(a); }), text);
    EXPECT_EQ(error_of([&] { none.name("x"); }), text);
    EXPECT_EQ(error_of([&] { (void)none.value(); }), text);
    EXPECT_EQ(error_of([&] { pilfer::condition_node().chooses(a); }), text);
    EXPECT_EQ(error_of([&] { (void)g.task([](int) {}, none); }), "pilfer: the handle of an input is empty");
}

TEST_F(graph_misuse, conditions_have_no_strong_successors) {
    pilfer::graph g;
    auto c = g.condition([] { return 0; });
    auto a = g.task([] {});
    const std::string text = "pilfer: condition 0 is a condition, which precedes only tasks that it chooses";
    EXPECT_EQ(error_of([&] { c.precede(a); }), text);
    EXPECT_EQ(error_of([&] { a.succeed(c); }), text);
    EXPECT_EQ(error_of([&] { (void)g.task([] {}, c.order_only()); }), text);
    EXPECT_EQ(g.size(), 2U);
}

TEST_F(graph_misuse, a_value_that_is_not_there) {
    pilfer::pool pool(workers(2));
    pilfer::graph g;
    bool fails = false;
    auto a = g.task([&] {
        if (fails) {
            throw std::runtime_error("a");
        }
        return 1;
    });
    auto b = g.task([](int x) { return x + 1; }, a);
    b.name("b");
    const std::string text = "pilfer: \"b\" did not end in the last run, and has no value";
    EXPECT_EQ(error_of([&] { (void)b.value(); }), text);
    g.run(pool);
    EXPECT_EQ(b.value(), 2);
    fails = true;
    EXPECT_THROW(g.run(pool), std::runtime_error);
    EXPECT_EQ(error_of([&] { (void)b.value(); }), text);
    EXPECT_THROW((void)a.value(), pilfer::usage_error);
    fails = false;
    g.run(pool);
    EXPECT_EQ(b.value(), 2);
}

TEST_F(graph_misuse, a_graph_that_runs_is_left_alone) {
    pilfer::pool pool(workers(2));
    pilfer::graph g;
    pilfer::graph_limit l(1);
    pilfer::graph other;
    pilfer::node<int> a;
    std::vector<std::string> texts;
    a = g.task([&] {
        texts.push_back(error_of([&] { (void)g.task([] {}); }));
        texts.push_back(error_of([&] { (void)g.condition([] { return 0; }); }));
        texts.push_back(error_of([&] { (void)g.subgraph(other); }));
        texts.push_back(error_of([&] { a.precede(a); }));
        texts.push_back(error_of([&] { a.name("x"); }));
        texts.push_back(error_of([&] { a.limited_by(l); }));
        texts.push_back(error_of([&] { (void)a.value(); }));
        texts.push_back(error_of([&] { g.run(); }));
        return 1;
    });
    g.run(pool);
    ASSERT_EQ(texts.size(), 8U);
    for (const std::string& text : texts) {
        EXPECT_TRUE(text.ends_with("while the graph runs") || text == "pilfer: a graph was run while it runs")
            << text;
    }
    EXPECT_EQ(g.size(), 1U);
    EXPECT_EQ(a.value(), 1);
}

TEST_F(graph_misuse, a_graph_cannot_contain_itself) {
    pilfer::graph g;
    pilfer::graph h;
    pilfer::graph i;
    (void)g.subgraph(h);
    (void)h.subgraph(i);
    const std::string text = "pilfer: a graph would contain itself";
    EXPECT_EQ(error_of([&] { (void)g.subgraph(g); }), text);
    EXPECT_EQ(error_of([&] { (void)h.subgraph(g); }), text);
    EXPECT_EQ(error_of([&] { (void)i.subgraph(g); }), text);
    (void)g.subgraph(i);
}

TEST_F(graph_text, names_edges_and_choices) {
    pilfer::graph g;
    auto a = g.task([] { return 1; });
    auto b = g.task([](int) {}, a);
    auto c = g.condition([] { return 0; }, b);
    c.chooses(a, b);
    a.name("say \"hi\"\\\nthere");
    std::ostringstream out;
    g.dot(out);
    EXPECT_EQ(out.str(), "digraph {\n"
                         "    n0 [label=\"say \\\"hi\\\"\\\\\\nthere\"];\n"
                         "    n1 [label=\"task 1\"];\n"
                         "    n2 [label=\"condition 2\" shape=diamond];\n"
                         "    n0 -> n1;\n"
                         "    n1 -> n2;\n"
                         "    n2 -> n0 [style=dashed label=0];\n"
                         "    n2 -> n1 [style=dashed label=1];\n"
                         "}\n");
}

TEST_F(graph_text, subgraphs_are_clusters) {
    pilfer::graph inner;
    auto x = inner.task([] {});
    (void)inner.task([] {}, x);
    pilfer::graph g;
    auto a = g.task([] {});
    auto s = g.subgraph(inner, a);
    s.name("part");
    std::ostringstream out;
    g.dot(out);
    EXPECT_EQ(out.str(), "digraph {\n"
                         "    n0 [label=\"task 0\"];\n"
                         "    subgraph cluster_n1 {\n"
                         "        label=\"part\";\n"
                         "        n1_0 [label=\"task 0\"];\n"
                         "        n1_1 [label=\"task 1\"];\n"
                         "        n1_0 -> n1_1;\n"
                         "        n1 [label=\"part\" shape=box];\n"
                         "    }\n"
                         "    n0 -> n1;\n"
                         "}\n");
}

TEST_F(graph_text, numbers_are_not_those_of_a_locale) {
    struct in_groups : std::numpunct<char> {
        [[nodiscard]] char do_thousands_sep() const override { return ','; }
        [[nodiscard]] std::string do_grouping() const override { return "\1"; }
    };
    pilfer::graph g;
    auto c = g.condition([] { return 0; });
    for (int i = 0; i < 11; ++i) {
        c.chooses(c);
    }
    std::ostringstream out;
    out.imbue(std::locale(std::locale::classic(), new in_groups));
    g.dot(out);
    EXPECT_NE(out.str().find("n0 -> n0 [style=dashed label=10];"), std::string::npos) << out.str();
}

TEST_F(graph_text, an_empty_graph) {
    const pilfer::graph g;
    std::ostringstream out;
    g.dot(out);
    EXPECT_EQ(out.str(), "digraph {\n}\n");
}

} // namespace
