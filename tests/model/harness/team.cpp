// A loop team: each slice of each phase runs once, after all slices of the phase before it, and the caller
// goes on when the run is over. The loops of src/parallel/loop_team.cpp are copied: they spin by a clock.
#include <pilfer/detail/parallel/team_protocol.hpp>
#include <pilfer/detail/task/completion.hpp>

#include "../harness.hpp"

namespace {

using namespace model;
using namespace pilfer::detail;

using gate = phase_gate<atom, unsigned>;
using slice = slice_word<atom>;

/// Thread 0 is the caller, thread 1 a helper; each owns one slice. `Runs` runs of `Phases` phases. `Sleeps`:
/// the caller sleeps as soon as no slice is left. `Fails`: a slice of the first phase of each run throws.
template <unsigned Runs, unsigned Phases, bool Sleeps, bool Fails>
struct team {
    static constexpr unsigned threads = 2;
    gate g{2};
    slice slices[2];
    plain<unsigned> value[2][2]; // of each slice, written in turn
    thread_latch<atom> over[Runs];
    plain<unsigned> bed = 0;        // written by the caller before it sleeps, and read by its waker
    bool ran[Runs][Phases][2] = {}; // of the checker

    team() {
        slices[0].belongs_to(0);
        slices[1].belongs_to(1);
    }
    void run(unsigned i, std::uint64_t phase) {
        if (g.failed()) {
            return;
        }
        const unsigned r = g.run();
        const auto p = static_cast<unsigned>(g.in_run(phase));
        check(r < Runs && p < Phases, "a phase that was not begun");
        check(!ran[r][p][i], "a slice ran twice");
        ran[r][p][i] = true;
        if (Fails) {
            check(p == 0, "a phase after an exception");
            if (i == 1) {
                check(g.fail(), "the first exception of a run is not the first");
            }
            return;
        }
        const unsigned before = r * Phases + p;
        check(value[before % 2][1 - i] == before, "a slice began before the last phase had ended");
        value[(before + 1) % 2][i] = before + 1;
    }
    /// loop_team_core::work().
    gate::end work(unsigned me, std::uint64_t& phase) {
        for (;;) {
            gate::end now = gate::end::not_yet;
            if (slices[me].claim_own(phase, me) == slice::claim::mine) {
                run(me, phase);
                now = g.ended(1, phase);
            }
            for (unsigned i = 0; i < 2 && now == gate::end::not_yet; ++i) {
                if (slices[1 - i].claim_any(phase, me) != slice::claim::lost) {
                    run(1 - i, phase);
                    now = g.ended(1, phase);
                }
            }
            if (now != gate::end::of_phase) {
                return now;
            }
            unsigned missing = 0;
            g.word().open(1, missing);
            phase = phase_after(phase);
        }
    }
    void call(unsigned r) {
        std::uint64_t phase = g.begin_run(Phases, r);
        unsigned missing = 0;
        g.word().open(1, missing);
        while (work(0, phase) == gate::end::not_yet) {
            if (Sleeps) {
                bed = r + 1;
                if (g.falls_asleep()) {
                    over[r].template wait<park>();
                    g.wakes();
                }
                break;
            }
            std::uint64_t now = phase;
            for (unsigned round = 0; !g.is_over(phase) && now == phase; ++round) {
                atom::relax(round);
                now = phase_of(g.word().read());
            }
            if (now == phase) {
                break;
            }
            phase = now;
        }
        for (unsigned i = 0; i < 2 && !Fails; ++i) {
            const unsigned all = (r + 1) * Phases;
            check(value[all % 2][i] == all, "the run ended before its last phase");
        }
        check(g.failed() == Fails, "an exception was lost");
    }
    void help() {
        std::uint64_t phase = 0;
        for (unsigned round = 0;; ++round) {
            const auto word = g.word().read();
            if (phase_of(word) != phase) {
                phase = phase_of(word);
                if (work(1, phase) == gate::end::of_run_and_wakes) {
                    const auto r = static_cast<unsigned>((phase - 1) / (Fails ? 1 : Phases));
                    check(bed == r + 1, "the waker does not see what the caller prepared");
                    over[r].template release<park>();
                }
            } else if (g.word().is_closed()) {
                return;
            } else {
                atom::relax(round);
            }
        }
    }
    void thread(unsigned i) {
        if (i == 1) {
            help();
            return;
        }
        for (unsigned r = 0; r < Runs; ++r) {
            call(r);
        }
        g.word().close();
    }
    void finish() {
        for (auto& run : ran) {
            for (auto& phase : run) {
                check(Fails || (phase[0] && phase[1]), "a slice was left out");
            }
        }
    }
};

/// A helper leaves while the caller opens the next phase: it is replaced, or works on.
struct leaving {
    static constexpr unsigned threads = 2;
    phase_word<atom> word;
    bool left = false; // of the checker
    bool replaced = false;

    leaving() {
        unsigned missing = 0;
        word.open(1, missing);
    }
    void thread(unsigned i) {
        if (i == 1) {
            left = word.leave(1);
            return;
        }
        unsigned missing = 0;
        word.open(1, missing);
        replaced = missing == 1;
    }
    void finish() {
        check(left == replaced, left ? "a helper that has left is not replaced" : "a helper too many");
        check(phase_word<atom>::helpers(word.read()) == 1, "the helpers are miscounted");
    }
};

const registered<team<1, 2, false, false>> r1("team_phases", "a helper in two phases of one run");
const registered<team<2, 1, false, false>> r2("team_runs", "a helper in two runs, and late for the first");
const registered<team<1, 2, true, false>> r3("team_sleeps", "the caller sleeps before the end of two phases");
const registered<team<2, 1, true, false>> r4("team_sleeps_twice", "the caller sleeps in each of two runs");
const registered<team<2, 2, false, true>> r5("team_fails",
                                             "an exception in the first phase of each of two runs");
const registered<team<1, 2, true, true>> r6("team_fails_asleep",
                                            "an exception while the caller falls asleep");
const registered<leaving> r7("team_leaves", "a helper leaves as the next phase is opened");

} // namespace
