#include "observe/snapshot.hpp"

#include <algorithm>
#include <unordered_map>

#include <pilfer/scope.hpp>

#include "context/backtrace.hpp"
#include "guest/blocking.hpp"
#include "names/object_names.hpp"
#include "observe/stall.hpp"
#include "pool/figures.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// Keeps every suspended context of every pool suspended: a worker that resumes one waits in let_go(). So no
/// frame of the context returns, and everything that its wait refers to stays alive. The same holds for each
/// coroutine that is in a list: a thread that resumes it waits in unpark().
class standstill {
public:
    standstill() {
        for (pool_entry* e = m_pools.first(); e != nullptr; e = e->next) {
            e->pool->stacks.mutex().lock();
            e->pool->stacks.for_each_locked([](context& c, unsigned) { c.walked.store(1, rlx); });
            for (unsigned i = 0; i < e->pool->schedulers(); ++i) {
                e->pool->at(i).waiting_coroutines.lock();
            }
        }
        std_atom::heavy_fence(); // observe.I1: the marks before the looks
    }
    standstill(const standstill&) = delete;
    standstill& operator=(const standstill&) = delete;
    ~standstill() {
        for (pool_entry* e = m_pools.first(); e != nullptr; e = e->next) {
            e->pool->stacks.for_each_locked(
                [](context& c, unsigned) { c.walked.store(0, rel); }); // observe.I1
            for (unsigned i = 0; i < e->pool->schedulers(); ++i) {
                e->pool->at(i).waiting_coroutines.unlock();
            }
            e->pool->stacks.mutex().unlock();
        }
    }
    [[nodiscard]] pool_entry* first() const noexcept { return m_pools.first(); }

private:
    registry::all_pools m_pools;
};

/// True if no worker is inside a task or about to begin one, and nothing is expected that would begin one.
[[nodiscard]] bool nothing_begins(pool_core& p) noexcept {
    return is_idle(p) && !expects_soon(p) && p.helpers->busy() == 0 &&
           (p.stacks.exhausted() || (p.submissions.empty() && p.runnable.empty()));
}

/// The scope of a child of `spawn`, by the place of its task: the first one that the task is below. Places of
/// scopes that the task owns lead to the place around them. All of these outlive the wait of `c`.
[[nodiscard]] const void* spawned_in(const context& c) noexcept {
    scope_node* at = c.self.node.load(rlx); // observe.I2
    while (scope_node* const node = scope_node::strip(at)) {
        node->seen_here();
        if (!scope_node::is_owner(at)) {
            return scope_access::of(at);
        }
        at = node->parent();
    }
    return nullptr;
}

void add_context(snapshot& s, const pool_entry& e, const context& c, unsigned number, bool with_stack) {
    const suspension* w = c.waiting.load(acq); // observe.I2
    if (w == nullptr) {
        return;
    }
    waiting_context k{e.number, e.pool, &c, number, w->home->index, w->why, w->object, {}, {},
                      {},       {},     {}, {}};
    k.timed = w->timed;
    if (const char* const name = c.name.load(rlx)) { // observe.I2; the frame that holds the text stays
        k.name = name;
    }
    if (k.why != nullptr) {
        k.why->look(*w, k.facts);
        k.object_name = object_names::of(k.object);
    }
    if (k.facts.elsewhere == e.pool) {
        k.facts.elsewhere = nullptr;
    }
    const auto job = reinterpret_cast<task_word>(c.job);
    k.job = reinterpret_cast<const void*>(job & ~kind_mask);
    if (c.job == nullptr || c.job == &c) { // see spawned
        k.child_of = spawned_in(c);
    } else if ((job & kind_mask) == kind_forked) {
        // The record is given back when the child has ended.
        k.child_of = scope_access::of(reinterpret_cast<spark*>(job & ~kind_mask)->parent());
    }
    if (with_stack) {
        void* frames[most_frames];
        const unsigned n = backtrace(w->sp, frames, most_frames);
        k.frames.assign(frames, frames + n);
    }
    s.waiting.push_back(std::move(k));
}

