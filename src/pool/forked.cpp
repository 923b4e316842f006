#include "pool/forked.hpp"

#include <cstdlib>
#include <new>

#include <pilfer/error.hpp>

#include "base/os.hpp"
#include "base/signal_thread.hpp"
#include "context/sanitizer.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {

pool_forked::pool_forked()
    : std::runtime_error(
          "pilfer: this pool was left in the parent process by fork(): its threads are there") {}
pool_forked::~pool_forked() = default;

namespace detail {
namespace {

std::atomic<bool> prepared{false};

/// In the child, before fork() returns. The C library has freed its own locks, so memory can be allocated.
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
        scheduler::of(w).crew().forget_threads();
    } else {
        forget_children();
    }
}

} // namespace

namespace forks {

void prepare() {
    if (prepared.load(std::memory_order_acquire)) {
        return;
    }
    // Two threads that make the first pools may both get here. Registering twice is harmless.
    if (!os::call_in_children(&in_child)) {
        throw std::bad_alloc();
    }
    prepared.store(true, std::memory_order_release);
}

} // namespace forks

namespace {

struct keeper {
    keeper() = default;
    keeper(const keeper&) = delete;
    keeper& operator=(const keeper&) = delete;
    ~keeper() { gone = true; }
    bool gone = false;
};

/// Pools of parent processes, which are never freed in a child:
/// * their stacks hold frames of tasks, and objects that tasks wait for may point into these frames;
/// * another thread of the parent may have been changing any part of them.
/// The memory stays shared with the parent until one process writes to it.
std::atomic<pool_core*> abandoned{nullptr};

} // namespace

void pool_core::abandon() noexcept {
    if (readiness* const made = io.if_made()) {
        made->kernel.close();
    }
    older = abandoned.exchange(this, acq_rel); // for tools that look for lost memory
}

PILFER_NOINLINE void keep_loaded() noexcept {
    // dlclose() leaves a library alone while any thread has such an object of it.
    // The C library records the destructor in memory of the thread. In a child of fork() that thread is gone.
    const san::never_lost note;
    static thread_local keeper mine;
    mine.gone = false;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
