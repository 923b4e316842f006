// The part of the machine that matters to balance: its CPUs and what they share. Plain values.
#pragma once

#include <span>
#include <vector>

namespace pilfer {
inline namespace v0 {
namespace machine {

/// One CPU as the operating system numbers them (elsewhere processing unit, hardware thread). Two CPUs share
/// a core, a cache, a package or a memory node if they have the same number there. The numbers count from 0
/// in the order of the topology.
struct cpu {
    unsigned number; ///< Of the operating system.
    unsigned core;
    unsigned cache2;  ///< Second level; without one: the core.
    unsigned cache3;  ///< Third level; without one: the package.
    unsigned package; ///< Socket.
    unsigned node;    ///< Of memory.
    unsigned speed;   ///< Kinds of cores, the slowest 0; all 0 if unknown.
    unsigned sibling; ///< 0 for the first CPU of its core, then 1, ...
    friend bool operator==(const cpu&, const cpu&) = default;
};

/// Neighbours share most: the CPUs of a core are adjacent, and so are cores, caches and packages.
using topology = std::vector<cpu>;

/// A topology for an unknown machine: every CPU is a core of its own, all in one package. `numbers`
/// ascend.
[[nodiscard]] topology flat(std::span<const unsigned> numbers);

/// The CPUs of `all` whose numbers are in `mask`. After them, as in flat(), those of `mask` that `all` does
/// not know. Siblings are counted anew: the one that is left of a core is its first.
[[nodiscard]] topology within(const topology& all, std::span<const unsigned> mask);

struct extent {
    unsigned packages = 0;
    unsigned nodes = 0;
    unsigned caches3 = 0;
    unsigned caches2 = 0;
    unsigned cores = 0;
    unsigned speeds = 0; ///< Kinds of cores.
};
/// Counts the different packages, caches, cores and so on.
[[nodiscard]] extent extent_of(const topology& cpus);

} // namespace machine
} // namespace v0
} // namespace pilfer
