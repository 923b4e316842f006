#include "observe/report.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <new>
#include <string_view>
#include <utility>

#include "base/write.hpp"
#include "observe/snapshot.hpp"
#include "observe/stall.hpp"
#include "platform/symbols.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr std::size_t most_waiters = 1'000; // listed in one text

[[nodiscard]] std::string hexadecimal(const void* p) {
    char digits[2 * sizeof p];
    const auto end =
        std::to_chars(digits, digits + sizeof digits, reinterpret_cast<std::uintptr_t>(p), 16).ptr;
    return "0x" + std::string(digits, end);
}

/// The name and the address of an awaited object: ' ("accounts", 0x...)'.
[[nodiscard]] std::string identity(const std::string& name, const void* object) {
    return (name.empty() ? " (" : " (\"" + name + "\", ") + hexadecimal(object) + ")";
}

[[nodiscard]] std::string counted(std::uint64_t n, const char* noun) {
    return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

/// Writes the contents of a snapshot, from the point of view of one pool.
class writer {
public:
    writer(const snapshot& s, const pool_core& p) : m_snapshot(s), m_pool(p) {}

    void cycles_of_waits();
    void waiters(const std::vector<std::size_t>& pools);
    void coroutines();
    std::string text;

private:
    [[nodiscard]] std::string of_other_pool(const pool_core* owner, std::uint64_t number) const;
    [[nodiscard]] std::string name(const waiting_context& k) const;
    [[nodiscard]] std::string wait(const waiting_context& k) const;
    [[nodiscard]] std::string name(const waiting_coroutine& c);
    [[nodiscard]] static std::string wait(const waiting_coroutine& c);
    [[nodiscard]] std::string member(std::size_t i);
    void frames(const waiting_context& k);

    const snapshot& m_snapshot;
    const pool_core& m_pool;
    os::symbols m_symbols;
};

std::string writer::of_other_pool(const pool_core* owner, std::uint64_t number) const {
    return owner != &m_pool ? " of pool " + std::to_string(number) : std::string();
}

std::string writer::name(const waiting_context& k) const {
    std::string context = "context " + std::to_string(k.number) + of_other_pool(k.owner, k.pool);
    if (!k.name.empty()) {
        context += " \"" + k.name + "\"";
    }
    return context;
}

/// The wait of a context as a text: "a future (0x...), which is queued".
std::string writer::wait(const waiting_context& k) const {
    if (k.why == nullptr) {
        return "its turn";
    }
    if (k.facts.descriptor >= 0) {
        return "descriptor " + std::to_string(k.facts.descriptor) + " to be " + k.facts.state;
    }
    std::string t = k.why->what;
    if (k.object != nullptr) { // a time has none
        t += identity(k.object_name, k.object);
    }
    if (k.facts.left >= 0) {
        t += ", " + std::to_string(k.facts.left) + " of which " + (k.facts.left == 1 ? "has" : "have") +
             " not ended";
    }
    if (k.facts.elsewhere != nullptr) {
        const pool_moment* other = m_snapshot.find(k.facts.elsewhere);
        t += ", of pool " + (other != nullptr ? std::to_string(other->number) : std::string("?"));
    }
    if (k.awaits.size() == 1 && &m_snapshot.waiting[k.awaits.front()] == &k) {
        t += ", which runs on this very context";
    } else if (!k.awaits.empty()) {
        t += k.awaits.size() == 1 && k.facts.left < 0 ? ", which is suspended on " : ", among them ";
        for (std::size_t i = 0; i < k.awaits.size() && i < 8; ++i) {
            t += (i == 0 ? "" : ", ") + name(m_snapshot.waiting[k.awaits[i]]);
        }
    } else if (k.facts.state != nullptr) {
        t += std::string(", which is ") + k.facts.state;
    }
    return t;
}

void writer::cycles_of_waits() {
    for (const auto& cycle : cycles(m_snapshot)) {
        text += cycle.size() == 1 ? "  a wait for itself:" : "  a cycle of waits:";
        for (const std::size_t i : cycle) {
            text += (i == cycle.front() ? " " : ";\n    ") + member(i);
        }
        text += "\n";
    }
}

void writer::frames(const waiting_context& k) {
    for (std::size_t i = 0; i < k.frames.size(); ++i) {
        text += "      #" + std::to_string(i) + (i < 10 ? "  " : " ") + hexadecimal(k.frames[i]) + " in " +
                m_symbols.name(k.frames[i], true) + "\n";
    }
    if (k.frames.size() == most_frames) {
        text += "      ... and so on\n";
    }
}

void writer::waiters(const std::vector<std::size_t>& pools) {
    std::size_t listed = 0;
    std::size_t left_out = 0;
    for (const std::size_t p : pools) {
        for (const waiting_context& k : m_snapshot.waiting) {
            if (k.owner != m_snapshot.pools[p].pool) {
                continue;
            }
            if (listed == most_waiters) {
                ++left_out;
                continue;
            }
            ++listed;
            text += "  " + name(k) + ", suspended on worker " + std::to_string(k.worker) + ", waits for " +
                    wait(k) + "\n";
            frames(k);
        }
    }
    if (left_out > 0) {
        text += "  and " + counted(left_out, "more suspended context") + "\n";
    }
}

std::string writer::name(const waiting_coroutine& c) {
    return "coroutine " + hexadecimal(c.frame) + of_other_pool(c.owner, c.pool) + " in " +
           m_symbols.name(c.code.front(), false);
}

std::string writer::wait(const waiting_coroutine& c) {
    std::string t = c.why->what;
    if (c.object != nullptr) {
        t += identity(c.object_name, c.object);
    }
    if (c.facts.state != nullptr) {
        t += std::string(", which is ") + c.facts.state;
    }
    return t;
}

/// A member of a cycle and its wait: see cycles().
std::string writer::member(std::size_t i) {
    const std::size_t contexts = m_snapshot.waiting.size();
    if (i < contexts) {
        const waiting_context& k = m_snapshot.waiting[i];
        return name(k) + " waits for " + wait(k);
    }
    const waiting_coroutine& c = m_snapshot.coroutines[i - contexts];
    return name(c) + " waits for " + wait(c);
}

/// Adds the coroutines of m_pool.
void writer::coroutines() {
    for (const waiting_coroutine& c : m_snapshot.coroutines) {
        if (c.owner != &m_pool) {
            continue;
        }
        text += "  " + name(c) + ", suspended on worker " + std::to_string(c.worker) + ", waits for " +
                wait(c) + "\n";
        for (std::size_t i = 1; i < c.code.size(); ++i) {
            text += "      awaited by " + m_symbols.name(c.code[i], false) + "\n";
        }
    }
    if (m_snapshot.more_coroutines > 0) {
        text += "  and " + counted(m_snapshot.more_coroutines, "more coroutine") + "\n";
    }
}

[[nodiscard]] std::string pool_name(const snapshot& s, const pool_core& p) {
    const pool_moment* m = s.find(&p);
    const std::string& name = p.settings().name;
    return "pool " + (m != nullptr ? std::to_string(m->number) : std::string("?")) +
           (name.empty() ? "" : " \"" + name + "\"");
}

/// The state of the queue: "none", "queued". If the queue is bounded: "3 of at most 64". If it has levels:
/// "queued (high, low)".
[[nodiscard]] std::string submissions_of(const pool_core& p) {
    if (p.gate.places().bounded()) {
        return std::to_string(p.gate.places().taken()) + " of at most " +
               std::to_string(p.gate.places().capacity());
    }
    if (!p.submissions.leveled()) {
        return p.submissions.empty() ? "none" : "queued";
    }
    std::string text;
    const auto add = [&](priority level, const char* name) {
        if (!p.submissions.at(level).empty()) {
            text += (text.empty() ? "queued (" : ", ") + std::string(name);
        }
    };
    add(priority::high, "high");
    add(priority::normal, "normal");
    add(priority::low, "low");
    return text.empty() ? "none" : text + ")";
}

/// The number of a worker's thread, and its nice value if options.priority changes it.
[[nodiscard]] std::string thread_of(pool_core& p, unsigned i) {
    const std::uint64_t id = p.at(i).thread_id.load(rlx);
    std::string text = std::to_string(id);
    if (p.settings().priority != 0 && !p.joined()) {
        text += p.at(i).has_priority.load(rlx) ? ", nice " + std::to_string(os::nice_of(id))
                                               : std::string(", priority refused");
    }
    return text;
}

/// Adds the places that have a thread.
void add_threads(std::string& text, pool_core& p) {
    for (unsigned i = 0; i < p.schedulers(); ++i) {
        const thread_state now = p.backend().state_of(i);
        if (now != thread_state::absent) {
            text += "  thread " + std::to_string(i) + " (" + thread_of(p, i) + "): " +
                    (p.joined()                     ? "ended"
                     : now == thread_state::blocked ? "blocks in a task"
                     : now == thread_state::asleep  ? "asleep"
                                                    : "runs") +
                    "\n";
        }
    }
}

void add_workers(std::string& text, pool_core& p) {
    for (unsigned i = 0; i < p.size(); ++i) {
        scheduler& w = p.at(i);
        if (w.thread_id.load(rlx) == 0 && p.idle().is_retired(i)) {
            continue; // a place that resize() may fill
        }
        const auto deque = w.deque.thief().look();
        if (!w.is_there()) {
            text += "  seat " + std::to_string(i) + ": free; deque: " + std::to_string(deque.shared) +
                    " shared, " + std::to_string(deque.own) + " private\n";
            continue;
        }
        const char* state = w.current.load(rlx) != nullptr ? "runs a task"
                            : p.is_retired(i)              ? "has stepped aside"
                            : p.idle().is_asleep(i)        ? "asleep"
                                                           : "looks for work";
        text += "  worker " + std::to_string(i) + " (thread " + thread_of(p, i) +
                (w.on_its_cpu.load(rlx) ? ", CPU " + std::to_string(p.threads.cpu_of(i)) : "") +
                "): " + (p.joined() ? "ended" : state) + "; deque: " + std::to_string(deque.shared) +
                " shared, " + std::to_string(deque.own) +
                " private; inbox: " + (w.inbox().empty() ? "empty" : "not empty") + "\n";
    }
}

} // namespace

