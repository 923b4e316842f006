// The part of a loop team that does not depend on the loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>

#include <pilfer/detail/base/plain_vector.hpp>
#include <pilfer/detail/parallel/team_protocol.hpp>
#include <pilfer/detail/wait/wait.hpp>
#include <pilfer/scope.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Runs a function for every slice, phase after phase.
class PILFER_API loop_team_core {
public:
    /// Runs slice `slice` of phase `phase`, which is counted from 0 in each run.
    using slice_function = void (*)(void* job, std::uint64_t phase, std::uint64_t slice);
    static constexpr unsigned most_slices = 16;    // of one member: the words of one line
    static constexpr unsigned most_members = 4096; // as workers of a pool; a slice's word has 15 bits

    /// `members` 0: as many as the pool has workers. Throws std::invalid_argument, std::bad_alloc.
    loop_team_core(unsigned members, unsigned slices);
    loop_team_core(const loop_team_core&) = delete;
    loop_team_core& operator=(const loop_team_core&) = delete;
    ~loop_team_core();

    [[nodiscard]] unsigned members() const noexcept { return m_members; }
    [[nodiscard]] unsigned slices() const noexcept { return m_all; }
    /// Throws usage_error if the caller is not the task that made the team, or is inside a body of it.
    void check_caller() const;
    /// Throws usage_error, stopped, and the first exception of `f`.
    void run(slice_function f, void* job, std::uint64_t phases);

private:
    /// The function that the members of a run call.
    struct calls {
        slice_function function = nullptr;
        void* job = nullptr;
    };
    using gate = phase_gate<std_atom, calls>;
    using slice = slice_word<std_atom>;
    struct alignas(line_bytes) slice_line {
        slice at[most_slices];
    };
    /// A place of a member, which owns slices. Its holder alone uses the list.
    struct alignas(line_bytes) seat {
        std::atomic<bool> taken{false};
        unsigned number = 0;
        plain_vector<std::uint32_t> owned; // a slice that has moved away is removed at the next look
    };
    struct helper;
    enum class after { goes_on, opened, run_is_over };

    [[nodiscard]] slice& word_of(unsigned i) noexcept { return m_slices[i / m_each].at[i % m_each]; }
    [[nodiscard]] seat& take_seat() noexcept;
    void open() noexcept;
    void start_helpers(unsigned n) noexcept;
    void help() noexcept;
    [[nodiscard]] bool await_next(std::uint64_t phase) noexcept;
    after work(seat& s, std::uint64_t& phase, bool opened) noexcept;
    unsigned work_own(seat& s, std::uint64_t phase) noexcept;
    unsigned work_others(seat& s, std::uint64_t phase) noexcept;
    after ended(unsigned slices, std::uint64_t phase) noexcept;
    void run_slice(std::uint64_t phase, unsigned i) noexcept;
    [[nodiscard]] bool passed(std::uint64_t phase, std::uint64_t start) const noexcept;
    [[nodiscard]] after await(seat*& s, std::uint64_t& phase) noexcept;
    void sleep() noexcept;
    void rethrow();

    unsigned m_members;
    unsigned m_each;          // slices of a member
    unsigned m_all;           // slices
    std::uint64_t m_patience; // ticks that a member spins between two phases
    std::uint64_t m_grace;    // ticks that an owner gets to begin its slices
    std::unique_ptr<slice_line[]> m_slices;
    plain_vector<seat> m_seats;
    alignas(line_bytes) gate m_gate;
    waiters::entry m_over;          // the caller's sleep
    waiters m_list;                 // empty: m_over is never withdrawn
    std::atomic<unsigned> m_wanted; // helpers
    std::atomic<std::uint64_t> m_suppressed{0};
    std::exception_ptr m_error; // the first one of a run
    bool m_running = false;
    scope m_scope; // last: its end waits for the helpers
};

/// The first element of slice i of `slices` equal ones of n elements.
[[nodiscard]] constexpr std::uint64_t slice_begin(std::uint64_t n, std::uint64_t slices,
                                                  std::uint64_t i) noexcept {
    const std::uint64_t rest = n % slices;
    return n / slices * i + (i < rest ? i : rest);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
