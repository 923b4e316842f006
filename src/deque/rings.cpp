#include "deque/rings.hpp"

#include <cstddef>
#include <new>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// A deque that weighs its tasks grows no further, so that no sum exceeds 2^63: see
/// task_options::most_weight.
constexpr std::int64_t most_weighed = std::int64_t{1} << 31;

} // namespace

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

ring<std_atom>* make_first_ring(std::int64_t capacity) {
    ring<std_atom>* r = make_ring(capacity, false);
    if (r == nullptr) {
        throw std::bad_alloc();
    }
    return r;
}

void free_rings(split_deque<std_atom>& d) noexcept {
    for (ring<std_atom>* r = d.owner().rings(); r != nullptr;) {
        ring<std_atom>* const older = r->previous;
        ::operator delete(static_cast<void*>(r));
        r = older;
    }
}

bool grow_ring(split_deque<std_atom>::owner_end& own) noexcept {
    const bool weighs = own.weighs();
    if (weighs && own.capacity() >= most_weighed) {
        return false;
    }
    ring<std_atom>* bigger = make_ring(own.capacity() * 2, weighs);
    if (bigger == nullptr) {
        return false;
    }
    own.grow(bigger);
    return true;
}

bool make_scales(split_deque<std_atom>::owner_end& own) noexcept {
    if (own.capacity() > most_weighed) {
        return false;
    }
    ring<std_atom>* with = make_ring(own.capacity(), true);
    if (with == nullptr) {
        return false;
    }
    own.grow(with);
    return true;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
