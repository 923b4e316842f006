// Measures the CPU time that a pool gets, and changes how many of its workers take work. Design: README.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "governor/rule.hpp"
#include "task/service.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

class pool_governor final : public service {
public:
    struct sources {
        bool measures = false;              ///< The rule measures waits for CPUs.
        bool follows_quota = false;         ///< The limit is the size that an automatic pool would have now.
        std::function<unsigned()> advice{}; ///< Returns a limit; 0: no limit.
        std::string advice_file{};          ///< Contains a limit; no number, or no file: no limit.
        std::string root{};                 ///< Folder of the system's files, for tests.
    };
    static constexpr std::uint64_t each = 50'000'000; // ns
    static constexpr unsigned no_limit = UINT32_MAX;

    pool_governor(pool_core& p, sources s) : m_pool(p), m_from(std::move(s)) {}
    pool_governor(const pool_governor&) = delete;
    pool_governor& operator=(const pool_governor&) = delete;
    ~pool_governor() { stop(); }

    /// Starts a thread that looks while the pool works. False: no thread can be made.
    [[nodiscard]] bool start() noexcept;
    void stop() noexcept;
    /// One look, at `now` (ns). Called by the governor's thread, or by tests that start no thread.
    void look(std::uint64_t now);
    void work_begins(scheduler& w) noexcept override;

private:
    struct seen {
        std::uint64_t thread = 0;
        std::uint64_t waited = 0;
    };
    void run() noexcept;
    void see(std::uint64_t now) noexcept;
    [[nodiscard]] unsigned most() const;
    [[nodiscard]] std::uint64_t waited_since(unsigned active);

    pool_core& m_pool;
    const sources m_from;
    governor::rule m_rule;
    std::vector<seen> m_seen; // by worker
    std::uint64_t m_last = 0; // ns; 0: nothing has been seen
    std::optional<std::uint64_t> m_stalled;
    unsigned m_limit = 0; // the last granted limit; 0: none yet
    std::uintptr_t m_thread = 0;
    std::atomic<std::uint32_t> m_rests{0}; // 1: the pool sleeps, and so does this thread, on this word
    std::atomic<std::uint32_t> m_stop{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
