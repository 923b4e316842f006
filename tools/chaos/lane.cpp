#include "lane.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <pilfer/detail/base/chaos.hpp>

#include "balance/text.hpp"
#include "works.hpp"

namespace tools {
namespace {

using clock = std::chrono::steady_clock;

// A round is short, so that the counters on the live line move and a failure names little.
constexpr auto round_time = std::chrono::milliseconds(400);

// Works recurse on a stack; the frames of a sanitizer are several times as large.
#if defined(PILFER_SANITIZED)
constexpr std::size_t usual_stack = std::size_t{4} << 20;
#else
constexpr std::size_t usual_stack = std::size_t{512} << 10;
#endif
// Scarce stacks make tasks run on top of others, to any depth. With resume::elsewhere, whose frames leave
// their tasks at every join, 2 MiB were not enough for trees of 2^15 leaves.
constexpr std::size_t crowded_stack = 32 * usual_stack;

} // namespace

pilfer::options any_options(dice& random, unsigned most_workers) {
    pilfer::options o;
    o.workers = static_cast<unsigned>(random.between(1, most_workers));
    using pilfer::exposure;
    using pilfer::steal_amount;
    using pilfer::victim;
    o.balance.exposure = random.one_in(2)
                             ? exposure::on_demand
                             : random.pick({exposure::always_public, exposure::threshold, exposure::doubling,
                                            exposure::short_eager, exposure::waiter_first});
    o.balance.threshold = {
        .at_least = random.between(1, 9), .below = random.between(1, 5), .count = random.below(5)};
    o.balance.eager = random.between(1, 9);
    o.balance.steal =
        random.one_in(3)
            ? steal_amount::one()
            : random.pick({steal_amount::half(), steal_amount::part(1, 4), steal_amount::part(1, 1),
                           steal_amount::all_but_one(), steal_amount::adaptive()});
    o.balance.victim = random.pick(
        {victim::random, victim::random, victim::sticky, victim::ring, victim::nearest, victim::longest});
    o.resume = random.pick({pilfer::resume::anywhere, pilfer::resume::anywhere, pilfer::resume::own_thread,
                            pilfer::resume::elsewhere});
    o.balance.unshare = random.one_in(3) ? pilfer::unshare::all : pilfer::unshare::one;
    o.debug.count_all = random.one_in(5);
    o.max_contexts = random.one_in(3) ? random.pick<std::size_t>({1, 2, 3, 8, 40}) : 0;
    o.stack_size = o.max_contexts != 0 ? crowded_stack : usual_stack;
    return o;
}

std::string as_text(pilfer::options const& o) {
    static constexpr char const* resumes[] = {"anywhere", "own_thread", "elsewhere"};
    return fmt::format("workers {}, {}, resume {}, take_back {}, max_contexts {}{}", o.workers,
                       pilfer::balance::name(o.balance), resumes[static_cast<unsigned>(o.resume)],
                       o.balance.unshare == pilfer::unshare::one ? "one" : "all", o.max_contexts,
                       o.debug.count_all ? ", count_all" : "");
}

void lane::run(std::atomic<bool>& over) {
    dice random(m_drive.seed ^ mixed(m_number));
    try {
        pilfer::options o;
        o.workers = m_drive.workers;
        o.stack_size = usual_stack;
        m_old = std::make_unique<pilfer::pool>(o);
        for (std::uint64_t n = 0; !over.load(); ++n) {
            std::uint64_t const seed = random.next();
            m_seed.store(seed, std::memory_order_relaxed);
            if (m_number == 0 && m_drive.chaos != 0 && n % 8 == 0) {
                pilfer::detail::chaos::configure({seed, m_drive.chaos, m_drive.near_wrap});
            }
            round(seed, over);
        }
        looks_at(nullptr);
        m_doing.store("the end of the long-lived pool");
        m_old->shutdown();
        at_rest(m_old->counters(), m_old->settings());
        m_old.reset();
    } catch (std::exception const& error) {
        m_failure = fmt::format("{}\n{}", error.what(), state());
        looks_at(nullptr);
        over.store(true);
    }
}

void lane::round(std::uint64_t seed, std::atomic<bool> const& over) {
    dice random(seed);
    if (random.one_in(4)) {
        looks_at(m_old.get());
        work_in(*m_old, random, over);
        pilfer::counters const now = m_old->counters();
        add(now, m_old_seen);
        m_old_seen = now;
        return;
    }
    m_doing.store("the beginning of a pool");
    pilfer::pool pool(any_options(random, m_drive.workers));
    looks_at(&pool);
    try {
        work_in(pool, random, over);
        m_doing.store("shutdown");
        pool.shutdown(random.one_in(2) ? pilfer::shutdown_mode::drain : pilfer::shutdown_mode::drop);
        at_rest(pool.counters(), pool.settings());
    } catch (std::exception const& error) {
        std::string const told = fmt::format("{}\n  {}", error.what(), as_text(pool.settings()));
        looks_at(nullptr);
        throw wrong_result(told);
    }
    looks_at(nullptr);
    add(pool.counters(), {});
    const std::lock_guard lock(m_mutex);
    ++m_totals.pools;
}

void lane::work_in(pilfer::pool& pool, dice& random, std::atomic<bool> const& over) {
    auto const end = clock::now() + round_time;
    bench b{pool, random, pool.settings().max_contexts == 0, m_drive.chaos == 0 ? 1U : 8U};
    for (std::uint64_t left = random.between(1, 60); left > 0 && clock::now() < end && !over.load(); --left) {
        work const& w = works()[random.below(works().size())];
        if (w.needs_stacks && !b.many_stacks) {
            continue;
        }
        m_doing.store(w.name);
        m_tasks.fetch_add(w.run(b), std::memory_order_relaxed);
        m_works.fetch_add(1, std::memory_order_relaxed);
    }
}

/// Checks the counters of a pool that was shut down.
void lane::at_rest(pilfer::counters const& c, pilfer::options const& o) {
    if (c.suspends != c.resumes) {
        throw wrong_result(fmt::format("{} frames were suspended and {} resumed", c.suspends, c.resumes));
    }
    if (o.debug.count_all && c.announced != c.run_inline + c.run_own + c.run_stolen) {
        throw wrong_result(fmt::format("{} tasks were announced, but {} + {} + {} taken", c.announced,
                                       c.run_inline, c.run_own, c.run_stolen));
    }
    // Contexts above the limit belong only to tasks that have others on top of them, to the half of their
    // stack.
    if (o.max_contexts != 0 && c.contexts_peak > o.max_contexts && c.no_context == 0) {
        throw wrong_result(fmt::format("there were {} contexts", c.contexts_peak));
    }
}

void lane::add(pilfer::counters const& now, pilfer::counters const& before) {
    const std::lock_guard lock(m_mutex);
    m_totals.steals += now.run_stolen - before.run_stolen;
    m_totals.reaches += now.reaches - before.reaches;
    m_totals.exposures += now.exposures - before.exposures;
    m_totals.suspensions += now.suspends - before.suspends;
    m_totals.sleeps += now.sleeps - before.sleeps;
    m_totals.wakes += now.wakes - before.wakes;
    m_totals.submissions += now.run_submitted - before.run_submitted;
    m_totals.suppressed += now.exceptions_suppressed - before.exceptions_suppressed;
    m_totals.dropped += now.dropped - before.dropped;
    m_totals.without_stack += now.no_context - before.no_context;
}

void lane::last_words() const noexcept {
    char line[512];
    int const n = std::snprintf(line, sizeof line, "  thread %u: %s; round %#llx; %s\n", m_number,
                                m_doing.load(), static_cast<unsigned long long>(m_seed.load()), m_round);
    if (n > 0) {
        (void)!write(STDERR_FILENO, line, std::min(static_cast<std::size_t>(n), sizeof line - 1));
    }
}

void lane::looks_at(pilfer::pool* pool) {
    if (pool != nullptr) {
        (void)std::snprintf(m_round, sizeof m_round, "%s", as_text(pool->settings()).c_str());
    }
    const std::lock_guard lock(m_mutex);
    m_pool = pool;
}

totals lane::counted() const {
    const std::lock_guard lock(m_mutex);
    totals t = m_totals;
    t.works = m_works.load(std::memory_order_relaxed);
    t.tasks = m_tasks.load(std::memory_order_relaxed);
    return t;
}

std::string lane::state() const {
    std::string text = fmt::format("  thread {}: {}; round {:#x}", m_number, m_doing.load(), m_seed.load());
    const std::unique_lock lock(m_mutex, std::try_to_lock);
    if (!lock.owns_lock() || m_pool == nullptr) {
        return text;
    }
    text += fmt::format("\n    {}", as_text(m_pool->settings()));
    for (unsigned i = 0; i < m_pool->workers(); ++i) {
        pilfer::counters const c = m_pool->counters(i);
        text += fmt::format("\n    worker {}: own {}, submitted {}, stolen {}, resumed {}, suspends {}, "
                            "resumes {}, sleeps {}, "
                            "wakes {}, reaches {}, without a stack {}",
                            i, c.run_own, c.run_submitted, c.run_stolen, c.run_resumed, c.suspends, c.resumes,
                            c.sleeps, c.wakes, c.reaches, c.no_context);
    }
    pilfer::counters const all = m_pool->counters();
    text += fmt::format("\n    contexts: {} live, {} at most", all.contexts_live, all.contexts_peak);
    return text;
}

} // namespace tools