std::string dump_text(pool_core& p) {
    if (p.is_forked_child()) { // the threads that held its locks are not here
        return "pilfer: a pool of the parent process, left behind by fork()\n";
    }
    const snapshot s = take_snapshot(&p);
    if (const auto f = p.backend().threads_now()) {
        std::string text = "pilfer: " + pool_name(s, p) + ": one lock, " + counted(f->threads, "thread") +
                           (p.joined() ? ", shut down" : "") + "; " + counted(f->blocked, "blocked thread") +
                           "; " + counted(f->ready, "ready task") + "\n";
        add_threads(text, p);
        return text;
    }
    writer w(s, p);
    std::size_t suspended = 0;
    for (const waiting_context& k : s.waiting) {
        suspended += k.owner == &p ? 1 : 0;
    }
    w.text = "pilfer: " + pool_name(s, p) + ": " + counted(p.active(), "worker") +
             (p.joined() ? ", shut down" : "") + "; " + counted(suspended, "suspended context") + " of " +
             std::to_string(p.stacks.live()) + (p.stacks.exhausted() ? " (no more can be had)" : "") +
             "; submissions: " + submissions_of(p) +
             "; contexts that may go on: " + (p.runnable.empty() ? "none" : "queued") + "\n";
    add_workers(w.text, p);
    w.cycles_of_waits();
    const pool_moment* own = s.find(&p);
    if (own != nullptr) {
        w.waiters({static_cast<std::size_t>(own - s.pools.data())});
    }
    w.coroutines();
    return std::move(w.text);
}

