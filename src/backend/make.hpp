// Which back-end a pool has.
#pragma once

#include <memory>

#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Files that a pool which records writes at its end; null: none.
struct recording_files {
    const char* profile = nullptr;
    const char* graph = nullptr;
    unsigned workers_asked = 0; ///< by the program; 0: it asked for no number
};

/// The backend of the team of `p`. Throws std::bad_alloc, std::system_error, std::invalid_argument.
[[nodiscard]] std::unique_ptr<backend> make_backend(team& t, pool_core& p, const recording_files& files);

#if defined(PILFER_TEST)
/// Makes the back-end of the pools that the calling thread makes; null: their options choose it.
using test_backend_maker = std::unique_ptr<backend> (*)(team& t, pool_core& p);
extern constinit thread_local test_backend_maker test_backend;
/// Their deques: each push and pop takes the slow path.
extern constinit thread_local bool test_backend_is_pinned;
#endif

/// The places that a pool with these options has for workers.
[[nodiscard]] worker_places places_of(const options& o) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
