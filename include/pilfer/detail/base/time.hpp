// Instants, and the instants that durations and time points of the user name.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Nanoseconds of the monotonic clock, as the time limit of a wait.
using instant = std::uint64_t;
inline constexpr instant never = std::numeric_limits<instant>::max();

[[nodiscard]] PILFER_API instant now() noexcept;

/// The time after `d`. Very long and negative durations are allowed; a NaN is now.
template <class Rep, class Period>
[[nodiscard]] instant after(std::chrono::duration<Rep, Period> d) noexcept {
    const instant start = now();
    using seconds = std::chrono::duration<long double>;
    const long double ns = std::chrono::duration_cast<seconds>(d).count() * 1e9L;
    if (!(ns > 0)) {
        return start;
    }
    if (ns >= static_cast<long double>(never - start)) {
        return never;
    }
    if constexpr (std::is_integral_v<Rep> && std::ratio_less_equal_v<std::nano, Period>) {
        // Exact, and in range: durations above 2^63 were excluded before.
        if (ns < 9e18L) {
            return start +
                   static_cast<instant>(
                       std::chrono::duration_cast<std::chrono::duration<std::int64_t, std::nano>>(d).count());
        }
    }
    const auto whole = static_cast<instant>(ns);
    return start + whole + (static_cast<long double>(whole) < ns ? 1 : 0); // never too early
}
/// The time `t`, by the present reading of its clock: a clock that is set later does not change the wait.
template <class Clock, class Duration>
[[nodiscard]] instant at(const std::chrono::time_point<Clock, Duration>& t) noexcept {
    using seconds = std::chrono::duration<long double>;
    using ticks = std::common_type_t<Duration, typename Clock::duration>;
    const auto from = Clock::now();
    const auto target = std::chrono::duration_cast<seconds>(t.time_since_epoch());
    const auto reading = std::chrono::duration_cast<seconds>(from.time_since_epoch());
    constexpr long double most = std::chrono::duration_cast<seconds>(ticks::max()).count() * 0.49L;
    const auto fits = [](seconds s) { return s.count() > -most && s.count() < most; };
    if (!fits(target) || !fits(reading)) {
        return after(target - reading); // `ticks` would overflow; at such a distance rounding does not matter
    }
    return t <= from ? now() : after(t - from);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
