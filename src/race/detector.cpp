#include "race/detector.hpp"

#if defined(PILFER_RACE)

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace race {

constinit thread_local fiber* running_fiber = nullptr;

namespace {

// ---- the shadow of the memory: a cell for each eight bytes -----------------------------------------

/// An access to some bytes of a cell: segment, bytes, whether it writes, and the number of its instruction.
using entry = std::uint64_t;
constexpr unsigned site_bits = 23;

[[nodiscard]] entry make_entry(std::uint32_t segment, std::uint8_t bytes, bool writes, std::uint32_t site) {
    return std::uint64_t{segment} << 32 | std::uint64_t{bytes} << 24 | std::uint64_t{writes} << 23 | site;
}
[[nodiscard]] std::uint32_t segment_of(entry e) { return static_cast<std::uint32_t>(e >> 32); }
[[nodiscard]] std::uint8_t bytes_of(entry e) { return static_cast<std::uint8_t>(e >> 24); }
[[nodiscard]] bool writes(entry e) { return (e >> 23 & 1) != 0; }
[[nodiscard]] std::uint32_t site_of(entry e) { return e & ((1U << site_bits) - 1); }
[[nodiscard]] entry without(entry e, std::uint8_t bytes) { return e & ~(std::uint64_t{bytes} << 24); }

constexpr unsigned in_cell = 4;
/// An entry without bytes, but with a segment, is the number of a longer list.
struct cell {
    entry e[in_cell];
};
constexpr unsigned in_list = 24;
struct long_list {
    std::uint32_t count; // first: the list of free records
    entry e[in_list];
};
[[nodiscard]] bool is_long(const cell& c) { return c.e[0] != 0 && bytes_of(c.e[0]) == 0; }

constexpr unsigned chunk_bits = 18; // of memory of the program
constexpr std::size_t chunk_cells = (std::size_t{1} << chunk_bits) / 8;
constexpr std::size_t chunks = std::size_t{1} << (47 - chunk_bits);
cell** shadow = nullptr;
/// The chunks that exist.
struct chunk_record {
    std::uint32_t unused;
    cell* cells;
};

struct lock_set {
    std::uint32_t count;
    std::uintptr_t at[7];
};

// ---- all that there is ---------------------------------------------------------------------------------

strands all;
table<call_record, (1U << 28)> calls;
table<segment_record, (1U << 28)> segments;
table<long_list, (1U << 24)> lists;
table<chunk_record, (1U << 24)> made_chunks;
table<lock_set, (1U << 16)> lock_sets;
table<std::uint64_t, (1U << site_bits)> sites;
address_map site_numbers;
address_map object_edges;
address_map pairs; // of instructions whose race is known

bool over = false;
bool edges_used = false;
bool reader_left_out = false; // before there were edges
bool readers_before_edges = false;
bool locks_used = false;
bool depth_first = true; // no task that waited has let another one pass
bool readers_lost = false;
std::atomic<unsigned> outside{0};
const char* not_followed[16];
unsigned not_followed_count = 0;
std::uint64_t kept = 0;
std::uint32_t next_sweep = 2'000'000;

constexpr unsigned most_relaxed = 4096;
atomic_change relaxed_sites[most_relaxed];
unsigned relaxed_count = 0;
address_map relaxed_known;

constexpr unsigned most_races = 512;
race_found* races = nullptr;
unsigned race_count = 0;
std::uint64_t more_races = 0;

std::uintptr_t threads[1024];
std::atomic<unsigned> thread_count{0};
constinit thread_local std::uintptr_t known_thread = 0;

void note_thread(std::uintptr_t pointer) noexcept {
    if (const unsigned i = thread_count.fetch_add(1); i < sizeof threads / sizeof threads[0]) {
        threads[i] = pointer;
    }
}

void uses_edges() noexcept {
    if (!edges_used) {
        edges_used = true;
        readers_before_edges = reader_left_out;
    }
}

fiber* fibers[16'384];
unsigned fiber_count = 0;

[[nodiscard]] cell* cells_of(std::uintptr_t at) noexcept {
    cell*& chunk = shadow[(at >> chunk_bits) & (chunks - 1)];
    if (chunk == nullptr) [[unlikely]] {
        chunk = static_cast<cell*>(reserve(chunk_cells * sizeof(cell)));
        made_chunks[made_chunks.take()].cells = chunk;
    }
    return &chunk[(at / 8) & (chunk_cells - 1)];
}

[[nodiscard]] std::uint32_t number_of_site(std::uint64_t site) noexcept {
    static struct {
        std::uint64_t site;
        std::uint32_t number;
    } known[1024];
    auto& k = known[site % 1024];
    if (k.site != site) {
        std::uint32_t& n = site_numbers[site];
        if (n == 0) {
            n = sites.take();
            sites[n] = site;
        }
        k = {site, n};
    }
    return k.number;
}

/// strands::before(), which asks about few strands many times.
struct order_answer {
    std::uint32_t before, strand;
    bool yes;
};
order_answer known_orders[64];

[[nodiscard]] bool comes_before(std::uint32_t a, const fiber& f) noexcept {
    order_answer& k = known_orders[a % 64];
    if (k.before != a || k.strand != f.strand) {
        k = {a, f.strand, all.in_series(a, f.strand)};
    }
    return k.yes || (f.edges != 0 && all.before(a, f.strand, f.edges));
}

/// Inside of the detector nothing is looked at: it calls memcpy and the like, which are watched.
class inside {
public:
    inside() noexcept : fiber_here(running_fiber) { set(nullptr); }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;
    ~inside() { set(fiber_here); }
    /// Null: nothing is looked at.
    [[nodiscard]] fiber* checked() const noexcept {
        return fiber_here != nullptr && fiber_here->strand != 0 ? fiber_here : nullptr;
    }
    fiber* const fiber_here;

private:
    static void set(fiber* f) noexcept {
        *const_cast<fiber* volatile*>(&running_fiber) = f;
        asm volatile("" : : : "memory");
    }
};

// ---- calls and segments --------------------------------------------------------------------------------

[[nodiscard]] std::uint32_t record_calls(fiber& f) noexcept {
    frame* at = f.top;
    while (at != f.frames && at->calls == 0) {
        --at;
    }
    std::uint32_t caller = at->calls;
    while (at != f.top) {
        ++at;
        const std::uint32_t c = calls.take();
        calls[c] = {caller, true, false, at->returns_to};
        at->calls = c;
        caller = c;
    }
    return caller;
}

void sweep() noexcept;

[[nodiscard]] std::uint32_t make_segment(fiber& f) noexcept {
    if (segments.live() + calls.live() + all.live() > next_sweep) [[unlikely]] {
        sweep();
    }
    const std::uint32_t c = record_calls(f);
    locks_used = locks_used || f.locks != 0;
    const std::uint32_t s = segments.take();
    segments[s] = {f.strand, c, f.locks, true, false};
    f.segment = s;
    f.top->segment = s;
    return s;
}

[[nodiscard]] stack_of stack_at(std::uint64_t site, std::uint32_t c) noexcept {
    stack_of s;
    s.at[0] = site;
    s.depth = 1;
    for (; c != 0 && s.depth < most_frames; c = calls[c].caller) {
        s.at[s.depth++] = calls[c].returns_to;
    }
    return s;
}

// ---- locks ---------------------------------------------------------------------------------------------

[[nodiscard]] std::uint32_t number_of(const lock_set& s) noexcept {
    if (s.count == 0) {
        return 0;
    }
    for (std::uint32_t i = 1; i < lock_sets.end(); ++i) {
        const lock_set& other = lock_sets[i];
        if (other.count == s.count && std::memcmp(other.at, s.at, s.count * sizeof s.at[0]) == 0) {
            return i;
        }
    }
    const std::uint32_t i = lock_sets.take();
    lock_sets[i] = s;
    return i;
}
/// Two readers of a shared lock do not exclude each other.
[[nodiscard]] bool excludes(std::uint32_t set, std::uintptr_t lock) noexcept {
    const lock_set& s = lock_sets[set];
    for (std::uint32_t i = 0; i < s.count; ++i) {
        if ((s.at[i] | 1) == (lock | 1) && (s.at[i] & lock & 1) == 0) {
            return true;
        }
    }
    return false;
}
[[nodiscard]] bool holds(std::uint32_t set, std::uintptr_t lock) noexcept {
    const lock_set& s = lock_sets[set];
    for (std::uint32_t i = 0; i < s.count; ++i) {
        if (s.at[i] == lock) {
            return true;
        }
    }
    return false;
}
[[nodiscard]] bool share_lock(std::uint32_t a, std::uint32_t b) noexcept {
    if (a == 0 || b == 0) {
        return false;
    }
    for (std::uint32_t i = 0; i < lock_sets[a].count; ++i) {
        if (excludes(b, lock_sets[a].at[i])) {
            return true;
        }
    }
    return false;
}
/// True if `b` has all locks of `a`.
[[nodiscard]] bool within(std::uint32_t a, std::uint32_t b) noexcept {
    if (a == 0 || a == b) {
        return true;
    }
    for (std::uint32_t i = 0; i < lock_sets[a].count; ++i) {
        if (b == 0 || !holds(b, lock_sets[a].at[i])) {
            return false;
        }
    }
    return true;
}

// ---- races ---------------------------------------------------------------------------------------------

/// Climbs from two strands to the fork that parts them.
void describe_branches(std::uint32_t a, std::uint32_t b, race_found& r) noexcept {
    const auto is_child = [](std::uint32_t s) {
        const how k = all[s].kind;
        return k != how::rest && k != how::joined && k != how::call;
    };
    std::uint32_t below_a = a;
    std::uint32_t below_b = b;
    std::uint32_t child_a = 0;
    std::uint32_t child_b = 0;
    const auto climb = [&](std::uint32_t& s, std::uint32_t& below, std::uint32_t& child) {
        below = s;
        if (is_child(s)) {
            child = s;
        }
        s = all[s].parent;
    };
    while (a != b && (a != 0 || b != 0)) {
        if (b == 0 || (a != 0 && all[a].depth >= all[b].depth)) {
            climb(a, below_a, child_a);
        } else {
            climb(b, below_b, child_b);
        }
    }
    const auto describe = [](side& s, std::uint32_t below, std::uint32_t child) {
        const strand_record& from = all[child != 0 ? child : below];
        s.branch = from.kind;
        s.forked = stack_at(from.site, from.calls);
        if (from.site == 0) {
            s.forked.depth = 0;
        }
    };
    describe(r.first, below_a, child_a);
    describe(r.second, below_b, child_b);
}

void report(entry old, std::uint32_t segment, std::uint8_t bytes, bool write, std::uint64_t site,
            std::uintptr_t at) noexcept {
    const std::uint64_t old_site = sites[site_of(old)];
    const std::uintptr_t pair = (old_site * 0x9E3779B97F4A7C15U) ^ (site * 0xC2B2AE3D27D4EB4FU) ^
                                (std::uint64_t{writes(old)} << 1) ^ std::uint64_t{write};
    std::uint32_t& known = pairs[pair | 1];
    if (known++ != 0) {
        return;
    }
    if (races == nullptr) {
        races = static_cast<race_found*>(reserve(most_races * sizeof(race_found)));
    }
    if (race_count == most_races) {
        ++more_races;
        return;
    }
    race_found& r = races[race_count++];
    const auto side_of = [at](side& s, std::uint8_t which, bool w, std::uint64_t where, std::uint32_t seg) {
        s.address = (at & ~std::uintptr_t{7}) + static_cast<unsigned>(__builtin_ctz(which));
        s.size = static_cast<std::uint8_t>(__builtin_popcount(which));
        s.writes = w;
        s.locks = segments[seg].locks != 0 ? lock_sets[segments[seg].locks].count : 0;
        s.stack = stack_at(where, segments[seg].calls);
    };
    side_of(r.first, bytes_of(old), writes(old), old_site, segment_of(old));
    side_of(r.second, bytes, write, site, segment);
    describe_branches(segments[segment_of(old)].strand, segments[segment].strand, r);
}

/// The rules of what is kept, for each byte:
/// 1. An access replaces those before it, but a read replaces no write.
/// 2. Of parallel reads the first one is kept: what races with another one also races with it, as long as the
///    order of the run is depth-first (Feng and Leiserson, SPAA 1997). If it is not, all are kept.
/// 3. An access under locks does not replace one that holds fewer.
void access_slowly(fiber& f, cell& c, std::uint8_t bytes, bool write, std::uint64_t site,
                   std::uintptr_t at) noexcept {
    const inside here;
    const std::uint32_t segment = f.segment != 0 ? f.segment : make_segment(f);
    entry kept_entries[in_list + 2];
    unsigned n = 0;
    const bool was_long = is_long(c);
    const entry* from = was_long ? lists[segment_of(c.e[0])].e : c.e;
    const unsigned count = was_long ? lists[segment_of(c.e[0])].count : in_cell;
    std::uint8_t need = bytes;
    const bool one_reader = depth_first && !edges_used;
    for (unsigned i = 0; i < count && from[i] != 0; ++i) {
        entry e = from[i];
        const std::uint8_t both = bytes_of(e) & bytes;
        if (both == 0) {
            kept_entries[n++] = e;
            continue;
        }
        const segment_record& other = segments[segment_of(e)];
        if (segment_of(e) == segment) {
            if (writes(e) || !write) {
                need = static_cast<std::uint8_t>(need & ~both);
            } else {
                e = without(e, both);
            }
        } else if (comes_before(other.strand, f)) {
            if ((write || !writes(e)) && within(f.locks, other.locks)) {
                e = without(e, both);
            }
        } else if (write || writes(e)) {
            if (!share_lock(other.locks, f.locks)) {
                report(e, segment, bytes, write, site, at);
                e = without(e, both);
            }
        } else if (one_reader && within(other.locks, f.locks)) {
            need = static_cast<std::uint8_t>(need & ~both);
            reader_left_out = true;
        }
        if (bytes_of(e) != 0) {
            kept_entries[n++] = e;
        }
    }
    if (need != 0) {
        kept_entries[n++] = make_entry(segment, need, write, number_of_site(site));
        ++kept;
    }
    if (n > in_list) {
        // The oldest read goes, or the oldest of all.
        unsigned gone = 0;
        while (gone < n - 1 && writes(kept_entries[gone])) {
            ++gone;
        }
        std::memmove(&kept_entries[gone], &kept_entries[gone + 1], (n - gone - 1) * sizeof(entry));
        --n;
        readers_lost = true;
    }
    if (n <= in_cell) {
        if (was_long) {
            lists.give(segment_of(c.e[0]));
        }
        for (unsigned i = 0; i < in_cell; ++i) {
            c.e[i] = i < n ? kept_entries[i] : 0;
        }
        return;
    }
    const std::uint32_t l = was_long ? segment_of(c.e[0]) : lists.take();
    lists[l].count = n;
    std::memcpy(lists[l].e, kept_entries, n * sizeof(entry));
    for (unsigned i = n; i < in_list; ++i) {
        lists[l].e[i] = 0;
    }
    c.e[0] = std::uint64_t{l} << 32;
    c.e[1] = c.e[2] = c.e[3] = 0;
}

/// Frees records that no cell and no running task knows.
void sweep() noexcept {
    const auto mark_calls = [](std::uint32_t c) {
        for (; c != 0 && !calls[c].marked; c = calls[c].caller) {
            calls[c].marked = true;
        }
    };
    const auto mark_strand = [&](std::uint32_t s) {
        for (; s != 0 && !all[s].marked; s = all[s].parent) {
            all[s].marked = true;
            mark_calls(all[s].calls);
        }
    };
    const auto mark_segment = [&](std::uint32_t s) {
        if (s != 0 && !segments[s].marked) {
            segments[s].marked = true;
            mark_calls(segments[s].calls);
            mark_strand(segments[s].strand);
        }
    };
    for (std::uint32_t i = 1; i < made_chunks.end(); ++i) {
        for (std::size_t k = 0; k < chunk_cells; ++k) {
            const cell& c = made_chunks[i].cells[k];
            if (is_long(c)) {
                const long_list& l = lists[segment_of(c.e[0])];
                for (unsigned m = 0; m < l.count; ++m) {
                    mark_segment(segment_of(l.e[m]));
                }
            } else {
                for (unsigned m = 0; m < in_cell && c.e[m] != 0; ++m) {
                    mark_segment(segment_of(c.e[m]));
                }
            }
        }
    }
    for (unsigned i = 0; i < fiber_count; ++i) {
        const fiber& f = *fibers[i];
        mark_strand(f.strand);
        mark_segment(f.segment);
        for (const frame* at = f.frames; at <= f.top; ++at) {
            mark_calls(at->calls);
            mark_segment(at->segment);
        }
    }
    all.each_edge(mark_strand);
    for (std::uint32_t i = 1; i < all.end(); ++i) {
        if (all[i].live && all[i].pins != 0) {
            mark_strand(i);
        }
    }
    for (std::uint32_t i = 1; i < segments.end(); ++i) {
        if (segments[i].live && !segments[i].marked) {
            segments[i].live = false;
            segments.give(i);
        }
        segments[i].marked = false;
    }
    for (std::uint32_t i = 1; i < calls.end(); ++i) {
        if (calls[i].live && !calls[i].marked) {
            calls[i].live = false;
            calls.give(i);
        }
        calls[i].marked = false;
    }
    for (std::uint32_t i = 1; i < all.end(); ++i) {
        if (all[i].live && !all[i].marked) {
            all.give(i);
        }
        all[i].marked = false;
    }
    all.forget_answers();
    for (order_answer& k : known_orders) {
        k = {};
    }
    next_sweep = 2 * (segments.live() + calls.live() + all.live()) + 2'000'000;
}

// ---- one thread at a time ------------------------------------------------------------------------------

std::atomic<std::uint32_t> turn{0}; // 0: free, 1: taken, 2: taken, and a thread waits
constinit thread_local bool has_turn = false;
constinit thread_local fiber* fiber_of_thread = nullptr;
constinit thread_local fiber* on_this_thread = nullptr;

void futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* t) noexcept {
    syscall(SYS_futex, &word, what, value, t, nullptr, 0);
}

/// False: a thread that has the turn sleeps outside the library, so this one goes on unseen.
[[nodiscard]] bool take_turn() noexcept {
    if (has_turn) {
        return true;
    }
    std::uint32_t free = 0;
    if (turn.compare_exchange_strong(free, 1)) {
        has_turn = true;
        return true;
    }
    timespec begin{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (turn.exchange(2) != 0) {
        const timespec t{1, 0};
        futex(turn, FUTEX_WAIT_PRIVATE, 2, &t);
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - begin.tv_sec > 20) {
            outside.fetch_add(1);
            return false;
        }
    }
    has_turn = true;
    return true;
}
void give_turn() noexcept {
    if (has_turn) {
        has_turn = false;
        if (turn.exchange(0) == 2) {
            futex(turn, FUTEX_WAKE_PRIVATE, 1, nullptr);
        }
    }
}

/// Forgets the frames below `upto`: they have ended.
void clear(fiber& f, std::uintptr_t upto) noexcept {
    if (f.lowest < upto && upto - f.lowest < (std::uintptr_t{64} << 20)) {
        forget(f.lowest - 128, upto - f.lowest + 128);
    }
    f.lowest = upto;
}

} // namespace

// ---- fibers ----------------------------------------------------------------------------------------------

fiber* make_fiber(bool of_thread) noexcept {
    constexpr std::size_t most_depth = std::size_t{1} << 22;
    auto* const f = static_cast<fiber*>(reserve(sizeof(fiber) + most_depth * sizeof(frame)));
    f->frames = reinterpret_cast<frame*>(f + 1);
    f->top = f->frames;
    f->lowest = UINTPTR_MAX;
    f->of_thread = of_thread;
    if (fiber_count == sizeof fibers / sizeof fibers[0]) {
        out_of_memory();
    }
    fibers[fiber_count++] = f;
    return f;
}

void give_fiber(fiber* f) noexcept {
    for (unsigned i = 0; i < fiber_count; ++i) {
        if (fibers[i] == f) {
            fibers[i] = fibers[--fiber_count];
            break;
        }
    }
    munmap(f, sizeof(fiber) + (std::size_t{1} << 22) * sizeof(frame));
}

void switch_to(fiber* f) noexcept {
    const auto thread = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
    if (thread != known_thread) {
        known_thread = thread;
        note_thread(thread);
    }
    fiber* const from = on_this_thread;
    on_this_thread = f;
    if (f->of_thread) {
        if (from != nullptr && from->strand != 0) {
            depth_first = false; // it waits, and others go on
        }
        running_fiber = nullptr;
        give_turn();
        return;
    }
    running_fiber = !over && take_turn() ? f : nullptr;
}

void begin_program() noexcept {
    if (shadow != nullptr) {
        return;
    }
    shadow = static_cast<cell**>(reserve(chunks * sizeof(cell*)));
    note_thread(reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()));
    fiber* const f = make_fiber(true);
    f->strand = all.start(0, 0, how::start);
    fiber_of_thread = f;
    (void)take_turn();
    on_this_thread = f;
    running_fiber = f;
}

