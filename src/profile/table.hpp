// A hash table whose keys are addresses. Tasks come and go by the million, so no pair has an allocation of
// its own: open addressing with linear probing (Knuth, The Art of Computer Programming, volume 3,
// section 6.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <pilfer/detail/base/checked.hpp>

namespace pilfer {
inline namespace v0 {
namespace profile {

/// Values by keys. No value has the key 0, which no address is. A default-made value is an empty one.
/// References last until the next insertion or take().
template <class Value>
class table {
public:
    /// The value of `key`; null if there is none.
    [[nodiscard]] Value* find(std::uintptr_t key) noexcept {
        slot& s = m_slots[place_of(key)];
        return s.key != 0 ? &s.value : nullptr;
    }
    /// The value of `key`, which is not 0, made if there is none. Throws std::bad_alloc.
    [[nodiscard]] Value& operator[](std::uintptr_t key) {
        detail::ensure([key] { return key != 0; }, "a recorded task has no address");
        std::size_t at = place_of(key);
        if (m_slots[at].key == 0) {
            if (2 * (m_count + 1) > m_slots.size()) {
                grow();
                at = place_of(key);
            }
            m_slots[at].key = key;
            ++m_count;
        }
        return m_slots[at].value;
    }
    /// Removes `key`, and returns its value; an empty one if there is none.
    [[nodiscard]] Value take(std::uintptr_t key) noexcept {
        std::size_t hole = place_of(key);
        if (m_slots[hole].key == 0) {
            return Value{};
        }
        Value taken = std::exchange(m_slots[hole].value, Value{});
        // Algorithm R: a pair moves into the hole unless the hole is before its home.
        for (std::size_t i = next(hole); m_slots[i].key != 0; i = next(i)) {
            if (distance(home(m_slots[i].key), i) >= distance(hole, i)) {
                m_slots[hole].key = m_slots[i].key;
                m_slots[hole].value = std::exchange(m_slots[i].value, Value{});
                hole = i;
            }
        }
        m_slots[hole].key = 0;
        --m_count;
        return taken;
    }
    void clear() noexcept {
        for (slot& s : m_slots) {
            s = slot{};
        }
        m_count = 0;
    }

private:
    struct slot {
        std::uintptr_t key = 0; // 0: free
        Value value{};
    };

    [[nodiscard]] std::size_t home(std::uintptr_t key) const noexcept {
        return static_cast<std::size_t>((std::uint64_t{key} * 0x9e3779b97f4a7c15U) >> 32) &
               (m_slots.size() - 1);
    }
    [[nodiscard]] std::size_t next(std::size_t i) const noexcept { return (i + 1) & (m_slots.size() - 1); }
    [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const noexcept {
        return (to - from) & (m_slots.size() - 1);
    }
    /// The slot of `key`, or the free one in which it would be.
    [[nodiscard]] std::size_t place_of(std::uintptr_t key) const noexcept {
        std::size_t i = home(key);
        while (m_slots[i].key != 0 && m_slots[i].key != key) {
            i = next(i);
        }
        return i;
    }
    void grow() {
        std::vector<slot> old(2 * m_slots.size());
        old.swap(m_slots);
        for (slot& s : old) {
            if (s.key != 0) {
                m_slots[place_of(s.key)] = std::move(s);
            }
        }
    }

    std::vector<slot> m_slots = std::vector<slot>(64); // a power of two, at most half of them in use
    std::size_t m_count = 0;
};

} // namespace profile
} // namespace v0
} // namespace pilfer
