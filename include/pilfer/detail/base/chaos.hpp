// Chaos: disturbances at the places where a wrong order would hurt.
//
// Only a build with PILFER_CHAOS has them: the target pilfer_chaos, which pilfer-chaos and tests/chaos link.
// In any other build the macros below are empty: no call, no load, no word. A program that links pilfer_chaos
// must be compiled with PILFER_CHAOS too, because the inline functions of the library differ.
//
//   PILFER_CHAOS_POINT(name)   The thread may lose some time here, or its CPU.
//   PILFER_CHAOS_MAYBE(name)   True now and then: the caller gets a rare result that it must expect anyway.
//   PILFER_CHAOS_BELOW(n)      A number below n; 0 without chaos.
//   PILFER_CHAOS_START(type)   The first value of a counter that never goes back, near a wrap; 0 without
//   chaos.
//
// A seed, a level and a number per thread decide what is disturbed and when: src/base/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/platform.hpp>

#if defined(PILFER_CHAOS)

#include <atomic>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace chaos {

/// Places at which a thread may be held up. The tools print the names: chaos.cpp has the same list.
enum class point : unsigned {
    light_fence, ///< Between the halves of every handshake.
    full_fence,
    heavy_fence,
    claim,    ///< A steal: before the claim, and after it succeeded.
    lock,     ///< A deque's lock is held.
    publish,  ///< Around the publication of a frame that has just left its stack.
    leave,    ///< Before a frame leaves its stack, and after it came back.
    enter,    ///< Before a context or a continuation is entered.
    announce, ///< A task has just been announced, or is about to be taken back.
    wake,     ///< Around the wake-up of a sleeper.
    token,    ///< A woken worker has found work.
    idle,     ///< A worker is about to sleep.
    contexts, ///< Taking from and giving to the pools of contexts and records.
    accept,   ///< A submission is counted, queued, announced.
    close,    ///< Shutdown.
    complete, ///< A task counts as ended.
    future,   ///< Claim, waiters and end of a future.
    count
};

/// Rare results that chaos causes without a reason.
enum class choice : unsigned {
    trip,           ///< An announcement takes the slow path.
    expose,         ///< An announcement exposes.
    yield,          ///< An announcement lets other work pass.
    refuse_context, ///< No stack, only in pools with options.max_contexts: all other pools promise one.
    early_return,   ///< A wait in the kernel returns early.
    busy,           ///< A lock that is only tried seems to be held.
    count
};

struct settings {
    std::uint64_t seed = 1;
    /// 0: nothing is disturbed, 1: little, 2: usual, 3: more waiting than work.
    unsigned level = 0;
    /// Counters of pools made from now on begin near their wraps.
    bool near_wrap = false;
};

/// Any thread may call it at any time. Running threads follow soon.
void configure(const settings& s) noexcept;
[[nodiscard]] settings configured() noexcept;
/// Sets the number of the calling thread. The seed and this number determine the thread's sequence. A thread
/// that sets no number gets one in the order of the first points.
void thread_is(std::uint64_t number) noexcept;
/// The number of disturbances so far.
[[nodiscard]] std::uint64_t disturbances(point p) noexcept;
[[nodiscard]] std::uint64_t disturbances(choice c) noexcept;
[[nodiscard]] const char* name_of(point p) noexcept;
[[nodiscard]] const char* name_of(choice c) noexcept;

// Bit 0: points and choices are active; bit 1: counters begin near their wraps.
extern std::atomic<std::uint32_t> flags;

void disturb(point p) noexcept;
[[nodiscard]] bool choose(choice c) noexcept;
[[nodiscard]] unsigned number_below(unsigned n) noexcept;
[[nodiscard]] std::uint64_t start_word(unsigned bits) noexcept;
/// The first index of a deque whose first ring has `capacity` slots. A negative index passes zero before that
/// ring is full, because the signal word's limit must not be negative.
[[nodiscard]] std::int64_t start_index(std::int64_t capacity) noexcept;
/// The value with which both halves of a scope's counter begin, usually 0.
[[nodiscard]] std::int64_t start_children() noexcept;

PILFER_ALWAYS_INLINE void at(point p) noexcept {
    if ((flags.load(std::memory_order_relaxed) & 1U) != 0) [[unlikely]] {
        disturb(p);
    }
}
[[nodiscard]] PILFER_ALWAYS_INLINE bool maybe(choice c) noexcept {
    return (flags.load(std::memory_order_relaxed) & 1U) != 0 && choose(c);
}

} // namespace chaos
} // namespace detail
} // namespace v0
} // namespace pilfer

#define PILFER_CHAOS_POINT(name) ::pilfer::detail::chaos::at(::pilfer::detail::chaos::point::name)
#define PILFER_CHAOS_MAYBE(name) ::pilfer::detail::chaos::maybe(::pilfer::detail::chaos::choice::name)
#define PILFER_CHAOS_BELOW(n) ::pilfer::detail::chaos::number_below(n)
#define PILFER_CHAOS_START(type) static_cast<type>(::pilfer::detail::chaos::start_word(8 * sizeof(type)))
#define PILFER_CHAOS_START_INDEX(capacity) ::pilfer::detail::chaos::start_index(capacity)

#else

#define PILFER_CHAOS_POINT(name) static_cast<void>(0)
#define PILFER_CHAOS_MAYBE(name) false
#define PILFER_CHAOS_BELOW(n) 0U
#define PILFER_CHAOS_START(type)                                                                             \
    type { 0 }
#define PILFER_CHAOS_START_INDEX(capacity) 0

#endif
