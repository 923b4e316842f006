// The back-end of a pool that records: work stealing with one worker, which reports each task to a recorder.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "backend/make.hpp"
#include "backend/work_stealing.hpp"
#include "profile/recorder.hpp"
#include "trace/file.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class recording final : public work_stealing {
public:
    /// Throws what work_stealing, trace::file and profile::burden_from() throw.
    recording(team& t, const recording_files& files);
    ~recording() override;

    [[nodiscard]] bool announce(scheduler& w, task_word task, way may) noexcept override;
    [[nodiscard]] bool announce_weighted(scheduler& w, task_word task, std::uint64_t weight,
                                         way may) noexcept override;
    void attend(scheduler& w) noexcept override;
    [[nodiscard]] worker* reclaim(scheduler& w, task_word task) noexcept override;
    void run_blocking(scheduler& w, blocking_job& job) noexcept override;
    [[nodiscard]] bool may_run_awaited() const noexcept override { return false; }
    [[nodiscard]] bool may_announce(const scheduler&) const noexcept override { return false; }
    void queue(submission& s, priority level, origin from) noexcept override;
    [[nodiscard]] bool run_prompt(scheduler&, submission&) noexcept override { return false; }
    [[nodiscard]] bool can_resize() const noexcept override { return false; }
    [[nodiscard]] std::optional<work_span> figures() const noexcept override;
    void forget_threads() noexcept override { m_recorder->forget_threads(); }
    void write_files() noexcept override;

    void task_begins(scheduler& w, task_word task) noexcept override;
    void task_ends() noexcept override;
    [[nodiscard]] void* task_leaves(const suspension* wait) noexcept override;
    void task_returns(scheduler& w, void* left) noexcept override;
    void task_locks(const void* lock) noexcept override;
    void task_unlocks(const void* lock) noexcept override;
    void root_ends() noexcept override;
    void child_ends(const void* scope) noexcept override;
    void synced(const void* scope) noexcept override;
    void synced_outside(const void* scope) noexcept override;
    void joined(const spark* branch) noexcept override;
    [[nodiscard]] profile::mark* future_ends(const spark* task) noexcept override;
    [[nodiscard]] bool got(const profile::mark& m) noexcept override;

    [[nodiscard]] bool records() const noexcept override { return true; }
    void carries_foreign(const spark* carrier, bool comes) noexcept override;
    void foreign_queued(const void* task, const void* runs, const void* scope) noexcept override;
    void foreign_awaited() noexcept override;
    [[nodiscard]] void* foreign_begins(const void* task) noexcept override;
    void foreign_ends(void* caller) noexcept override;

private:
    void write_profile(std::ostream& out) const;
    void watch_locks(const scheduler& w) const noexcept;

    const std::string m_pool_name;
    const unsigned m_workers_asked;
    std::unique_ptr<trace::file> m_profile_file;
    std::unique_ptr<trace::file> m_graph_file; // declared before the recorder, which writes to it
    std::shared_ptr<profile::recorder> m_recorder;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
