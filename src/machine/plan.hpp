// Placement of workers on CPUs, and their neighbourhoods. Pure functions of a topology.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <pilfer/options.hpp>

#include "balance/victim.hpp"
#include "machine/topology.hpp"

namespace pilfer {
inline namespace v0 {
namespace machine {

/// For each of `workers` the index of its CPU in `cpus`, ascending: neighbours in the ring of workers are
/// neighbours in the topology. The first CPU of every core is used first, those of the fastest kind before
/// others, then their siblings. `compact` takes the CPUs in this order. `spread` takes them from each package
/// in turn, and there from each cache in turn.
///
/// With more workers than CPUs each CPU has workers / CPUs of them, rounded down or up. `cpus` is not empty;
/// automatic and off are treated as compact. O(n log n).
[[nodiscard]] std::vector<unsigned> place(const topology& cpus, unsigned workers, pinning how);

/// For each worker the ranges of workers that share hardware with it, the smallest first. Ranges exist for a
/// core, a second-level cache, a third-level cache, a memory node and a package. The last range contains all
/// workers.
class neighbourhoods {
public:
    /// For unknown CPUs: all workers are equally near to each other.
    explicit neighbourhoods(unsigned workers);
    /// `places`: see place().
    neighbourhoods(const topology& cpus, std::span<const unsigned> places);

    [[nodiscard]] std::span<const balance::group> of(unsigned worker) const noexcept;
    /// Reduces the number of workers to `workers`. The result of of() stays valid.
    void shrink(unsigned workers) noexcept;

private:
    std::vector<balance::group> m_groups;
    std::vector<unsigned>
        m_first; // of worker i: [m_first[i], m_first[i + 1]); empty: every worker has all groups
};

/// A pool's decision about its CPUs.
struct seating {
    pinning how = pinning::off;
    std::vector<unsigned> mask; ///< the CPUs that the pool may use
    std::vector<unsigned> cpu;  ///< by worker; empty: not pinned
    neighbourhoods near{1};
};
/// The seating for the calling thread's mask. Off: neither the mask nor hwloc is read. `most`: the largest
/// number of workers that there may be later. Workers beyond `workers` are spread over the CPUs of the first
/// ones, in turn; then all workers are equally near.
[[nodiscard]] seating seat(unsigned workers, unsigned most, pinning how);
[[nodiscard]] seating seat(unsigned workers, unsigned most, pinning how, const topology& cpus);

/// PILFER_PIN: off, compact or spread; null: off. Throws std::invalid_argument that names them.
[[nodiscard]] pinning pinning_from(const char* environment);
[[nodiscard]] std::string_view name(pinning how);

} // namespace machine
} // namespace v0
} // namespace pilfer
