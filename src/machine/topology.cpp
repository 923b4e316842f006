#include "machine/topology.hpp"

#include <algorithm>
#include <set>

namespace pilfer {
inline namespace v0 {
namespace machine {
namespace {

[[nodiscard]] unsigned distinct(const topology& cpus, unsigned cpu::*what) {
    std::set<unsigned> seen;
    for (const cpu& c : cpus) {
        seen.insert(c.*what);
    }
    return static_cast<unsigned>(seen.size());
}

[[nodiscard]] unsigned behind_all(const topology& cpus, unsigned cpu::*what) {
    unsigned next = 0;
    for (const cpu& c : cpus) {
        next = std::max(next, c.*what + 1);
    }
    return next;
}

/// Adds a CPU whose number is all that is known.
void add_unknown(topology& to, unsigned number, unsigned package) {
    to.push_back({.number = number,
                  .core = behind_all(to, &cpu::core),
                  .cache2 = behind_all(to, &cpu::cache2),
                  .cache3 = package,
                  .package = package,
                  .node = package,
                  .speed = 0,
                  .sibling = 0});
}

} // namespace

topology flat(std::span<const unsigned> numbers) {
    topology cpus;
    for (unsigned i = 0; i < numbers.size(); ++i) {
        cpus.push_back({.number = numbers[i],
                        .core = i,
                        .cache2 = i,
                        .cache3 = 0,
                        .package = 0,
                        .node = 0,
                        .speed = 0,
                        .sibling = 0});
    }
    return cpus;
}

topology within(const topology& all, std::span<const unsigned> mask) {
    topology cpus;
    for (const cpu& c : all) {
        if (std::find(mask.begin(), mask.end(), c.number) == mask.end()) {
            continue;
        }
        const bool same = !cpus.empty() && cpus.back().core == c.core;
        const unsigned sibling = same ? cpus.back().sibling + 1 : 0;
        cpus.push_back(c);
        cpus.back().sibling = sibling;
    }
    const unsigned elsewhere = std::max(
        {behind_all(all, &cpu::package), behind_all(all, &cpu::cache3), behind_all(all, &cpu::node)});
    for (const unsigned number : mask) {
        const auto known = [number](const cpu& c) { return c.number == number; };
        if (std::none_of(cpus.begin(), cpus.end(), known)) {
            add_unknown(cpus, number, elsewhere);
        }
    }
    return cpus;
}

extent extent_of(const topology& cpus) {
    return {.packages = distinct(cpus, &cpu::package),
            .nodes = distinct(cpus, &cpu::node),
            .caches3 = distinct(cpus, &cpu::cache3),
            .caches2 = distinct(cpus, &cpu::cache2),
            .cores = distinct(cpus, &cpu::core),
            .speeds = distinct(cpus, &cpu::speed)};
}

} // namespace machine
} // namespace v0
} // namespace pilfer
