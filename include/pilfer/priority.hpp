// What is to begin first.
#pragma once

#include <cstdint>

#include <pilfer/detail/platform.hpp>

namespace pilfer {
inline namespace v0 {

/// Of a submission: submit(), async() and run() that name one. A worker that looks at the queue takes the
/// oldest of the highest level there is; of 64 that it takes one is of the lowest level there is, and one is
/// looked for from normal on downwards, so that no level starves while workers come to look. A submission
/// that names no level has that of the task that submits it, whatever its pool, and normal on other threads.
/// What has begun is not ordered: its children are in deques, which belong to nobody's level, and a frame
/// that goes on goes before whatever has not begun. A task that runs makes way for submissions of its own
/// level and above only; so one that never ends keeps lower ones from its worker.
enum class priority : std::uint8_t {
    high,
    normal,
    low,
};

namespace detail {

inline constexpr unsigned priorities = 3;
/// Throws std::invalid_argument for one that is none.
PILFER_API priority checked(priority level);

} // namespace detail
} // namespace v0
} // namespace pilfer
