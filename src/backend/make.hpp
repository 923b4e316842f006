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

/// The places that a pool with these options has for workers.
[[nodiscard]] worker_places places_of(const options& o) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
