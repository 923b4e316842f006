// Reads the words of another process, and interprets them as the library's own objects: both have the same
// layout (process_memory). Nothing stops meanwhile, so that each part of a look is of another moment. A part
// that makes no sense is left out.
#include "look.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include <pilfer/detail/future/future_state.hpp>
#include <pilfer/detail/scope/scope_impl.hpp>
#include <pilfer/mutex.hpp>
#include <pilfer/shared_mutex.hpp>

#include "context/stack_pool.hpp"
#include "pool/pool_core.hpp"
#include "timer/alarm_watch.hpp"

/// The table of src/future/future.cpp: the first value is the place of the stage.
extern "C" const std::uint64_t pilfer_v0_future_layout[];

namespace tools {

namespace inside = pilfer::detail;
using inside::worker_activity;

namespace {

constexpr std::size_t most_pools = 1'000;
constexpr std::size_t most_slabs = 100'000;
/// Contexts of a pool that a look reads, in turn; the first look reads all. A context takes some
/// microseconds, because its words are on three pages.
constexpr std::size_t most_read = 500;
constexpr std::size_t most_name = 64;
constexpr std::size_t most_scopes = 10'000; // of a task, one inside another

// offsetof() is also used on types without standard layout. Both compilers place their members alike.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
constexpr std::size_t place_of_thread_id = offsetof(inside::scheduler, thread_id);
constexpr std::size_t place_of_next = offsetof(inside::pool_entry, next);
#pragma GCC diagnostic pop

template <class T>
[[nodiscard]] address of(T const* p) noexcept {
    return reinterpret_cast<address>(p);
}

constexpr std::uint32_t last_stage = inside::future_protocol<inside::std_atom>::done;
[[nodiscard]] std::uint32_t stage_of(copy_of<inside::future_core>& f) noexcept {
    std::uint32_t stage = 0;
    std::memcpy(&stage, static_cast<std::byte*>(f.bytes()) + pilfer_v0_future_layout[0], sizeof stage);
    return stage;
}

[[nodiscard]] void const* job_of(inside::context const& c) noexcept {
    auto const job = reinterpret_cast<inside::task_word>(c.job);
    return reinterpret_cast<void const*>(job & ~inside::kind_mask);
}

[[nodiscard]] bool is_shared_mutex(std::string_view what) noexcept {
    return what.starts_with("a shared mutex");
}
/// True for waits for a lock that says who holds it.
[[nodiscard]] bool is_lock(std::string_view what) noexcept {
    return what == "a mutex" || is_shared_mutex(what);
}

/// True for waits that end by themselves.
[[nodiscard]] bool comes(inside::waiting_context const& c) {
    if (c.why == nullptr || c.timed) {
        return true;
    }
    std::string_view const what = c.why->what;
    return what == "a time" || what == "the system, in blocking()" || what.starts_with("a descriptor");
}

} // namespace

pilfer::counters look::sum_of(std::uint64_t pool) const {
    for (pool_look const& p : pools) {
        if (p.now.number == pool) {
            return p.now.sum();
        }
    }
    return {};
}

look observer::next(double seconds) {
    m_memory.check_alive();
    look now;
    now.stopped = m_memory.is_stopped();
    now.passed = m_last < 0 ? 0 : seconds - m_last;
    std::map<std::uint64_t, seen_pool> seen;
    m_copy = 0;
    for (address const list : m_memory.pool_lists()) {
        ++m_copy;
        std::set<address> known;
        for (address entry = m_memory.word(list); entry != 0 && known.size() < most_pools;
             entry = m_memory.word(entry + place_of_next)) {
            if (!known.insert(entry).second) {
                break;
            }
            read_pool(entry, seconds, now, seen);
        }
    }
    std::sort(now.pools.begin(), now.pools.end(),
              [](pool_look const& a, pool_look const& b) { return a.now.number < b.now.number; });
    m_pools = std::move(seen);
    m_names.read(m_memory);
    for (inside::waiting_context& c : now.all.waiting) {
        if (c.why != nullptr && c.facts.descriptor < 0) {
            c.object_name = m_names.at(of(static_cast<std::byte const*>(c.object)));
        }
    }
    add_mutexes(seconds, now);
    inside::connect(now.all);
    for (auto& cycle : inside::cycles(now.all)) {
        if (is_certain(cycle, now)) {
            now.cycles.push_back(std::move(cycle));
        }
    }
    judge(now);
    std::sort(now.ready.begin(), now.ready.end(),
              [](ready_task const& a, ready_task const& b) { return a.waits.seconds > b.waits.seconds; });
    m_last = seconds;
    return now;
}

/// Reads what the members wait for once more. Then it compares the numbers of their waits with those of an
/// earlier look. If they are equal, all of these waits held at the moment between the two reads.
bool observer::is_certain(std::vector<std::size_t> const& cycle, look const& now) {
    for (std::size_t const i : cycle) {
        inside::waiting_context const& c = now.all.waiting[i];
        seen_pool& s = m_pools[c.pool];
        seen_wait& w = s.waits[c.number];
        inside::wait_facts const before = w.what.facts;
        read_details(s, {&w}, w.what.owner);
        inside::wait_facts const& after = w.what.facts;
        if (!same_task(c)) {
            return false;
        }
        if (before.holder != after.holder || before.runner != after.runner || before.task != after.task ||
            before.children_of != after.children_of || w.what.object != c.object) {
            return false;
        }
    }
    return std::all_of(cycle.begin(), cycle.end(), [&](std::size_t i) {
        inside::waiting_context const& c = now.all.waiting[i];
        return still_waits(c, m_pools[c.pool].waits[c.number]);
    });
}

/// The first read of a context may have begun before its wait.
bool observer::same_task(inside::waiting_context const& c) const {
    copy_of<inside::context> context;
    return m_memory.read(of(c.at), context) && job_of(*context) == c.job &&
           scope_of(*context, of(c.at)) == of(static_cast<std::byte const*>(c.child_of));
}

bool observer::still_waits(inside::waiting_context const& c, seen_wait const& w) const {
    copy_of<inside::context> context;
    return m_memory.read(of(c.at), context) && of(context->waiting.load(inside::rlx)) == w.suspension &&
           context->waits.load(inside::rlx) == w.number;
}

std::vector<stack_frame> observer::stack_of(inside::waiting_context const& c, stack_reader& reader) const {
    auto const pool = m_pools.find(c.pool);
    if (pool == m_pools.end()) {
        return {};
    }
    auto const wait = pool->second.waits.find(c.number);
    copy_of<inside::suspension> suspension;
    if (wait == pool->second.waits.end() || !m_memory.read(wait->second.suspension, suspension)) {
        return {};
    }
    std::vector<stack_frame> frames = reader.read(of(static_cast<std::byte const*>(suspension->sp)));
    return still_waits(c, wait->second) ? frames : std::vector<stack_frame>{};
}

bool observer::has_alarm(address watch, unsigned workers) const {
    copy_of<inside::alarm_watch> alarms;
    if (watch == 0 || !m_memory.read(watch, alarms)) {
        return false;
    }
    for (unsigned i = 0; i < workers; ++i) {
        copy_of<inside::timer_heap<inside::std_atom, inside::futex_park>> heap;
        if (m_memory.read(of(alarms->heap_of(i)), heap) && heap->earliest() != inside::never) {
            return true;
        }
    }
    return false;
}

void observer::read_pool(address entry, double seconds, look& now, std::map<std::uint64_t, seen_pool>& seen) {
    copy_of<inside::pool_entry> e;
    copy_of<inside::pool_core> core;
    if (!m_memory.read(entry, e) || e->pool == nullptr || e->workers > 8'192 ||
        !m_memory.read(of(e->pool), core)) {
        return;
    }
    // Each copy of the library counts its pools from 1.
    static_cast<inside::pool_entry*>(e.bytes())->number += (m_copy - 1) * 1'000'000;
    if (seen.contains(e->number)) {
        return;
    }
    seen_pool* before = nullptr;
    if (auto const at = m_pools.find(e->number); at != m_pools.end() && at->second.entry == entry) {
        before = &at->second;
    }
    seen_pool& s = seen[e->number];
    if (before != nullptr) {
        s.waits = std::move(before->waits);
        s.turn = before->turn;
    }
    s.entry = entry;
    pool_look p;
    p.now = inside::figures_of_pool(*core);
    p.now.number = e->number;
    std::string const& name = core->settings().name; // of the other process
    p.now.name = m_memory.text(of(name.data()), std::min<std::size_t>(name.size(), 10));
    s.currents = read_workers(p, s, of(e->worker.get()), e->workers, *core);
    if (before != nullptr) {
        p.before = before->figures.sum();
    }
    s.figures = p.now;
    p.quiet = !p.now.submissions && !p.now.runnable && p.now.workers_that(worker_activity::running) == 0 &&
              p.now.workers_that(worker_activity::searching) == 0 && !p.now.workers.empty();
    bool const still =
        p.quiet && before != nullptr && before->was_quiet && before->figures.progress() == p.now.progress();
    s.was_quiet = p.quiet;
    s.quiet_since = still ? before->quiet_since : seconds;
    p.still.seconds = still ? seconds - s.quiet_since : 0;
    bool const alarms = has_alarm(of(core->alarms), static_cast<unsigned>(e->workers));
    now.all.pools.push_back({e->number, e->pool, p.quiet && !alarms, p.now.progress(), alarms});

    s.contexts = contexts_of(m_memory.word(of(e->newest_slab)));
    read_waits(s, e->number, e->pool, seconds, now);
    add_running(p, s, before, seconds, now);
    add_ready(p, s, before, seconds, now);
    now.pools.push_back(std::move(p));
}

std::vector<address> observer::read_workers(pool_look& p, seen_pool& s, address first, std::size_t count,
                                            inside::pool_core const& core) {
    std::vector<inside::worker_entry> entries(count);
    std::vector<copy_of<inside::scheduler>> workers(count);
    std::vector<std::uint32_t> seats(count);
    std::vector<address> currents(count);
    if (!m_memory.read(first, entries.data(), count * sizeof(inside::worker_entry))) {
        return currents;
    }
    std::vector<process_memory::piece> pieces;
    for (std::size_t i = 0; i < count; ++i) {
        address const at = of(static_cast<std::byte const*>(entries[i].thread_id)) - place_of_thread_id;
        s.homes.push_back(at);
        pieces.push_back({at, workers[i].bytes(), sizeof(inside::scheduler)});
        pieces.push_back({of(static_cast<std::byte const*>(entries[i].seat)), &seats[i], sizeof seats[i]});
    }
    m_memory.read_all(pieces);
    using states = inside::team::pool_sleepers;
    for (std::size_t i = 0; i < count; ++i) {
        bool const there = pieces[2 * i].done && pieces[2 * i + 1].done;
        bool const asleep = seats[i] == states::asleep || seats[i] == states::polling;
        p.now.workers.push_back(there ? inside::figures_of_worker(core, *workers[i], asleep)
                                      : inside::worker_figures{});
        currents[i] = there ? of(workers[i]->current.load(inside::rlx)) : 0;
    }
    return currents;
}

std::vector<observer::seen_context> observer::contexts_of(address newest_slab) const {
    std::vector<seen_context> found;
    std::size_t slabs = 0;
    copy_of<inside::slab> s;
    for (address at = newest_slab; at != 0 && slabs < most_slabs; ++slabs) {
        if (!m_memory.read(at, s)) {
            break;
        }
        for (unsigned i = 0; i < std::min(s->count, inside::stack_pool::most_in_slab); ++i) {
            if (s->contexts[i] != nullptr) {
                found.push_back({of(s->contexts[i]), s->number * inside::stack_pool::most_in_slab + i});
            }
        }
        at = of(s->next);
    }
    return found;
}

inside::wait_kind const* observer::kind_at(address why) {
    static constexpr inside::wait_kind unknown{"?", nullptr};
    if (auto const known = m_kinds.find(why); known != m_kinds.end()) {
        return &known->second.second;
    }
    std::string const what = m_memory.text(m_memory.word(why), 100);
    if (what.empty()) {
        return &unknown;
    }
    auto& [text, kind] = m_kinds[why];
    text = what;
    kind = {text.c_str(), nullptr};
    return &kind;
}

/// Reads the words of some contexts, in turn, and takes the waits of the others from earlier looks.
void observer::read_waits(seen_pool& s, std::uint64_t pool, inside::pool_core const* owner, double seconds,
                          look& now) {
    bool const all = m_last < 0 || s.contexts.size() <= most_read;
    std::size_t const count = all ? s.contexts.size() : most_read;
    std::size_t const first = all ? 0 : s.turn % s.contexts.size();
    s.turn = all ? 0 : (first + count) % s.contexts.size();
    std::vector<copy_of<inside::context>> copies(count);
    std::vector<process_memory::piece> pieces;
    for (std::size_t i = 0; i < count; ++i) {
        pieces.push_back(
            {s.contexts[(first + i) % s.contexts.size()].at, copies[i].bytes(), sizeof(inside::context)});
    }
    m_memory.read_all(pieces);
    std::vector<seen_wait*> fresh;
    for (std::size_t i = 0; i < count; ++i) {
        seen_context const& c = s.contexts[(first + i) % s.contexts.size()];
        address const waiting = pieces[i].done ? of(copies[i]->waiting.load(inside::rlx)) : 0;
        if (waiting == 0) {
            s.waits.erase(c.number);
            continue;
        }
        seen_wait& w = s.waits[c.number];
        std::uint32_t const number = copies[i]->waits.load(inside::rlx);
        bool changed = false;
        if (w.suspension != waiting || w.number != number) {
            w.since = seconds;
            changed = true;
            w.what = {pool,     owner, reinterpret_cast<inside::context const*>(c.at),
                      c.number, 0,     nullptr,
                      nullptr,  {},    {},
                      {},       {},    {},
                      {}};
        }
        w.suspension = waiting;
        w.number = number;
        w.what.job = job_of(*copies[i]);
        w.what.child_of = reinterpret_cast<void const*>(scope_of(*copies[i], c.at));
        if (changed) {
            w.what.name = m_memory.text(of(copies[i]->name.load(inside::rlx)), most_name);
        }
        fresh.push_back(&w);
    }
    read_details(s, fresh, owner);
    std::size_t shown = 0;
    now.all.waiting.reserve(now.all.waiting.size() + s.waits.size());
    now.waits.reserve(now.all.waiting.size() + s.waits.size());
    for (seen_context const& c : s.contexts) {
        if (auto const w = s.waits.find(c.number); w != s.waits.end()) {
            now.all.waiting.push_back(w->second.what);
            now.waits.push_back(seconds - w->second.since);
            ++shown;
        }
    }
    now.carried_over += shown - std::min(shown, fresh.size());
}

/// The scope that the task of a context is a child of, as snapshot.cpp finds it; 0: none.
address observer::scope_of(inside::context const& c, address at) const {
    auto const job = reinterpret_cast<inside::task_word>(c.job);
    if (job != 0 && job != at) {
        copy_of<inside::spark> spark;
        bool const forked = (job & inside::kind_mask) == inside::kind_forked;
        return forked && m_memory.read(job & ~inside::kind_mask, spark)
                   ? of(inside::scope_node::strip(static_cast<inside::spark*>(spark.bytes())->parent()))
                   : 0;
    }
    inside::scope_node* place = c.self.node.load(inside::rlx);
    for (std::size_t i = 0; i < most_scopes && inside::scope_node::is_owner(place); ++i) {
        copy_of<inside::scope_node> node;
        if (!m_memory.read(of(inside::scope_node::strip(place)), node)) {
            return 0;
        }
        place = node->parent();
    }
    return inside::scope_node::is_owner(place) ? 0 : of(inside::scope_node::strip(place));
}

/// Reads the suspensions, then the objects of the kinds that have facts.
void observer::read_details(seen_pool const& s, std::vector<seen_wait*> const& fresh,
                            inside::pool_core const* owner) {
    std::vector<copy_of<inside::suspension>> copies(fresh.size());
    std::vector<process_memory::piece> pieces;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        pieces.push_back({fresh[i]->suspension, copies[i].bytes(), sizeof(inside::suspension)});
    }
    m_memory.read_all(pieces);
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        inside::waiting_context& c = fresh[i]->what;
        c.facts = {};
        if (!pieces[i].done) {
            continue;
        }
        c.why = copies[i]->why != nullptr ? kind_at(of(copies[i]->why)) : nullptr;
        c.object = copies[i]->object;
        c.timed = copies[i]->timed;
        auto const home = std::find(s.homes.begin(), s.homes.end(), of(copies[i]->home));
        c.worker = static_cast<unsigned>(home - s.homes.begin());
        if (c.why == nullptr) {
            continue;
        }
        std::string_view const what = c.why->what;
        address const object = of(static_cast<std::byte const*>(c.object));
        if (what == "a mutex") {
            if (copy_of<pilfer::mutex> m; m_memory.read(object, m)) {
                m->look(c.facts);
            }
        } else if (is_shared_mutex(what)) {
            if (copy_of<pilfer::shared_mutex> m; m_memory.read(object, m)) {
                m->look_at_copy(c.facts);
            }
        } else if (what == "a future" || what == "a promise" || what == "a combination of futures") {
            // The future may be gone, and the first word of what replaced it is no stage.
            if (copy_of<inside::future_core> f; m_memory.read(object, f) && stage_of(f) <= last_stage) {
                f->look_at_words(c.facts);
            }
        } else if (what == "the children of a scope") {
            if (copy_of<inside::scope_core> scope; m_memory.read(object, scope)) {
                c.facts.left = inside::scope_access::left(*scope);
            }
            c.facts.children_of = c.object;
        } else if (what == "another branch of its join" || what.starts_with("the task that it gave")) {
            c.facts.task = static_cast<inside::spark const*>(c.object);
        } else if (what.starts_with("a descriptor")) {
            c.facts.descriptor = static_cast<int>(object);
            c.facts.state = what.ends_with("readable") ? "readable" : "writable";
        }
        if (c.facts.elsewhere == owner) {
            c.facts.elsewhere = nullptr;
        }
    }
}

