// The cost of a fork, speed-ups, the timeline, and the page that shows them.
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "kernels.hpp"
#include "report.hpp"
#include "sandbox.hpp"
#include "svg.hpp"
#include "timeline.hpp"

namespace {

using nlohmann::json;
using showcase::activity;
using showcase_test::quoted;
using showcase_test::read_file;

std::size_t count_of(std::string const& text, std::string const& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
        ++found;
    return found;
}

// The showcase in a folder of its own, so that the test decides which programs of the benchmarks it finds.
class page : public showcase_test::sandbox {
public:
    page() {
        std::filesystem::create_directories(at("build/showcase"));
        std::filesystem::copy_file(PILFER_SHOWCASE_PROGRAM, at("build/showcase/pilfer-showcase"));
    }

    void program(std::string const& kernel_and_runtime, std::string const& script) const {
        std::string const path =
            write("build/bench/bin/bench-" + kernel_and_runtime, "#!/bin/sh\n" + script + '\n');
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
    void measures(std::string const& kernel_and_runtime, std::string const& answer,
                  std::string const& seconds) const {
        program(kernel_and_runtime,
                R"(echo '{"seconds":[)" + seconds + R"(],"ok":true,"answer":)" + answer + "}'");
    }
    showcase_test::said run(std::string const& arguments) const {
        return showcase_test::shell(quoted(at("build/showcase/pilfer-showcase")) + ' ' + arguments +
                                    " --out " + quoted(at("out")) + " 2>/dev/null");
    }
    std::string html() const { return read_file(at("out/showcase.html")); }
    json saved() const { return json::parse(read_file(at("out/showcase.json"))); }
};

// fib(32) has 3,524,577 forks.
constexpr auto fib = "2178309";

TEST_F(page, the_fork_chart_has_the_measured_time_divided_by_the_number_of_forks) {
    measures("fib-serial", fib, "0.003524577");
    measures("fib-pilfer_join", fib, "0.007049154, 9, 0.001");
    measures("fib-tbb", fib, "0.17622885");
    auto const said = run("--programs forks --repeat 1");
    ASSERT_EQ(said.code, 0) << said.text;
    json const forks = saved().at("forks");
    ASSERT_EQ(forks.at("rows").size(), 3U) << "a runtime that is not built has no row";
    EXPECT_NEAR(forks["rows"][1]["nanoseconds_per_fork"], 2.0, 1e-9) << "the median";
    EXPECT_EQ(forks["rows"][1]["all_seconds"].size(), 3U);

    std::string const shown = html();
    std::map<std::string, double> widths;
    std::regex const bars("<rect class=\"bar ([a-z]+)\"[^>]* width=\"([0-9.]+)\"");
    for (std::sregex_iterator b(shown.begin(), shown.end(), bars); b != std::sregex_iterator(); ++b)
        widths[(*b)[1]] = std::stod((*b)[2]);
    ASSERT_EQ(widths.size(), 3U);
    EXPECT_NEAR(widths["tbb"] / widths["pilfer"], 25, 0.5) << "a bar is as long as its value";
    for (char const* const figure : {">1.00 ns<", ">2.00 ns<", ">50.00 ns<", "<b>2.0 ns</b>"})
        EXPECT_NE(shown.find(figure), std::string::npos) << figure;
    EXPECT_NE(said.text.find("pilfer join        2.00 ns      2.00\n"), std::string::npos) << said.text;
    EXPECT_NE(said.text.find("plain call         1.00 ns      1.00\n"), std::string::npos) << said.text;
}

#ifdef PILFER_SHOWCASE_KERNELS
TEST_F(page, the_programs_of_the_benchmarks_are_understood) {
    std::filesystem::create_directories(at("build/bench"));
    std::filesystem::create_directory_symlink(PILFER_SHOWCASE_KERNELS, at("build/bench/bin"));
    auto const said = run("--programs forks --quick");
    ASSERT_EQ(said.code, 0) << said.text;
    json const forks = saved().at("forks");
    EXPECT_EQ(forks.at("answer"), fib);
    EXPECT_EQ(forks.at("rows").at(0).at("runtime"), "serial");
    EXPECT_EQ(forks.at("rows").at(1).at("runtime"), "pilfer_join");
    for (json const& row : forks.at("rows"))
        EXPECT_GT(row.at("nanoseconds_per_fork"), 0) << row;
}
#endif

TEST_F(page, speed_up_charts_have_a_point_for_each_number_of_workers) {
    for (std::string const kernel : {"matmul", "mergesort", "irregular"}) {
        measures(kernel + "-serial", "7.5", "2.0");
        // Twice the serial time with one worker, a quarter of it with eight.
        program(kernel + "-pilfer_join",
                R"(echo "{\"seconds\":[$((4 / $6)).5],\"ok\":true,\"answer\":7.5}")");
    }
    auto const said = run("--programs speedups --repeat 1 --workers 6");
    ASSERT_EQ(said.code, 0) << said.text;
    json const kernels = saved().at("speed_ups");
    ASSERT_EQ(kernels.size(), 3U);
    json const rows = kernels[1].at("rows");
    ASSERT_EQ(rows.size(), 5U);
    EXPECT_EQ(rows[4]["workers"], 6);
    EXPECT_NEAR(rows[1]["speed_up"], 2 / 4.5, 1e-9);
    EXPECT_NEAR(rows[4]["speed_up"], 4, 1e-9);
    EXPECT_EQ(count_of(html(), "<svg class=\"chart lines\""), 3U);
    EXPECT_EQ(count_of(html(), "<circle class=\"pilfer mark\""), 3U * 4);
    EXPECT_NE(said.text.find("speed-up   workers               1      2      4      6\n"), std::string::npos)
        << said.text;
    EXPECT_NE(said.text.find("matmul     pilfer join        0.44   0.80   1.33   4.00\n"), std::string::npos)
        << said.text;
}

TEST_F(page, a_kernel_that_fails_is_a_failed_row_and_exit_code_1) {
    struct trial {
        char const* script;
        char const* reason;
    };
    measures("fib-serial", fib, "0.01");
    for (trial const& t :
         {trial{R"(echo '{"seconds":[1],"ok":true,"answer":5}')", "wrong answer 5 instead of 2178309"},
          trial{R"(echo '{"seconds":[1],"ok":false,"answer":2178309}')", "wrong answer 2178309"},
          trial{"echo nonsense", "gave no measurement"}, trial{"kill -ABRT $$", "killed by signal 6"},
          trial{R"(echo '{"seconds":[],"ok":true,"answer":2178309}')", "gave no measurement"}}) {
        program("fib-tbb", t.script);
        auto const said = run("--programs forks --repeat 1");
        EXPECT_EQ(said.code, 1) << t.script;
        EXPECT_NE(said.text.find("FAILED: fib with oneTBB, 1 workers: "), std::string::npos) << said.text;
        EXPECT_NE(said.text.find(t.reason), std::string::npos) << said.text;
        EXPECT_NE(html().find(t.reason), std::string::npos) << t.script;
        EXPECT_TRUE(saved()["forks"]["rows"][1]["seconds"].is_null());
    }
}

TEST_F(page, kernels_that_are_not_built_are_left_out_with_a_message) {
    auto const said = run("--programs forks,speedups");
    EXPECT_EQ(said.code, 0) << said.text;
    EXPECT_NE(said.text.find("not built"), std::string::npos) << said.text;
    EXPECT_NE(html().find("not built"), std::string::npos);
    EXPECT_EQ(html().find("<svg"), std::string::npos);
}

TEST_F(page, an_empty_folder_gives_a_page_without_impossible_numbers) {
    std::filesystem::create_directories(at("empty"));
    auto const said = run("--quick --programs treehash,sortlines,timeline " + quoted(at("empty")));
    ASSERT_EQ(said.code, 0) << said.text;
    EXPECT_EQ(saved()["programs"][0]["items"], 0);
    for (char const* const impossible : {"nan", "inf", "-0"})
        EXPECT_EQ(std::regex_replace(html(), std::regex("<style>[^]*</style>"), "").find(impossible),
                  std::string::npos)
            << impossible;
}

TEST_F(page, shows_the_timeline_of_a_traced_run) {
    std::string text;
    for (int i = 0; i < 200'000; ++i)
        text += std::to_string(i * 7919 % 100'003) + '\n';
    write("text/file", text);
    auto const said = run("--quick --workers 3 --programs timeline " + quoted(at("text")));
    ASSERT_EQ(said.code, 0) << said.text;
    auto const trace = showcase::parse_trace(read_file(at("out/showcase-trace.json")));
    json const shown = saved().at("timeline");
    EXPECT_EQ(trace.workers.size(), 3U);
    EXPECT_EQ(shown.at("workers"), 3);
    EXPECT_GT(shown.at("seconds"), 0);
    EXPECT_EQ(shown.at("thefts"), trace.thefts);
    EXPECT_EQ(count_of(html(), "<svg class=\"chart lanes\""), 1U);
    EXPECT_NE(html().find("<div>worker 2</div>"), std::string::npos);
    EXPECT_NE(html().find("class=\"own\""), std::string::npos) << "somebody ran the sort";
    EXPECT_NE(said.text.find("timeline: sortlines on "), std::string::npos) << said.text;
}

TEST_F(page, every_chart_is_well_formed_and_has_a_title_and_a_description) {
    for (std::string const kernel : {"fib", "matmul"})
        for (std::string const runtime : {"-serial", "-pilfer_join", "-tbb", "-libgomp"})
            measures(kernel + runtime, fib, "0.01");
    std::string const folder = at("<i>&");
    write("<i>&/text", "b\na\n");
    ASSERT_EQ(
        run("--quick --workers 2 --programs treehash,sortlines,forks,speedups,timeline " + quoted(folder))
            .code,
        0);
    std::string const shown = html();
    // Two programs, one chart of forks, one of matmul, the timeline.
    std::size_t const charts = count_of(shown, "<svg class=\"chart ");
    EXPECT_EQ(charts, 5U);
    EXPECT_EQ(count_of(shown, "role=\"img\""), charts);
    EXPECT_EQ(count_of(shown, "><title>"), charts);
    EXPECT_EQ(count_of(shown, "<desc>"), charts);
    EXPECT_EQ(shown.find("<i>&"), std::string::npos) << "a folder's name is no markup";
    for (char const* const part : {"id=\"programs\"", "id=\"forks\"", "id=\"speedups\"", "id=\"timeline\""})
        EXPECT_NE(shown.find(part), std::string::npos) << part;
    for (char const* const outside : {"http:", "https:", "src=", "href=", "@import", "url("})
        EXPECT_EQ(shown.find(outside), std::string::npos) << outside;

    // First the script removes constructs that HTML allows and XML does not.
    write("page.py", "import re, sys, xml.dom.minidom as dom\n"
                     "text = open(sys.argv[1], encoding='utf-8').read()\n"
                     "text = re.sub(r'<(meta[^>]*)>', r'<\\1/>', text.replace('<!DOCTYPE html>', ''))\n"
                     "dom.parseString(text)\n");
    auto const parsed = showcase_test::shell("python3 " + quoted(at("page.py")) + ' ' +
                                             quoted(at("out/showcase.html")) + " 2>&1");
    EXPECT_EQ(parsed.code, 0) << parsed.text;
}

// The script with its tools replaced: nothing is installed here, and it ends before it would build.
TEST_F(page, run_lists_what_it_installs_and_why_beforehand) {
    std::string const log = quoted(at("log"));
    std::map<std::string, std::string> const tools{
        {"dpkg-query", "[ \"$4\" != cmake ] || echo installed"},
        {"apt-get", "echo \"apt-get $*\" >>" + log +
                        "\ncase \"$*\" in *--assume-no*) echo 'Need to get 42 MB of archives.';; esac"},
        {"sudo", "shift\nexec \"$@\""},
        {"cmake", ""},
        {"ninja", "echo built >>" + log + "\nexit 7"}};
    for (auto const& [name, script] : tools)
        std::filesystem::permissions(write("bin/" + name, "#!/bin/sh\n" + script + '\n'),
                                     std::filesystem::perms::owner_all);
    auto const script = std::filesystem::path(PILFER_SHOWCASE_README).parent_path().parent_path() / "run";
    auto const said =
        showcase_test::shell("PATH=" + quoted(at("bin")) + ":$PATH " + quoted(script.string()) + " 2>&1");
    EXPECT_EQ(said.code, 7) << said.text;
    std::size_t const why = said.text.find("compares pilfer with oneTBB and OpenMP on your files");
    std::size_t const what = said.text.find("Installing g++ ninja-build");
    std::size_t const size = said.text.find("Need to get 42 MB");
    EXPECT_LT(why, what) << said.text;
    EXPECT_LT(what, size) << said.text;
    EXPECT_NE(size, std::string::npos) << said.text;
    EXPECT_EQ(said.text.find(" cmake "), std::string::npos) << "it is installed already";
    std::string const done = read_file(at("log"));
    EXPECT_LT(done.find("apt-get -qq -y --no-install-recommends install g++ ninja-build"), done.find("built"))
        << done;
}

TEST(ticks, are_round_and_reach_the_highest_value) {
    EXPECT_EQ(showcase::ticks(2, 4), (std::vector<double>{0, 0.5, 1, 1.5, 2}));
    EXPECT_EQ(showcase::ticks(170, 4), (std::vector<double>{0, 50, 100, 150, 200}));
    for (double const highest : {1e-9, 0.0123, 0.9, 1.0, 9.99, 12345.6}) {
        auto const values = showcase::ticks(highest, 4);
        EXPECT_GE(values.back(), highest * 0.999);
        EXPECT_GE(values.size(), 3U) << highest;
        EXPECT_LE(values.size(), 6U) << highest;
    }
    EXPECT_FALSE(showcase::ticks(0, 4).empty());
}

TEST(worker_counts, double_up_to_the_highest) {
    EXPECT_EQ(showcase::worker_counts(1), (std::vector<unsigned>{1}));
    EXPECT_EQ(showcase::worker_counts(2), (std::vector<unsigned>{1, 2}));
    EXPECT_EQ(showcase::worker_counts(12), (std::vector<unsigned>{1, 2, 4, 8, 12}));
}

// Times in microseconds; the names are those of src/trace.
std::string trace_of(std::string const& events) {
    return R"({"otherData":{"counters":{"run_stolen":4,"sleeps":2},"tracks":[{},{}]},"traceEvents":[)" +
           events + "]}";
}
std::string begin(int worker, double at, char const* category, char const* name) {
    return json{{"ph", "B"}, {"tid", worker + 1}, {"ts", at}, {"cat", category}, {"name", name}}.dump() + ',';
}
std::string end(int worker, double at, char const* separator = ",") {
    return json{{"ph", "E"}, {"tid", worker + 1}, {"ts", at}}.dump() + separator;
}

TEST(trace, becomes_the_activity_of_each_worker_between_the_first_and_the_last_task) {
    auto const run = showcase::parse_trace(trace_of(
        begin(1, 0, "idle", "sleep") + begin(0, 100, "run", "stolen spark") +
        begin(0, 120, "run", "on top: own spark") + end(0, 140) + end(0, 200) + end(1, 150) +
        begin(1, 160, "run", "stolen spark") + end(1, 190) + begin(1, 190, "idle", "nap") + end(1, 900, "")));
    ASSERT_TRUE(run.failure.empty()) << run.failure;
    EXPECT_DOUBLE_EQ(run.seconds, 100e-6);
    EXPECT_EQ(run.thefts, 4U);
    ASSERT_EQ(run.workers.size(), 2U);
    EXPECT_DOUBLE_EQ(run.share(0, activity::stolen), 1) << "a slice on top is part of the one below it";
    EXPECT_DOUBLE_EQ(run.share(1, activity::asleep), 0.6) << "what is outside of the run does not count";
    EXPECT_DOUBLE_EQ(run.share(1, activity::searching), 0.1);
    EXPECT_DOUBLE_EQ(run.share(1, activity::stolen), 0.3);
}

TEST(trace, that_is_unusable_is_a_failure_without_a_timeline) {
    for (std::string const& bad : {std::string(), std::string("{"), std::string("{}"), trace_of(""),
                                   trace_of(begin(0, 1, "idle", "sleep") + end(0, 2, "")),
                                   trace_of(begin(7, 1, "run", "own spark") + end(7, 2, ""))}) {
        auto const run = showcase::parse_trace(bad);
        EXPECT_FALSE(run.failure.empty()) << bad;
        EXPECT_TRUE(run.empty()) << bad;
    }
}

} // namespace
