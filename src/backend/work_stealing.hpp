// The back-end of the runtime: deques, theft, contexts. It passes each call to the scheduler's own parts.
#pragma once

#include "task/backend.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class work_stealing : public backend {
public:
    /// Throws std::bad_alloc if there is no memory for a single stack.
    explicit work_stealing(team& t);

    [[nodiscard]] bool announce(scheduler& w, task_word task, way may) noexcept override;
    [[nodiscard]] bool announce_weighted(scheduler& w, task_word task, std::uint64_t weight,
                                         way may) noexcept override;
    void attend(scheduler& w) noexcept override;
    [[nodiscard]] worker* reclaim(scheduler& w, task_word task) noexcept override;
    void suspend(scheduler& w, suspension& s) noexcept override;
    void make_runnable(suspension& s) noexcept override;
    [[nodiscard]] std::uintptr_t refill_contexts(scheduler& w) noexcept final;

    [[nodiscard]] bool help_on_top(scheduler& w) noexcept override;
    void yield(scheduler& w) noexcept override;
    void run_blocking(scheduler& w, blocking_job& job) noexcept override;

    void queue(submission& s, priority level, origin from) noexcept override;
    [[nodiscard]] bool run_prompt(scheduler& w, submission& s) noexcept override;

    void run(scheduler& w) noexcept override;
    void end_threads(unsigned threads) noexcept override;
    void check_end(audit& a, const counters& c, std::uint64_t submitted, unsigned threads) noexcept override;

protected:
    team& m_team;
};

/// Runs the job on the calling worker's thread, which it blocks.
void run_in_place(scheduler& w, blocking_job& job) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
