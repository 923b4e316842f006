// Pools and futures for C.
#include <pilfer/pool.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include <pilfer/pilfer.h>
#include <pilfer/trace.hpp>

#include "capi/call.hpp"
#include "capi/error.hpp"
#include "capi/options.hpp"
#include "capi/task.hpp"

namespace {

using pilfer::capi::guarded;

/// The arguments of an async.
struct value_call {
    void* (*function)(void*);
    void* argument;
    [[nodiscard]] void* operator()() const noexcept { return pilfer::capi::call(function, argument); }
};
using value_task = pilfer::capi::task<value_call>;

[[nodiscard]] pilfer::pool& of(pilfer_pool* p) noexcept { return *reinterpret_cast<pilfer::pool*>(p); }
[[nodiscard]] const pilfer::pool& of(const pilfer_pool* p) noexcept {
    return *reinterpret_cast<const pilfer::pool*>(p);
}
[[nodiscard]] value_task& of(pilfer_future* f) noexcept { return *reinterpret_cast<value_task*>(f); }
[[nodiscard]] const value_task& of(const pilfer_future* f) noexcept {
    return *reinterpret_cast<const value_task*>(f);
}

// The struct of C has the members of the class, in their order.
static_assert(sizeof(pilfer_counters) == sizeof(pilfer::counters));
static_assert(offsetof(pilfer_counters, steals_tried) == offsetof(pilfer::counters, steals_tried) &&
              offsetof(pilfer_counters, suspends) == offsetof(pilfer::counters, suspends) &&
              offsetof(pilfer_counters, no_context) == offsetof(pilfer::counters, no_context) &&
              offsetof(pilfer_counters, run_inline) == offsetof(pilfer::counters, run_inline));

/// Null: nobody asked for it yet. Compared in place of pool::common(), which would make it.
std::atomic<pilfer_pool*> common_handle{nullptr};

/// `heavy`: what the task weighs, null where nobody said.
int make_task(pilfer_pool* p, const std::uint64_t* heavy, void* (*f)(void*), void* arg,
              pilfer_future** out) noexcept {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    if (f == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] {
        const pilfer::detail::worker* w = pilfer::detail::this_worker();
        pilfer::detail::pool_core& core = p != nullptr   ? of(p).core()
                                          : w != nullptr ? *w->pool
                                                         : pilfer::detail::common_core();
        const pilfer::weight weight(heavy != nullptr ? *heavy : 1);
        auto* made = new value_task({f, arg}); // NOLINT(bugprone-unhandled-exception-at-new): guarded
        try {
            if (heavy != nullptr) {
                made->start(core, weight);
            } else {
                made->start(core);
            }
        } catch (...) { // pool_closed
            made->release();
            throw;
        }
        *out = reinterpret_cast<pilfer_future*>(made);
    });
}

} // namespace

extern "C" {

int pilfer_pool_new(pilfer_pool** out, pilfer_options* options) {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    return guarded(
        [&] {
            auto* p = options != nullptr ? new pilfer::pool(options->values) : new pilfer::pool;
            *out = reinterpret_cast<pilfer_pool*>(p);
        },
        options != nullptr ? &options->error : nullptr);
}

int pilfer_pool_common(pilfer_pool** out) {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    return guarded([&] {
        *out = reinterpret_cast<pilfer_pool*>(&pilfer::pool::common());
        common_handle.store(*out, std::memory_order_relaxed); // compared only, and always the same
    });
}

int pilfer_pool_destroy(pilfer_pool* pool) {
    if (pool == nullptr) {
        return 0;
    }
    return guarded([&] {
        if (pool == common_handle.load(std::memory_order_relaxed)) {
            throw std::invalid_argument("pilfer: the common pool cannot be destroyed");
        }
        of(pool).shutdown(); // which says usage_error where the destructor would end the program
        delete &of(pool);
    });
}

int pilfer_pool_shutdown(pilfer_pool* pool, int mode) {
    if (pool == nullptr) {
        return PILFER_EINVAL;
    }
    static_assert(PILFER_DRAIN == static_cast<int>(pilfer::shutdown_mode::drain) &&
                  PILFER_DROP == static_cast<int>(pilfer::shutdown_mode::drop));
    return guarded([&] { of(pool).shutdown(static_cast<pilfer::shutdown_mode>(mode)); });
}

int pilfer_pool_run(pilfer_pool* pool, void (*f)(void*), void* arg) {
    if (pool == nullptr || f == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] { of(pool).run(pilfer::capi::void_call{f, arg}); });
}