bool rests() noexcept {
    const bool had = has_turn;
    running_fiber = nullptr;
    give_turn();
    return had;
}
void goes_on() noexcept {
    if (take_turn() && !over) {
        running_fiber = on_this_thread;
    }
}

resting::resting() noexcept : m_had_turn(rests()) {}
resting::~resting() {
    if (m_had_turn) {
        goes_on();
    }
}

void stop() noexcept {
    over = true;
    running_fiber = nullptr;
}

findings found() noexcept {
    findings f{};
    f.races = races;
    f.count = race_count;
    f.more = more_races;
    f.edges = edges_used;
    f.readers_before_edges = readers_before_edges;
    f.relaxed = relaxed_sites;
    f.relaxed_count = relaxed_count;
    f.locks = locks_used;
    f.readers_lost = readers_lost;
    f.given_up = all.given_up();
    f.outside_threads = outside.load();
    f.not_followed = not_followed;
    f.not_followed_count = not_followed_count;
    f.threads = threads;
    f.thread_count = thread_count.load() < 1024 ? thread_count.load() : 1024;
    f.strands = all.live();
    f.accesses_kept = kept;
    return f;
}

// ---- accesses
// ----------------------------------------------------------------------------------------------

void access(fiber& f, std::uintptr_t at, std::size_t size, bool write, std::uint64_t site) noexcept {
    if (f.unseen != 0 || f.strand == 0) {
        return;
    }
    while (size != 0) {
        const unsigned offset = at & 7;
        const std::size_t here = size < 8 - offset ? size : 8 - offset;
        const auto bytes = static_cast<std::uint8_t>(((1U << here) - 1) << offset);
        cell& c = *cells_of(at);
        // The usual case: this call has done it before.
        bool known = false;
        if (f.segment != 0 && !is_long(c)) {
            for (unsigned i = 0; i < in_cell; ++i) {
                const entry e = c.e[i];
                if (segment_of(e) == f.segment && (bytes_of(e) & bytes) == bytes && (writes(e) || !write)) {
                    known = true;
                    break;
                }
            }
        }
        if (!known) {
            access_slowly(f, c, bytes, write, site, at);
        }
        at += here;
        size -= here;
    }
}

