// What a recording runs, and the pool that runs it.
#pragma once

#if defined(PILFER_TEST)

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include <pilfer/pool.hpp>

#include "explore/recorder.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class team;

/// A function of a test, or a whole program.
class recorded_program {
public:
    virtual void call_body() = 0; ///< In a task.
    /// True: the body is main(). What happens in a run without a recording happens, and run() returns soon
    /// after the end of main().
    [[nodiscard]] virtual bool is_main() const noexcept { return false; }
    /// A task without a waiter has thrown. False: the run has failed.
    [[nodiscard]] virtual bool handles(const std::exception_ptr&) { return false; }
    /// The thread that records looks at the pool now and then. `still`: nothing has run for long, and no
    /// alarm is set. True: this call has made tasks ready.
    [[nodiscard]] virtual bool looks(pool_core&, bool /*still*/) { return false; }
    /// True if the next look must come soon.
    [[nodiscard]] virtual bool is_in_a_hurry() noexcept { return false; }

protected:
    ~recorded_program() = default;
};

struct recorded_pool {
    unsigned workers;  ///< 0: as many as a usual pool has.
    std::size_t stack; ///< The size of each stack; 0: the usual one.
};

/// Tasks of the pool that have not ended.
[[nodiscard]] std::uint64_t outstanding(const team& t) noexcept;

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

/// Records that the run has failed.
void recorded_failure(const std::string& message);

/// A run in a pool of its own.
class recorded_run {
public:
    /// Throws what making a pool throws.
    recorded_run(recorder& r, recorded_program& p, const recorded_pool& how);
    recorded_run(const recorded_run&) = delete;
    recorded_run& operator=(const recorded_run&) = delete;
    ~recorded_run();

    [[nodiscard]] pool_core& core() const noexcept { return m_pool->core(); }
    /// Runs the body. Returns when all tasks have ended or wait for ever. The recorder has ended then.
    void run();
    /// Ends the pool. If tasks wait for ever, its threads end, and what the tasks hold is lost.
    void end_pool();
    /// Another thread wants a look.
    void look_soon() noexcept;

private:
    struct body;
    [[nodiscard]] bool wait();
    [[nodiscard]] bool is_stuck();

    recorder& m_recorder;
    recorded_program& m_program;
    std::unique_ptr<body> m_body; // lives longer than its task, which may wait for ever
    std::unique_ptr<pool> m_pool;
    bool m_is_stuck = false;
    bool m_has_said_so = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
