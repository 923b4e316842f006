// The tasks of a loop team, and the phases that they run.
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/parallel/loop_team.hpp>

#include <algorithm>
#include <stdexcept>

#include "pool/pool_core.hpp"
#include "sync/kinds.hpp"
#include <pilfer/detail/base/ticks.hpp>
#include <pilfer/detail/cancel/points.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// A member that spins looks so often between two looks at the clock. After some of these it lets others have
/// its CPU: it may share that CPU with the member that it waits for.
constexpr unsigned looks = 32;

constexpr wait_kind team_kind{"the end of a loop of its team", &nothing_known};

[[nodiscard]] const pool_core& core_here() noexcept {
    const worker* const w = this_worker();
    return w != nullptr ? *w->pool : common_core();
}

[[nodiscard]] unsigned checked(unsigned value, unsigned least, unsigned most, const char* text) {
    if (value < least || value > most) {
        PILFER_THROW(std::invalid_argument(text));
    }
    return value;
}

/// How long a member spins between two phases: as long as a worker of its pool searches before it sleeps.
/// Beside more workers than CPUs it would keep the CPU from the member that it waits for.
[[nodiscard]] std::uint64_t spin_time(const pool_core& p) noexcept {
    constexpr unsigned pieces = 12; // of 4 us
    if (p.oversubscribed() || p.settings().spin == idle::battery) {
        return piece_ticks() / 4;
    }
    return piece_ticks() * pieces * (p.settings().spin == idle::latency ? 20 : 1);
}

/// The caller is about to begin a run: it leaves if it is cancelled, and lets others have what they wait for.
void answer_requests() {
    using trip = signal_word<std_atom>;
    worker* const w = this_worker();
    if (w != nullptr && w->deque.signal().has(trip::asked)) [[unlikely]] {
        detail::leave_if_stopped();
        // Submissions and resumed tasks pass; helpers that no worker has taken are shown to those that
        // search.
        if (w->deque.signal().has(trip::yield_request) || w->deque.thief().has_any()) {
            detail::attend(w);
        }
    }
}

} // namespace

struct loop_team_core::helper {
    loop_team_core* team;
    void operator()() const noexcept { team->help(); }
};

loop_team_core::loop_team_core(unsigned members, unsigned slices)
    : m_members(members != 0
                    ? checked(members, 1, most_members, "pilfer: a loop_team has at most 4,096 members")
                    : core_here().active()),
      m_each(checked(slices, 1, most_slices, "pilfer: a member of a loop_team has 1 to 16 slices")),
      m_all(m_members * m_each), m_patience(spin_time(core_here())), m_grace(piece_ticks() / 4),
      m_slices(std::make_unique<slice_line[]>(m_members)), m_seats(std::size_t{m_members} + 1), m_gate(m_all),
      m_wanted(m_members - 1) {
    // One seat more than members: a caller that waits is replaced by a helper.
    for (unsigned s = 0; s < m_seats.size(); ++s) {
        m_seats[s].number = s;
        m_seats[s].owned.reserve(m_all); // so that a member can get all slices without an allocation
    }
    for (unsigned i = 0; i < m_all; ++i) {
        word_of(i).belongs_to(i / m_each);
        m_seats[i / m_each].owned.push_back(i);
    }
}

loop_team_core::~loop_team_core() { m_gate.word().close(); }

void loop_team_core::check_caller() const {
    if (!scope_access::is_owner(m_scope)) {
        PILFER_THROW(usage_error("pilfer: only the task that made a loop_team may run loops with it"));
    }
    if (m_running) {
        PILFER_THROW(usage_error("pilfer: a body of a loop_team called the team"));
    }
}

void loop_team_core::run(slice_function f, void* job, std::uint64_t count) {
    PILFER_TEST_CANNOT_REPEAT("a team of loops");
    check_caller();
    answer_requests();
    if (count == 0) {
        return;
    }
    m_running = true;
    std::uint64_t phase = m_gate.begin_run(std::min(count, most_phases), calls{f, job});
    open();
    seat* s = &take_seat();
    bool opened = true;
    while (work(*s, phase, opened) == after::goes_on && await(s, phase) == after::goes_on) {
        opened = false;
    }
    if (s != nullptr) {
        s->taken.store(false, rel); // the next holder's exchange
    }
    m_running = false;
    if (m_gate.failed()) [[unlikely]] {
        rethrow();
    }
}

