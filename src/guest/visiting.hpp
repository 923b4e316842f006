// The sleep of a guest that waits for a latch: it sleeps on two words. Protocol:
// src/pool/README.md, "Guests".
#pragma once

#include <cstdint>
#include <optional>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The `rest` of sleepers::sleep() for the guest `self`. It sleeps on its `state` and on `word` at once.
///
/// `word` is 0 until the guest's own wait is over. The thread that changes `word` knows nothing of the
/// sleepers, and wakes only `word`. `Park` is that of `sleepers`, and has wait_either(). `before()` returns
/// the longest sleep (0: no limit), or nothing if it has slept itself.
template <class Park, class Sleepers, class Word, class Before>
void rest_on_two(Sleepers& idle, unsigned self, Word& state, Word& word, Before before) {
    if (word.load(rlx) != 0) { // a hint: the kernel compares, and the guest looks again
        // The guest acts as any waker: it takes its bit and gives itself a token, with all duties of a token.
        // If another waker has taken the bit but not yet given the token, the guest waits for it.
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
