// Calls whose pool may be left out.
#pragma once

#include <pilfer/pilfer.h>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {
namespace capi {

/// Calls f() as a task of `p`, and waits for its end. Null: on the calling task; outside a pool, in the
/// common one.
template <class F>
void run_in(pilfer_pool* p, F f) {
    if (p != nullptr) {
        reinterpret_cast<pool*>(p)->run(f);
    } else if (detail::this_worker() != nullptr) {
        f();
    } else {
        pool::common().run(f);
    }
}

} // namespace capi
} // namespace v0
} // namespace pilfer
