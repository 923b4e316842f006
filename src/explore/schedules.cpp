// The calls of <pilfer/test.hpp>: which schedules run, and what is said of the one that fails.
#if defined(PILFER_TEST)

#include <pilfer/test.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <vector>

#include <pilfer/pool.hpp>

#include "backend/make.hpp"
#include "base/write.hpp"
#include "explore/exploring.hpp"
#include "explore/outcome_text.hpp"
#include "explore/user_frames.hpp"
#include "platform/clock.hpp"
#include "platform/os.hpp"
#include "platform/ticks.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

std::atomic<const test_hooks*> test_points{nullptr};

namespace {

/// The back-end whose task runs on the calling thread; null: none.
[[nodiscard]] exploring* explored_here() noexcept {
    worker* const w = this_worker();
    return w != nullptr && w->explores ? static_cast<exploring*>(&backend_of(w)) : nullptr;
}

/// The back-end of the calling task; null: no explored task calls.
[[nodiscard]] exploring* explored_task() noexcept {
    exploring* const x = explored_here();
    return x != nullptr && this_worker()->current.load(rlx) != nullptr ? x : nullptr;
}

void point_of_task(const char* what, const void* object) noexcept {
    if (exploring* const x = explored_task()) {
        x->point(what, object);
    }
}

bool fault_of_task(const char* what, const void* object) noexcept {
    exploring* const x = explored_task();
    return x != nullptr && x->fault(what, object);
}

bool wait_of_task(const void* object) noexcept {
    exploring* const x = explored_task();
    if (x != nullptr) {
        x->wait_for(object);
    }
    return x != nullptr;
}

void notify_of_task(const void* object, bool all) noexcept {
    if (exploring* const x = explored_task()) {
        x->notify(object, all);
    }
}

constexpr test_hooks hooks{&point_of_task, &fault_of_task, &wait_of_task, &notify_of_task};

// ---- the clock of an explored pool ------------------------------------------------------------

std::uint64_t time_here() noexcept {
    if (const exploring* const x = explored_here()) {
        return x->clock();
    }
    return os::kernel_now_ns();
}

std::uint64_t ticks_here() noexcept {
    exploring* const x = explored_here();
    return x != nullptr ? x->ticks() : os::ticks();
}

constexpr os::time_source explored_time{&time_here, nullptr, &ticks_here};

// ---- a program that ends --------------------------------------------------------------------------

/// Says which schedule was running when a task aborts the program.
char running_schedule[longest_text + 128];

// ---- the schedules of one call --------------------------------------------------------------------

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

class explored_call final : public exploration {
public:
    explored_call(std::uint64_t n, const test::options& o, const std::function<void()>& body)
        : m_count(n), m_options(o), m_body(body), m_tree(o.preemptions) {
        if (!o.replay.empty()) {
            m_replay = plan_of(o.replay);
            m_count = 1;
            m_replays = true;
        }
    }

    [[nodiscard]] bool over() const noexcept { return m_phase == phase::over; }
    [[nodiscard]] test::result& result() noexcept { return m_result; }

