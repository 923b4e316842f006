// A thread outside that works for a pool while it waits for a latch: on what it sleeps. README.md,
// "Guests".
#pragma once

#include <cstdint>
#include <optional>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// In `rest` of sleepers::sleep(): `self` sleeps on its `state` and on `word` at once, which is 0 until its
/// own wait is over; who changes that knows nothing of the sleepers and wakes that word alone. `Park` as for
/// `sleepers`, with wait_either(). `before()` says for how long it may sleep (0: for good); or nothing, if it
/// has slept in another way.
template <class Park, class Sleepers, class Word, class Before>
void rest_on_two(Sleepers& idle, unsigned self, Word& state, Word& word, Before before) {
    if (word.load(rlx) != 0) { // a hint: the kernel compares, and who waits looks again
        // As any waker does: whoever takes its bit gives the token, and what that stands for is owed like any
        // other. Another one may have been faster, and have lost its CPU before it gives it.
        if (!idle.wake(self, self)) {
            Park::wait(state, Sleepers::asleep);
        }
        return;
    }
    if (const std::optional<std::uint64_t> ns = before()) {
        Park::wait_either(state, Sleepers::asleep, word, 0, *ns);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
