#include "machine/plan.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>

#include "machine/detect.hpp"
#include "platform/os.hpp"

namespace pilfer {
inline namespace v0 {
namespace machine {
namespace {

using level = unsigned cpu::*;
using places = std::vector<unsigned>;

/// Places taken from each object of the first level in turn, and within it from each of the next level in
/// turn.
[[nodiscard]] places in_turn(const topology& cpus, const places& from, std::span<const level> levels) {
    if (levels.empty() || from.size() < 2) {
        return from;
    }
    std::vector<places> parts;
    for (auto first = from.begin(); first != from.end();) {
        const unsigned object = cpus[*first].*levels[0];
        const auto last =
            std::find_if(first, from.end(), [&](unsigned p) { return cpus[p].*levels[0] != object; });
        parts.push_back(in_turn(cpus, places(first, last), levels.subspan(1)));
        first = last;
    }
    places all;
    for (std::size_t round = 0; all.size() < from.size(); ++round) {
        for (const places& part : parts) {
            if (round < part.size()) {
                all.push_back(part[round]);
            }
        }
    }
    return all;
}

/// All CPUs, in the order in which they are used.
[[nodiscard]] places by_preference(const topology& cpus, pinning how) {
    places order(cpus.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto same_rank = [&](unsigned a, unsigned b) {
        return cpus[a].sibling == cpus[b].sibling && cpus[a].speed == cpus[b].speed;
    };
    std::ranges::sort(order, {}, [&](unsigned p) {
        return std::tuple(cpus[p].sibling, ~cpus[p].speed, p); // the fastest first
    });
    if (how != pinning::spread) {
        return order;
    }
    constexpr level levels[] = {&cpu::package, &cpu::cache3, &cpu::cache2};
    for (auto first = order.begin(); first != order.end();) {
        const auto last = std::find_if(first, order.end(), [&](unsigned p) { return !same_rank(*first, p); });
        std::ranges::copy(in_turn(cpus, places(first, last), levels), first);
        first = last;
    }
    return order;
}

/// For each worker the range of workers around it that have the same `what`.
[[nodiscard]] std::vector<balance::group> runs(const topology& cpus, std::span<const unsigned> at,
                                               level what) {
    std::vector<balance::group> all(at.size());
    for (unsigned first = 0, last = 0; first < at.size(); first = last) {
        while (last < at.size() && cpus[at[last]].*what == cpus[at[first]].*what) {
            ++last;
        }
        std::fill(all.begin() + first, all.begin() + last, balance::group{first, last});
    }
    return all;
}

} // namespace

std::vector<unsigned> place(const topology& cpus, unsigned workers, pinning how) {
    const places order = by_preference(cpus, how);
    places at;
    for (unsigned i = 0; i < workers; ++i) {
        at.push_back(order[i % order.size()]);
    }
    std::sort(at.begin(), at.end());
    return at;
}

// ---- neighbourhoods ---------------------------------------------------------------------------

neighbourhoods::neighbourhoods(unsigned workers) : m_groups{{0, workers}} {}

neighbourhoods::neighbourhoods(const topology& cpus, std::span<const unsigned> at) {
    const auto workers = static_cast<unsigned>(at.size());
    const std::vector<balance::group> levels[] = {runs(cpus, at, &cpu::core), runs(cpus, at, &cpu::cache2),
                                                  runs(cpus, at, &cpu::cache3), runs(cpus, at, &cpu::node),
                                                  runs(cpus, at, &cpu::package)};
    for (unsigned i = 0; i < workers; ++i) {
        m_first.push_back(static_cast<unsigned>(m_groups.size()));
        balance::group widest{i, i + 1};
        const auto add = [&](balance::group g) {
            // A group that adds no worker is left out.
            if (g.first <= widest.first && g.last >= widest.last &&
                g.last - g.first > widest.last - widest.first) {
                m_groups.push_back(g);
                widest = g;
            }
        };
        // A memory node may be larger or smaller than a cache or a package.
        std::array<balance::group, std::size(levels)> mine;
        std::ranges::transform(levels, mine.begin(), [i](const auto& of) { return of[i]; });
        std::ranges::sort(mine, {}, [](const balance::group& g) { return g.last - g.first; });
        std::ranges::for_each(mine, add);
        add({0, workers});
    }
    m_first.push_back(static_cast<unsigned>(m_groups.size()));
}

std::span<const balance::group> neighbourhoods::of(unsigned worker) const noexcept {
    const std::span all(m_groups);
    return m_first.empty() ? all : all.subspan(m_first[worker], m_first[worker + 1] - m_first[worker]);
}

void neighbourhoods::shrink(unsigned workers) noexcept {
    for (balance::group& g : m_groups) {
        g.first = std::min(g.first, workers);
        g.last = std::min(g.last, workers);
    }
}

// ---- seating ----------------------------------------------------------------------------------

seating seat(unsigned workers, unsigned most, pinning how, const topology& cpus) {
    if (cpus.empty() || (how != pinning::compact && how != pinning::spread)) {
        return {.how = pinning::off, .mask = {}, .cpu = {}, .near = neighbourhoods(most)};
    }
    seating s{.how = how, .mask = {}, .cpu = {}, .near = neighbourhoods(most)};
    const places at = place(cpus, workers, how);
    for (const unsigned p : at) {
        s.cpu.push_back(cpus[p].number);
    }
    for (const cpu& c : cpus) {
        s.mask.push_back(c.number);
    }
    std::sort(s.mask.begin(), s.mask.end());
    if (most == workers) {
        s.near = neighbourhoods(cpus, at);
    }
    for (unsigned i = workers; i < most; ++i) {
        s.cpu.push_back(s.cpu[i - workers]);
    }
    return s;
}

seating seat(unsigned workers, unsigned most, pinning how) {
    if (how != pinning::compact && how != pinning::spread) {
        return seat(workers, most, how, {});
    }
    return seat(workers, most, how, this_machine(os::affinity_mask()));
}

pinning pinning_from(const char* environment) {
    if (environment == nullptr) {
        return pinning::off;
    }
    const std::string_view text = environment;
    for (const pinning p : {pinning::off, pinning::compact, pinning::spread}) {
        if (text == name(p)) {
            return p;
        }
    }
    throw std::invalid_argument("pilfer: PILFER_PIN must be off, compact or spread, not \"" +
                                std::string(text) + "\"");
}

std::string_view name(pinning how) {
    switch (how) {
    case pinning::compact:
        return "compact";
    case pinning::spread:
        return "spread";
    case pinning::automatic:
        return "automatic";
    case pinning::off:
        break;
    }
    return "off";
}

} // namespace machine
} // namespace v0
} // namespace pilfer
