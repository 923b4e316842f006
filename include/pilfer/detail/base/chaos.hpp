// Chaos: disturbances at the places where a wrong order would hurt.
//
// Only a build with PILFER_CHAOS has them (the target pilfer_chaos, which pilfer-chaos and tests/chaos link).
// Everywhere else the macros below are nothing at all: no call, no load, no word. Whatever is linked with
// pilfer_chaos must be compiled with PILFER_CHAOS too, for the inline functions of the library differ.
//
//   PILFER_CHAOS_POINT(name)   the thread may lose some time here, or its CPU
//   PILFER_CHAOS_MAYBE(name)   true now and then: whatever the caller has to expect anyway happens for once
//   PILFER_CHAOS_BELOW(n)      a number below n; 0 without chaos
//   PILFER_CHAOS_START(type)   where a counter that never goes back begins, near a wrap; 0 without chaos
//
// Which is disturbed when follows from a seed, a level and a number per thread, see src/base/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/platform.hpp>

#if defined(PILFER_CHAOS)

#include <atomic>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace chaos {

/// Where threads are held up. The names are printed by the tools: chaos.cpp has the same list.
enum class point : unsigned {
    light_fence, ///< between the halves of every handshake
    full_fence,
    heavy_fence,
    claim,    ///< a steal: before the claim, and after it succeeded
    lock,     ///< a deque's lock is held
    publish,  ///< around the publication of a frame that has just left its stack
    leave,    ///< before a frame leaves its stack, and after it came back
    enter,    ///< before a context or a continuation is entered
    announce, ///< a task has just been announced, or is about to be taken back
    wake,     ///< around the wake-up of a sleeper
    token,    ///< a woken worker has found work
    idle,     ///< a worker is about to sleep
    contexts, ///< taking from and giving to the pools of contexts and records
    accept,   ///< a submission is counted, queued, announced
    close,    ///< shutdown
    complete, ///< a task counts as ended
    future,   ///< claim, waiters and end of a future
    count
};

/// What may happen though nobody asked for it.
enum class choice : unsigned {
    trip,           ///< an announcement takes the slow path
    expose,         ///< and exposes
    make_way,       ///< and lets others pass
    refuse_context, ///< no stack, in pools with options.max_contexts only: the others promise one
    early_return,   ///< of a wait in the kernel
    busy,           ///< somebody else seems to hold a lock that is only tried
    count
};

struct settings {
    std::uint64_t seed = 1;
    /// 0: nothing is disturbed, 1: little, 2: usual, 3: more waiting than work.
    unsigned level = 0;
    /// Counters of pools made from now on begin near their wraps.
    bool near_wrap = false;
};

/// Anyone, at any time; threads that run meanwhile follow soon.
void configure(const settings& s) noexcept;
[[nodiscard]] settings configured() noexcept;
/// The calling thread's number, from which and the seed its sequence follows. Threads that say nothing get
/// numbers in the order of their first point.
void thread_is(std::uint64_t number) noexcept;
/// How many disturbances there were so far.
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
/// For the indices of a deque whose first ring has `capacity` slots. Negative ones pass through zero before
/// that ring is full: the tripwire's limit must not be negative.
[[nodiscard]] std::int64_t start_index(std::int64_t capacity) noexcept;
/// For the counter of a scope: what its two halves begin with, usually 0.
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

#else

#define PILFER_CHAOS_POINT(name) static_cast<void>(0)
#define PILFER_CHAOS_MAYBE(name) false
#define PILFER_CHAOS_BELOW(n) 0U
#define PILFER_CHAOS_START(type)                                                                             \
    type { 0 }

#endif
