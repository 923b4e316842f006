// Objects that are reached by calls only, for C.
#include <pilfer/locked.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include <pilfer/pilfer.h>
#include <pilfer/queued.hpp>

#include "capi/error.hpp"
#include "capi/task.hpp"

namespace {

using alone = pilfer::locked<void*>;
using shared = pilfer::locked<void*, pilfer::shared_mutex>;
using c_nanoseconds = std::chrono::duration<std::uint64_t, std::nano>;

} // namespace

struct pilfer_locked {
    template <class Kind>
    pilfer_locked(std::in_place_type_t<Kind> kind, void* v) : value(v), object(kind, v) {}
    void* const value; // for pilfer_call_all, without a visit
    std::variant<alone, shared> object;
};

struct pilfer_queued {
    explicit pilfer_queued(void* v) : object(v) {}
    pilfer::queued<void*> object;
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
int make(pilfer_locked** out, void* value) noexcept {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    return pilfer::capi::guarded([&] { *out = new pilfer_locked(std::in_place_type<Kind>, value); });
}

/// `complete`: all that the call needs is there.
template <class F>
int on(pilfer_locked* o, bool complete, F f) noexcept {
    if (o == nullptr || !complete) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] { std::visit(f, o->object); });
}
template <class F>
int on(pilfer_queued* o, bool complete, F f) noexcept {
    if (o == nullptr || !complete) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] { f(o->object); });
}
/// The same for a call that gives an optional.
template <class Handle, class F>
int in_time(Handle* o, bool complete, F f) noexcept {
    bool took_place = false;
    const int code = on(o, complete, [&](auto& object) { took_place = f(object).has_value(); });
    return code == 0 && !took_place ? PILFER_ETIMEDOUT : code;
}

/// n of them, the first few without an allocation.
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

int pilfer_locked_new(pilfer_locked** out, void* value) { return make<alone>(out, value); }
int pilfer_locked_new_shared(pilfer_locked** out, void* value) { return make<shared>(out, value); }
void pilfer_locked_free(pilfer_locked* object) { delete object; }

int pilfer_locked_call(pilfer_locked* object, void (*f)(void*, void*), void* arg) {
    return on(object, f != nullptr, [&](auto& o) { o.call(changing{f, arg}); });
}
int pilfer_locked_read(pilfer_locked* object, void (*f)(const void*, void*), void* arg) {
    return on(object, f != nullptr, [&](const auto& o) { o.read(reading{f, arg}); });
}
int pilfer_locked_try_call(pilfer_locked* object, void (*f)(void*, void*), void* arg) {
    return in_time(object, f != nullptr, [&](auto& o) { return o.try_call(changing{f, arg}); });
}
int pilfer_locked_call_for(pilfer_locked* object, void (*f)(void*, void*), void* arg, uint64_t ns) {
    return in_time(object, f != nullptr, [&](auto& o) {
        return o.try_call_for(c_nanoseconds(ns), changing{f, arg});
    });
}

int pilfer_call_all(pilfer_locked* const* objects, size_t n, void (*f)(void* const*, void*), void* arg) {
    if (objects == nullptr || n == 0 || f == nullptr) {
        return PILFER_EINVAL;
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (objects[i] == nullptr) {
            return PILFER_EINVAL;
        }
    }
    return pilfer::capi::guarded([&] {
        row<pilfer::detail::locked_part> parts(n);
        row<void*> values(n);
        for (std::size_t i = 0; i < n; ++i) {
            parts.get()[i] = std::visit([](auto& o) { return pilfer::detail::locked_access::part(o); },
                                        objects[i]->object);
            values.get()[i] = objects[i]->value;
        }
        pilfer::detail::enter_all(parts.get(), n);
        pilfer::capi::call(f, static_cast<void* const*>(values.get()), arg);
        pilfer::detail::leave_all(parts.get(), n);
    });
}

int pilfer_queued_new(pilfer_queued** out, void* value) {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    return pilfer::capi::guarded([&] { *out = new pilfer_queued(value); });
}
void pilfer_queued_free(pilfer_queued* object) { delete object; }

int pilfer_queued_call(pilfer_queued* object, void (*f)(void*, void*), void* arg) {
    return on(object, f != nullptr, [&](auto& o) { o.call(changing{f, arg}); });
}
int pilfer_queued_read(pilfer_queued* object, void (*f)(const void*, void*), void* arg) {
    return on(object, f != nullptr, [&](const auto& o) { o.read(reading{f, arg}); });
}
int pilfer_queued_call_when(pilfer_queued* object, int (*ready)(const void*, void*), void (*f)(void*, void*),
                            void* arg) {
    return on(object, ready != nullptr && f != nullptr, [&](auto& o) {
        o.call_when(condition{ready, arg}, changing{f, arg});
    });
}
int pilfer_queued_try_call_when(pilfer_queued* object, int (*ready)(const void*, void*),
                                void (*f)(void*, void*), void* arg) {
    return in_time(object, ready != nullptr && f != nullptr, [&](auto& o) {
        return o.try_call_when(condition{ready, arg}, changing{f, arg});
    });
}
int pilfer_queued_call_when_for(pilfer_queued* object, int (*ready)(const void*, void*),
                                void (*f)(void*, void*), void* arg, uint64_t ns) {
    return in_time(object, ready != nullptr && f != nullptr, [&](auto& o) {
        return o.try_call_when_for(c_nanoseconds(ns), condition{ready, arg}, changing{f, arg});
    });
}

} // extern "C"
