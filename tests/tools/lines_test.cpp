// The lines of the user's source in `pilfer profile`, `view` and `whatif`: for each planted cause the right
// line comes first, in programs of both compilers. A program without debug information gives functions.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/harness.hpp"
#include "support/shell.hpp"

namespace {

using namespace support;

class folder {
public:
    folder() {
        std::string name = ::testing::TempDir() + "pilfer_lines_XXXXXX";
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        m_path = name;
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() { std::filesystem::remove_all(m_path); }
    [[nodiscard]] std::string at(const std::string& name) const { return m_path + "/" + name; }

private:
    std::string m_path;
};

std::string text_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
}
said tool(const std::string& arguments) {
    return shell(std::string("'" PILFER_TOOL_PROGRAM "' ") + arguments + " 2>&1");
}

/// "causes.cpp:38": the line of the planted program with this mark.
std::string marked(const std::string& name) {
    std::ifstream in(PILFER_PLANTED_SOURCE);
    std::string row;
    for (int line = 1; std::getline(in, row); ++line) {
        if (row.ends_with("// HERE: " + name)) {
            return "causes.cpp:" + std::to_string(line);
        }
    }
    ADD_FAILURE() << name;
    return "?";
}
std::vector<std::string> programs() {
    std::vector<std::string> all;
    std::istringstream in(PILFER_PLANTED);
    for (std::string one; std::getline(in, one, ':');) {
        all.push_back("'" + one + "'");
    }
    return all;
}
/// Records a graph, and returns the report of `pilfer profile` as JSON.
nlohmann::json profiled(const std::string& program, const std::string& cause, const folder& f) {
    const auto s =
        tool("profile --json -o " + f.at("json") + " --graph " + f.at("g") + " " + program + " " + cause);
    EXPECT_EQ(s.code, 0) << s.text;
    return nlohmann::json::parse(text_of(f.at("json"))).at("pools").at(0);
}
std::string name_of(const nlohmann::json& line) {
    const auto file = line.at("file").get<std::string>();
    return file.substr(file.rfind('/') + 1) + ":" + std::to_string(line.at("line").get<int>());
}

class lines_command : public guarded {
protected:
    void SetUp() override {
        guarded::SetUp();
        if (sanitized) {
            GTEST_SKIP() << "times and frames of a sanitizer's program are other ones";
        }
        if (shell("command -v llvm-addr2line || command -v llvm-addr2line-19 || command -v addr2line").code !=
            0) {
            GTEST_SKIP() << "no program reads debug information";
        }
    }
};

TEST_F(lines_command, the_line_of_a_serial_part_of_a_future_and_of_an_unbalanced_loop_comes_first) {
    for (const std::string& program : programs()) {
        for (const char* cause : {"serial", "future", "unbalanced"}) {
            const folder f;
            const auto p = profiled(program, cause, f);
            const std::string right = marked(cause);
            const auto& first = p.at("lines").at(0);
            EXPECT_EQ(name_of(first), right) << program << p.dump(2);
            EXPECT_GT(first.at("chain_ns").get<double>(), 0.8 * p.at("span_ns").get<double>());
            EXPECT_LT(first.at("burdened_parallelism").get<double>(), 1.5);
            const auto all = tool("whatif --json --rank-on 8 " + f.at("g"));
            ASSERT_EQ(all.code, 0) << all.text;
            EXPECT_EQ(nlohmann::json::parse(all.text).at("parts").at(0).at("line"), right) << all.text;
            const auto s = tool("view --text " + f.at("g"));
            EXPECT_NE(s.text.substr(0, s.text.find('\n')).find(" at " + right), std::string::npos) << s.text;
        }
    }
}

TEST_F(lines_command, every_way_to_run_tasks_has_its_line) {
    for (const std::string& program : programs()) {
        const folder f;
        const auto p = profiled(program, "kinds", f);
        for (const char* kind : {"spawn", "graph", "reduce"}) {
            const auto& lines = p.at("lines");
            const auto at = std::find_if(lines.begin(), lines.end(),
                                         [&](const auto& l) { return name_of(l) == marked(kind); });
            ASSERT_NE(at, lines.end()) << program << kind << p.dump(2);
            EXPECT_GT(at->at("strands"), 1) << program << kind;
            EXPECT_GT(at->at("tasks"), 0) << kind;
        }
    }
}

TEST_F(lines_command, what_a_parent_computes_is_not_in_the_average_of_its_tasks) {
    for (const std::string& program : programs()) {
        const folder f;
        const auto p = profiled(program, "parent", f);
        const auto& lines = p.at("lines");
        const auto line = std::find_if(lines.begin(), lines.end(),
                                       [](const auto& l) { return name_of(l) == marked("parent"); });
        ASSERT_NE(line, lines.end()) << program << p.dump(2);
        EXPECT_EQ(line->at("tasks"), 200) << program;
        EXPECT_GT(line->at("work_ns"), 200 * 20'000) << program;
        EXPECT_LT(line->at("tasks_ns"), 200 * 500) << program << p.dump(2);
        std::uint64_t all = 0;
        for (const auto& l : lines) {
            all += l.at("tasks_ns").get<std::uint64_t>();
        }
        EXPECT_EQ(all, p.at("work_ns")) << "every task is at one line";
        const auto text = tool("profile " + program + " parent");
        EXPECT_TRUE(has(text, "Tiny tasks: " + marked("parent"))) << text.text;
        const auto s = tool("view --text " + f.at("g"));
        EXPECT_TRUE(
            std::regex_search(s.text, std::regex(" 200 +[0-9.]+ ns [^\n]*" + marked("parent") + "\n")))
            << s.text;
        EXPECT_FALSE(has(s, "(line not known)")) << "threads outside are no line\n" << s.text;
    }
}

TEST_F(lines_command, a_loop_that_recurses_deeply_keeps_its_line) {
    for (const std::string& program : programs()) {
        const folder f;
        const auto p = profiled(program, "deep", f);
        std::uint64_t here = 0;
        std::uint64_t elsewhere = 0;
        for (const auto& l : p.at("lines")) {
            (name_of(l) == marked("deep") ? here : elsewhere) += l.at("tasks").get<std::uint64_t>();
        }
        EXPECT_EQ(elsewhere, 1U) << "the task of the pool's run\n" << program << p.dump(2);
        EXPECT_GT(here, 1'000U) << program;
    }
}

TEST_F(lines_command, a_wait_for_a_channel_has_its_line_in_a_trace) {
    for (const std::string& program : programs()) {
        const folder f;
        // If the other worker gets no CPU in time, no task waits: then once more.
        bool found = false;
        said s{};
        for (int i = 0; i < 20 && !found; ++i) {
            ASSERT_EQ(shell("PILFER_TRACE=" + f.at("t") + " " + program + " channel 2>&1").code, 0);
            s = tool("view --text " + f.at("t"));
            found =
                std::regex_search(s.text, std::regex("   [^\n]*channel[^\n]*, " + marked("channel") + "\n"));
        }
        EXPECT_TRUE(found) << s.text;
    }
}

TEST_F(lines_command, a_lock_and_a_channel_are_among_the_waits_of_a_profile_the_longest_first) {
    struct {
        const char* cause;
        const char* reason;
        const char* object_name;
        int waits;
    } const expected[] = {{"held", "a mutex", "the table", 10},
                          {"channel", "a channel's next value", nullptr, 1}};
    for (const std::string& program : programs()) {
        for (const auto& e : expected) {
            const folder f;
            const auto p = profiled(program, e.cause, f);
            const auto& all = p.at("waits");
            const auto at = std::find_if(all.begin(), all.end(),
                                         [&](const auto& w) { return name_of(w) == marked(e.cause); });
            ASSERT_NE(at, all.end()) << program << p.dump(2);
            EXPECT_EQ(at->at("for"), e.reason);
            EXPECT_EQ(at->at("object_name"),
                      e.object_name != nullptr ? nlohmann::json(e.object_name) : nlohmann::json());
            EXPECT_EQ(at->at("waits"), e.waits);
            EXPECT_GE(at->at("total_ns"), at->at("longest_ns"));
            EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) {
                return a.at("total_ns") > b.at("total_ns");
            })) << p.dump(2);
            const auto s = tool("profile " + program + " " + e.cause);
            EXPECT_TRUE(std::regex_search(
                s.text,
                std::regex(
                    "waits for, line\n(?:[^\n]+\n)* +" + std::to_string(e.waits) + " [^\n]*   " + e.reason +
                    (e.object_name != nullptr ? " \"" + std::string(e.object_name) + "\"" : std::string()) +
                    ", " + marked(e.cause) + "\n")))
                << s.text;
        }
        const folder f;
        const auto held = profiled(program, "held", f).at("waits");
        EXPECT_EQ(held.size(), 3U) << "no wait for tasks is among them" << held.dump(2);
        for (const char* other : {"latch", "event"}) {
            EXPECT_TRUE(std::any_of(held.begin(), held.end(),
                                    [&](const auto& w) { return name_of(w) == marked(other); }))
                << other << held.dump(2);
        }
        EXPECT_TRUE(profiled(program, "future", f).at("waits").empty());
    }
}

