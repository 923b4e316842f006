// Recorded traces: reading, refusals, where the time went, and the sentence about it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "study/curve.hpp"
#include "study/diagnosis.hpp"
#include "study/graph.hpp"
#include "study/trace.hpp"
#include "support/harness.hpp"

namespace {

class recorded_trace_file : public support::guarded {};

/// A document with these events, which begin with a comma, after the names of `workers` tracks.
std::string document(const std::string& events, unsigned workers = 2) {
    std::string text =
        R"({"displayTimeUnit":"ns","otherData":{"begin_ns":7,"duration_ns":100000,"counters":{"wakes":1},"tracks":[{"worker":0,"events":3,"overwritten":2},{"worker":1,"events":0,"overwritten":3}]},
"traceEvents":[{"ph":"M","pid":1,"name":"process_name","args":{"name":"pilfer"}})";
    for (unsigned w = 1; w <= workers; ++w) {
        text += R"(,{"ph":"M","pid":1,"tid":)" + std::to_string(w) +
                R"(,"name":"thread_name","args":{"name":"pilfer/)" + std::to_string(w - 1) + "\"}}";
    }
    return text + events + "]}";
}
std::string begin(unsigned worker, const std::string& us, const std::string& name,
                  const std::string& more = "") {
    return R"(,{"ph":"B","pid":1,"tid":)" + std::to_string(worker + 1) + R"(,"ts":)" + us + R"(,"cat":")" +
           (name == "sleep" ? "idle" : "run") + R"(","name":")" + name + "\"" + more + "}";
}
std::string end(unsigned worker, const std::string& us, const std::string& more = "") {
    return R"(,{"ph":"E","pid":1,"tid":)" + std::to_string(worker + 1) + R"(,"ts":)" + us +
           R"(,"args":{"end":"ended")" + more + "}}";
}
std::string waits(const std::string& reason, unsigned object, unsigned context,
                  const std::string& name = "") {
    return R"(,"for":")" + reason + R"(","object":)" + std::to_string(object) + R"(,"context":)" +
           std::to_string(context) + (name.empty() ? "" : R"(,"object_name":")" + name + '"');
}
std::string resumes(unsigned context) { return R"(,"args":{"context":)" + std::to_string(context) + "}"; }

