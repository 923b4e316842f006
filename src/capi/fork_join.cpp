// join, scopes and loops for C.
#include <pilfer/pilfer.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>

#include <pilfer/join.hpp>
#include <pilfer/parallel/for_each.hpp>
#include <pilfer/scope.hpp>

#include "capi/call.hpp"
#include "capi/error.hpp"
#include "capi/run_in.hpp"

namespace pilfer {
inline namespace v0 {
namespace capi {
namespace {

/// A loop's body that is called once for a whole piece.
struct piece_body {
    void (*function)(std::size_t, std::size_t, void*);
    void* argument;
    void operator()(std::size_t i) const noexcept { capi::call(function, i, i + 1, argument); }
};

/// A value of pilfer_reduce on the heap. Without memory there is none, and the caller does without it.
class value {
public:
    explicit value(std::size_t size) noexcept : m_bytes(::operator new(size, std::nothrow)) {}
    value(const value&) = delete;
    value& operator=(const value&) = delete;
    ~value() { ::operator delete(m_bytes); }
    [[nodiscard]] void* get() const noexcept { return m_bytes; }

private:
    void* m_bytes;
};

struct reduction {
    const pilfer_reducer& how;
    void* argument;

    /// As detail::run_range, but the pieces are folded into `sum`; the upper half of a range gets a sum of
    /// its own. Throws stopped, as a join does.
    void run(std::size_t first, std::size_t last, void* sum, detail::piece_size piece) const {
        piece.start();
        while (first != last) {
            const std::uint64_t left = last - first;
            if (left > 1 && (piece.splits_unasked() || detail::split_wanted(detail::this_worker(), piece))) {
                const value other(how.size);
                if (other.get() != nullptr) {
                    split(first, last, sum, other.get(), piece);
                    return;
                }
            }
            const std::size_t stop = first + piece.next(left);
            capi::call(how.fold, sum, first, stop, argument);
            first = stop;
            piece.done();
        }
    }

private:
    void split(std::size_t first, std::size_t last, void* sum, void* other,
               const detail::piece_size& piece) const {
        const std::size_t middle = last - detail::given_away(last - first);
        auto lower = [&] { run(first, middle, sum, piece.of_lower()); };
        bool made = false;
        auto upper = [&] {
            capi::call(how.identity, other, argument);
            made = true;
            run(middle, last, other, piece.of_upper());
        };
        try {
            (void)detail::join_two(detail::this_worker(), lower, upper);
        } catch (...) {
            if (made) { // it may own something, and no other function ends a value
                capi::call(how.combine, sum, other, argument);
            }
            throw;
        }
        capi::call(how.combine, sum, other, argument);
    }
};

static_assert(sizeof(scope) <= sizeof(pilfer_scope) && alignof(scope) <= alignof(pilfer_scope));

[[nodiscard]] scope& of(pilfer_scope* s) noexcept { return *std::launder(reinterpret_cast<scope*>(s)); }

/// Calls f(s, call) on a scope.
template <class F>
int on_scope(pilfer_scope* s, void (*function)(void*), void* argument, F f) noexcept {
    if (s == nullptr || function == nullptr) {
        return PILFER_EINVAL;
    }
    return capi::guarded([&] { f(of(s), void_call{function, argument}); });
}

} // namespace
} // namespace capi

namespace detail {

/// A loop of C is called once for each piece, not for each index. A specialisation, so that the loop itself
/// is that of C++.
template <>
inline void run_piece(std::size_t first, std::size_t stop, capi::piece_body& body) {
    capi::call(body.function, first, stop, body.argument);
}

} // namespace detail
} // namespace v0
} // namespace pilfer

using namespace pilfer::capi;

extern "C" {

int pilfer_join2(void (*f)(void*), void* fa, void (*g)(void*), void* ga) {
    if (f == nullptr || g == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] { (void)pilfer::join(void_call{f, fa}, void_call{g, ga}); });
}

