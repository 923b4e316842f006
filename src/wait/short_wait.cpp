#include "wait/short_wait.hpp"

#include "base/once.hpp"
#include "platform/os.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// Of the calling thread: waits in a row that were longer than a look, and those since then.
struct look_patience {
    unsigned in_vain = 0;
    unsigned skipped = 0;
};
constinit thread_local look_patience looks_outside;

} // namespace

/// With a single CPU there is no spin: it would only keep the awaited thread from running.
bool short_wait::begins() noexcept {
    static constinit os::asked_once cpus;
    const bool alone = cpus.get([]() noexcept { return os::affinity_cpus(); }) == 1;
    constexpr unsigned enough = 2;
    constexpr unsigned try_again = 32;
    if (alone) {
        return false;
    }
    if (looks_outside.in_vain < enough) {
        return true;
    }
    looks_outside.skipped = (looks_outside.skipped + 1) % try_again;
    return looks_outside.skipped == 0;
}

void short_wait::ends(bool helped) noexcept {
    looks_outside.in_vain = helped ? 0 : looks_outside.in_vain + 1;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
