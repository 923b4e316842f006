// One function per thing that a worker does; the text of the runtime that it stands for is named beside it.
#include "simulator.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "balance/amount.hpp"
#include "balance/exposure.hpp"
#include "balance/victim.hpp"

#include "event_queue.hpp"
#include "task_queue.hpp"
#include "worker_set.hpp"

namespace study {
namespace {

namespace balance = pilfer::balance;

/// The costs as simulated time.
struct prices {
    explicit prices(const costs& c)
        : spawn(from_ns(c.spawn)), slow_path(from_ns(c.slow_path)), steal_hit(from_ns(c.steal_hit)),
          steal_miss(from_ns(c.steal_miss)), steal_more(from_ns(c.steal_more)),
          wake_call(from_ns(c.wake_call)), wake_latency(from_ns(c.wake_latency)),
          context_switch(from_ns(c.context_switch)), remote_line(from_ns(c.remote_line)),
          reach(from_ns(c.reach)) {}
    moment spawn, slow_path, steal_hit, steal_miss, steal_more, wake_call, wake_latency, context_switch,
        remote_line, reach;
};

constexpr std::uint64_t nothing = UINT64_MAX;

/// A task that has begun.
struct frame {
    std::uint64_t task;
    std::uint64_t place;
    std::uint64_t awaits;      // one task; nothing: all children
    std::uint32_t parent;      // that counts it, or whose stack it runs on
    std::uint32_t pending;     // children that have not ended and do not run on top of this frame
    std::uint32_t next_waiter; // of the task that it awaits
    bool counted;              // by its parent
    bool on_parent;            // runs on its parent's stack: its end is the parent's next step
    bool syncing;
    bool suspended;
};

enum class phase : std::uint8_t {
    running,   // a frame
    looking,   // at the own deque, then for others
    searching, // spinning
    scanning,  // the last look at everybody
    lying_down,
    hauling, // the first task of a theft is in hand
    asleep,
};

struct worker {
    worker(unsigned index, const setup& how, std::span<const balance::group> near)
        : random(index + 1 + how.seed * 4'099),
          chooser(how.policy.victim, index, std::max(how.workers, 2U), near),
          exposer(how.policy.exposure, how.policy.threshold, how.policy.eager) {}

    task_queue deque;
    balance::random random;
    balance::chooser chooser;
    balance::exposer exposer;
    balance::haul haul;
    entry in_hand{};
    std::uint64_t more = 0; // tasks to come with it
    unsigned victim = 0;
    moment line_free = 0; // until then a thief holds the line of the oldest task
    std::uint32_t current = no_frame;
    unsigned asked_by = worker_set::nobody; // the thief whose request is not answered yet
    unsigned last_woken = worker_set::nobody;
    unsigned hint = worker_set::nobody;
    unsigned round = 0; // of the search; of the last look: how many it has looked at
    unsigned depth = 0; // in the tree of first wake-ups
    phase now = phase::asleep;
    bool token = false;    // woken, and nothing found since
    bool robbed = false;   // what it runs was stolen
    bool fruitful = false; // and has announced something
    bool busy = false;     // runs a frame
    bool begun = false;    // has had a task
    bool ever_woken = false;
};

class simulation {
public:
    simulation(const setup& how, const workload& program, observer* watcher)
        : m_how(how), m_price(how.price), m_program(program), m_watcher(watcher), m_events(how.workers + 1),
          m_ready(how.workers), m_sleepers(how.workers) {
        make_groups();
        m_workers.reserve(how.workers);
        for (unsigned i = 0; i < how.workers; ++i) {
            m_workers.emplace_back(i, how,
                                   std::span<const balance::group>(m_groups.data() + i * levels, levels));
        }
        m_frames.reserve(1024);
        m_waiters.resize(program.awaitable(), no_frame);
        m_ended.resize(program.awaitable(), false);
    }
    result run();

private:
    // SMT siblings or a shared cache, a socket's cache, a socket, everybody: the shape of a common server.
    static constexpr std::array<unsigned, 3> group_sizes = {2, 8, 64};
    static constexpr std::size_t levels = group_sizes.size() + 1;

    void make_groups() {
        m_groups.reserve(m_how.workers * levels);
        for (unsigned i = 0; i < m_how.workers; ++i) {
            for (const unsigned size : group_sizes) {
                const unsigned first = i / size * size;
                // A last worker on its own belongs to the group before it: a group of one has no others.
                const unsigned last = std::min(first + size, m_how.workers);
                m_groups.push_back(last - first > 1 || first == 0 ? balance::group{first, last}
                                                                  : balance::group{first - 1, last});
            }
            m_groups.push_back({0, m_how.workers});
        }
    }

