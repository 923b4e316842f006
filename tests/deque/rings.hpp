// Rings for deques under test, and the owner's duties at a hit of the signal word.
#pragma once

#include <memory>
#include <vector>

#include <pilfer/detail/deque/deque.hpp>

namespace pilfer_test {

namespace detail = pilfer::detail;
using detail::task_word;

/// The fences of a machine without membarrier: the heavy fence orders the calling thread only.
struct own_fence_atom : detail::std_atom {
    static void heavy_fence() noexcept { fence_sc(); }
};

/// Owns rings; they live until the end of the test, as in the library.
template <class Atom>
class rings {
public:
    [[nodiscard]] detail::ring<Atom>* make(std::int64_t capacity, bool weighs = false) {
        using slot = typename detail::ring<Atom>::slot;
        const auto n = static_cast<std::size_t>(capacity);
        m_slots.push_back(std::make_unique<slot[]>(n));
        m_weights.push_back(weighs ? std::make_unique<detail::weight_entry<Atom>[]>(n) : nullptr);
        m_rings.push_back(std::make_unique<detail::ring<Atom>>(
            detail::ring<Atom>{capacity - 1, nullptr, m_slots.back().get(), m_weights.back().get()}));
        return m_rings.back().get();
    }

private:
    std::vector<std::unique_ptr<typename detail::ring<Atom>::slot[]>> m_slots;
    std::vector<std::unique_ptr<detail::weight_entry<Atom>[]>> m_weights;
    std::vector<std::unique_ptr<detail::ring<Atom>>> m_rings;
};

inline constexpr auto any_task = [](task_word) { return true; };

/// A deque with its rings and the owner's side of the protocol as the library drives it.
template <class Atom>
struct tested_deque {
    using deque_type = detail::split_deque<Atom>;
    using owner_end = typename deque_type::owner_end;

    rings<Atom> memory;
    deque_type deque;

    explicit tested_deque(std::int64_t capacity, bool pinned = false, std::int64_t start = 0)
        : deque(memory.make(capacity), pinned, start) {}

    /// Pushes, makes room if needed, serves the requests of thieves. Returns the taken bits.
    std::int64_t push(task_word task) {
        auto own = deque.owner();
        if (!own.push(task)) {
            return 0;
        }
        if (own.weighs()) {
            own.weigh_newest();
        }
        return after_push();
    }
    /// Pushes a task with a weight.
    std::int64_t push(task_word task, std::uint64_t weight) {
        auto own = deque.owner();
        if (!own.can_weigh()) {
            own.grow(memory.make(own.capacity(), true));
        }
        return own.push_weighted(task, weight) ? after_push() : 0;
    }

private:
    std::int64_t after_push() {
        auto own = deque.owner();
        if (!own.make_room()) {
            own.grow(memory.make(own.capacity() * 2, own.weighs()));
        }
        const std::int64_t bits = deque.signal().take();
        using trip = detail::signal_word<Atom>;
        if ((bits & (trip::expose | trip::wanted)) != 0 && own.shared_size() <= 0) {
            (void)own.expose(1);
        }
        return bits;
    }
};

} // namespace pilfer_test
