// Tasks with weights on real pools, without races: exactly which tasks are shared, and which are stolen from
// whom.
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/harness.hpp"
#include "worker/stand_still.hpp"

namespace {

using namespace support;
using pilfer::exposure;
using pilfer::steal_amount;
using pilfer::task_options;

class task_weights : public guarded {};
class bad_input_weights : public guarded {};

/// The way in which a task is announced with a weight.
enum class way { fork, spawn, async };

/// Announces tasks with these weights one above the other on the caller's worker, calling seen() after each.
void announce_all(way how, const std::vector<std::uint64_t>& weights, std::size_t k,
                  const std::function<void()>& seen) {
    if (k == weights.size()) {
        return;
    }
    const auto next = [&] {
        seen();
        announce_all(how, weights, k + 1, seen);
    };
    pilfer::scope s;
    switch (how) {
    case way::spawn:
        s.spawn({.weight = weights[k]}, next);
        break;
    case way::fork:
        s.fork({.weight = weights[k]}, [] {});
        next();
        break;
    case way::async: {
        auto nothing = pilfer::async({.weight = weights[k]}, [] {});
        next();
        nothing.get();
        break;
    }
    }
}

/// How many tasks were shared in all after each announcement, on a pool of one.
[[nodiscard]] std::vector<std::uint64_t> exposed_after(way how, pilfer::exposure_threshold threshold,
                                                       const std::vector<std::uint64_t>& weights) {
    pilfer::options o = workers(1);
    o.balance.exposure = exposure::threshold;
    o.balance.threshold = threshold;
    pilfer::pool pool(o);
    std::vector<std::uint64_t> after;
    pool.run([&] { announce_all(how, weights, 0, [&] { after.push_back(pool.counters().exposed_tasks); }); });
    return after;
}

TEST_F(task_weights, a_threshold_of_100_exposes_at_the_second_60) {
    using seen = std::vector<std::uint64_t>;
    for (const way how : {way::fork, way::spawn, way::async}) {
        SCOPED_TRACE(static_cast<int>(how));
        EXPECT_EQ(exposed_after(how, {.at_least = 100, .below = 1, .count = 1}, {60, 60}), (seen{0, 1}));
        EXPECT_EQ(exposed_after(how, {.at_least = 120, .below = 1, .count = 2}, {60, 60}), (seen{0, 2}));
        EXPECT_EQ(exposed_after(how, {.at_least = 121, .below = 1, .count = 2}, {60, 60}), (seen{0, 0}));
        // A part of the weight: of 90 and 20 the half is nearest to the first.
        EXPECT_EQ(exposed_after(how, {.at_least = 100, .below = 1}, {90, 20}), (seen{0, 1}));
        EXPECT_EQ(exposed_after(how, {.at_least = 100, .below = 1}, {1, 1, 1, 1, 1, 1, 100}),
                  (seen{0, 0, 0, 0, 0, 0, 6}));
        // Shared tasks count by their weights, too.
        EXPECT_EQ(exposed_after(how, {.at_least = 100, .below = 60, .count = 1}, {60, 60, 60}),
                  (seen{0, 1, 1}));
        EXPECT_EQ(exposed_after(how, {.at_least = 100, .below = 61, .count = 1}, {60, 60, 60}),
                  (seen{0, 1, 2}));
    }
}

/// Every exposure, one that leaves the amounts alone.
[[nodiscard]] std::vector<pilfer::options> every_exposure(pilfer::options o) {
    std::vector<pilfer::options> all;
    for (const auto policy : {exposure::on_demand, exposure::always_public, exposure::threshold,
                              exposure::doubling, exposure::short_eager, exposure::waiter_first}) {
        o.balance.exposure = policy;
        o.balance.threshold = {.at_least = 3, .below = 5, .count = 2};
        all.push_back(o);
    }
    return all;
}

/// The tasks that one theft leaves to a victim with these weights, and their weight.
struct rest {
    std::int64_t tasks;
    std::uint64_t weight;
    friend bool operator==(const rest&, const rest&) = default;
    friend std::ostream& operator<<(std::ostream& out, const rest& r) {
        return out << r.tasks << " tasks of " << r.weight;
    }
};

[[nodiscard]] rest after_a_theft(const pilfer::options& o, const std::vector<std::uint64_t>& weights) {
    std::atomic<unsigned> started{0};
    std::atomic<bool> end{false};
    rest left{};
    {
        stand_still s(o, [&](unsigned me, pilfer::scope& below) {
            for (std::size_t k = 0; me == 0 && k < weights.size(); ++k) {
                below.fork({.weight = weights[k]}, [&] {
                    count(started);
                    wait(end);
                });
            }
        });
        s.let_go(1);
        wait(started, 1);
        left = {s.queued(0), s.weight(0)};
        EXPECT_EQ(s.queued(1) + 1 + left.tasks, static_cast<std::int64_t>(weights.size()));
        open(end);
    }
    EXPECT_EQ(started, weights.size()) << "lost, or run twice";
    return left;
}

TEST_F(task_weights, half_of_a_nine_and_seven_ones_is_the_nine) {
    pilfer::options half = workers(2);
    half.balance.steal = steal_amount::half();
    for (const auto& o : every_exposure(half)) {
        SCOPED_TRACE("exposure " + std::to_string(static_cast<int>(o.balance.exposure)));
        EXPECT_EQ(after_a_theft(o, {9, 1, 1, 1, 1, 1, 1, 1}), (rest{7, 7}));
        EXPECT_EQ(after_a_theft(o, {1, 1, 1, 1, 1, 1, 1, 9}), (rest{1, 9}));
        EXPECT_EQ(after_a_theft(o, {1, 1, 1, 1, 1, 1, 1, 1}), (rest{4, 4}));
        EXPECT_EQ(after_a_theft(o, {3, task_options::most_weight}), (rest{1, task_options::most_weight}));
    }
}

TEST_F(task_weights, every_fraction_is_by_weight) {
    const std::vector<std::uint64_t> weights = {6, 2, 4, 8, 4}; // 24
    const std::pair<steal_amount, rest> rows[] = {
        {steal_amount::part(1, 4), {4, 18}},   {steal_amount::part(3, 4), {1, 4}},
        {steal_amount::part(1, 1), {0, 0}},    {steal_amount::one(), {4, 18}},
        {steal_amount::all_but_one(), {1, 4}}, {steal_amount::adaptive(), {4, 18}},
        {steal_amount::part(1, 2), {2, 12}},   {steal_amount::part(1, 65'536), {4, 18}},
    };
    for (const auto& [amount, expected] : rows) {
        pilfer::options o = workers(2);
        o.balance.steal = amount;
        EXPECT_EQ(after_a_theft(o, weights), expected)
            << static_cast<int>(amount.what) << " " << amount.numerator << "/" << amount.denominator;
    }
}

TEST_F(task_weights, move_with_stolen_tasks) {
    pilfer::options half = workers(3);
    half.balance.steal = steal_amount::half();
    half.balance.victim = pilfer::victim::ring;
    // The first thief takes 1, 9 and seven ones, which weigh half of all, and runs the first of them. The
    // second one takes half of the rest: the 9.
    const std::vector<std::uint64_t> weights = {1, 9, 1, 1, 1, 1, 1, 1, 1, 5, 1, 6, 5};
    for (const auto& o : every_exposure(half)) {
        std::atomic<unsigned> started{0};
        std::atomic<bool> end{false};
        {
            stand_still s(o, [&](unsigned me, pilfer::scope& below) {
                for (std::size_t k = 0; me == 0 && k < weights.size(); ++k) {
                    const auto task = [&] {
                        count(started);
                        wait(end);
                    };
                    // Some without a weight: they count as 1.
                    if (weights[k] == 1 && k % 2 == 0) {
                        below.fork(task);
                    } else {
                        below.fork({.weight = weights[k]}, task);
                    }
                }
            });
            EXPECT_EQ(s.weight(0), 34U);
            s.let_go(1);
            wait(started, 1);
            EXPECT_EQ(s.weight(0), 17U);
            EXPECT_EQ(s.queued(1), 8);
            EXPECT_EQ(s.weight(1), 16U);
            s.let_go(2);
            wait(started, 2);
            EXPECT_EQ(s.queued(1), 7);
            EXPECT_EQ(s.weight(1), 7U);
            EXPECT_EQ(s.queued(2), 0);
            open(end);
        }
        EXPECT_EQ(started, weights.size());
    }
}

TEST_F(task_weights, the_longest_queue_is_the_heaviest) {
    for (const bool heavy : {false, true}) {
        pilfer::options o = workers(3);
        o.balance.steal = steal_amount::one();
        o.balance.victim = pilfer::victim::longest;
        // otherwise the last look at all workers comes in between
        o.balance.exposure = exposure::always_public;
        std::array<std::atomic<unsigned>, 2> started{};
        std::atomic<unsigned> first{0};
        std::atomic<bool> end{false};
        {
            stand_still s(o, [&](unsigned me, pilfer::scope& below) {
                const auto task = [&, me] {
                    count(started[me]);
                    count(first);
                    wait(end);
                };
                for (unsigned k = 0; me == 0 && k < 10; ++k) {
                    below.fork(task);
                }
                for (unsigned k = 0; me == 1 && k < 2; ++k) {
                    heavy ? below.fork({.weight = 6}, task) : below.fork(task);
                }
            });
            s.let_go(2);
            wait(first, 1);
            EXPECT_EQ(started[heavy ? 1 : 0], 1U);
            EXPECT_EQ(started[heavy ? 0 : 1], 0U);
            open(end);
        }
    }
}

TEST_F(task_weights, survive_growth_of_the_ring) {
    constexpr std::size_t tasks = 3000;
    pilfer::options o = workers(2);
    o.balance.steal = steal_amount::half();
    std::vector<std::uint64_t> weights;
    std::uint64_t whole = 0;
    for (std::size_t k = 0; k < tasks; ++k) {
        weights.push_back(1 + k % 7 * 100);
        whole += weights.back();
    }
    std::atomic<unsigned> started{0};
    std::atomic<bool> end{false};
    {
        stand_still s(o, [&](unsigned me, pilfer::scope& below) {
            for (std::size_t k = 0; me == 0 && k < tasks; ++k) {
                below.fork({.weight = weights[k]}, [&] {
                    count(started);
                    wait(end);
                });
            }
        });
        EXPECT_EQ(s.weight(0), whole);
        s.let_go(1);
        wait(started, 1);
        // Half of it, to within half of the heaviest.
        EXPECT_NEAR(static_cast<double>(s.weight(0)), static_cast<double>(whole) / 2, 301);
        EXPECT_EQ(s.weight(0) + s.weight(1) + weights[0], whole);
        open(end);
    }
    EXPECT_EQ(started, tasks);
}

TEST_F(task_weights, keep_the_serial_order) {
    pilfer::pool pool(workers(1));
    // Atomic: a child and the rest of its parent are ordered by there being one worker only.
    std::array<std::atomic<char>, 8> order{};
    std::atomic<std::size_t> place{0};
    const auto note = [&](char c) { order[place.fetch_add(1)] = c; };
    pool.run([&] {
        pilfer::scope s;
        s.fork({.weight = 5}, [&] { note('c'); });
        s.fork([&] { note('b'); });
        s.spawn({.weight = 7}, [&] { note('a'); });
        note('|');
        s.sync();
        note('.');
        auto f = pool.async({.weight = 3}, [&] { note('d'); });
        f.get();
    });
    EXPECT_EQ(std::string(order.begin(), order.end()), std::string("a|bc.d\0\0", 8));
}

TEST_F(task_weights, work_outside_a_pool_from_descendants_and_with_exceptions) {
    std::atomic<int> ran{0};
    const auto one = [&] { ran.fetch_add(1); };
    {
        pilfer::scope s; // of a foreign thread: both are submissions
        s.spawn({.weight = 5}, one);
        s.fork({.weight = 5}, one);
        s.sync();
        auto f = pilfer::async({.weight = 5}, one);
        f.get();
    }
    EXPECT_EQ(ran, 3);
    pilfer::pool pool(workers(3));
    pool.run([&] {
        pilfer::scope s;
        s.spawn([&] { s.fork({.weight = 2}, one); });
        s.sync();
        const auto fails = [&] {
            s.spawn({.weight = 4}, [] { throw 5; });
            s.fork({.weight = 4}, [] { throw 5; });
            s.sync();
        };
        EXPECT_THROW(fails(), int);
        std::array<char, 4096> large{}; // too large for a child's stack, or a record
        s.spawn({.weight = 4}, [large, &one] { large[0] == 0 ? one() : void(); });
        s.fork({.weight = 4}, [large, &one] { large[0] == 0 ? one() : void(); });
        s.sync();
    });
    EXPECT_EQ(ran, 6);
}

TEST_F(task_weights, work_in_a_recording_pool) {
    pilfer::options o;
    o.workers = 1;
    o.debug.profile = true;
    pilfer::pool pool(o);
    std::atomic<int> ran{0};
    pool.run([&] { announce_all(way::fork, {5, 1, 7}, 0, [&] { ran.fetch_add(1); }); });
    pool.run([&] { announce_all(way::spawn, {5, 1, 7}, 0, [&] { ran.fetch_add(1); }); });
    EXPECT_EQ(ran, 6);
}

[[nodiscard]] std::string complaint(std::uint64_t value) {
    try {
        pilfer::async({.weight = value}, [] {}).get();
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "none";
}

TEST_F(bad_input_weights, weights_out_of_range_name_field_and_range) {
    EXPECT_EQ(complaint(0), "pilfer: a weight must be from 1 to 4294967296, not 0");
    EXPECT_EQ(complaint(4'294'967'297), "pilfer: a weight must be from 1 to 4294967296, not 4294967297");
    EXPECT_EQ(complaint(UINT64_MAX),
              "pilfer: a weight must be from 1 to 4294967296, not 18446744073709551615");
    EXPECT_EQ(complaint(1), "none");
    EXPECT_EQ(complaint(task_options::most_weight), "none");
    static_assert(task_options{}.weight == 1);
}

TEST_F(bad_input_weights, a_child_with_a_priority_is_refused_and_announces_nothing) {
    pilfer::pool pool(workers(1));
    bool ran = false;
    pool.run([&] {
        pilfer::scope s;
        for (const auto level : {pilfer::priority::high, pilfer::priority::normal, pilfer::priority::low}) {
            EXPECT_THROW(s.spawn({.priority = level}, [&] { ran = true; }), std::invalid_argument);
            EXPECT_THROW(s.fork({.priority = level}, [&] { ran = true; }), std::invalid_argument);
        }
        s.sync();
    });
    EXPECT_FALSE(ran);
}

/// A task's name while it runs, for every way to begin it. It keeps the rest of its options.
TEST_F(task_weights, names_keep_the_other_options) {
    const auto said = [] {
        const char* const name = pilfer::current_task_name();
        return std::string(name != nullptr ? name : "nobody");
    };
    for (const unsigned n : {1U, 3U}) {
        pilfer::pool pool(workers(n));
        EXPECT_EQ(pool.run({.name = "run"}, said), "run");
        EXPECT_EQ(pool.run({.priority = pilfer::priority::low, .name = "low"}, said), "low");
        EXPECT_EQ(pool.async({.priority = pilfer::priority::high, .name = "high"}, said).get(), "high");
        pool.run([&] {
            EXPECT_EQ(pool.run({.name = "here"}, said), "here");
            EXPECT_EQ(said(), "nobody") << "behind a call with a name";
            EXPECT_EQ(pilfer::async({.weight = 7, .name = "heavy"}, said).get(), "heavy");
            std::string spawned;
            std::string forked;
            std::string plain;
            pilfer::scope s;
            s.spawn({.weight = 2, .name = "spawned"}, [&] { spawned = said(); });
            s.fork({.weight = 3, .name = "forked"}, [&] { forked = said(); });
            s.fork({.weight = 3}, [&] { plain = said(); });
            s.sync();
            EXPECT_EQ(spawned, "spawned");
            EXPECT_EQ(forked, "forked");
            EXPECT_EQ(plain, "nobody");
            EXPECT_THROW(s.fork({.name = "two\nlines"}, [] {}), std::invalid_argument);
            EXPECT_THROW((void)pilfer::async({.name = std::string(256, 'x')}, [] {}), std::invalid_argument);
        });
        pilfer::event done;
        std::string submitted;
        pool.submit({.weight = 5, .name = "submitted"}, [&] {
            submitted = said();
            done.set();
        });
        done.wait();
        EXPECT_EQ(submitted, "submitted");
    }
}

TEST_F(bad_input_weights, a_bad_weight_announces_nothing) {
    for (const unsigned n : {1U, 3U}) {
        pilfer::pool pool(workers(n));
        bool ran = false;
        pool.run([&] {
            pilfer::scope s;
            std::uint64_t none = 0;
            EXPECT_THROW(s.spawn({.weight = none}, [&] { ran = true; }), std::invalid_argument);
            EXPECT_THROW(s.fork({.weight = none}, [&] { ran = true; }), std::invalid_argument);
            EXPECT_THROW((void)pilfer::async({.weight = none}, [&] { ran = true; }), std::invalid_argument);
            EXPECT_NO_THROW(s.sync());
        });
        EXPECT_FALSE(ran);
    }
}

TEST_F(bad_input_weights, a_scope_of_another_task) {
    pilfer::pool pool(workers(2));
    pool.run([&] {
        pilfer::scope s;
        pilfer::scope inner;
        inner.spawn([&] { EXPECT_THROW(s.spawn({.weight = 5}, [] {}), pilfer::usage_error); });
        inner.sync();
    });
}

} // namespace
