// The loop of one worker: what to look at next.
#include "worker/scheduler.hpp"

#include "deque/rings.hpp"
#include "memory/numbers.hpp"
#include "worker/team.hpp"

constinit thread_local pilfer::v0::detail::worker* pilfer_v0_this_worker = nullptr;

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

// For event_log::note_run().
static_assert(static_cast<task_word>(trace::task::spark) == kind_spark &&
              static_cast<task_word>(trace::task::continuation) == kind_continuation &&
              static_cast<task_word>(trace::task::forked) == kind_forked);

constexpr std::int64_t first_capacity = 256;

[[nodiscard]] std::int64_t taken_back_at_once(const options& o) noexcept {
    return o.balance.unshare == unshare::all ? INT64_MAX / 4 : 1;
}

} // namespace

#if defined(PILFER_ISA_PORTABLE)
/// Not instrumented: a guest's thread changes it between its tasks, which ThreadSanitizer treats as unrelated
/// threads.
PILFER_NOINLINE PILFER_NO_SANITIZE worker* this_worker_cold() noexcept {
    worker* w = pilfer_v0_this_worker;
    // A function without effects might be called once for two places in its caller.
    asm volatile("" : "+r"(w) : : "memory");
    return w;
}
#endif

scheduler::scheduler(team& crew, pool_core& owner, unsigned number, bool pinned)
    : worker(make_first_ring(first_capacity), pinned, PILFER_CHAOS_START_INDEX(first_capacity)),
      log(count, crew.settings().debug.trace_events), marks(*this, crew), switching(*this, crew),
      reserve(*this, crew), looking(*this, crew), resting(*this, crew), sharing(*this, crew),
      theft(*this, crew, number), m_team(crew), m_backend(crew.backend()) {
    pool = &owner;
    index = number;
    recording = crew.settings().debug.profile;
    static_assert(no_serial == numbers::none);
    serial = numbers::take();
}

scheduler::~scheduler() {
    numbers::give(serial);
    free_rings(deque);
}

void scheduler::work_begins() noexcept {
    m_team.each_service([this](service& s) { s.work_begins(*this); });
}

void scheduler::work() noexcept {
    work_begins();
    for (;;) {
        if (retires()) [[unlikely]] {
            if (resume_here()) {
                continue;
            }
            if (m_team.stopping()) {
                break;
            }
            resting.retire();
            work_begins();
            continue;
        }
        if (step()) {
            continue;
        }
        if (m_team.stopping()) {
            break;
        }
        if (looking.looks_again()) {
            continue;
        }
        resting.sleep();
        work_begins();
    }
    log.note_missed();
    looking.settle();
    reserve.give_contexts();
}

// ---- looking for work -------------------------------------------------------------------------

// Here, because only the file that defines a thread-local needs no function to initialise it.
void scheduler::disappear() noexcept { pilfer_v0_this_worker = nullptr; }
void scheduler::appear() noexcept { pilfer_v0_this_worker = this; }

bool scheduler::step() noexcept {
    const std::uint64_t turn = m_ends & fairness_mask;
    if (m_team.expects()) [[unlikely]] {
        m_team.watch().serve(*this, turn == fairness_mask);
    }
    if (!m_prompts.empty() && run_prompts()) [[unlikely]] {
        return true;
    }
    // Before each source that could win at every look. A frame that has yielded loses this one look.
    if (turn == fairness_mask / 4 && theft.steal_in_turn()) {
        return true;
    }
    const bool made_way = m_submissions_first;
    m_submissions_first = false;
    if (made_way && anything_left() && theft.steal_from_retired()) [[unlikely]] {
        return true;
    }
    // No submission of a lower level runs before a frame that has yielded.
    if ((made_way || turn == fairness_mask) && run_submission(made_way ? m_yielded_for : priority::low)) {
        return true;
    }
    const bool yielded = m_own_first;
    m_own_first = false;
    if ((yielded || turn == fairness_mask / 2) && run_own()) {
        return true;
    }
    return resume_one() || run_own() || run_submission() || theft.search() ||
           (m_team.expects() && m_team.watch().look_again(*this)); // cheaper than to sleep first
}

/// Resumes a context that must run on this worker.
bool scheduler::resume_here() noexcept {
    auto* n = m_inbox.pop();
    if (n == nullptr) {
        return false;
    }
    resume_found(n, trace::what::resume_here);
    return true;
}

bool scheduler::resume_one() noexcept {
    if (resume_here()) {
        return true;
    }
    auto* n = m_team.runnable.pop();
    if (n == nullptr) {
        return false;
    }
    resume_found(n, trace::what::resume_any);
    return true;
}

void scheduler::wait_for_inbox() noexcept {
    resting.wait_for_inbox();
    work_begins();
    constexpr std::uint64_t others_first = fairness_mask / 4; // in these bits: step() looks elsewhere first
    if ((m_ends & others_first) == others_first) {
        m_ends = m_ends + 1;
    }
}

void scheduler::resume_found(submission_queue<std_atom>::node* n, trace::what how) noexcept {
    looking.found_work(index);
    count.run_resumed.add();
    auto& waited = *static_cast<suspension*>(n);
    log.note_resume(how, waited.act->ctx);
    m_ends = m_ends + 1;
    switching.resume_now(waited);
}

bool scheduler::run_own() noexcept {
    auto own = deque.owner();
    const task_word newest = own.peek();
    if (newest == 0 || ((newest & kind_mask) != kind_continuation && !reserve.has_context())) {
        return false;
    }
    const task_word task = own.pop(taken_back_at_once(m_team.settings()));
    if (task == 0) {
        return false;
    }
    looking.found_work(index);
    sharing.share_between_tasks();
    count.run_own.add();
    log.note_run(trace::what::run_own, task);
    execute(task);
    return true;
}

/// Runs the tasks of deadlines that have come. No other thread looks there, and a callback may take long or
/// wait for the next one. So all but the first are queued before, for any worker.
bool scheduler::run_prompts() noexcept {
    auto* const first = static_cast<submission*>(m_prompts.pop());
    unsigned others = 0;
    for (; auto* const n = m_prompts.pop(); ++others) {
        m_team.queue_counted(static_cast<submission*>(n), priority::high);
    }
    if (!reserve.has_context()) {
        m_team.queue_counted(first, priority::high);
        return false;
    }
    start_submission(*first, priority::high);
    while (others-- != 0 && run_submission(priority::high)) {
    }
    return true;
}

bool scheduler::run_submission(priority lowest) noexcept {
    if (m_team.submissions.empty_from(lowest) || !reserve.has_context()) {
        return false;
    }
    std::uint32_t turn = m_turn;
    const auto [n, level] =
        lowest == priority::low ? m_team.submissions.pop(turn) : m_team.submissions.pop_from(lowest);
    m_turn = turn;
    if (n == nullptr) {
        return false;
    }
    m_team.took_submission();
    start_submission(*static_cast<submission*>(n), level);
    return true;
}

void scheduler::start_submission(submission& s, priority level) noexcept {
    m_level = level;
    looking.found_work(index);
    count.run_submitted.add();
    log.note_slice(trace::what::run_submitted, trace::task::submission);
    m_ends = m_ends + 1;
    spark* const job = &s;
    san::release(job);
    switching.start(reinterpret_cast<task_word>(job) | kind_spark);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
