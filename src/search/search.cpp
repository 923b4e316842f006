#include "search/search.hpp"

#if defined(PILFER_TEST)

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "search/recorded.hpp"
#include "search/user_frames.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// Repetitions of a failing schedule, in search of a shorter one. Those that leave tasks behind cost memory.
constexpr unsigned most_repetitions = 600;
constexpr unsigned most_left_behind = 120;
/// Schedules by chance that estimate how many there are.
constexpr std::uint64_t probes = 50;
constexpr std::uint64_t a_second = 1'000'000'000;
/// "@", two numbers and ":".
constexpr std::size_t longest_fingerprint = 32;
constexpr const char* not_repeatable =
    ": body does not do the same each time (it may ask for the time, an address "
    "or a thread, or keep something)";

[[nodiscard]] fingerprint fingerprint_of(const std::vector<choice>& taken, const run_report& r) {
    return {taken.size(), r.hash};
}

} // namespace

schedule_search::schedule_search(std::uint64_t n, const test::options& o, bool of_main)
    : m_count(n), m_options(o), m_of_main(of_main), m_tree(o.preemptions) {
    if (o.replay.empty()) {
        return;
    }
    m_replay = plan_of(o.replay);
    if (m_replay.of_main != of_main) {
        throw std::invalid_argument("pilfer: \"" + o.replay.substr(0, 64) +
                                    (of_main
                                         ? "\" is of a call of test::schedules(), not of a whole program"
                                         : "\" is of a whole program, not of a call of test::schedules()"));
    }
    m_count = 1;
    m_replays = true;
    if (follows_recording()) {
        check_recording();
    } else if (m_replay.faults.most == 0) {
        m_replay = as_asked(m_replay);
    }
}

void schedule_search::check_recording() {
    if (const std::string& why = m_replay.recorded->reasons; !why.empty()) {
        m_phase = phase::over;
        m_result.passed = m_result.fits = false;
        m_result.message = "the recording cannot be repeated. It contains: " + why;
        m_result.schedule = m_options.replay;
    }
}

const plan* schedule_search::next() {
    switch (m_phase) {
    case phase::searching:
        if (m_number == m_count) {
            m_phase = phase::over;
            return nullptr;
        }
        m_plan = m_replays ? m_replay : planned(m_number);
        break;
    case phase::shortening:
        if (!shorten()) {
            m_phase = phase::showing;
            choose_shown();
        }
        break;
    case phase::showing:
        break;
    case phase::over:
        return nullptr;
    }
    return &m_plan;
}

std::uint64_t schedule_search::most_time() const noexcept {
    const auto most = static_cast<std::uint64_t>(m_options.patience.count());
    return m_failed == verdict::blocked ? std::max<std::uint64_t>(most / 8, std::min(most, a_second)) : most;
}

void schedule_search::ran(const std::vector<choice>& taken, const run_report& r,
                          const std::vector<trace_step>& trace) {
    switch (m_phase) {
    case phase::searching:
        if (m_replays) {
            replayed(taken, r, trace);
        } else {
            searched(taken, r);
        }
        break;
    case phase::shortening:
        // A blocked thread takes long to notice, so no shorter schedule is looked for after one.
        m_repetitions = r.how == verdict::blocked ? most_repetitions : m_repetitions + 1;
        m_left_behind += r.abandoned && !m_of_main ? 1 : 0;
        if (same(r)) {
            m_best = deviations(taken);
            m_chunk_at = 0; // what follows has moved
        } else {
            ++m_chunk_at;
        }
        break;
    case phase::showing:
        shown(taken, r, trace);
        m_phase = phase::over;
        break;
    case phase::over:
        break;
    }
}

plan schedule_search::as_asked(plan p) const {
    p.of_main = m_of_main;
    p.faults = {m_options.faults, m_options.memory_faults, m_options.io_faults};
    return p;
}

plan schedule_search::script_of(std::vector<deviation> d) const {
    plan p;
    p.script = std::move(d);
    return as_asked(std::move(p));
}

