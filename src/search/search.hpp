// The schedules of one test: which one runs next, and what is said of the one that fails.
//
// Values only: where the schedules run is another file's concern.
#pragma once

#if defined(PILFER_TEST)

#include <cstdint>
#include <string>
#include <vector>

#include <pilfer/test.hpp>

#include "search/chooser.hpp"
#include "search/exploration.hpp"
#include "search/recorded.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class schedule_search {
public:
    /// `of_main`: of whole programs. Throws std::invalid_argument if options.replay is no such schedule.
    schedule_search(std::uint64_t n, const test::options& o, bool of_main);

    [[nodiscard]] bool over() const noexcept { return m_phase == phase::over; }
    [[nodiscard]] test::result& result() noexcept { return m_result; }
    [[nodiscard]] bool follows_recording() const noexcept { return m_replay.recorded != nullptr; }
    /// True if the recorded program was ended, or left its tasks, before it wrote an end.
    [[nodiscard]] bool follows_cut_recording() const noexcept {
        return follows_recording() && !m_replay.recorded->has_ended;
    }

    /// The plan of the next schedule; null: there is none.
    [[nodiscard]] const plan* next();
    /// The result of that schedule.
    void ran(const std::vector<choice>& taken, const run_report& r, const std::vector<trace_step>& trace);

    // ---- of the schedule that next() has returned
    [[nodiscard]] bool traces() const noexcept { return m_replays || m_phase == phase::showing; }
    /// options.patience, or less: a schedule that has held its thread once is not waited for as long again.
    [[nodiscard]] std::uint64_t most_time() const noexcept;
    /// Its text, perhaps longer than longest_text.
    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::uint64_t number() const noexcept { return m_number; }

private:
    enum class phase { searching, shortening, showing, over };

    void check_recording();
    [[nodiscard]] plan script_of(std::vector<deviation> d) const;
    [[nodiscard]] plan planned(std::uint64_t number);
    [[nodiscard]] plan as_asked(plan p) const;
    [[nodiscard]] std::string unfit(const std::vector<choice>& taken, const run_report& r) const;
    void replayed(const std::vector<choice>& taken, const run_report& r,
                  const std::vector<trace_step>& trace);
    void searched(const std::vector<choice>& taken, const run_report& r);
    void choose_shown();
    [[nodiscard]] bool same(const run_report& r) const;
    [[nodiscard]] bool shorten();
    void shown(const std::vector<choice>& taken, const run_report& r, const std::vector<trace_step>& trace);

    std::uint64_t m_count;
    const test::options& m_options;
    const bool m_of_main;
    test::result m_result;
    plan m_replay;
    bool m_replays = false;

    phase m_phase = phase::searching;
    plan m_plan;
    std::uint64_t m_number = 0;
    std::uint64_t m_length = 1;
    search_tree m_tree;
    bool m_probes = false;

    verdict m_failed = verdict::passed;
    std::string m_said;
    plan m_failed_plan;
    std::vector<deviation> m_best;
    std::size_t m_chunk = 1;
    std::size_t m_chunk_at = 0;
    unsigned m_repetitions = 0;
    unsigned m_left_behind = 0;
};

/// The steps, a line for each, with lines of the source as far as they are known.
[[nodiscard]] std::string text_of_trace(const std::vector<trace_step>& trace);

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