TEST_F(lines_command, the_lines_sum_up_to_the_figures_of_the_pool) {
    const folder f;
    const auto p = profiled(programs().at(0), "unbalanced", f);
    std::uint64_t work = 0, chain = 0, tasks = 0, strands = 0;
    for (const auto& l : p.at("lines")) {
        work += l.at("work_ns").get<std::uint64_t>();
        chain += l.at("chain_ns").get<std::uint64_t>();
        tasks += l.at("tasks").get<std::uint64_t>();
        strands += l.at("strands").get<std::uint64_t>();
    }
    EXPECT_EQ(work, p.at("work_ns").get<std::uint64_t>());
    EXPECT_EQ(chain, p.at("span_ns").get<std::uint64_t>());
    EXPECT_EQ(tasks, p.at("tasks").get<std::uint64_t>());
    EXPECT_EQ(strands, p.at("strands").get<std::uint64_t>());
}

TEST_F(lines_command, the_line_that_waits_for_a_future_has_the_longest_wait_of_a_task) {
    for (const std::string& program : programs()) {
        const folder f;
        const auto p = profiled(program, "future", f);
        double at_get = 0;
        double most = 0;
        for (const auto& l : p.at("lines")) {
            const double waited = l.at("waited_ns").get<double>();
            if (l.at("tasks") == 0) { // of the others, one is pool.run()
                (name_of(l) == marked("get") ? at_get : most) =
                    std::max(name_of(l) == marked("get") ? at_get : most, waited);
            }
        }
        EXPECT_GT(at_get, 10e6) << p.dump(2);
        EXPECT_LT(most, at_get) << p.dump(2);
    }
}