void write_dump(pool_core& p) noexcept {
    try {
        const std::string text = dump_text(p);
        os::write_all(2, text.data(), text.size());
    } catch (const std::bad_alloc&) {
        os::write_error("pilfer: there is no memory for a dump\n");
    }
}

namespace {

/// True if a task or coroutine that is not in the snapshot may end the wait. `known`: the number of awaited
/// members that are.
[[nodiscard]] bool is_unknown(const wait_facts& f, std::size_t known) {
    return f.left > static_cast<std::int64_t>(known) ||
           (known == 0 &&
            (f.task != nullptr || f.elsewhere != nullptr || f.coroutine != nullptr ||
             (f.runner == nullptr && f.state != nullptr && f.state == std::string_view("running"))));
}

/// True if a context of these pools waits for an event that no time limit can bring. Its own limit counts,
/// and that of each member whose end it awaits. A wait for children or tasks on an unknown thread is treated
/// as one that may end. Used if an alarm is set that is far away.
[[nodiscard]] bool anybody_is_stuck(const snapshot& s, const std::vector<std::size_t>& pools) {
    const auto awaited = awaited_members(s);
    std::vector<bool> comes;
    for (const waiting_context& k : s.waiting) {
        comes.push_back(k.timed || is_unknown(k.facts, awaited[comes.size()].size()));
    }
    for (const waiting_coroutine& c : s.coroutines) {
        comes.push_back(!c.why->may_stall || is_unknown(c.facts, awaited[comes.size()].size()));
    }
    for (bool again = true; again;) {
        again = false;
        for (std::size_t i = 0; i < comes.size(); ++i) {
            if (!comes[i] &&
                std::any_of(awaited[i].begin(), awaited[i].end(), [&](std::size_t a) { return comes[a]; })) {
                comes[i] = true;
                again = true;
            }
        }
    }
    for (const std::size_t pool : pools) {
        for (std::size_t i = 0; i < s.waiting.size(); ++i) {
            if (!comes[i] && s.waiting[i].owner == s.pools[pool].pool) {
                return true;
            }
        }
    }
    return false;
}

} // namespace

