// The state of the one run that is looked at, put together from its parts.
#pragma once

#include <atomic>

#include "race/races.hpp"
#include "race_history/calls.hpp"
#include "race_history/locks.hpp"
#include "race_history/shadow.hpp"
#include "race_history/strands.hpp"

#define PILFER_HOOK extern "C" [[gnu::used, gnu::visibility("default")]]
#define PILFER_SITE reinterpret_cast<std::uint64_t>(__builtin_return_address(0))

namespace pilfer {
inline namespace v0 {
namespace detail::race {

inline constexpr unsigned most_fibers = 16'384;

/// The segment of an earlier access and the running task.
enum relation : std::uint8_t {
    same_strand = 1,
    before = 2,        ///< it comes first in every schedule
    excluded = 4,      ///< by a common lock
    has_all_locks = 8, ///< of the running task
    has_no_other_lock = 16,
    same_task = 32, ///< of `ordered_tasks`, or both of none
};

struct detector {
    strands order;
    call_table calls;
    table<segment_record, (1U << 28)> segments;
    lock_sets locks;
    shadow_memory shadow;
    table<std::uint64_t, (1U << site_bits)> sites; ///< instructions by number
    address_map site_numbers;
    address_map pairs; ///< of instructions whose race is known
    address_map edges; ///< by the object that has released them
    fiber* fibers[most_fibers] = {};
    unsigned fiber_count = 0;
    bool over = false;
    bool reader_left_out = false; ///< before there were edges
    bool depth_first = true;      ///< no task that waited has let another one pass
    unsigned ordered = 0;         ///< runs of `ordered_tasks`
    std::atomic<unsigned> outside{0};
    findings found{};

    void uses_edges() noexcept {
        order.note_other_edges();
        if (!found.edges) {
            found.readers_before_edges = reader_left_out;
            found.edges = true;
            forget_outcomes(); // from here on all parallel readers are kept
            for (read_known& k : m_reads) {
                k = {};
            }
        }
    }
    /// How the accesses of a segment relate to one of the fiber now: bits of `relation`.
    [[nodiscard]] std::uint8_t related(std::uint32_t segment, const fiber& f) noexcept {
        relation_known& k = m_relations[segment % known_relations];
        if (k.segment != segment || k.epoch != f.epoch) {
            if (f.element != 0 && segments[segment].strand == f.strand) {
                return relation_to(segment, f); // it depends on the element of the loop
            }
            k = {segment, f.epoch, relation_to(segment, f)};
        }
        return k.bits;
    }
    /// True if the fiber may go on with this segment of its running call.
    [[nodiscard]] bool fits(std::uint32_t segment, const fiber& f) const noexcept {
        if (segment == 0) {
            return false;
        }
        const segment_record& s = segments[segment];
        return s.live && s.strand == f.strand && s.element == f.element && s.locks == f.locks;
    }
    [[nodiscard]] std::uint32_t make_segment(fiber& f) noexcept;
    /// Makes the element or the operation that the fiber runs a strand of its own. `oldest`: that of
    /// subtree.
    void make_strand(fiber& f, std::uint32_t oldest = 0) noexcept;
    /// Frees records that no cell and no running task knows.
    void sweep() noexcept;
    /// Sweeps each time that so many records have been made, for tests.
    void sweep_after(std::uint32_t records) noexcept { m_sweep_after = m_next_sweep = records; }

    /// The entries of a cell before and after an access, two at most. The latter follow from the former, from
    /// the instruction and its bytes, and from the strand with its edges and locks, which have an epoch. So
    /// the outcome serves again for the next cell with the same entries, as in a loop over an array.
    struct outcome {
        entry before[2];
        entry after[2];
        std::uint64_t site;
        std::uint32_t epoch;
        std::uint32_t element; ///< of a loop, if the entries have some of the same loop; 0: any one fits
        std::uint32_t access;  ///< bytes, and whether it writes; 0: no outcome is known
        bool adds;             ///< `after` begins with an entry of the running segment
    };
    [[nodiscard]] outcome& known_outcome(std::uint64_t site, std::uint8_t bytes) noexcept {
        return m_outcomes[(site ^ bytes) % known_outcomes];
    }
    [[nodiscard]] static std::uint32_t access_of(std::uint8_t bytes, bool writes) noexcept {
        return bytes * 2U + (writes ? 1 : 0);
    }
    void forget_outcomes() noexcept {
        for (outcome& k : m_outcomes) {
            k = {};
        }
    }

    /// A read that adds nothing to those that are kept will add nothing again, until the strand ends. In the
    /// elements of a loop: until the cell is written.
    void note_read(std::uintptr_t at, std::uint8_t bytes, const fiber& f) noexcept {
        m_reads[at / 8 % known_reads] = {at / 8, f.epoch, bytes};
    }
    [[nodiscard]] bool knows_read(std::uintptr_t at, unsigned bytes, const fiber& f) const noexcept {
        const read_known& k = m_reads[at / 8 % known_reads];
        return k.cell == at / 8 && k.epoch == f.epoch && (bytes & ~unsigned{k.bytes}) == 0;
    }
    void note_write(std::uintptr_t at, const fiber& f) noexcept {
        if (read_known& k = m_reads[at / 8 % known_reads]; f.element != 0 && k.cell == at / 8) {
            k.epoch = 0;
        }
    }

private:
    static constexpr std::uint32_t known_reads = 256;
    struct read_known {
        std::uintptr_t cell;
        std::uint32_t epoch;
        std::uint8_t bytes;
    };
    static constexpr std::uint32_t usual_sweep_after = 50'000; // records that fit into a cache
    static constexpr std::uint32_t known_outcomes = 256;
    static constexpr std::uint32_t known_relations = 256;
    struct relation_known {
        std::uint32_t segment, epoch;
        std::uint8_t bits;
    };
    /// Gives accesses of blocks that have ended, by the same calls and under the same locks, one segment.
    void merge_ended() noexcept;
    /// The number that stands for an element which has ended.
    [[nodiscard]] static std::uint32_t ended_number(const loop& l, std::uint32_t element) noexcept;
    /// Keeps the segments of loops that a cell or a task knows.
    void keep_segments(loop& l) noexcept;
    [[nodiscard]] std::uint8_t relation_to(std::uint32_t segment, const fiber& f) noexcept;

    read_known m_reads[known_reads] = {};
    relation_known m_relations[known_relations] = {};
    outcome m_outcomes[known_outcomes] = {};
    std::uint32_t m_sweep_after = usual_sweep_after;
    std::uint32_t m_next_sweep = usual_sweep_after;
    bool m_merges = true; ///< in the next sweep. Few used cells keep few records without it.
};
extern constinit detector the;

// ---- what the entry points of the compiler call
void access(fiber& f, std::uintptr_t at, std::size_t size, bool writes, std::uint64_t site) noexcept;
/// The access of `bytes` of one cell, outside of the frames that began in the running strand.
void access_cell(fiber& f, std::uintptr_t at, std::uint8_t bytes, bool writes, std::uint64_t site) noexcept;
/// The access of an atomic operation.
void access_atomically(fiber& f, std::uintptr_t at, std::size_t size, bool writes,
                       std::uint64_t site) noexcept;
/// The task gives memory back, which is a write of what has been touched in it.
void deleted(fiber& f, std::uintptr_t at, std::size_t size, std::uint64_t site) noexcept;
/// A task reads an atomic variable. If it does nothing else for too long, the program is ended with a
/// message.
void reads_atomic(const fiber& f, const volatile void* at, std::uint64_t site) noexcept;
/// As release(), by the task that makes a static local: an edge only to tasks that have no order by forks.
void release_guard(const void* guard) noexcept;
/// An atomic operation that is no edge, but what others read may depend on the schedule.
void relaxed_change(std::uint64_t site) noexcept;
void fence(bool acquires, bool releases) noexcept;
[[nodiscard]] fiber* make_fiber(bool of_thread) noexcept;
void give_fiber(fiber* f) noexcept;
void switch_to(fiber* f) noexcept;
/// The fiber of this thread, if it is in code of the library and looked at otherwise. Null: there is none.
[[nodiscard]] fiber* fiber_in_library() noexcept;
void begin_program() noexcept;
/// Stops looking.
void stop() noexcept;
/// The calling thread makes another one.
void thread_begins() noexcept;
/// While a thread rests, another one may run tasks.
[[nodiscard]] bool rests() noexcept;
/// False: nothing is looked at, because another thread keeps the turn or the program is at its end.
bool goes_on() noexcept;
/// The calling thread runs tasks, or is that of main().
[[nodiscard]] bool has_fiber() noexcept;
/// The thread's own objects are no places of races.
void note_thread_here() noexcept;
/// The thread waits for another one. False: none waits for its turn.
[[nodiscard]] bool lets_others_run() noexcept;

} // namespace detail::race
} // namespace v0
} // namespace pilfer
