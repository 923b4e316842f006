#include "explore/interleaving.hpp"

#if defined(PILFER_TEST)

#include <algorithm>
#include <utility>

#include "platform/source_lines.hpp"
#include "search/outcome_text.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

namespace {

/// A step takes this long, so that what was armed later is due later. In nanoseconds.
constexpr instant step_time = 100;
/// Among the numbers of tasks: an alarm.
constexpr std::uint32_t alarm_number = 0;
/// So often each of the ready tasks yields before time jumps.
constexpr std::uint64_t yields_in_vain = 4;

} // namespace

struct interleaving::preempted : suspension {
    interleaving* owner;
    std::uint32_t number;
    std::uint64_t owes;
    const char* held_at;
};

struct interleaving::notified : suspension {
    std::vector<notified*>* list;
};

void interleaving::begins_on(scheduler& w) noexcept {
    m_here = &w;
    m_clock = now();
}

void interleaving::begin(const plan& p) {
    m_chooser.begin(p);
    m_order = m_chooser.plan_of_schedule().recorded.get();
    m_followed = 0;
    m_goes_beyond = false;
    m_alarms_beyond = 0;
    m_limits.clear();
    m_ready.clear();
    m_next = none;
    m_tasks.clear();
    m_steps.clear(m_exploration.traces());
    m_made = 0;
    m_faults = 0;
    m_notified.clear();
    m_quiet.clear();
    m_report = {};
    m_thread.moves("");
}

void interleaving::over() {
    m_report.hash = m_steps.hash();
    m_exploration.ran(m_chooser.taken(), m_report, m_steps.all());
}

std::optional<ready> interleaving::next() noexcept {
    if (has_no_end()) {
        return {};
    }
    m_clock += step_time;
    if (follows()) {
        if (!finds_next_followed()) {
            return {};
        }
    } else if (m_next == none) {
        const std::size_t k = choose(turn::over);
        if (k == alarm_place) {
            (void)fire_next_alarm();
            return {};
        }
        m_next = k;
    }
    return m_ready.take(std::exchange(m_next, none));
}

void interleaving::was_handed() noexcept {
    if (!follows()) {
        goes_on(turn::is_handed);
    }
}

void interleaving::add(task_word task, suspension* frame, std::uint32_t number, const context* by) {
    const bookkeeping now(*this);
    m_ready.add({number, task, frame, by});
    m_yields = 0;
}

std::string interleaving::waits(bool& elsewhere) {
    return text_of_waits(m_pool, m_tasks, m_steps, shows_lines(), elsewhere);
}

void interleaving::nobody_waits_for(const std::exception_ptr& error) {
    if (!m_exploration.handles(error)) {
        const test_step order("fails", nullptr, false);
        const bookkeeping now(*this);
        fails(verdict::exception, "a task without a waiter has thrown " + text_of_exception(error));
    }
}

bool interleaving::fire_next_alarm() noexcept {
    const instant due = m_team.first_due();
    if (due == never) {
        return false;
    }
    m_clock = std::max(m_clock, due);
    m_yields = 0;
    activation* const task = m_here->current.load(rlx);
    m_here->current.store(nullptr, rlx); // alarms fire as on the stack of a scheduler
    m_team.each_service([due](service& s) { s.fire_due(due); });
    m_here->current.store(task, rlx);
    return true;
}

void interleaving::fails(verdict how, std::string message) {
    const bookkeeping now(*this);
    if (m_report.how == verdict::passed) {
        note("fails");
        m_report.how = how;
        m_report.message = std::move(message);
    }
}

/// Returns the place of the chosen one: the running task, something in the list, or an alarm that is due. An
/// alarm may come late in any program, so it is only a candidate.
std::size_t interleaving::choose(turn how, std::uint64_t owes) {
    const bookkeeping now(*this);
    m_candidates.clear();
    m_places.clear();
    const auto add = [this](std::uint32_t number, std::size_t place) {
        m_candidates.push_back(number);
        m_places.push_back(place);
    };
    if (how == turn::goes_on || how == turn::is_handed) {
        add(running(), running_place);
    }
    for (std::size_t i = 0; i < m_ready.size(); ++i) {
        if (m_ready.has_turn(i)) {
            add(m_ready[i].number, i);
        }
    }
    if (m_team.expects() && m_team.first_due() <= m_clock) {
        add(alarm_number, alarm_place);
    }
    if (how == turn::yields && !m_ready.has_older(owes)) {
        add(running(), running_place);
    }
    return chosen(how == turn::goes_on);
}

/// The place of one of the candidates.
std::size_t interleaving::chosen(bool runs) {
    const std::size_t before = m_chooser.taken().size();
    const std::size_t place = m_places[m_chooser.choose(m_candidates, runs)];
    if (m_chooser.taken().size() != before) {
        m_exploration.chose(m_chooser.taken().back());
    }
    return place;
}

void interleaving::point(const char* what, const void* object) noexcept {
    note(what, object);
    if (!follows()) {
        goes_on(turn::goes_on);
    }
}

bool interleaving::fault(fault_kind kind, const char* what, const void* object) noexcept {
    const chosen_faults& may = m_chooser.plan_of_schedule().faults;
    if (m_keeps_books || m_faults == may.most || (kind == fault_kind::memory && !may.memory) ||
        (kind == fault_kind::io && !may.io)) {
        return false;
    }
    const bookkeeping now(*this);
    const bool fails = m_chooser.fault();
    m_exploration.chose(m_chooser.taken().back());
    if (fails) {
        ++m_faults;
        note("has a fault:", object, 0, what);
    }
    return fails;
}

