// What the planted errors have in common.
#pragma once

#include <mutex>

#include <pilfer/pilfer.hpp>
#include <pilfer/test.hpp>

namespace bugs {

using pilfer::test::require;
template <class T>
using shared = pilfer::test::atomic<T>;
using lock = std::unique_lock<pilfer::mutex>;

/// Runs both at once.
template <class F, class G>
void both(F f, G g) {
    (void)pilfer::join(f, g);
}

} // namespace bugs
