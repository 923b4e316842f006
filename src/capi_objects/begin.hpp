// Timers and subscriptions, whose handles C holds.
#pragma once

#include <memory>

#include <pilfer/pilfer.h>
#include <pilfer/pool.hpp>
#include <pilfer/timer.hpp>

#include "capi/error.hpp"
#include "capi/task.hpp"

namespace pilfer {
inline namespace v0 {
namespace capi {

/// A call that is repeated until it returns false.
struct bool_call {
    int (*function)(void*);
    void* argument;
    [[nodiscard]] bool operator()() const noexcept { return capi::call(function, argument) != 0; }
};

/// Stores the handle that start(pool) returns in *out. `complete`: all arguments are there.
template <class Handle, class Start>
int begin_in(pilfer_pool* p, bool complete, Handle** out, Start start) noexcept {
    if (out != nullptr) {
        *out = nullptr;
    }
    if (!complete) {
        return PILFER_EINVAL;
    }
    return capi::guarded([&] {
        // The step that may fail comes first: a started object cannot be stopped unnoticed.
        auto made = std::make_unique<Handle>();
        made->handle =
            start(p != nullptr ? reinterpret_cast<pool*>(p)->core() : pilfer::detail::own_or_common());
        if (out != nullptr) {
            *out = made.release();
        }
    });
}

} // namespace capi
} // namespace v0
} // namespace pilfer
