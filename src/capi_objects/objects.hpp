// The C++ objects of the handles and the storage of C, for objects that several files use.
#pragma once

#include <cstddef>
#include <new>

#include <pilfer/channel.hpp>
#include <pilfer/named.hpp>
#include <pilfer/pilfer.h>

#include "capi/error.hpp"
#include "names/object_names.hpp"

struct pilfer_channel {
    explicit pilfer_channel(std::size_t capacity) noexcept : values(capacity) {}
    pilfer::channel<void*> values;
};

namespace pilfer {
inline namespace v0 {
namespace capi {

/// The C++ object in the caller's storage.
template <class Object, class Storage>
[[nodiscard]] Object& in(Storage* s) noexcept {
    static_assert(sizeof(Object) <= sizeof(Storage) && alignof(Object) <= alignof(Storage));
    return *std::launder(reinterpret_cast<Object*>(s));
}

/// Names `bytes` bytes at `object`; a null name removes the one that they have.
template <class Object>
int set_name(const Object* object, const char* name) noexcept {
    if (object == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] {
        auto* const made = name == nullptr ? nullptr
                                           : detail::object_names::add(object, sizeof *object,
                                                                       detail::checked_name(name), true);
        detail::object_names::forget(object, made);
    });
}

} // namespace capi
} // namespace v0
} // namespace pilfer