    void act(unsigned i);
    void run_frame(unsigned i);
    void after_push(unsigned i);
    void pop_newest(unsigned i);
    void announce(unsigned i, std::uint64_t task, std::uint32_t parent);
    bool synced(unsigned i, std::uint32_t f);
    bool on_top(unsigned i, std::uint32_t f);
    std::uint32_t release_waiters(unsigned i, std::uint64_t task);
    bool end_frame(unsigned i);
    void enter(unsigned i, const entry& e, std::uint32_t below = no_frame);
    void look(unsigned i);
    void search(unsigned i);
    void scan(unsigned i);
    void lie_down(unsigned i);
    bool attempt(unsigned thief, unsigned victim, bool reach);
    void haul(unsigned thief);
    void found_work(unsigned i);
    void answer(unsigned i);
    void expose(unsigned i, std::uint64_t n);
    bool wake_one(unsigned waker, unsigned from, unsigned hint);
    void arrive();
    void busy(unsigned i, bool now);
    void show(unsigned i);
    /// Something changed in the deque of `i`.
    void touched(unsigned i) {
        m_ready.put(i, !m_workers[i].deque.empty());
        if (m_watcher != nullptr) {
            show(i);
        }
    }
    /// Worker `i` acts again when what it has done since the event began is paid for.
    void resume_at(unsigned i, phase p) {
        m_workers[i].now = p;
        m_events.set(i, m_now + m_spent);
    }

