// The check of an access against those before it.
#include "race/detector.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

constinit detector the;

namespace {

[[nodiscard]] std::uint32_t number_of_site(std::uint64_t site) noexcept {
    static struct {
        std::uint64_t site;
        std::uint32_t number;
    } known[1024];
    auto& k = known[site % 1024];
    if (k.site != site) {
        std::uint32_t& n = the.site_numbers[site];
        if (n == 0) {
            n = the.sites.take();
            the.sites[n] = site;
        }
        k = {site, n};
    }
    return k.number;
}

/// Puts the new entry in front, and closes gaps. Of too many entries the oldest read goes, or the oldest.
[[gnu::noinline]] void rebuild(cell& c, const entry* from, unsigned count, entry added) noexcept {
    const inside here;
    entry kept[in_list + 1];
    unsigned n = 0;
    if (added != 0) {
        kept[n++] = added;
    }
    for (unsigned i = 0; i < count && from[i] != 0; ++i) {
        if (bytes_of(from[i]) != 0) {
            kept[n++] = from[i];
        }
    }
    if (n > in_list) {
        unsigned gone = n - 1;
        while (gone > 1 && writes(kept[gone])) {
            --gone;
        }
        gone = gone == 1 && writes(kept[1]) ? n - 1 : gone;
        for (--n; gone < n; ++gone) {
            kept[gone] = kept[gone + 1];
        }
        the.found.readers_lost = true;
    }
    the.shadow.assign(c, count != in_cell, kept, n);
}

/// An access to a cell without entries.
void first_access(const fiber& f, cell& c, std::uint8_t bytes, bool write, std::uint64_t site,
                  std::uintptr_t at) noexcept {
    the.shadow.note_used(at);
    c.e[0] = make_entry(f.segment, bytes, write, number_of_site(site));
    if (write) {
        the.note_write(at, f);
    }
}

/// The rules of what is kept, for each byte:
/// 1. An access replaces those before it, but a read replaces no write.
/// 2. Of parallel reads the first one is kept: what races with another one also races with it, as long as the
///    order of the run is depth-first (Feng and Leiserson, SPAA 1997). If it is not, all are kept, and so are
///    those of two tasks of a graph.
/// 3. An access under locks does not replace one that holds fewer.
/// 4. An access adds nothing to one of the same strand with the same bytes, unless it is the first write or
///    holds fewer locks.
/// False: a race was found, so that the next cell with these entries must be checked, too.
bool check_cell(fiber& f, cell& c, std::uint8_t bytes, bool write, std::uint64_t site,
                std::uintptr_t at) noexcept {
    if (c.e[0] == 0) {
        the.shadow.note_used(at);
    }
    entry* const all = the.shadow.entries(c);
    const unsigned count = the.shadow.count(c);
    const bool one_reader = the.depth_first && !the.found.edges;
    std::uint8_t need = bytes;
    bool gaps = false;
    bool raced = false;
    bool any_element = one_reader; // another element of the loop would add nothing, either
    unsigned n = 0;
    for (; n < count && all[n] != 0; ++n) {
        const entry e = all[n];
        const std::uint8_t both = bytes_of(e) & bytes;
        if (both == 0) {
            continue;
        }
        const bool adds_nothing = writes(e) || !write;
        const std::uint8_t r = the.related(segment_of(e), f);
        any_element = any_element && !((r & same_strand) != 0 && writes(e));
        bool replaced = false;
        if ((r & same_strand) != 0 && adds_nothing && (r & has_no_other_lock) != 0) {
            need = static_cast<std::uint8_t>(need & ~both);
        } else if ((r & before) != 0) {
            replaced = (write || !writes(e)) && (r & has_all_locks) != 0;
        } else if (write || writes(e)) {
            if ((r & excluded) == 0) {
                const inside here;
                found_race(e, f.segment, bytes, write, site, at);
                replaced = raced = true;
            }
        } else if (one_reader && (r & same_task) != 0 && (r & has_no_other_lock) != 0) {
            need = static_cast<std::uint8_t>(need & ~both);
            the.reader_left_out = true;
        }
        if (replaced) {
            all[n] = without(e, both);
            gaps = gaps || bytes_of(all[n]) == 0;
        }
    }
    if (write) {
        the.note_write(at, f);
    }
    if (need == 0 && !gaps) {
        if (!write && (any_element || f.element == 0)) {
            the.note_read(at, bytes, f);
        }
        return !raced;
    }
    const entry added = need != 0 ? make_entry(f.segment, need, write, number_of_site(site)) : 0;
    if (need == bytes && count == in_cell && (n < 2 || (n == 2 && gaps))) [[likely]] {
        // What is left of one or two entries, after the new one.
        const entry kept = bytes_of(c.e[0]) != 0 ? c.e[0] : bytes_of(c.e[1]) != 0 ? c.e[1] : 0;
        c.e[0] = added;
        c.e[1] = kept;
        return !raced;
    }
    if (need != 0 && !gaps && count == in_cell && n < in_cell) {
        c = {{added, c.e[0], c.e[1], c.e[2]}}; // no loop, which the compiler may make a call of memmove
        return !raced;
    }
    rebuild(c, all, count, added);
    return !raced;
}

/// The element of the loop that an outcome is for; 0: it is for all of them.
[[nodiscard]] std::uint32_t element_of(const cell& c, const fiber& f) noexcept {
    const auto is_of_loop = [&](entry e) { return e != 0 && the.segments[segment_of(e)].strand == f.strand; };
    return is_of_loop(c.e[0]) || is_of_loop(c.e[1]) ? f.element : 0;
}

[[nodiscard]] bool has_two_at_most(const cell& c) noexcept { return c.e[2] == 0 && !c.is_long(); }

/// check_cell(), and remembers the outcome from the second access of an instruction in a strand on: most
/// instructions of a short strand have only one.
void learn(fiber& f, cell& c, std::uint8_t bytes, bool write, std::uint64_t site,
           std::uintptr_t at) noexcept {
    detector::outcome& k = the.known_outcome(site, bytes);
    if (k.epoch != f.epoch || k.site != site || !has_two_at_most(c)) {
        k.epoch = f.epoch;
        k.site = site;
        k.access = 0;
        (void)check_cell(f, c, bytes, write, site, at);
        return;
    }
    k.before[0] = c.e[0];
    k.before[1] = c.e[1];
    k.element = element_of(c, f);
    const bool fits = check_cell(f, c, bytes, write, site, at) && has_two_at_most(c);
    k.after[0] = c.e[0];
    k.after[1] = c.e[1];
    k.adds = c.e[0] != k.before[0] && segment_of(c.e[0]) == f.segment;
    k.access = fits ? detector::access_of(bytes, write) : 0;
}

} // namespace

