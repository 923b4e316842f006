// The facts that ranks compare before they work together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
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
        std::string build{}; ///< of the shared library that has it; empty: it is in the executable

        bool operator==(const task&) const = default;
    };
    std::uint32_t wire = wire_version;
    std::vector<task> tasks;
    std::vector<std::pair<std::string, std::uint64_t>> bounds; ///< the type of each, and its worst value
    std::string build{}; ///< of the executable; empty: this process works with any build

    bool operator==(const program_facts&) const = default;
};
inline void serialize(cluster::archive& a, program_facts::task& t) {
    a(t.name, t.type, t.bytes, t.result_bytes, t.build);
}
/// Of another version only the number is read: the rest may have another form.
inline void serialize(cluster::archive& a, program_facts& f) {
    a(f.wire);
    if (f.wire == wire_version) {
        a(f.tasks, f.bounds, f.build);
    }
}

/// A worker's first message in an elastic run.
struct hello {
    program_facts facts;
    std::string who; ///< its machine and process, for people
};
inline void serialize(cluster::archive& a, hello& h) {
    a(h.facts);
    if (h.facts.wire == wire_version) {
        a(h.who);
    }
}
/// Also of another version, without a name then. Throws archive_error.
[[nodiscard]] hello read_hello(std::span<const std::byte> bytes);
/// The coordinator's answer.
struct consent {
    std::string refusal; ///< empty: welcome
    std::string session; ///< what the names of its queues begin with
    std::uint32_t rank = 0;
};
inline void serialize(cluster::archive& a, consent& c) { a(c.refusal, c.session, c.rank); }

/// A worker's question in a run. Without news: for its end.
struct call {
    std::uint64_t run = 0;
    std::uint64_t version = 0;                  ///< of the run's news that it has heard of
    std::uint64_t drops = 0;                    ///< how many drops are among these
    std::vector<std::vector<std::byte>> news{}; ///< messages: better bounds, parts of a journal, and drops
};
inline void serialize(cluster::archive& a, call& c) { a(c.run, c.version, c.drops, c.news); }
/// The coordinator's answer: better bounds and more drops, or the end with the last bounds.
struct reply {
    std::uint64_t version = 0;
    std::vector<std::byte> bounds{}; ///< a message
    std::vector<std::byte> drops{};  ///< a message
    std::vector<std::byte> end{};    ///< a message; empty: the run goes on
};
inline void serialize(cluster::archive& a, reply& r) { a(r.version, r.bounds, r.drops, r.end); }

/// PILFER_CLUSTER_ANY_BUILD=1 leaves the builds out. Throws std::invalid_argument for a value other than 0
/// and 1.
[[nodiscard]] program_facts facts_of_program();
/// The differences of `there`, in words; empty if there are none.
[[nodiscard]] std::string difference(const program_facts& here, const program_facts& there);

} // namespace detail
} // namespace v0
} // namespace pilfer
