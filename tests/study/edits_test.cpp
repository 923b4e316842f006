// Edits of recorded graphs: locks that are split, and another grain size, computed by hand.
#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "balance/text.hpp"
#include "study/diagnosis.hpp"
#include "study/edits.hpp"
#include "study/simulator.hpp"
#include "support/harness.hpp"

namespace {

class graph_edits : public support::guarded {};

std::unique_ptr<study::recorded_graph> graph(const std::string& lines) {
    std::istringstream in("pilfer-graph 3\n" + lines);
    return study::read_graph(in, "file");
}
/// Nanoseconds on so many workers, if the runtime costs nothing.
double time_of(const study::workload& program, unsigned workers) {
    study::setup how;
    how.workers = workers;
    pilfer::balance::resolve(how.policy, "one,random,on-demand");
    how.price = study::no_costs();
    return study::to_ns(study::simulate(how, program).makespan);
}

/// Four tasks compute 600 ns each, and then 400 ns under one lock.
const std::string one_lock = "0 +1 -1\n1 +2 +3 +4 +5 -2 -3 -4 -5\n2 600 (1 400 )1\n3 600 (1 400 )1\n"
                             "4 600 (1 400 )1\n5 600 (1 400 )1\nend 6\n";

TEST_F(graph_edits, one_task_at_a_time_has_a_lock) {
    const auto g = graph(one_lock);
    EXPECT_EQ(time_of(*g, 1), 4'000) << "one worker meets no other task";
    EXPECT_EQ(time_of(*g, 4), 600 + 4 * 400);
    EXPECT_EQ(time_of(*g, 2), 600 + 4 * 400) << "the second pair computes while the first one has the lock";
    EXPECT_EQ(time_of(*study::without_locks(*g), 4), 1'000);
    const auto f = study::locks_of(*g);
    ASSERT_EQ(f.size(), 1U);
    EXPECT_EQ(f[0].sections, 4U);
    EXPECT_EQ(f[0].held, study::from_ns(1'600));
}

TEST_F(graph_edits, the_parts_of_a_split_lock_are_held_at_once) {
    const auto g = graph(one_lock);
    EXPECT_EQ(time_of(*study::split_locks(*g, {1}, 2), 4), 600 + 2 * 400);
    EXPECT_EQ(time_of(*study::split_locks(*g, {1}, 4), 4), 1'000);
    EXPECT_EQ(study::locks_of(*study::split_locks(*g, {1}, 3)).size(), 3U);
    EXPECT_EQ(time_of(*study::split_locks(*g, {1}, 4), 1), 4'000);
}

TEST_F(graph_edits, only_the_chosen_lock_is_split) {
    const auto g =
        graph("0 +1 -1\n1 +2 +3 +4 +5 -2 -3 -4 -5\n2 (1 400 )1\n3 (1 400 )1\n4 (2 300 )2\n5 (2 300 )2\n"
              "end 6\n");
    EXPECT_EQ(time_of(*g, 4), 800);
    EXPECT_EQ(time_of(*study::split_locks(*g, {2}, 2), 4), 800);
    EXPECT_EQ(time_of(*study::split_locks(*g, {1}, 2), 4), 600);
    EXPECT_EQ(time_of(*study::split_locks(*g, {1, 2}, 2), 4), 400);
}

TEST_F(graph_edits, a_lock_has_no_more_parts_than_critical_sections) {
    const auto g = graph(one_lock);
    EXPECT_EQ(study::split_locks(*g, {1}, 4'096)->locks(), g->locks() + 3) << "four sections";
    EXPECT_EQ(time_of(*study::split_locks(*g, {1}, 4'096), 4), 1'000);
}

TEST_F(graph_edits, a_task_may_wait_for_its_child_under_a_lock) {
    const auto g = graph("0 +1 -1\n1 +2 +3 -2 -3\n2 (1 100 +4 -4 100 )1\n3 (1 50 )1\n4 500\nend 5\n");
    EXPECT_EQ(time_of(*g, 4), 750);
    EXPECT_EQ(time_of(*study::split_locks(*g, {1}, 2), 4), 700);
}

TEST_F(graph_edits, locks_in_different_orders_that_meet_are_named) {
    const auto g = graph("0 +1 -1\n1 +2 +3 -2 -3\n2 (1 100 (2 100 )2 )1\n3 (2 100 (1 100 )1 )2\nend 4\n");
    EXPECT_EQ(time_of(*g, 1), 400);
    EXPECT_THROW((void)time_of(*g, 2), std::runtime_error);
}

/// The sentence about 40 tasks that compute for so long outside and inside of a lock, on eight workers.
study::diagnosis diagnosed(const std::string& outside, const std::string& inside) {
    std::string parent = "0 +1 -1\n1";
    std::string waits;
    std::string children;
    for (int i = 2; i < 42; ++i) {
        const std::string n = std::to_string(i);
        parent += " +" + n;
        waits += " -" + n;
        children += n + " " + outside + " (1 " + inside + " )1\n";
    }
    const auto g = graph(parent + waits + "\n" + children + "line 1 12 x.cpp\nlock 1 1\nend 42\n");
    const auto price = study::built_in_costs();
    return study::diagnose(*g, study::figures_of(*g), study::simulate_run(*g, 8, price), price);
}

TEST_F(graph_edits, the_sentence_names_a_lock_that_takes_the_time) {
    const auto said = diagnosed("100000", "900000");
    EXPECT_EQ(said.what, study::cause::lock);
    const std::string expected =
        "A lock holds it back: tasks compute 36 ms of 40 ms under lock 1, locked at x.cpp:12, so "
        "8 workers are 1.1 times as fast as one, and ";
    EXPECT_EQ(said.sentence.substr(0, expected.size()), expected);
    EXPECT_NE(diagnosed("999950", "50").what, study::cause::lock);
}

// ---- grain. Place 1 is the line 10, place 2 the line 20.

const std::string lines = "line 1 10 a.cpp\nline 2 20 a.cpp\n";
unsigned line_10(const study::recorded_graph& g) {
    for (unsigned i = 0; i < g.lines().size(); ++i) {
        if (g.lines()[i].line == 10) {
            return i;
        }
    }
    return 0;
}
struct shape {
    std::uint64_t tasks;
    double work, span;
    friend bool operator==(const shape&, const shape&) = default;
};
shape with_grain(const std::string& tasks, std::uint64_t k) {
    const auto g = graph(tasks);
    const auto merged = study::with_grain(*g, line_10(*g), k);
    const auto f = study::figures_of(*merged);
    return {f.tasks, study::to_ns(f.work), study::to_ns(f.span)};
}
std::ostream& operator<<(std::ostream& out, const shape& s) {
    return out << s.tasks << " tasks, work " << s.work << ", span " << s.span;
}

TEST_F(graph_edits, neighbours_of_a_loop_become_one_task) {
    const std::string loop =
        "0 :2 +1 -1\n1 :1 +2 +3 +4 +5 +6 +7 -2 -3 -4 -5 -6 -7\n2 10\n3 20\n4 30\n5 40\n6 50\n"
        "7 60\n" +
        lines + "end 8\n";
    EXPECT_EQ(with_grain(loop, 2), (shape{1 + 3, 210, 110}));
    EXPECT_EQ(with_grain(loop, 4), (shape{1 + 2, 210, 110})) << "10 to 40, and 50 with 60";
    EXPECT_EQ(with_grain(loop, 6), (shape{1 + 1, 210, 210}));
    EXPECT_EQ(with_grain(loop, 100), (shape{1 + 1, 210, 210}));
    const auto g = graph(loop);
    EXPECT_EQ(time_of(*study::with_grain(*g, line_10(*g), 2), 2), 110) << "30 and 70, then 110 on the first";
}

TEST_F(graph_edits, a_merged_task_begins_when_the_last_of_its_tasks_was_forked) {
    const std::string loop =
        "0 :2 +1 -1\n1 :1 +2 500 +3 500 +4 500 +5 -2 -3 -4 -5\n2 10\n3 10\n4 10\n5 10\n" + lines + "end 6\n";
    EXPECT_EQ(with_grain(loop, 2), (shape{1 + 2, 1'540, 1'520}));
    EXPECT_EQ(with_grain(loop, 4), (shape{1 + 1, 1'540, 1'540}));
}

TEST_F(graph_edits, a_wait_of_the_parent_ends_a_row) {
    EXPECT_EQ(
        with_grain("0 :2 +1 -1\n1 :1 +2 +3 -2 -3 +4 +5 -4 -5\n2 10\n3 10\n4 10\n5 10\n" + lines + "end 6\n",
                   8),
        (shape{1 + 2, 40, 40}));
}

TEST_F(graph_edits, other_lines_and_tasks_that_wait_for_others_stay) {
    EXPECT_EQ(with_grain("0 :2 +1 -1\n1 :1 +2 +3 :2 +4 +5 -2 -3 -4 -5\n2 10\n3 10\n4 10\n5 10\n" + lines +
                             "end 6\n",
                         8),
              (shape{1 + 1 + 2, 40, 20}));
    // 3 waits for 2, so it stays; 2 and 4 are one, for which it waits.
    EXPECT_EQ(with_grain("0 :2 +1 -1\n1 :1 +2 +3 +4 +5 -3 -4 -5\n2 10\n3 10 -2 10\n4 10\n5 10\n" + lines +
                             "end 6\n",
                         2),
              (shape{1 + 3, 50, 30}));
    // A task elsewhere waits for a merged one.
    EXPECT_EQ(
        with_grain("0 :2 +1 -1\n1 :1 +2 +3 :2 +4 -2 -3 -4\n2 10\n3 20\n4 5 -3 5\n" + lines + "end 5\n", 2),
        (shape{1 + 1 + 1, 40, 35}));
}

/// A recursion of joins with eight leaves of 10 ns: each task forks halves, and computes the last leaf
/// itself.
const std::string recursion =
    "0 :2 +1 -1\n1 :1 +2 +3 +4 10 -4 -3 -2\n2 :1 +5 +6 10 -6 -5\n3 :1 +8 10 -8\n4 10\n"
    "5 :1 +7 10 -7\n6 10\n7 10\n8 10\n" +
    lines + "end 9\n";

TEST_F(graph_edits, a_recursion_stops_forking_earlier) {
    EXPECT_EQ(with_grain(recursion, 2), (shape{5, 80, 20})) << "5 with 7, 3 with 8, and 6 inside of 2";
    EXPECT_EQ(with_grain(recursion, 4), (shape{3, 80, 40})) << "2 with all below it; 3 with 8 and 4";
    EXPECT_EQ(with_grain(recursion, 8), (shape{2, 80, 70})) << "the outermost task is of another line";
}

TEST_F(graph_edits, a_larger_grain_saves_the_cost_of_forks) {
    std::string loop = "0 :2 +1 -1\n1 :1";
    std::string bodies;
    for (int i = 2; i < 1'002; ++i) {
        loop += " +" + std::to_string(i);
        bodies += std::to_string(i) + " 20\n";
    }
    for (int i = 2; i < 1'002; ++i) {
        loop += " -" + std::to_string(i);
    }
    const auto g = graph(loop + "\n" + bodies + lines + "end 1002\n");
    const auto price = study::built_in_costs();
    const auto saved = study::to_ns(study::predicted(*g, 1, price)) -
                       study::to_ns(study::predicted(*study::with_grain(*g, line_10(*g), 8), 1, price));
    EXPECT_NEAR(saved, 875 * price.spawn, 0.1 * 875 * price.spawn) << "1,000 forks are 125";
}

TEST_F(graph_edits, a_task_does_not_run_a_child_itself_that_wants_its_lock) {
    // 2 forks 3 under the lock, and waits for it without: as the last task of a row, and as a whole task.
    const std::string under_lock =
        "0 :2 +1 -1\n1 :1 +2 -2\n2 :1 (1 10 +3 )1 -3\n3 (1 20 )1\n" + lines + "end 4\n";
    EXPECT_EQ(with_grain(under_lock, 8), (shape{3, 30, 30}));
    EXPECT_EQ(time_of(*study::with_grain(*graph(under_lock), line_10(*graph(under_lock)), 8), 2), 30);
}

TEST_F(graph_edits, a_deep_or_wide_recursion_is_merged_in_linear_time) {
    constexpr unsigned n = support::sanitized ? 100'000 : 1'000'000;
    std::string deep = "0 :2 +1 -1\n1 :1 +2 -2\n";
    std::string wide = deep + "2 :1";
    for (unsigned i = 3; i < n; ++i) {
        deep += std::to_string(i - 1) + " :1 1 +" + std::to_string(i) + " -" + std::to_string(i) + "\n";
        wide += " +" + std::to_string(i);
    }
    for (unsigned i = n - 1; i > 2; --i) {
        wide += " -" + std::to_string(i);
    }
    wide += "\n";
    for (unsigned i = 3; i < n; ++i) {
        wide += std::to_string(i) + " 1\n";
    }
    const std::string end = lines + "end " + std::to_string(n) + "\n";
    EXPECT_EQ(with_grain(deep + std::to_string(n - 1) + " 1\n" + end, n), (shape{2, n - 2., n - 2.}));
    EXPECT_EQ(with_grain(wide + end, n), (shape{2, n - 3., n - 3.}));
}

TEST_F(graph_edits, sections_stay_in_merged_tasks) {
    const auto g =
        graph("0 :2 +1 -1\n1 :1 +2 +3 +4 +5 -2 -3 -4 -5\n2 (1 10 )1\n3 (1 10 )1\n4 (1 10 )1\n5 (1 10 )1\n" +
              lines + "end 6\n");
    const auto merged = study::with_grain(*g, line_10(*g), 2);
    ASSERT_EQ(study::locks_of(*merged).size(), 1U);
    EXPECT_EQ(study::locks_of(*merged)[0].sections, 4U);
    EXPECT_EQ(time_of(*merged, 2), 40);
}

} // namespace