std::uint8_t detector::relation_to(std::uint32_t segment, const fiber& f) noexcept {
    const segment_record& s = segments[segment];
    unsigned r = 0;
    if (s.strand == f.strand) {
        const bool is_below = s.element >= f.first_element && s.element < f.element;
        r = s.element == f.element ? same_strand | before : is_below || s.element == ended_block ? before : 0;
    } else if (order.before(s.strand, f.strand, f.edges)) {
        r = before;
    }
    if (order[s.strand].task == order[f.strand].task) {
        r |= same_task;
    }
    if (s.locks == f.locks && s.locks == 0) {
        return static_cast<std::uint8_t>(r | has_all_locks | has_no_other_lock);
    }
    if (locks.exclude(s.locks, f.locks)) {
        r |= excluded;
    }
    if (locks.within(f.locks, s.locks)) {
        r |= has_all_locks;
    }
    if (locks.within(s.locks, f.locks)) {
        r |= has_no_other_lock;
    }
    return static_cast<std::uint8_t>(r);
}

std::uint32_t detector::make_segment(fiber& f) noexcept {
    if (segments.live() + calls.live() + order.live() > m_next_sweep) [[unlikely]] {
        sweep();
    }
    const std::uint32_t c = calls.record(f);
    found.locks = found.locks || (f.locks != 0 && !locks.has(f.locks, atomic_lock));
    std::uint32_t s = f.top->known_segment;
    const segment_record& k = segments[s];
    if (s == 0 || !k.live || k.strand != f.strand || k.element != f.element || k.calls != c ||
        k.locks != f.locks) {
        s = segments.take();
        segments[s] = {f.strand, c, f.element, 0, 0, static_cast<std::uint16_t>(f.locks), true, false};
        if (f.element != 0) {
            segments[s].next = f.of_loop->m_segments;
            f.of_loop->m_segments = s;
        }
    }
    f.segment = f.top->segment = f.top->known_segment = s;
    return s;
}

