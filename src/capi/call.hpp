// What C hands over, as a function of C++ that throws nothing.
#pragma once

#include <pilfer/detail/runtime.hpp>

#include "capi/task.hpp"

namespace pilfer {
inline namespace v0 {
namespace capi {

struct void_call {
    void (*function)(void*);
    void* argument;
    void operator()() const noexcept { capi::call(function, argument); }
};

/// Throws std::invalid_argument.
[[nodiscard]] inline priority level_of(int value) {
    static_assert(PILFER_HIGH == static_cast<int>(priority::high) &&
                  PILFER_NORMAL == static_cast<int>(priority::normal) &&
                  PILFER_LOW == static_cast<int>(priority::low));
    return detail::checked(static_cast<priority>(value >= PILFER_HIGH && value <= PILFER_LOW ? value : 255));
}

} // namespace capi
} // namespace v0
} // namespace pilfer
