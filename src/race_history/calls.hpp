// Stacks of running tasks, and what is remembered of them: calls, and segments of their accesses.
#pragma once

#include <pilfer/detail/base/race.hpp>

#include "race_history/arena.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

/// A call on the stack of a task. Its record is made at the first access in it. The records of the call that
/// was here before serve again if they fit.
struct frame {
    std::uint64_t returns_to;
    std::uint32_t calls;
    std::uint32_t segment;
    std::uint32_t known_calls;
    std::uint32_t known_segment;
};

/// The view of one stack.
struct fiber {
    std::uint32_t strand;
    std::uint32_t edges;
    std::uint32_t segment; ///< 0: made at the next access
    std::uint32_t locks;
    std::uint32_t unseen;
    std::uintptr_t lowest; ///< that any call since the last fork or end has used
    frame* top;
    frame* frames;
    std::uint32_t element;       ///< of a loop; 0: none, or it is a strand of its own
    std::uint32_t first_element; ///< that comes before an operation of a reduction; else `element`
    loop* of_loop;               ///< the innermost one
    std::uint32_t acquired;      ///< the latest edge, in this strand
    std::uintptr_t own;          ///< frames below this address began in this strand
    std::uint32_t epoch;         ///< changes with the strand, its edges and its locks
    std::uint32_t shared_epoch;  ///< that of the next element of this loop, too
    bool of_thread;
    std::uint32_t in_library; ///< levels; not 0: nothing is looked at until the program goes on
    std::uint32_t ordered;    ///< runs of `ordered_tasks` that this stack waits for

    void forget_answers() noexcept { epoch = shared_epoch = ++last_epoch; }
    void changed() noexcept {
        segment = 0;
        forget_answers();
    }
    /// `frame`: that of the caller, or a deeper one.
    void begin_strand(std::uint32_t s, const void* frame) noexcept {
        strand = s;
        element = 0;
        acquired = 0;
        own = stack_above(frame);
        changed();
    }
    /// Where frames begin that the caller of a function with this frame address makes.
    [[nodiscard]] static std::uintptr_t stack_above(const void* frame) noexcept {
        return reinterpret_cast<std::uintptr_t>(frame) + 2 * sizeof(void*);
    }
    /// Memory of a frame that began in the running strand. Whatever else may get at it runs later.
    [[nodiscard]] bool is_own(std::uintptr_t at) const noexcept {
        return at < own && at >= reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    }
    static inline constinit std::uint32_t last_epoch = 0;
};
/// Null: what this thread does is not looked at.
extern constinit thread_local fiber* running_fiber __attribute__((tls_model("initial-exec")));

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

/// A call whose accesses are remembered, and all calls around it.
struct call_record {
    std::uint32_t caller; // first: the list of free records
    bool live;
    bool marked;
    std::uint64_t returns_to;
};

/// The accesses of one call in one strand, under the same locks.
struct segment_record {
    std::uint32_t strand; // first: the list of free records
    std::uint32_t calls;
    std::uint32_t element; ///< of a loop: the strand is that of all elements
    std::uint32_t next;    ///< an earlier one of the same loop
    std::uint32_t merged;  ///< 0: none; else the one that has taken its place
    std::uint16_t locks;
    bool live;
    bool marked;
};

/// The element of a segment of a block that has ended: its strand is the join.
inline constexpr std::uint32_t ended_block = UINT32_MAX;
/// That of elements which have ended before their loop: parallel to all later ones.
inline constexpr std::uint32_t ended_element = UINT32_MAX - 1;

inline constexpr unsigned most_frames = 48;

struct stack_of {
    std::uint64_t at[most_frames]; ///< the first one is the access itself
    unsigned depth;
};

class call_table {
public:
    [[nodiscard]] call_record& operator[](std::uint32_t c) noexcept { return m_all[c]; }
    /// The record of the running call.
    [[nodiscard]] std::uint32_t record(fiber& f) noexcept;
    [[nodiscard]] stack_of stack(std::uint64_t site, std::uint32_t c) noexcept;
    [[nodiscard]] std::uint32_t live() const noexcept { return m_all.live(); }
    void mark(std::uint32_t c) noexcept {
        for (; c != 0 && !m_all[c].marked; c = m_all[c].caller) {
            m_all[c].marked = true;
        }
    }
    void free_unmarked() noexcept { m_all.free_unmarked(); }

private:
    table<call_record, (1U << 28)> m_all;
};

} // namespace detail::race
} // namespace v0
} // namespace pilfer
