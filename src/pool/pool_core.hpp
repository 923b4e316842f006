// A pool, as its own room and the rooms above it know it: workers, their threads, the entrance.
//
// The room src/runtime adds everything that a pool looks after, such as alarms and descriptors.
#pragma once

#include <atomic>
#include <iosfwd>
#include <memory>

#include <pilfer/error.hpp>
#include <pilfer/options.hpp>
#include <pilfer/pool.hpp>

#include "platform/os.hpp"
#include "pool/gate.hpp"
#include "pool/registry.hpp"
#include "pool/threads.hpp"
#include "trace/json.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class alarm_watch;
class blocking_threads;
class descriptor_watch;
class guest_slots;

/// In a child of fork(), by its only thread.
void forget_common_pool() noexcept;
/// True while the calling thread makes the common pool.
[[nodiscard]] bool makes_common_pool() noexcept;

class pool_core : public team {
public:
    /// Names of the files that are written when the pool ends; null: no such file.
    struct paths {
        const char* trace = nullptr;
        const char* profile = nullptr;
        const char* graph = nullptr;
        const char* advice = nullptr; ///< this file is read
    };
    virtual ~pool_core() = default;

    virtual void shutdown(shutdown_mode mode) = 0;
    /// Replaces the destructor for a parent's pool in a child of fork(): closes descriptors, joins no thread.
    virtual void abandon() noexcept = 0;
    /// Writes the files that PILFER_TRACE, PILFER_PROFILE and PILFER_PROFILE_GRAPH named, if any. Only the
    /// first call writes.
    virtual void write_files() noexcept = 0;
    void write_trace(std::ostream& out) const;

    /// The pool's threads keep the library from being unloaded.
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
    /// See keep_warm.
    void begin_warm() noexcept;
    /// False: no begin_warm() is outstanding.
    bool end_warm() noexcept;
    /// The pool object is static memory of the program. Its destructor has to know whether exit() has begun.
    void must_note_exit() noexcept { m_must_note_exit.store(true, rlx); }
    /// The threads are joined.
    [[nodiscard]] bool joined() const noexcept { return m_over.load(acq); }

    // The parts. What is declared first ends last.
    alignas(line_bytes) worker_threads threads;
    submission_gate gate;
    /// This pool's entry in the list of all pools.
    pool_entry listed;
    pool_core* older = nullptr; // of the pools that a child of fork() has abandoned
    // Parts of higher rooms, for these rooms. Set before the threads begin.
    guest_slots* guests = nullptr;
    blocking_threads* helpers = nullptr;
    alarm_watch* alarms = nullptr;
    descriptor_watch* io = nullptr;

protected:
    pool_core(const options& checked, const plan& how, bool never_ends);

    std::atomic<bool> m_over{false};

private:
    const bool m_never_ends;
    mutable std::atomic<bool> m_must_note_exit{false};
    trace::moment m_begin = trace::now();
};

/// Makes a pool with all its parts. `asked`: the program's options. The environment may have overruled them:
/// a pool that records has one worker and no guest slots. Implemented by src/runtime.
[[nodiscard]] std::unique_ptr<pool_core> make_pool(const options& checked, const pool_core::paths& files,
                                                   const options& asked, bool never_ends);

} // namespace detail
} // namespace v0
} // namespace pilfer
