// One run on several workers whose order is recorded: the back-end of its pool, and the call.
//
// Its deques are those of any pool, so what only forks and joins costs nothing more. Submissions, waits and
// begins of tasks take slow paths anyway.
#if defined(PILFER_TEST)

#include <pilfer/test.hpp>

#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <pilfer/detail/timer/timed_task.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/scope.hpp>

#include "backend/make.hpp"
#include "backend/work_stealing.hpp"
#include "base/write.hpp"
#include "explore/explored_pool.hpp"
#include "explore/record.hpp"
#include "explore/steps.hpp"
#include "guest/blocking.hpp"
#include "platform/os.hpp"
#include "pool/figures.hpp"
#include "pool/pool_core.hpp"
#include "pool/registry.hpp"
#include "search/outcome_text.hpp"
#include "timer/alarm_watch.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// So often the thread that records looks at the pool, and if it is in a hurry.
constexpr std::uint64_t pause_ns = 5'000'000;
constexpr std::uint64_t short_pause_ns = 200'000;
/// After this time no thread outside is expected to make a task ready.
constexpr std::uint64_t still_ns = 200'000'000;
/// So many short pauses after the end of main() its tasks may end.
constexpr unsigned most_pauses = 20;

[[nodiscard]] recorder& recorder_here() noexcept { return *running_recorder.load(acq); }

class recorded_stealing final : public work_stealing {
public:
    using work_stealing::work_stealing;

    /// An operation may wait here, and another task on the same stack would begin inside of it.
    [[nodiscard]] bool help_on_top(scheduler&) noexcept override { return false; }
    void suspend(scheduler& w, suspension& s) noexcept override;
    void yield(scheduler& w) noexcept override;
    void run_blocking(scheduler& w, blocking_job& job) noexcept override { run_in_place(w, job); }
    [[nodiscard]] bool may_run_awaited() const noexcept override { return false; }
    [[nodiscard]] bool may_announce(const scheduler&) const noexcept override { return false; }
    [[nodiscard]] bool can_resize() const noexcept override { return false; }
    void queue(submission& s, priority level, origin from) noexcept override;
    void task_begins(scheduler& w, task_word task) noexcept override;
    [[nodiscard]] void* task_leaves(const suspension* wait) noexcept override;

private:
    std::atomic<bool> m_has_body{false};
};

/// The task that waits has its place in the list of waiters when others may go on. Its own resumption is one
/// more operation.
void recorded_stealing::suspend(scheduler& w, suspension& s) noexcept {
    const test_identity& self = w.current.load(rlx)->ctx->test;
    const bool is_inside = self.steps() != 0;
    if (is_inside) {
        s.publish_recorded = std::exchange(s.publish, [](suspension& waits) noexcept {
            waits.publish = waits.publish_recorded;
            const bool published = waits.publish(waits);
            recorder_here().unlock();
            return published;
        });
    }
    work_stealing::suspend(w, s);
    if (is_inside) {
        recorder_here().lock();
        recorder_here().operation(self.name(), "resumes");
    }
}

/// Another task may need the lock before this one has its turn again.
void recorded_stealing::yield(scheduler& w) noexcept {
    const test_identity& self = w.current.load(rlx)->ctx->test;
    const bool is_inside = self.steps() != 0;
    if (is_inside) {
        recorder_here().unlock();
    }
    work_stealing::yield(w);
    if (is_inside) {
        recorder_here().lock();
        recorder_here().operation(self.name(), "resumes");
    }
}

void recorded_stealing::queue(submission& s, priority level, origin from) noexcept {
    if (timed_task::is_run(s)) {
        work_stealing::queue(s, level, from);
        return;
    }
    const scheduler* const w = m_team.here();
    const activation* const caller = w != nullptr ? w->current.load(rlx) : nullptr;
    s.set_test_origin(caller != nullptr ? caller->ctx->test.next() : 0);
    if (caller == nullptr && m_has_body.exchange(true, rlx)) {
        recorder_here().cannot_repeat("a task that no task of the pool has submitted");
    }
    work_stealing::queue(s, level, from);
}

