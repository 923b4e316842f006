// One run on several workers whose order is recorded: the back-end of its pool, and the call.
//
// Its deques are those of any pool, so what only forks and joins costs nothing more. Submissions, waits and
// begins of tasks take slow paths anyway.
#if defined(PILFER_TEST)

#include <pilfer/test.hpp>

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <pilfer/pool.hpp>

#include "backend/make.hpp"
#include "backend/work_stealing.hpp"
#include "explore/explored_pool.hpp"
#include "explore/recorder.hpp"
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

/// So often the caller looks whether the run stands still.
constexpr std::uint64_t pause_ns = 5'000'000;
/// After so many looks in a row no thread outside is expected to make a task ready.
constexpr unsigned most_looks = 40;

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
    const bool is_inside = w.current.load(rlx)->ctx->test.steps() != 0;
    if (is_inside) {
        recorder_here().unlock();
    }
    work_stealing::yield(w);
    if (is_inside) {
        recorder_here().lock();
    }
}

void recorded_stealing::queue(submission& s, priority level, origin from) noexcept {
    const scheduler* const w = m_team.here();
    const activation* const caller = w != nullptr ? w->current.load(rlx) : nullptr;
    s.set_test_origin(caller != nullptr ? caller->ctx->test.next() : 0);
    if (caller == nullptr && m_has_body.exchange(true, rlx)) {
        recorder_here().cannot_repeat("a task that no task of the pool has submitted");
    }
    work_stealing::queue(s, level, from);
}

void recorded_stealing::task_begins(scheduler& w, task_word task) noexcept {
    if ((task & kind_mask) != kind_continuation) {
        test_identity& self = w.current.load(rlx)->ctx->test;
        self.begin(reinterpret_cast<spark*>(task & ~kind_mask)->test_origin());
        recorder_here().begins(self.name());
    }
}

// ---- the run ----------------------------------------------------------------------------------

void fails_here(const std::string& message) {
    const test_step order("fails", nullptr, false);
    recorder_here().ends(message);
}

/// The task that calls the body.
struct recorded_body : submission {
    explicit recorded_body(const std::function<void()>& f) noexcept : body(f) {
        set_parent(nullptr);
        run = [](spark* self, worker*) noexcept -> suspension* {
            auto& b = *static_cast<recorded_body*>(static_cast<submission*>(self));
            try {
                b.body();
            } catch (...) {
                fails_here("body has thrown " + text_of_exception(std::current_exception()));
            }
            b.is_over.store(1, rel);
            os::futex_wake(&b.is_over, 1);
            end_outstanding(this_worker());
            return nullptr;
        };
    }
    const std::function<void()>& body;
    std::atomic<std::uint32_t> is_over{0};
};

[[nodiscard]] std::unique_ptr<pool> make_pool(const test::record_options& asked) {
    options o;
    o.workers = asked.workers;
    o.only_workers = true;
    o.backend = pilfer::backend::work_stealing;
    o.resume = resume::anywhere;
    o.name = "recorded";
    o.debug.stall_report = 0;
    o.on_error = [](std::exception_ptr error) {
        fails_here("a task without a waiter has thrown " + text_of_exception(error));
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

/// Ends are read before beginnings, as by closing::wait_until_quiet().
[[nodiscard]] bool is_quiet(const team& t) noexcept {
    std::uint64_t ended = 0;
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        ended += t.at(i).outstanding.ended();
    }
    std_atom::fence_sc();
    std::uint64_t begun = t.life.accepted();
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        begun += t.at(i).outstanding.begun();
    }
    return begun == ended;
}

/// True if nothing runs, and no task waits for another pool. `progress`: of the last look.
[[nodiscard]] bool stands_still(const pool_core& p, std::uint64_t& progress) noexcept {
    const std::uint64_t before = std::exchange(progress, figures::progress(p));
    return before == progress && everybody_rests(p) && p.submissions.empty() && p.runnable.empty() &&
           !p.alarms->expects_before(never - 1) &&
           (figures::suspended(p) != 0 || figures::waiting_coroutines(p) != 0);
}

[[nodiscard]] std::string waits_of(pool_core& p, bool& elsewhere) {
    task_numbers tasks;
    step_log steps;
    return text_of_waits(p, tasks, steps, true, elsewhere);
}

/// The body and all that it has started. False: tasks wait for ever.
[[nodiscard]] bool run_to_end(pool_core& p, recorded_body& body) {
    submit(p, &body);
    std::uint64_t progress = 0;
    unsigned looks = 0;
    for (;;) {
        os::futex_wait_for(body.is_over, 0, pause_ns);
        if (is_quiet(p)) {
            return true;
        }
        looks = stands_still(p, progress) ? looks + 1 : 0;
        if (looks == most_looks) {
            bool elsewhere = false;
            (void)waits_of(p, elsewhere);
            if (!elsewhere) {
                return false;
            }
            recorder_here().cannot_repeat("a wait for another pool");
            looks = 0;
        }
        if (body.is_over.load(acq) != 0) {
            std::atomic<std::uint32_t> never_set{0};
            os::futex_wait_for(never_set, 0, pause_ns);
        }
    }
}

/// The threads end, and what the tasks hold is lost.
void leave_behind(std::unique_ptr<pool> p) {
    p->core().threads.stop();
    registry::remove(p->core());
    p->core().abandon();
    static auto* const left_behind = new std::vector<pool*>; // for tools that look for lost memory
    left_behind->push_back(p.release());
}

/// While it lives, the places of the program are recorded.
class recording_process {
public:
    explicit recording_process(recorder& r) noexcept {
        running_recorder.store(&r, rel);
        test_points.store(&recording_hooks, rel);
    }
    recording_process(const recording_process&) = delete;
    recording_process& operator=(const recording_process&) = delete;
    ~recording_process() { test_points.store(nullptr, rel); }
};

void record_in_a_pool(recorder& r, const test::record_options& o, const std::function<void()>& body) {
    // Lives longer than its task, which may wait for ever.
    auto task = std::make_unique<recorded_body>(body);
    const recording_process here(r);
    std::unique_ptr<pool> p = make_pool(o);
    r.records(p->core());
    if (run_to_end(p->core(), *task)) {
        p.reset();
        r.ends("");
        return;
    }
    bool elsewhere = false;
    const std::string waits = waits_of(p->core(), elsewhere);
    r.ends((task->is_over.load(acq) != 0 ? "body has ended, and tasks wait for ever:\n"
                                         : "a deadlock: all tasks wait for ever:\n") +
           waits);
    leave_behind(std::move(p));
    (void)task.release();
}

} // namespace
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
    last = std::make_unique<detail::recorder>(o.file);
    detail::record_in_a_pool(*last, o, body);
    return {last->failure().empty(), last->failure(), last->text()};
}

} // namespace test
} // namespace v0
} // namespace pilfer

#endif
