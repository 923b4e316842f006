// The words of a loop team: which phase is open, which slices of it are claimed, and how many have ended.
//
// States, edges T1 to T4 and the argument: src/parallel/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Phases are counted modulo 2^48: one every 100 ns, without a pause, for ten months. The upper 48 bits of a
/// word hold a phase.
inline constexpr unsigned phase_shift = 16;
inline constexpr std::uint64_t most_phases = (std::uint64_t{1} << (64 - phase_shift)) - 1;
inline constexpr std::uint64_t one_phase = std::uint64_t{1} << phase_shift;
[[nodiscard]] constexpr std::uint64_t phase_of(std::uint64_t word) noexcept { return word >> phase_shift; }
[[nodiscard]] constexpr std::uint64_t phase_after(std::uint64_t phase) noexcept {
    return detail::phase_of((phase + 1) << phase_shift);
}
[[nodiscard]] constexpr std::uint64_t phase_before(std::uint64_t phase) noexcept {
    return detail::phase_of((phase - 1) << phase_shift);
}

/// The open phase, and the number of helpers: tasks that were started for the team and have not left it.
///
///   bits 16..63  phase
///   bit  15      closed: the team ends
///   bits 0..14   helpers
template <class Atom>
class phase_word {
public:
    using word = std::uint64_t;
    static constexpr word closed = word{1} << 15;
    [[nodiscard]] static constexpr unsigned helpers(word w) noexcept {
        return static_cast<unsigned>(w & (closed - 1));
    }

    /// A member: sees what was written before the phase was opened (team.T1).
    [[nodiscard]] word read() const noexcept { return m_word.load(acq); }
    /// Opens the next phase (team.T1). From now on the team has `wanted` helpers, or more if there were more.
    /// `missing` is the number of helpers that the caller starts.
    void open(unsigned wanted, unsigned& missing) noexcept {
        word seen = m_word.load(rlx);
        for (;;) {
            missing = helpers(seen) < wanted ? wanted - helpers(seen) : 0;
            const word next = seen + one_phase + missing;
            if (m_word.compare_exchange_weak(seen, next, rel, rlx)) {
                return;
            }
        }
    }
    /// A helper that has waited in vain in `phase`. False: another phase is open now.
    [[nodiscard]] bool leave(std::uint64_t phase) noexcept {
        word now = m_word.load(rlx);
        while (detail::phase_of(now) == phase) {
            if (m_word.compare_exchange_weak(now, now - 1, rlx, rlx)) {
                return true;
            }
        }
        return false;
    }
    /// A helper could not be started.
    void not_started(unsigned n) noexcept { m_word.fetch_sub(n, rlx); }
    /// No further phase will be opened.
    void close() noexcept { m_word.fetch_or(closed, rlx); }
    [[nodiscard]] bool is_closed() const noexcept { return (m_word.load(rlx) & closed) != 0; }

private:
    typename Atom::template atomic<word> m_word{0};
};

/// The owner of a slice and its last claim. Each slice is claimed once in each phase.
///
/// Bits 16..63 are the phase of the last claim.
/// Bits 1..15 are the owner: the member that claims it first of all.
/// Bit 0 is set if in the last phase another member was faster than the owner.
template <class Atom>
class slice_word {
public:
    using word = std::uint64_t;
    enum class claim {
        lost,  ///< Another member has it in this phase.
        mine,  ///< The caller runs it, and is its owner.
        taken, ///< The caller runs it instead of its owner.
        moved, ///< The caller runs it, and is its owner from now on.
        gone,  ///< Only from claim_own(): the caller is not its owner any more.
    };

    /// Before the first phase.
    void belongs_to(unsigned owner) noexcept { m_word.store(word{owner} << 1, rlx); }
    /// Its owner, in `phase`, which it has read from the phase word.
    [[nodiscard]] claim claim_own(word phase, unsigned self) noexcept {
        word seen = m_word.load(rlx); // not older than the last phase: team.T1
        if (owner(seen) != self) {
            return claim::gone;
        }
        if (detail::phase_of(seen) != detail::phase_before(phase) || !change(seen, phase, self, false)) {
            return claim::lost;
        }
        return claim::mine;
    }
    /// Any member, after its own slices.
    [[nodiscard]] claim claim_any(word phase, unsigned self) noexcept {
        word seen = m_word.load(rlx);
        if (detail::phase_of(seen) != detail::phase_before(phase)) {
            return claim::lost;
        }
        const bool own = owner(seen) == self;
        const bool moves = !own && (seen & late) != 0;
        if (!change(seen, phase, own || moves ? self : owner(seen), !own && !moves)) {
            return claim::lost;
        }
        return own ? claim::mine : moves ? claim::moved : claim::taken;
    }

private:
    static constexpr word late = 1;
    [[nodiscard]] static constexpr unsigned owner(word w) noexcept {
        return static_cast<unsigned>((w & (one_phase - 1)) >> 1);
    }
    /// Relaxed: only one member succeeds, and the phase word carries all that it reads (team.T2).
    [[nodiscard]] bool change(word seen, word phase, unsigned to, bool was_late) noexcept {
        const word next = (phase << phase_shift) | (word{to} << 1) | (was_late ? late : 0);
        return m_word.compare_exchange_strong(seen, next, rlx, rlx);
    }