/// The run of a timer begins as an operation, unless it was cancelled.
void recorded_stealing::task_begins(scheduler& w, task_word task) noexcept {
    if ((task & kind_mask) != kind_continuation) {
        test_identity& self = w.current.load(rlx)->ctx->test;
        spark& s = *reinterpret_cast<spark*>(task & ~kind_mask);
        self.begin(s.test_origin());
        if (!timed_task::is_run(s)) {
            recorder_here().begins(self.name());
        }
    } else {
        // The owner goes on, perhaps on another thread.
        const auto& of = *reinterpret_cast<const scope_core*>(task & ~kind_mask);
        scope_access::owner(of)->ctx->test.leaves();
    }
}

void* recorded_stealing::task_leaves(const suspension* wait) noexcept {
    this_activation()->ctx->test.leaves();
    return work_stealing::task_leaves(wait);
}

// ---- the run ----------------------------------------------------------------------------------

[[nodiscard]] std::unique_ptr<pool> make_pool(recorded_program& program, const recorded_pool& how) {
    options o;
    o.workers = how.workers;
    o.stack_size = how.stack;
    o.only_workers = true;
    o.backend = pilfer::backend::work_stealing;
    o.resume = resume::anywhere;
    o.name = "recorded";
    o.debug.stall_report = 0;
    o.on_error = [&program](const std::exception_ptr& error) {
        if (program.handles(error)) {
            return;
        }
        const std::string message = "a task without a waiter has thrown " + text_of_exception(error);
        recorded_failure(message);
        if (program.is_main()) { // as without a recording
            os::write_error(("pilfer: " + message + "\n").c_str());
            std::terminate();
        }
    };
    struct maker {
        maker() noexcept {
            test_backend_is_pinned = false;
            test_backend = [](team& t, pool_core&) -> std::unique_ptr<detail::backend> {
                return std::make_unique<recorded_stealing>(t);
            };
        }
        maker(const maker&) = delete;
        maker& operator=(const maker&) = delete;
        ~maker() {
            test_backend_is_pinned = true;
            test_backend = nullptr;
        }
    } const here;
    return std::make_unique<pool>(o);
}

/// True if nothing runs, and no task waits for another pool. `progress`: of the last look.
[[nodiscard]] bool stands_still(const pool_core& p, std::uint64_t& progress) noexcept {
    const std::uint64_t before = std::exchange(progress, figures::progress(p));
    return before == progress && everybody_rests(p) && p.submissions.empty() && p.runnable.empty() &&
           !p.alarms->expects_before(never - 1) &&
           (figures::suspended(p) != 0 || figures::waiting_coroutines(p) != 0);
}

} // namespace

void recorded_failure(const std::string& message) {
    const test_step order("fails", nullptr, false);
    recorder_here().ends(message);
}

/// Ends are read before beginnings, as by closing::wait_until_quiet().
std::uint64_t outstanding(const team& t) noexcept {
    std::uint64_t ended = 0;
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        ended += t.at(i).outstanding.ended();
    }
    std_atom::fence_sc();
    std::uint64_t begun = t.life.accepted();
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        begun += t.at(i).outstanding.begun();
    }
    return begun - ended;
}

// ---- the run ----------------------------------------------------------------------------------

/// The task that calls the body.
struct recorded_run::body : submission {
    explicit body(recorded_program& p) noexcept : program(p) {
        set_parent(nullptr);
        run = [](spark* self, worker*) noexcept -> suspension* {
            auto& b = *static_cast<body*>(static_cast<submission*>(self));
            try {
                b.program.call_body();
            } catch (...) {
                const char* const whose = b.program.is_main() ? "main()" : "body";
                recorded_failure(whose + (" has thrown " + text_of_exception(std::current_exception())));
                if (b.program.is_main()) {
                    std::terminate(); // as without a recording
                }
            }
            b.is_over.store(1, rel);
            os::futex_wake(&b.is_over, 1);
            end_outstanding(this_worker());
            return nullptr;
        };
    }
    recorded_program& program;
    std::atomic<std::uint32_t> is_over{0};
};

