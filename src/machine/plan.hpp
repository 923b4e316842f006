// Which worker on which CPU, and who is near whom. Pure functions of a topology.
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

/// For each of `workers` the place of its CPU in `cpus`, ascending: neighbours in the ring of workers are
/// neighbours in the topology. Which CPUs are used: first of every core one, the fastest kind first, then
/// their siblings; in that order `compact` takes them as they stand, `spread` from each package in turn,
/// there from each cache in turn. With more workers than CPUs each CPU has workers / CPUs of them, rounded
/// down or up. `cpus` is not empty; automatic and off are taken for compact. O(n log n).
[[nodiscard]] std::vector<unsigned> place(const topology& cpus, unsigned workers, pinning how);

/// For each worker the ranges of workers that share something with it, the smallest first: a core, a cache of
/// the second, of the third level, a memory node, a package; the last one is everybody.
class neighbourhoods {
public:
    /// Nobody knows where the workers run: everybody is as near as everybody else.
    explicit neighbourhoods(unsigned workers);
    /// `places`: see place().
    neighbourhoods(const topology& cpus, std::span<const unsigned> places);

    [[nodiscard]] std::span<const balance::group> of(unsigned worker) const noexcept;
    /// There are only `workers` after all. What of() returned stays where it is.
    void shrink(unsigned workers) noexcept;

private:
    std::vector<balance::group> m_groups;
    std::vector<unsigned>
        m_first; // of worker i: [m_first[i], m_first[i + 1]); empty: all groups are everybody's
};

/// What a pool decided about its CPUs.
struct seating {
    pinning how = pinning::off;
    std::vector<unsigned> mask; ///< the CPUs that the pool may use
    std::vector<unsigned> cpu;  ///< by worker; empty: not pinned
    neighbourhoods near{1};
};
/// For the calling thread's mask. Off: neither the mask nor hwloc is asked. `most`: workers that there may be
/// later; those beyond `workers` are dealt out over the CPUs of the first ones, in turn, and nobody is nearer
/// than others then.
[[nodiscard]] seating seat(unsigned workers, unsigned most, pinning how);
[[nodiscard]] seating seat(unsigned workers, unsigned most, pinning how, const topology& cpus);

/// PILFER_PIN: off, compact or spread; null: off. Throws std::invalid_argument that names them.
[[nodiscard]] pinning pinning_from(const char* environment);
[[nodiscard]] std::string_view name(pinning how);

} // namespace machine
} // namespace v0
} // namespace pilfer