void observer::add_running(pool_look const& p, seen_pool& s, seen_pool const* before, double seconds,
                           look& now) {
    s.running_since.assign(p.now.workers.size(), seconds);
    for (std::size_t i = 0; i < p.now.workers.size(); ++i) {
        if (p.now.workers[i].now != worker_activity::running || s.currents[i] == 0) {
            continue;
        }
        auto const begun = [i](inside::pool_figures const& f) {
            pilfer::counters const& c = f.workers[i].count;
            return c.run_own + c.run_submitted + c.run_stolen + c.run_resumed;
        };
        bool const same = before != nullptr && i < before->currents.size() &&
                          i < before->figures.workers.size() && before->currents[i] == s.currents[i] &&
                          begun(before->figures) == begun(p.now) &&
                          before->figures.workers[i].count.suspends == p.now.workers[i].count.suspends;
        if (same) {
            s.running_since[i] = before->running_since[i];
        }
        running_task r{
            p.now.number, static_cast<unsigned>(i), UINT32_MAX, {}, {seconds - s.running_since[i]}};
        address const at = m_memory.word(s.currents[i] + offsetof(inside::activation, ctx));
        auto const c = std::find_if(s.contexts.begin(), s.contexts.end(),
                                    [at](seen_context const& known) { return known.at == at; });
        if (c != s.contexts.end()) {
            r.context = c->number;
            r.name = m_memory.text(m_memory.word(at + offsetof(inside::context, name)), most_name);
        }
        now.running.push_back(std::move(r));
    }
}

