// The instances of a worker_local, independent of their type.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/sanitizer.hpp>
#include <pilfer/detail/objects/leases.hpp>
#include <pilfer/detail/task/worker.hpp>
#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {

template <class T>
class worker_local;

namespace detail {

/// The instances of one worker_local, without their type.
class PILFER_API instances {
    using protocol = leases<std_atom, futex_park>;

public:
    struct instance : protocol::node {
        instance* newer = nullptr;       // the next of all instances, in the order in which they were made
        protocol::place* home = nullptr; // while take_all() has it: the place that it was in; null: outside
    };

    instances() noexcept = default;
    instances(const instances&) = delete;
    instances& operator=(const instances&) = delete;
    ~instances();

    /// An instance that is not in use; null: there is none.
    [[nodiscard]] PILFER_ALWAYS_INLINE instance* take() noexcept {
        worker* const w = this_worker();
        if (w != nullptr) [[likely]] {
            if (protocol::place* const p = place_of(w->serial)) [[likely]] {
                if (auto* n = m_free.take(*p, w->deque.owner().pinned())) [[likely]] {
                    return static_cast<instance*>(n);
                }
            }
        }
        return take_cold(w);
    }
    PILFER_ALWAYS_INLINE void give(instance* i) noexcept {
        san::release(static_cast<protocol::node*>(i));
        worker* const w = this_worker();
        if (w != nullptr) [[likely]] {
            if (protocol::place* const p = place_of(w->serial)) [[likely]] {
                if (m_free.give(*p, i, w->deque.owner().pinned())) [[likely]] {
                    return;
                }
            }
        }
        give_cold(w, i);
    }
    /// Adds a new instance, which the caller uses.
    void add(instance* i) noexcept;
    /// Takes all instances for the caller, who calls give_all(). False: some are in use. `first`, `last`: the
    /// list.
    [[nodiscard]] bool take_all(instance*& first, instance*& last) noexcept;
    void give_all(instance* first, instance* last) noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return m_size.load(rlx); }

private:
    /// A place is found by its worker's number, in pieces of 16, 16, 32, 64, ...
    static constexpr unsigned first_piece = 16;
    static constexpr unsigned pieces = 13;

    [[nodiscard]] static unsigned piece_of(std::uint32_t number) noexcept {
        return static_cast<unsigned>(std::bit_width(number / first_piece));
    }
    [[nodiscard]] static std::uint32_t begin_of(unsigned piece) noexcept {
        return piece == 0 ? 0 : first_piece << (piece - 1);
    }
    [[nodiscard]] static std::uint32_t size_of(unsigned piece) noexcept {
        return piece == 0 ? first_piece : first_piece << (piece - 1);
    }
    /// Null: not made yet.
    [[nodiscard]] PILFER_ALWAYS_INLINE protocol::place* place_of(std::uint32_t number) const noexcept {
        if (number < first_piece) [[likely]] {
            protocol::place* const p = m_places[0].load(acq);
            return p != nullptr ? p + number : nullptr;
        }
        const unsigned piece = piece_of(number);
        if (piece >= pieces) {
            return nullptr; // a worker without a number
        }
        protocol::place* const p = m_places[piece].load(acq);
        return p != nullptr ? p + (number - begin_of(piece)) : nullptr;
    }
    [[nodiscard]] instance* take_cold(worker* w) noexcept;
    void give_cold(worker* w, instance* i) noexcept;
    [[nodiscard]] protocol::place* make_place_locked(const worker* w) noexcept;
    template <class F>
    void each_place(F f) const noexcept;

    std::atomic<protocol::place*> m_places[pieces]{};
    protocol m_free;
    instance* m_first = nullptr; // these two under the lock of m_free
    instance* m_last = nullptr;
    std::atomic<std::size_t> m_size{0};
};

[[noreturn]] PILFER_API PILFER_COLD void destroyed_while_leased() noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
