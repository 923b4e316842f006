#include "observe/metrics.hpp"

#include <utility>

#include <pilfer/metrics.hpp>

#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

const char* name(worker_activity a) noexcept {
    static constexpr const char* names[worker_activities] = {"absent", "running", "searching", "asleep",
                                                             "retired"};
    return names[static_cast<unsigned>(a)];
}

counters pool_figures::sum() const noexcept {
    counters c;
    for (const worker_figures& w : workers) {
        c.run_own += w.count.run_own;
        c.run_submitted += w.count.run_submitted;
        c.run_stolen += w.count.run_stolen;
        c.tasks_stolen += w.count.tasks_stolen;
        c.run_resumed += w.count.run_resumed;
        c.steals_tried += w.count.steals_tried;
        c.steals_failed += w.count.steals_failed;
        c.steals_lost += w.count.steals_lost;
        c.reaches += w.count.reaches;
        c.exposures += w.count.exposures;
        c.exposed_tasks += w.count.exposed_tasks;
        c.scopes_shared += w.count.scopes_shared;
        c.suspends += w.count.suspends;
        c.resumes += w.count.resumes;
        c.sleeps += w.count.sleeps;
        c.wakes += w.count.wakes;
        c.dropped += w.count.dropped;
        c.exceptions_suppressed += w.count.exceptions_suppressed;
        c.no_context += w.count.no_context;
    }
    c.scopes_shared += shared_outside;
    c.dropped += dropped_outside;
    c.contexts_live = contexts_live;
    c.contexts_peak = contexts_peak;
    return c;
}

std::uint64_t pool_figures::progress() const noexcept {
    const counters c = sum();
    return c.run_own + c.run_submitted + c.run_stolen + c.run_resumed;
}

/// Contexts are resumed on other workers, and the counts of one worker are older than those of the next. So
/// the difference may be below zero for a moment.
std::uint64_t pool_figures::suspended() const noexcept {
    const counters c = sum();
    return c.suspends > c.resumes ? c.suspends - c.resumes : 0;
}

std::uint64_t pool_figures::ready() const noexcept {
    std::uint64_t n = 0;
    for (const worker_figures& w : workers) {
        n += w.shared + w.own;
    }
    return n;
}

unsigned pool_figures::workers_that(worker_activity a) const noexcept {
    unsigned n = 0;
    for (const worker_figures& w : workers) {
        n += w.now == a ? 1 : 0;
    }
    return n;
}

pool_figures figures_of_pool(const pool_core& p) noexcept {
    pool_figures f;
    f.active = p.active();
    f.one_lock = p.settings().backend == pilfer::v0::backend::one_lock;
    f.submissions = !p.submissions.empty();
    if (const auto& places = p.gate.places(); places.bounded()) {
        f.submissions_queued = places.taken();
        f.submissions_most = places.capacity();
    }
    f.runnable = !p.runnable.empty();
    f.exhausted = p.stacks.exhausted();
    f.dropped_outside = p.outside.dropped.load(rlx);
    f.shared_outside = p.outside.scopes_shared.load(rlx);
    f.contexts_live = p.stacks.live();
    f.contexts_peak = p.stacks.peak();
    return f;
}

worker_figures figures_of_worker(const pool_core& p, const scheduler& w, bool asleep) noexcept {
    worker_figures f;
    f.thread = w.thread_id.load(rlx);
    w.count.add_to(f.count);
    const auto deque = const_cast<scheduler&>(w).deque.thief().look();
    f.shared = static_cast<std::uint64_t>(deque.shared);
    f.own = static_cast<std::uint64_t>(deque.own);
    f.oldest = deque.oldest;
    f.coroutines = w.waiting_coroutines.may_stall();
    f.now = f.thread == 0 || !w.is_there()   ? worker_activity::absent
            : w.current.load(rlx) != nullptr ? worker_activity::running
            : p.is_retired(w.index)          ? worker_activity::retired
            : asleep                         ? worker_activity::asleep
                                             : worker_activity::searching;
    return f;
}

namespace {

/// A label's value: Prometheus escapes three characters.
[[nodiscard]] std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\' || c == '"') {
            out += '\\';
        }
        if (c == '\n') {
            out += "\\n";
        } else {
            out += c;
        }
    }
    return out;
}

class families {
public:
    explicit families(const std::vector<pool_figures>& pools) : m_pools(pools) {}