void observer::add_ready(pool_look const& p, seen_pool& s, seen_pool const* before, double seconds,
                         look& now) {
    s.oldest_since.assign(p.now.workers.size(), seconds);
    for (std::size_t i = 0; i < p.now.workers.size(); ++i) {
        inside::worker_figures const& w = p.now.workers[i];
        if (w.shared + w.own == 0) {
            continue;
        }
        if (before != nullptr && i < before->figures.workers.size() &&
            before->figures.workers[i].shared + before->figures.workers[i].own != 0 &&
            before->figures.workers[i].oldest == w.oldest) {
            s.oldest_since[i] = before->oldest_since[i];
        }
        now.ready.push_back({p.now.number, static_cast<long>(i), {seconds - s.oldest_since[i]}});
    }
    s.submitted_since = seconds;
    if (p.now.submissions) {
        if (before != nullptr && before->figures.submissions &&
            before->figures.sum().run_submitted == p.now.sum().run_submitted) {
            s.submitted_since = before->submitted_since;
        }
        now.ready.push_back({p.now.number, -1, {seconds - s.submitted_since}});
    }
}

/// Groups the waits for mutexes and shared mutexes, and finds the contexts of their holders: an activation is
/// on its stack.
void observer::add_mutexes(double seconds, look& now) {
    bool const any = std::any_of(now.all.waiting.begin(), now.all.waiting.end(),
                                 [](auto const& c) { return c.why != nullptr && is_lock(c.why->what); });
    if (!any) {
        m_holders.clear();
        return;
    }
    struct stack {
        address end;
        std::uint64_t pool;
        unsigned number;
    };
    std::map<address, stack> stacks; // by their records, which are the ends
    for (auto const& [number, p] : m_pools) {
        for (seen_context const& c : p.contexts) {
            stacks[c.at + sizeof(inside::context)] = {c.at, number, c.number};
        }
    }
    std::map<address, held_mutex> found;
    std::map<address, seen_holder> holders;
    for (std::size_t i = 0; i < now.all.waiting.size(); ++i) {
        inside::waiting_context& c = now.all.waiting[i];
        if (c.why == nullptr || !is_lock(c.why->what)) {
            continue;
        }
        auto const holder = reinterpret_cast<address>(c.facts.holder);
        held_mutex& m = found[of(static_cast<std::byte const*>(c.object))];
        m.mutex = of(static_cast<std::byte const*>(c.object));
        m.name = c.object_name;
        m.holder = holder;
        m.is_shared_mutex = is_shared_mutex(c.why->what);
        m.has_readers = m.is_shared_mutex && c.facts.state == std::string_view("shared");
        m.is_held_alone = m.is_shared_mutex && c.facts.state == std::string_view("held alone");
        ++m.waiters;
        m.longest_wait = std::max(m.longest_wait, now.waits[i]);
        auto const s = stacks.upper_bound(holder);
        if (holder == 0 || s == stacks.end()) {
            continue;
        }
        copy_of<inside::context> context;
        if (m_memory.read(s->second.end, context) && of(context->low) <= holder) {
            m.held_by = fmt::format("{} {}", s->second.pool, s->second.number);
            c.facts.runner = reinterpret_cast<inside::context const*>(s->second.end);
        }
    }
    for (auto& [at, m] : found) {
        seen_holder& h = holders[at];
        h = {m.holder, seconds};
        if (auto const before = m_holders.find(at);
            before != m_holders.end() && before->second.holder == m.holder) {
            h.since = before->second.since;
        }
        m.held.seconds = seconds - h.since;
        auto const space = m.held_by.find(' ');
        if (space != std::string::npos) {
            std::uint64_t const pool = std::stoull(m.held_by.substr(0, space));
            auto const number = static_cast<unsigned>(std::stoul(m.held_by.substr(space + 1)));
            m.held_by = fmt::format("context {}{}", number,
                                    m_pools.size() > 1 ? fmt::format(" of pool {}", pool) : "");
            for (std::size_t i = 0; i < now.all.waiting.size(); ++i) {
                if (now.all.waiting[i].pool == pool && now.all.waiting[i].number == number) {
                    m.context = static_cast<long>(i);
                }
            }
            for (running_task const& r : now.running) {
                if (r.pool == pool && r.context == number) {
                    m.held_by += fmt::format("{}, which runs on worker {}",
                                             r.name.empty() ? "" : " \"" + r.name + "\"", r.worker);
                }
            }
        } else {
            m.held_by = m.has_readers     ? "readers, whose names it does not keep"
                        : m.holder != 0   ? "a thread outside the pools, or a task without a stack"
                        : m.is_held_alone ? "a thread outside the pools, a task without a stack, or one that "
                                            "has got it and waits for its turn"
                                          : "nobody at this moment";
        }
        now.mutexes.push_back(std::move(m));
    }
    m_holders = std::move(holders);
    std::sort(now.mutexes.begin(), now.mutexes.end(), [](held_mutex const& a, held_mutex const& b) {
        return std::pair(a.held.seconds, a.waiters) > std::pair(b.held.seconds, b.waiters);
    });
}

