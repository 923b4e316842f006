// Jobs of C: functions with names, as tasks that may run on any rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <pilfer/cluster.hpp>
#include <pilfer/pilfer_cluster.h>

/// A call of a job.
struct pilfer_cluster_job {
    std::vector<std::byte> result{};
    std::optional<std::string> error{};                    ///< of pilfer_cluster_fail()
    std::optional<pilfer::cluster::remote_error> remote{}; ///< of the last pilfer_cluster_join() that failed
    bool lost = false;                                     ///< a part of the result, for want of memory
};

namespace pilfer {
inline namespace v0 {
namespace capi {

using cluster_bytes = std::vector<std::byte>;

struct cluster_job_name {
    std::string text;
    std::string unique; ///< and no name of a type of C++
};

/// A function that pilfer_cluster_register() has made known. Its entry among the types of tasks lets ranks
/// compare their jobs, and gives it a number that is the same on all ranks.
struct cluster_job : cluster_job_name, detail::cluster_task {
    cluster_job(const char* its_name, pilfer_cluster_function f);
    /// No description is that of a job alone: see branches_task, elements_task.
    static void refuse(cluster::archive& description, cluster::archive& result);
    pilfer_cluster_function function;
};

/// The job of a name. Throws std::invalid_argument if there is none.
[[nodiscard]] const cluster_job& job_of(const char* name);
/// The job of a number that another rank has sent. Throws archive_error if there is none.
[[nodiscard]] const cluster_job& job_of(std::uint32_t number);
/// Runs a job here. Throws remote_error, stopped.
[[nodiscard]] cluster_bytes call_job(const cluster_job& job, const void* input, std::size_t size);
/// A copy that free() ends; null for no bytes. Throws std::bad_alloc.
[[nodiscard]] void* copy_for_c(const cluster_bytes& bytes);

/// True for a name of 1 to 255 bytes.
[[nodiscard]] bool is_name(const char* text) noexcept;
/// Throws std::invalid_argument with the text, unless it holds.
void require(bool holds, const char* what);
/// Throws std::invalid_argument: the name belongs to another one of these.
[[noreturn]] PILFER_COLD void refuse_name(const char* these, const char* name);

/// In a handler: keeps the error for pilfer_cluster_error(), and returns its code.
[[nodiscard]] PILFER_COLD int cluster_code_of_caught() noexcept;

/// Calls f() and lets no exception pass. Returns 0 or a code.
template <class F>
int cluster_guarded(F f) noexcept {
    try {
        f();
        return 0;
    } catch (...) {
        return capi::cluster_code_of_caught();
    }
}

} // namespace capi
} // namespace v0
} // namespace pilfer