study::recorded_trace read(const std::string& text) {
    std::istringstream in(text);
    return study::read_trace(in, "file");
}
std::string refusal(const std::string& text) {
    try {
        (void)read(text);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}
study::diagnosis diagnosed(const std::string& events, unsigned workers = 2) {
    const auto t = read(document(events, workers));
    return study::diagnose(t, study::figures_of(t));
}

TEST_F(recorded_trace_file, becomes_slices_without_overlap) {
    const auto t =
        read(document(begin(0, "1.000", "own spark") + begin(0, "2.500", "on top: stolen forked") +
                      end(0, "3.000") + end(0, "4.000") + begin(0, "5.000", "sleep") + end(0, "9.000")));
    ASSERT_EQ(t.workers.size(), 2U);
    ASSERT_EQ(t.workers[0].size(), 4U);
    const std::vector<std::uint64_t> begins = {1'000, 2'500, 3'000, 5'000};
    const std::vector<study::doing> kinds = {study::doing::own, study::doing::on_top, study::doing::own,
                                             study::doing::asleep};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(t.workers[0][i].begin, begins[i]);
        EXPECT_EQ(t.workers[0][i].what, kinds[i]);
    }
    EXPECT_EQ(t.workers[0][3].end, 9'000U);
    EXPECT_TRUE(t.workers[1].empty());
    EXPECT_EQ(t.tasks, 2U);
    EXPECT_EQ(t.overwritten, 5U);
    EXPECT_EQ(t.duration, 100'000U);
}

TEST_F(recorded_trace_file, a_wait_ends_where_its_context_goes_on_on_any_worker) {
    const auto t = read(document(begin(0, "1.000", "own spark") + end(0, "2.000", waits("a mutex", 17, 5)) +
                                 begin(0, "3.000", "own spark") + end(0, "4.000", waits("a latch", 3, 6)) +
                                 begin(1, "7.000", "resumed anywhere", resumes(5)) +
                                 end(1, "8.000", waits("a mutex", 17, 5))));
    ASSERT_EQ(t.waits.size(), 3U);
    EXPECT_EQ(t.reasons, (std::vector<std::string>{"a mutex", "a latch"}));
    EXPECT_EQ(t.waits[0].begin, 2'000U);
    EXPECT_EQ(t.waits[0].end, 7'000U);
    EXPECT_EQ(t.waits[0].object, 17U);
    EXPECT_EQ(t.waits[1].end, 100'000U) << "it still waits at the end of the trace";
    EXPECT_EQ(t.waits[2].begin, 8'000U);
    EXPECT_EQ(t.waits[2].end, 100'000U);
}

TEST_F(recorded_trace_file, idle_time_has_one_cause) {
    // 0 to 40 us: both run. 40 to 60: one waits for a lock, the other one runs. 60 to 100: one task runs
    // alone.
    const auto t =
        read(document(begin(0, "0.000", "own spark") + end(0, "100.000") + begin(1, "0.000", "stolen spark") +
                      end(1, "40.000", waits("a mutex", 17, 5)) +
                      begin(1, "60.000", "resumed next", resumes(5)) + end(1, "60.000")));
    const auto f = study::figures_of(t);
    EXPECT_EQ(f.begin, 0U);
    EXPECT_EQ(f.end, 100'000U);
    EXPECT_EQ(f.busy, 140'000U);
    EXPECT_EQ(f.idle[static_cast<unsigned>(study::lack::lock)], 20'000U);
    EXPECT_EQ(f.idle[static_cast<unsigned>(study::lack::serial)], 40'000U);
    EXPECT_EQ(f.idle[static_cast<unsigned>(study::lack::little)], 0U);
    ASSERT_EQ(f.waits.size(), 1U);
    EXPECT_EQ(f.waits[0].total, 20'000U);
    EXPECT_EQ(f.waits[0].idle, 20'000U);
    EXPECT_EQ(f.waits[0].at_once, 1U);
    ASSERT_EQ(f.busy_curve.size(), study::bins);
    EXPECT_NEAR(f.busy_curve[0], 2, 1e-9);
    EXPECT_NEAR(f.busy_curve[study::bins - 1], 1, 1e-9);
    EXPECT_NEAR(f.lock_curve[study::bins / 2], 1, 1e-9);
    EXPECT_NEAR(f.lock_curve[study::bins - 1], 0, 1e-9);
}

/// An object that ended and another one at its address have one number, and may have two names.
TEST_F(recorded_trace_file, waits_are_listed_by_the_names_of_objects) {
    const auto t = read(
        document(begin(0, "0.000", "own spark") + end(0, "10.000", waits("a mutex", 17, 5, "accounts")) +
                 begin(0, "20.000", "resumed here", resumes(5)) +
                 end(0, "30.000", waits("a mutex", 17, 5, "audit \\\"log\\\"")) +
                 begin(0, "40.000", "resumed here", resumes(5)) +
                 end(0, "50.000", waits("an event", 18, 5, "the end")) +
                 begin(0, "60.000", "resumed here", resumes(5)) + end(0, "70.000", waits("a mutex", 17, 5)) +
                 begin(0, "80.000", "resumed here", resumes(5)) + end(0, "90.000")));
    const auto f = study::figures_of(t);
    std::vector<std::string> listed;
    for (const auto& w : f.waits) {
        EXPECT_EQ(w.object, w.reason == "an event" ? 18U : 17U);
        listed.push_back(study::with_name(w.reason, w.name));
    }
    EXPECT_THAT(listed, testing::UnorderedElementsAre("a mutex \"accounts\"", "a mutex \"audit \"log\"\"",
                                                      "an event \"the end\"", "a mutex"));
    EXPECT_EQ(f.lines.size(), 4U);
}

TEST_F(recorded_trace_file, places_on_one_line_are_one_row) {
    const auto wait = [](unsigned context, int place) {
        return begin(0, std::to_string(10 * context) + ".000", "own spark") +
               end(0, std::to_string(10 * context + 5) + ".000",
                   waits("a mutex", 7, context) + R"(,"place":)" + std::to_string(place)) +
               begin(0, std::to_string(10 * context + 6) + ".000", "resumed anywhere", resumes(context)) +
               end(0, std::to_string(10 * context + 8) + ".000");
    };
    std::string text = document(wait(1, 1) + wait(2, 2) + wait(3, 3));
    const std::string before = R"("counters")";
    text.insert(text.find(before), R"("places":[{"file":"a.cpp","line":3},{"file":"a.cpp","line":3},)"
                                   R"({"file":"a.cpp","line":4}],)");
    const auto f = study::figures_of(read(text));
    ASSERT_EQ(f.lines.size(), 2U);
    EXPECT_EQ(f.lines[0].waits, 2U);
    EXPECT_EQ(f.lines[1].waits, 1U);
}

TEST_F(recorded_trace_file, the_sentence_names_the_largest_cause) {
    using study::cause;
    const std::string whole = begin(0, "0.000", "own spark") + end(0, "100.000");
    EXPECT_EQ(diagnosed(whole + begin(1, "0.000", "stolen spark") + end(1, "99.000")).what, cause::nothing);
    EXPECT_EQ(diagnosed(whole).what, cause::serial);
    const auto lock =
        diagnosed(whole + begin(1, "0.000", "stolen spark") + end(1, "10.000", waits("a mutex", 0x2a, 5)));
    EXPECT_EQ(lock.what, cause::lock);
    EXPECT_EQ(
        lock.sentence,
        "A lock holds it back: tasks waited once for a mutex (object 2a), up to 1 at once, and workers were "
        "idle 45 % of their time meanwhile.");
    EXPECT_NE(diagnosed(whole + begin(1, "0.000", "stolen spark") +
                        end(1, "10.000", waits("a mutex", 0x2a, 5, "accounts")))
                  .sentence.find("waited once for a mutex \"accounts\", up to 1 at once, and"),
              std::string::npos);
    // A task that waits for a lock is no harm if the workers have other tasks.
    EXPECT_EQ(diagnosed(whole + begin(1, "0.000", "stolen spark") +
                        end(1, "10.000", waits("a mutex", 0x2a, 5)) + begin(1, "10.000", "own spark") +
                        end(1, "100.000"))
                  .what,
              cause::nothing);
    EXPECT_EQ(diagnosed(whole + begin(1, "0.000", "own spark") + end(1, "100.000"), 4).what, cause::little);
    EXPECT_EQ(diagnosed(begin(0, "0.000", "own spark") + end(0, "1.000", waits("a time", 0, 5)) +
                        begin(0, "99.000", "resumed here", resumes(5)) + end(0, "100.000"))
                  .what,
              cause::outside);
    EXPECT_EQ(diagnosed("").what, cause::outside) << "no task at all";
    std::string tiny;
    for (unsigned worker = 0; worker < 2; ++worker) {
        for (unsigned i = 0; i < 500; ++i) {
            const std::string at = std::to_string(i / 10) + "." + std::to_string(i % 10);
            tiny += begin(worker, at + "00", "submitted submission") + end(worker, at + "99");
        }
    }
    EXPECT_EQ(diagnosed(tiny).what, cause::tiny);
}

TEST_F(recorded_trace_file, a_chain_and_the_ready_tasks_of_a_graph_are_exact) {
    // 1 computes 10 us, forks 2 and 3, 2 computes 30 and 3 computes 50 us, 1 waits for both and computes 10.
    std::istringstream in("pilfer-graph 1\n2 30000\n3 50000\n1 10000 +2 +3 -2 -3 10000\n0 +1 -1\nend 4\n");
    const auto graph = study::read_graph(in, "file");
    const auto f = study::figures_of(*graph);
    EXPECT_EQ(f.tasks, 3U);
    EXPECT_EQ(f.strands, 4U);
    EXPECT_EQ(f.work, study::from_ns(100'000));
    EXPECT_EQ(f.span, study::from_ns(70'000));
    ASSERT_EQ(f.chain.size(), 3U);
    EXPECT_EQ(f.chain[1].task, 3U);
    EXPECT_EQ(f.chain[1].begin, study::from_ns(10'000));
    EXPECT_EQ(f.chain[1].time, study::from_ns(50'000));
    EXPECT_NEAR(f.ready_curve[study::bins * 25 / 70], 2, 1e-9);
    EXPECT_NEAR(f.ready_curve[study::bins * 55 / 70], 1, 1e-9);
    EXPECT_NEAR(f.parallelism(), 100.0 / 70, 1e-9);
}

study::diagnosis diagnosed_graph(const std::string& lines) {
    std::istringstream in("pilfer-graph 1\n" + lines);
    const auto g = study::read_graph(in, "file");
    const auto price = study::built_in_costs();
    return study::diagnose(*g, study::figures_of(*g), study::simulate_run(*g, 8, price), price);
}

TEST_F(recorded_trace_file, only_a_task_without_company_is_a_serial_part) {
    using study::cause;
    const auto beside =
        diagnosed_graph("2 60000000\n3 60000000\n4 60000000\n1 +2 +3 +4 -2 -3 -4\n0 +1 -1\nend 5\n");
    EXPECT_EQ(beside.what, cause::little);
    EXPECT_EQ(beside.sentence,
              "Too few tasks at once hold it back: 3.0 could run on average, and the longest chain "
              "takes 60 ms of 180 ms of work, so 8 workers are only 3.0 times as fast as one.");
    const auto after =
        diagnosed_graph("2 10000000\n3 10000000\n4 10000000\n1 +2 +3 +4 -2 -3 -4 60000000\n0 +1 -1\nend 5\n");
    EXPECT_EQ(after.what, cause::serial);
    EXPECT_EQ(after.sentence.rfind("A serial part holds it back: task 1 computes 60 ms alone, 86 % of", 0),
              0U)
        << after.sentence;
    // So short that the workers' start costs more.
    const std::string shortest = diagnosed_graph("1 500\n0 +1 -1\nend 2\n").sentence;
    EXPECT_NE(shortest.find("so 8 workers are no faster than one."), std::string::npos) << shortest;
}

TEST_F(recorded_trace_file, a_graph_without_work_is_not_called_healthy) {
    using study::cause;
    const auto empty = diagnosed_graph("0\nend 1\n");
    EXPECT_EQ(empty.what, cause::outside);
    EXPECT_EQ(empty.sentence, "The graph shows no task: the pool had no work.");
    const auto idle = diagnosed_graph("1\n0 +1 -1\nend 2\n");
    EXPECT_EQ(idle.what, cause::outside);
    EXPECT_EQ(idle.sentence, "The graph shows no work: its tasks compute nothing.");
}

TEST_F(recorded_trace_file, the_sentence_is_one_short_line_whatever_the_names_are) {
    std::string name = "x";
    for (int i = 0; i < 1'000; ++i) {
        name += "\xc3\xa4"; // two bytes
    }
    const std::string cut =
        diagnosed_graph("1 @1 9000000\n0 +1 -1\nfunction 1 " + name + "\nend 2\n").sentence;
    EXPECT_NE(cut.find(name.substr(0, 99) + "... computes 9 ms"), std::string::npos) << cut;
    const std::string red =
        diagnosed_graph("1 @1 9000000\n0 +1 -1\nfunction 1 \x1b[31mred\x7f\nend 2\n").sentence;
    EXPECT_NE(red.find(" of  [31mred  computes"), std::string::npos) << red;
    const std::string lock =
        diagnosed(begin(0, "0.000", "own spark") + end(0, "100.000") + begin(1, "0.000", "own spark") +
                  end(1, "10.000", waits("a mutex\\n\\u001b[31m", 0x2a, 5)))
            .sentence;
    EXPECT_NE(lock.find("for a mutex  [31m (object 2a)"), std::string::npos) << lock;
}

TEST_F(recorded_trace_file, times_have_three_digits_and_no_exponent) {
    EXPECT_EQ(study::time_text(0), "0 ns");
    EXPECT_EQ(study::time_text(999), "999 ns");
    EXPECT_EQ(study::time_text(999.7), "1 us");
    EXPECT_EQ(study::time_text(999'400), "999 us");
    EXPECT_EQ(study::time_text(999'600), "1 ms");
    EXPECT_EQ(study::time_text(1.25e9), "1.25 s");
    EXPECT_EQ(study::time_text(999.6e9), "1000 s");
    EXPECT_EQ(study::time_text(1e16), "10000000 s");
}

class bad_input_recorded_trace : public support::guarded {};

TEST_F(bad_input_recorded_trace, is_refused_with_a_reason) {
    const std::string good = document(begin(0, "1.000", "own spark") + end(0, "2.000"));
    EXPECT_EQ(refusal(good), "");
    const auto says = [](const std::string& text, const std::string& why) {
        const std::string said = refusal(text);
        EXPECT_EQ(said.rfind("file: ", 0), 0U) << said;
        EXPECT_NE(said.find(why), std::string::npos) << said;
    };
    says("", "parse error");
    says("{}", "no trace of pilfer");
    says(R"({"traceEvents":[]})", "otherData");
    says(document("", 0), "no worker");
    says(document(begin(0, "1.000", "own spark")), "without an end");
    says(document(end(0, "1.000")), "has not begun");
    says(document(begin(0, "2.000", "own spark") + end(0, "1.000")), "fall");
    says(document(begin(0, "-1", "own spark")), "no time");
    says(good.substr(0, 400), "it is cut or no JSON: parse error at line");
    says(document(begin(65'535, "0.000", "own spark") + end(65'535, "9999999999999")), "more than");
    says(document(begin(0, "1e300", "own spark")), "no time");
    says(document(begin(4'000'000, "1.000", "own spark")), "no thread");
    says(document(begin(0, "1.000", "a stranger's slice")), "no slice");
    says(document(R"(,{"ph":"X","tid":1,"ts":1.0})"), "phase 'X'");
    says(document(R"(,{"ph":"B","ts":1.0,"name":"own"})"), "no thread");
    // Cut anywhere, it is refused and not half believed.
    for (std::size_t length = 0; length < good.size(); ++length) {
        EXPECT_NE(refusal(good.substr(0, length)), "") << length;
    }
}

/// Reads a text in which bytes are replaced. It is refused or has figures; a sanitizer sees everything else.
template <class Read>
unsigned survives(const std::string& good, Read read_all) {
    unsigned refused = 0;
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const char c : {'0', '9', '-', '+', '>', '@', ' ', '\n', '"', '}', '\xff', '\0'}) {
            std::string text = good;
            text[at] = c;
            try {
                read_all(text);
            } catch (const std::runtime_error& error) {
                EXPECT_NE(std::string(error.what()), "");
                ++refused;
            }
        }
    }
    return refused;
}

TEST_F(bad_input_recorded_trace, a_replaced_byte_is_refused_or_gives_figures) {
    const unsigned traces =
        survives(document(begin(0, "1.000", "own spark") + end(0, "2.000", waits("a mutex", 17, 5)) +
                          begin(1, "3.000", "resumed next", resumes(5)) + end(1, "4.000")),
                 [](const std::string& text) {
                     const auto t = read(text);
                     EXPECT_NE(study::diagnose(t, study::figures_of(t)).sentence, "");
                 });
    EXPECT_GT(traces, 100U);
    const unsigned graphs = survives(
        "pilfer-graph 1\n2 @1 310\n1 1200 >2 45 +3 800 -2 -3 90\n3 5000\n0 +1 -1\nfunction 1 f\nend 4\n",
        [](const std::string& text) {
            std::istringstream in(text);
            const auto g = study::read_graph(in, "file");
            const auto f = study::figures_of(*g);
            EXPECT_LE(study::parts_of(*g, f).size(), 2U);
            EXPECT_GE(study::simulate_run(*g, 2, study::built_in_costs()).time, 0U);
        });
    EXPECT_GT(graphs, 100U);
}

} // namespace
