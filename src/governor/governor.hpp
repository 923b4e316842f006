// Looks at what the system gives a pool, and lets fewer or more of its workers take work. Design: README.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "governor/rule.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

class pool_governor {
public:
    struct sources {
        bool measures = false;              ///< waiting for CPUs, by the rule
        bool follows_quota = false;         ///< and by what a pool of automatic size would have now
        std::function<unsigned()> advice{}; ///< 0: no opinion
        std::string advice_file{};          ///< a number; none, or no file: no opinion
        std::string root{};                 ///< of the files of the system, for tests
    };
    static constexpr std::uint64_t each = 50'000'000; // ns
    static constexpr unsigned no_limit = UINT32_MAX;

    pool_governor(pool_core& p, sources s) : m_pool(p), m_from(std::move(s)) {}
    pool_governor(const pool_governor&) = delete;
    pool_governor& operator=(const pool_governor&) = delete;
    ~pool_governor() { stop(); }

    /// From now on a thread looks, as long as the pool works. False: no thread can be made.
    [[nodiscard]] bool start() noexcept;
    void stop() noexcept;
    /// One look, at `now` (ns). By that thread; by tests, which start none.
    void look(std::uint64_t now);
    /// A worker has been woken.
    void work_begins() noexcept;
    /// What `root` has to say is enough to measure by.
    [[nodiscard]] static bool can_measure(const std::string& root);

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
    unsigned m_limit = 0; // that was granted; 0: nothing yet
    std::uintptr_t m_thread = 0;
    std::atomic<std::uint32_t> m_rests{0}; // 1: the pool sleeps, and so does this thread, on this word
    std::atomic<std::uint32_t> m_stop{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
