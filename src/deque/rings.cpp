#include "deque/rings.hpp"

#include <cstddef>
#include <new>

namespace pilfer {
inline namespace v0 {
namespace detail {

ring<std_atom>* make_ring(std::int64_t capacity, bool weighs) noexcept {
    using slot = ring<std_atom>::slot;
    using entry = weight_entry<std_atom>;
    static_assert(alignof(entry) == alignof(slot));
    const auto n = static_cast<std::size_t>(capacity);
    const std::size_t place = sizeof(slot) + (weighs ? sizeof(entry) : 0);
    void* memory = ::operator new(sizeof(ring<std_atom>) + n * place, std::nothrow);
    if (memory == nullptr) {
        return nullptr;
    }
    auto* slots = reinterpret_cast<slot*>(static_cast<std::byte*>(memory) + sizeof(ring<std_atom>));
    for (std::size_t i = 0; i < n; ++i) {
        ::new (slots + i) slot(0);
    }
    auto* entries = weighs ? reinterpret_cast<entry*>(slots + n) : nullptr;
    for (std::size_t i = 0; weighs && i < n; ++i) {
        ::new (entries + i) entry();
    }
    return ::new (memory) ring<std_atom>{capacity - 1, nullptr, slots, entries};
}

void free_ring(ring<std_atom>* r) noexcept { ::operator delete(static_cast<void*>(r)); }

} // namespace detail
} // namespace v0
} // namespace pilfer