void returned(fiber& f) noexcept {
    const std::uint32_t s = f.top->segment;
    f.segment = s != 0 && segments[s].strand == f.strand && segments[s].locks == f.locks ? s : 0;
}

void forget(std::uintptr_t at, std::size_t size) noexcept {
    const std::uintptr_t end = (at + size + 7) & ~std::uintptr_t{7};
    at &= ~std::uintptr_t{7};
    while (at < end) {
        const std::uintptr_t chunk_end = ((at >> chunk_bits) + 1) << chunk_bits;
        const std::uintptr_t upto = end < chunk_end ? end : chunk_end;
        if (cell* const chunk = shadow[(at >> chunk_bits) & (chunks - 1)]) {
            for (cell* c = &chunk[(at / 8) & (chunk_cells - 1)]; at < upto; at += 8, ++c) {
                if (c->e[0] != 0) {
                    if (is_long(*c)) {
                        lists.give(segment_of(c->e[0]));
                    }
                    *c = {};
                }
            }
        }
        at = upto;
    }
}

// ---- announcements
// -----------------------------------------------------------------------------------------

namespace {

void pin(std::uint32_t s) noexcept {
    if (s != 0) {
        ++all[s].pins;
    }
}
void unpin(std::uint32_t s) noexcept {
    if (s != 0) {
        --all[s].pins;
    }
}
/// Where frames begin that the caller of a function with this frame address makes.
[[nodiscard]] std::uintptr_t stack_of_caller(const void* frame_address) noexcept {
    return reinterpret_cast<std::uintptr_t>(frame_address) + 2 * sizeof(void*);
}

void begin_strand(fiber& f, std::uint32_t s) noexcept {
    f.strand = s;
    f.segment = 0;
}

void note_site(std::uint32_t s, std::uint32_t calls_here, std::uint64_t site) noexcept {
    all[s].calls = calls_here;
    all[s].site = site;
}

} // namespace

