// Types of tasks that travel between ranks, and the call of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>

#include <pilfer/cluster/archive.hpp>
#include <pilfer/detail/base/outcome.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// What a rank knows of a type of tasks. It is made before main(), and then in the list of all types.
struct cluster_task {
    /// Reads a description, runs it, and writes its result. Throws what the task throws, and archive_error.
    using run_function = void (*)(cluster::archive& description, cluster::archive& result);
    cluster_task(const char* name, const char* type, std::size_t bytes, std::size_t result_bytes,
                 run_function run) noexcept;
    cluster_task(const cluster_task&) = delete;
    cluster_task& operator=(const cluster_task&) = delete;

    const char* name; ///< for people
    const char* type; ///< unique in the program
    std::size_t bytes;
    std::size_t result_bytes;
    run_function run;
    cluster_task* next;
    std::uint32_t number = unnumbered; ///< the same on all ranks: see cluster_tasks()
    static constexpr std::uint32_t unnumbered = UINT32_MAX;
};

/// In a handler: throws remote_error in place of the exception that it handles. `stopped` and remote_error
/// stay what they are.
[[noreturn]] PILFER_COLD void throw_as_remote();

template <class T>
using cluster_result = regular_t<std::invoke_result_t<const T&>>;

/// Runs a task here. Its exception comes out in the same form as from another rank.
template <class T>
PILFER_ALWAYS_INLINE cluster_result<T> call_task(const T& task) {
    PILFER_TRY { return detail::invoke_regular(task); }
    PILFER_CATCH_ALL { detail::throw_as_remote(); }
}

/// The entry of T. The macro's function gives the name, and is found beside T.
template <class T>
struct cluster_entry {
    static_assert(
        requires { pilfer_cluster_name(static_cast<const T*>(nullptr)); },
        "PILFER_CLUSTER_TASK(type) is missing in the namespace of this task");
    static_assert(!std::is_reference_v<std::invoke_result_t<const T&>>, "a result travels: return a value");
    static void run(cluster::archive& description, cluster::archive& result) {
        const T task = description.take<T>();
        description.end();
        result.put(detail::call_task(task));
    }
    static inline cluster_task entry{pilfer_cluster_name(static_cast<const T*>(nullptr)), typeid(T).name(),
                                     sizeof(T), sizeof(cluster_result<T>), &cluster_entry::run};
};

template <class T>
[[nodiscard]] cluster_task& entry_of() noexcept {
    return cluster_entry<T>::entry; // this use makes the definition, and with it the entry in the list
}

} // namespace detail
} // namespace v0
} // namespace pilfer
