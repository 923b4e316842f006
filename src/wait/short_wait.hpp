// The spin of a thread outside before it sleeps.
#pragma once

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The spin lasts about as long as a sleep and a wake-up would. If recent spins did not help, most waits skip
/// it.
class short_wait {
public:
    template <class Done>
    [[nodiscard]] static bool is_over(Done done) noexcept {
        if (!begins()) {
            return false;
        }
        // The looks become rarer: each one takes the cache line away from the thread that is about to write.
        unsigned step = 1;
        for (unsigned pauses = 0; pauses < most_pauses; pauses += step) {
            step = step < 64 ? 2 * step : step;
            for (unsigned i = 0; i < step; ++i) {
                cpu_relax();
            }
            if (done()) {
                ends(true);
                return true;
            }
        }
        ends(false);
        return false;
    }

private:
    static constexpr unsigned most_pauses = 256; // 3 to 15 us
    [[nodiscard]] static bool begins() noexcept;
    static void ends(bool helped) noexcept;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