namespace {
/// Forks a strand whose order follows from edges alone.
[[nodiscard]] strand apart(fiber& f, how kind, std::uint64_t site) noexcept {
    uses_edges();
    const std::uint32_t made = all.edge_from(f.strand, f.edges, 0);
    const std::uint32_t child = all.start(f.strand, made, kind);
    note_site(child, record_calls(f), site);
    pin(child);
    begin_strand(f, all.after(f.strand, f.edges, how::rest));
    note_site(f.strand, all[child].calls, all[child].site);
    return child;
}
} // namespace

strand fork(block& b, how kind) noexcept {
    const inside inner;
    fiber* const f = inner.checked();
    if (f == nullptr) {
        return 0;
    }
    if (b.join != 0 && all[f->strand].inner != b.join) {
        // The block of a task further out, or one with another one open inside of it: its order is one of
        // edges.
        const strand child = apart(*f, kind, reinterpret_cast<std::uint64_t>(__builtin_return_address(0)));
        return child;
    }
    std::uint32_t child = 0;
    std::uint32_t rest = 0;
    const bool first = b.join == 0;
    all.fork(f->strand, f->edges, kind, kind == how::first_of_join ? how::second_of_join : how::rest, child,
             rest, b.join);
    pin(child);
    if (kind == how::first_of_join) {
        pin(rest);
    }
    if (first) {
        pin(b.join);
    }
    const std::uint32_t here = record_calls(*f);
    const auto site = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
    note_site(child, here, site);
    note_site(rest, here, site);
    begin_strand(*f, rest);
    return child;
}

