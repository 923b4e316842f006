// The loop of one worker: what to look at next, and how tasks are entered and left.
#include "worker/scheduler.hpp"

#include <cxxabi.h>

#include <new>

#include "base/os.hpp"
#include "cancel/cancellation.hpp"
#include "context/overflow.hpp"
#include "pool/numbers.hpp"
#include "pool/pool_core.hpp"

constinit thread_local pilfer::v0::detail::worker* pilfer_v0_this_worker = nullptr;

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr std::int64_t first_capacity = 256;
#if defined(PILFER_CHAOS)
#define PILFER_START_INDEX chaos::start_index(first_capacity)
#else
#define PILFER_START_INDEX 0
#endif

[[nodiscard]] std::int64_t taken_back_at_once(const options& o) noexcept {
    return o.balance.unshare == unshare::all ? INT64_MAX / 4 : 1;
}

/// A deque reads its first ring at once; only a larger one may be missing.
[[nodiscard]] ring<std_atom>* first_ring() {
    ring<std_atom>* r = make_ring(first_capacity, false);
    if (r == nullptr) {
        throw std::bad_alloc();
    }
    return r;
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

scheduler::scheduler(pool_core& owner, unsigned number, bool pinned)
    : worker(first_ring(), pinned, PILFER_START_INDEX), log(count, owner.settings().debug.trace_events),
      marks(*this, owner), switching(*this, owner), resting(*this, owner), guest(*this, owner),
      sharing(*this, owner), theft(*this, owner, number), on_top(*this, owner), m_pool(owner),
      m_backend(owner.backend()) {
    pool = &owner;
    index = number;
    recording = owner.settings().debug.profile;
    serial = numbers::take();
}

scheduler::~scheduler() {
    numbers::give(serial);
    for (ring<std_atom>* r = deque.owner().rings(); r != nullptr;) {
        ring<std_atom>* older = r->previous;
        free_ring(r);
        r = older;
    }
}

void scheduler::run() noexcept {
    pilfer_v0_this_worker = this;
#if defined(PILFER_CHAOS)
    chaos::thread_is(m_pool.number() << 12 | index);
#endif
    if (m_pool.never_ends()) {
        keep_loaded();
    }
    m_pool.modes().set(); // this thread may have been made by a task that rounds in another way
    thread_id.store(os::thread_id(), rel);
    on_its_cpu.store(m_pool.pin(index), rlx); // first of all, so that what it touches first is near it
    exceptions = reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
    name_thread();
    const overflow::thread_stack alternate;
    switching.enter_thread();
    san::release(static_cast<worker*>(this)); // every task of this thread comes after its start
    if (!thread_begins()) {
        return;
    }
    m_pool.wait_for_start();
    m_backend.run(*this);
    pilfer_v0_this_worker = nullptr;
    thread_ends();
}

void scheduler::work() noexcept {
    theft.pool_has_started(m_pool.near(index));
    auto* const g = m_pool.governor();
    const auto work_begins = [g] {
        if (g != nullptr) {
            g->work_begins();
        }
    };
    work_begins();
    for (;;) {
        if (retires()) [[unlikely]] {
            if (resume_here()) {
                continue;
            }
            if (m_pool.stopping()) {
                break;
            }
            resting.retire();
            work_begins();
            continue;
        }
        if (step()) {
            continue;
        }
        if (m_pool.stopping()) {
            break;
        }
        if (resting.looks_again()) {
            continue;
        }
        resting.sleep();
        work_begins();
    }
    log.note_missed();
    resting.settle();
    switching.give_contexts();
}

// ---- looking for work -------------------------------------------------------------------------

// Here, because only the file that defines a thread-local needs no function to initialise it.
void scheduler::disappear() noexcept { pilfer_v0_this_worker = nullptr; }
void scheduler::appear() noexcept { pilfer_v0_this_worker = this; }

bool scheduler::step() noexcept {
    const std::uint64_t turn = m_ends & fairness_mask;
    // A worker that watches over the alarms and was woken still watches until it finds work.
    if (const bool of_all = m_all_alarms || m_watches || turn == fairness_mask;
        of_all || alarms.earliest() != never) [[unlikely]] {
        m_all_alarms = false;
        (void)fire_due(of_all);
    }
    if (!m_prompts.empty() && run_prompt()) [[unlikely]] {
        return true;
    }
    readiness* const io = m_pool.io_if_made();
    if (io != nullptr && (turn == fairness_mask || io->is_due())) [[unlikely]] {
        (void)look_at_descriptors(*io);
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
           (io != nullptr && look_at_descriptors(*io)); // cheaper than to sleep first
}

bool scheduler::resume_one() noexcept {
    auto* n = m_inbox.pop();
    const bool here = n != nullptr;
    if (!here) {
        n = m_pool.runnable.pop();
    }
    if (n == nullptr) {
        return false;
    }
    resume_found(n, here ? trace::what::resume_here : trace::what::resume_any);
    return true;
}

void scheduler::resume_found(submission_queue<std_atom>::node* n, trace::what how) noexcept {
    resting.found_work(index);
    count.run_resumed.add();
    log.note_slice(how);
    m_ends = m_ends + 1;
    switching.resume_now(*static_cast<suspension*>(n));
}

bool scheduler::run_own() noexcept {
    auto own = deque.owner();
    const task_word newest = own.peek();
    if (newest == 0 || ((newest & kind_mask) != kind_continuation && !switching.has_context())) {
        return false;
    }
    const task_word task = own.pop(taken_back_at_once(m_pool.settings()));
    if (task == 0) {
        return false;
    }
    resting.found_work(index);
    sharing.share_between_tasks();
    count.run_own.add();
    log.note_run(trace::what::run_own, task);
    execute(task);
    return true;
}

/// Runs the task of a deadline that has come.
bool scheduler::run_prompt() noexcept {
    auto* const n = m_prompts.pop();
    if (n == nullptr) {
        return false;
    }
    auto* const s = static_cast<submission*>(n);
    if (!switching.has_context()) {
        m_pool.queue_expected(s, priority::high);
        return false;
    }
    m_level = priority::high;
    resting.found_work(index);
    count.run_submitted.add();
    log.note_slice(trace::what::run_submitted, trace::task::submission);
    m_ends = m_ends + 1;
    spark* const job = s;
    san::release(job);
    switching.start(reinterpret_cast<task_word>(job) | kind_spark);
    return true;
}

bool scheduler::run_submission(priority lowest) noexcept {
    if (m_pool.submissions.empty_from(lowest) || !switching.has_context()) {
        return false;
    }
    std::uint32_t turn = m_turn;
    const auto [n, level] =
        lowest == priority::low ? m_pool.submissions.pop(turn) : m_pool.submissions.pop_from(lowest);
    m_turn = turn;
    if (n == nullptr) {
        return false;
    }
    m_level = level;
    m_pool.left_queue();
    resting.found_work(index);
    count.run_submitted.add();
    log.note_slice(trace::what::run_submitted, trace::task::submission);
    m_ends = m_ends + 1;
    spark* job = static_cast<submission*>(n);
    san::release(job);
    switching.start(reinterpret_cast<task_word>(job) | kind_spark);
    return true;
}

/// Called before a context is entered, which may never return. Queued work must not wait for it, unless it is
/// of a lower level: the worker gets a yield request. A worker that retires gets one too, because it is back
/// only for frames that can resume on no other worker.
void scheduler::remind(priority level) noexcept {
    if ((anything_queued(level) || m_pool.left_tasks.any() ||
         (retires() && m_pool.settings().resume == resume::anywhere)) &&
        !deque.signal().has(signal_word<std_atom>::yield_request)) {
        deque.signal().set(signal_word<std_atom>::yield_request);
    }
}

// ---- running what was found -------------------------------------------------------------------

void scheduler::execute(task_word task) noexcept {
    m_ends = m_ends + 1;
    if ((task & kind_mask) != kind_continuation) {
        switching.start(task);
        return;
    }
    auto* s = reinterpret_cast<scope_core*>(task & ~kind_mask);
    remind(m_level);
    m_backend.task_begins(*this, task);
    switching.continue_rest(*s);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