TEST_F(lines_command, the_line_that_forks_tiny_tasks_is_in_the_diagnosis) {
    for (const std::string& program : programs()) {
        const folder f;
        const auto s = tool("profile --graph " + f.at("g") + " " + program + " tiny");
        EXPECT_TRUE(has(s, "Tiny tasks: " + marked("tiny") + " forks 8191 tasks of ")) << s.text;
        const auto v = tool("view --text " + f.at("g"));
        EXPECT_EQ(
            v.text.rfind("Tiny tasks hold it back: a task forked at " + marked("tiny") + " computes ", 0), 0U)
            << v.text;
    }
}

/// Other programs that take a CPU make a waiting worker look busy, and no lock is to blame then. So a run is
/// repeated until the lock is named.
TEST_F(lines_command, the_line_of_a_lock_comes_first_in_a_trace) {
    for (const std::string& program : programs()) {
        std::string text;
        std::string first;
        for (int runs = 0; runs != 100 && first.find("lock holds it back") == std::string::npos; ++runs) {
            const folder f;
            const auto run = shell("PILFER_TRACE=" + f.at("t") + " " + program + " lock 2>&1");
            ASSERT_EQ(run.code, 0) << run.text;
            text = tool("view --text " + f.at("t")).text;
            first = text.substr(0, text.find('\n'));
        }
        EXPECT_NE(first.find("most of them at " + marked("lock")), std::string::npos) << text;
        // Waiters got it one after another, so this line also held it while others waited, for some of its 30
        // ms.
        EXPECT_TRUE(std::regex_search(text, std::regex("[0-9] ms   a mutex, " + marked("lock")))) << text;
    }
}

