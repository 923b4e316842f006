// Time, and calls that take it, for C.
#include <pilfer/timer.hpp>

#include <chrono>
#include <cstdint>

#include <pilfer/blocking.hpp>
#include <pilfer/pilfer.h>
#include <pilfer/yield.hpp>

#include "capi/call.hpp"
#include "capi/error.hpp"
#include "capi_objects/begin.hpp"

struct pilfer_timer {
    pilfer::timer handle;
};

namespace {

using c_nanoseconds = std::chrono::duration<std::uint64_t, std::nano>;

} // namespace

extern "C" {

void pilfer_sleep_for(uint64_t ns) {
    (void)pilfer::capi::guarded([&] { pilfer::sleep_for(c_nanoseconds(ns)); });
}

void pilfer_yield(void) { pilfer::yield(); }

int pilfer_blocking(void (*f)(void*), void* arg) {
    if (f == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] { pilfer::blocking(pilfer::capi::void_call{f, arg}); });
}

int pilfer_after(pilfer_pool* pool, uint64_t ns, void (*f)(void*), void* arg, pilfer_timer** out) {
    return pilfer::capi::begin_in(pool, f != nullptr, out, [&](pilfer::detail::pool_core& core) {
        return pilfer::detail::start_timer(core, pilfer::capi::void_call{f, arg},
                                           pilfer::detail::after(c_nanoseconds(ns)), 0);
    });
}

int pilfer_every(pilfer_pool* pool, uint64_t ns, int (*f)(void*), void* arg, pilfer_timer** out) {
    return pilfer::capi::begin_in(pool, f != nullptr, out, [&](pilfer::detail::pool_core& core) {
        return pilfer::detail::start_every(core, c_nanoseconds(ns), pilfer::capi::bool_call{f, arg});
    });
}

int pilfer_timer_cancel(pilfer_timer* timer) {
    if (timer == nullptr) {
        return PILFER_EINVAL;
    }
    return timer->handle.cancel() ? 1 : 0;
}

int pilfer_timer_over(const pilfer_timer* timer) {
    if (timer == nullptr) {
        return PILFER_EINVAL;
    }
    return timer->handle.over() ? 1 : 0;
}

void pilfer_timer_free(pilfer_timer* timer) { delete timer; }

} // extern "C"
