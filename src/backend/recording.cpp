// A pool that records: how its one worker leaves every task to its scheduler, and what is written at the end.
//
// Its deque is pinned, so every push comes to announce() and every pop to reclaim(). The latter answers that
// the task is gone and leaves it in its place. The scheduler takes it, newest first, which is the serial
// order, and runs it as a stolen one. So functions that are slow anyway see its begin, its end, its parent's
// wait and return.
#include "backend/recording.hpp"

#include <chrono>
#include <cstdlib>
#include <ostream>
#include <string>

#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

using trip = signal_word<std_atom>;

[[nodiscard]] std::unique_ptr<trace::file> file_of(trace::file::purpose& why, const char* path) {
    return path == nullptr ? nullptr : std::make_unique<trace::file>(why, path);
}

[[nodiscard]] profile::code code_of(spark* task) noexcept {
    return reinterpret_cast<profile::code>(std::atomic_ref(task->run).load(rlx));
}

template <class T>
[[nodiscard]] profile::key key_of(const T* object) noexcept {
    return reinterpret_cast<profile::key>(object);
}

/// The stack of the running task ends at the record of its context.
[[nodiscard]] profile::spot spot_of(const trace::frame& from, const worker* w) noexcept {
    const activation* const a = w != nullptr ? w->current.load(rlx) : nullptr;
    return {from, a != nullptr ? reinterpret_cast<std::uintptr_t>(a->ctx) : 0};
}

/// The return address into the function that spawns, whose rest was announced; null: not known. A call on the
/// child's stack is the first word there. The continuation's own address is that of code out of line, which
/// has no line.
[[nodiscard]] PILFER_NO_SANITIZE const void* spawner([[maybe_unused]] task_word rest) noexcept {
#if defined(PILFER_ISA_X86_64)
    return static_cast<const void* const*>(reinterpret_cast<const continuation*>(rest & ~kind_mask)->top)[-1];
#else
    return nullptr;
#endif
}

} // namespace

recording::recording(team& t, const recording_files& files)
    : work_stealing(t), m_pool_name(t.settings().name), m_workers_asked(files.workers_asked),
      m_profile_file(file_of(trace::of_profile, files.profile)),
      m_graph_file(file_of(trace::of_graph, files.graph)),
      m_recorder(
          std::make_shared<profile::recorder>(m_graph_file != nullptr ? &m_graph_file->stream() : nullptr,
                                              profile::burden_from(std::getenv("PILFER_PROFILE_BURDEN")),
                                              m_profile_file != nullptr || m_graph_file != nullptr)) {}

recording::~recording() = default;

// ---- the worker -------------------------------------------------------------------------------

bool recording::announce(scheduler& w, task_word task, way may) noexcept {
    m_recorder->pause();
    const bool announced = work_stealing::announce(w, task, may);
    // It makes loops call attend(). Every announcement takes it.
    w.deque.signal().set(trip::yield_request);
    if (!announced) {
        m_recorder->go_on();
    } else if ((task & kind_mask) == kind_continuation) {
        watch_locks(w); // of the child, which runs now
        m_recorder->spawned(task, spawner(task), spot_of(PILFER_CALLER, &w));
    } else {
        m_recorder->forked(task & ~kind_mask, code_of(reinterpret_cast<spark*>(task & ~kind_mask)),
                           spot_of(PILFER_CALLER, &w));
    }
    return announced;
}

bool recording::announce_weighted(scheduler& w, task_word task, std::uint64_t, way may) noexcept {
    (void)w.deque.owner().push(task); // no other worker could take a share by weight
    return announce(w, task, may);
}

/// No other worker can ask for a part of a loop, so the signal word asks instead, but not for less than a
/// piece. A loop is split as if every worker asked all the time.
void recording::attend(scheduler& w) noexcept {
    m_recorder->pause();
    work_stealing::attend(w);
    w.deque.signal().set(m_recorder->may_split() ? trip::yield_request | trip::expose : trip::yield_request);
}

worker* recording::reclaim(scheduler& w, task_word) noexcept {
    m_recorder->pause();
    const task_word got = w.deque.owner().pop_slow(1);
    // The caller has lowered the bottom. There was room for the task a moment ago, and no worker sleeps.
    if (got != 0) {
        (void)w.deque.owner().push(got);
    }
    return nullptr;
}

void recording::run_blocking(scheduler& w, blocking_job& job) noexcept {
    run_in_place(w, job); // a recording follows one order
}

void recording::queue(submission& s, priority level, origin from) noexcept {
    const profile::key self = key_of(static_cast<const spark*>(&s));
    if (m_recorder->is_carrier(self)) {
        // What it carries is recorded.
    } else if (from == origin::caller && m_team.here() != nullptr) {
        m_recorder->submitted(self, code_of(&s), spot_of(PILFER_CALLER, this_worker()));
    } else {
        m_recorder->submitted_outside(self, code_of(&s), {PILFER_CALLER});
    }
    work_stealing::queue(s, level, from);
}

// ---- what happens to tasks --------------------------------------------------------------------

/// The present activation reports its locks from now on. Only the file of a graph has them.
void recording::watch_locks(const scheduler& w) const noexcept {
    if (m_graph_file != nullptr) {
        w.current.load(rlx)->locks |= activation::locks_are_recorded;
    }
}