    /// value(pool) is called for each pool.
    template <class Value>
    void one(const char* family, const char* type, const char* help, Value value) {
        begin(family, type, help);
        for (const pool_figures& p : m_pools) {
            sample(family, p, {}, value(p));
        }
    }
    void begin(const char* family, const char* type, const char* help) {
        text += std::string("# HELP pilfer_") + family + " " + help + "\n# TYPE pilfer_" + family + " " +
                type + "\n";
    }
    void sample(const char* family, const pool_figures& p, const std::string& more, std::uint64_t value) {
        text += std::string("pilfer_") + family + "{pool=\"" + std::to_string(p.number) + "\",name=\"" +
                escaped(p.name) + "\"" + more + "} " + std::to_string(value) + "\n";
    }
    std::string text;

private:
    const std::vector<pool_figures>& m_pools;
};

struct counter_family {
    const char* family;
    const char* help;
    std::uint64_t counters::*value;
};
constexpr counter_family simple[] = {
    {"tasks_stolen_total", "Tasks that thefts moved.", &counters::tasks_stolen},
    {"steals_tried_total", "Attempts to steal.", &counters::steals_tried},
    {"steals_failed_total", "Attempts to steal that found nothing.", &counters::steals_failed},
    {"steals_lost_total", "Attempts to steal that another thief won.", &counters::steals_lost},
    {"exposures_total", "Times an owner made tasks stealable.", &counters::exposures},
    {"exposed_tasks_total", "Tasks that owners made stealable.", &counters::exposed_tasks},
    {"suspends_total", "Suspensions of a task.", &counters::suspends},
    {"resumes_total", "Resumptions of a task.", &counters::resumes},
    {"sleeps_total", "Times a worker slept in the kernel.", &counters::sleeps},
    {"wakes_total", "Workers that another worker woke.", &counters::wakes},
    {"tasks_dropped_total", "Tasks that never started.", &counters::dropped},
    {"exceptions_suppressed_total", "Exceptions of joins after the first one.",
     &counters::exceptions_suppressed},
    {"no_context_total", "Tasks for which there was no stack.", &counters::no_context},
};

} // namespace

std::string prometheus_text(const std::vector<pool_figures>& pools) {
    families f(pools);
    f.begin("workers", "gauge", "Workers by what they do.");
    for (const pool_figures& p : pools) {
        for (unsigned a = 1; a < worker_activities; ++a) {
            const auto what = static_cast<worker_activity>(a);
            f.sample("workers", p, std::string(",state=\"") + name(what) + "\"", p.workers_that(what));
        }
    }
    f.begin("tasks_begun_total", "counter",
            "Tasks that a scheduler started or resumed, by where it found them.");
    for (const pool_figures& p : pools) {
        const counters c = p.sum();
        f.sample("tasks_begun_total", p, ",source=\"own\"", c.run_own);
        f.sample("tasks_begun_total", p, ",source=\"submitted\"", c.run_submitted);
        f.sample("tasks_begun_total", p, ",source=\"stolen\"", c.run_stolen);
        f.sample("tasks_begun_total", p, ",source=\"resumed\"", c.run_resumed);
    }
    for (const counter_family& c : simple) {
        f.one(c.family, "counter", c.help, [&c](const pool_figures& p) { return p.sum().*c.value; });
    }
    f.one("ready_tasks", "gauge", "Tasks in the deques of the workers.",
          [](const pool_figures& p) { return p.ready(); });
    f.one("submissions_waiting", "gauge", "1 if a submitted task has not been taken, else 0.",
          [](const pool_figures& p) { return p.submissions ? 1U : 0U; });
    f.one("suspended_contexts", "gauge", "Tasks that wait on a stack of their own.",
          [](const pool_figures& p) { return p.suspended(); });
    f.one("waiting_coroutines", "gauge", "Coroutines that wait for something of the library.",
          [](const pool_figures& p) {
              std::uint64_t n = 0;
              for (const worker_figures& w : p.workers) {
                  n += w.coroutines;
              }
              return n;
          });
    f.one("contexts", "gauge", "Stacks in use or kept for use.",
          [](const pool_figures& p) { return p.contexts_live; });
    f.one("contexts_peak", "gauge", "The most stacks at once.",
          [](const pool_figures& p) { return p.contexts_peak; });
    return std::move(f.text);
}

} // namespace detail

std::string prometheus_text() {
    using namespace detail;
    std::vector<pool_figures> found;
    {
        const registry::all_pools pools;
        for (pool_entry* e = pools.first(); e != nullptr; e = e->next) {
            const pool_core& p = *e->pool;
            pool_figures f = figures_of_pool(p);
            f.number = e->number;
            f.name = p.settings().name;
            for (unsigned i = 0; i < p.size(); ++i) {
                f.workers.push_back(figures_of_worker(p, p.at(i), p.idle().is_asleep(i)));
            }
            found.push_back(std::move(f));
        }
    }
    return detail::prometheus_text({found.rbegin(), found.rend()}); // the oldest first
}

} // namespace v0
} // namespace pilfer