void interleaving::suspend_in(std::vector<notified*>& list, const wait_kind& why,
                              const void* object) noexcept {
    notified s;
    s.list = &list;
    s.why = &why;
    s.object = object;
    s.publish = [](suspension& self) noexcept {
        auto& n = static_cast<notified&>(self);
        n.list->push_back(&n);
        return true;
    };
    m_team.backend().suspend(*m_here, s);
}

/// No point is between the caller's look and this wait, as with a futex.
void interleaving::wait_for(const void* object) noexcept {
    static constexpr wait_kind kind{"a change of an atomic", [](const suspension&, wait_facts&) noexcept {}};
    suspend_in(m_notified, kind, object);
}

void interleaving::wait_until_quiet(bool exact) noexcept {
    static constexpr wait_kind kind{"the end of the tasks of a pool",
                                    [](const suspension&, wait_facts&) noexcept {}};
    m_quiet_is_exact = exact;
    suspend_in(m_quiet, kind, nullptr);
}

bool interleaving::ends_quiet_waits(bool in_vain) noexcept {
    if (m_quiet.empty() || (in_vain && m_quiet_is_exact)) {
        return false;
    }
    const auto& counts = m_here->outstanding;
    if (!in_vain && m_team.life.accepted() + counts.begun() != counts.ended()) {
        return false;
    }
    std::vector<notified*> ends;
    ends.swap(m_quiet);
    for (notified* const n : ends) {
        add(0, n, m_tasks.of(n->act->ctx), nullptr);
    }
    return true;
}

/// Which one of several waits one notification ends is a choice, because std says nothing about it.
void interleaving::notify(const void* object, bool all) noexcept {
    const bookkeeping now(*this);
    m_candidates.clear();
    m_places.clear();
    for (std::size_t i = 0; i < m_notified.size(); ++i) {
        if (m_notified[i]->object == object) {
            m_candidates.push_back(m_tasks.of(m_notified[i]->act->ctx));
            m_places.push_back(i);
        }
    }
    if (!all && !m_places.empty()) {
        m_places = {chosen(false)};
    }
    std::vector<notified*> ends;
    for (const std::size_t i : m_places) {
        ends.push_back(m_notified[i]);
    }
    std::erase_if(m_notified,
                  [&](notified* n) { return std::find(ends.begin(), ends.end(), n) != ends.end(); });
    for (notified* const n : ends) {
        add(0, n, m_tasks.of(n->act->ctx), nullptr);
    }
}

void interleaving::goes_on(turn how) noexcept {
    m_clock += step_time;
    if (has_no_end()) {
        preempt(none); // for good
        return;
    }
    const std::size_t k = choose(how);
    if (k == alarm_place) {
        (void)fire_next_alarm();
    } else if (k != running_place) {
        preempt(k);
    }
}

/// Counts a step. True: it is one too many, and the pool ends here.
bool interleaving::has_no_end() noexcept {
    if (++m_made <= m_exploration.most_steps()) {
        return false;
    }
    m_report.abandoned = true;
    const bookkeeping now(*this);
    fails(verdict::endless,
          "no end after " + std::to_string(m_exploration.most_steps()) +
              " steps: tasks ask for something again and again, or an alarm is set each time");
    return true;
}

/// The thing at `next` in the list runs; none: nothing more does.
void interleaving::preempt(std::size_t next, std::uint64_t owes, const char* held_at) noexcept {
    m_next = next;
    preempted s;
    s.owner = this;
    s.number = running();
    s.owes = owes;
    s.held_at = held_at;
    s.publish = [](suspension& self) noexcept {
        auto& p = static_cast<preempted&>(self);
        interleaving& x = *p.owner;
        x.m_ready.add({p.number, 0, &p, nullptr, p.owes, 0, p.held_at});
        return true;
    };
    m_here->switching.suspend_here(s);
}

/// A yield may return at once, as it does where each task has a worker. But between two yields of a task all
/// run that were ready at the first one (Musuvathi and Qadeer, "Fair stateless model checking", PLDI 2008):
/// else an exhaustive search would follow two tasks that yield in turn for ever, and no third task would run.
void interleaving::yield() noexcept {
    note("yields");
    if (has_no_end()) {
        preempt(none); // for good
        return;
    }
    const std::uint32_t self = running();
    m_chooser.yields(self);
    // Tasks that yield in turn, while nothing else becomes ready, wait for a time, perhaps.
    if (++m_yields > yields_in_vain * (m_ready.size() + 1)) {
        (void)fire_next_alarm();
    }
    if (follows()) {
        preempt(none); // the others first
        return;
    }
    const std::uint64_t owes = [&] {
        const bookkeeping now(*this);
        return m_ready.yields(self);
    }();
    const std::size_t k = choose(turn::yields, owes);
    if (k == alarm_place) {
        (void)fire_next_alarm();
    } else if (k != running_place) {
        preempt(k, owes);
    }
}

std::uint32_t interleaving::running() {
    const bookkeeping now(*this);
    return m_tasks.of(m_here->current.load(rlx)->ctx);
}

void interleaving::note(const char* what, const void* object, std::uint32_t other, const char* of,
                        bool has_stack) {
    const bookkeeping now(*this);
    m_thread.moves(what);
    if (!m_steps.is_kept()) {
        return;
    }
    const activation* const a = m_here->current.load(rlx);
    const char* const name = a != nullptr ? a->ctx->name.load(rlx) : nullptr;
    m_steps.add(a != nullptr ? m_tasks.of(a->ctx) : 0, name, what, of, object, other);
    trace_step& s = m_steps.last();
    if (a != nullptr && has_stack && !m_report.holds_thread && m_exploration.shows_lines()) {
        s.depth = os::return_addresses(s.frames.data(), static_cast<unsigned>(s.frames.size()));
    }
    m_exploration.stepped(s);
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
