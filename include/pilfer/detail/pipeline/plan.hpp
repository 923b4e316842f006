// The stages of a pipeline as its scheduler sees them: their order, and functions without types.
#pragma once

#include <cstddef>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Which items a stage takes, and how many at once.
enum class stage_order : unsigned char {
    in_order,     ///< One at a time, by their numbers.
    as_they_come, ///< One at a time.
    parallel,     ///< Any number.
};

/// A stage without its types.
struct stage_entry {
    stage_order order;
    /// The object of type `pipeline_stage`.
    void* function;
    /// Calls the function with the value at `in`, makes the result at `out`, and destroys the value at `in`.
    /// If the function throws, the value at `in` stays. The source ignores `in`; it returns false and makes
    /// nothing if the input has ended. The last stage ignores `out`.
    bool (*call)(void* function, void* in, void* out);
    /// Destroys a value that this stage has made; null for the last stage.
    void (*destroy)(void* value) noexcept;
};

/// A whole pipeline.
struct pipeline_plan {
    std::size_t tokens;
    const stage_entry* stages; ///< The source first.
    std::size_t count;         ///< The number of stages with the source, at least 2.
    std::size_t value_bytes;   ///< Of the largest value between two stages.
    std::size_t value_align;
};

/// Runs the plan on the calling task's pool. Throws what pipeline() throws.
PILFER_API void run_pipeline(const pipeline_plan& plan);

} // namespace detail
} // namespace v0
} // namespace pilfer