stall_verdict judge_stall(pool_core& p) noexcept {
    try {
        const snapshot s = take_snapshot(nullptr);
        stall_verdict v{true, 0};
        const auto pools = pools_behind(s, &p);
        bool alarms = false;
        for (const std::size_t i : pools) {
            v.stalled = v.stalled && s.pools[i].idle;
            alarms = alarms || s.pools[i].has_alarms;
            v.others += s.pools[i].pool != &p ? s.pools[i].progress + 1 : 0;
        }
        v.stalled = v.stalled && (!alarms || anybody_is_stuck(s, pools));
        return v;
    } catch (const std::bad_alloc&) {
        return {false, 0}; // perhaps later
    }
}

void write_stuck_report(pool_core& p, unsigned threads, unsigned ready, std::uint64_t idle_ns) noexcept {
    char text[256];
    std::snprintf(
        text, sizeof text,
        "pilfer: stall: for %llu ms all threads of one-lock pool %llu (%u) block, and so does what may "
        "wake them: tasks that are ready: %u (options.max_extra_workers: %u)\n",
        static_cast<unsigned long long>(idle_ns / 1'000'000),
        static_cast<unsigned long long>(p.listed.number), threads, ready, p.settings().max_extra_workers);
    os::write_error(text);
}

std::string blocked_report(pool_core& p) noexcept {
    try {
        const snapshot s = take_snapshot(&p);
        writer w(s, p);
        w.text = "pilfer: stall: for " + std::to_string(p.settings().debug.stall_report) +
                 " ms all workers of " + pool_name(s, p) + " (" + std::to_string(p.active()) +
                 ") have been inside blocking(), because there was no further thread for it "
                 "(options.max_extra_workers: " +
                 std::to_string(p.settings().max_extra_workers) + "), and tasks are ready\n";
        w.cycles_of_waits();
        w.waiters(pools_behind(s, &p));
        w.coroutines();
        return std::move(w.text);
    } catch (const std::bad_alloc&) {
        return {}; // there is no memory for a shorter one either
    }
}

void write_stall_report(pool_core& p, std::uint64_t idle_ns) noexcept {
    try {
        const snapshot s = take_snapshot(&p);
        writer w(s, p);
        w.text = "pilfer: stall: nothing has run in " + pool_name(s, p) + " for " +
                 std::to_string(idle_ns / 1'000'000) + " ms, and nothing can wake its suspended contexts:\n";
        if (p.stacks.exhausted()) {
            w.text += "  no further context can be had (options.max_contexts, or memory)\n";
        }
        w.cycles_of_waits();
        w.waiters(pools_behind(s, &p));
        w.coroutines();
        os::write_all(2, w.text.data(), w.text.size());
    } catch (const std::bad_alloc&) {
        os::write_error("pilfer: stall: there is no memory for the report\n");
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
