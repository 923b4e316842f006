// loop_team: loops that follow each other over equal ranges, with the same part for the same thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>

#include <pilfer/detail/parallel/loop_team.hpp>
#include <pilfer/detail/scope/range.hpp>
#include <pilfer/parallel/position.hpp>

namespace pilfer {
inline namespace v0 {

/// How a loop_team divides ranges.
struct loop_team_options {
    /// Tasks that work on a loop at once, from 1 to 4,096, with the caller. 0: as many as the pool has
    /// workers.
    unsigned members = 0;
    /// Slices of a range for each member, from 1 to 16. More slices balance better and cost more: a slice
    /// costs two atomic operations and a call.
    unsigned slices = 4;
};

/// Runs loops that follow each other, without a new start of tasks for each one.
///
/// A range is cut into members * slices parts that depend on its length alone. Part i goes to the same worker
/// in each loop, so that its data stays in that worker's cache. A part that its worker has not begun when
/// another one has nothing left goes to that one; after two loops in a row it stays there.
///
/// Between two loops the helpers spin for about 50 us, then end, and are started again by the next loop. The
/// caller takes part. Bodies may wait, fork and throw. Only the task that makes the team runs loops with it.
/// Outside a pool the helpers run in pool::common().
///
/// Source of the placement: Markatos and LeBlanc, "Using processor affinity in loop scheduling on
/// shared-memory multiprocessors", 1994.
class loop_team {
public:
    /// Makes a team; its tasks start with its first loop. Throws std::invalid_argument, std::bad_alloc.
    explicit loop_team(loop_team_options o = {}) : m_core(o.members, o.slices) {}
    loop_team(const loop_team&) = delete;
    loop_team& operator=(const loop_team&) = delete;
    /// Waits for the helpers. In the task that made the team.
    ~loop_team() = default;

    /// The number of members.
    [[nodiscard]] unsigned members() const noexcept { return m_core.members(); }

    /// Calls body(i) for every integer of [first, last), or body(*it) for every element, in parallel.
    ///
    /// The first exception is rethrown after all running parts have ended; parts that have not started are
    /// left out. Throws usage_error from another task and from a body of this team, and stopped. Cost: one
    /// handshake with each member; nothing is allocated, unless helpers have to be started.
    template <loop_position I, class Body>
    void for_each(I first, I last, Body body) {
        this->phases(1, first, last,
                     [&body](std::uint64_t, I begin, I end) { detail::run_piece(begin, end, body); });
    }

    /// Calls body(begin, end) for each part of [first, last). Throws what for_each() throws.
    template <loop_position I, class Body>
    void for_each_chunk(I first, I last, Body body) {
        this->phases(1, first, last, [&body](std::uint64_t, I begin, I end) { body(begin, end); });
    }

    /// Runs `times` loops in turn: body(phase, begin, end) for each part, with phase from 0 on. No part of a
    /// phase begins before the phase before it has ended. The members open each phase themselves, so that
    /// this is faster than `times` calls. Throws what for_each() throws; after an exception no further phase
    /// begins.
    template <loop_position I, class Body>
    void phases(std::uint64_t times, I first, I last, Body body) {
        struct loops {
            I first;
            std::uint64_t size;
            std::uint64_t slices;
            Body* body;
        };
        if (!(first < last)) {
            return;
        }
        loops all{first, detail::range_size(first, last), m_core.slices(), std::addressof(body)};
        m_core.run(
            [](void* j, std::uint64_t phase, std::uint64_t i) {
                const loops& one = *static_cast<const loops*>(j);
                const std::uint64_t begin = detail::slice_begin(one.size, one.slices, i);
                const std::uint64_t end = detail::slice_begin(one.size, one.slices, i + 1);
                if (begin != end) {
                    (*one.body)(phase, detail::advanced(one.first, begin), detail::advanced(one.first, end));
                }
            },
            &all, times);
    }

private:
    detail::loop_team_core m_core;
};

} // namespace v0
} // namespace pilfer
