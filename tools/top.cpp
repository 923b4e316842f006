// pilfer top: what the pools of a running process do, read from its memory.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "look.hpp"

namespace tools {
namespace {

namespace inside = pilfer::detail;
using inside::worker_activity;

struct top_settings {
    int process = 0;
    double interval = 1;
    bool once = false;
    bool json = false;
    bool prometheus = false;
    bool stacks = false;
};

using stack_source = std::function<std::vector<stack_frame>(inside::waiting_context const&)>;

constexpr std::size_t most_stacks = 64; ///< on a screen

struct page_size {
    std::size_t lines = 40;
    std::size_t columns = 10'000; // a file or a pipe has no edge
    bool cut = true;              // what exceeds the lines
};

[[nodiscard]] page_size size_of_terminal() {
    winsize w{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row >= 10 && w.ws_col >= 40) {
        return {w.ws_row, w.ws_col};
    }
    return {};
}

/// "12.0 s": at least so long, since the first look is the beginning of all that it sees.
[[nodiscard]] std::string seconds(double s) {
    return s < 1'000 ? fmt::format("{:.1f} s", s) : fmt::format("{:.0f} s", s);
}

/// Starts of tasks. Resumptions are counted beside them.
[[nodiscard]] std::uint64_t begun(pilfer::counters const& c) {
    return c.run_own + c.run_submitted + c.run_stolen;
}

/// A queue counts its tasks only if it has a bound.
[[nodiscard]] std::string submissions_of(inside::pool_figures const& p) {
    if (p.submissions_most != 0) {
        return fmt::format("{} of at most {}", p.submissions_queued, p.submissions_most);
    }
    return p.submissions ? "some (not counted)" : "none";
}

/// The lines of one look. Trouble is named first, and whatever does not fit is cut at the end.
class screen {
public:
    screen(look const& l, process_memory const& of, page_size size, stack_source const& stacks)
        : m_look(l), m_size(size) {
        add(fmt::format("pilfer top: process {} ({}), {} pool{}; times are lower bounds", of.process(),
                        of.name(), l.pools.size(), l.pools.size() == 1 ? "" : "s"));
        troubles();
        for (pool_look const& p : l.pools) {
            pool(p);
        }
        oldest_ready();
        kinds();
        mutexes();
        longest_waits(stacks);
    }
    [[nodiscard]] std::string text() const {
        std::string all;
        for (std::size_t i = 0; i < m_lines.size() && (i < m_size.lines || !m_size.cut); ++i) {
            std::string line = m_lines[i];
            std::size_t columns = 0; // a character of UTF-8 has one byte that does not continue it
            std::size_t at = 0;
            for (; at < line.size() && columns <= m_size.columns; ++at) {
                columns += (static_cast<unsigned char>(line[at]) & 0xc0) != 0x80 ? 1 : 0;
            }
            line.resize(columns > m_size.columns ? at - 1 : at);
            all += line + "\n";
        }
        return all;
    }

private:
    void add(std::string line) { m_lines.push_back(std::move(line)); }
    [[nodiscard]] std::string pool_name(std::uint64_t number) const {
        return m_look.pools.size() > 1 ? fmt::format(" of pool {}", number) : "";
    }