/// The address at which a suspended coroutine resumes: the first word of its frame, for g++ and clang++ alike
/// (Itanium C++ ABI). Names a function even for a coroutine at its first suspension.
[[nodiscard]] const void* code_of(const coroutine_frame& f) noexcept {
    return *static_cast<const void* const*>(f.handle.address());
}

/// The root of a coroutine and of those that await it. Null: not known, or too far away.
[[nodiscard]] const void* root_of(const coroutine_frame* f) noexcept {
    for (unsigned i = 0; i < 10'000 && f != nullptr; ++i, f = f->then) {
        if (!f->handle) {
            return f;
        }
    }
    return nullptr;
}

/// Adds at most `most` coroutines of a pool. Returns the number of the others.
[[nodiscard]] std::size_t add_coroutines(snapshot& s, const pool_entry& e, std::size_t most) {
    pool_core& p = *e.pool;
    std::size_t more = 0;
    for (unsigned i = 0; i < p.schedulers(); ++i) {
        p.at(i).waiting_coroutines.for_each_locked([&](const parked& w) {
            if (most == 0) {
                ++more;
                return;
            }
            --most;
            auto& c = s.coroutines.emplace_back(waiting_coroutine{e.number,
                                                                  &p,
                                                                  i,
                                                                  w.who->handle.address(),
                                                                  root_of(w.who),
                                                                  {},
                                                                  w.why,
                                                                  w.object,
                                                                  {},
                                                                  object_names::of(w.object)});
            for (const coroutine_frame* f = w.who; f != nullptr && f->handle && c.code.size() < most_awaiting;
                 f = f->then) {
                c.code.push_back(code_of(*f));
            }
            if (w.why->look != nullptr) {
                w.why->look(w.object, c.facts);
            }
            if (c.facts.elsewhere == &p) {
                c.facts.elsewhere = nullptr;
            }
        });
    }
    return more;
}

using places = std::unordered_map<const void*, std::size_t>;

[[nodiscard]] std::size_t found(const places& all, const void* what) {
    const auto at = all.find(what);
    return what != nullptr && at != all.end() ? at->second : none;
}

} // namespace

void connect(snapshot& s) {
    places by_context;
    places by_job;
    places by_root;
    std::unordered_multimap<const void*, std::size_t> by_scope;
    for (std::size_t i = 0; i < s.waiting.size(); ++i) {
        const waiting_context& k = s.waiting[i];
        by_context.emplace(k.at, i);
        if (k.job != nullptr) {
            by_job.emplace(k.job, i);
        }
        if (k.child_of != nullptr) {
            by_scope.emplace(k.child_of, i);
        }
    }
    for (std::size_t i = 0; i < s.coroutines.size(); ++i) {
        by_root.emplace(s.coroutines[i].root, i);
    }
    for (waiting_coroutine& c : s.coroutines) {
        c.context = found(by_context, c.facts.runner);
        c.coroutine = found(by_root, c.facts.coroutine);
    }
    for (waiting_context& k : s.waiting) {
        k.coroutine = found(by_root, k.facts.coroutine);
        if (const std::size_t at = found(by_context, k.facts.runner); at != none) {
            k.awaits.push_back(at);
        }
        if (const std::size_t at = found(by_job, k.facts.task); at != none) {
            k.awaits.push_back(at);
        }
        if (k.facts.children_of != nullptr) {
            const auto [from, to] = by_scope.equal_range(k.facts.children_of);
            for (auto at = from; at != to; ++at) {
                k.awaits.push_back(at->second);
            }
        }
    }
}

const pool_moment* snapshot::find(const pool_core* p) const noexcept {
    const auto at = std::find_if(pools.begin(), pools.end(), [p](const auto& m) { return m.pool == p; });
    return at != pools.end() ? &*at : nullptr;
}