    // ---- exploration
    [[nodiscard]] const plan* next() override {
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
        if (const std::string name = name_of_running(); name.size() <= longest_text) {
            std::snprintf(running_schedule, sizeof running_schedule,
                          "pilfer: the program ends in a test of schedules; PILFER_SCHEDULE=%s repeats it\n",
                          name.c_str());
        } else {
            std::snprintf(running_schedule, sizeof running_schedule,
                          "pilfer: the program ends in a test of schedules, in number %llu\n",
                          static_cast<unsigned long long>(m_number));
        }
        return &m_plan;
    }
    [[nodiscard]] bool traces() const noexcept override { return m_replays || m_phase == phase::showing; }
    [[nodiscard]] bool shows_lines() const noexcept override { return m_options.lines; }
    void call_body() override { m_body(); }
    [[nodiscard]] std::uint64_t most_steps() const noexcept override { return m_options.steps; }
    [[nodiscard]] std::uint64_t most_faults() const noexcept override { return m_options.faults; }
    /// A schedule that has held its thread once is not waited for as long again.
    [[nodiscard]] std::uint64_t most_time() const noexcept override {
        const auto most = static_cast<std::uint64_t>(m_options.patience.count());
        return m_failed == verdict::blocked ? std::max<std::uint64_t>(most / 8, std::min(most, a_second))
                                            : most;
    }
    void ran(const chooser& c, run_report& r, std::vector<trace_step>& trace) override {
        switch (m_phase) {
        case phase::searching:
            if (m_replays) {
                replayed(c, r, trace);
            } else {
                searched(c, r);
            }
            break;
        case phase::shortening:
            // A blocked thread takes long to notice, so no shorter schedule is looked for after one.
            m_repetitions = r.how == verdict::blocked ? most_repetitions : m_repetitions + 1;
            m_left_behind += r.abandoned ? 1 : 0;
            if (same(r)) {
                m_best = c.deviations();
                m_chunk_at = 0; // what follows has moved
            } else {
                ++m_chunk_at;
            }
            break;
        case phase::showing:
            shown(c, r, trace);
            m_phase = phase::over;
            break;
        case phase::over:
            break;
        }
    }

private:
    enum class phase { searching, shortening, showing, over };

