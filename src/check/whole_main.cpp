// A program whose main() runs under chosen schedules, each in a process of its own: README.md.
#if defined(PILFER_TEST)

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/forks.hpp"
#include "base/write.hpp"
#include "check/ledger.hpp"
#include "check/pools_as_one.hpp"
#include "check/recorded_main.hpp"
#include "check/settings.hpp"
#include "explore/explored_pool.hpp"
#include "explore/interleaving.hpp"
#include "platform/os.hpp"
#include "platform/whole_program.hpp"
#include "pool/environment.hpp"
#include "search/recorded.hpp"
#include "search/search.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

pool_stand_in* stand_in = nullptr;

namespace {

// Exit codes of a program whose schedules are explored; those of `pilfer check`.
constexpr int code_passed = 0;
constexpr int code_failed = 1;
constexpr int code_not_tested = 2;
/// tools/check.cpp looks for it.
[[gnu::used]] constexpr char mark_of_library[] = "pilfer::test explores the main() of this program";
/// Memory for what a child tells: of each step, and at least.
constexpr std::size_t bytes_of_step = 512;
constexpr std::size_t least_bytes = std::size_t{16} << 20;
constexpr std::size_t most_bytes = std::size_t{1} << 34;

/// In a child: one schedule.
class one_run final : public exploration {
public:
    one_run(const plan& p, const schedule_search& s, const test::options& o, const os::rest_of_program& rest,
            ledger& book) noexcept
        : m_plan(&p), m_search(s), m_options(o), m_rest(rest), m_book(book) {}

    [[nodiscard]] const plan* next() override { return std::exchange(m_plan, nullptr); }
    [[nodiscard]] bool traces() const noexcept override { return m_search.traces(); }
    [[nodiscard]] bool shows_lines() const noexcept override { return m_options.lines; }
    [[nodiscard]] std::string name_of_body() const override { return "main()"; }
    void call_body() override {
        const std::uint64_t process = forks::this_process();
        const int code = m_rest.run();
        if (forks::this_process() != process) {
            std::exit(code); // a child of fork() has no worker that could end the task
        }
        if (code != 0) {
            const interleaving::bookkeeping now(*explored_task());
            explored_task()->fails(verdict::ended, "main() has returned " + std::to_string(code));
        }
    }
    void ran(const std::vector<choice>&, const run_report& r, const std::vector<trace_step>&) override {
        m_how = r.how;
        m_book.ended(r);
    }
    [[nodiscard]] std::uint64_t most_steps() const noexcept override { return m_options.steps; }
    [[nodiscard]] std::uint64_t most_time() const noexcept override { return m_search.most_time(); }
    void chose(const choice& c) noexcept override { m_book.chose(c); }
    void stepped(const trace_step& s) noexcept override { m_book.stepped(s); }
    [[nodiscard]] bool handles(const std::exception_ptr& error) override { return m_pools.handles(error); }

