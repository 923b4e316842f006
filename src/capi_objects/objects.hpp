// The C++ objects of the handles and the storage of C, for objects that several files use.
#pragma once

#include <cstddef>
#include <new>

#include <pilfer/channel.hpp>
#include <pilfer/pilfer.h>

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

} // namespace capi
} // namespace v0
} // namespace pilfer