/// The seat of the worker that the caller is on, so that a slice stays with a thread and not with a task. Any
/// free one if another task has it, which was suspended in a body.
loop_team_core::seat& loop_team_core::take_seat() noexcept {
    const worker* const w = this_worker();
    const std::size_t first = w != nullptr ? w->index % m_members : 0;
    for (std::size_t i = 0;; ++i) {
        if (i != 0 && i % m_seats.size() == 0) {
            std_atom::relax(static_cast<unsigned>(i / m_seats.size())); // a helper is about to leave its seat
        }
        seat& s = m_seats[(first + i) % m_seats.size()];
        // Acquires the list of its last holder, which released it.
        if (!s.taken.load(rlx) && !s.taken.exchange(true, acq)) {
            return s;
        }
    }
}

/// By the caller of a run, or by the member that has ended the phase before.
void loop_team_core::open() noexcept {
    unsigned missing = 0;
    m_gate.word().open(m_wanted.load(rlx), missing);
    if (missing != 0) {
        start_helpers(missing);
    }
}

void loop_team_core::start_helpers(unsigned n) noexcept {
    PILFER_TRY {
        for (; n != 0; --n) {
            m_scope.fork(helper{this});
        }
    }
    // No memory, a closed pool, or a cancellation, which the caller meets again: the others do the work.
    PILFER_CATCH_ALL { m_gate.word().not_started(n); }
}

/// A helper from its start to its end.
void loop_team_core::help() noexcept {
    seat& s = take_seat();
    std::uint64_t phase = 0;
    do {
        phase = phase_of(m_gate.word().read());
        (void)work(s, phase, false);
    } while (await_next(phase));
    s.taken.store(false, rel); // the next holder's exchange
}

/// Of a helper: true if a later phase is open. False: the helper has left the team.
bool loop_team_core::await_next(std::uint64_t phase) noexcept {
    auto& word = m_gate.word();
    const std::uint64_t start = cheap_ticks();
    for (unsigned round = 0;; round += looks) {
        for (unsigned look = 0; look < looks; ++look) {
            if (phase_of(word.read()) != phase) {
                return true;
            }
            cpu_relax();
        }
        backoff(round);
        worker* const w = this_worker();
        if (cheap_ticks() - start > m_patience || word.is_closed() ||
            w->deque.signal().has(signal_word<std_atom>::yield_request) || stopped_here(w)) {
            return !word.leave(phase);
        }
    }
}

/// Of the caller, after its share of a phase: waits for the next phase, or for the end of the run.
loop_team_core::after loop_team_core::await(seat*& s, std::uint64_t& phase) noexcept {
    const std::uint64_t start = cheap_ticks();
    for (unsigned round = 0; cheap_ticks() - start < m_patience; round += looks) {
        for (unsigned look = 0; look < looks; ++look) {
            if (m_gate.is_over(phase)) {
                return after::run_is_over;
            }
            if (const std::uint64_t now = phase_of(m_gate.word().read()); now != phase) {
                phase = now;
                return after::goes_on;
            }
            cpu_relax();
        }
        backoff(round);
    }
    // A body takes long, or waits, perhaps for this very worker.
    s->taken.store(false, rel); // the next holder's exchange
    s = nullptr;
    sleep();
    return after::run_is_over;
}

/// Of the caller: the others finish the run. From the next phase on a helper replaces the caller.
void loop_team_core::sleep() noexcept {
    m_wanted.store(m_members, rlx);
    m_over.done.reset();
    if (m_gate.falls_asleep()) {
        wait_in(m_list, m_over, never, team_kind, this);
        m_gate.wakes();
    }
    m_wanted.store(m_members - 1, rlx);
}

