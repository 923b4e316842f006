// Mutexes, condition variable, semaphore, latch, barrier, event and channel for C.
#include <pilfer/mutex.hpp>

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include <pilfer/barrier.hpp>
#include <pilfer/channel.hpp>
#include <pilfer/condition_variable.hpp>
#include <pilfer/event.hpp>
#include <pilfer/latch.hpp>
#include <pilfer/pilfer.h>
#include <pilfer/semaphore.hpp>
#include <pilfer/shared_mutex.hpp>

#include "capi/call.hpp"
#include "capi/error.hpp"
#include "capi_objects/objects.hpp"

namespace {

using c_nanoseconds = std::chrono::duration<std::uint64_t, std::nano>;
using semaphore = pilfer::counting_semaphore<>;

struct completion {
    void (*function)(void*);
    void* argument;
    void operator()() const noexcept {
        if (function != nullptr) {
            pilfer::capi::call(function, argument);
        }
    }
};
using barrier = pilfer::barrier<completion>;
// In C a token is the number that it holds.
static_assert(sizeof(barrier::arrival_token) == sizeof(std::uint64_t));

using pilfer::capi::in;
[[nodiscard]] pilfer::mutex& of(pilfer_mutex* m) noexcept { return in<pilfer::mutex>(m); }
[[nodiscard]] pilfer::shared_mutex& of(pilfer_shared_mutex* m) noexcept {
    return in<pilfer::shared_mutex>(m);
}
[[nodiscard]] barrier& of(pilfer_barrier* b) noexcept { return in<barrier>(b); }
[[nodiscard]] pilfer::condition_variable& of(pilfer_condition* c) noexcept {
    return in<pilfer::condition_variable>(c);
}
[[nodiscard]] semaphore& of(pilfer_semaphore* s) noexcept { return in<semaphore>(s); }
[[nodiscard]] pilfer::latch& of(pilfer_latch* l) noexcept { return in<pilfer::latch>(l); }
[[nodiscard]] pilfer::event& of(pilfer_event* e) noexcept { return in<pilfer::event>(e); }

/// Calls f(object). The call can fail only for NULL, or because the task is cancelled.
template <class Storage, class F>
int on(Storage* s, F f) noexcept {
    if (s == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] { f(of(s)); });
}
/// Calls f(object), which returns true if it succeeded in time.
template <class Storage, class F>
int in_time(Storage* s, F f) noexcept {
    if (s == nullptr) {
        return PILFER_EINVAL;
    }
    bool came = false;
    const int code = pilfer::capi::guarded([&] { came = f(of(s)); });
    return code == 0 && !came ? PILFER_ETIMEDOUT : code;
}
template <class Object, class Storage, class... Arguments>
int begin(Storage* s, Arguments... arguments) noexcept {
    if (s == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] { ::new (static_cast<void*>(s)) Object(arguments...); });
}
template <class Storage>
void finish(Storage* s) noexcept {
    if (s != nullptr) {
        pilfer::detail::object_names::forget(s);
        std::destroy_at(&of(s));
    }
}

/// Calls try_send(values), which returns false if the channel was closed or the time was over.
template <class Send>
int send(pilfer_channel* c, Send try_send) noexcept {
    if (c == nullptr) {
        return PILFER_EINVAL;
    }
    bool sent = false;
    const int code = pilfer::capi::guarded([&] { sent = try_send(c->values); });
    if (code != 0 || sent) {
        return code;
    }
    return c->values.closed() ? PILFER_ECLOSED : PILFER_ETIMEDOUT;
}

template <class Receive>
int receive(pilfer_channel* c, void** value, Receive try_receive) noexcept {
    if (c == nullptr || value == nullptr) {
        return PILFER_EINVAL;
    }
    std::optional<void*> got;
    if (const int code = pilfer::capi::guarded([&] { got = try_receive(c->values); }); code != 0) {
        return code;
    }
    const bool closed = !got && c->values.closed();
    if (closed) {
        // A value may have been sent between the end of the time and the close. No further value is sent
        // after the close, so PILFER_ECLOSED means that nothing is left.
        got = c->values.try_receive();
    }
    if (!got) {
        return closed ? PILFER_ECLOSED : PILFER_ETIMEDOUT;
    }
    *value = *got;
    return 0;
}

} // namespace

