#include "race/races.hpp"

#include "names/object_names.hpp"
#include "race/detector.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {
namespace {

constexpr unsigned most_races = 512;

/// Climbs from two strands to the fork that parts them.
void describe_branches(std::uint32_t a, std::uint32_t b, race_found& r) noexcept {
    strands& all = the.order;
    struct climber {
        std::uint32_t at, below, child;
    };
    climber of[2] = {{a, a, 0}, {b, b, 0}};
    while (of[0].at != of[1].at) {
        climber& c =
            of[1].at == 0 || (of[0].at != 0 && all[of[0].at].depth >= all[of[1].at].depth) ? of[0] : of[1];
        c.below = c.at;
        const how k = all[c.at].kind;
        c.child = k != how::rest && k != how::joined && k != how::call ? c.at : c.child;
        c.at = all[c.at].parent;
    }
    for (unsigned i = 0; i < 2; ++i) {
        side& s = i == 0 ? r.first : r.second;
        const strand_record& from = all[of[i].child != 0 ? of[i].child : of[i].below];
        s.branch = from.kind;
        s.forked = the.calls.stack(from.site, from.calls);
        s.forked.depth = from.site != 0 ? s.forked.depth : 0;
    }
}

} // namespace

void found_race(entry old, std::uint32_t segment, std::uint8_t bytes, bool write, std::uint64_t site,
                std::uintptr_t at) noexcept {
    const std::uint64_t old_site = the.sites[site_of(old)];
    const std::uintptr_t pair = (old_site * 0x9E3779B97F4A7C15U) ^ (site * 0xC2B2AE3D27D4EB4FU) ^
                                (std::uint64_t{writes(old)} << 1) ^ std::uint64_t{write};
    if (the.pairs[pair | 1]++ != 0) {
        return;
    }
    findings& f = the.found;
    if (f.races == nullptr) {
        f.races = static_cast<race_found*>(reserve(most_races * sizeof(race_found)));
    }
    if (f.count == most_races) {
        ++f.more;
        return;
    }
    race_found& r = f.races[f.count++];
    const auto side_of = [at](side& s, std::uint8_t which, bool w, std::uint64_t where, std::uint32_t seg,
                              std::uint32_t other) {
        s.address = (at & ~std::uintptr_t{7}) + static_cast<unsigned>(__builtin_ctz(which));
        s.size = static_cast<std::uint8_t>(__builtin_popcount(which));
        s.writes = w;
        s.atomic = the.locks.has(the.segments[seg].locks, atomic_lock);
        s.locks = the.segments[seg].locks != 0 && !s.atomic;
        s.stack = the.calls.stack(where, the.segments[seg].calls);
        the.locks.find_without(the.segments[seg].locks, the.segments[other].locks, [&s](std::uintptr_t lock) {
            return object_names::copy(reinterpret_cast<const void*>(lock), s.lock_name, sizeof s.lock_name);
        });
    };
    side_of(r.first, bytes_of(old), writes(old), old_site, segment_of(old), segment);
    side_of(r.second, bytes, write, site, segment, segment_of(old));
    describe_branches(the.segments[segment_of(old)].strand, the.segments[segment].strand, r);
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
