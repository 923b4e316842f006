// Functions and arguments of C, as functions of C++ that throw nothing.
#pragma once

#include <pilfer/detail/task/task_options.hpp>

#include "capi/task.hpp"

namespace pilfer {
inline namespace v0 {
namespace capi {

struct void_call {
    void (*function)(void*);
    void* argument;
    void operator()() const noexcept { capi::call(function, argument); }
};

/// Maps a value out of range to one that is refused.
[[nodiscard]] inline priority level_of(int value) noexcept {
    switch (value) {
    case PILFER_AUTOMATIC:
        return priority::automatic;
    case PILFER_HIGH:
        return priority::high;
    case PILFER_NORMAL:
        return priority::normal;
    case PILFER_LOW:
        return priority::low;
    default:
        return static_cast<priority>(255);
    }
}
/// Throws std::invalid_argument for an empty name: in C no name is NULL.
[[nodiscard]] inline task_options options_of(const pilfer_task_options* o) {
    task_options options;
    if (o != nullptr) {
        options.priority = level_of(o->priority);
        options.weight = o->weight != 0 ? o->weight : 1;
        if (o->name != nullptr) {
            options.name = o->name;
            (void)detail::checked_name(options.name);
        }
    }
    return options;
}

} // namespace capi
} // namespace v0
} // namespace pilfer
