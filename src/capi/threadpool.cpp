// The functions of <pilfer/threadpool.h>, implemented by a pool and its futures. Uses public headers only: it
// is linked to libpilfer from outside.
#include <pilfer/threadpool.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include <pilfer/pool.hpp>

#include "capi/task.hpp"

namespace {

/// The arguments of a task.
struct fork_join_call {
    fork_join_task_t function;
    thread_pool* pool;
    void* data;
    [[nodiscard]] void* operator()() const noexcept { return pilfer::capi::call(function, pool, data); }
};
using fork_join_task = pilfer::capi::task<fork_join_call>;

// The two structs of C are never defined, so that no C++ name of theirs (a vtable, a destructor) can collide
// with a class of the user's program.
[[nodiscard]] pilfer::pool& of(thread_pool* p) noexcept { return *reinterpret_cast<pilfer::pool*>(p); }
[[nodiscard]] fork_join_task& of(future* f) noexcept { return *reinterpret_cast<fork_join_task*>(f); }

/// Large, because C has buffers in its frames, and this interface has no option for it. Only touched pages
/// cost anything. The next power of two exceeds what the pool of stacks keeps in reserve
/// (src/context/stack_pool.cpp).
constexpr std::size_t stack_bytes = std::size_t{2} << 20;
constexpr int most_threads = 4096;

void say(const char* function, const char* what) noexcept {
    std::fprintf(stderr, "pilfer: %s: %s\n", function, what);
}

[[noreturn]] void give_up(const char* function, const char* what) noexcept {
    say(function, what);
    std::abort();
}

} // namespace

thread_pool* thread_pool_new(int nthreads) {
    constexpr const char* self = "thread_pool_new";
    if (nthreads < 1 || nthreads > most_threads) {
        std::fprintf(stderr, "pilfer: %s: nthreads must be from 1 to %d, not %d\n", self, most_threads,
                     nthreads);
        return nullptr;
    }
    try {
        pilfer::options o;
        o.workers = static_cast<unsigned>(nthreads);
        o.stack_size = stack_bytes;
        o.only_workers = true; // never more threads than were requested, whatever the environment contains
        auto* p = new pilfer::pool(o);
        // One worker is what recording takes (PILFER_PROFILE), and whoever asks for that knows.
        if (p->workers() == o.workers || p->settings().debug.profile) {
            return reinterpret_cast<thread_pool*>(p);
        }
        std::fprintf(stderr, "pilfer: %s: only %u of %d threads could be made\n", self, p->workers(),
                     nthreads);
        delete p;
    } catch (const std::exception& e) {
        say(self, e.what());
    }
    return nullptr;
}

void thread_pool_shutdown_and_destroy(thread_pool* p) {
    if (p == nullptr) {
        return;
    }
    const auto* w = pilfer::detail::this_worker();
    if (w != nullptr && w->pool == &of(p).core()) {
        give_up("thread_pool_shutdown_and_destroy", "called by a task of this very pool");
    }
    delete &of(p);
}

future* thread_pool_submit(thread_pool* p, fork_join_task_t task, void* data) {
    constexpr const char* self = "thread_pool_submit";
    if (p == nullptr || task == nullptr) {
        say(self, p == nullptr ? "the pool is NULL" : "the task is NULL");
        return nullptr;
    }
    auto* made = new (std::nothrow) fork_join_task({task, p, data});
    if (made == nullptr) {
        say(self, "no memory");
        return nullptr;
    }
    try {
        made->start(of(p).core());
    } catch (const std::exception& e) { // pool_closed, by a task of another pool that came too late
        made->release();
        say(self, e.what());
        return nullptr;
    }
    return reinterpret_cast<future*>(made);
}

void* future_get(future* f) {
    if (f == nullptr) {
        give_up("future_get", "the future is NULL");
    }
    of(f).wait_to_the_end(); // no code could report that the calling task was cancelled
    return of(f).result();
}

void future_free(future* f) {
    if (f == nullptr) {
        return;
    }
    if constexpr (pilfer::detail::checked_build) {
        if (!of(f).is_done()) {
            give_up("future_free", "the task of this future has not ended");
        }
    }
    of(f).release();
}
