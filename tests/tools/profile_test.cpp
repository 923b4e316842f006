// `pilfer profile` as people start it. The program that it profiles is this one, started again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>

#include "profile/graph_file.hpp"
#include "support/harness.hpp"
#include "support/shell.hpp"

namespace {

using namespace support;

std::string profiled() {
    // Not a literal + a string: g++ 12 warns of an overlap that cannot be.
    return std::string("'") + std::filesystem::read_symlink("/proc/self/exe").string() +
           "' --gtest_also_run_disabled_tests --gtest_filter=DISABLED_profiled.";
}
said profile(const std::string& options, const std::string& program) {
    return shell(std::string("'" PILFER_TOOL_PROGRAM "' profile ") + options + " " + program + " 2>&1");
}
/// A path of this process, removed at the end.
class temporary {
public:
    temporary() {
        std::string name = ::testing::TempDir() + "pilfer_tool_XXXXXX";
        const int file = mkstemp(name.data());
        EXPECT_GE(file, 0);
        close(file);
        m_path = name;
    }
    temporary(const temporary&) = delete;
    temporary& operator=(const temporary&) = delete;
    ~temporary() { std::remove(m_path.c_str()); }
    [[nodiscard]] const std::string& path() const { return m_path; }
    [[nodiscard]] std::string text() const {
        std::ifstream in(m_path);
        std::ostringstream all;
        all << in.rdbuf();
        return all.str();
    }
    void write(const std::string& text) const { std::ofstream(m_path) << text; }

private:
    std::string m_path;
};

// The profiled programs.
TEST(DISABLED_profiled, fib) {
    pilfer::pool pool(workers(4));
    pool.run([] { (void)fib_join(10); });
}
TEST(DISABLED_profiled, two_pools) {
    pilfer::pool first;
    pilfer::pool second({.name = "a\"b"});
    first.run([] {});
    second.run([] { (void)pilfer::join([] {}, [] {}); });
}
TEST(DISABLED_profiled, is_forked_child) {
    auto* pool = new pilfer::pool;
    pool->run([] {});
    _exit(5);
}
TEST(DISABLED_profiled, nothing) {}
TEST(DISABLED_profiled, exits_with_7) {
    {
        pilfer::pool pool;
        pool.run([] {});
    }
    std::exit(7);
}
TEST(DISABLED_profiled, changes_its_folder) {
    ASSERT_EQ(chdir("/proc"), 0); // where it can make no file
    pilfer::pool().run([] {});
}
TEST(DISABLED_profiled, dies) {
    {
        pilfer::pool().run([] {});
    }
    (void)std::raise(SIGKILL);
}

class profile_command : public guarded {};

TEST_F(profile_command, prints_a_table) {
    const auto s = profile("", profiled() + "fib");
    EXPECT_EQ(s.code, 0) << s.text;
    for (const char* text :
         {"work  ", "89 tasks, 265 strands", "span  ", "6 tasks, 19 strands", "burdened span", "parallelism",
          "burdened parallelism", "average strand", "speed-up at least", "asked for 4 workers"}) {
        EXPECT_TRUE(has(s, text)) << text << "\n" << s.text;
    }
    EXPECT_TRUE(has(s, "        1                1.00      1.00\n")) << "one worker steals nothing\n"
                                                                     << s.text;
    EXPECT_TRUE(has(s, "Locks, caches and memory are not part of this")) << s.text;
    const auto small = profile("", profiled() + "two_pools");
    EXPECT_EQ(small.code, 0);
    EXPECT_TRUE(has(small, "pool 1 of 2, process ") != has(small, "pool 2 of 2, process ")) << small.text;
    EXPECT_TRUE(has(small, "pool 1 of 2 \"a\"b\", process ") != has(small, "pool 2 of 2 \"a\"b\", process "))
        << small.text;
    EXPECT_TRUE(has(small, "2 tasks, 4 strands")) << small.text;
    EXPECT_FALSE(has(small, "asked for")) << small.text;
}

TEST_F(profile_command, writes_json_and_the_graph) {
    const temporary report;
    const temporary graph;
    const auto s = profile("--json -o " + report.path() + " --graph=" + graph.path(), profiled() + "fib");
    EXPECT_EQ(s.code, 0) << s.text;
    const auto json = nlohmann::json::parse(report.text());
    EXPECT_EQ(json.at("exit"), 0);
    ASSERT_EQ(json.at("pools").size(), 1U);
    const auto& p = json.at("pools")[0];
    EXPECT_EQ(p.at("tasks"), 89);
    EXPECT_EQ(p.at("span_tasks"), 6);
    EXPECT_EQ(p.at("workers_asked"), 4);
    EXPECT_GE(p.at("parallelism"), 1);
    const auto& curve = p.at("speedup");
    ASSERT_EQ(curve.size(), 7U);
    for (std::size_t i = 0; i < curve.size(); ++i) {
        EXPECT_EQ(curve[i].at("workers"), 1U << i);
        EXPECT_LE(curve[i].at("least").get<double>(), curve[i].at("most").get<double>());
    }
    const graph_file g(graph.text());
    EXPECT_EQ(g.end, 90U);
    EXPECT_EQ(g.work(), p.at("work_ns").get<std::uint64_t>());
    EXPECT_EQ(g.span(), p.at("span_ns").get<std::uint64_t>());
}

TEST_F(profile_command, a_relative_graph_is_in_the_folder_of_the_command) {
    const temporary name;
    // Its %p would be replaced in an absolute path.
    for (const bool has_sign : {false, true}) {
        const std::string path = name.path() + (has_sign ? "_100%percent" : "_folder");
        ASSERT_TRUE(std::filesystem::create_directory(path));
        const std::string program = has_sign ? "fib" : "changes_its_folder";
        const auto s = shell("cd '" + path + "' && '" PILFER_TOOL_PROGRAM "' profile --graph g " +
                             profiled() + program + " 2>&1");
        EXPECT_EQ(s.code, 0) << s.text;
        EXPECT_TRUE(std::filesystem::exists(path + "/g")) << s.text;
        std::filesystem::remove_all(path);
    }
}

TEST_F(profile_command, a_name_that_is_not_of_utf8_is_replaced_in_the_report) {
    const temporary report;
    const auto s = profile("--json -o " + report.path(), profiled() + "fib 'caf\xe9'");
    EXPECT_EQ(s.code, 0) << s.text;
    const auto json = nlohmann::json::parse(report.text());
    EXPECT_EQ(json.at("program").back(), "caf\xef\xbf\xbd");
    EXPECT_EQ(json.at("pools").size(), 1U);
}

TEST_F(profile_command, replaces_the_former_report_and_keeps_it_if_there_is_none) {
    const temporary report;
    report.write(std::string(1'000'000, 'x'));
    EXPECT_EQ(profile("-o " + report.path(), "true").code, 1);
    EXPECT_EQ(report.text(), std::string(1'000'000, 'x'));
    EXPECT_EQ(profile("--json -o " + report.path(), profiled() + "fib").code, 0);
    EXPECT_EQ(nlohmann::json::parse(report.text()).at("exit"), 0);
    std::filesystem::remove(report.path());
    EXPECT_EQ(profile("-o " + report.path(), "true").code, 1);
    EXPECT_FALSE(std::filesystem::exists(report.path()));
}

constexpr const char* ten_constants =
    R"("spawn": 8, "slow_path": 40, "steal_hit": 560.4, "steal_miss": 1, "steal_more": 1, "wake_call": 1,
       "wake_latency": 1, "context_switch": 5, "remote_line": 42.4, "reach": 1)";

