// Recorded graphs: reading, refusals, and the time of a replay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <sstream>
#include <stdexcept>
#include <string>

#include "balance/text.hpp"
#include "study/graph.hpp"
#include "study/simulator.hpp"
#include "support/harness.hpp"

namespace {

class recorded_graph : public support::guarded {};

std::unique_ptr<study::recorded_graph> graph(const std::string& lines) {
    std::istringstream in("pilfer-graph 1\n" + lines);
    return study::read_graph(in, "file");
}

std::string refusal(const std::string& whole) {
    std::istringstream in(whole);
    try {
        (void)study::read_graph(in, "file");
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

study::result replay(const study::workload& program, unsigned workers) {
    study::setup how;
    how.workers = workers;
    pilfer::balance::resolve(how.policy, "one,random,on-demand");
    how.price = study::no_costs();
    return study::simulate(how, program);
}

// Work 1,200 + 45 + 800 + 90 + 310 + 5,000; the longest path is 1,200 + 45 + 5,000 + 90.
const std::string three_tasks = "2 310\n1 1200 >2 45 +3 800 -2 -3 90\n# a comment\n3 5000\n0 +1 -1\nend 4\n";

TEST_F(recorded_graph, takes_its_work_on_one_worker_and_its_span_on_many) {
    const auto program = graph(three_tasks);
    EXPECT_EQ(program->work(), study::from_ns(7'445));
    const auto alone = replay(*program, 1);
    EXPECT_EQ(alone.makespan, study::from_ns(7'445));
    EXPECT_EQ(alone.tasks, 4U);
    const auto many = replay(*program, 8);
    EXPECT_EQ(many.work, study::from_ns(7'445));
    EXPECT_EQ(many.makespan, study::from_ns(6'335));
}

TEST_F(recorded_graph, functions_of_one_name_are_one_part) {
    const auto program = graph("1 @2 5 +2 +3 +4 -2 -3 -4\n2 @1 7\n3 @3 8\n4 9\n0 +1 -1\nfunction 1 a::run()\n"
                               "function 2 pilfer::x<pilfer::y<b(c<int>)::{lambda()#1}, c>, d>::run(e)\n"
                               "function 3 a::run()\nend 5\n");
    EXPECT_EQ(program->parts(),
              (std::vector<std::string>{"(function not known)", "b(c<int>)::{lambda()#1}", "a::run()"}));
    EXPECT_EQ(program->part_of(0), 0U);
    EXPECT_EQ(program->part_of(1), 1U);
    EXPECT_EQ(program->part_of(2), 2U);
    EXPECT_EQ(program->part_of(3), 2U);
    EXPECT_EQ(program->part_of(4), 0U);
    const std::string head = "pilfer-graph 1\n";
    EXPECT_EQ(refusal(head + "0 5 @1\nfunction 1 a\nend 1\n"),
              "file:2: a function must be the first word of its task");
    EXPECT_EQ(refusal(head + "0 @1\nend 1\n"), "file:2: function 1 has no name");
    EXPECT_EQ(refusal(head + "function 0 a\n"), "file:2: functions are counted from 1");
    EXPECT_EQ(refusal(head + "function 1 a\nfunction 1 b\n"), "file:3: a second name for function 1");
}

TEST_F(recorded_graph, several_tasks_may_await_one_task) {
    // 1 forks 2, 3 and 4; 3 and 4 await 2. No task awaits 3.
    const auto program = graph("0 +1 -1\n1 +2 +3 +4 10 -4\n2 100\n3 5 -2 7\n4 6 -2 8\nend 5\n");
    for (const unsigned workers : {1U, 2U, 3U, 8U, 64U}) {
        const auto r = replay(*program, workers);
        EXPECT_EQ(r.tasks, 5U);
        EXPECT_EQ(r.work, study::from_ns(136));
        EXPECT_GE(r.makespan, study::from_ns(108)) << workers;
    }
    EXPECT_EQ(replay(*program, 8).makespan, study::from_ns(108));
}

TEST_F(recorded_graph, a_graph_that_waits_for_itself_is_named) {
    const auto program = graph("0 +1 +2 -1\n1 -2\n2 -1\nend 3\n");
    for (const unsigned workers : {1U, 4U}) {
        try {
            (void)replay(*program, workers);
            ADD_FAILURE() << "it ended";
        } catch (const std::runtime_error& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr("waits for itself"));
        }
    }
}

TEST_F(recorded_graph, errors_name_the_line) {
    const std::string head = "pilfer-graph 1\n";
    EXPECT_EQ(refusal(""), "file:1: the first line must be 'pilfer-graph 3', 2 or 1");
    EXPECT_EQ(refusal("pilfer-graph 4\n"),
              "file:1: version 4 of the format is not known: this command reads 1, 2 and 3");
    EXPECT_EQ(refusal(head + "0 (1 )1\nend 1\n"), "file:2: '(1' is no number from 0 to 10000000000000000");
    const std::string third = "pilfer-graph 3\n";
    EXPECT_EQ(refusal(third + "0 (7 5 )7\nlock 7 0\nend 1\n"), "");
    EXPECT_EQ(refusal(third + "0 (1 (1 )1\nend 1\n"), "file:2: task 0 locks twice lock 1");
    EXPECT_EQ(refusal(third + "0 (1 )2 )1\nend 1\n"), "file:2: task 0 unlocks, but does not have, lock 2");
    EXPECT_EQ(refusal(third + "0 (1 5\nend 1\n"), "file:2: task 0 ends with lock 1");
    EXPECT_EQ(refusal(third + "0 5\nlock 0 0\nend 1\n"), "file:3: locks are counted from 1");
    EXPECT_EQ(refusal(third + "0 5\nlock 1 0\nlock 1 0\nend 1\n"), "file:4: a second place for lock 1");
    EXPECT_EQ(refusal(third + "0 (1 )1\nlock 1 5\nend 1\n"), "file:4: place 5 has no line");
    EXPECT_EQ(refusal(head + "0 5\n"), "file:3: the file ends without 'end N': it is not complete");
    EXPECT_EQ(refusal(head + "0 x\nend 1\n"), "file:2: 'x' is no number from 0 to 10000000000000000");
    EXPECT_EQ(refusal(head + "0 -1x\nend 1\n"), "file:2: '1x' is no number from 0 to 2147483647");
    EXPECT_EQ(refusal(head + "0  5\nend 1\n"), "file:2: two blanks in a row");
    EXPECT_EQ(refusal(head + "0 5\n0 6\nend 1\n"), "file:3: a second line for task 0");
    EXPECT_EQ(refusal(head + "0 +1 +1\n1 5\nend 2\n"), "file:2: task 1 is forked twice");
    EXPECT_EQ(refusal(head + "0 +0\nend 1\n"), "file:2: task 0 is the root and cannot be forked");
    EXPECT_EQ(refusal(head + "0 +1\nend 2\n"), "file:2: task 1 has no line");
    EXPECT_EQ(refusal(head + "0 5\n1 5\nend 2\n"), "file:3: no task forks task 1");
    EXPECT_EQ(refusal(head + "0 5\nend 2\n"), "file:3: 'end 2', but the tasks above are 1");
    EXPECT_EQ(refusal(head + "end 0\n"), "file:2: there is no task");
    EXPECT_EQ(refusal(head + "0 +2000000000\nend 1\n"),
              "file:2: task 2000000000 is more than a file of this size can have");
    EXPECT_EQ(refusal(head + "end many\n"), "file:2: 'many' is no number from 0 to 2147483648");
    EXPECT_EQ(refusal(head + "0 +1 -1\n1 10000000000000000\nend 2\n"), "");
    EXPECT_EQ(refusal(head + "0 +1 -1\n1 10000000000000000 1\nend 2\n"),
              "file:3: all tasks together compute for more than 10000000000000000 ns");
    EXPECT_EQ(refusal(head + "0 5\nend 1 2\n"), "file:3: 'end N' has more words");
    EXPECT_EQ(refusal(head + "0 5\nend 1\n\n# a comment\n1 5\n"), "file:6: 'end N' is not the last line");
    EXPECT_EQ(refusal(head + "0 \x1b[31m\nend 1\n"),
              "file:2: ' [31m' is no number from 0 to 10000000000000000");
    EXPECT_THROW((void)study::read_graph("/nowhere/at/all"), std::runtime_error);
}

/// A text whose length is not known before its end.
class piped : public std::stringbuf {
public:
    using std::stringbuf::stringbuf;

protected:
    pos_type seekoff(off_type, std::ios::seekdir, std::ios::openmode) override { return off_type{-1}; }
};

TEST_F(recorded_graph, a_short_file_cannot_take_much_memory) {
    const std::string head = "pilfer-graph 1\n";
    EXPECT_EQ(refusal(head + "1000000 5\n11000000 5\n"),
              "file:2: task 1000000 is more than a file of this size can have");
    EXPECT_EQ(refusal(head + "0 +1 +2 +3\n3\n2\n1\nend 4\n"), "") << "few bytes for each task";
    piped text(head + "1000000 5\n11000000 5\n");
    std::istream in(&text);
    try {
        (void)study::read_graph(in, "pipe");
        ADD_FAILURE() << "it is read";
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "pipe:3: task 11000000 is more than a file of this size can have");
    }
    piped small(head + three_tasks);
    std::istream right(&small);
    EXPECT_EQ(study::read_graph(right, "pipe")->work(), study::from_ns(7'445));
}

TEST_F(recorded_graph, a_name_takes_time_in_proportion_to_its_length) {
    std::string name = "pilfer";
    for (int i = 0; i < 250'000; ++i) {
        name += "::$_";
    }
    const std::clock_t begin = std::clock(); // of this process, so other programs change it little
    EXPECT_EQ(graph("0 @1\nfunction 1 " + name + "\nend 1\n")->parts().at(1), name);
    EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 5);
}

} // namespace