TEST_F(lines_command, a_lock_that_all_tasks_want_is_in_the_graph_and_a_split_is_worth_most) {
    for (const std::string& program : programs()) {
        const folder f;
        (void)profiled(program, "lock", f);
        const auto ranked = tool("whatif --json --rank-on 4 " + f.at("g"));
        ASSERT_EQ(ranked.code, 0) << ranked.text;
        const auto first = nlohmann::json::parse(ranked.text).at("parts").at(0);
        const auto name = first.value("edit", "");
        EXPECT_NE(name.find(", locked at " + marked("lock") + ", split in 4"), std::string::npos)
            << ranked.text;
        EXPECT_EQ(first.at("tasks"), 30) << "critical sections";
        const auto s =
            tool("whatif --json --workers 1,4 --split-lock planted/" + marked("lock") + "=4 " + f.at("g"));
        ASSERT_EQ(s.code, 0) << s.text;
        const auto workers = nlohmann::json::parse(s.text).at("workers");
        const auto gain = [&workers](std::size_t i) {
            return workers.at(i).at("ns").get<double>() / workers.at(i).at("edited_ns").get<double>();
        };
        EXPECT_NEAR(gain(0), 1, 0.01) << s.text;
        EXPECT_GT(gain(1), 3) << "four locks for four workers\n" << s.text;
        EXPECT_LT(gain(1), 4.2) << s.text;
        const auto v = tool("view --text " + f.at("g"));
        EXPECT_EQ(v.text.rfind("A lock holds it back: tasks compute ", 0), 0U) << v.text;
        EXPECT_TRUE(has(v, ", locked at " + marked("lock") + ", so 8 workers")) << v.text;
    }
}

