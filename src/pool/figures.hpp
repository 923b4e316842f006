// Sums of the counts of workers, for reports.
#pragma once

#include <cstdint>

#include <pilfer/counters.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class scheduler;
class team;

/// True if every worker sleeps, and every guest.
[[nodiscard]] bool everybody_rests(const team& t) noexcept;

/// Sums over the workers of a team.
namespace figures {
[[nodiscard]] counters sum(const team& t) noexcept;
[[nodiscard]] counters of(const scheduler& w) noexcept;
/// Suspended contexts; exact while all workers sleep.
[[nodiscard]] std::uint64_t suspended(const team& t) noexcept;
/// Coroutines that wait for something of this library; exact while all workers sleep.
[[nodiscard]] std::uint64_t waiting_coroutines(const team& t) noexcept;
/// Grows whenever a worker begins to run a task. Two equal values: no task began in between.
[[nodiscard]] std::uint64_t progress(const team& t) noexcept;
} // namespace figures

} // namespace detail
} // namespace v0
} // namespace pilfer