[[nodiscard]] std::string costs_file(const std::string& constants) {
    return R"({"machine": "a test", "nanoseconds": {)" + constants + "}}";
}

TEST_F(profile_command, reads_the_cost_of_a_theft_from_the_file_of_calibrate) {
    const temporary costs;
    costs.write(costs_file(ten_constants));
    const temporary report;
    const auto s = profile("--json -o " + report.path() + " --costs=" + costs.path(), profiled() + "fib");
    EXPECT_EQ(s.code, 0) << s.text;
    const auto p = nlohmann::json::parse(report.text()).at("pools").at(0);
    EXPECT_EQ(p.at("theft_ns"), 600) << "the slow path and the theft";
    EXPECT_EQ(p.at("resume_ns"), 52) << "two switches and a line";
    // No chain has more than nine joins in each other, each with one theft and one resumption on it.
    const auto burden = p.at("burdened_span_ns").get<std::uint64_t>() - p.at("span_ns").get<std::uint64_t>();
    EXPECT_GT(burden, 0U);
    EXPECT_LE(burden, 9U * (600 + 52));

    const auto usual = profile("", profiled() + "fib");
    EXPECT_TRUE(has(usual, "a theft costs 561 ns, a resumption 51 ns")) << usual.text;
    const auto text = profile("--costs " + costs.path(), profiled() + "fib");
    EXPECT_TRUE(has(text, "a theft costs 600 ns, a resumption 52 ns")) << text.text;
}