void access(fiber& f, std::uintptr_t at, std::size_t size, bool write, std::uint64_t site) noexcept {
    if (f.unseen != 0 || f.strand == 0 || f.is_own(at)) {
        return;
    }
    if (f.segment == 0) {
        const inside here;
        (void)the.make_segment(f);
    }
    while (size != 0) {
        const unsigned offset = at & 7;
        const std::size_t here = size < 8 - offset ? size : 8 - offset;
        (void)check_cell(f, the.shadow.at(at), static_cast<std::uint8_t>(((1U << here) - 1) << offset), write,
                         site, at);
        at += here;
        size -= here;
    }
}

void access_cell(fiber& f, std::uintptr_t at, std::uint8_t bytes, bool write, std::uint64_t site) noexcept {
    if (f.unseen != 0) {
        return;
    }
    cell& c = the.shadow.at(at);
    if (c.e[0] == 0 && f.strand != 0) {
        if (f.segment == 0) {
            const inside here;
            (void)the.make_segment(f);
        }
        first_access(f, c, bytes, write, site, at);
        return;
    }
    const detector::outcome& k = the.known_outcome(site, bytes);
    if (f.segment == 0 && k.adds && k.site == site && k.epoch == f.epoch) {
        const inside here;
        (void)the.make_segment(f); // a sweep forgets all outcomes
    }
    if (c.e[0] == k.before[0] && c.e[1] == k.before[1] && c.e[2] == 0 && k.site == site &&
        k.epoch == f.epoch && (k.element == 0 || k.element == f.element) &&
        k.access == detector::access_of(bytes, write)) {
        if (write) {
            the.note_write(at, f);
        }
        c.e[0] = k.adds ? with_segment(k.after[0], f.segment) : k.after[0];
        c.e[1] = k.after[1];
        return;
    }
    if (f.strand == 0) {
        return;
    }
    if (f.segment == 0) {
        const inside here;
        (void)the.make_segment(f);
    }
    learn(f, c, bytes, write, site, at);
}

void access_atomically(fiber& f, std::uintptr_t at, std::size_t size, bool write,
                       std::uint64_t site) noexcept {
    const std::uint32_t before = f.locks;
    static std::uint32_t known_before = 0;
    static std::uint32_t known = 0;
    if (known == 0 || known_before != before) {
        std::uint32_t with = before;
        const inside here;
        if (!the.locks.add(with, atomic_lock)) {
            return;
        }
        known = with;
        known_before = before;
    }
    const std::uint32_t epoch = f.epoch;
    const std::uint32_t shared_epoch = f.shared_epoch;
    const std::uint32_t segment = f.segment;
    f.locks = known;
    f.changed();
    access(f, at, size, write, site);
    f.locks = before;
    f.epoch = epoch;
    f.shared_epoch = shared_epoch;
    f.segment = the.fits(segment, f) ? segment : 0; // a sweep may have freed it
}

void deleted(fiber& f, std::uintptr_t at, std::size_t size, std::uint64_t site) noexcept {
    the.shadow.each_used(at, size, [&](std::uintptr_t used) { access_cell(f, used, 0xFF, true, site); });
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