TEST_F(lines_command, a_recursion_with_another_grain_has_fewer_tasks) {
    for (const std::string& program : programs()) {
        const folder f;
        (void)profiled(program, "tiny", f);
        const auto s = tool("whatif --grain " + marked("tiny") + "=8 " + f.at("g"));
        ASSERT_EQ(s.code, 0) << s.text;
        std::smatch tasks;
        ASSERT_TRUE(std::regex_search(s.text, tasks, std::regex("after the edit ([0-9]+) tasks"))) << s.text;
        EXPECT_NEAR(std::stoi(tasks[1]), 8'192 / 8, 3) << "of 8,191 forks\n" << s.text;
        // On one worker the saved forks are all of the gain. On more the order of thefts changes by chance.
        const auto ranked = tool("whatif --json --rank-on 1 " + f.at("g"));
        EXPECT_TRUE(has(ranked, marked("tiny") + ", 8 tasks in one")) << ranked.text;
    }
}

TEST_F(lines_command, whatif_answers_for_one_line) {
    const folder f;
    (void)profiled(programs().at(0), "serial", f);
    const std::string line = marked("serial");
    const auto s = tool("whatif --json --faster 4 --line planted/" + line + " " + f.at("g"));
    ASSERT_EQ(s.code, 0) << s.text;
    const auto said = nlohmann::json::parse(s.text);
    ASSERT_EQ(said.at("parts").size(), 1U);
    EXPECT_EQ(said.at("parts")[0].at("line"), line);
    const double before = said.at("before_ns").get<double>();
    EXPECT_NEAR(said.at("parts")[0].at("ns").get<double>(), before - 15e6, 2e6)
        << "three quarters of 20 ms are saved";
    const auto wrong = tool("whatif --line causes.cpp:1 " + f.at("g"));
    EXPECT_EQ(wrong.code, 1);
    EXPECT_TRUE(has(wrong, "no task forks or waits at 'causes.cpp:1'; the lines are ") && has(wrong, line))
        << wrong.text;
    EXPECT_EQ(tool("whatif --line uses.cpp" + line.substr(line.find(':')) + " " + f.at("g")).code, 1);
}

TEST_F(lines_command, a_program_without_debug_information_gives_functions) {
    const folder f;
    const std::string program = "'" PILFER_PLANTED_WITHOUT "'";
    const auto p = profiled(program, "unbalanced", f);
    EXPECT_EQ(p.at("lines").at(0).at("file"), "");
    EXPECT_NE(p.at("lines").at(0).at("function").get<std::string>().find("unbalanced()"), std::string::npos)
        << p.dump(2);
    const auto s = tool("profile " + program + " unbalanced");
    EXPECT_TRUE(has(s, "in (anonymous namespace)::unbalanced()") && has(s, "no debug information (-g)"))
        << s.text;
    const auto w = tool("whatif " + f.at("g"));
    EXPECT_EQ(w.code, 0);
    const bool named = has(w, "healthy()::{lambda()#1}") || has(w, "healthy()::$_0"); // by g++, by clang++
    EXPECT_TRUE(named && has(w, "function\n")) << w.text;
    const auto one = tool("whatif --line causes.cpp:1 " + f.at("g"));
    EXPECT_EQ(one.code, 1);
    EXPECT_TRUE(has(one, "it has no lines")) << one.text;
}

TEST_F(lines_command, the_page_has_the_lines) {
    if (shell("command -v chromium >/dev/null").code != 0) {
        GTEST_SKIP() << "chromium is not installed";
    }
    const folder f;
    const std::string program = programs().at(0);
    ASSERT_EQ(shell("PILFER_TRACE=" + f.at("t") + " " + program + " lock 2>&1").code, 0);
    (void)profiled(program, "lock", f);
    ASSERT_EQ(tool("view -o " + f.at("page.html") + " " + f.at("t") + " " + f.at("g")).code, 0);
    const auto s = shell("timeout 300 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
                         "--user-data-dir=" +
                         f.at("browser") + " --dump-dom 'file://" + f.at("page.html") + "' 2>/dev/null");
    EXPECT_NE(s.text.find("data-load-ms="), std::string::npos) << s.text.substr(0, 2'000);
    for (const char* title : {"Waits and locks by line", "Lines", "Longest chain"}) {
        EXPECT_NE(s.text.find("<h2>" + std::string(title) + "</h2>"), std::string::npos) << title;
    }
    EXPECT_NE(s.text.find("<td class=\"text\">" + marked("lock") + "</td>"), std::string::npos);
    EXPECT_NE(s.text.find("<th class=\"text\">from line</th>"), std::string::npos);
}

class bad_input_lines_command : public guarded {};

TEST_F(bad_input_lines_command, wrong_versions_and_places_are_refused_with_a_reason) {
    const folder f;
    const auto refused = [&](const std::string& text, const std::string& why) {
        std::ofstream(f.at("g"), std::ios::binary) << text;
        const auto s = tool("view --text " + f.at("g"));
        EXPECT_EQ(s.code, 1) << s.text;
        EXPECT_TRUE(has(s, why)) << s.text;
    };
    refused("pilfer-graph 4\n0\nend 1\n",
            "version 4 of the format is not known: this command reads 1, 2 and 3");
    refused("pilfer-graph x\n0\nend 1\n", "'x' is no number");
    refused("pilfer-graph 2\n1 5\n0 :7 +1 -1\nend 2\n", "place 7 has no line");
    refused("pilfer-graph 2\n1 5\n0 :1 +1 -1\nline 1 3 a.cpp\nline 1 4 a.cpp\nend 2\n",
            "a second line for place 1");
    refused("pilfer-graph 2\n1 5\n0 +1 -1\nline 0 3 a.cpp\nend 2\n", "places are counted from 1");
    refused("pilfer-graph 2\n1 5\n0 +1 -1\nline 1 3\nend 2\n", "a line of the source needs a file");
    refused("pilfer-graph 1\n1 5\n0 :1 +1 -1\nend 2\n", "':1' is no number");
    refused(R"({"otherData":{"format":"pilfer-trace 3"},"traceEvents":[]})",
            "the format 'pilfer-trace 3' is not known");
    refused(R"({"otherData":{"places":[]},"traceEvents":[{"ph":"M","tid":1,"name":"thread_name"},)"
            R"({"ph":"B","tid":1,"ts":1,"cat":"run","name":"own spark"},)"
            R"({"ph":"E","tid":1,"ts":2,"args":{"for":"a mutex","object":3,"context":4,"place":5}}]})",
            "a wait is at place 5, which has no line");
    // The versions before lines are read as they were.
    std::ofstream(f.at("g"), std::ios::binary) << "pilfer-graph 1\n2 30\n1 10 +2 -2 10\n0 +1 -1\nend 3\n";
    EXPECT_EQ(tool("view --text " + f.at("g")).code, 0);
    EXPECT_EQ(tool("whatif " + f.at("g")).code, 0);
}

} // namespace
