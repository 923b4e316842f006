// The state of a simulation and its events; for the files of the simulator alone. Each action of a worker is
// one function. A comment beside it names the text of the runtime that it models.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "balance/amount.hpp"
#include "balance/exposure.hpp"
#include "balance/victim.hpp"

#include "event_queue.hpp"
#include "simulator.hpp"
#include "task_queue.hpp"
#include "worker_set.hpp"

namespace study::simulated {

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

inline constexpr std::uint64_t nothing = UINT64_MAX;

/// A task that has begun.
struct frame {
    std::uint64_t task;
    std::uint64_t place;
    std::uint64_t awaits;      // One task; `nothing`: all children.
    std::uint32_t parent;      // The frame that counts it, or whose stack it runs on.
    std::uint32_t pending;     // Children that have not ended and do not run on top of this frame.
    std::uint32_t next_waiter; // The next frame that awaits this frame's task.
    bool counted;              // Its parent counts it.
    bool on_parent;            // It runs on its parent's stack: its end is the parent's next step.
    bool syncing;
    bool suspended;
};

/// A mutex. A newcomer may take it ahead of the first waiter, which then waits again, as in
/// detail::mutex_protocol; but here there is no end to that.
struct lock {
    bool held = false;
    bool called = false;               // the first waiter is on its way
    unsigned last = 0;                 // the worker that locked it last
    std::deque<std::uint32_t> waiting; // frames
};

enum class phase : std::uint8_t {
    running,   // a frame
    looking,   // at the own deque, then for others
    searching, // spinning
    scanning,  // The last look at all workers.
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
    balance::steal_batch steal_batch;
    entry in_hand{};
    std::uint64_t more = 0; // tasks to come with it
    unsigned victim = 0;
    moment line_free = 0; // until then a thief holds the line of the oldest task
    std::uint32_t current = no_frame;
    unsigned asked_by = worker_set::nobody; // the thief with an unanswered request
    unsigned last_woken = worker_set::nobody;
    unsigned hint = worker_set::nobody;
    unsigned round = 0; // of the search; of the last look: how many it has looked at
    unsigned depth = 0; // in the tree of first wake-ups
    phase now = phase::asleep;
    bool token = false;    // woken, and nothing found since
    bool robbed = false;   // its present task was stolen
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
        m_locks.resize(program.locks());
    }
    result run();

private:
    // SMT siblings or a shared cache, a socket's cache, a socket, all workers: the shape of a common server.
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
    bool takes(unsigned i, lock& l, std::uint64_t place);
    void gives(unsigned i, lock& l);
    void suspend(unsigned i);
    void enter(unsigned i, const entry& e, std::uint32_t below = no_frame);
    void look(unsigned i);
    void search(unsigned i);
    void scan(unsigned i);
    void lie_down(unsigned i);
    bool attempt(unsigned thief, unsigned victim, bool reach);
    void steal_batch(unsigned thief);
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
    /// Worker `i` acts again after the time that it has spent since the event began.
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
    std::vector<lock> m_locks;
    worker_set m_ready; // workers with a non-empty deque
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

} // namespace study::simulated
