// The study's output: equal files for equal seeds, JSON that parses, a page that needs no other file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "study/experiments.hpp"
#include "study/svg.hpp"
#include "study/table.hpp"
#include "support/harness.hpp"

namespace {

using testing::HasSubstr;
using testing::Not;

class study_report : public support::guarded {};

/// Constants of no machine, with all of their parts in play.
study::costs some_costs() {
    study::costs c = study::built_in_costs();
    c.machine = "an \"example\" & <more>";
    return c;
}

std::vector<study::section> small_study() {
    const study::frame_of_study frame{some_costs(), 7, {2, 8}};
    return {study::example_of_eight(frame), study::law_of_parts(frame),
            study::one_workload(frame, "loop:tasks=300", {"half", "one,ring"}),
            study::one_workload(frame, "arrivals:tasks=300", {"half"})};
}

TEST_F(study_report, the_same_seed_gives_the_same_bytes) {
    const auto first = small_study();
    const auto second = small_study();
    const std::string costs = study::to_json(some_costs());
    EXPECT_EQ(study::to_page(first, "x"), study::to_page(second, "x"));
    EXPECT_EQ(study::to_json(first, costs), study::to_json(second, costs));
    for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_EQ(study::to_csv(first[i].results), study::to_csv(second[i].results));
    }
    study::frame_of_study other{some_costs(), 8, {2, 8}};
    EXPECT_NE(study::to_csv(study::one_workload(other, "arrivals:tasks=300", {"half"}).results),
              study::to_csv(first[3].results));
}

TEST_F(study_report, the_json_agrees_with_the_tables) {
    const auto sections = small_study();
    const auto all = nlohmann::json::parse(study::to_json(sections, study::to_json(some_costs())));
    EXPECT_EQ(all.at("machine"), some_costs().machine);
    EXPECT_EQ(all.at("nanoseconds").at("steal_hit"), some_costs().steal_hit);
    ASSERT_EQ(all.at("sections").size(), sections.size());
    for (std::size_t i = 0; i < sections.size(); ++i) {
        const auto& one = all.at("sections").at(i);
        EXPECT_EQ(one.at("columns").get<std::vector<std::string>>(), sections[i].results.columns);
        ASSERT_EQ(one.at("rows").size(), sections[i].results.rows.size());
        for (const auto& row : one.at("rows")) {
            EXPECT_EQ(row.size(), sections[i].results.columns.size());
        }
    }
}

TEST_F(study_report, the_page_needs_no_other_file) {
    auto sections = small_study();
    sections[0].text = "<script>alert(1)</script>";
    const std::string page = study::to_page(sections, "A <title>");
    for (const char* foreign : {"<script", "src=", "href=", "@import", "url(", "<link"}) {
        EXPECT_THAT(page, Not(HasSubstr(foreign)));
    }
    // The one address in it is the name of SVG's namespace, which is never fetched.
    std::string rest = page;
    const std::string space = "xmlns=\"http://www.w3.org/2000/svg\"";
    for (auto at = rest.find(space); at != std::string::npos; at = rest.find(space)) {
        rest.erase(at, space.size());
    }
    EXPECT_THAT(rest, Not(HasSubstr("://")));
    EXPECT_THAT(page, HasSubstr("prefers-color-scheme"));
    for (const auto& s : sections) {
        for (const std::string& picture : s.pictures) {
            EXPECT_THAT(page, HasSubstr(picture));
            EXPECT_THAT(picture, testing::StartsWith("<svg "));
            EXPECT_THAT(picture, testing::EndsWith("</svg>\n"));
            EXPECT_THAT(picture, Not(HasSubstr("nan")));
        }
    }
}

