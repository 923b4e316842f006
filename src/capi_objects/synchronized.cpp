// Objects that are reached only by calls, for C.
#include <pilfer/synchronized.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include <pilfer/monitor.hpp>
#include <pilfer/pilfer.h>

#include "capi/error.hpp"
#include "capi/task.hpp"
#include "capi_objects/objects.hpp"

namespace {

using alone = pilfer::synchronized<void*>;
using shared = pilfer::synchronized<void*, pilfer::shared_mutex>;
using c_nanoseconds = std::chrono::duration<std::uint64_t, std::nano>;

} // namespace

struct pilfer_synchronized {
    template <class Kind>
    pilfer_synchronized(std::in_place_type_t<Kind> kind, void* v) : value(v), object(kind, v) {}
    void* const value; // for pilfer_call_all, without a visit
    std::variant<alone, shared> object;
};

struct pilfer_monitor {
    explicit pilfer_monitor(void* v) : object(v) {}
    pilfer::monitor<void*> object;
};

namespace {

/// A function of C, called with the pointer that the object holds.
struct changing {
    void (*function)(void*, void*);
    void* argument;
    void operator()(void*& value) const noexcept { pilfer::capi::call(function, value, argument); }
};
struct reading {
    void (*function)(const void*, void*);
    void* argument;
    void operator()(void* const& value) const noexcept {
        pilfer::capi::call(function, static_cast<const void*>(value), argument);
    }
};
struct condition {
    int (*function)(const void*, void*);
    void* argument;
    bool operator()(void* const& value) const noexcept {
        return pilfer::capi::call(function, static_cast<const void*>(value), argument) != 0;
    }
};

template <class Kind>
int make(pilfer_synchronized** out, void* value) noexcept {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    return pilfer::capi::guarded([&] { *out = new pilfer_synchronized(std::in_place_type<Kind>, value); });
}

/// Calls f(object). `complete`: all arguments of the call are there.
template <class F>
int on(pilfer_synchronized* o, bool complete, F f) noexcept {
    if (o == nullptr || !complete) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] { std::visit(f, o->object); });
}
template <class F>
int on(pilfer_monitor* o, bool complete, F f) noexcept {
    if (o == nullptr || !complete) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] { f(o->object); });
}
/// Calls f(object), which returns an optional.
template <class Handle, class F>
int in_time(Handle* o, bool complete, F f) noexcept {
    bool took_place = false;
    const int code = on(o, complete, [&](auto& object) { took_place = f(object).has_value(); });
    return code == 0 && !took_place ? PILFER_ETIMEDOUT : code;
}

/// An array of n elements, the first few without an allocation.
template <class T>
class row {
public:
    explicit row(std::size_t n) : m_more(n > m_few.size() ? std::make_unique<T[]>(n) : nullptr) {}
    [[nodiscard]] T* get() noexcept { return m_more != nullptr ? m_more.get() : m_few.data(); }

private:
    std::array<T, 8> m_few{};
    std::unique_ptr<T[]> m_more;
};

} // namespace

extern "C" {

int pilfer_synchronized_new(pilfer_synchronized** out, void* value) { return make<alone>(out, value); }
int pilfer_synchronized_new_shared(pilfer_synchronized** out, void* value) {
    return make<shared>(out, value);
}
void pilfer_synchronized_free(pilfer_synchronized* object) {
    pilfer::detail::object_names::forget(object);
    delete object;
}
int pilfer_synchronized_set_name(const pilfer_synchronized* object, const char* name) {
    return pilfer::capi::set_name(object, name);
}

int pilfer_synchronized_call(pilfer_synchronized* object, void (*f)(void*, void*), void* arg) {
    return on(object, f != nullptr, [&](auto& o) { o.call(changing{f, arg}); });
}
int pilfer_synchronized_read(pilfer_synchronized* object, void (*f)(const void*, void*), void* arg) {
    return on(object, f != nullptr, [&](const auto& o) { o.read(reading{f, arg}); });
}
int pilfer_synchronized_try_call(pilfer_synchronized* object, void (*f)(void*, void*), void* arg) {
    return in_time(object, f != nullptr, [&](auto& o) { return o.try_call(changing{f, arg}); });
}
int pilfer_synchronized_call_for(pilfer_synchronized* object, void (*f)(void*, void*), void* arg,
                                 uint64_t ns) {
    return in_time(object, f != nullptr, [&](auto& o) {
        return o.try_call_for(c_nanoseconds(ns), changing{f, arg});
    });
}

int pilfer_call_all(pilfer_synchronized* const* objects, size_t n, void (*f)(void* const*, void*),
                    void* arg) {
    if (objects == nullptr || n == 0 || f == nullptr) {
        return PILFER_EINVAL;
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (objects[i] == nullptr) {
            return PILFER_EINVAL;
        }
    }
    return pilfer::capi::guarded([&] {
        row<pilfer::detail::synchronized_part> parts(n);
        row<void*> values(n);
        for (std::size_t i = 0; i < n; ++i) {
            parts.get()[i] = std::visit([](auto& o) { return pilfer::detail::synchronized_access::part(o); },
                                        objects[i]->object);
            values.get()[i] = objects[i]->value;
        }
        pilfer::detail::enter_all(parts.get(), n);
        pilfer::capi::call(f, static_cast<void* const*>(values.get()), arg);
        pilfer::detail::leave_all(parts.get(), n);
    });
}

int pilfer_monitor_new(pilfer_monitor** out, void* value) {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    return pilfer::capi::guarded([&] { *out = new pilfer_monitor(value); });
}
void pilfer_monitor_free(pilfer_monitor* object) {
    pilfer::detail::object_names::forget(object);
    delete object;
}
int pilfer_monitor_set_name(const pilfer_monitor* object, const char* name) {
    return pilfer::capi::set_name(object, name);
}

int pilfer_monitor_call(pilfer_monitor* object, void (*f)(void*, void*), void* arg) {
    return on(object, f != nullptr, [&](auto& o) { o.call(changing{f, arg}); });
}
int pilfer_monitor_read(pilfer_monitor* object, void (*f)(const void*, void*), void* arg) {
    return on(object, f != nullptr, [&](const auto& o) { o.read(reading{f, arg}); });
}
int pilfer_monitor_call_when(pilfer_monitor* object, int (*ready)(const void*, void*),
                             void (*f)(void*, void*), void* arg) {
    return on(object, ready != nullptr && f != nullptr, [&](auto& o) {
        o.call_when(condition{ready, arg}, changing{f, arg});
    });
}
int pilfer_monitor_try_call_when(pilfer_monitor* object, int (*ready)(const void*, void*),
                                 void (*f)(void*, void*), void* arg) {
    return in_time(object, ready != nullptr && f != nullptr, [&](auto& o) {
        return o.try_call_when(condition{ready, arg}, changing{f, arg});
    });
}
int pilfer_monitor_call_when_for(pilfer_monitor* object, int (*ready)(const void*, void*),
                                 void (*f)(void*, void*), void* arg, uint64_t ns) {
    return in_time(object, ready != nullptr && f != nullptr, [&](auto& o) {
        return o.try_call_when_for(c_nanoseconds(ns), condition{ready, arg}, changing{f, arg});
    });
}

} // extern "C"