    void troubles() {
        if (m_look.stopped) {
            add("STOPPED: a signal or a debugger has stopped the process; SIGCONT ends the stop by a signal");
        }
        for (pool_look const& p : m_look.pools) {
            if (!p.stall.empty()) {
                add(fmt::format("STALL in pool {}: {}", p.now.number, p.stall));
            }
            if (!p.busy.empty()) {
                add(fmt::format("BUSY in pool {}: {}", p.now.number, p.busy));
            }
        }
        std::size_t shown = 0;
        for (auto const& cycle : m_look.cycles) {
            if (++shown > 3) {
                break;
            }
            add(cycle.size() == 1 ? "a wait for itself:" : "a cycle of waits:");
            for (std::size_t i = 0; i < cycle.size() && i < 4; ++i) {
                auto const& c = m_look.all.waiting[cycle[i]];
                add(fmt::format("  {} waits for {}", name_of(m_look, c), wait_of(m_look, c)));
            }
        }
    }
    void pool(pool_look const& p) {
        pilfer::counters const c = p.now.sum();
        auto const rate = [&](std::uint64_t now, std::uint64_t before) {
            return m_look.passed > 0 && now >= before ? static_cast<double>(now - before) / m_look.passed
                                                      : 0.0;
        };
        add(fmt::format("pool {}{}: {} workers: {} running, {} searching, {} asleep; {} contexts wait of {}",
                        p.now.number, p.now.name.empty() ? "" : " \"" + p.now.name + "\"", p.now.active,
                        p.now.workers_that(worker_activity::running),
                        p.now.workers_that(worker_activity::searching),
                        p.now.workers_that(worker_activity::asleep), waiting_in(p), p.now.contexts_live));
        add(fmt::format("  tasks begun {} ({:.0f}/s), resumed {} ({:.0f}/s); thefts {} ({:.0f}/s); "
                        "in deques {}; submissions {}",
                        begun(c), rate(begun(c), begun(p.before)), c.run_resumed,
                        rate(c.run_resumed, p.before.run_resumed), c.run_stolen,
                        rate(c.run_stolen, p.before.run_stolen), p.now.ready(), submissions_of(p.now)));
        // A machine may have more workers than a screen has lines. The longest running ones come first.
        std::vector<running_task const*> running;
        for (running_task const& r : m_look.running) {
            if (r.pool == p.now.number) {
                running.push_back(&r);
            }
        }
        std::sort(running.begin(), running.end(),
                  [](auto const* a, auto const* b) { return a->runs.seconds > b->runs.seconds; });
        std::size_t const most = std::max<std::size_t>(3, m_size.lines / 5);
        std::size_t shown = 0;
        for (running_task const* r : running) {
            if (++shown <= most) {
                add(fmt::format("  {}: running {}{} for {}", worker(p, r->worker),
                                r->context == UINT32_MAX ? "a task" : fmt::format("context {}", r->context),
                                r->name.empty() ? "" : " \"" + r->name + "\"", seconds(r->runs.seconds)));
            }
        }
        for (unsigned i = 0; i < p.now.workers.size(); ++i) {
            auto const& w = p.now.workers[i];
            if (w.now == worker_activity::running || w.now == worker_activity::absent) {
                continue;
            }
            if (++shown <= most) {
                add(fmt::format("  {}: {}", worker(p, i), inside::name(w.now)));
            }
        }
        if (shown > most) {
            add(fmt::format("  and {} more workers", shown - most));
        }
    }
    [[nodiscard]] static std::string worker(pool_look const& p, unsigned i) {
        auto const& w = p.now.workers[i];
        return fmt::format("worker {} (thread {}, begun {}, stolen {}, deque {}+{})", i, w.thread,
                           begun(w.count), w.count.run_stolen, w.shared, w.own);
    }
    [[nodiscard]] std::size_t waiting_in(pool_look const& p) const {
        return static_cast<std::size_t>(
            std::count_if(m_look.all.waiting.begin(), m_look.all.waiting.end(),
                          [&p](auto const& c) { return c.pool == p.now.number; }));
    }
    void oldest_ready() {
        if (m_look.ready.empty()) {
            add("oldest ready task: none");
            return;
        }
        ready_task const& r = m_look.ready.front();
        add(fmt::format("oldest ready task: {}{}, {}",
                        r.worker < 0 ? "a submission" : fmt::format("in the deque of worker {}", r.worker),
                        pool_name(r.pool), seconds(r.waits.seconds)));
    }
    void kinds() {
        std::map<inside::wait_kind const*, std::size_t> of_kinds;
        for (auto const& c : m_look.all.waiting) {
            ++of_kinds[c.why];
        }
        std::map<std::string, std::size_t> counts; // two kinds may have one text
        for (auto const& [kind, n] : of_kinds) {
            counts[kind == nullptr ? "its turn" : kind->what] += n;
        }
        std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
        std::sort(sorted.begin(), sorted.end(),
                  [](auto const& a, auto const& b) { return a.second > b.second; });
        std::string line;
        for (auto const& [what, n] : sorted) {
            line += fmt::format("{}{} for {}", line.empty() ? "" : ", ", n, what);
        }
        add("waits: " + (line.empty() ? "none" : line));
    }
    void mutexes() {
        for (std::size_t i = 0; i < m_look.mutexes.size() && i < 5; ++i) {
            held_mutex const& m = m_look.mutexes[i];
            std::string holder = m.held_by;
            if (m.context >= 0) {
                auto const& c = m_look.all.waiting[static_cast<std::size_t>(m.context)];
                holder = fmt::format("{}, which waits for {}", name_of(m_look, c), wait_of(m_look, c));
            }
            add(fmt::format("{}mutex {:#x}{}: {} waiting, the longest for {}; held for {} by {}",
                            m.is_shared_mutex ? "shared " : "", m.mutex,
                            m.name.empty() ? "" : " \"" + m.name + "\"", m.waiters, seconds(m.longest_wait),
                            seconds(m.held.seconds), holder));
        }
    }
    void stack(std::vector<stack_frame> const& frames) {
        if (frames.empty()) {
            add("    its stack has changed, or cannot be read");
        }
        for (std::size_t i = 0; i < frames.size(); ++i) {
            stack_frame const& f = frames[i];
            add(fmt::format("    #{:<3}{} in {}{}", i,
                            f.at != 0 ? fmt::format("{:#014x}", f.at) : "       inlined", f.function,
                            f.line.empty() ? "" : " at " + f.line));
        }
    }
    void longest_waits(stack_source const& stacks) {
        std::vector<std::size_t> order(m_look.all.waiting.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            order[i] = i;
        }
        std::size_t const room = m_size.lines > m_lines.size() + 2 ? m_size.lines - m_lines.size() - 2 : 1;
        std::size_t const most = m_size.cut ? room : most_stacks;
        std::size_t const shown = std::min(most, order.size());
        std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                          [this](std::size_t a, std::size_t b) {
                              return std::tuple(-m_look.waits[a], m_look.all.waiting[a].pool,
                                                m_look.all.waiting[a].number) <
                                     std::tuple(-m_look.waits[b], m_look.all.waiting[b].pool,
                                                m_look.all.waiting[b].number);
                          });
        for (std::size_t k = 0; k < shown; ++k) {
            auto const& c = m_look.all.waiting[order[k]];
            add(fmt::format("{}, suspended on worker {}, waits {} for {}", name_of(m_look, c), c.worker,
                            seconds(m_look.waits[order[k]]), wait_of(m_look, c)));
            if (stacks) {
                stack(stacks(c));
            }
        }
        if (shown < order.size()) {
            add(fmt::format("and {} more waiting contexts", order.size() - shown));
        }
    }