strand current() noexcept { return running_fiber != nullptr ? running_fiber->strand : 0; }

strand fork_apart() noexcept {
    const inside inner;
    fiber* const f = inner.checked();
    if (f == nullptr) {
        return 0;
    }
    return apart(*f, how::async, reinterpret_cast<std::uint64_t>(__builtin_return_address(0)));
}

void join(block& b) noexcept {
    const std::uint32_t join = b.join;
    if (join == 0) {
        return;
    }
    b.join = 0;
    unpin(join);
    const inside inner;
    fiber* const f = inner.checked();
    if (f == nullptr) {
        return;
    }
    const std::uint32_t edges = all.both(f->edges, all[join].edges);
    if (all[f->strand].inner == join) {
        begin_strand(*f, join);
        f->edges = edges;
        return;
    }
    // Blocks that overlap: an edge, which leaves out what was forked in the blocks inside of it.
    uses_edges();
    std::uint32_t inside = all[f->strand].inner;
    while (inside != 0 && all[inside].inner != join) {
        inside = all[inside].inner;
    }
    const std::uint32_t end = inside != 0 ? all.end_of(join, inside) : join;
    f->edges = all.both(edges, all.edge_from(end, all[join].edges, 0));
    begin_strand(*f, all.after(f->strand, f->edges, how::joined));
    if (inside != 0) {
        all[inside].inner = all[join].inner;
    } else {
        cannot_follow("a scope that another task ended");
    }
}