/// A pool stands still if it and all pools that its waits lead to are quiet for two looks, and none of the
/// waits ends by itself.
void observer::judge(look& now) const {
    for (pool_look& p : now.pools) {
        auto const own = std::find_if(now.all.pools.begin(), now.all.pools.end(),
                                      [&p](auto const& m) { return m.number == p.now.number; });
        if (own == now.all.pools.end()) {
            continue;
        }
        std::size_t waiting = 0;
        bool may_go_on = p.still.seconds <= 0;
        for (std::size_t const behind : inside::pools_behind(now.all, own->pool)) {
            may_go_on = may_go_on || !now.all.pools[behind].idle;
            for (inside::waiting_context const& c : now.all.waiting) {
                if (c.owner == now.all.pools[behind].pool) {
                    waiting += c.owner == own->pool ? 1 : 0;
                    may_go_on = may_go_on || comes(c);
                }
            }
        }
        std::uint64_t coroutines = 0;
        for (inside::worker_figures const& w : p.now.workers) {
            coroutines += w.coroutines;
        }
        if (!may_go_on && waiting + coroutines > 0) {
            p.stall = fmt::format(
                "nothing has run for {:.1f} s, and {} contexts and {} coroutines wait without a time limit",
                p.still.seconds, waiting, coroutines);
            continue;
        }
        // All workers are inside the same tasks, and another one is ready.
        std::size_t hogs = 0;
        double shortest = std::numeric_limits<double>::max();
        for (running_task const& r : now.running) {
            if (r.pool == p.now.number && r.worker < p.now.active) {
                ++hogs;
                shortest = std::min(shortest, r.runs.seconds);
            }
        }
        auto const ready = std::find_if(now.ready.begin(), now.ready.end(), [&](auto const& r) {
            return r.pool == p.now.number && r.worker < 0;
        });
        if (hogs == p.now.active && hogs > 0 && shortest > 0 && ready != now.ready.end() &&
            ready->waits.seconds > 0) {
            p.busy = fmt::format(
                "all {} workers have been in the same tasks for {:.1f} s, and a submitted task waits", hogs,
                std::min(shortest, ready->waits.seconds));
        }
    }
}