void recording::task_begins(scheduler& w, task_word task) noexcept {
    const bool rest = (task & kind_mask) == kind_continuation;
    w.deque.signal().set(trip::yield_request);
    if (!rest) { // a continuation's activation reports its locks already, and runs later
        watch_locks(w);
    }
    m_recorder->begun(rest ? task : task & ~kind_mask);
}

void recording::task_ends() noexcept { m_recorder->ended(); }

/// The end of a wait for tasks is reported with its place, and its length is no more than the order of one
/// worker. So only other waits are noted here.
void* recording::task_leaves(const suspension* wait) noexcept {
    const wait_kind* const why = wait != nullptr ? wait->why : nullptr;
    return why == nullptr || why->for_tasks
               ? m_recorder->leave()
               : m_recorder->leave(why->what, wait->object, spot_of(PILFER_CALLER, this_worker()));
}

void recording::task_returns(scheduler& w, void* left) noexcept {
    w.deque.signal().set(trip::yield_request);
    m_recorder->enter(static_cast<profile::recorder::task*>(left));
}

void recording::task_locks(const void* lock) noexcept {
    m_recorder->locked(lock, spot_of(PILFER_CALLER, this_worker()));
}
void recording::task_unlocks(const void* lock) noexcept { m_recorder->unlocked(lock); }

void recording::root_ends() noexcept { m_recorder->root_ended(); }
void recording::child_ends(const void* scope) noexcept { m_recorder->child_ended(key_of(scope)); }
void recording::synced(const void* scope) noexcept {
    m_recorder->synced(key_of(scope), spot_of(PILFER_CALLER, this_worker()));
}
/// A foreign task has released its waiter before it returns, so the thread waits until the worker has noted
/// that. The wait has an end: a task of another group may have the same scope, and run until this thread goes
/// on.
void recording::synced_outside(const void* scope) noexcept {
    constexpr auto most = std::chrono::milliseconds(500);
    const profile::key s = key_of(scope);
    const auto end = std::chrono::steady_clock::now() + most;
    for (unsigned round = 0; m_recorder->is_in_child(s) && std::chrono::steady_clock::now() < end; ++round) {
        backoff(round);
    }
    m_recorder->synced_outside(s);
}
void recording::joined(const spark* branch) noexcept {
    m_recorder->joined(key_of(branch), spot_of(PILFER_CALLER, this_worker()));
}

profile::mark* recording::future_ends(const spark* task) noexcept {
    return m_recorder->fulfilled(key_of(task));
}

bool recording::got(const profile::mark& m) noexcept {
    if (m.home != m_recorder) {
        return false;
    }
    m_recorder->got(m, spot_of(PILFER_CALLER, this_worker()));
    return true;
}

// ---- foreign tasks ----------------------------------------------------------------------------

void recording::carries_foreign(const spark* carrier, bool comes) noexcept {
    m_recorder->carries(key_of(carrier), comes);
}

void recording::foreign_queued(const void* task, const void* runs, const void* scope) noexcept {
    if (m_team.here() != nullptr) {
        m_recorder->forked(key_of(task), runs, spot_of(PILFER_CALLER, this_worker()), key_of(scope));
    } else {
        m_recorder->submitted_outside(key_of(task), runs, {PILFER_CALLER}, key_of(scope));
    }
}

void recording::foreign_awaited() noexcept { m_recorder->pause(); }

void* recording::foreign_begins(const void* task) noexcept {
    this_worker()->deque.signal().set(trip::yield_request); // as task_begins()
    return m_recorder->called(key_of(task));
}

void recording::foreign_ends(void* caller) noexcept {
    m_recorder->returned(static_cast<profile::recorder::task*>(caller));
}

// ---- the end ----------------------------------------------------------------------------------

std::optional<work_span> recording::figures() const noexcept { return m_recorder->figures(); }

void recording::write_files() noexcept {
    if (m_graph_file != nullptr) {
        m_graph_file->write([this](std::ostream&) { m_recorder->finish(); });
    }
    if (m_profile_file != nullptr) {
        m_profile_file->write([this](std::ostream& out) { write_profile(out); });
    }
}

void recording::write_profile(std::ostream& out) const {
    const work_span f = m_recorder->figures();
    const auto number = [&out](const char* name, std::uint64_t n) {
        out << std::string("  \"") + name + "\": " + std::to_string(n) + ",\n"; // no locale
    };
    out << "{\n  \"format\": \"pilfer-profile 2\",\n  \"name\": " << trace::quoted(m_pool_name) << ",\n";
    number("workers_asked", m_workers_asked);
    number("work_ns", f.work_ns);
    number("span_ns", f.span_ns);
    number("burdened_span_ns", f.burdened_span_ns);
    number("theft_ns", f.theft_ns);
    number("resume_ns", f.resume_ns);
    number("tasks", f.tasks);
    number("span_tasks", f.span_tasks);
    number("strands", f.strands);
    number("span_strands", f.span_strands);
    out << "  \"complete\": " << (f.complete ? "true" : "false") << ",\n  \"lines\": ";
    m_recorder->write_lines(out);
    out << ",\n  \"waits\": ";
    m_recorder->write_waits(out);
    out << "\n}\n";
}

} // namespace detail
} // namespace v0
} // namespace pilfer
