// blocking: system calls that block, without a worker blocking.
#pragma once

#include <functional>
#include <type_traits>

#include <pilfer/detail/base/outcome.hpp>
#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/guest/blocking.hpp>
#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {

/// Runs f, which may block in a system call or wait in its own way, while this task's worker goes on with
/// other work. Returns what f returns and throws what f throws.
///
/// f runs on an extra thread of the pool, which is no worker. Join and scope belong to the common pool there,
/// and thread-locals and `errno` are those of the extra thread. The pool makes up to
/// options.max_extra_workers such threads on demand, and ends one that was idle for ten seconds. If no thread
/// is available, f runs in place and the worker blocks. A thread that is no worker always runs f in place.
///
/// Not for computing: use a task. A cancellation waits for the end of f, because nothing can end a system
/// call of another thread. Cost: a suspension and two wake-ups of a thread (some 10 us), and a new thread the
/// first time; no allocation.
template <class F>
auto blocking(F&& f) -> std::invoke_result_t<F&> {
#if defined(PILFER_RACE)
    const detail::race::away waits;
    auto elsewhere = [&f, &waits]() -> decltype(auto) {
        const detail::race::away::call here(waits);
        return f();
    };
    detail::blocking_call<decltype(elsewhere)> call(elsewhere);
#else
    detail::blocking_call<std::remove_reference_t<F>> call(f);
#endif
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
        (void)call.get();
    } else {
        return static_cast<std::invoke_result_t<F&>>(call.get());
    }
}

} // namespace v0
} // namespace pilfer
