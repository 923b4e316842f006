// Time, and calls that take it, for C.
#include <pilfer/timer.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include <pilfer/blocking.hpp>
#include <pilfer/pilfer.h>
#include <pilfer/yield.hpp>

#include "capi/call.hpp"
#include "capi/error.hpp"

struct pilfer_timer {
    pilfer::timer handle;
};

namespace {

using c_nanoseconds = std::chrono::duration<std::uint64_t, std::nano>;

/// f(arg) for every(): false ends it.
struct bool_call {
    int (*function)(void*);
    void* argument;
    [[nodiscard]] bool operator()() const noexcept { return pilfer::capi::call(function, argument) != 0; }
};

/// start(pool) gives the handle of what it began.
template <class Start>
int begin_timer(pilfer_pool* p, bool has_function, pilfer_timer** out, Start start) noexcept {
    if (out != nullptr) {
        *out = nullptr;
    }
    if (!has_function) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] {
        // First what may fail: a timer that has been started cannot be taken back unseen.
        auto made = std::make_unique<pilfer_timer>();
        made->handle = start(p != nullptr ? reinterpret_cast<pilfer::pool*>(p)->core()
                                          : pilfer::detail::own_or_common());
        if (out != nullptr) {
            *out = made.release();
        }
    });
}

} // namespace

extern "C" {

void pilfer_sleep_for(uint64_t ns) { pilfer::sleep_for(c_nanoseconds(ns)); }

void pilfer_yield(void) { pilfer::yield(); }

int pilfer_blocking(void (*f)(void*), void* arg) {
    if (f == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] { pilfer::blocking(pilfer::capi::void_call{f, arg}); });
}

int pilfer_after(pilfer_pool* pool, uint64_t ns, void (*f)(void*), void* arg, pilfer_timer** out) {
    return begin_timer(pool, f != nullptr, out, [&](pilfer::detail::pool_core& core) {
        return pilfer::detail::start_timer(core, pilfer::capi::void_call{f, arg},
                                           pilfer::detail::after(c_nanoseconds(ns)), 0);
    });
}

int pilfer_every(pilfer_pool* pool, uint64_t ns, int (*f)(void*), void* arg, pilfer_timer** out) {
    return begin_timer(pool, f != nullptr, out, [&](pilfer::detail::pool_core& core) {
        return pilfer::detail::start_every(core, c_nanoseconds(ns), bool_call{f, arg});
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