    look const& m_look;
    page_size m_size;
    std::vector<std::string> m_lines;
};

[[nodiscard]] std::string hexadecimal(void const* p) { return fmt::format("{}", p); }

[[nodiscard]] nlohmann::json counts_of(pilfer::counters const& c) {
    return {{"own", c.run_own},
            {"submitted", c.run_submitted},
            {"stolen", c.run_stolen},
            {"resumed", c.run_resumed},
            {"tasks_stolen", c.tasks_stolen},
            {"steals_tried", c.steals_tried},
            {"steals_failed", c.steals_failed},
            {"suspends", c.suspends},
            {"resumes", c.resumes},
            {"sleeps", c.sleeps},
            {"wakes", c.wakes}};
}

/// Null: the wait has ended meanwhile, or the stack cannot be read.
[[nodiscard]] nlohmann::json as_json(std::vector<stack_frame> const& frames) {
    nlohmann::json j;
    for (stack_frame const& f : frames) {
        j.push_back({{"address", f.at != 0 ? nlohmann::json(fmt::format("{:#x}", f.at)) : nlohmann::json()},
                     {"function", f.function},
                     {"line", f.line.empty() ? nlohmann::json() : nlohmann::json(f.line)}});
    }
    return j;
}

[[nodiscard]] nlohmann::json as_json(look const& l, process_memory const& of, stack_source const& stacks) {
    nlohmann::json j = {{"process", of.process()},
                        {"name", of.name()},
                        {"stopped", l.stopped},
                        {"seconds_since_last", l.passed},
                        {"pools", nlohmann::json::array()},
                        {"running", nlohmann::json::array()},
                        {"ready", nlohmann::json::array()},
                        {"mutexes", nlohmann::json::array()},
                        {"waiting", nlohmann::json::array()},
                        {"cycles", nlohmann::json::array()}};
    for (pool_look const& p : l.pools) {
        nlohmann::json workers = nlohmann::json::array();
        for (std::size_t i = 0; i < p.now.workers.size(); ++i) {
            auto const& w = p.now.workers[i];
            workers.push_back({{"worker", i},
                               {"thread", w.thread},
                               {"state", inside::name(w.now)},
                               {"deque_shared", w.shared},
                               {"deque_private", w.own},
                               {"coroutines", w.coroutines},
                               {"counters", counts_of(w.count)}});
        }
        j["pools"].push_back(
            {{"pool", p.now.number},
             {"name", p.now.name},
             {"active", p.now.active},
             {"running", p.now.workers_that(worker_activity::running)},
             {"searching", p.now.workers_that(worker_activity::searching)},
             {"asleep", p.now.workers_that(worker_activity::asleep)},
             {"ready", p.now.ready()},
             {"submissions", p.now.submissions},
             {"submissions_queued",
              p.now.submissions_most == 0 ? nlohmann::json() : nlohmann::json(p.now.submissions_queued)},
             {"contexts", p.now.contexts_live},
             {"still_seconds", p.still.seconds},
             {"stall", p.stall.empty() ? nlohmann::json() : nlohmann::json(p.stall)},
             {"busy", p.busy.empty() ? nlohmann::json() : nlohmann::json(p.busy)},
             {"counters", counts_of(p.now.sum())},
             {"workers", std::move(workers)}});
    }
    for (running_task const& r : l.running) {
        j["running"].push_back({{"pool", r.pool},
                                {"worker", r.worker},
                                {"context", r.context},
                                {"name", r.name},
                                {"seconds", r.runs.seconds}});
    }
    for (ready_task const& r : l.ready) {
        j["ready"].push_back({{"pool", r.pool},
                              {"worker", r.worker < 0 ? nlohmann::json() : nlohmann::json(r.worker)},
                              {"seconds", r.waits.seconds}});
    }
    for (held_mutex const& m : l.mutexes) {
        j["mutexes"].push_back({{"mutex", fmt::format("{:#x}", m.mutex)},
                                {"name", m.name},
                                {"shared_mutex", m.is_shared_mutex},
                                {"holder", m.held_by},
                                {"seconds", m.held.seconds},
                                {"waiters", m.waiters},
                                {"longest_wait", m.longest_wait}});
    }
    for (std::size_t i = 0; i < l.all.waiting.size(); ++i) {
        auto const& c = l.all.waiting[i];
        j["waiting"].push_back({{"pool", c.pool},
                                {"context", c.number},
                                {"name", c.name},
                                {"worker", c.worker},
                                {"what", c.why == nullptr ? "its turn" : c.why->what},
                                {"object", hexadecimal(c.object)},
                                {"object_name", c.object_name},
                                {"timed", c.timed},
                                {"seconds", l.waits[i]},
                                {"text", wait_of(l, c)}});
        if (stacks) {
            j["waiting"].back()["stack"] = as_json(stacks(c));
        }
    }
    for (auto const& cycle : l.cycles) {
        nlohmann::json members = nlohmann::json::array();
        for (std::size_t const i : cycle) {
            members.push_back({{"pool", l.all.waiting[i].pool}, {"context", l.all.waiting[i].number}});
        }
        j["cycles"].push_back(std::move(members));
    }
    return j;
}

[[nodiscard]] std::string prometheus(look const& l) {
    std::vector<inside::pool_figures> pools;
    for (pool_look const& p : l.pools) {
        pools.push_back(p.now);
    }
    return inside::prometheus_text(pools);
}

int run_top(top_settings const& s) {
    using clock = std::chrono::steady_clock;
    process_memory const memory(s.process);
    observer looks(memory);
    auto const start = clock::now();
    auto const now = [start] { return std::chrono::duration<double>(clock::now() - start).count(); };
    look l = looks.next(now());
    if (s.prometheus) {
        fmt::print("{}", prometheus(l));
        return exit_good;
    }
    // Rates, and what stands still, need a second look.
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.2, s.interval)));
    bool const terminal = ::isatty(STDOUT_FILENO) != 0;
    std::unique_ptr<stack_reader> reader;
    stack_source stacks;
    if (s.stacks && !stack_reader::is_available()) {
        fmt::print(stderr,
                   "pilfer top: no stacks, because this command was built without libdw of elfutils\n");
    } else if (s.stacks) {
        reader = std::make_unique<stack_reader>(memory);
        stacks = [&](inside::waiting_context const& c) { return looks.stack_of(c, *reader); };
    }
    for (;;) {
        l = looks.next(now());
        if (reader != nullptr) {
            reader->update();
        }
        if (s.json) {
            fmt::print(
                "{}\n",
                as_json(l, memory, stacks).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
        } else if (terminal && !s.once) {
            page_size size = size_of_terminal();
            --size.lines; // where the cursor is
            fmt::print("\x1b[H\x1b[2J{}", screen(l, memory, size, stacks).text());
        } else {
            page_size size = terminal ? size_of_terminal() : page_size{};
            size.cut = !stacks;
            fmt::print("{}{}", screen(l, memory, size, stacks).text(), s.once ? "" : "\n");
        }
        if (std::fflush(stdout) != 0) {
            throw std::system_error(errno, std::generic_category(), "standard output");
        }
        if (s.once) {
            return exit_good;
        }
        std::this_thread::sleep_for(std::chrono::duration<double>(s.interval));
    }
}

} // namespace