    /// Ends the process.
    [[noreturn]] void run() {
        const char* const stack = std::getenv("PILFER_STACK");
        {
            static const exploring_process here(m_search.follows_recording());
            stand_in = &m_pools;
            explore_in_a_pool(*this, stack != nullptr ? 0 : stack_of_main);
        }
        if (m_how == verdict::passed) {
            std::exit(code_passed); // destructors of static objects, and what looks for lost memory
        }
        if (m_how != verdict::blocked) { // the stopped thread may hold the lock of a file
            std::fflush(nullptr);
        }
        os::leave(code_failed);
    }

private:
    const plan* m_plan;
    const schedule_search& m_search;
    const test::options& m_options;
    const os::rest_of_program& m_rest;
    ledger& m_book;
    pools_as_one m_pools;
    verdict m_how = verdict::passed;
};

/// Waits for the end of a child. False: after the end of main() it has slept or computed for `most`
/// nanoseconds, and was ended. Before that it looks after itself. 0: waits for ever.
[[nodiscard]] bool ends_in_time(int child, const ledger& book, std::uint64_t most, os::child_end& end) {
    constexpr std::uint64_t a_second = 1'000'000'000;
    const std::uint64_t pause =
        most == 0 ? a_second : std::clamp<std::uint64_t>(most / 8, 1'000'000, a_second);
    std::uint64_t asleep = 0;
    std::uint64_t computed_before = 0;
    bool was_over = false;
    while (!os::wait_for_child(child, pause, end)) {
        const std::uint64_t computed = os::cpu_ns_of_child(child);
        if (most == 0 || !std::exchange(was_over, book.is_over())) {
            computed_before = computed;
            continue;
        }
        asleep += os::is_blocked(static_cast<std::uint64_t>(child)) ? pause : 0; // its initial thread
        if (asleep >= most || computed - std::min(computed_before, computed) >= most) {
            os::end_child(child);
            return false;
        }
    }
    return true;
}

/// The result of a child: its own report, unless it ended without one or badly after it.
[[nodiscard]] run_report report_of(const ledger::entries& told, const os::child_end& end, bool in_time) {
    run_report r = told.report.value_or(run_report{});
    if (!told.steps.empty()) {
        r.hash = told.steps.back().hash;
    }
    if (r.how == verdict::passed && !in_time) {
        r.how = verdict::blocked;
        r.message = "main() has ended, and the program has not: the destructor of a static object, or a "
                    "function of atexit(), waits or computes for ever";
        return r;
    }
    if (r.how != verdict::passed || (end.code == 0 && end.signal == 0)) {
        return r;
    }
    r.how = verdict::ended;
    r.message = "the program has ended ";
    r.message += told.report ? "after main() " : "inside main() ";
    r.message +=
        end.signal != 0 ? "by " + os::signal_text(end.signal) : "with exit code " + std::to_string(end.code);
    return r;
}

/// A recording may be longer than any schedule that is searched for.
void make_room_for_recording(check_settings& s) {
    constexpr std::uint64_t steps_of_operation = 4;
    if (s.how.replay.starts_with(recording_of_main_begins)) {
        const auto operations = static_cast<std::uint64_t>(std::ranges::count(s.how.replay, '\n'));
        s.how.steps = std::max(s.how.steps, s.how.steps + steps_of_operation * operations);
    }
}

[[nodiscard]] int explore_main(check_settings& s, const os::rest_of_program& rest) {
    make_room_for_recording(s);
    schedule_search search(s.schedules, s.how, true);
    ledger book(std::clamp(s.how.steps, least_bytes / bytes_of_step, most_bytes / bytes_of_step) *
                bytes_of_step);
    while (const plan* const p = search.next()) {
        book.clear();
        const int child = os::begin_child(!search.traces());
        if (child == 0) {
            book.is_written_here();
            static one_run run(*p, search, s.how, rest, book);
            run.run();
        }
        if (child < 0) {
            throw std::runtime_error("pilfer: no process for a schedule can be made");
        }
        os::child_end end{};
        const bool in_time = ends_in_time(child, book, search.most_time(), end);
        const ledger::entries told = book.read();
        search.ran(told.taken, report_of(told, end, in_time), told.steps);
    }
    if (search.follows_recording() && !s.shown_as.empty()) {
        search.result().schedule = s.shown_as; // not all of its text
    }
    std::ostringstream text;
    text << "pilfer: check: " << search.result();
    std::string said = text.str();
    said += said.ends_with('\n') ? "" : "\n";
    if (search.follows_cut_recording()) {
        said +=
            "pilfer: check: the recording has no end, so what comes after its last line may differ from the "
            "recorded run\n";
    }
    os::write_error(said.c_str());
    return search.result().passed ? code_passed : search.result().fits ? code_failed : code_not_tested;
}

/// Comes before the other constructors of the program, whose work is part of what a schedule repeats.
constexpr int first_priority = 101;

extern "C" __attribute__((constructor(first_priority))) void pilfer_v0_whole_main(int count, char** words,
                                                                                  char** environment) {
    int code = code_not_tested;
    try {
        auto settings = take_check_settings();
        const std::string recording = take_recording_name();
        if (!settings && recording.empty()) {
            return;
        }
        static const os::rest_of_program rest(&pilfer_v0_whole_main, count, words, environment);
        if (!rest.is_known()) {
            throw std::runtime_error("pilfer: main() cannot be explored or recorded here: pilfer::test must "
                                     "be linked statically into the program itself, on a system with glibc");
        }
        if (!settings) {
            record_main(recording, rest);
        }
        code = explore_main(*settings, rest);
    } catch (const std::exception& e) {
        os::write_error(e.what());
        os::write_error("\n");
    }
    std::fflush(nullptr);
    os::leave(code); // main() has run in other processes
}

} // namespace
} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
