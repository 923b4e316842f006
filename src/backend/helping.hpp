// Marks a thread that runs code of the user which the end of a pool waits for.
#pragma once

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

/// While an object exists, its thread counts as being inside a job of blocking() of pool `p`. Calls of
/// on_start, on_stop, advice and the condition of run_until() count as such jobs.
class helping {
public:
    explicit helping(const pool_core& p) noexcept;
    helping(const helping&) = delete;
    helping& operator=(const helping&) = delete;
    ~helping();

    /// True if the calling thread is inside a job of pool `p`.
    [[nodiscard]] static bool is_for(const pool_core& p) noexcept;
    /// True if the calling thread is inside a job of any pool.
    [[nodiscard]] static bool is_for_any() noexcept;

private:
    const pool_core* const m_before;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