extern "C" {

int pilfer_mutex_init(pilfer_mutex* mutex) { return begin<pilfer::mutex>(mutex); }
void pilfer_mutex_destroy(pilfer_mutex* mutex) { finish(mutex); }
int pilfer_mutex_lock(pilfer_mutex* mutex) {
    return on(mutex, [](pilfer::mutex& m) { m.lock(); });
}
int pilfer_mutex_lock_cancellable(pilfer_mutex* mutex) {
    return on(mutex, [](pilfer::mutex& m) { m.lock_cancellable(); });
}
int pilfer_mutex_try_lock(pilfer_mutex* mutex) {
    return in_time(mutex, [](pilfer::mutex& m) { return m.try_lock(); });
}
int pilfer_mutex_lock_for(pilfer_mutex* mutex, uint64_t ns) {
    return in_time(mutex, [ns](pilfer::mutex& m) { return m.try_lock_for(c_nanoseconds(ns)); });
}
int pilfer_mutex_unlock(pilfer_mutex* mutex) {
    return on(mutex, [](pilfer::mutex& m) { m.unlock(); });
}

int pilfer_shared_mutex_init(pilfer_shared_mutex* mutex) { return begin<pilfer::shared_mutex>(mutex); }
void pilfer_shared_mutex_destroy(pilfer_shared_mutex* mutex) { finish(mutex); }
int pilfer_shared_mutex_lock(pilfer_shared_mutex* mutex) {
    return on(mutex, [](pilfer::shared_mutex& m) { m.lock(); });
}
int pilfer_shared_mutex_lock_cancellable(pilfer_shared_mutex* mutex) {
    return on(mutex, [](pilfer::shared_mutex& m) { m.lock_cancellable(); });
}
int pilfer_shared_mutex_try_lock(pilfer_shared_mutex* mutex) {
    return in_time(mutex, [](pilfer::shared_mutex& m) { return m.try_lock(); });
}
int pilfer_shared_mutex_lock_for(pilfer_shared_mutex* mutex, uint64_t ns) {
    return in_time(mutex, [ns](pilfer::shared_mutex& m) { return m.try_lock_for(c_nanoseconds(ns)); });
}
int pilfer_shared_mutex_unlock(pilfer_shared_mutex* mutex) {
    return on(mutex, [](pilfer::shared_mutex& m) { m.unlock(); });
}
int pilfer_shared_mutex_lock_shared(pilfer_shared_mutex* mutex) {
    return on(mutex, [](pilfer::shared_mutex& m) { m.lock_shared(); });
}
int pilfer_shared_mutex_lock_shared_cancellable(pilfer_shared_mutex* mutex) {
    return on(mutex, [](pilfer::shared_mutex& m) { m.lock_shared_cancellable(); });
}
int pilfer_shared_mutex_try_lock_shared(pilfer_shared_mutex* mutex) {
    return in_time(mutex, [](pilfer::shared_mutex& m) { return m.try_lock_shared(); });
}
int pilfer_shared_mutex_lock_shared_for(pilfer_shared_mutex* mutex, uint64_t ns) {
    return in_time(mutex, [ns](pilfer::shared_mutex& m) { return m.try_lock_shared_for(c_nanoseconds(ns)); });
}
int pilfer_shared_mutex_unlock_shared(pilfer_shared_mutex* mutex) {
    return on(mutex, [](pilfer::shared_mutex& m) { m.unlock_shared(); });
}

int pilfer_condition_init(pilfer_condition* condition) {
    return begin<pilfer::condition_variable>(condition);
}
void pilfer_condition_destroy(pilfer_condition* condition) { finish(condition); }
int pilfer_condition_wait(pilfer_condition* condition, pilfer_mutex* mutex) {
    if (mutex == nullptr) {
        return PILFER_EINVAL;
    }
    return on(condition, [mutex](pilfer::condition_variable& c) { c.wait(of(mutex)); });
}
int pilfer_condition_wait_for(pilfer_condition* condition, pilfer_mutex* mutex, uint64_t ns) {
    if (mutex == nullptr) {
        return PILFER_EINVAL;
    }
    return in_time(condition, [mutex, ns](pilfer::condition_variable& c) {
        return c.wait_for(of(mutex), c_nanoseconds(ns)) == pilfer::cv_status::no_timeout;
    });
}
int pilfer_condition_notify_one(pilfer_condition* condition) {
    return on(condition, [](pilfer::condition_variable& c) { c.notify_one(); });
}
int pilfer_condition_notify_all(pilfer_condition* condition) {
    return on(condition, [](pilfer::condition_variable& c) { c.notify_all(); });
}

int pilfer_semaphore_init(pilfer_semaphore* s, ptrdiff_t count) { return begin<semaphore>(s, count); }
void pilfer_semaphore_destroy(pilfer_semaphore* s) { finish(s); }
int pilfer_semaphore_release(pilfer_semaphore* s, ptrdiff_t update) {
    if (update < 0) {
        return PILFER_EINVAL;
    }
    return on(s, [update](semaphore& it) { it.release(update); });
}
int pilfer_semaphore_acquire(pilfer_semaphore* s) {
    return on(s, [](semaphore& it) { it.acquire(); });
}
int pilfer_semaphore_try_acquire(pilfer_semaphore* s) {
    return in_time(s, [](semaphore& it) { return it.try_acquire(); });
}
int pilfer_semaphore_acquire_for(pilfer_semaphore* s, uint64_t ns) {
    return in_time(s, [ns](semaphore& it) { return it.try_acquire_for(c_nanoseconds(ns)); });
}

int pilfer_latch_init(pilfer_latch* latch, ptrdiff_t expected) {
    return begin<pilfer::latch>(latch, expected);
}
void pilfer_latch_destroy(pilfer_latch* latch) { finish(latch); }
int pilfer_latch_count_down(pilfer_latch* latch, ptrdiff_t update) {
    if (update < 0) {
        return PILFER_EINVAL;
    }
    return on(latch, [update](pilfer::latch& l) { l.count_down(update); });
}
int pilfer_latch_wait(pilfer_latch* latch) {
    return on(latch, [](pilfer::latch& l) { l.wait(); });
}
int pilfer_latch_try_wait(pilfer_latch* latch) {
    return in_time(latch, [](pilfer::latch& l) { return l.try_wait(); });
}
int pilfer_latch_wait_for(pilfer_latch* latch, uint64_t ns) {
    return in_time(latch, [ns](pilfer::latch& l) { return l.wait_for(c_nanoseconds(ns)); });
}

int pilfer_barrier_init(pilfer_barrier* barrier, ptrdiff_t expected, void (*function)(void*), void* arg) {
    return begin<::barrier>(barrier, expected, completion{function, arg});
}
void pilfer_barrier_destroy(pilfer_barrier* barrier) { finish(barrier); }
int pilfer_barrier_arrive(pilfer_barrier* barrier, ptrdiff_t update, uint64_t* phase) {
    if (update < 1) {
        return PILFER_EINVAL;
    }
    return on(barrier, [=](::barrier& b) {
        const auto token = std::bit_cast<uint64_t>(b.arrive(update));
        if (phase != nullptr) {
            *phase = token;
        }
    });
}
int pilfer_barrier_wait(pilfer_barrier* barrier, uint64_t phase) {
    return on(barrier,
              [phase](const ::barrier& b) { b.wait(std::bit_cast<::barrier::arrival_token>(phase)); });
}
int pilfer_barrier_wait_for(pilfer_barrier* barrier, uint64_t phase, uint64_t ns) {
    return in_time(barrier, [=](const ::barrier& b) {
        return b.wait_for(std::bit_cast<::barrier::arrival_token>(phase), c_nanoseconds(ns));
    });
}
int pilfer_barrier_arrive_and_wait(pilfer_barrier* barrier) {
    return on(barrier, [](::barrier& b) { b.arrive_and_wait(); });
}
int pilfer_barrier_arrive_and_drop(pilfer_barrier* barrier) {
    return on(barrier, [](::barrier& b) { b.arrive_and_drop(); });
}

int pilfer_event_init(pilfer_event* event, int set) { return begin<pilfer::event>(event, set != 0); }
void pilfer_event_destroy(pilfer_event* event) { finish(event); }
int pilfer_event_set(pilfer_event* event) {
    return on(event, [](pilfer::event& e) { e.set(); });
}
int pilfer_event_reset(pilfer_event* event) {
    return on(event, [](pilfer::event& e) { e.reset(); });
}
int pilfer_event_is_set(pilfer_event* event) {
    if (event == nullptr) {
        return PILFER_EINVAL;
    }
    return of(event).is_set() ? 1 : 0;
}
int pilfer_event_wait(pilfer_event* event) {
    return on(event, [](pilfer::event& e) { e.wait(); });
}
int pilfer_event_wait_for(pilfer_event* event, uint64_t ns) {
    return in_time(event, [ns](pilfer::event& e) { return e.wait_for(c_nanoseconds(ns)); });
}

int pilfer_channel_new(pilfer_channel** out, size_t capacity) {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    return pilfer::capi::guarded([&] { *out = new pilfer_channel(capacity); });
}
void pilfer_channel_free(pilfer_channel* channel) {
    pilfer::detail::object_names::forget(channel);
    delete channel;
}
int pilfer_channel_send(pilfer_channel* channel, void* value) {
    return send(channel, [value](auto& c) { return c.send(value); });
}
int pilfer_channel_try_send(pilfer_channel* channel, void* value) {
    return send(channel, [value](auto& c) { return c.try_send(value); });
}
int pilfer_channel_send_for(pilfer_channel* channel, void* value, uint64_t ns) {
    return send(channel, [value, ns](auto& c) { return c.try_send_for(value, c_nanoseconds(ns)); });
}
int pilfer_channel_receive(pilfer_channel* channel, void** value) {
    return receive(channel, value, [](auto& c) { return c.receive(); });
}
int pilfer_channel_try_receive(pilfer_channel* channel, void** value) {
    return receive(channel, value, [](auto& c) { return c.try_receive(); });
}
int pilfer_channel_receive_for(pilfer_channel* channel, void** value, uint64_t ns) {
    return receive(channel, value, [ns](auto& c) { return c.try_receive_for(c_nanoseconds(ns)); });
}
int pilfer_channel_close(pilfer_channel* channel) {
    if (channel == nullptr) {
        return PILFER_EINVAL;
    }
    channel->values.close();
    return 0;
}
int pilfer_channel_closed(pilfer_channel* channel) {
    if (channel == nullptr) {
        return PILFER_EINVAL;
    }
    return channel->values.closed() ? 1 : 0;
}
size_t pilfer_channel_size(pilfer_channel* channel) {
    return channel != nullptr ? channel->values.size() : 0;
}

int pilfer_mutex_set_name(const pilfer_mutex* mutex, const char* name) {
    return pilfer::capi::set_name(mutex, name);
}
int pilfer_shared_mutex_set_name(const pilfer_shared_mutex* mutex, const char* name) {
    return pilfer::capi::set_name(mutex, name);
}
int pilfer_condition_set_name(const pilfer_condition* condition, const char* name) {
    return pilfer::capi::set_name(condition, name);
}
int pilfer_semaphore_set_name(const pilfer_semaphore* semaphore, const char* name) {
    return pilfer::capi::set_name(semaphore, name);
}
int pilfer_latch_set_name(const pilfer_latch* latch, const char* name) {
    return pilfer::capi::set_name(latch, name);
}
int pilfer_barrier_set_name(const pilfer_barrier* barrier, const char* name) {
    return pilfer::capi::set_name(barrier, name);
}
int pilfer_event_set_name(const pilfer_event* event, const char* name) {
    return pilfer::capi::set_name(event, name);
}
int pilfer_channel_set_name(const pilfer_channel* channel, const char* name) {
    return pilfer::capi::set_name(channel, name);
}

} // extern "C"
