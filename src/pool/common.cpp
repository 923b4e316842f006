// The common pool: made by its first use, and never destroyed.
#include <pilfer/pool.hpp>

#include <pilfer/detail/base/raw_lock.hpp>

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "pool/checked_options.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace {

/// True while the thread is inside make_common(), which does not suspend. A relaxed atomic, because two tasks
/// of one thread may read it, and ThreadSanitizer takes them for different threads.
constinit thread_local std::atomic<bool> makes_common{false};

// Not a static of the function: in a child of fork() it is reset, even if another thread was making the pool.
constinit std::atomic<pool*> made_common{nullptr};

/// Never freed. In a child of fork() only `older` refers to the common pools of parents; without it
/// LeakSanitizer would report them.
struct common_pool : pool {
    common_pool* older = nullptr;
};
constinit common_pool* newest_common = nullptr; // under the lock

constinit detail::raw_lock<detail::std_atom, detail::futex_park> making_common;

PILFER_COLD pool& make_common() {
    if (const detail::worker* w = detail::this_worker(); w != nullptr) {
        w->pool->check_here(); // in a child of fork() no thread would run a task of that pool
    }
    struct making {
        making() noexcept {
            making_common.lock();
            makes_common.store(true, detail::rlx);
        }
        making(const making&) = delete;
        making& operator=(const making&) = delete;
        ~making() {
            makes_common.store(false, detail::rlx);
            making_common.unlock();
        }
    };
    const making now;
    if (pool* const p = made_common.load(std::memory_order_relaxed)) {
        return *p;
    }
    auto* const p = new common_pool;
    p->older = std::exchange(newest_common, p);
    for (unsigned round = 0; p->core().at(0).thread_id.load(detail::acq) == 0; ++round) {
        detail::std_atom::relax(round); // this worker has made sure that the library stays loaded
    }
    made_common.store(p, std::memory_order_release);
    // This pool never ends, so its files are written at the end of the program.
    if (const auto files = detail::written_files(false); files.trace != nullptr || detail::profiled(files)) {
        std::atexit([] {
            if (detail::pool_core* const core = detail::common_core_if_made()) {
                core->write_files();
            }
        });
    }
    return *p;
}

} // namespace

namespace detail {

pool_core& common_core() { return pool::common().core(); }

pool_core* common_core_if_made() noexcept {
    pool* const p = made_common.load(std::memory_order_acquire);
    return p != nullptr ? &p->core() : nullptr;
}

bool makes_common_pool() noexcept { return makes_common.load(rlx); }

void forget_common_pool() noexcept {
    made_common.store(nullptr, std::memory_order_relaxed);
    ::new (&making_common) raw_lock<std_atom, futex_park>;
}

} // namespace detail

pool& pool::common() {
    // Never destroyed, because tasks of other static objects may still use it. Also, a static destructor that
    // joins threads hangs in a library that is being unloaded.
    if (pool* const p = made_common.load(std::memory_order_acquire)) [[likely]] {
        return *p;
    }
    return make_common();
}

} // namespace v0
} // namespace pilfer