void add_top(CLI::App& app, int& code) {
    auto const s = std::make_shared<top_settings>();
    CLI::App* const c = app.add_subcommand(
        "top",
        "Shows what the pools of a running process do: workers, queues, waits, locks, and a stall first.");
    c->add_option("process", s->process, "the number of the process")
        ->required()
        ->check(CLI::Range(1, 1 << 30));
    c->add_option("--interval", s->interval, "seconds between two looks (default: 1)")
        ->check(real_range(0.05, 3'600.0));
    CLI::Option* const once = c->add_flag("--once", s->once, "prints one screen and ends");
    c->add_flag("--stacks", s->stacks, "shows the stacks of waiting contexts too, the longest waits first");
    CLI::Option* const json = c->add_flag("--json", s->json, "prints a line of JSON for each look");
    c->add_flag("--prometheus", s->prometheus, "prints the counters once, in the text format of Prometheus")
        ->excludes(once)
        ->excludes(json);
    c->callback([s, &code] {
        try {
            code = run_top(*s);
        } catch (process_has_ended const& e) {
            fmt::print(stderr, "pilfer top: {}\n", e.what());
            code = s->once ? exit_failed : exit_good;
        } catch (cannot_look const& e) {
            fmt::print(stderr, "pilfer top: {}\n", e.what());
            code = exit_failed;
        }
    });
}

} // namespace tools
