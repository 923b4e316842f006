// A pool as a whole: its workers, its entrance, what it looks after, and its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <iosfwd>
#include <memory>
#include <mutex>

#include <pilfer/error.hpp>
#include <pilfer/options.hpp>
#include <pilfer/pool.hpp>

#include "base/os.hpp"
#include "base/signal_thread.hpp"
#include "cancel/cancellation.hpp"
#include "governor/governor.hpp"
#include "guest/blocking.hpp"
#include "guest/guest_slots.hpp"
#include "io/readiness.hpp"
#include "observe/overdue.hpp"
#include "observe/stall.hpp"
#include "pool/forked.hpp"
#include "pool/gate.hpp"
#include "pool/registry.hpp"
#include "pool/threads.hpp"
#include "timer/alarm_watch.hpp"
#include "trace/file.hpp"
#include "trace/json.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Null if the common pool has not been used yet, or could not be made.
[[nodiscard]] pool_core* common_core_if_made() noexcept;

/// Called by a thread outside all pools that is about to block. If the thread is attached, it runs tasks
/// until `waiter` is released or the pool stops.
void work_while_waiting(foreign_waiter& waiter) noexcept;

/// A short spin before a thread outside sleeps. The spin lasts about as long as a sleep and a wake-up would.
/// If recent spins did not help, most waits skip it.
class short_wait {
public:
    template <class Done>
    [[nodiscard]] static bool is_over(Done done) noexcept {
        if (!begins()) {
            return false;
        }
        // The looks become rarer: each one takes the cache line away from the thread that is about to write.
        unsigned step = 1;
        for (unsigned pauses = 0; pauses < most_pauses; pauses += step) {
            step = step < 64 ? 2 * step : step;
            for (unsigned i = 0; i < step; ++i) {
                cpu_relax();
            }
            if (done()) {
                ends(true);
                return true;
            }
        }
        ends(false);
        return false;
    }

private:
    static constexpr unsigned most_pauses = 256; // 3 to 15 us
    [[nodiscard]] static bool begins() noexcept;
    static void ends(bool helped) noexcept;
};

class pool_core final : public team {
public:
    /// Names of the files that are written when the pool ends; null: no such file.
    struct paths {
        const char* trace = nullptr;
        const char* profile = nullptr;
        const char* graph = nullptr;
        const char* advice = nullptr; ///< this file is read
    };
    /// `asked`: the program's options. The environment may have overruled them: a pool that records has one
    /// worker and no guest slots. `never_ends`: the pool's threads keep the library from being unloaded.
    pool_core(const options& checked, const paths& files, const options& asked, bool never_ends = false);
    ~pool_core();

    void shutdown(shutdown_mode mode);
    [[nodiscard]] bool never_ends() const noexcept { return m_never_ends; }
    void check_here() const {
        if (is_forked_child()) [[unlikely]] {
            throw pool_forked();
        }
        if (m_must_note_exit.load(rlx)) [[unlikely]] {
            os::note_exit(); // after the constructor, so it runs before the destructor; twice is no harm
            m_must_note_exit.store(false, rlx);
        }
    }
    /// The pool object is static memory of the program. Its destructor has to know whether exit() has begun.
    void must_note_exit() noexcept { m_must_note_exit.store(true, rlx); }
    /// Replaces the destructor for a parent's pool in a child of fork(): closes descriptors, joins no thread.
    void abandon() noexcept;
    /// The threads are joined.
    [[nodiscard]] bool joined() const noexcept { return m_over.load(acq); }

    // ---- called by worker_threads::start()
    /// Only `made` threads could be made.
    void has_threads(unsigned made) noexcept;
    /// Ends the threads, because an on_start has thrown.
    void give_up() noexcept;

    void write_trace(std::ostream& out) const;
    /// Writes the files that PILFER_TRACE, PILFER_PROFILE and PILFER_PROFILE_GRAPH named, if any. Only the
    /// first call writes.
    void write_files() noexcept;
    /// From now on options.debug.dump_signal makes this pool write its dump. Throws std::system_error.
    void answer_dump_signal();

    // The parts. What is declared first ends last.
    alignas(line_bytes) worker_threads threads;
    submission_gate gate;
    guest_slots guests;
    cancelled_team cancels;
    blocking_threads helpers;
    alarm_watch alarms;
    descriptor_watch io;
    stall_watch stall;
    blocked_watch blocked;
    overdue_watches overdue;
    /// This pool's entry in the list of all pools.
    pool_entry listed;
    pool_core* older = nullptr; // of the pools that a child of fork() has abandoned

private:
    void make_governor(const char* advice_file, unsigned workers_asked);
    void start_governor() noexcept;
    void stop_threads() noexcept;
    void end_once();

    const bool m_never_ends;
    mutable std::atomic<bool> m_must_note_exit{false};
    std::atomic<bool> m_over{false};                  // the threads are joined
    std::unique_ptr<os::signal_thread> m_dump_thread; // ends before the pool does
    std::unique_ptr<pool_governor> m_governor;        // its thread ends before the workers do
    trace::moment m_begin = trace::now();
    std::unique_ptr<trace::file> m_trace_file;
    std::mutex m_shutdown_mutex;
    bool m_joined = false; // under m_shutdown_mutex
};

/// In the checked build, after all threads are joined: aborts if a sum is wrong or a task is left.
void check_end(pool_core& p) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
