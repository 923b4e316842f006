// The Atom policy: the seam through which every protocol header reaches atomics and fences.
//
// Production uses std_atom below. A checker supplies its own type with the same members. It then runs exactly
// this protocol text under schedules and stale reads of its choice.
#pragma once

#include <atomic>

#include <pilfer/detail/base/chaos.hpp>
#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Orders all memory accesses of every running thread of the process (membarrier). If the kernel lacks
/// membarrier, it is a full fence of the calling thread only. Costs up to 10 us beside running threads: for
/// cold paths only.
PILFER_API void heavy_fence() noexcept;
/// True if heavy_fence() reaches the other threads. If not, every deque is pinned: pushes and pops take their
/// slow paths, which carry real fences and the reach lock.
[[nodiscard]] PILFER_API bool heavy_fence_reaches_all() noexcept;
/// Gives the CPU away after `round` unsuccessful tries of a short wait.
PILFER_API void backoff(unsigned round) noexcept;

struct std_atom {
    template <class T>
    using atomic = std::atomic<T>;
    /// Plain memory; a checker watches it for data races.
    template <class T>
    using plain = T;

    // The chaos points are where the halves of a handshake may drift apart.
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
    /// True if `word` is `value`. Only for a word that no thread but the caller sets to `value`: a compiler
    /// may merge two looks, so no loop may wait by it. One instruction, which compilers emit for plain memory
    /// only.
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
#if defined(PILFER_RACE) && !defined(PILFER_BUILDING)
// Instrumented code of the library: an order here is no edge between tasks of the user, and one thread at a
// time runs such code.
inline constexpr auto acq = rlx;
inline constexpr auto rel = rlx;
inline constexpr auto acq_rel = rlx;
#else
inline constexpr auto acq = std::memory_order_acquire;
inline constexpr auto rel = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
#endif

} // namespace detail
} // namespace v0
} // namespace pilfer
