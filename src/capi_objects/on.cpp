// Functions that run at each event, for C.
#include <pilfer/on.hpp>

#include <system_error>

#include <pilfer/pilfer.h>

#include "capi/error.hpp"
#include "capi_objects/begin.hpp"
#include "capi_objects/objects.hpp"

struct pilfer_subscription {
    pilfer::subscription handle;
};

namespace {

/// Calls f(value, arg) for each value of a channel, until f returns false.
struct received_call {
    int (*function)(void*, void*);
    void* argument;
    [[nodiscard]] bool operator()(void* value) const noexcept {
        return pilfer::capi::call(function, value, argument) != 0;
    }
};

int on_descriptor(pilfer_pool* pool, pilfer::io::when what, pilfer::capi::bool_call f,
                  pilfer_subscription** out) noexcept {
    using made = pilfer::detail::plain_reaction<pilfer::detail::descriptor_reaction, pilfer::capi::bool_call>;
    int refused = 0;
    const auto start = [&](pilfer::detail::pool_core& core) {
        try {
            return pilfer::detail::started(core, new made(what, f));
        } catch (const std::system_error& e) { // of the descriptor: more precise than PILFER_ESYSTEM
            refused = pilfer::capi::code_of(e.code());
            throw;
        }
    };
    const int code = pilfer::capi::begin_in(pool, f.function != nullptr, out, start);
    return refused != 0 ? refused : code;
}

} // namespace

extern "C" {

int pilfer_on_event(pilfer_pool* pool, pilfer_event* event, int (*f)(void*), void* arg,
                    pilfer_subscription** out) {
    using made = pilfer::detail::plain_reaction<pilfer::detail::event_reaction, pilfer::capi::bool_call>;
    return pilfer::capi::begin_in(
        pool, event != nullptr && f != nullptr, out, [&](pilfer::detail::pool_core& core) {
            return pilfer::detail::started(
                core, new made(pilfer::capi::in<pilfer::event>(event), pilfer::capi::bool_call{f, arg}));
        });
}

int pilfer_on_channel(pilfer_pool* pool, pilfer_channel* channel, int (*f)(void*, void*), void* arg,
                      pilfer_subscription** out) {
    using made = pilfer::detail::channel_reaction<void*, received_call>;
    return pilfer::capi::begin_in(
        pool, channel != nullptr && f != nullptr, out, [&](pilfer::detail::pool_core& core) {
            return pilfer::detail::started(core, new made(channel->values, received_call{f, arg}));
        });
}

int pilfer_on_readable(pilfer_pool* pool, int fd, int (*f)(void*), void* arg, pilfer_subscription** out) {
    return on_descriptor(pool, pilfer::io::readable(fd), {f, arg}, out);
}

int pilfer_on_writable(pilfer_pool* pool, int fd, int (*f)(void*), void* arg, pilfer_subscription** out) {
    return on_descriptor(pool, pilfer::io::writable(fd), {f, arg}, out);
}

int pilfer_subscription_cancel(pilfer_subscription* subscription) {
    if (subscription == nullptr) {
        return PILFER_EINVAL;
    }
    return subscription->handle.cancel() ? 1 : 0;
}

int pilfer_subscription_over(const pilfer_subscription* subscription) {
    if (subscription == nullptr) {
        return PILFER_EINVAL;
    }
    return subscription->handle.over() ? 1 : 0;
}

void pilfer_subscription_free(pilfer_subscription* subscription) { delete subscription; }

} // extern "C"
