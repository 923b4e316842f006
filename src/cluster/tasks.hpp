// The facts that ranks compare before they work together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <pilfer/cluster/archive.hpp>

#include "cluster/wire.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The number of this process; 0 without a session.
inline constinit std::atomic<int> this_rank{0};
/// True from the first session on.
inline constinit std::atomic<bool> session_made{false};

/// The facts that have to be equal in all programs of a run.
struct program_facts {
    struct task {
        std::string name;
        std::string type;
        std::uint64_t bytes;
        std::uint64_t result_bytes;

        bool operator==(const task&) const = default;
    };
    std::uint32_t wire = wire_version;
    std::vector<task> tasks;
    std::vector<std::pair<std::string, std::uint64_t>> bounds; ///< the type of each, and its worst value

    bool operator==(const program_facts&) const = default;
};
inline void serialize(cluster::archive& a, program_facts::task& t) {
    a(t.name, t.type, t.bytes, t.result_bytes);
}
inline void serialize(cluster::archive& a, program_facts& f) { a(f.wire, f.tasks, f.bounds); }

[[nodiscard]] program_facts facts_of_program();
/// The differences of `there`, in words; empty if there are none.
[[nodiscard]] std::string difference(const program_facts& here, const program_facts& there);

} // namespace detail
} // namespace v0
} // namespace pilfer