running::running(strand child, const block* b) noexcept
    : m_before(0), m_edges_before(0), m_locks(0), m_child(0), m_join(b != nullptr ? b->join : 0) {
    const inside inner;
    fiber* const f = inner.fiber_here;
    if (f == nullptr) {
        return;
    }
    m_before = f->strand;
    m_edges_before = f->edges;
    m_locks = f->locks;
    f->locks = 0; // a lock that its parent holds excludes no other child
    pin(m_before);
    m_child = child;
    if (m_before == 0 && child != 0) {
        f->frames->calls = all[child].calls; // a stack of its own: its callers are those of the fork
    }
    clear(*f, stack_of_caller(__builtin_frame_address(0)));
    begin_strand(*f, child);
    f->edges = child != 0 ? all[child].edges : 0;
}

running::~running() {
    const inside inner;
    fiber* const f = inner.fiber_here;
    if (f == nullptr) {
        return;
    }
    if (m_join != 0 && f->strand != 0) {
        const bool is_apart = all[f->strand].part != all[m_join].part;
        const std::uint32_t edges = is_apart ? all.edge_from(f->strand, f->edges, 0) : f->edges;
        all[m_join].edges = all.both(all[m_join].edges, edges);
    }
    f->locks = m_locks;
    unpin(m_child);
    unpin(m_before);
    clear(*f, stack_of_caller(__builtin_frame_address(0)));
    begin_strand(*f, m_before);
    f->edges = m_edges_before;
}