    const setup& m_how;
    const prices m_price;
    const workload& m_program;
    observer* m_watcher;
    event_queue m_events; // the last entry is the next arrival
    std::vector<balance::group> m_groups;
    std::vector<worker> m_workers;
    std::vector<frame> m_frames;
    std::vector<std::uint32_t> m_free_frames;
    std::vector<std::uint32_t> m_waiters; // of each task: the first frame that awaits it
    std::vector<bool> m_ended;
    worker_set m_ready; // whose deques are not empty
    worker_set m_sleepers;
    moment m_now = 0;
    moment m_spent = 0;       // by the worker that acts, in this event
    std::uint64_t m_open = 0; // tasks without a parent that have not ended
    workload::arrival m_next_arrival;
    std::uint64_t m_arrivals = 0;
    unsigned m_busy = 0;
    unsigned m_begun = 0;
    result m_result;
};

// ---- running ----------------------------------------------------------------------------------

result simulation::run() {
    m_program.begin(m_how.workers, [this](unsigned i, std::uint64_t task) {
        m_workers[i].deque.push({task, no_frame});
        ++m_open;
        ++m_result.announced;
    });
    for (unsigned i = 0; i < m_how.workers; ++i) {
        worker& w = m_workers[i];
        touched(i);
        if (w.deque.empty() && m_how.asleep) {
            m_sleepers.put(i, true);
        }
    }
    for (unsigned i = 0; i < m_how.workers; ++i) {
        m_spent = 0;
        if (!m_workers[i].deque.empty()) {
            m_workers[i].ever_woken = true;
            after_push(i); // of the last of them
        }
        if (!m_sleepers.has(i)) {
            m_workers[i].now = phase::looking;
            m_events.set(i, std::min(m_events.when(i), m_spent));
        }
    }
    m_spent = 0;
    m_next_arrival = m_program.arrives(0, m_how.workers);
    m_events.set(m_how.workers, m_next_arrival.when);
    while (m_open > 0 || m_next_arrival.when != never) {
        const unsigned i = m_events.first();
        m_now = m_events.when(i);
        if (m_now == never) {
            throw std::runtime_error("everybody sleeps with work left: the program waits for itself");
        }
        if (m_now >= m_how.until) {
            break;
        }
        ++m_result.events;
        m_spent = 0;
        if (i == m_how.workers) {
            arrive();
        } else {
            act(i);
        }
    }
    m_result.makespan = m_now;
    return m_result;
}

void simulation::act(unsigned i) {
    switch (m_workers[i].now) {
    case phase::running:
        run_frame(i);
        break;
    case phase::looking:
        look(i);
        break;
    case phase::searching:
        search(i);
        break;
    case phase::scanning:
        scan(i);
        break;
    case phase::lying_down:
        lie_down(i);
        break;
    case phase::hauling:
        haul(i);
        break;
    case phase::asleep:
        break;
    }
}

/// Until simulated time passes.
void simulation::run_frame(unsigned i) {
    worker& w = m_workers[i];
    busy(i, true);
    while (m_spent == 0) {
        const std::uint32_t f = w.current;
        if (m_frames[f].syncing) {
            if (!synced(i, f)) {
                return;
            }
            continue;
        }
        const step s = m_program.next(m_frames[f].task, m_frames[f].place);
        switch (s.what) {
        case step::kind::compute:
            m_result.work += s.value;
            m_spent += s.value;
            break;
        case step::kind::announce:
            ++m_frames[f].pending;
            announce(i, s.value, f);
            break;
        case step::kind::fork:
            ++m_open;
            announce(i, s.value, no_frame);
            break;
        case step::kind::spawn:
            ++m_open;
            announce(i, f, is_frame);
            enter(i, {s.value, no_frame});
            break;
        case step::kind::call:
            enter(i, {s.value, no_frame}, f);
            break;
        case step::kind::sync:
        case step::kind::await:
            m_frames[f].syncing = true;
            m_frames[f].awaits = s.what == step::kind::await ? s.value : nothing;
            answer(i); // attend()
            break;
        case step::kind::end:
            if (!end_frame(i)) {
                return;
            }
            break;
        }
    }
    resume_at(i, phase::running);
}

/// push, and tripped() where somebody asks or the policy wants to see every push.
void simulation::announce(unsigned i, std::uint64_t task, std::uint32_t parent) {
    worker& w = m_workers[i];
    w.deque.push({task, parent});
    w.fruitful = true;
    ++m_result.announced;
    touched(i);
    m_spent += m_price.spawn;
    after_push(i);
}

/// A shared task is taken back by the slow path; where every push takes it, that is paid for already.
void simulation::pop_newest(unsigned i) {
    if (m_workers[i].deque.pop() && m_how.policy.exposure == pilfer::exposure::on_demand) {
        m_spent += m_price.slow_path;
    }
}

/// What the policy shares, and what others are owed.
void simulation::after_push(unsigned i) {
    worker& w = m_workers[i];
    m_ready.put(i, true);
    if (m_how.policy.exposure != pilfer::exposure::on_demand) {
        m_spent += m_price.slow_path;
        expose(i,
               w.exposer.after_push(w.deque.load(), !m_sleepers.empty() || w.asked_by != worker_set::nobody));
    }
    answer(i);
}

/// scope::sync(), future::get(). True: go on with w.current, which may be a child.
bool simulation::synced(unsigned i, std::uint32_t f) {
    const std::uint64_t awaits = m_frames[f].awaits;
    if (awaits == nothing ? m_frames[f].pending == 0 : m_ended[awaits]) {
        m_frames[f].syncing = false;
        return true;
    }
    if (on_top(i, f)) {
        return true;
    }
    if (awaits != nothing) {
        m_frames[f].next_waiter = std::exchange(m_waiters[awaits], f);
    }
    m_frames[f].suspended = true;
    ++m_result.suspends;
    m_workers[i].current = no_frame;
    busy(i, false);
    m_spent += m_price.context_switch;
    resume_at(i, phase::looking);
    return false;
}

/// Begins on top of `f` what it waits for, if that is the newest of its own.
bool simulation::on_top(unsigned i, std::uint32_t f) {
    worker& w = m_workers[i];
    if (w.deque.empty()) {
        return false;
    }
    answer(i); // attend(), between the children
    const entry e = w.deque.newest();
    const std::uint64_t awaits = m_frames[f].awaits;
    if (awaits == nothing ? e.parent != f : e.parent != no_frame || e.task != awaits) {
        return false;
    }
    pop_newest(i);
    touched(i);
    if (awaits == nothing) {
        --m_frames[f].pending;
    }
    enter(i, {e.task, no_frame}, f);
    return true;
}

/// leave_context(). True: go on with w.current.
bool simulation::end_frame(unsigned i) {
    worker& w = m_workers[i];
    const std::uint32_t f = w.current;
    const frame ended = m_frames[f];
    m_free_frames.push_back(f);
    w.current = no_frame;
    std::uint32_t next = no_frame;
    if (ended.task < m_ended.size()) {
        next = release_waiters(i, ended.task);
    }
    if (ended.counted) {
        frame& parent = m_frames[ended.parent];
        if (--parent.pending == 0 && parent.suspended) {
            next = ended.parent;
        }
    } else if (!ended.on_parent || !m_ended.empty()) {
        --m_open;
    }
    if (ended.on_parent) {
        if (next != no_frame) {
            w.deque.push({next, is_frame});
            after_push(i);
        }
        w.current = ended.parent;
        touched(i);
        return true;
    }
    if (next != no_frame) {
        m_frames[next].suspended = false;
        w.current = next;
        m_spent += m_price.context_switch;
        return true;
    }
    busy(i, false);
    resume_at(i, phase::looking);
    return false;
}

/// One of those that awaited `task`, or no_frame. The others are queued.
std::uint32_t simulation::release_waiters(unsigned i, std::uint64_t task) {
    m_ended[task] = true;
    const std::uint32_t first = m_waiters[task];
    if (first != no_frame) {
        for (std::uint32_t f = m_frames[first].next_waiter; f != no_frame; f = m_frames[f].next_waiter) {
            m_workers[i].deque.push({f, is_frame});
            after_push(i);
        }
        touched(i);
    }
    return first;
}

/// Begins a task, on the stack of `below` if there is one; or goes on with a frame.
void simulation::enter(unsigned i, const entry& e, std::uint32_t below) {
    if (e.parent == is_frame) {
        m_frames[e.task].suspended = false;
        m_workers[i].current = static_cast<std::uint32_t>(e.task);
        return;
    }
    const bool on_parent = below != no_frame;
    const frame begun{
        e.task,    0,     nothing, on_parent ? below : e.parent, 0, no_frame, e.parent != no_frame,
        on_parent, false, false};
    std::uint32_t f = 0;
    if (m_free_frames.empty()) {
        f = static_cast<std::uint32_t>(m_frames.size());
        m_frames.push_back(begun);
    } else {
        f = m_free_frames.back();
        m_free_frames.pop_back();
        m_frames[f] = begun;
    }
    m_workers[i].current = f;
    ++m_result.tasks;
    if (m_arrivals > 0 && e.parent == no_frame) {
        m_result.waited += m_now + m_spent - e.task;
    }
}

// ---- looking for work: scheduler::step(), search(), sleep() ----------------------------------------

void simulation::look(unsigned i) {
    worker& w = m_workers[i];
    if (m_how.attend_between) {
        answer(i);
    }
    if (!w.deque.empty()) {
        const entry e = w.deque.newest();
        pop_newest(i);
        found_work(i);
        enter(i, e);
        touched(i);
        resume_at(i, phase::running);
        return;
    }
    if (w.robbed) {
        w.haul.spent(w.fruitful);
        w.robbed = false;
    }
    w.round = 0;
    if (m_how.workers == 1) {
        m_sleepers.put(i, true);
        w.now = phase::asleep;
        m_events.set(i, never);
        return;
    }
    resume_at(i, phase::searching);
}

void simulation::search(unsigned i) {
    worker& w = m_workers[i];
    if (!w.deque.empty()) { // an arrival
        look(i);
        return;
    }
    unsigned victim = w.hint;
    if (w.round > 0 || !w.token || victim >= m_how.workers || victim == i) {
        victim = w.chooser.next(w.random, [this](unsigned v) { return m_workers[v].deque.size(); });
        if (m_how.policy.victim == pilfer::victim::longest) {
            m_spent += m_price.remote_line * (m_how.workers - 1);
        }
    }
    if (attempt(i, victim, false)) {
        w.chooser.succeeded(victim);
        return;
    }
    w.chooser.failed(victim);
    m_spent += m_price.steal_miss;
    if (++w.round < m_how.rounds) {
        resume_at(i, phase::searching);
    } else {
        w.round = 0;
        resume_at(i, phase::scanning);
    }
}

/// With reach. Those that have nothing are passed in one step, a line each.
void simulation::scan(unsigned i) {
    worker& w = m_workers[i];
    const unsigned n = m_how.workers;
    if (!m_how.last_look) {
        const unsigned victim =
            w.chooser.next(w.random, [this](unsigned v) { return m_workers[v].deque.size(); });
        if (!attempt(i, victim, true)) {
            // Nothing here wakes it again, so it must not lie down beside work that it may not take.
            // Time must pass, even where nothing costs anything.
            m_spent += std::max(m_price.steal_miss, from_ns(1));
            resume_at(i, m_ready.empty() ? phase::lying_down : phase::searching);
        }
        return;
    }
    // Forwards, or for a thief of the ring backwards. i + 1 + round is next; i itself is n - 1 steps further.
    const bool forwards = m_how.policy.victim != pilfer::victim::ring;
    const unsigned from = (forwards ? i + 1 + w.round : i + n + n - 1 - w.round) % n;
    const unsigned victim = forwards ? m_ready.next(from) : m_ready.previous(from);
    const unsigned steps = victim == worker_set::nobody ? n
                           : forwards                   ? m_ready.steps(from, victim)
                                                        : m_ready.steps(victim, from);
    if (w.round + 1 + steps >= n) {
        m_spent += m_price.remote_line * (n - 1 - std::min(w.round, n - 1));
        resume_at(i, phase::lying_down);
        return;
    }
    m_spent += m_price.remote_line * (steps + 1);
    w.round += steps + 1;
    if (attempt(i, victim, true)) {
        w.chooser.succeeded(victim);
    } else {
        resume_at(i, phase::scanning);
    }
}

void simulation::lie_down(unsigned i) {
    worker& w = m_workers[i];
    if (!m_ready.empty()) {
        w.round = 0;
        resume_at(i, phase::searching); // the token, if there is one, is still owed
        return;
    }
    w.token = false;
    w.now = phase::asleep;
    ++m_result.sleeps;
    m_sleepers.put(i, true);
    m_events.set(i, never);
}

/// try_steal(), take_more(): as much as the amount says, of all that the victim has. What is private comes
/// with `reach`, or when something is shared, so that no exposure cuts an amount down.
bool simulation::attempt(unsigned thief, unsigned victim, bool reach) {
    worker& w = m_workers[thief];
    worker& v = m_workers[victim];
    const auto load = v.deque.load();
    const std::uint64_t wanted =
        v.deque.empty() ? 0 : w.haul.size(m_how.policy.steal, load.shared + load.own);
    if (wanted == 0 || (load.shared == 0 && !reach)) {
        if (wanted != 0) {
            v.asked_by = thief;
        }
        ++m_result.misses;
        return false;
    }
    if (wanted > load.shared) {
        v.deque.expose(wanted - load.shared);
        m_spent += m_price.reach;
        ++m_result.reaches;
    }
    // Thieves of one victim take turns: each needs the line of its oldest task for itself.
    const moment start = std::max(m_now + m_spent, v.line_free);
    v.line_free = start + m_price.remote_line;
    m_spent = start - m_now + m_price.steal_hit;
    w.in_hand = v.deque.take_oldest();
    w.victim = victim;
    w.more = wanted - 1;
    ++m_result.steals;
    ++m_result.stolen;
    touched(victim);
    if (m_how.wake_before_haul) {
        found_work(thief);
    }
    haul(thief);
    return true;
}

/// Task by task, and others may take some of them meanwhile. A few tasks are one event: they share a line.
void simulation::haul(unsigned thief) {
    worker& w = m_workers[thief];
    worker& v = m_workers[w.victim];
    constexpr unsigned in_a_line = 8;
    for (unsigned k = 0; w.more > 0 && k < in_a_line; ++k) {
        if (v.deque.load().shared == 0) {
            w.more = 0;
            break;
        }
        --w.more;
        ++m_result.stolen;
        m_spent += m_price.steal_more;
        v.line_free = std::max(v.line_free, m_now + m_spent);
        w.deque.push(v.deque.take_oldest());
        after_push(thief);
    }
    touched(w.victim);
    touched(thief);
    if (w.more > 0) {
        resume_at(thief, phase::hauling);
        return;
    }
    w.robbed = true;
    w.fruitful = false;
    found_work(thief);
    enter(thief, w.in_hand);
    touched(thief);
    resume_at(thief, phase::running);
}

// ---- exposing and waking: scheduler::answer(), found_work(), sleepers ------------------------------

void simulation::expose(unsigned i, std::uint64_t n) {
    if (n > 0) {
        m_workers[i].deque.expose(n);
        ++m_result.exposures;
    }
}

/// Somebody asks, or somebody sleeps.
void simulation::answer(unsigned i) {
    worker& w = m_workers[i];
    if (w.asked_by == worker_set::nobody && m_sleepers.empty()) {
        return;
    }
    // expose_some(): for who asked, with what it remembers; for a sleeper, with what it knew when it lay
    // down.
    unsigned thief = w.asked_by;
    if (thief == worker_set::nobody) {
        thief = m_sleepers.next((i + 1) % m_how.workers);
    }
    w.asked_by = worker_set::nobody;
    m_spent += m_price.remote_line; // the wish, which somebody else has written
    const auto load = w.deque.load();
    if (m_how.policy.steal.what == pilfer::steal_amount::rule::one &&
        m_how.policy.exposure == pilfer::exposure::on_demand) {
        expose(i, load.shared > 0 ? 0 : std::min(load.own, std::clamp<std::uint64_t>(load.own / 8, 1, 64)));
    } else {
        expose(i, balance::exposer::for_thief(m_workers[thief].haul, m_how.policy.steal, load));
    }
    if (m_sleepers.empty() || w.deque.empty()) {
        return;
    }
    // sleepers::publish(): one at a time.
    if (w.last_woken != worker_set::nobody && m_workers[w.last_woken].token) {
        return;
    }
    const unsigned woken = m_sleepers.next((i + 1) % m_how.workers);
    if (wake_one(i, i, i)) {
        w.last_woken = woken;
    }
}

/// Wakes the first sleeper behind `from`. The waker pays for the call; the latency begins with it.
bool simulation::wake_one(unsigned waker, unsigned from, unsigned hint) {
    const unsigned woken = m_sleepers.next((from + 1) % m_how.workers);
    if (woken == worker_set::nobody) {
        return false;
    }
    m_sleepers.put(woken, false);
    worker& w = m_workers[woken];
    w.token = true;
    w.hint = hint;
    w.round = 0;
    w.now = phase::looking;
    m_events.set(woken, m_now + m_spent + m_price.wake_latency);
    m_spent += m_price.wake_call;
    ++m_result.wakes;
    if (!w.ever_woken) {
        w.ever_woken = true;
        w.depth = m_workers[waker].depth + 1;
        m_result.wake_depth = std::max(m_result.wake_depth, w.depth);
    }
    return true;
}

/// The token's holder wakes up to two others before it runs what it found, and names its own victim.
void simulation::found_work(unsigned i) {
    worker& w = m_workers[i];
    if (!w.token) {
        return;
    }
    w.token = false;
    for (unsigned woken = 0; woken < 2; ++woken) {
        const unsigned ready = m_ready.next(i);
        if (ready == worker_set::nobody) {
            return;
        }
        const bool at_victim = m_how.look_at_victim && ready != i && m_ready.has(w.victim);
        m_spent += m_price.remote_line * (at_victim ? 1 : m_ready.steps(i, ready)); // from deque to deque
        if (!wake_one(i, i, m_how.name_itself ? i : w.hint)) {
            return;
        }
    }
}

// ---- the rest ---------------------------------------------------------------------------------

/// As if the worker that it reaches had announced it at this moment.
void simulation::arrive() {
    const unsigned i = m_next_arrival.worker;
    m_workers[i].deque.push({m_next_arrival.when, no_frame});
    ++m_open;
    ++m_result.announced;
    touched(i);
    expose(i, m_workers[i].exposer.after_push(m_workers[i].deque.load(), !m_sleepers.empty()));
    if (m_sleepers.has(i)) {
        (void)wake_one(i, (i + m_how.workers - 1) % m_how.workers, i);
    } else {
        answer(i);
    }
    m_next_arrival = m_program.arrives(++m_arrivals, m_how.workers);
    m_events.set(m_how.workers, m_next_arrival.when);
}

void simulation::busy(unsigned i, bool now) {
    worker& w = m_workers[i];
    if (w.busy == now) {
        return;
    }
    w.busy = now;
    m_busy += now ? 1U : ~0U;
    if (now && !w.begun) {
        w.begun = true;
        if (++m_begun == m_how.workers) {
            m_result.all_reached = m_now;
        }
    }
    if (m_busy == m_how.workers && m_result.all_busy == never) {
        m_result.all_busy = m_now;
    }
    if (m_watcher != nullptr) {
        m_watcher->busy(m_now, i, now);
        show(i);
    }
}

void simulation::show(unsigned i) {
    const worker& w = m_workers[i];
    m_watcher->holds(m_now, i, w.deque.size() + (w.current != no_frame ? 1 : 0));
}

} // namespace

result simulate(const setup& how, const workload& program, observer* watcher) {
    if (how.workers < 1 || how.workers > 4'096) {
        throw std::invalid_argument("the simulator has 1 to 4096 workers, not " +
                                    std::to_string(how.workers));
    }
    if (how.policy.steal.what == pilfer::steal_amount::rule::automatic ||
        how.policy.victim == pilfer::victim::automatic ||
        how.policy.exposure == pilfer::exposure::automatic) {
        throw std::invalid_argument("a simulation needs an amount, a victim and an exposure");
    }
    return simulation(how, program, watcher).run();
}

} // namespace study
