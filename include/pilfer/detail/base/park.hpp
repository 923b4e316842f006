// The Park policy: where a thread sleeps that has nothing else to do.
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
    /// The same, after about `ns` nanoseconds at the latest.
    static void wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t ns) noexcept;
    /// Uses only the address: the word may be gone.
    static void wake(std::atomic<std::uint32_t>& word) noexcept;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