unseen::unseen() noexcept {
    if (running_fiber != nullptr) {
        ++running_fiber->unseen;
    }
}
unseen::~unseen() {
    if (running_fiber != nullptr && running_fiber->unseen != 0) {
        --running_fiber->unseen;
    }
}

namespace {
void release(const void* object, bool first, bool of_guard) noexcept {
    const inside here;
    fiber* const f = here.checked();
    if (f == nullptr || f->unseen != 0) {
        return;
    }
    if (!of_guard) {
        uses_edges();
    }
    std::uint32_t& known = object_edges[reinterpret_cast<std::uintptr_t>(object)];
    if (first) {
        known = 0;
    }
    known = all.edge_from(f->strand, known, f->edges);
    const std::uint32_t next = all.after(f->strand, f->edges, how::call);
    begin_strand(*f, next);
}
} // namespace

void release(const void* object) noexcept { release(object, false, false); }
void release_first(const void* object) noexcept { release(object, true, false); }
void release_guard(const void* guard) noexcept { release(guard, true, true); }

void acquire(const void* object) noexcept {
    const inside here;
    fiber* const f = here.checked();
    if (f == nullptr || f->unseen != 0) {
        return;
    }
    const std::uint32_t known = object_edges[reinterpret_cast<std::uintptr_t>(object)];
    if (known == 0 || all.in_series(all.from(known), f->strand)) {
        return; // what follows one strand alone, or what an order by forks holds already
    }
    uses_edges();
    f->edges = all.both(f->edges, known);
}

