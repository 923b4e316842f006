// The program as people start it, and the parts it is made of: processes, the report.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "process.hpp"
#include "report.hpp"
#include "sandbox.hpp"

namespace {

using nlohmann::json;
using showcase_test::quoted;
using showcase_test::read_file;

class command : public showcase_test::sandbox {
public:
    // A small tree with something in it to sort.
    std::string tree() {
        for (int i = 0; i < 40; ++i) {
            std::string lines;
            for (int k = 0; k < 200; ++k)
                lines += std::to_string((i * 7919 + k * 104729) % 1000) + '\n';
            write("tree/" + std::to_string(i % 4) + "/file" + std::to_string(i), lines);
        }
        write("tree/binary", std::string("\0\1\2", 3));
        return at("tree");
    }
    std::string out() const { return " --out " + quoted(at("out")); }
    json saved() const { return json::parse(read_file(at("out/showcase.json"))); }
};

TEST_F(command, runs_everything_and_saves_what_it_prints) {
    auto const said =
        showcase_test::showcase("--quick --workers 2 --programs treehash,uts,wordcount,sortlines " +
                                quoted(tree()) + out() + " 2>" + at("progress"));
    ASSERT_EQ(said.code, 0) << said.text;
    EXPECT_NE(said.text.find("All results are equal."), std::string::npos);
    EXPECT_NE(said.text.find("4,130,071"), std::string::npos);

    json const all = saved();
    EXPECT_TRUE(all.at("good"));
    EXPECT_EQ(all.at("workers"), 2);
    ASSERT_EQ(all.at("programs").size(), 4U);
    EXPECT_EQ(all["programs"][0]["items"], 41);
    EXPECT_EQ(all["programs"][1]["result"], "4130071");
    EXPECT_EQ(all["programs"][3]["items"], 40 * 200); // the binary file is not text
    for (json const& program : all["programs"]) {
        bool const sorts = program["name"] == "sortlines";
        EXPECT_EQ(program["rows"].size(), sorts ? 5U : 4U);
        for (json const& row : program["rows"]) {
            EXPECT_GT(row["seconds"], 0) << row;
            EXPECT_GT(row["speed_up"], 0) << row;
            EXPECT_GT(row["ratio_to_pilfer"], 0) << row;
            EXPECT_GT(row["peak_bytes"], 1'000'000) << row;
            EXPECT_TRUE(row["failure"].is_null()) << row;
        }
        EXPECT_EQ(program["rows"][0]["speed_up"], 1.0);
        EXPECT_EQ(program["rows"][1]["ratio_to_pilfer"], 1.0);
    }

    std::string const page = read_file(at("out/showcase.html"));
    for (char const* const outside : {"http:", "https:", "src=", "href=", "@import", "url("})
        EXPECT_EQ(page.find(outside), std::string::npos) << outside;
    EXPECT_NE(page.find("class=\"bar pilfer\""), std::string::npos);

    std::string const progress = read_file(at("progress"));
    EXPECT_NE(progress.find("[1/20] treehash: reading"), std::string::npos) << progress;
    EXPECT_NE(progress.find("[20/20] sortlines with sort: "), std::string::npos) << progress;
    EXPECT_EQ(progress.find('\r'), std::string::npos) << "plain lines where there is no terminal";
    // Nothing is left of the text that was sorted.
    std::filesystem::directory_iterator const files(at("out"));
    EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

TEST_F(command, shows_one_live_line_on_a_terminal) {
    std::string const inner =
        quoted(PILFER_SHOWCASE_PROGRAM) + " --programs uts --runtimes serial,openmp --repeat 1" + out();
    auto const said =
        showcase_test::shell("TERM=xterm script -qefc " + quoted(inner) + " /dev/null </dev/null");
    ASSERT_EQ(said.code, 0) << said.text;
    EXPECT_NE(said.text.find("\r\033[K[1/2] uts serially "), std::string::npos) << said.text;
    EXPECT_NE(said.text.find("\r\033[K[2/2] uts with OpenMP "), std::string::npos) << said.text;
    EXPECT_EQ(said.text.find("[1/2] uts serially: 1 s so far\r\n"), std::string::npos);
}

TEST_F(command, a_deep_tree_gets_its_stack_and_the_output_says_so) {
    auto const said = showcase_test::showcase("--programs uts --size T3 --repeat 1" + out() + " 2>/dev/null");
    ASSERT_EQ(said.code, 0) << said.text;
    EXPECT_NE(said.text.find("4,112,897 nodes, 1,572 levels deep"), std::string::npos) << said.text;
    EXPECT_NE(said.text.find("options.stack_size is set to 16 MiB"), std::string::npos) << said.text;
    EXPECT_EQ(saved()["programs"][0]["stack_size"], 16 << 20);
}

TEST_F(command, wrong_folders_and_options_end_with_2_and_a_reason) {
    write("file", "text");
    struct trial {
        std::string arguments;
        char const* reason;
    };
    for (trial const& t :
         {trial{quoted(at("missing")), "No such file or directory"},
          trial{quoted(at("file")), "Not a directory"}, trial{"--programs nothing", "--programs"},
          trial{"--size T2", "--size"}, trial{"--workers 5000", "--workers"}, trial{"--repeat 0", "--repeat"},
          trial{"--unheard-of", "unheard-of"}}) {
        auto const said = showcase_test::showcase(t.arguments + out() + " 2>&1");
        EXPECT_EQ(said.code, 2) << t.arguments;
        EXPECT_NE(said.text.find(t.reason), std::string::npos) << t.arguments << ": " << said.text;
        EXPECT_FALSE(std::filesystem::exists(at("out"))) << t.arguments;
    }
    auto const said = showcase_test::showcase(quoted(tree()) + " --out " + quoted(at("file")) + " 2>&1");
    EXPECT_EQ(said.code, 2);
    EXPECT_NE(said.text.find("output folder"), std::string::npos) << said.text;
}

TEST_F(command, a_missing_sort_is_a_failed_row_and_exit_code_1) {
    auto const said =
        showcase_test::shell("PATH=/nonexistent " + quoted(PILFER_SHOWCASE_PROGRAM) +
                             " --quick --programs sortlines " + quoted(tree()) + out() + " 2>/dev/null");
    EXPECT_EQ(said.code, 1);
    EXPECT_NE(said.text.find("FAILED with sort: ended with exit code 127: cannot be started"),
              std::string::npos)
        << said.text;
    EXPECT_FALSE(saved()["good"]);
    EXPECT_TRUE(saved()["programs"][0]["rows"][4]["seconds"].is_null());
}

TEST_F(command, a_wrong_result_is_a_failed_row_and_exit_code_1) {
    std::string const liar = write("bin/sort", "#!/bin/sh\n/bin/echo wrong\n");
    std::filesystem::permissions(liar, std::filesystem::perms::owner_all);
    auto const said =
        showcase_test::shell("PATH=" + quoted(at("bin")) + ' ' + quoted(PILFER_SHOWCASE_PROGRAM) +
                             " --quick --programs sortlines " + quoted(tree()) + out() + " 2>/dev/null");
    EXPECT_EQ(said.code, 1);
    EXPECT_NE(said.text.find("FAILED with sort: wrong result "), std::string::npos) << said.text;
    EXPECT_NE(said.text.find("NOT all results are equal"), std::string::npos) << said.text;
}

TEST_F(command, a_child_with_wrong_arguments_reports_an_error) {
    auto const said = showcase_test::showcase("--child uts magic 1 0 T1 2>&1");
    EXPECT_EQ(said.code, 1);
    EXPECT_EQ(said.text, "no runtime is called magic\n");
    EXPECT_EQ(showcase_test::showcase("--child uts 2>/dev/null").code, 1);
}

showcase::finished run_shell(std::string const& script) {
    showcase::command c;
    c.arguments = {"sh", "-c", script};
    c.environment = {{"GIVEN", "yes"}};
    return showcase::run_process(c, [] {});
}

TEST(process, returns_output_time_and_memory) {
    auto const end = run_shell("echo $GIVEN; sleep 0.2");
    EXPECT_EQ(end.output, "yes\n");
    EXPECT_EQ(end.failure, "");
    EXPECT_GE(end.seconds, 0.2);
    EXPECT_GT(end.peak_bytes, 0U);
}

TEST(process, reports_how_a_child_failed) {
    EXPECT_EQ(run_shell("echo because >&2; exit 3").failure, "ended with exit code 3: because");
    EXPECT_EQ(run_shell("kill -SEGV $$").failure, "killed by signal 11 (Segmentation fault)");
    EXPECT_EQ(run_shell("echo fine >&2").failure, "");
    showcase::command missing;
    missing.arguments = {"/nonexistent/program"};
    EXPECT_EQ(showcase::run_process(missing, [] {}).failure,
              "ended with exit code 127: cannot be started: No such file or directory");
}

TEST(process, takes_more_output_than_a_pipe_holds_and_ticks_while_it_waits) {
    showcase::command c;
    c.arguments = {"sh", "-c", "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; sleep 0.35"};
    int ticks = 0;
    auto const end = showcase::run_process(c, [&ticks] { ++ticks; });
    EXPECT_EQ(end.output.size(), 300'000U);
    EXPECT_GE(ticks, 2);
}

TEST(process, measures_the_memory_of_the_child_alone) {
    auto const small = run_shell("true");
    auto const large = run_shell("exec perl -e '$x = \"x\" x 50_000_000; print length $x'");
    EXPECT_EQ(large.output, "50000000");
    EXPECT_GT(large.peak_bytes, 50'000'000U);
    EXPECT_LT(small.peak_bytes, 40'000'000U);
}

showcase::report two_rows() {
    showcase::report all;
    showcase::program_report& program = all.programs.emplace_back();
    program.name = "treehash";
    program.input = "<b>&\"x\"</b>\n\xff";
    program.rows.push_back({"serial", {4, 2, 9}, 1 << 20, {}});
    program.rows.push_back({"pilfer", {1, 3}, 2 << 20, {}});
    return all;
}

TEST(report, medians_and_ratios_are_those_of_the_runs) {
    auto const all = two_rows();
    auto const& program = all.programs[0];
    EXPECT_DOUBLE_EQ(program.rows[0].median(), 4);
    EXPECT_DOUBLE_EQ(program.rows[1].median(), 2);
    EXPECT_DOUBLE_EQ(program.speed_up(program.rows[1]).value(), 2);
    EXPECT_DOUBLE_EQ(program.ratio_to_pilfer(program.rows[0]).value(), 2);
    EXPECT_TRUE(all.good());
}

TEST(report, a_failed_row_has_no_figures_and_spoils_the_whole) {
    auto all = two_rows();
    all.programs[0].rows[0].failure = "killed";
    auto const& program = all.programs[0];
    EXPECT_FALSE(all.good());
    EXPECT_FALSE(program.speed_up(program.rows[1]).has_value());
    EXPECT_FALSE(program.ratio_to_pilfer(program.rows[0]).has_value());
    EXPECT_NE(showcase::as_table(all).find("FAILED with serial: killed"), std::string::npos);
    EXPECT_NE(showcase::as_html(all).find("failed: killed"), std::string::npos);
}

TEST(report, odd_names_spoil_neither_json_nor_page_nor_terminal) {
    auto all = two_rows();
    all.programs[0].facts.problems = 1;
    all.programs[0].facts.listed.push_back({"./\033[2J\xfe<i>", "Permission denied"});
    json const parsed = json::parse(showcase::as_json(all));
    EXPECT_EQ(parsed["programs"][0]["unreadable"]["count"], 1);
    std::string const page = showcase::as_html(all);
    EXPECT_EQ(page.find("<b>&"), std::string::npos);
    EXPECT_EQ(page.find("<i>"), std::string::npos);
    EXPECT_EQ(showcase::as_table(all).find('\033'), std::string::npos);
    EXPECT_NE(showcase::as_table(all).find("1 could not be read"), std::string::npos);
}

} // namespace
