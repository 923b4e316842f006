// Tasks with weights: announcing one, and what the deque needs for the first of them.
#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

bool scheduler::announce_weighted(task_word task, std::uint64_t weight, way may) noexcept {
    (void)push_weighted(task, weight);
    return follow_push(task, may);
}

/// True: as push().
bool scheduler::push_weighted(task_word task, std::uint64_t weight) noexcept {
    auto own = deque.owner();
    if (!own.can_weigh() && !make_scales()) {
        return own.push(task); // without memory it weighs 1, and the deque does not weigh
    }
    return own.push_weighted(task, weight);
}

/// The first task with a weight: a ring of the same size that has entries for them.
bool scheduler::make_scales() noexcept {
    auto own = deque.owner();
    if (own.capacity() > most_weighed) {
        return false;
    }
    ring<std_atom>* with = make_ring(own.capacity(), true);
    if (with == nullptr) {
        return false;
    }
    own.grow(with);
    return true;
}

/// What has just been taken off the own deque goes back.
bool scheduler::announce_again(task_word task, std::uint64_t weight, way may) noexcept {
    return detail::announce_weighted(this, task, weight, may);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