std::string name_of(look const& l, inside::waiting_context const& c) {
    return fmt::format("context {}{}{}", c.number,
                       l.pools.size() > 1 ? fmt::format(" of pool {}", c.pool) : "",
                       c.name.empty() ? "" : " \"" + c.name + "\"");
}

std::string wait_of(look const& l, inside::waiting_context const& c) {
    if (c.why == nullptr) {
        return "its turn";
    }
    if (c.facts.descriptor >= 0) {
        return fmt::format("descriptor {} to be {}", c.facts.descriptor, c.facts.state);
    }
    std::string t = c.why->what;
    if (c.object != nullptr) { // a time has none
        t += fmt::format(" ({}{:#x})", c.object_name.empty() ? "" : "\"" + c.object_name + "\", ",
                         of(static_cast<std::byte const*>(c.object)));
    }
    if (c.facts.left >= 0) {
        t += fmt::format(", of which {} {} not ended", c.facts.left, c.facts.left == 1 ? "has" : "have");
    }
    if (c.facts.elsewhere != nullptr) {
        auto const* const other = l.all.find(c.facts.elsewhere);
        t += other != nullptr ? fmt::format(", of pool {}", other->number) : "";
    }
    if (!c.awaits.empty()) {
        t += c.facts.holder != nullptr ? ", held by "
             : c.facts.left < 0        ? ", which is suspended on "
                                       : ", among them ";
        t += name_of(l, l.all.waiting[c.awaits.front()]);
    } else if (c.facts.state != nullptr) {
        t += fmt::format(", which is {}", c.facts.state);
    }
    return t;
}

} // namespace tools