void relaxed_change(std::uint64_t site) noexcept {
    static atomic_change seen[256];
    const fiber* const f = running_fiber;
    if (edges_used || f == nullptr || f->strand == 0) {
        return;
    }
    const atomic_change now{site, f->top->returns_to};
    atomic_change& last = seen[(site ^ site >> 8 ^ now.returns_to) % 256];
    if (last.site == now.site && last.returns_to == now.returns_to) {
        return;
    }
    const inside here;
    last = now;
    std::uint32_t& known = relaxed_known[(site * 0x9E3779B97F4A7C15U ^ now.returns_to) | 1];
    if (known == 0 && relaxed_count < most_relaxed) {
        known = 1;
        relaxed_sites[relaxed_count++] = now;
    } else if (known == 0) {
        uses_edges();
    }
}

void locks(const void* lock) noexcept {
    const inside inner;
    fiber* const f = inner.checked();
    if (f == nullptr) {
        return;
    }
    lock_set s{};
    if (f->locks != 0) {
        s = lock_sets[f->locks];
    }
    constexpr std::uint32_t most = sizeof s.at / sizeof s.at[0];
    if (s.count == most) {
        cannot_follow("more than 7 locks at once");
        return;
    }
    std::uint32_t i = s.count++;
    const auto at = reinterpret_cast<std::uintptr_t>(lock);
    for (; i != 0 && s.at[i - 1] > at; --i) {
        s.at[i] = s.at[i - 1];
    }
    s.at[i] = at;
    f->locks = number_of(s);
    f->segment = 0;
}

void unlocks(const void* lock) noexcept {
    const inside inner;
    fiber* const f = inner.fiber_here;
    if (f == nullptr || f->locks == 0) {
        return;
    }
    lock_set s{};
    bool gone = false; // once: others of a recursive lock stay
    for (std::uint32_t i = 0; i < lock_sets[f->locks].count; ++i) {
        if (gone || lock_sets[f->locks].at[i] != reinterpret_cast<std::uintptr_t>(lock)) {
            s.at[s.count++] = lock_sets[f->locks].at[i];
        } else {
            gone = true;
        }
    }
    f->locks = number_of(s);
    f->segment = 0;
}

void fresh(const void* at, std::size_t bytes) noexcept {
    const inside inner;
    if (inner.fiber_here != nullptr) {
        forget(reinterpret_cast<std::uintptr_t>(at), bytes);
    }
}

namespace {
constinit thread_local bool makes_own = false;
} // namespace

making_thread::making_thread() noexcept { makes_own = true; }
making_thread::~making_thread() { makes_own = false; }

void thread_begins() noexcept {
    if (!makes_own) {
        outside.fetch_add(1);
    }
}

void fence(bool acquires, bool releases) noexcept {
    static const char order = 0;
    if (running_fiber != nullptr) {
        cannot_follow("fences, each of which counts as an edge to all later ones");
        if (releases) {
            release(&order);
        }
        if (acquires) {
            acquire(&order);
        }
    }
}

void cannot_follow(const char* what) noexcept {
    for (unsigned i = 0; i < not_followed_count; ++i) {
        if (not_followed[i] == what) {
            return;
        }
    }
    if (not_followed_count < sizeof not_followed / sizeof not_followed[0]) {
        not_followed[not_followed_count++] = what;
    }
}

caller::caller() noexcept : m_strand(0), m_edges(0), m_calls(0) {
    const inside inner;
    if (fiber* const f = inner.checked()) {
        m_strand = f->strand;
        m_edges = f->edges;
        m_calls = record_calls(*f);
        pin(m_strand);
    }
}
void caller::returns() noexcept {
    unpin(m_strand);
    const inside inner;
    if (fiber* const f = inner.fiber_here; f != nullptr && m_strand != 0) {
        begin_strand(*f, m_strand);
        f->edges = m_edges;
    }
}
caller::call::call(caller& c) noexcept : m_caller(c), m_before(0), m_edges_before(0) {
    const inside inner;
    if (fiber* const f = inner.fiber_here) {
        m_before = f->strand;
        m_edges_before = f->edges;
        pin(m_before);
        if (m_before == 0) {
            f->frames->calls = c.m_calls;
        }
        clear(*f, stack_of_caller(__builtin_frame_address(0)));
        begin_strand(*f, c.m_strand);
        f->edges = c.m_edges;
    }
}
caller::call::~call() {
    const inside inner;
    if (fiber* const f = inner.fiber_here) {
        unpin(m_caller.m_strand);
        m_caller.m_strand = f->strand;
        m_caller.m_edges = f->edges;
        pin(m_caller.m_strand);
        unpin(m_before);
        clear(*f, stack_of_caller(__builtin_frame_address(0)));
        begin_strand(*f, m_before);
        f->edges = m_edges_before;
    }
}

} // namespace race
} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
