#include "runtime/forked.hpp"

#include <new>

#include "base/forks.hpp"
#include "platform/os.hpp"
#include "platform/signal_thread.hpp"
#include "runtime/whole_pool.hpp"
#include "scope/forked.hpp"
#include "sync/forked.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

std::atomic<bool> prepared{false};

/// In the child, before fork() returns. The C library has freed its own locks, so memory can be allocated.
/// Each room makes its locks anew, because a thread that exists only in the parent may hold them.
void in_child() noexcept {
    forks::count();
    forget_common_pool();
    registry::forget_all();
    cancellation::forget_all();
    timekeeper::forget_all();
    forget_mutex_waits();
    blocks_outside_pools::forget_holder();
    os::signal_thread::forget_all();
    if (worker* const w = this_worker()) {
        team& t = scheduler::of(w).crew();
        for (unsigned i = 0; i < t.schedulers(); ++i) {
            t.at(i).deque.forget_threads();
        }
        t.records.forget_holder();
        t.blocks.forget_holder();
        t.backend().forget_threads();
    } else {
        forget_children();
    }
}

/// Pools of parent processes, which are never freed in a child:
/// * their stacks hold frames of tasks, and objects that tasks wait for may point into these frames;
/// * another thread of the parent may have been changing any part of them.
/// The memory stays shared with the parent until one process writes to it.
std::atomic<pool_core*> abandoned{nullptr};

} // namespace

void prepare_for_fork() {
    if (prepared.load(std::memory_order_acquire)) {
        return;
    }
    // Two threads that make the first pools may both get here. Registering twice is harmless.
    if (!os::call_in_children(&in_child)) {
        throw std::bad_alloc();
    }
    prepared.store(true, std::memory_order_release);
}

void whole_pool::abandon() noexcept {
    if (readiness* const made = m_io.if_made()) {
        made->kernel.close();
    }
    older = abandoned.exchange(this, acq_rel); // for tools that look for lost memory
}

} // namespace detail
} // namespace v0
} // namespace pilfer