    typename Atom::template atomic<word> m_word{0};
};

/// The beginnings and ends of phases. `Run`: what the caller gives to all members of a run.
///
/// The slices of all phases are counted in one word, which is never reset: phase p is over when the count is
/// p * slices. Beside the count is the mark of a caller that sleeps:
///   bits 1..63  slices that have ended, since the team began
///   bit  0      asleep
template <class Atom, class Run>
class phase_gate {
public:
    using number = std::uint64_t;
    enum class end {
        not_yet,          ///< Slices of the phase are left. The phase may be over at any time.
        of_phase,         ///< All have ended, and the member opens the next phase.
        of_run,           ///< The run is over.
        of_run_and_wakes, ///< The run is over, and the member wakes the caller.
    };

    /// For phases of `slices` slices.
    explicit phase_gate(std::uint32_t slices) noexcept : m_slices(slices) {}

    /// The caller, before the first of `phases` phases. Returns its number.
    number begin_run(number phases, const Run& run) noexcept {
        const number first = detail::phase_after(detail::phase_of(m_phase.read()));
        m_run = run;
        m_first = first;
        m_last.store(detail::phase_of((first + phases - 1) << phase_shift), rlx);
        m_failed.store(false, rlx);
        return first;
    }
    [[nodiscard]] phase_word<Atom>& word() noexcept { return m_phase; }
    [[nodiscard]] const phase_word<Atom>& word() const noexcept { return m_phase; }
    [[nodiscard]] bool failed() const noexcept { return m_failed.load(rlx); }

    // A member that has claimed a slice of the open phase and not counted it yet.

    [[nodiscard]] Run run() const noexcept { return m_run; }
    /// The number of `phase` in its run.
    [[nodiscard]] number in_run(number phase) const noexcept {
        return detail::phase_of((phase - m_first) << phase_shift);
    }
    /// The run ends with this phase. True for the first call of a run.
    [[nodiscard]] bool fail() noexcept { return !m_failed.exchange(true, rlx); }
    /// Counts `n` slices that the member has claimed and run.
    [[nodiscard]] end ended(std::uint32_t n, number phase) noexcept {
        const bool last = m_last.load(rlx) == phase; // before the count: afterwards the next run may begin
        PILFER_CHAOS_POINT(complete);
        const std::uint64_t now = m_ended.fetch_add(2 * n, acq_rel) + 2 * n; // team.T3, team.T4
        if (!all_ended(now, phase)) {
            return end::not_yet;
        }
        if (!last) {
            if (!m_failed.load(rlx)) {
                return end::of_phase;
            }
            m_last.store(phase, rlx); // the run is not over before this store; it publishes nothing
        }
        return (now & asleep) != 0 ? end::of_run_and_wakes : end::of_run;
    }

    // The caller, when it has none of the slices.

    /// True if the run has ended with `phase`, and what was written in it is visible.
    [[nodiscard]] bool is_over(number phase) const noexcept {
        return all_ended(m_ended.load(acq), phase) && m_last.load(rlx) == phase; // team.T3
    }
    /// True if the caller has to sleep until it is woken, and to call wakes() then. False: the run is over.
    [[nodiscard]] bool falls_asleep() noexcept {
        PILFER_CHAOS_POINT(publish);
        const std::uint64_t seen = m_ended.fetch_or(asleep, acq_rel) | asleep; // team.T4
        for (unsigned round = 0;; ++round) {
            const number phase = detail::phase_of(m_phase.read());
            // A member that counts slices after the mark sees it. So the caller sleeps if any are left,
            // or were left when it set the mark.
            if (m_ended.load(rlx) != seen || !all_ended(seen, phase)) {
                return true;
            }
            if (m_last.load(rlx) == phase) {
                wakes();
                return false;
            }
            Atom::relax(round); // the member that counted the last slice opens the next phase
        }
    }
    void wakes() noexcept { m_ended.fetch_and(~asleep, rlx); }

private:
    static constexpr std::uint64_t asleep = 1;
    template <class T>
    using atomic = typename Atom::template atomic<T>;
    template <class T>
    using plain = typename Atom::template plain<T>;

    /// In 32 bits: the number of phases before a wrap is a multiple of 2^32.
    [[nodiscard]] bool all_ended(std::uint64_t word, number phase) const noexcept {
        return static_cast<std::uint32_t>(word >> 1) == static_cast<std::uint32_t>(phase * m_slices);
    }

    // One line: read by all while a phase is open, written between two phases.
    phase_word<Atom> m_phase;
    plain<Run> m_run{};
    plain<number> m_first = 0;
    atomic<number> m_last{0};
    const std::uint32_t m_slices;
    atomic<bool> m_failed{false};
    // Another line: written by each member.
    alignas(line_bytes) atomic<std::uint64_t> m_ended{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
