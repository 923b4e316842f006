// The costs that are not measured, and the clocks that measure the others.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "platform/os.hpp"
#include "platform/ticks.hpp"
#include "profile/recorder.hpp"

namespace pilfer {
inline namespace v0 {
namespace profile {

burden burden_from(const char* environment) {
    burden b;
    if (environment == nullptr) {
        return b;
    }
    constexpr std::uint64_t most = 1'000'000'000;
    const char* const end = environment + std::strlen(environment);
    const auto theft = std::from_chars(environment, end, b.theft_ns);
    const bool two = theft.ec == std::errc{} && theft.ptr != end && *theft.ptr == ',';
    const auto resume = two ? std::from_chars(theft.ptr + 1, end, b.resume_ns) : theft;
    if (!two || resume.ec != std::errc{} || resume.ptr != end || b.theft_ns > most || b.resume_ns > most) {
        throw std::invalid_argument("pilfer: PILFER_PROFILE_BURDEN must be what a theft and what a "
                                    "resumption costs, as in \"561,51\", from 0 to 1000000000 ns each, "
                                    "not \"" +
                                    std::string(environment) + "\"");
    }
    return b;
}

namespace {

/// A reading of both clocks. Of several readings it keeps the shortest one, which was not interrupted.
struct moment {
    std::uint64_t ns = 0;
    std::uint64_t ticks = 0;
    std::uint64_t took = UINT64_MAX;

    moment() noexcept {
        for (unsigned i = 0; i < 32; ++i) {
            const std::uint64_t before = os::ticks();
            const std::uint64_t now = os::now_ns();
            const std::uint64_t behind = os::ticks();
            if (behind - before < took) {
                took = behind - before;
                ns = now;
                ticks = before;
            }
        }
    }
};

} // namespace

/// Measures the rate of the ticks over a millisecond, and the duration of an empty stretch.
void recorder::calibrate() noexcept {
    constexpr std::uint64_t enough = 1'000'000;
    constexpr unsigned most_readings = 1'000'000; // a clock that has not moved by then is stopped
    const moment first;
    m_empty = first.took;
    for (unsigned i = 0; i < most_readings && os::now_ns() - first.ns < enough; ++i) {
        m_began.store(os::ticks(), std::memory_order_relaxed);
        m_empty = std::min(m_empty, os::ticks() - m_began.load(std::memory_order_relaxed));
    }
    m_began.store(standing, std::memory_order_relaxed);
    m_cpu = os::thread_cpu_ns(); // of another thread: the first comparison is not counted
    m_compared = os::ticks();
    const moment last;
    const double rate = last.ticks != first.ticks ? static_cast<double>(last.ns - first.ns) /
                                                        static_cast<double>(last.ticks - first.ticks)
                                                  : 1;
    // A clock that jumped gives nonsense, and ticks are then taken for nanoseconds.
    m_ns_per_tick = rate > 0.01 && rate < 1'000 ? rate : 1;
    m_suspicious = static_cast<std::uint64_t>(suspicious_ns / m_ns_per_tick);
    m_often = static_cast<std::uint64_t>(often_ns / m_ns_per_tick);
}

} // namespace profile
} // namespace v0
} // namespace pilfer