recorded_run::recorded_run(recorder& r, recorded_program& p, const recorded_pool& how)
    : m_recorder(r), m_program(p), m_body(std::make_unique<body>(p)), m_pool(make_pool(p, how)) {
    r.records(core());
}

recorded_run::~recorded_run() = default;

void recorded_run::look_soon() noexcept { os::futex_wake(&m_body->is_over, 1); }

/// All tasks wait. True: for ever.
bool recorded_run::is_stuck() {
    bool elsewhere = false;
    task_numbers tasks;
    step_log steps;
    const std::string waits = text_of_waits(core(), tasks, steps, true, elsewhere);
    if (elsewhere) {
        m_recorder.cannot_repeat("a wait for another pool");
        return false;
    }
    const bool is_main = m_program.is_main();
    if (is_main && (m_has_said_so || m_recorder.has_reasons())) {
        return false; // what the recording does not have may end the waits
    }
    const std::string whose = is_main ? "main()" : "body";
    const std::string text =
        (m_body->is_over.load(acq) != 0 ? whose + " has ended, and tasks wait for ever:\n"
                                        : std::string("a deadlock: all tasks wait for ever:\n")) +
        waits;
    m_recorder.ends(text);
    if (is_main) {
        m_has_said_so = true;
        os::write_error(("pilfer: the recording ends with " + text).c_str());
    }
    return !is_main;
}

/// Waits for the body and all that it has started. False: tasks wait for ever, or main() has left them.
bool recorded_run::wait() {
    std::uint64_t progress = 0;
    std::uint64_t moved_at = os::now_ns();
    for (unsigned pauses = 0; pauses != most_pauses;) {
        const bool is_over = m_body->is_over.load(acq) != 0;
        const bool main_is_over = is_over && m_program.is_main();
        os::futex_wait_for(m_body->is_over, is_over ? 1 : 0,
                           main_is_over || m_program.is_in_a_hurry() ? short_pause_ns : pause_ns);
        if (outstanding(core()) == 0) {
            return true;
        }
        pauses += main_is_over ? 1 : 0;
        const std::uint64_t now = os::now_ns();
        moved_at = stands_still(core(), progress) ? moved_at : now;
        const bool still = now - moved_at >= still_ns;
        if (m_program.looks(core(), still)) {
            moved_at = now;
        } else if (still) {
            moved_at = now;
            if (is_stuck()) {
                m_is_stuck = true;
                return false;
            }
        }
    }
    return false;
}

void recorded_run::run() {
    const recording_process here(m_recorder);
    submit(core(), m_body.get());
    if (wait()) {
        if (m_recorder.has_periodic_timers()) {
            m_recorder.cannot_repeat("a timer that goes on after the end");
        }
        m_recorder.ends("");
    } else {
        m_recorder.is_cut();
    }
}

void recorded_run::end_pool() {
    if (!m_is_stuck) {
        m_pool.reset();
        return;
    }
    core().threads.stop();
    registry::remove(core());
    core().abandon();
    static auto* const left_behind = new std::vector<pool*>; // for tools that look for lost memory
    left_behind->push_back(m_pool.release());
    (void)m_body.release();
}

} // namespace detail

namespace test {

recording record(const record_options& o, const std::function<void()>& body) {
    if (detail::this_worker() != nullptr) {
        throw usage_error("pilfer: test::record is called by a task");
    }
    if (!body) {
        throw std::invalid_argument("pilfer: test::record: body is empty");
    }
    const std::lock_guard lock(detail::one_call);
    // Kept until the next call: another thread may be about to ask whether it is a worker of that pool.
    static auto& last = *new std::unique_ptr<detail::recorder>;
    last = std::make_unique<detail::recorder>(o.file, false);
    class recorded_function final : public detail::recorded_program {
    public:
        explicit recorded_function(const std::function<void()>& f) noexcept : m_body(f) {}
        void call_body() override { m_body(); }

    private:
        const std::function<void()>& m_body;
    } program(body);
    detail::recorded_run run(*last, program, {o.workers, 0});
    run.run();
    run.end_pool();
    return {!last->has_failed(), last->failure(), std::string(last->text())};
}

} // namespace test
} // namespace v0
} // namespace pilfer

#endif