/// Runs what a member gets of `phase`, and of the phases after it that it opens itself.
loop_team_core::after loop_team_core::work(seat& s, std::uint64_t& phase, bool opened) noexcept {
    for (;;) {
        const std::uint64_t start = cheap_ticks();
        after now = ended(work_own(s, phase), phase);
        if (now == after::goes_on) {
            // A loop that is shorter than a handshake is run by the member that opens it.
            const bool is_short = opened && cheap_ticks() - start < m_grace / 2;
            if (!is_short && passed(phase, start)) {
                return after::goes_on;
            }
            now = ended(work_others(s, phase), phase);
        }
        if (now != after::opened) {
            return now;
        }
        opened = true;
        phase = phase_after(phase);
    }
}

unsigned loop_team_core::work_own(seat& s, std::uint64_t phase) noexcept {
    unsigned ran = 0;
    for (std::size_t k = 0; k < s.owned.size();) {
        switch (const unsigned i = s.owned[k]; word_of(i).claim_own(phase, s.number)) {
        case slice::claim::mine:
            run_slice(phase, i);
            ++ran;
            ++k;
            break;
        case slice::claim::gone:
            s.owned.erase(s.owned.begin() + static_cast<std::ptrdiff_t>(k));
            break;
        default:
            ++k;
        }
    }
    return ran;
}

/// Claims what no member has begun, from behind: the owner begins at the front. Afterwards all slices
/// are claimed.
unsigned loop_team_core::work_others(seat& s, std::uint64_t phase) noexcept {
    unsigned ran = 0;
    unsigned i = s.number < m_members ? s.number * m_each : 0;
    for (unsigned k = 0; k < m_all; ++k) {
        i = (i == 0 ? m_all : i) - 1;
        const auto got = word_of(i).claim_any(phase, s.number);
        if (got == slice::claim::lost) {
            continue;
        }
        if (got == slice::claim::moved) {
            s.owned.push_back(i);
        }
        run_slice(phase, i);
        ++ran;
    }
    return ran;
}

/// Counts slices. The member that counts the last one opens the next phase, or wakes the caller.
loop_team_core::after loop_team_core::ended(unsigned ran, std::uint64_t phase) noexcept {
    if (ran == 0) {
        return after::goes_on;
    }
    switch (m_gate.ended(ran, phase)) {
    case gate::end::not_yet:
        return after::goes_on;
    case gate::end::of_phase:
        open();
        return after::opened;
    case gate::end::of_run_and_wakes:
        go_on(m_over);
        break;
    case gate::end::of_run:
        break;
    }
    return after::run_is_over;
}

void loop_team_core::run_slice(std::uint64_t phase, unsigned i) noexcept {
    if (m_gate.failed()) [[unlikely]] {
        return;
    }
    if (worker* const w = this_worker(); w != nullptr && stopped_here(w) && must_leave()) [[unlikely]] {
        if (m_gate.fail()) { // as below
            m_error = stopped_error();
        }
        return;
    }
    PILFER_TRY {
        const calls run = m_gate.run();
        run.function(run.job, m_gate.in_run(phase), i);
    }
    PILFER_CATCH_ALL {
        std::exception_ptr error = detail::caught_error();
        if (m_gate.fail()) { // the caller reads it when the run is over (team.T3)
            m_error = std::move(error);
        } else {
            m_suppressed.fetch_add(1, rlx);
            detail::count_suppressed(1);
        }
    }
}

/// Waits for the end of the phase until about 1 us after `start`: an owner that runs gets so much time to
/// begin its slices.
bool loop_team_core::passed(std::uint64_t phase, std::uint64_t start) const noexcept {
    while (cheap_ticks() - start < m_grace) {
        for (unsigned look = 0; look < 4; ++look) {
            if (phase_of(m_gate.word().read()) != phase) {
                return true;
            }
            cpu_relax();
        }
    }
    return false;
}

void loop_team_core::rethrow() {
    detail::note_suppressed(m_suppressed.exchange(0, rlx));
    std::rethrow_exception(std::exchange(m_error, nullptr));
}

} // namespace detail
} // namespace v0
} // namespace pilfer