snapshot take_snapshot(const pool_core* stacks_of) {
    snapshot s;
    {
        const standstill all;
        for (pool_entry* e = all.first(); e != nullptr; e = e->next) {
            // Progress is read first: a pool that is idle afterwards and has not progressed since has been
            // idle all the time.
            const std::uint64_t progress = figures::progress(*e->pool);
            s.pools.push_back(
                {e->number, e->pool, nothing_begins(*e->pool), progress, e->pool->first_due() != never});
            // A judgement must know every coroutine that is waited for; a text has room for a few.
            const std::size_t more = add_coroutines(s, *e, stacks_of == nullptr ? SIZE_MAX : most_coroutines);
            if (e->pool == stacks_of) {
                s.more_coroutines = more;
            }
            std::size_t stacks = e->pool == stacks_of ? most_stacks : 0;
            e->pool->stacks.for_each_locked([&](const context& c, unsigned number) {
                const std::size_t before = s.waiting.size();
                add_context(s, *e, c, number, stacks > 0);
                stacks -= stacks > 0 && s.waiting.size() > before ? 1 : 0;
            });
        }
    }
    connect(s);
    return s;
}

std::vector<std::size_t> pools_behind(const snapshot& s, const pool_core* p) {
    std::vector<std::size_t> found;
    const auto add = [&](const pool_core* q) {
        const pool_moment* m = s.find(q);
        if (m == nullptr) {
            return; // it is being made or has ended
        }
        const auto i = static_cast<std::size_t>(m - s.pools.data());
        if (std::find(found.begin(), found.end(), i) == found.end()) {
            found.push_back(i);
        }
    };
    add(p);
    for (std::size_t next = 0; next < found.size(); ++next) {
        for (const waiting_context& k : s.waiting) {
            if (k.owner == s.pools[found[next]].pool && k.facts.elsewhere != nullptr) {
                add(k.facts.elsewhere);
            }
        }
        for (const waiting_coroutine& c : s.coroutines) {
            if (c.owner == s.pools[found[next]].pool && c.facts.elsewhere != nullptr) {
                add(c.facts.elsewhere);
            }
        }
    }
    return found;
}

std::vector<std::vector<std::size_t>> awaited_members(const snapshot& s) {
    std::vector<std::vector<std::size_t>> all;
    const auto add = [&](std::size_t first, std::size_t i) {
        if (i != none) {
            all.back().push_back(first + i);
        }
    };
    for (const waiting_context& k : s.waiting) {
        all.push_back(k.awaits);
        add(s.waiting.size(), k.coroutine);
    }
    for (const waiting_coroutine& c : s.coroutines) {
        all.emplace_back();
        add(0, c.context);
        add(s.waiting.size(), c.coroutine);
    }
    return all;
}

std::vector<std::vector<std::size_t>> cycles(const snapshot& s) {
    std::vector<std::vector<std::size_t>> found;
    enum class mark : unsigned char { fresh, on_path, finished };
    const auto awaited = awaited_members(s);
    std::vector<mark> marks(awaited.size(), mark::fresh);
    std::vector<std::pair<std::size_t, std::size_t>> path; // a member, and the index of its next awaited one
    for (std::size_t start = 0; start < awaited.size(); ++start) {
        if (marks[start] != mark::fresh) {
            continue;
        }
        path.assign(1, {start, 0});
        marks[start] = mark::on_path;
        while (!path.empty()) {
            auto& [at, next] = path.back();
            if (next == awaited[at].size()) {
                marks[at] = mark::finished;
                path.pop_back();
                continue;
            }
            const std::size_t to = awaited[at][next++];
            if (marks[to] == mark::fresh) {
                marks[to] = mark::on_path;
                path.emplace_back(to, 0);
            } else if (marks[to] == mark::on_path) {
                auto from =
                    std::find_if(path.begin(), path.end(), [to](const auto& p) { return p.first == to; });
                auto& cycle = found.emplace_back();
                std::transform(from, path.end(), std::back_inserter(cycle),
                               [](const auto& p) { return p.first; });
            }
        }
    }
    return found;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