TEST_F(profile_command, passes_the_exit_code_on) {
    EXPECT_EQ(profile("", profiled() + "exits_with_7").code, 7);
    const auto killed = profile("", profiled() + "dies");
    EXPECT_EQ(killed.code, 128 + SIGKILL);
    EXPECT_TRUE(has(killed, "' was ended by signal 9 (Killed)\n")) << killed.text;
    EXPECT_TRUE(has(killed, "dies, which was ended by signal 9 (Killed)\n")) << "in the report, too\n"
                                                                             << killed.text;
    const auto without = profile("", "sh -c 'kill -TERM $$'");
    EXPECT_TRUE(has(without, "ended by signal 15") && !has(without, "made no pool")) << without.text;
    EXPECT_EQ(profile("-- ", profiled() + "exits_with_7").code, 7) << "-- ends the options";
    const temporary report;
    EXPECT_EQ(profile("--json -o " + report.path() + " -- ", profiled() + "exits_with_7").code, 7);
    EXPECT_EQ(profile("", "sh -c 'test \"$1\" = -- && exit 9' sh --").code, 9) << "that of the program stays";
    EXPECT_TRUE(has(profile("--", ""), "PROGRAM is required"));
    EXPECT_TRUE(has(profile("--help", ""), "[OPTIONS] [--] PROGRAM [ARGUMENTS...]"));
    const auto left = profile("", profiled() + "is_forked_child");
    EXPECT_EQ(left.code, 5);
    EXPECT_TRUE(has(left, "did not end")) << left.text;
    // The pools of child processes are seen as well.
    EXPECT_TRUE(has(profile("", std::string("sh -c \"") + profiled() + "fib\""), "89 tasks"));
}

class bad_input_profile_command : public guarded {};

TEST_F(bad_input_profile_command, reports_a_reason) {
    const auto nothing = profile("", profiled() + "nothing");
    EXPECT_EQ(nothing.code, 1);
    EXPECT_TRUE(has(nothing, "made no pool")) << nothing.text;
    const auto strange = profile("", "sh -c 'exit 3'");
    EXPECT_EQ(strange.code, 3);
    EXPECT_TRUE(has(strange, "not linked with pilfer")) << strange.text;
    const auto missing = profile("", "/nowhere/at/all");
    EXPECT_EQ(missing.code, 127);
    EXPECT_TRUE(has(missing, "cannot execute '/nowhere/at/all'")) << missing.text;
    EXPECT_EQ(profile("", "/dev/null").code, 126);
    const auto empty = profile("", "");
    EXPECT_EQ(empty.code, 2);
    EXPECT_TRUE(has(empty, "PROGRAM")) << empty.text;
    const auto unknown = profile("--unheard-of", "true");
    EXPECT_EQ(unknown.code, 2);
    EXPECT_TRUE(has(unknown, "unheard-of")) << unknown.text;
    const auto unwritable = profile("-o /nowhere/at/all", profiled() + "exits_with_7");
    EXPECT_EQ(unwritable.code, 1);
    EXPECT_TRUE(has(unwritable, "/nowhere/at/all")) << unwritable.text;
    const auto no_graph = profile("--graph /nowhere/at/all", profiled() + "exits_with_7");
    EXPECT_EQ(no_graph.code, 1) << "and not 7: the program is not run";
    EXPECT_TRUE(has(no_graph, "cannot write '/nowhere/at/all'")) << no_graph.text;
    EXPECT_EQ(profile("--graph /dev/null", profiled() + "exits_with_7").code, 7);
}

TEST_F(bad_input_profile_command, refuses_a_temporary_folder_whose_name_would_be_replaced) {
    const temporary name;
    const std::string folder = name.path() + "_100%percent";
    ASSERT_TRUE(std::filesystem::create_directory(folder));
    const auto s = shell("TMPDIR='" + folder + "' '" PILFER_TOOL_PROGRAM "' profile " + profiled() +
                         "exits_with_7 2>&1");
    EXPECT_EQ(s.code, 1) << s.text; // and not 7: the program is not run
    EXPECT_TRUE(has(s, folder) && has(s, "TMPDIR")) << s.text;
    std::filesystem::remove_all(folder);
}

TEST_F(bad_input_profile_command, refuses_malformed_costs) {
    const auto refused = [](const std::string& path, const char* why) {
        const auto s = profile("--costs " + path, profiled() + "exits_with_7");
        EXPECT_EQ(s.code, 1) << s.text; // and not 7: the program is not run
        EXPECT_TRUE(has(s, path)) << s.text;
        EXPECT_TRUE(has(s, why)) << s.text;
        EXPECT_FALSE(has(s, "json.exception")) << s.text;
    };
    refused("/nowhere/at/all", "cannot be read");
    const temporary costs;
    refused(costs.path(), "parse error"); // empty
    costs.write("not JSON");
    refused(costs.path(), "parse error");
    costs.write(costs_file(R"("spawn": 8)"));
    refused(costs.path(), "slow_path");
    costs.write(costs_file(ten_constants + std::string(R"(, "theft": 3)")));
    refused(costs.path(), "'theft' is no constant");
    std::string negative = ten_constants;
    negative.replace(negative.find("560.4"), 5, "-0.5 ");
    costs.write(costs_file(negative));
    refused(costs.path(), "steal_hit must be from 0");
    const auto nothing = profile("--costs", "");
    EXPECT_EQ(nothing.code, 2) << nothing.text;
}

} // namespace
