// What of the machine matters to balance: which CPUs there are and what they share. Plain values.
#pragma once

#include <span>
#include <vector>

namespace pilfer {
inline namespace v0 {
namespace machine {

/// One CPU as the operating system numbers them (elsewhere processing unit, hardware thread). Two CPUs share
/// a core, a cache, a package or a memory node if they have the same number there; the numbers count from 0
/// in the order of the topology.
struct cpu {
    unsigned number; ///< of the operating system
    unsigned core;
    unsigned cache2;  ///< second level; without one: the core
    unsigned cache3;  ///< third level; without one: the package
    unsigned package; ///< socket
    unsigned node;    ///< of memory
    unsigned speed;   ///< kinds of cores, the slowest 0; all 0 where nobody says
    unsigned sibling; ///< 0 for the first CPU of its core, then 1, ...
    friend bool operator==(const cpu&, const cpu&) = default;
};

/// Neighbours share most: the CPUs of a core stand together, and so do cores, caches and packages.
using topology = std::vector<cpu>;

/// Nothing is known: every CPU a core of its own, all in one package. `numbers` ascend.
[[nodiscard]] topology flat(std::span<const unsigned> numbers);

/// The CPUs of `all` whose numbers are in `mask`, and behind them, as in flat(), those of `mask` that `all`
/// does not know. Siblings are counted anew: the one that is left of a core is its first.
[[nodiscard]] topology within(const topology& all, std::span<const unsigned> mask);

struct extent {
    unsigned packages = 0;
    unsigned nodes = 0;
    unsigned caches3 = 0;
    unsigned caches2 = 0;
    unsigned cores = 0;
    unsigned speeds = 0; ///< kinds of cores
};
/// How many different ones there are.
[[nodiscard]] extent extent_of(const topology& cpus);

} // namespace machine
} // namespace v0
} // namespace pilfer
