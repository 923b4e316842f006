// The writer by itself, on tracks made by hand: events lost at either end of a ring, and clocks that run
// back.
#include <sstream>
#include <string>
#include <vector>

#include "support/harness.hpp"
#include "trace/document.hpp"
#include "trace/json.hpp"

namespace {

using namespace support;
using lines = std::vector<std::string>;
using pilfer::trace::event;
using pilfer::trace::task;
using pilfer::trace::what;

/// One track; ticks of 2 ns, the document ends at tick 1,000.
[[nodiscard]] document made(std::vector<event> events) {
    pilfer::trace::document d;
    d.begin = {100, 5'000};
    d.end = {1'100, 7'000};
    d.tracks.push_back({std::move(events), 7});
    std::ostringstream out;
    pilfer::trace::write(d, out);
    return document(out.str());
}

class trace_json : public guarded {};

TEST_F(trace_json, an_end_without_a_begin_gets_one_at_the_start_of_the_track) {
    EXPECT_EQ(made({{110, what::expose, {}, 0, 3},
                    {120, what::ended, {}, 0, 0},
                    {130, what::run_own, task::forked, 0, 0},
                    {140, what::suspended, {}, 0, 0}})
                  .track(0),
              (lines{"cut", "expose tasks=3", "ended", "own forked", "suspended"}));
}

TEST_F(trace_json, open_slices_end_with_the_document) {
    const document d = made({{150, what::run_stolen, task::continuation, 4, 3},
                             {160, what::top_own, task::spark, 0, 0},
                             {170, what::missed, {}, 12, 1}});
    EXPECT_EQ(d.track(0), (lines{"stolen continuation tasks=3 victim=4", "on top: own spark",
                                 "missed steals failed=12 lost=1", "context cut", "cut"}));
    EXPECT_EQ(d.overwritten(), 7U);
}

TEST_F(trace_json, slices_on_top_of_a_frame_leave_with_it) {
    EXPECT_EQ(made({{150, what::run_submitted, task::submission, 0, 0},
                    {160, what::top_stolen, task::forked, 2, 0},
                    {170, what::suspended, {}, 0, 0},
                    {180, what::resume_any, {}, 0, 0},
                    {190, what::top_ended, {}, 0, 0}, // begun before the wait: nothing to end here
                    {200, what::ended, {}, 0, 0}})
                  .track(0),
              (lines{"submitted submission", "on top: stolen forked victim=2", "context suspended",
                     "suspended", "resumed anywhere", "ended"}));
}

TEST_F(trace_json, a_wait_says_for_what_and_the_resumption_says_which_context) {
    static const char lock[] = "a lock";
    const auto why = static_cast<task>(pilfer::trace::number_of_reason(lock));
    const auto d = made({{150, what::run_own, task::spark, 0, 0},
                         {160, what::suspended, why, 17, 33},
                         {170, what::resume_next, {}, 0, 33},
                         {180, what::suspended, {}, 0, 33}});
    std::vector<nlohmann::json> said;
    for (const auto& e : d.json().at("traceEvents")) {
        if (e.contains("args") && e.at("args").contains("context")) {
            said.push_back(e.at("args"));
        }
    }
    EXPECT_EQ(said, (std::vector<nlohmann::json>{
                        {{"end", "suspended"}, {"for", lock}, {"object", 17}, {"context", 33}},
                        {{"context", 33}},
                        {{"end", "suspended"}, {"for", "its turn"}, {"object", 0}, {"context", 33}}}));
}

TEST_F(trace_json, a_lost_end_does_not_put_slices_into_each_other) {
    EXPECT_EQ(made({{150, what::run_own, task::spark, 0, 0}, {160, what::sleep, {}, 0, 0}}).track(0),
              (lines{"own spark", "cut", "sleep", "cut"}));
}

TEST_F(trace_json, ticks_become_time_and_never_run_back) {
    // before the pool: the clock of a core that lags
    const document d = made({{50, what::run_own, task::spark, 0, 0},
                             {700, what::wake, {}, 1, 0},
                             {600, what::force_expose, {}, 1, 0},
                             {800, what::ended, {}, 0, 0}});
    std::vector<double> times;
    for (const auto& e : d.json().at("traceEvents")) {
        if (e.contains("ts")) {
            times.push_back(e.at("ts").get<double>());
        }
    }
    // Microseconds: 600 ticks of 2 ns are 1.2 us.
    EXPECT_EQ(times, (std::vector<double>{0.0, 1.2, 1.2, 1.4}));
}

TEST_F(trace_json, no_time_between_the_two_readings_is_no_division_by_zero) {
    pilfer::trace::document d;
    d.begin = d.end = {100, 5'000};
    d.tracks.push_back({{{100, what::yield, {}, 0, 0}}, 0});
    std::ostringstream out;
    pilfer::trace::write(d, out);
    EXPECT_EQ(document(out.str()).track(0), lines{"yield"});
}

} // namespace
