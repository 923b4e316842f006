// The Atom policy: the seam through which every protocol header reaches atomics and fences.
//
// Production uses std_atom below. A checker supplies its own type with the same members and runs the
// very same protocol text under schedules and stale reads of its choice.
#pragma once

#include <atomic>

#include <pilfer/detail/base/chaos.hpp>
#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Orders all memory accesses of every running thread of the process (membarrier); a full fence of
/// the calling thread where the kernel lacks it. Up to 10 us beside running threads: cold paths only.
PILFER_API void heavy_fence() noexcept;
/// True when heavy_fence() reaches the other threads. Where it is false every deque is pinned: pushes
/// and pops take their slow paths, which carry real fences and the reach lock.
[[nodiscard]] PILFER_API bool heavy_fence_reaches_all() noexcept;
/// Gives the CPU away after `round` unsuccessful tries of a short wait.
PILFER_API void backoff(unsigned round) noexcept;

struct std_atom {
    template <class T>
    using atomic = std::atomic<T>;
    /// Plain memory; a checker watches it for data races.
    template <class T>
    using plain = T;

    // The points of chaos stand where the halves of a handshake drift apart.
    static void fence_sc() noexcept {
        PILFER_CHAOS_POINT(full_fence);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        PILFER_CHAOS_POINT(full_fence);
    }
    /// The cheap side of an asymmetric fence: it only forbids the compiler to reorder.
    static void light_fence() noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        PILFER_CHAOS_POINT(light_fence);
    }
    static void heavy_fence() noexcept {
        PILFER_CHAOS_POINT(heavy_fence);
        detail::heavy_fence();
        PILFER_CHAOS_POINT(heavy_fence);
    }
    static void relax(unsigned round) noexcept { detail::backoff(round); }
    /// Is it `value`? Only for a word that nobody but the caller makes equal to that: compilers may take two
    /// looks for one, so no loop waits by it. By one instruction, which they make of plain memory only.
    template <class T>
    [[nodiscard]] static PILFER_ALWAYS_INLINE bool is(const std::atomic<T*>& word, const T* value) noexcept {
#if defined(PILFER_ISA_X86_64) && !defined(PILFER_SANITIZED)
        bool same;
        asm("cmp %2, %1" : "=@cce"(same) : "m"(word), "r"(value));
        return same;
#else
        return word.load(std::memory_order_relaxed) == value;
#endif
    }
};

inline constexpr auto rlx = std::memory_order_relaxed;
inline constexpr auto acq = std::memory_order_acquire;
inline constexpr auto rel = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;

} // namespace detail
} // namespace v0
} // namespace pilfer