/// The first schedule is the usual one.
plan schedule_search::planned(std::uint64_t number) {
    plan p = as_asked({});
    p.seed = mixed(m_options.seed + mixed(number)) >> 1;
    p.depth = m_options.depth;
    p.length = m_length;
    p.preemptions = m_options.preemptions;
    switch (m_options.strategy) {
    case test::strategy::exhaustive:
        m_probes = number < std::min(probes, m_count / 10);
        if (!m_probes) {
            return as_asked(m_tree.next());
        }
        p.how = plan::kind::random;
        return p;
    case test::strategy::random:
        p.how = plan::kind::random;
        break;
    case test::strategy::pct:
        p.how = plan::kind::pct;
        break;
    case test::strategy::mixed:
        p.how = number % 2 == 0 ? plan::kind::random : plan::kind::pct;
        break;
    }
    if (number == 0) {
        p.how = plan::kind::script;
    }
    return p;
}

/// Why a schedule is of another program; empty: it may be of this one. A text that a dying program has
/// written has no fingerprint.
std::string schedule_search::unfit(const std::vector<choice>& taken, const run_report& r) const {
    if (follows_recording()) {
        return r.how == verdict::misfit ? r.message : "";
    }
    std::string why = misfit(m_replay, taken);
    if (why.empty() && m_replay.found_in && *m_replay.found_in != fingerprint_of(taken, r)) {
        why = m_replay.found_in->choices != taken.size()
                  ? "it was found with " + std::to_string(m_replay.found_in->choices) +
                        " choices, and there were " + std::to_string(taken.size())
                  : "the tasks do other steps than those that it was found with";
    }
    return why;
}

void schedule_search::replayed(const std::vector<choice>& taken, const run_report& r,
                               const std::vector<trace_step>& trace) {
    m_phase = phase::over;
    m_result.schedules = 1;
    const std::string why = unfit(taken, r);
    m_result.fits = why.empty();
    if (r.how == verdict::passed && m_result.fits) {
        return;
    }
    m_result.passed = false;
    m_result.schedule = text_of(m_replay);
    m_result.trace = text_of_trace(trace);
    m_result.message = r.message;
    if (!m_result.fits && follows_recording()) {
        m_result.message = "the recording does not fit this program: " + why;
    } else if (!m_result.fits) {
        m_result.message += r.how == verdict::passed ? "" : "\n";
        m_result.message +=
            "the schedule does not fit this program: " + why +
            ". It may be of another version, build or call of schedules(), or body does not do "
            "the same each time";
        m_result.message +=
            r.how == verdict::passed
                ? ". So nothing is known: run the test without PILFER_SCHEDULE and options::replay"
                : ". So the failure may be another one";
    }
}

void schedule_search::searched(const std::vector<choice>& taken, const run_report& r) {
    m_length = std::max<std::uint64_t>(m_length, taken.size());
    ++m_number;
    m_result.schedules = m_number;
    if (const std::string why = misfit(m_plan, taken); !why.empty()) {
        m_result.passed = false;
        m_result.failed = m_number - 1;
        m_result.message =
            r.message + (r.message.empty() ? "" : "\n") +
            "the search cannot go on, because a prefix of an earlier schedule did not come again: " + why +
            not_repeatable;
        m_phase = phase::over;
        return;
    }
    if (r.how == verdict::passed) {
        if (m_options.strategy == test::strategy::exhaustive) {
            if (m_probes) {
                m_tree.probe(taken);
            } else if (!m_tree.advance(taken)) {
                m_result.complete = true;
                m_result.schedules = m_number - std::min(probes, m_count / 10);
                m_phase = phase::over;
            }
            m_result.estimate = m_tree.estimate();
        }
        return;
    }
    m_result.passed = false;
    m_result.failed = m_number - 1;
    m_result.estimate = m_tree.estimate();
    m_failed = r.how;
    m_said = r.message;
    m_failed_plan = m_plan;
    m_best = deviations(taken);
    // Each repetition of a blocked thread would take long.
    const bool shortens = m_options.minimise && r.how != verdict::blocked;
    m_phase = shortens ? phase::shortening : phase::showing;
    m_chunk = std::max<std::size_t>(m_best.size() / 2, 1);
    if (m_phase == phase::showing) {
        choose_shown();
    }
}