int pilfer_scope_begin(pilfer_scope* scope) {
    if (scope == nullptr) {
        return PILFER_EINVAL;
    }
    ::new (static_cast<void*>(scope)) pilfer::scope;
    return 0;
}

int pilfer_scope_begin_at(pilfer_scope* scope, int resume) {
    static_assert(PILFER_RESUME_ANYWHERE == static_cast<int>(pilfer::resume::anywhere) &&
                  PILFER_RESUME_OWN_THREAD == static_cast<int>(pilfer::resume::own_thread));
    if (scope == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded(
        [&] { ::new (static_cast<void*>(scope)) pilfer::scope(static_cast<pilfer::resume>(resume)); });
}

int pilfer_scope_spawn(pilfer_scope* scope, void (*f)(void*), void* arg) {
    return on_scope(scope, f, arg, [](pilfer::scope& s, void_call call) { s.spawn(call); });
}

int pilfer_scope_fork(pilfer_scope* scope, void (*f)(void*), void* arg) {
    return on_scope(scope, f, arg, [](pilfer::scope& s, void_call call) { s.fork(call); });
}

int pilfer_scope_spawn_with(pilfer_scope* scope, const pilfer_task_options* options, void (*f)(void*),
                            void* arg) {
    return on_scope(scope, f, arg, [options](pilfer::scope& s, void_call call) {
        s.spawn(pilfer::capi::options_of(options), call);
    });
}

int pilfer_scope_fork_with(pilfer_scope* scope, const pilfer_task_options* options, void (*f)(void*),
                           void* arg) {
    return on_scope(scope, f, arg, [options](pilfer::scope& s, void_call call) {
        s.fork(pilfer::capi::options_of(options), call);
    });
}

int pilfer_scope_sync(pilfer_scope* scope) {
    if (scope == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] { of(scope).sync(); });
}

int pilfer_scope_shared(const pilfer_scope* scope) {
    if (scope == nullptr) {
        return PILFER_EINVAL;
    }
    return std::launder(reinterpret_cast<const pilfer::scope*>(scope))->shared() ? 1 : 0;
}

int pilfer_scope_cancel(pilfer_scope* scope) {
    if (scope == nullptr) {
        return PILFER_EINVAL;
    }
    of(scope).cancel();
    return 0;
}

int pilfer_scope_cancelled(const pilfer_scope* scope) {
    if (scope == nullptr) {
        return PILFER_EINVAL;
    }
    return std::launder(reinterpret_cast<const pilfer::scope*>(scope))->cancelled() ? 1 : 0;
}

int pilfer_cancelled(void) { return pilfer::cancelled() ? 1 : 0; }

int pilfer_scope_sync_for(pilfer_scope* scope, uint64_t ns) {
    if (scope == nullptr) {
        return PILFER_EINVAL;
    }
    bool all = false;
    const int code =
        guarded([&] { all = of(scope).sync_for(std::chrono::duration<std::uint64_t, std::nano>(ns)); });
    return code == 0 && !all ? PILFER_ETIMEDOUT : code;
}

int pilfer_scope_end(pilfer_scope* scope) {
    const int code = pilfer_scope_sync(scope);
    if (code != PILFER_EINVAL && code != PILFER_EUSAGE) {
        std::destroy_at(&of(scope));
    }
    return code;
}

int pilfer_for_each(size_t first, size_t last, void (*body)(size_t, size_t, void*), void* arg) {
    if (body == nullptr) {
        return PILFER_EINVAL;
    }
    return guarded([&] { pilfer::for_each(first, last, piece_body{body, arg}); });
}

int pilfer_reduce(size_t first, size_t last, const pilfer_reducer* how, void* arg, void* result) {
    if (how == nullptr || result == nullptr || how->size == 0 || how->identity == nullptr ||
        how->fold == nullptr || how->combine == nullptr) {
        return PILFER_EINVAL;
    }
    if (first >= last) {
        return 0;
    }
    return guarded([&] { run_in(nullptr, [&] { reduction{*how, arg}.run(first, last, result, {}); }); });
}

} // extern "C"
