// `pilfer view` on programs with planted causes, and its page in a browser. The programs are this one,
// started again. Optimised in every build: tiny tasks are not tiny if each call of a template is one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>

#include "support/harness.hpp"
#include "support/shell.hpp"

namespace {

using namespace support;
namespace files = std::filesystem;

/// A folder of this process, removed at the end.
class folder {
public:
    folder() {
        std::string name = ::testing::TempDir() + "pilfer_view_XXXXXX";
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        m_path = name;
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() { files::remove_all(m_path); }
    [[nodiscard]] std::string at(const std::string& name) const { return m_path + "/" + name; }

private:
    std::string m_path;
};

void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}
std::string text_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
}
said view(const std::string& arguments) {
    return shell(std::string("'" PILFER_TOOL_PROGRAM "' view ") + arguments + " 2>&1");
}
/// The first line, if the command was right.
std::string first_line(const std::string& arguments) {
    const auto s = view("--text " + arguments);
    EXPECT_EQ(s.code, 0) << s.text;
    return s.text.substr(0, s.text.find('\n'));
}
std::string planted(const std::string& name) {
    return std::string("'") + files::read_symlink("/proc/self/exe").string() +
           "' --gtest_also_run_disabled_tests --gtest_filter=DISABLED_planted." + name;
}
void trace(const std::string& name, const std::string& file) {
    const auto s = shell("PILFER_TRACE='" + file + "' " + planted(name) + " 2>&1");
    ASSERT_EQ(s.code, 0) << s.text;
}
void graph(const std::string& name, const std::string& file) {
    const auto s = shell(std::string("'" PILFER_TOOL_PROGRAM "' profile -o /dev/null --graph '") + file +
                         "' " + planted(name) + " 2>&1");
    ASSERT_EQ(s.code, 0) << s.text;
}

// ---- the planted programs. They compute by the CPU's time, so that other programs on the machine change
// little.

[[nodiscard]] std::uint64_t cpu_ns() {
    std::timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}
void compute(std::uint64_t us) {
    for (const std::uint64_t end = cpu_ns() + us * 1'000; cpu_ns() < end;) {
    }
}
void compute_in_scope(int tasks, std::uint64_t us) {
    pilfer::scope s;
    for (int i = 0; i < tasks; ++i) {
        s.fork([us] { compute(us); });
    }
    s.sync();
}