/// By its choices, or by its seed if these are too many.
void schedule_search::choose_shown() {
    m_plan = script_of(m_best);
    if (text_of(m_plan).size() > longest_text - longest_fingerprint) {
        m_plan = m_failed_plan;
    }
}

/// Texts about waits differ by what a trace has numbered.
bool schedule_search::same(const run_report& r) const {
    const bool is_users =
        r.how == verdict::exception || r.how == verdict::requirement || r.how == verdict::ended;
    return r.how == m_failed && (!is_users || r.message == m_said);
}

/// Delta debugging: the next schedule to try leaves out some choices of the best one. False: nothing is
/// left to try.
bool schedule_search::shorten() {
    while (m_repetitions < most_repetitions && m_left_behind < most_left_behind && !m_best.empty()) {
        const std::size_t from = m_chunk_at * m_chunk;
        if (from < m_best.size()) {
            std::vector<deviation> fewer(m_best.begin(), m_best.begin() + static_cast<std::ptrdiff_t>(from));
            const std::size_t to = std::min(from + m_chunk, m_best.size());
            fewer.insert(fewer.end(), m_best.begin() + static_cast<std::ptrdiff_t>(to), m_best.end());
            m_plan = script_of(std::move(fewer));
            return true;
        }
        if (m_chunk == 1) {
            return false;
        }
        m_chunk = (m_chunk + 1) / 2;
        m_chunk_at = 0;
    }
    return false;
}

std::string schedule_search::name() const {
    plan p = m_plan;
    if (p.how == plan::kind::prefix) {
        p = script_of({});
        p.found_in = m_plan.found_in;
        for (std::size_t i = 0; i < m_plan.prefix.size(); ++i) {
            if (m_plan.prefix[i] != 0) {
                p.script.push_back({i, m_plan.prefix[i]});
            }
        }
    }
    return text_of(p);
}

void schedule_search::shown(const std::vector<choice>& taken, const run_report& r,
                            const std::vector<trace_step>& trace) {
    if (r.how != verdict::blocked) { // the end of such a schedule is not there
        m_plan.found_in = fingerprint_of(taken, r);
    }
    m_result.schedule = name();
    if (m_result.schedule.size() > longest_text) {
        m_result.schedule.clear(); // an exhaustive search has no seed
    }
    m_result.message = same(r) ? r.message : m_said;
    if (!same(r)) {
        m_result.message += std::string("\nThe same choices did not lead there again") + not_repeatable;
    }
    m_result.trace = text_of_trace(trace);
}

std::string text_of_trace(const std::vector<trace_step>& trace) {
    constexpr std::size_t most = 2'000;
    std::string text;
    const std::size_t first = trace.size() > most ? trace.size() - most : 0;
    if (first != 0) {
        text = "  ... " + std::to_string(first) + " steps before\n";
    }
    std::vector<const void*> stacks;
    for (std::size_t i = first; i < trace.size(); ++i) {
        stacks.insert(stacks.end(), trace[i].frames.begin(), trace[i].frames.begin() + trace[i].depth);
    }
    learn_lines(stacks);
    for (std::size_t i = first; i < trace.size(); ++i) {
        const trace_step& s = trace[i];
        const auto add = [&text](const char* before, std::size_t number, const char* after) {
            text += before;
            text += std::to_string(number);
            text += after;
        };
        add("  ", i + 1, " ");
        if (s.task != 0) {
            add("task ", s.task, " ");
        } else {
            text += "the pool ";
        }
        text += s.name.empty() ? "" : '"' + s.name + "\" ";
        text += s.what;
        if (s.other != 0) {
            add(" task ", s.other, "");
        }
        for (const user_frame& f : user_frames(s.frames.data(), s.depth, 1)) {
            text += f.place.empty() ? " (in " + f.function + ")" : " (" + f.place + ")";
        }
        text += "\n";
    }
    return text;
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
