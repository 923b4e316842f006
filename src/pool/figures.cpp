#include "pool/figures.hpp"

#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

bool everybody_rests(const team& t) noexcept {
    if (t.first_spare() == t.size()) { // no guests
        return t.idle().everybody_asleep();
    }
    for (unsigned i = 0; i < t.size(); ++i) {
        if (t.at(i).is_there() && !t.idle().is_left_asleep(i)) {
            return false;
        }
    }
    return true;
}

namespace figures {

counters of(const scheduler& w) noexcept {
    counters c;
    w.count.add_to(c);
    return c;
}

counters sum(const team& t) noexcept {
    counters c;
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        t.at(i).count.add_to(c);
    }
    c.scopes_shared += t.outside.scopes_shared.load(rlx);
    c.contexts_live = t.stacks.live();
    c.contexts_peak = t.stacks.peak();
    c.dropped += t.outside.dropped.load(rlx);
    return c;
}

std::uint64_t suspended(const team& t) noexcept {
    std::uint64_t resumes = 0;
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        resumes += t.at(i).count.resumes.get();
    }
    std::uint64_t suspends = 0;
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        suspends += t.at(i).count.suspends.get();
    }
    // The worker that resumes a context counts it, so only the sums are meaningful.
    return suspends - resumes;
}

std::uint64_t waiting_coroutines(const team& t) noexcept {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        sum += t.at(i).waiting_coroutines.may_stall();
    }
    return sum;
}

std::uint64_t progress(const team& t) noexcept {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        const tally& c = t.at(i).count;
        sum += c.run_own.get() + c.run_submitted.get() + c.run_stolen.get() + c.run_resumed.get();
    }
    return sum;
}

} // namespace figures
} // namespace detail
} // namespace v0
} // namespace pilfer
