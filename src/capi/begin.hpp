// What C begins and holds a handle of: timers, subscriptions.
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

/// For what runs again and again: false ends it.
struct bool_call {
    int (*function)(void*);
    void* argument;
    [[nodiscard]] bool operator()() const noexcept { return capi::call(function, argument) != 0; }
};

/// start(pool) gives the handle of what it began, which goes to *out. `complete`: all that it needs is there.
template <class Handle, class Start>
int begin_in(pilfer_pool* p, bool complete, Handle** out, Start start) noexcept {
    if (out != nullptr) {
        *out = nullptr;
    }
    if (!complete) {
        return PILFER_EINVAL;
    }
    return capi::guarded([&] {
        // First what may fail: what has been started cannot be taken back unseen.
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