TEST_F(study_report, the_law_is_exact_without_costs) {
    const auto s = study::law_of_parts({some_costs(), 1, {}});
    ASSERT_FALSE(s.results.rows.empty());
    for (const auto& row : s.results.rows) {
        if (std::get<std::string>(row[0]) == "half") {
            EXPECT_EQ(std::get<double>(row[2]), std::get<double>(row[3])) << std::get<double>(row[1]);
        } else {
            // Tasks do not divide: each neighbour rounds up.
            EXPECT_NEAR(std::get<double>(row[2]), std::get<double>(row[3]), 17.0 / 65'536);
        }
    }
}

TEST_F(study_report, the_example_ends_as_documented) {
    const auto s = study::example_of_eight({some_costs(), 1, {}});
    std::vector<double> tasks;
    for (const auto& row : s.results.rows) {
        tasks.push_back(std::get<double>(row[2]));
    }
    EXPECT_THAT(tasks, testing::ElementsAre(7, 1, 0, 0, 4, 2, 1, 1));
}

TEST_F(study_report, tables_keep_their_values) {
    const study::table t{{"a", "b, c"}, {{std::string("x \"y\""), 0.125}, {std::string("z"), 1e6}}};
    EXPECT_EQ(study::to_csv(t), "a,\"b, c\"\n\"x \"\"y\"\"\",0.125\nz,1000000\n");
    EXPECT_EQ(study::to_text(t), "a         b, c\nx \"y\"    0.125\nz      1000000\n");
    EXPECT_EQ(study::number(0), "0");
    EXPECT_EQ(study::number(1234567), "1234567");
    EXPECT_EQ(study::number(0.00012346), "0.0001235");
    EXPECT_EQ(study::number(std::numeric_limits<double>::quiet_NaN()), "-");
    EXPECT_EQ(study::escaped("<a b=\"c\">&"), "&lt;a b=&quot;c&quot;&gt;&amp;");
}

class study_charts : public testing::Test {
protected:
    static std::size_t markers(const std::string& picture) {
        std::size_t n = 0;
        for (auto at = picture.find("<circle "); at != std::string::npos;
             at = picture.find("<circle ", at + 1)) {
            ++n;
        }
        return n;
    }
};

TEST_F(study_charts, a_single_point_is_a_marker_between_its_axes) {
    for (const int base : {0, 2, 10}) {
        const std::string one =
            study::draw_lines("", {"x", base, 0}, {"y", base, 0}, {{"a", {{1, 1}}, false, false}});
        EXPECT_EQ(markers(one), 1U) << one;
        EXPECT_THAT(one, HasSubstr("text-anchor=\"middle\">1</text>")) << "the tick of its axis";
        EXPECT_THAT(one, Not(HasSubstr("nan")));
        EXPECT_THAT(one, Not(HasSubstr("inf")));
    }
    // A line of points needs none, also where only some of them can be shown.
    const study::series line{"a", {{1, 1}, {2, 2}}, false, false};
    const study::series left{"b", {{1, 0}, {2, 2}}, false, false};
    EXPECT_EQ(markers(study::draw_lines("", {"", 2, 0}, {"", 10, 0}, {line})), 0U);
    EXPECT_EQ(markers(study::draw_lines("", {"", 2, 0}, {"", 10, 0}, {line, left})), 1U);
}

TEST_F(study_charts, one_number_of_workers_gives_a_picture_of_each_policy) {
    study::frame_of_study frame{some_costs(), 1, {4}};
    const auto s = study::one_workload(frame, "loop:tasks=64,length=1000", {"half,random,on-demand"});
    ASSERT_EQ(s.pictures.size(), 1U);
    EXPECT_EQ(markers(s.pictures[0]), 2U) << "the policy, and what would be ideal";
}

TEST_F(study_charts, without_a_point_the_error_names_the_chart) {
    const auto why = [](const study::axis& y, const std::vector<study::series>& lines) -> std::string {
        try {
            (void)study::draw_lines("of nothing", {}, y, lines);
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(why({}, {}), "the chart 'of nothing' has no point to draw");
    // A logarithm has no place for this one.
    EXPECT_EQ(why({"", 10, 0}, {{"x", {{1, 0}}, false, false}}),
              "the chart 'of nothing' has no point to draw");
}

/// A file that is gone when the test is over.
class scratch_file {
public:
    explicit scratch_file(const std::string& text) : name(testing::TempDir() + "study_costs_XXXXXX") {
        const int file = mkstemp(name.data());
        EXPECT_GE(file, 0);
        close(file);
        std::ofstream(name) << text;
    }
    scratch_file(const scratch_file&) = delete;
    scratch_file& operator=(const scratch_file&) = delete;
    ~scratch_file() { unlink(name.c_str()); }
    std::string name;
};

TEST_F(study_report, constants_are_read_back_and_wrong_ones_named) {
    const study::costs c = some_costs();
    const scratch_file good(study::to_json(c));
    const study::costs back = study::read_costs(good.name);
    EXPECT_EQ(study::to_json(back), study::to_json(c));

    const auto why = [](std::string text, const std::string& from, const std::string& to) -> std::string {
        if (const auto at = text.find(from); at != std::string::npos) {
            text.replace(at, from.size(), to);
        }
        const scratch_file bad(text);
        try {
            (void)study::read_costs(bad.name);
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "";
    };
    const std::string json = study::to_json(c);
    EXPECT_THAT(why(json, "{", "["), HasSubstr("parse error at line"));
    EXPECT_THAT(why(json, "\"spawn\"", "\"spown\""), HasSubstr("spawn"));
    EXPECT_THAT(why(json, "\"spawn\"", "\"spown\": 1, \"spawn\""), HasSubstr("'spown' is no constant"));
    EXPECT_THAT(why(json, "\"reach\": ", "\"reach\": -"), HasSubstr("reach must be from 0"));
    EXPECT_THAT(why(json, "\"machine\"", "\"engine\""), HasSubstr("machine"));
    EXPECT_THROW((void)study::read_costs("/nowhere/at/all"), std::runtime_error);
}

} // namespace