    [[nodiscard]] static plan script_of(std::vector<deviation> d) {
        plan p;
        p.script = std::move(d);
        return p;
    }
    /// The first schedule is the usual one.
    [[nodiscard]] plan planned(std::uint64_t number) {
        plan p;
        p.seed = mixed(m_options.seed + mixed(number)) >> 1;
        p.depth = m_options.depth;
        p.length = m_length;
        p.preemptions = m_options.preemptions;
        switch (m_options.strategy) {
        case test::strategy::exhaustive:
            m_probes = number < std::min(probes, m_count / 10);
            if (!m_probes) {
                return m_tree.next();
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
    [[nodiscard]] static fingerprint fingerprint_of(const chooser& c, const run_report& r) {
        return {c.taken().size(), r.hash};
    }
    /// Why a schedule is of another program; empty: it may be of this one. A text that a dying program has
    /// written has no fingerprint.
    [[nodiscard]] std::string misfit(const chooser& c, const run_report& r) const {
        std::string why = c.misfit();
        if (why.empty() && m_replay.found_in && *m_replay.found_in != fingerprint_of(c, r)) {
            why = m_replay.found_in->choices != c.taken().size()
                      ? "it was found with " + std::to_string(m_replay.found_in->choices) +
                            " choices, and there were " + std::to_string(c.taken().size())
                      : "the tasks do other steps than those that it was found with";
        }
        return why;
    }
    void replayed(const chooser& c, const run_report& r, const std::vector<trace_step>& trace) {
        m_phase = phase::over;
        m_result.schedules = 1;
        const std::string why = misfit(c, r);
        m_result.fits = why.empty();
        if (r.how == verdict::passed && m_result.fits) {
            return;
        }
        m_result.passed = false;
        m_result.schedule = text_of(m_replay);
        m_result.trace = text_of_trace(trace);
        m_result.message = r.message;
        if (!m_result.fits) {
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
    void searched(const chooser& c, const run_report& r) {
        m_length = std::max<std::uint64_t>(m_length, c.taken().size());
        ++m_number;
        m_result.schedules = m_number;
        if (const std::string why = m_plan.how == plan::kind::prefix ? c.misfit() : ""; !why.empty()) {
            m_result.passed = false;
            m_result.failed = m_number - 1;
            m_result.message =
                r.message + (r.message.empty() ? "" : "\n") +
                "the search cannot go on, because a prefix of an earlier schedule did not come again: " +
                why + not_repeatable;
            m_phase = phase::over;
            return;
        }
        if (r.how == verdict::passed) {
            if (m_options.strategy == test::strategy::exhaustive) {
                if (m_probes) {
                    m_tree.probe(c.taken());
                } else if (!m_tree.advance(c.taken())) {
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
        m_best = c.deviations();
        // Each repetition of a blocked thread would take long.
        const bool shortens = m_options.minimise && r.how != verdict::blocked;
        m_phase = shortens ? phase::shortening : phase::showing;
        m_chunk = std::max<std::size_t>(m_best.size() / 2, 1);
        if (m_phase == phase::showing) {
            choose_shown();
        }
    }
    /// By its choices, or by its seed if these are too many.
    void choose_shown() {
        m_plan = script_of(m_best);
        if (text_of(m_plan).size() > longest_text - longest_fingerprint) {
            m_plan = m_failed_plan;
        }
    }
    /// Texts about waits differ by what a trace has numbered.
    [[nodiscard]] bool same(const run_report& r) const {
        const bool is_users = r.how == verdict::exception || r.how == verdict::requirement;
        return r.how == m_failed && (!is_users || r.message == m_said);
    }
    /// Delta debugging: the next schedule to try leaves out some choices of the best one. False: nothing is
    /// left to try.
    [[nodiscard]] bool shorten() {
        while (m_repetitions < most_repetitions && m_left_behind < most_left_behind && !m_best.empty()) {
            const std::size_t from = m_chunk_at * m_chunk;
            if (from < m_best.size()) {
                std::vector<deviation> fewer(m_best.begin(),
                                             m_best.begin() + static_cast<std::ptrdiff_t>(from));
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
    [[nodiscard]] std::string name_of_running() const {
        plan p = m_plan;
        if (p.how == plan::kind::prefix) {
            p = plan{};
            p.found_in = m_plan.found_in;
            for (std::size_t i = 0; i < m_plan.prefix.size(); ++i) {
                if (m_plan.prefix[i] != 0) {
                    p.script.push_back({i, m_plan.prefix[i]});
                }
            }
        }
        return text_of(p);
    }
    void shown(const chooser& c, const run_report& r, const std::vector<trace_step>& trace) {
        if (r.how != verdict::blocked) { // the end of such a schedule is not there
            m_plan.found_in = fingerprint_of(c, r);
        }
        m_result.schedule = name_of_running();
        if (m_result.schedule.size() > longest_text) {
            m_result.schedule.clear(); // an exhaustive search has no seed
        }
        m_result.message = same(r) ? r.message : m_said;
        if (!same(r)) {
            m_result.message += std::string("\nThe same choices did not lead there again") + not_repeatable;
        }
        m_result.trace = text_of_trace(trace);
    }
    [[nodiscard]] static std::string text_of_trace(const std::vector<trace_step>& trace);

    std::uint64_t m_count;
    const test::options& m_options;
    const std::function<void()>& m_body;
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

std::string explored_call::text_of_trace(const std::vector<trace_step>& trace) {
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

// ---- one call at a time ---------------------------------------------------------------------------

std::mutex one_call;
explored_call* the_call = nullptr; // under the mutex

/// The state of the process while schedules run.
class exploring_process {
public:
    exploring_process() noexcept : m_time(os::current_time_source()) {
        os::set_time_source(&explored_time);
        test_points.store(&hooks, std::memory_order_relaxed);
        os::write_at_abort(running_schedule);
    }
    exploring_process(const exploring_process&) = delete;
    exploring_process& operator=(const exploring_process&) = delete;
    ~exploring_process() {
        os::write_at_abort(nullptr);
        test_points.store(nullptr, std::memory_order_relaxed);
        os::set_time_source(m_time);
    }

private:
    const os::time_source* m_time;
};

/// Makes a pool that explores the_call.
[[nodiscard]] std::unique_ptr<pool> make_pool() {
    options o;
    o.workers = 1;
    o.only_workers = true;
    o.backend = pilfer::backend::work_stealing;
    o.resume = resume::anywhere;
    o.name = "explored";
    o.debug.stall_report = 0;
    o.on_error = [](std::exception_ptr error) {
        if (exploring* const x = explored_here()) {
            x->fails(verdict::exception,
                     "a task without a waiter has thrown " + text_of_exception(std::move(error)));
        }
    };
    struct maker {
        maker() noexcept {
            test_backend = [](team& t, pool_core& p) -> std::unique_ptr<detail::backend> {
                return std::make_unique<exploring>(t, p, *the_call);
            };
        }
        maker(const maker&) = delete;
        maker& operator=(const maker&) = delete;
        ~maker() { test_backend = nullptr; }
    } const here;
    return std::make_unique<pool>(o);
}

void run(explored_call& call) {
    while (!call.over()) {
        std::unique_ptr<pool> p = make_pool();
        pool_core& core = p->core();
        if (const run_report& r = static_cast<exploring&>(core.backend()).explore(); r.abandoned) {
            // Its tasks wait for ever, and what they wait for may end: no report must look at them.
            if (!r.holds_thread) {
                os::thread_join(core.at(0).thread);
            }
            registry::remove(core);
            core.abandon();
            static auto* const left_behind = new std::vector<pool*>; // for tools that look for lost memory
            left_behind->push_back(p.release());
        }
    }
}

void check_call(std::uint64_t n, const test::options& o, const std::function<void()>& body) {
    const auto wrong = [](const std::string& what) {
        throw std::invalid_argument("pilfer: test::schedules: " + what);
    };
    if (n == 0) {
        wrong("0 schedules test nothing");
    }
    if (!body) {
        wrong("body is empty");
    }
    if (static_cast<unsigned>(o.strategy) > static_cast<unsigned>(test::strategy::exhaustive)) {
        wrong("options.strategy must be mixed, random, pct or exhaustive, not " +
              std::to_string(static_cast<unsigned>(o.strategy)));
    }
    if (o.depth < 1 || o.depth > 1'000) {
        wrong("options.depth must be from 1 to 1000, not " + std::to_string(o.depth));
    }
    if (o.steps == 0) {
        wrong("options.steps must be at least 1");
    }
    if (o.patience < std::chrono::nanoseconds(0)) {
        wrong("options.patience must not be below 0");
    }
}

} // namespace
} // namespace detail

namespace test {

result schedules(std::uint64_t n, const options& o, const std::function<void()>& body) {
    if (detail::this_worker() != nullptr) {
        throw usage_error("pilfer: test::schedules is called by a task");
    }
    detail::check_call(n, o, body);
    options all = o;
    if (const char* const text = std::getenv("PILFER_SCHEDULE"); all.replay.empty() && text != nullptr) {
        all.replay = text;
    }
    detail::explored_call call(n, all, body);
    const std::lock_guard lock(detail::one_call);
    const detail::exploring_process here;
    detail::the_call = &call;
    detail::run(call);
    detail::the_call = nullptr;
    return std::move(call.result());
}

std::ostream& operator<<(std::ostream& out, const result& r) {
    if (r.passed) {
        out << "passed: " << r.schedules << " schedules";
        if (r.complete) {
            out << ", which are all";
        } else if (r.estimate > 0) {
            out << " of about " << r.estimate;
        }
        return out;
    }
    return out << "schedule " << r.failed << " failed: " << r.message << "\nits steps:\n"
               << r.trace << "PILFER_SCHEDULE=" << r.schedule << " repeats it\n";
}

void require(bool holds, const char* what, const std::source_location& where) {
    if (holds) {
        return;
    }
    std::string text = std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                       ": a requirement does not hold" + (*what != '\0' ? ": " : "") + what;
    if (detail::exploring* const x = detail::explored_here()) {
        x->fails(detail::verdict::requirement, text);
    }
    throw failure(text);
}

} // namespace test
} // namespace v0
} // namespace pilfer

#endif
