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

} // namespace capi
} // namespace v0
} // namespace pilfer
