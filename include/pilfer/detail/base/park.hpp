// The Park policy: how an idle thread sleeps.
#pragma once

#include <atomic>
#include <cstdint>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A private futex. Not std::atomic::wait, whose proxy table lost wake-ups in libstdc++.
struct PILFER_API futex_park {
    /// Returns at the latest when the word differs and wake() was called.
    static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept;
    /// As wait(), but returns after about `ns` nanoseconds at the latest.
    static void wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t ns) noexcept;
    /// Uses only the address: the word may be gone.
    static void wake(std::atomic<std::uint32_t>& word) noexcept;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
