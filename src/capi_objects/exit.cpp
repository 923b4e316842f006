// Early exit with a value, and time limits of scopes, for C.
#include <pilfer/first_result_scope.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include <pilfer/pilfer.h>
#include <pilfer/stop.hpp>

#include "capi/call.hpp"
#include "capi/error.hpp"
#include "capi_objects/objects.hpp"

namespace pilfer {
inline namespace v0 {
namespace capi {
namespace {

using c_nanoseconds = std::chrono::duration<std::uint64_t, std::nano>;

/// The value is beside the scope of C++, not in it. The scope drops its value if its owner is stopped, and a
/// pointer has no destructor that would free what it refers to.
struct exits {
    void* value = nullptr;          ///< of the claimer, then of the owner (worker.J3 in ../scope)
    first_result_scope<bool> scope; ///< has the claimer a value?
};

[[nodiscard]] exits& of(pilfer_first_result_scope* s) noexcept { return in<exits>(s); }

template <class F>
int on_exits(pilfer_first_result_scope* s, void (*function)(void*), void* argument, F f) noexcept {
    if (s == nullptr || function == nullptr) {
        return PILFER_EINVAL;
    }
    return capi::guarded([&] { f(of(s).scope, void_call{function, argument}); });
}

/// Calls make(), which returns a code, because a function of C cannot throw.
template <class Make>
int leave(exits& e, Make make) noexcept {
    int code = 0;
    bool first = false;
    const int failed = capi::guarded([&] {
        first = e.scope.exit([&] {
            code = make();
            return code == 0;
        });
    });
    if (failed != 0) {
        return failed;
    }
    if (code != 0) {
        return code < 0 ? code : PILFER_EINVAL;
    }
    return first ? 1 : 0;
}

} // namespace
} // namespace capi
} // namespace v0
} // namespace pilfer

using namespace pilfer::capi;

extern "C" {

int pilfer_first_result_scope_begin(pilfer_first_result_scope* scope) {
    if (scope == nullptr) {
        return PILFER_EINVAL;
    }
    ::new (static_cast<void*>(scope)) exits;
    return 0;
}

int pilfer_first_result_scope_spawn(pilfer_first_result_scope* scope, void (*f)(void*), void* arg) {
    return on_exits(scope, f, arg,
                    [](pilfer::first_result_scope<bool>& s, void_call call) { s.spawn(call); });
}

int pilfer_first_result_scope_fork(pilfer_first_result_scope* scope, void (*f)(void*), void* arg) {
    return on_exits(scope, f, arg, [](pilfer::first_result_scope<bool>& s, void_call call) { s.fork(call); });
}

int pilfer_first_result_scope_exit(pilfer_first_result_scope* scope, int (*make)(void*, void**), void* arg) {
    if (scope == nullptr || make == nullptr) {
        return PILFER_EINVAL;
    }
    exits& e = of(scope);
    return leave(e, [&] {
        void* value = nullptr;
        const int code = pilfer::capi::call(make, arg, &value);
        if (code == 0) {
            e.value = value;
        }
        return code;
    });
}

int pilfer_first_result_scope_exit_value(pilfer_first_result_scope* scope, void* value) {
    if (scope == nullptr) {
        return PILFER_EINVAL;
    }
    exits& e = of(scope);
    return leave(e, [&] {
        e.value = value;
        return 0;
    });
}

int pilfer_first_result_scope_cancel(pilfer_first_result_scope* scope) {
    if (scope == nullptr) {
        return PILFER_EINVAL;
    }
    of(scope).scope.cancel();
    return 0;
}

int pilfer_first_result_scope_sync(pilfer_first_result_scope* scope, void** value) {
    if (scope == nullptr) {
        return PILFER_EINVAL;
    }
    exits& e = of(scope);
    std::optional<bool> made;
    const int code = guarded([&] { made = e.scope.sync(); });
    if (code == PILFER_EUSAGE) {
        return code;
    }
    if (value != nullptr) {
        *value = e.value;
    }
    e.value = nullptr;
    return code == 0 && made.value_or(false) ? 1 : code;
}

int pilfer_first_result_scope_end(pilfer_first_result_scope* scope) {
    const int code = pilfer_first_result_scope_sync(scope, nullptr);
    if (code != PILFER_EINVAL && code != PILFER_EUSAGE) {
        std::destroy_at(&of(scope));
    }
    return code > 0 ? 0 : code;
}

int pilfer_deadline_begin(pilfer_deadline* limit, pilfer_scope* scope, uint64_t ns) {
    if (limit == nullptr || scope == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] {
        ::new (static_cast<void*>(limit)) pilfer::deadline(in<pilfer::scope>(scope), c_nanoseconds(ns));
    });
}

int pilfer_deadline_end(pilfer_deadline* limit) {
    if (limit == nullptr) {
        return PILFER_EINVAL;
    }
    std::destroy_at(&in<pilfer::deadline>(limit));
    return 0;
}

} // extern "C"
