// What stands for the pools of a program whose schedules are explored as a whole: see src/check.
#pragma once

#include <pilfer/options.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

#if defined(PILFER_TEST)

class pool_stand_in {
public:
    /// A pool is made. Throws usage_error.
    [[nodiscard]] virtual pool_core& begins(const pool& p, const options& checked) = 0;
    /// Null: the pool is a usual one.
    [[nodiscard]] virtual const options* settings(const pool& p) const noexcept = 0;
    /// Waits until no task is outstanding.
    virtual void drains() noexcept = 0;
    /// A pool is destroyed, and waits for its tasks.
    virtual void ends(const pool& p) noexcept = 0;

protected:
    ~pool_stand_in() = default;
};

/// Null: pools are usual ones. Defined by src/check, whose constructor is thus in each program with a pool.
extern pool_stand_in* stand_in;

/// The program's options for a pool that another one stands for; null: it is a usual one.
[[nodiscard]] inline const options* stood_for(const pool& p) noexcept {
    return stand_in != nullptr ? stand_in->settings(p) : nullptr;
}

#endif

} // namespace detail
} // namespace v0
} // namespace pilfer
