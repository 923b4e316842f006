// blocking: system calls that block, without a worker blocking.
#pragma once

#include <functional>
#include <type_traits>

#include <pilfer/detail/worker/blocking.hpp>
#include <pilfer/detail/worker/outcome.hpp>
#include <pilfer/detail/worker/wait.hpp>

namespace pilfer {
inline namespace v0 {

/// For system calls that block, and for libraries that wait in their own way: runs f while this task's worker
/// goes on with other work, and returns what f returns or throws. f runs on a thread of the pool that is none
/// of its workers, where join and scope belong to the common pool; thread-locals and `errno` are that
/// thread's. The pool keeps up to options.max_extra_workers such threads, made when they are needed, and ends
/// each that was not for ten seconds. When all are taken, or none can be made, f runs in place and its worker
/// blocks; so it does on a foreign thread. Cost: a suspension and two wake-ups of a thread (some 10 us; the
/// first time, a new thread); no allocation. It is not for computing: use a task. A cancellation
/// waits for f's end: nothing can end a system call of another thread, and f works in the caller's frame.
template <class F>
auto blocking(F&& f) -> std::invoke_result_t<F&> {
    detail::blocking_call<std::remove_reference_t<F>> call(f);
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
        (void)call.get();
    } else {
        return static_cast<std::invoke_result_t<F&>>(call.get());
    }
}

} // namespace v0
} // namespace pilfer
