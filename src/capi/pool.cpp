// Pools for C.
#include <pilfer/pool.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include <pilfer/metrics.hpp>
#include <pilfer/pilfer.h>
#include <pilfer/trace.hpp>

#include "capi/call.hpp"
#include "capi/error.hpp"
#include "capi/options.hpp"
#include "pool/pool_core.hpp"

struct pilfer_attachment {
    pilfer::attachment thread;
};

namespace {

using pilfer::capi::guarded;

[[nodiscard]] pilfer::pool& of(pilfer_pool* p) noexcept { return *reinterpret_cast<pilfer::pool*>(p); }
[[nodiscard]] const pilfer::pool& of(const pilfer_pool* p) noexcept {
    return *reinterpret_cast<const pilfer::pool*>(p);
}

// The struct of C has the members of the class in the same order.
static_assert(sizeof(pilfer_counters) == sizeof(pilfer::counters));
static_assert(offsetof(pilfer_counters, steals_tried) == offsetof(pilfer::counters, steals_tried) &&
              offsetof(pilfer_counters, scopes_shared) == offsetof(pilfer::counters, scopes_shared) &&
              offsetof(pilfer_counters, suspends) == offsetof(pilfer::counters, suspends) &&
              offsetof(pilfer_counters, no_context) == offsetof(pilfer::counters, no_context) &&
              offsetof(pilfer_counters, run_inline) == offsetof(pilfer::counters, run_inline));

/// Null until the common pool is requested. Compared instead of pool::common(), which would make the pool.
std::atomic<pilfer_pool*> common_handle{nullptr};

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
        common_handle.store(*out, std::memory_order_relaxed); // only compared, and always the same
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
        if (!pilfer::detail::is_forked_child(of(pool).core())) { // a child of fork() joins nothing
            of(pool).shutdown(); // returns usage_error in cases in which the destructor would end the program
        }
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

int pilfer_attach(pilfer_pool* pool, pilfer_attachment** out) {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    if (pool == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] { *out = new pilfer_attachment{of(pool).attach()}; });
}

void pilfer_detach(pilfer_attachment* attachment) { delete attachment; }

int pilfer_pool_run_until(pilfer_pool* pool, int (*done)(void*), void* arg) {
    if (pool == nullptr || done == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] { of(pool).run_until([&] { return pilfer::capi::call(done, arg) != 0; }); });
}

void pilfer_pool_notify(pilfer_pool* pool) {
    if (pool != nullptr) {
        of(pool).notify();
    }
}

int pilfer_submit(pilfer_pool* pool, void (*f)(void*), void* arg) {
    if (pool == nullptr || f == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] { of(pool).submit(pilfer::capi::void_call{f, arg}); });
}

int pilfer_pool_run_with(pilfer_pool* pool, const pilfer_task_options* options, void (*f)(void*), void* arg) {
    if (pool == nullptr || f == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] { of(pool).run(pilfer::capi::options_of(options), pilfer::capi::void_call{f, arg}); });
}

int pilfer_submit_with(pilfer_pool* pool, const pilfer_task_options* options, void (*f)(void*), void* arg) {
    if (pool == nullptr || f == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] {
        of(pool).submit(pilfer::capi::options_of(options), pilfer::capi::void_call{f, arg});
    });
}

const char* pilfer_task_name(void) { return pilfer::current_task_name(); }

unsigned pilfer_pool_workers(const pilfer_pool* pool) { return pool != nullptr ? of(pool).workers() : 0; }

int pilfer_pool_resize(pilfer_pool* pool, unsigned n, unsigned* there) {
    if (pool == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] {
        const unsigned got = of(pool).resize(n);
        if (there != nullptr) {
            *there = got;
        }
    });
}

int pilfer_pool_settings(const pilfer_pool* pool, pilfer_options* into) {
    if (pool == nullptr || into == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] { into->values = of(pool).settings(); });
}

int pilfer_keep_warm_begin(pilfer_pool* pool) {
    if (pool == nullptr) {
        return PILFER_EINVAL;
    }
    of(pool).core().begin_warm();
    return 0;
}

int pilfer_keep_warm_end(pilfer_pool* pool) {
    if (pool == nullptr) {
        return PILFER_EINVAL;
    }
    return of(pool).core().end_warm() ? 0 : PILFER_EUSAGE;
}

int pilfer_pool_dump(const pilfer_pool* pool, int file) {
    if (pool == nullptr || file < 0) {
        return PILFER_EINVAL;
    }
    return guarded([&] { of(pool).dump(file); });
}

int pilfer_prometheus_text(char* text, size_t size, size_t* length) {
    if ((text == nullptr && size != 0) || length == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] {
        const std::string whole = pilfer::prometheus_text();
        *length = whole.size();
        if (size != 0) {
            const std::size_t n = std::min(whole.size(), size - 1);
            std::memcpy(text, whole.data(), n);
            text[n] = '\0';
        }
    });
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

} // extern "C"