TEST(DISABLED_planted, serial_part) {
    pilfer::pool pool(workers(2));
    pool.run([] {
        compute_in_scope(50, 400);
        compute(100'000);
    });
}
TEST(DISABLED_planted, tiny_tasks) {
    pilfer::pool pool(workers(2));
    pool.run([] {
        const auto leaves = [](auto& self, int depth) -> int {
            if (depth == 0) {
                return 1;
            }
            const auto [a, b] =
                pilfer::join([&] { return self(self, depth - 1); }, [&] { return self(self, depth - 1); });
            return a + b;
        };
        EXPECT_EQ(leaves(leaves, 13), 1 << 13);
    });
}
TEST(DISABLED_planted, one_lock) {
    pilfer::pool pool(workers(2));
    pool.run([] {
        pilfer::mutex lock;
        pilfer::scope s;
        for (int i = 0; i < 100; ++i) {
            s.fork([&lock] {
                const std::lock_guard held(lock);
                compute(1'000);
            });
        }
        s.sync();
    });
}
TEST(DISABLED_planted, healthy) {
    pilfer::pool pool(workers(2));
    pool.run([] { compute_in_scope(1'000, 100); });
}

class view_command : public guarded {};

TEST_F(view_command, names_a_serial_part_by_trace_and_by_graph) {
    const folder f;
    trace("serial_part", f.at("t"));
    const std::string by_trace = first_line(f.at("t"));
    EXPECT_EQ(by_trace.rfind("A serial part, or tasks too small to be stolen, hold it back: ", 0), 0U)
        << by_trace;
    EXPECT_NE(by_trace.find("A task graph (pilfer profile --graph) tells which."), std::string::npos)
        << by_trace;
    graph("serial_part", f.at("g"));
    EXPECT_EQ(first_line(f.at("g")).rfind("A serial part holds it back: task ", 0), 0U)
        << first_line(f.at("g"));
}

TEST_F(view_command, names_tiny_tasks) {
    if (sanitized) {
        GTEST_SKIP() << "no task is tiny with a sanitizer";
    }
    const folder f;
    graph("tiny_tasks", f.at("g"));
    EXPECT_EQ(first_line(f.at("g")).rfind("Tiny tasks hold it back: ", 0), 0U) << first_line(f.at("g"));
}

TEST_F(view_command, names_a_lock_that_all_tasks_want) {
    const folder f;
    said s;
    // Other programs on this machine may take the CPUs from the workers, which is another cause.
    for (int round = 0; round < 10 && s.text.rfind("A lock", 0) != 0; ++round) {
        trace("one_lock", f.at("t"));
        s = view("--text " + f.at("t"));
    }
    EXPECT_EQ(s.text.rfind("A lock holds it back: ", 0), 0U) << s.text;
    EXPECT_TRUE(has(s, " times for a mutex (object ")) << s.text;
    // A graph of one worker has the critical sections.
    graph("one_lock", f.at("g"));
    EXPECT_EQ(first_line(f.at("g")).rfind("A lock holds it back: tasks compute ", 0), 0U)
        << first_line(f.at("g"));
    EXPECT_EQ(first_line(f.at("g") + " " + f.at("t")).rfind("A lock holds it back: ", 0), 0U);
}

TEST_F(view_command, says_so_if_nothing_holds_a_program_back) {
    const folder f;
    graph("healthy", f.at("g"));
    EXPECT_EQ(first_line(f.at("g")).rfind("Nothing holds it back: 8 workers are ", 0), 0U)
        << first_line(f.at("g"));
}

// 1 computes 10 us, forks 2 and 3, waits for both and computes 10 us.
constexpr const char* small_graph =
    "pilfer-graph 1\n2 30000\n3 50000\n1 10000 +2 +3 -2 -3 10000\n0 +1 -1\nend 4\n";

TEST_F(view_command, writes_a_page_whose_data_is_whole_and_cannot_leave_its_place) {
    const folder f;
    // The name of the file is shown in the page, and a graph has no other text.
    const std::string name = f.at("<img src=x onerror=alert(1)>");
    write(name, small_graph);
    const auto s = view("-o " + f.at("page") + " '" + name + "'");
    EXPECT_EQ(s.code, 0) << s.text;
    const std::string page = text_of(f.at("page"));
    EXPECT_EQ(page.find("<img"), std::string::npos);
    EXPECT_EQ(page.find("http"), std::string::npos) << "a page that needs a network";
    const std::string opening = R"(<script id="data" type="application/json">)";
    const auto from = page.find(opening) + opening.size();
    const auto data = nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
    EXPECT_EQ(data.at("notes").at(0).get<std::string>(), "From " + name + ".");
    EXPECT_EQ(data.at("chain").at("duration"), 70'000);
    EXPECT_EQ(data.at("chain").at("links").size(), 3U);
    EXPECT_EQ(data.at("timeline").at("workers").size(), 8U);
}

TEST_F(view_command, a_pool_without_work_gets_a_page_without_empty_parts) {
    const folder f;
    write(f.at("t"), R"({"otherData":{"duration_ns":5,"tracks":[]},"traceEvents":[)"
                     R"({"ph":"M","tid":1,"name":"thread_name"}]})");
    write(f.at("g"), "pilfer-graph 1\n0\nend 1\n");
    for (const char* file : {"t", "g"}) {
        const auto s = view("-o " + f.at("page") + " " + f.at(file));
        EXPECT_EQ(s.code, 0) << s.text;
        EXPECT_TRUE(has(s, "the pool had no work.")) << s.text;
        const std::string page = text_of(f.at("page"));
        const std::string opening = R"(<script id="data" type="application/json">)";
        const auto from = page.find(opening) + opening.size();
        const auto data = nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
        EXPECT_EQ(data.at("good"), false);
        EXPECT_FALSE(data.contains("timeline"));
        EXPECT_TRUE(data.at("curves").empty());
        EXPECT_EQ(data.at("notes").size(), 2U) << "the file, and why there is no more";
    }
    const auto s = shell(std::string("'" PILFER_TOOL_PROGRAM "' whatif ") + f.at("g"));
    EXPECT_EQ(s.code, 0) << s.text;
    EXPECT_TRUE(has(s, "no task computes anything")) << s.text;
}

TEST_F(view_command, reads_recordings_from_a_pipe) {
    const folder f;
    write(f.at("g"), small_graph);
    write(f.at("t"), R"({"otherData":{"duration_ns":5,"tracks":[]},"traceEvents":[)"
                     R"({"ph":"M","tid":1,"name":"thread_name"}]})");
    for (const char* file : {"g", "t"}) {
        const auto s =
            shell("cat '" + f.at(file) + "' | '" PILFER_TOOL_PROGRAM "' view --text /dev/stdin 2>&1");
        EXPECT_EQ(s.code, 0) << s.text;
        EXPECT_TRUE(has(s, *file == 'g' ? "graph /dev/stdin: 3 tasks" : "trace /dev/stdin")) << s.text;
    }
    EXPECT_EQ(shell("cat '" + f.at("g") + "' | '" PILFER_TOOL_PROGRAM "' whatif /dev/stdin 2>&1").code, 0);
}

TEST_F(view_command, lost_output_is_a_failure) {
    const folder f;
    write(f.at("g"), small_graph);
    for (const std::string command : {"view --text ", "whatif ", "whatif --json "}) {
        const auto s = shell("'" PILFER_TOOL_PROGRAM "' " + command + f.at("g") + " 2>&1 >/dev/full");
        EXPECT_EQ(s.code, 1) << command;
        EXPECT_TRUE(has(s, "No space left on device")) << command << s.text;
    }
}

class bad_input_view_command : public guarded {};

TEST_F(bad_input_view_command, is_refused_with_a_reason) {
    const folder f;
    const auto refused = [&](const std::string& arguments, int code, const std::string& why) {
        const auto s = view(arguments);
        EXPECT_EQ(s.code, code) << s.text;
        EXPECT_TRUE(has(s, why)) << s.text;
    };
    refused("", 2, "FILE");
    refused("/nowhere/at/all", 1, "/nowhere/at/all: cannot be read");
    refused(::testing::TempDir(), 1, "it is empty or no file");
    write(f.at("empty"), "");
    refused(f.at("empty"), 1, "it is empty");
    write(f.at("other"), "hello");
    refused(f.at("other"), 1, "neither a trace");
    write(f.at("g"), small_graph);
    refused(f.at("g") + " " + f.at("g"), 2, "one task graph is enough");
    write(f.at("t"), R"({"otherData":{},"traceEvents":[{"ph":"M","tid":1,"name":"thread_name"}]})");
    refused(f.at("t") + " " + f.at("t"), 2, "one trace is enough; each pool writes one");
    refused("--workers 0 " + f.at("g"), 2, "workers");
    refused("-o /nowhere/at/all " + f.at("g"), 1, "/nowhere/at/all: cannot be written");
    write(f.at("cut"), "pilfer-graph 1\n1 5\n0 +1 -1\n");
    refused(f.at("cut"), 1, "not complete");
    write(f.at("cycle"), "pilfer-graph 1\n1 5 -2\n2 5 -1\n0 +1 +2 -1\nend 3\n");
    refused(f.at("cycle"), 1, "wait for each other");
    write(f.at("json"), "{\"traceEvents\": [");
    refused(f.at("json"), 1, "parse error");
}

// ---- what if

// Two functions side by side: one computes 10 ms in one task, the other one 1 ms in each of four tasks.
constexpr const char* two_parts =
    "pilfer-graph 1\n"
    "1 @1 +2 +3 +4 +5 +6 -2 -3 -4 -5 -6\n"
    "2 @2 10000000\n3 @3 1000000\n4 @3 1000000\n5 @3 1000000\n6 @3 1000000\n0 +1 -1\n"
    "function 1 pilfer::root<main::{lambda()#1}>::run(spark*)\n"
    "function 2 pilfer::task<slow(int)::{lambda()#1}&, int>::run(spark*)\n"
    "function 3 pilfer::task<quick(std::vector<int>)::{lambda(int)#2}>::run(spark*)\nend 7\n";

TEST_F(view_command, whatif_ranks_functions_by_what_their_speed_gives) {
    const folder f;
    write(f.at("g"), two_parts);
    const auto s =
        shell(std::string("'" PILFER_TOOL_PROGRAM "' whatif --json --workers 1,2 --rank-on 4 ") + f.at("g"));
    ASSERT_EQ(s.code, 0) << s.text;
    const auto said = nlohmann::json::parse(s.text);
    EXPECT_NEAR(said.at("workers")[0].at("ns").get<double>(), 14e6, 1e4) << "the sum";
    EXPECT_NEAR(said.at("workers")[1].at("ns").get<double>(), 10e6, 1e5) << "the longest task";
    const auto& parts = said.at("parts");
    ASSERT_EQ(parts.size(), 2U) << "a function without work is left out";
    EXPECT_EQ(parts[0].at("function"), "slow(int)::{lambda()#1}");
    EXPECT_NEAR(parts[0].at("ns").get<double>(), 5e6, 1e5);
    EXPECT_EQ(parts[1].at("function"), "quick(std::vector<int>)::{lambda(int)#2}");
    EXPECT_NEAR(parts[1].at("ns").get<double>(), 10e6, 1e5) << "it is not on the longest chain";
    const auto text = shell(std::string("'" PILFER_TOOL_PROGRAM "' whatif ") + f.at("g"));
    EXPECT_TRUE(has(text, "100.0 % ") || has(text, "99.")) << text.text;
    EXPECT_LT(text.text.find("slow(int)"), text.text.find("quick(std")) << text.text;
}

TEST_F(view_command, a_recorded_graph_names_the_functions_of_its_tasks) {
    const folder f;
    graph("healthy", f.at("g"));
    const auto s = shell(std::string("'" PILFER_TOOL_PROGRAM "' whatif --functions ") + f.at("g"));
    EXPECT_EQ(s.code, 0);
    EXPECT_TRUE(has(s, "compute_in_scope(int, unsigned long)::") && !has(s, "forked<")) << s.text;
}

TEST_F(bad_input_view_command, whatif_refuses_it_too) {
    const folder f;
    const auto refused = [&](const std::string& arguments, int code, const std::string& why) {
        const auto s = shell(std::string("'" PILFER_TOOL_PROGRAM "' whatif ") + arguments + " 2>&1");
        EXPECT_EQ(s.code, code) << s.text;
        EXPECT_TRUE(has(s, why)) << s.text;
    };
    refused("", 2, "FILE");
    refused("/nowhere/at/all", 1, "cannot be read");
    write(f.at("empty"), "");
    refused(f.at("empty"), 1, "it is empty");
    write(f.at("t"), "{}");
    refused(f.at("t"), 1, "it is a trace");
    write(f.at("g"), two_parts);
    refused("--faster 0.5 " + f.at("g"), 2, "faster");
    refused("--workers 0 " + f.at("g"), 2, "workers");
    refused("--grain a.cpp:3 " + f.at("g"), 2, "'a.cpp:3' has no '=K' at its end, with K from 2 to");
    refused("--split-lock 1=1 " + f.at("g"), 2, "'1=1' has no '=K'");
    refused("--split-lock =2 " + f.at("g"), 2, "'=2' has no '=K'");
    refused("--grain a.cpp:3=2 " + f.at("g"), 1, "it has no lines");
    refused("--split-lock 1=2 " + f.at("g"), 1, "it has no locks");
    write(f.at("l"), "pilfer-graph 3\n0 +1 -1\n1 (1 5 )1\nend 2\n");
    refused("--split-lock 2=2 " + f.at("l"), 1, "no lock is '2'; there are lock 1");
    write(f.at("cycle"), "pilfer-graph 1\n1 5 -2\n2 5 -1\n0 +1 +2 -1\nend 3\n");
    refused(f.at("cycle"), 1, "wait for each other");
}

// ---- the page in a browser

/// The document after its scripts have run.
said shown(const std::string& page, const std::string& options = "") {
    return shell("timeout 300 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage " +
                 options + " --dump-dom 'file://" + page + "' 2>/dev/null");
}
bool has_chromium() { return shell("command -v chromium >/dev/null").code == 0; }

TEST_F(view_command, the_page_is_drawn_by_chromium) {
    if (!has_chromium()) {
        GTEST_SKIP() << "chromium is not installed";
    }
    const folder f;
    trace("one_lock", f.at("t"));
    graph("one_lock", f.at("<b>g"));
    ASSERT_EQ(view("-o " + f.at("page.html") + " " + f.at("t") + " '" + f.at("<b>g") + "'").code, 0);
    const auto s = shown(f.at("page.html"), "--user-data-dir=" + f.at("browser"));
    EXPECT_EQ(s.code, 0);
    const std::string text = s.text;
    EXPECT_NE(text.find("data-load-ms="), std::string::npos) << "the script did not end:\n"
                                                             << text.substr(0, 2'000);
    EXPECT_EQ(text.find("<b>g"), std::string::npos);
    for (const char* title : {"Timeline of each worker", "Busy workers", "Waiting tasks", "Ready parallelism",
                              "Longest chain", "Waits and locks", "Use of each worker"}) {
        EXPECT_NE(text.find("<h2>" + std::string(title)), std::string::npos) << title;
    }
    EXPECT_TRUE(std::regex_search(text, std::regex("<h1 id=\"diagnosis\"[^>]*>[A-Z]")));
}

TEST_F(view_command, a_million_tasks_load_in_chromium) {
    if (!has_chromium()) {
        GTEST_SKIP() << "chromium is not installed";
    }
    const folder f;
    // Two workers take half a million tasks of 700 ns each from the pool's queue.
    {
        std::ofstream out(f.at("t"), std::ios::binary);
        out << R"({"otherData":{"duration_ns":500000000,"tracks":[]},"traceEvents":[{"ph":"M","name":"process_name"})";
        for (int worker = 1; worker <= 2; ++worker) {
            for (int i = 0; i < 500'000; ++i) {
                out << ",\n{\"ph\":\"B\",\"tid\":" << worker << ",\"ts\":" << i << ".000"
                    << R"(,"cat":"run","name":"submitted submission"},{"ph":"E","tid":)" << worker
                    << ",\"ts\":" << i << ".700}";
            }
        }
        out << "]}";
    }
    const auto made = view("-o " + f.at("page.html") + " " + f.at("t"));
    ASSERT_EQ(made.code, 0) << made.text;
    const auto s = shown(f.at("page.html"), "--user-data-dir=" + f.at("browser"));
    std::smatch load;
    ASSERT_TRUE(std::regex_search(s.text, load, std::regex("data-load-ms=\"([0-9]+)\"")))
        << s.text.substr(0, 2'000);
    // The aim is 3,000 ms on a quiet machine, and docs/profiling.md has the figure. Beside other programs
    // this is a limit that only a page which is slow by its nature exceeds.
    EXPECT_LT(std::stoul(load[1]), 60'000U);
    std::printf("loaded in %s ms, page of %zu bytes\n", load[1].str().c_str(),
                text_of(f.at("page.html")).size());
    EXPECT_NE(s.text.find("1,000,000"), std::string::npos);
}

} // namespace
