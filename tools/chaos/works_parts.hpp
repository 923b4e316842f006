// Shared by the works.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "works.hpp"

namespace tools {

/// A mark for each of n tasks; check() wants each exactly once.
class marks {
public:
    explicit marks(std::uint64_t n) : m_marks(std::make_unique<std::atomic<std::uint8_t>[]>(n)), m_size(n) {}
    void set(std::uint64_t i) noexcept { m_marks[i].fetch_add(1, std::memory_order_relaxed); }
    [[nodiscard]] std::uint8_t at(std::uint64_t i) const noexcept {
        return m_marks[i].load(std::memory_order_relaxed);
    }
    /// Throws wrong_result that names the first one that did not run once.
    void check(char const* what) const;

private:
    std::unique_ptr<std::atomic<std::uint8_t>[]> m_marks;
    std::uint64_t m_size;
};

// Trees, loops, nesting.
std::uint64_t work_join(bench& b);
std::uint64_t work_spawn(bench& b);
std::uint64_t work_fork(bench& b);
std::uint64_t work_mixed(bench& b);
std::uint64_t work_flat(bench& b);
std::uint64_t work_loops(bench& b);
std::uint64_t work_nesting(bench& b);
// Exceptions.
std::uint64_t work_join_throws(bench& b);
std::uint64_t work_scope_throws(bench& b);
// Futures, pools, sleep.
std::uint64_t work_futures(bench& b);
std::uint64_t work_foreign(bench& b);
std::uint64_t work_pools(bench& b);
std::uint64_t work_burst(bench& b);
std::uint64_t work_meeting(bench& b);

} // namespace tools
