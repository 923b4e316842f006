// Which back-end a pool has, and how many places for workers.
#include "backend/make.hpp"

#include "backend/one_lock.hpp"
#include "backend/recording.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

#if defined(PILFER_TEST)
constinit thread_local test_backend_maker test_backend = nullptr;
constinit thread_local bool test_backend_is_pinned = true;
#endif

namespace {

#if defined(PILFER_TEST)
[[nodiscard]] bool is_of_test() noexcept { return test_backend != nullptr; }
[[nodiscard]] bool is_explored() noexcept { return is_of_test() && test_backend_is_pinned; }
#else
[[nodiscard]] constexpr bool is_explored() noexcept { return false; }
#endif

[[nodiscard]] bool is_one_lock(const options& o) noexcept { return o.backend == pilfer::backend::one_lock; }

[[nodiscard]] bool must_pin(const options& o) noexcept {
    // Exact counts, a recording and the eager exposures need the slow path of every push and pop. The test
    // mode that moves every join needs it too, and a pool that does not use its deques. A system without a
    // heavy fence needs it because that fence replaces the one that pop lacks.
    return is_explored() || o.debug.count_all || o.debug.profile ||
           o.balance.exposure != exposure::on_demand || o.resume == resume::elsewhere || is_one_lock(o) ||
           !heavy_fence_reaches_all();
}

} // namespace

worker_places places_of(const options& o) noexcept {
    // A recording follows one worker, and a thread that blocks has no scheduler beside it. Such a pool is not
    // resized and has no seats, and attached threads wait as any thread outside.
    const bool fixed = o.debug.profile || is_one_lock(o);
    return {.workers = fixed ? o.workers : o.max_workers,
            .seats = fixed ? 0 : o.attachable,
            .temporary = is_one_lock(o) ? o.max_extra_workers : 0,
            .pinned = must_pin(o)};
}

std::unique_ptr<backend> make_backend(team& t, pool_core& p, const recording_files& files) {
#if defined(PILFER_TEST)
    if (is_of_test()) {
        return test_backend(t, p);
    }
#endif
    if (is_one_lock(t.settings())) {
        return std::make_unique<one_lock>(t, p, places_of(t.settings()).temporary);
    }
    if (t.settings().debug.profile) {
        return std::make_unique<recording>(t, files);
    }
    return std::make_unique<work_stealing>(t);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