int pilfer_submit(pilfer_pool* pool, void (*f)(void*), void* arg) {
    if (pool == nullptr || f == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] { of(pool).submit(pilfer::capi::void_call{f, arg}); });
}

unsigned pilfer_pool_workers(const pilfer_pool* pool) { return pool != nullptr ? of(pool).workers() : 0; }

int pilfer_pool_settings(const pilfer_pool* pool, pilfer_options* into) {
    if (pool == nullptr || into == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] { into->values = of(pool).settings(); });
}

int pilfer_pool_dump(const pilfer_pool* pool, int file) {
    if (pool == nullptr || file < 0) {
        return PILFER_EINVAL;
    }
    return guarded([&] { of(pool).dump(file); });
}

int pilfer_pool_write_trace(const pilfer_pool* pool, const char* path) {
    if (pool == nullptr || path == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] { pilfer::write_trace(of(pool), std::string(path)); });
}

int pilfer_pool_counters(const pilfer_pool* pool, pilfer_counters* out) {
    if (pool == nullptr || out == nullptr) {
        return PILFER_EINVAL;
    }
    const pilfer::counters sums = of(pool).counters();
    std::memcpy(out, &sums, sizeof sums);
    return 0;
}

int pilfer_worker_counters(const pilfer_pool* pool, unsigned worker, pilfer_counters* out) {
    if (pool == nullptr || out == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] {
        const pilfer::counters its = of(pool).counters(worker);
        std::memcpy(out, &its, sizeof its);
    });
}

int pilfer_pool_profile(const pilfer_pool* pool, pilfer_work_span* out) {
    if (pool == nullptr || out == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] {
        const pilfer::work_span s = of(pool).profile();
        *out = {s.work_ns, s.span_ns,    s.burdened_span_ns, s.strands,   s.span_strands,
                s.tasks,   s.span_tasks, s.theft_ns,         s.resume_ns, s.complete ? 1 : 0};
    });
}

int pilfer_async(pilfer_pool* pool, void* (*f)(void*), void* arg, pilfer_future** out) {
    return make_task(pool, nullptr, f, arg, out);
}

int pilfer_async_weighted(pilfer_pool* pool, uint64_t weight, void* (*f)(void*), void* arg,
                          pilfer_future** out) {
    return make_task(pool, &weight, f, arg, out);
}

int pilfer_future_get(pilfer_future* future, void** result) {
    const int code = pilfer_future_wait(future);
    if (code == 0 && result != nullptr) {
        *result = of(future).result();
    }
    return code;
}

int pilfer_future_wait(pilfer_future* future) {
    if (future == nullptr) {
        return PILFER_EINVAL;
    }
    of(future).wait();
    return of(future).dropped() ? PILFER_EBROKEN : 0;
}

int pilfer_future_ready(const pilfer_future* future) {
    if (future == nullptr) {
        return PILFER_EINVAL;
    }
    return of(future).is_done() ? 1 : 0;
}

pilfer_future* pilfer_future_copy(pilfer_future* future) {
    if (future != nullptr) {
        of(future).retain();
    }
    return future;
}

void pilfer_future_free(pilfer_future* future) {
    if (future != nullptr) {
        of(future).release();
    }
}

} // extern "C"
