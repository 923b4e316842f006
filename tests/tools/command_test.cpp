// The command `pilfer` as people start it: its output, its exit codes, and its treatment of wrong arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>

#include "support/shell.hpp"

namespace {

using namespace support;

said pilfer(const std::string& arguments) { return shell("'" PILFER_TOOL_PROGRAM "' " + arguments); }

TEST(command, help_and_version) {
    const auto help = pilfer("--help");
    EXPECT_EQ(help.code, 0);
    EXPECT_TRUE(has(help, "info")) << help.text;
    EXPECT_TRUE(has(help, "soak")) << help.text;
    EXPECT_TRUE(has(help, "selftest")) << help.text;
    const auto version = pilfer("--version");
    EXPECT_EQ(version.code, 0);
    EXPECT_EQ(version.text, "pilfer " PILFER_TOOL_VERSION "\n");
    for (const char* option : {"--for", "--workers", "--threads", "--seed", "--chaos", "--watchdog",
                               "--max-drift", "--json", "--quiet"}) {
        EXPECT_TRUE(has(pilfer("soak --help"), option)) << option;
    }
    EXPECT_TRUE(has(pilfer("selftest --help"), "--for"));
}

/// Each long option of each subcommand's help is in the man page and in the completion.
TEST(command, man_page_and_completion_know_every_option) {
    auto man = shell("cat '" PILFER_TOOL_FOLDER "/pilfer.1'");
    for (auto at = man.text.find("\\-"); at != std::string::npos; at = man.text.find("\\-")) {
        man.text.erase(at, 1);
    }
    const std::regex option("--[a-z][a-z-]+");
    for (const char* subcommand :
         {"info", "profile", "check", "top", "view", "whatif", "calibrate", "study", "soak", "selftest"}) {
        EXPECT_TRUE(has(man, std::string("\n.TP\n.BR ") + subcommand)) << subcommand;
        const auto completed =
            shell("bash -c '. " PILFER_TOOL_FOLDER "/completion/pilfer; COMP_WORDS=(pilfer " +
                  std::string(subcommand) + " --); COMP_CWORD=2; _pilfer; echo \" ${COMPREPLY[*]} \"'");
        const std::string help = pilfer(std::string(subcommand) + " --help").text;
        const std::string options = help.substr(help.find("Options:"));
        unsigned count = 0;
        for (std::istringstream lines(options); lines;) {
            std::string line;
            std::getline(lines, line);
            std::smatch found;
            if (line.rfind("  -", 0) == 0 && std::regex_search(line, found, option)) {
                ++count;
                EXPECT_TRUE(has(man, found.str())) << subcommand << ' ' << found.str();
                EXPECT_TRUE(has(completed, std::string(" ").append(found.str()).append(" ")))
                    << subcommand << ' ' << found.str() << " in" << completed.text;
            }
        }
        EXPECT_GT(count, 2U) << subcommand << ":\n" << help;
    }
}

TEST(command, a_soak_without_its_program_reports_that) {
    const auto s =
        shell("d=$(mktemp -d) && cp '" PILFER_TOOL_PROGRAM
              "' \"$d/pilfer\" && \"$d/pilfer\" soak --for 1s 2>&1; code=$?; rm -r \"$d\"; exit $code");
    EXPECT_EQ(s.code, 1);
    EXPECT_TRUE(has(s, "pilfer-chaos: No such file")) << s.text;
}

TEST(command, wrong_arguments_end_with_2_and_a_reason) {
    struct trial {
        const char* arguments;
        const char* reason;
    };
    for (const trial& t : {
             trial{"", "subcommand"},
             trial{"nothing", "nothing"},
             trial{"soak --unheard-of", "unheard-of"},
             trial{"soak --for never", "'never' is no duration"},
             trial{"soak --for 0", "no duration"},
             trial{"soak --for -5s", "no duration"},
             trial{"soak --for 5parsecs", "no duration"},
             trial{"soak --for 1e300h", "no duration"},
             trial{"soak --for nan", "no duration"},
             trial{"soak --for ''", "no duration"},
             trial{"soak --seed apple", "'apple' is no number"},
             trial{"soak --seed 0x", "is no number"},
             trial{"soak --seed 99999999999999999999", "is no number"},
             trial{"soak --workers 4097", "--workers"},
             trial{"soak --workers -1", "--workers"},
             trial{"soak --threads 0", "--threads"},
             trial{"soak --chaos 4", "--chaos"},
             trial{"soak --watchdog 0", "--watchdog"},
             trial{"soak --max-drift x", "--max-drift"},
             trial{"info --workers 0", "--workers"},
             trial{"info --workers 4097", "--workers"},
             trial{"info --pin on", "--pin"},
             trial{"info --machine nonsense", "'nonsense' is neither a file"},
             trial{"info --machine /dev/null", "is neither a file"},
             trial{"info extra", "extra"},
             trial{"selftest --for 5x", "no duration"},
             trial{"selftest --seed -1", "is no number"},
             trial{"selftest extra", "extra"},
             trial{"study --workers 4097", "--workers"},
             trial{"study --workload lop", "known are loop, ready"},
             trial{"study --workload loop:x=1", "the keys of loop are tasks, length"},
             trial{"study --balance quarter", "known are one, half"},
             trial{"study --balance one,half", "second amount"},
             trial{"study --seed apple", "is no number"},
             trial{"study --rounds 0", "--rounds"},
             trial{"calibrate --rounds 0", "--rounds"},
             trial{"soak --max-drift nan", "--max-drift"},
             trial{"top --interval nan 1", "--interval"},
             trial{"top --interval -NAN 1", "--interval"},
             trial{"top --interval 0.01 1", "--interval"},
             trial{"whatif --faster nan /dev/null", "--faster"},
         }) {
        const auto s = pilfer(std::string(t.arguments) + " 2>&1");
        EXPECT_EQ(s.code, 2) << t.arguments << ": " << s.text;
        EXPECT_TRUE(has(s, t.reason)) << t.arguments << ": " << s.text;
    }
}

TEST(command, lost_output_is_a_failure) {
    for (const std::string arguments : {"info", "--version", "study --help", "soak --help",
                                        "study --workers 2 --workload loop:tasks=9 --balance half"}) {
        const auto s = pilfer(arguments + " 2>&1 >/dev/full");
        EXPECT_EQ(s.code, 1) << arguments;
        EXPECT_TRUE(has(s, "No space left on device")) << arguments << ": " << s.text;
        EXPECT_EQ(pilfer(arguments + " 2>&1 >/dev/null").code, 0) << arguments;
    }
}

TEST(command, a_report_that_cannot_be_written_is_found_before_the_program_runs) {
    for (const std::string subcommand : {"profile", "race"}) {
        const auto s = pilfer(subcommand + " -o /nowhere/at/all echo begun 2>&1");
        EXPECT_EQ(s.code, 1) << s.text;
        EXPECT_TRUE(has(s, "cannot write '/nowhere/at/all': No such file")) << s.text;
        EXPECT_FALSE(has(s, "begun")) << s.text;
    }
}

TEST(command, a_child_that_fails_is_noticed_if_ends_of_children_are_ignored) {
    const auto s = shell("env --ignore-signal=CHLD '" PILFER_TOOL_PROGRAM
                         "' study --validate --costs /nowhere/at/all 2>&1");
    EXPECT_EQ(s.code, 1) << s.text;
    EXPECT_TRUE(has(s, "/nowhere/at/all: cannot be read")) << s.text;
    EXPECT_EQ(shell("env --ignore-signal=CHLD '" PILFER_TOOL_PROGRAM "' profile sh -c 'exit 7' 2>&1").code,
              7);
}

TEST(command, info_prints_features_and_decisions) {
    const auto s =
        shell("unset PILFER_PIN PILFER_WORKERS PILFER_BALANCE PILFER_STACK PILFER_SPIN; '" PILFER_TOOL_PROGRAM
              "' info");
    ASSERT_EQ(s.code, 0) << s.text;
    EXPECT_THAT(s.text, testing::ContainsRegex("\nworkers: [1-9][0-9]*\n"));
    EXPECT_THAT(s.text, testing::ContainsRegex("\nCPUs: [1-9][0-9]* online\n"));
    EXPECT_THAT(s.text, testing::ContainsRegex("\naffinity mask: [0-9,-]+\n"));
    EXPECT_THAT(s.text, testing::ContainsRegex("\nquota: (none|[1-9][0-9]* CPUs?)\n"));
    EXPECT_THAT(s.text, testing::ContainsRegex("\nreader: (without hwloc|hwloc [0-9.]+)\n"));
    EXPECT_THAT(s.text, testing::ContainsRegex("\ntopology: "));
    EXPECT_TRUE(has(s, "\npinning: off\nCPUs by worker: any\npinning because of: the default\n")) << s.text;
    EXPECT_TRUE(has(s, "\nstack: 262144 bytes\nstack because of: the default\n")) << s.text;
    EXPECT_TRUE(has(s, "\nspin: balanced\nspin because of: the default\n")) << s.text;
    EXPECT_TRUE(has(s, "\nbalance because of: the default\n")) << s.text;
    EXPECT_THAT(s.text, testing::ContainsRegex("\nworkers because of: the (affinity mask|quota, .*)\n"));
    EXPECT_THAT(s.text, testing::ContainsRegex("\npriority: nice -?[0-9]+; a higher priority is "));
    for (const char* name :
         {"pilfer: ", "\nbalance: ", "\nkernel: ", "\nmembarrier: ", "\nguards: ", "\nstacks: "}) {
        EXPECT_TRUE(has(s, name)) << name << s.text;
    }
}

TEST(command, info_obeys_options_environment_and_mask) {
    EXPECT_TRUE(has(pilfer("info --workers 5"), "\nworkers: 5\n"));
    EXPECT_TRUE(has(shell("PILFER_WORKERS=7 '" PILFER_TOOL_PROGRAM "' info"), "\nworkers: 7\n"));
    EXPECT_TRUE(has(shell("PILFER_PIN=spread '" PILFER_TOOL_PROGRAM "' info"), "\npinning: spread\n"));
    EXPECT_TRUE(has(pilfer("info --workers 5"), "\nworkers because of: --workers\n"));
    EXPECT_TRUE(has(shell("PILFER_WORKERS=7 '" PILFER_TOOL_PROGRAM "' info"),
                    "\nworkers because of: PILFER_WORKERS\n"));
    EXPECT_TRUE(
        has(shell("PILFER_PIN=spread '" PILFER_TOOL_PROGRAM "' info"), "\npinning because of: PILFER_PIN\n"));
    EXPECT_TRUE(has(pilfer("info --pin compact"), "\npinning because of: --pin\n"));
    EXPECT_TRUE(has(shell("PILFER_STACK=1M '" PILFER_TOOL_PROGRAM "' info"),
                    "\nstack: 1048576 bytes\nstack because of: PILFER_STACK\n"));
    EXPECT_TRUE(has(shell("PILFER_SPIN=battery '" PILFER_TOOL_PROGRAM "' info"),
                    "\nspin: battery\nspin because of: PILFER_SPIN\n"));
    for (const char* wrong : {"PILFER_STACK=large", "PILFER_SPIN=off", "PILFER_WORKERS=none"}) {
        const auto s = shell(std::string(wrong) + " '" PILFER_TOOL_PROGRAM "' info 2>&1");
        EXPECT_EQ(s.code, 1) << wrong;
        EXPECT_TRUE(has(s, "must be")) << wrong << s.text;
    }
    const auto bad = shell("PILFER_PIN=on '" PILFER_TOOL_PROGRAM "' info 2>&1");
    EXPECT_EQ(bad.code, 1);
    EXPECT_TRUE(has(bad, "PILFER_PIN must be off, compact or spread, not \"on\"")) << bad.text;
    // The last CPU of the mask, whichever that is.
    const auto one =
        shell("cpu=$(taskset -cp $$ | sed 's/.*[^0-9]//'); echo \"expected $cpu.\"; taskset -c $cpu "
              "'" PILFER_TOOL_PROGRAM "' info --workers 3 --pin compact");
    ASSERT_EQ(one.code, 0) << one.text;
    const auto begin = one.text.find("expected ") + 9;
    const std::string cpu = one.text.substr(begin, one.text.find('.') - begin);
    EXPECT_TRUE(has(one, "\naffinity mask: " + cpu + "\n")) << one.text;
    EXPECT_TRUE(has(one, "\nCPUs by worker: " + cpu + " " + cpu + " " + cpu + "\n")) << one.text;
}

TEST(command, info_about_another_machine) {
    if (has(pilfer("info"), "without hwloc")) {
        EXPECT_EQ(pilfer("info --machine 'package:2 core:4 pu:2' 2>/dev/null").code, 2);
        return;
    }
    const auto s = pilfer("info --machine 'package:2 l3:1 l2:2 core:1 pu:2' --workers 3 --pin spread");
    ASSERT_EQ(s.code, 0) << s.text;
    EXPECT_TRUE(has(s, "\ntopology: 2 packages, ")) << s.text;
    EXPECT_TRUE(has(s, "2 third-level caches, 4 second-level caches, 4 cores, 8 CPUs, 1 kind of cores\n"))
        << s.text;
    EXPECT_TRUE(has(s, "\nCPUs by worker: 0 2 4\n")) << s.text;
    EXPECT_TRUE(has(pilfer("info --machine 'core:3 pu:1'"), "\nworkers: 3\n"));
}

// Whatever else the machine does: no watchdog of ten seconds in a test.
const std::string patient = " --watchdog 100 --seed 1 ";

TEST(command, soak_prints_its_counts) {
    const auto s = pilfer("soak --for 2s --workers 3 --json --quiet --watchdog 100 --seed 0x10");
    ASSERT_EQ(s.code, 0) << s.text;
    const auto all = nlohmann::json::parse(s.text);
    EXPECT_EQ(all.at("good"), true);
    EXPECT_EQ(all.at("failure"), "");
    EXPECT_EQ(all.at("interrupted"), false);
    EXPECT_EQ(all.at("seed"), 16);
    EXPECT_EQ(all.at("workers"), 3);
    EXPECT_EQ(all.at("disturbances"), 0);
    EXPECT_GE(all.at("seconds"), 2);
    EXPECT_GT(all.at("tasks"), all.at("works"));
    EXPECT_GT(all.at("works"), 0);
    EXPECT_GT(all.at("looks_for_hidden_tasks"), 0);
    EXPECT_LE(all.at("longest_hidden_us"), 10'000);
    EXPECT_GT(all.at("resident_early_bytes"), 1'000'000);
    EXPECT_GT(all.at("resident_late_bytes"), 1'000'000);
    for (const char* count : {"pools", "steals", "reaches", "exposures", "suspensions", "sleeps", "wakes",
                              "submissions", "suppressed_exceptions", "dropped", "without_stack",
                              "looks_for_hidden_tasks", "longest_hidden_us"}) {
        EXPECT_TRUE(all.at(count).is_number_unsigned()) << count;
    }
}

TEST(command, soak_disturbs_on_request) {
    const auto s = pilfer("soak --for 2 --chaos 2 --json --quiet" + patient);
    ASSERT_EQ(s.code, 0) << s.text;
    EXPECT_GT(nlohmann::json::parse(s.text).at("disturbances"), 0);
}

TEST(command, an_interrupted_soak_gives_its_verdict) {
    // Interrupted as soon as its output says that this is possible, an hour before its end.
    const auto s = shell("log=$(mktemp); '" PILFER_TOOL_PROGRAM "' soak --for 1h" + patient +
                         "2>$log & until grep -q Ctrl-C $log; do sleep 0.1; done; "
                         "kill -INT $!; wait $!; code=$?; rm $log; exit $code");
    EXPECT_EQ(s.code, 0) << s.text;
    EXPECT_TRUE(has(s, "(interrupted)")) << s.text;
    EXPECT_TRUE(has(s, "PASS: seed 0x1")) << s.text;
}

TEST(command, a_soak_that_grows_more_than_allowed_fails) {
    // The first pools of a process nearly always make it grow; if not, it must not fail.
    const auto s = pilfer("soak --for 2s --max-drift 0.001 --json --quiet" + patient);
    const auto all = nlohmann::json::parse(s.text);
    const bool grew = all.at("drift_percent") > 0.001;
    EXPECT_EQ(s.code, grew ? 1 : 0) << s.text;
    EXPECT_EQ(all.at("good"), !grew);
    EXPECT_EQ(all.at("failure").get<std::string>().find("resident memory grew by") == 0, grew) << s.text;
}

TEST(command, progress_is_updated_in_place_on_a_terminal) {
    const auto s = shell("TERM=xterm script -qefc \"'" PILFER_TOOL_PROGRAM "' soak --for 5s" + patient +
                         "\" /dev/null </dev/null");
    EXPECT_EQ(s.code, 0) << s.text;
    EXPECT_THAT(s.text, testing::ContainsRegex("\r\033\\[K0:0[0-5] of 0:05: [0-9,]+ tasks"));
    EXPECT_TRUE(has(s, "PASS: seed 0x1")) << s.text;
}

TEST(command, study_prints_and_writes_one_workload) {
    const auto s = shell("folder=$(mktemp -d) && '" PILFER_TOOL_PROGRAM
                         "' study --workers 2,4 --workload loop:tasks=100 --balance half --output $folder && "
                         "ls $folder && rm -r $folder");
    EXPECT_EQ(s.code, 0) << s.text;
    for (const char* word :
         {"policy", "efficiency", "half", "study.html", "study.json", "workload.csv", "workload.svg"}) {
        EXPECT_TRUE(has(s, word)) << word << "\n" << s.text;
    }
    const auto missing = pilfer("study --costs /nowhere/at/all 2>&1");
    EXPECT_EQ(missing.code, 1);
    EXPECT_TRUE(has(missing, "/nowhere/at/all: cannot be read")) << missing.text;
}

TEST(command, selftest_prints_features_and_the_command_to_repeat) {
    const auto s = pilfer("selftest --for 2s --seed 0x5eed --quiet --watchdog 100");
    EXPECT_EQ(s.code, 0) << s.text;
    for (const char* word :
         {"kernel:", "CPUs:", "membarrier:", "guards:", "seed:        0x5eed", "4 workers per CPU",
          "changing CPU masks", "stopped and continued", "membarrier refused", "PASS: ", "seed 0x5eed"}) {
        EXPECT_TRUE(has(s, word)) << word << "\n" << s.text;
    }
}

} // namespace
