#include "platform/clock.hpp"

#include <time.h>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/ticks.hpp>
#include <pilfer/detail/base/time.hpp>

#include "base/once.hpp"
#include "platform/os.hpp"
#include "platform/ticks.hpp"

namespace pilfer {
inline namespace v0 {
namespace os {
namespace {

std::atomic<const time_source*> the_source{nullptr};

[[nodiscard]] std::uint64_t ns_of(const timespec& t) noexcept {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

} // namespace

void set_time_source(const time_source* source) noexcept {
    the_source.store(source, std::memory_order_release);
}

const time_source* current_time_source() noexcept { return the_source.load(std::memory_order_acquire); }

std::uint64_t now_ns() noexcept {
    if (const time_source* s = current_time_source(); s != nullptr && s->now != nullptr) {
        return s->now();
    }
    return kernel_now_ns();
}

std::uint64_t kernel_now_ns() noexcept {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ns_of(t);
}

std::uint64_t thread_cpu_ns() noexcept {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return ns_of(t);
}

std::uint64_t cpu_ns_of(std::uint64_t thread) noexcept {
    // The number that pthread_getcpuclockid() would return. That function needs a handle instead of the
    // system's number.
    const auto clock = static_cast<clockid_t>((~static_cast<std::uint32_t>(thread) << 3) | 6U);
    timespec t{};
    if (thread == 0 || clock_gettime(clock, &t) != 0) {
        return 0;
    }
    return ns_of(t);
}

double measured_tick_rate() noexcept {
    constexpr std::uint64_t enough = 50'000;
    // A reading takes 20 ns and more: a clock that has not moved by then is stopped.
    constexpr unsigned most_readings = 1'000'000;
    const std::uint64_t ns = now_ns();
    const std::uint64_t ticks = detail::cheap_ticks();
    std::uint64_t passed = 0;
    for (unsigned i = 0; i < most_readings && passed < enough; ++i) {
        passed = now_ns() - ns; // after a step back: nearly 2^64
    }
    const double rate =
        static_cast<double>(detail::cheap_ticks() - ticks) / static_cast<double>(passed != 0 ? passed : 1);
    // Counters of processors run at 1 MHz to some GHz. Any other rate means that the clock has jumped.
    // Then a guess is better: with a rate near 0 every loop would be cut into single iterations.
    return passed >= enough && rate > 0.001 && rate < 100 ? rate : 1;
}

} // namespace os

namespace detail {

std::uint64_t cheap_ticks() noexcept {
#if defined(PILFER_CHAOS) || defined(PILFER_TEST)
    if (const os::time_source* s = os::current_time_source(); s != nullptr && s->ticks != nullptr) {
        return s->ticks();
    }
#endif
    return os::ticks();
}

instant now() noexcept { return os::now_ns(); }

std::uint64_t piece_ticks() noexcept {
#if defined(PILFER_TEST)
    // Counted ticks have no rate. A measured one would differ from run to run, and so would the pieces of
    // loops.
    if (const os::time_source* s = os::current_time_source(); s != nullptr && s->ticks != nullptr) {
        return 4'000;
    }
#endif
    static constinit os::asked_once ticks;
    return ticks.get(
        []() noexcept { return static_cast<std::uint64_t>(4'000 * os::measured_tick_rate()) + 1; });
}

} // namespace detail
} // namespace v0
} // namespace pilfer
