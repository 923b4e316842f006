// The checked build: invariants of a pool that has ended, and the report of a broken one.
#include <pilfer/checked_lock.hpp>
#include <pilfer/detail/base/checked.hpp>

#include <cstdio>
#include <cstdlib>

#include "idle/audit.hpp"
#include "observe/checks.hpp"
#include "platform/os.hpp"
#include "pool/figures.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

[[nodiscard]] std::size_t length(const free_record* r) noexcept {
    std::size_t n = 0;
    for (; r != nullptr; r = r->next.load(rlx)) {
        ++n;
    }
    return n;
}

} // namespace

#if defined(PILFER_CHECKED)
held_lock::held_lock(const std::source_location& where) noexcept : place(where) {
    if (worker* w = this_worker()) {
        m_home = w->current.load(rlx)->ctx;
        m_below = m_home->locks.load(rlx);
        m_home->locks.store(this, rlx);
    }
}

held_lock::~held_lock() {
    if (m_home != nullptr) {
        ensure([this] { return m_home->locks.load(rlx) == this; },
               "checked_locks end in another order than the opposite of their beginnings");
        m_home->locks.store(m_below, rlx);
    }
}
#endif

/// All threads are joined, so everything is plain to see.
void check_end(pool_core& p) noexcept {
    audit a;
    const counters c = figures::sum(p);
    a.equal("suspended, resumed", c.suspends, c.resumes);
    a.equal("steals tried, their outcomes", c.steals_tried, c.steals_failed + c.steals_lost + c.run_stolen);
    std::uint64_t begun = p.life.accepted();
    p.backend().check_end(a, c, begun + p.gate.queued_late(), p.threads.made());
    std::uint64_t ended = 0;
    for (unsigned i = 0; i < p.schedulers(); ++i) {
        begun += p.at(i).outstanding.begun();
        ended += p.at(i).outstanding.ended();
    }
    a.equal("units begun, ended", begun, ended);

    a.holds("the submission queue is empty", p.submissions.empty());
    a.holds("nobody has a place in the submission queue", p.gate.places().taken() == 0);
    a.holds("no coroutine waits", figures::waiting_coroutines(p) == 0);
    a.holds("no context is left runnable", p.runnable.empty());
    a.holds("nobody sleeps", !p.idle().anyone_asleep());
    a.holds("no alarm is set", p.first_due() == never);
    std::size_t records_kept[2] = {p.records.kept(0), p.records.kept(1)};
    for (unsigned i = 0; i < p.schedulers(); ++i) {
        scheduler& w = p.at(i);
        a.holds("the deque is empty", !w.deque.thief().has_any());
        a.holds("the inbox is empty", w.inbox().empty());
        a.holds("no worker owes a look", i >= p.threads.made() || p.idle().is_running(i));
        a.holds("no task is current", w.current.load(rlx) == nullptr);
        for (unsigned k = 0; k < 2; ++k) {
            records_kept[k] += length(w.free_records[k].load(rlx));
        }
    }
    a.equal("contexts alive, given back", p.stacks.live(), p.stacks.warm());
    a.equal("small records made, given back", p.records.made(0), records_kept[0]);
    a.equal("large records made, given back", p.records.made(1), records_kept[1]);
    if (a.failed()) {
        check_failed("the books of a pool do not balance");
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
