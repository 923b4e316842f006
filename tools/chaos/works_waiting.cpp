// Futures, other threads, other pools, sleepers: everything that waits across deques.
#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <vector>

#include "works_parts.hpp"

namespace tools {

void marks::check(char const* what) const {
    for (std::uint64_t i = 0; i < m_size; ++i) {
        if (at(i) != 1) {
            throw wrong_result(fmt::format("{}: number {} of {} ran {} times", what, i, m_size, at(i)));
        }
    }
}

namespace {

std::uint64_t leaf_sum(std::uint64_t depth) {
    if (depth == 0) {
        return 1;
    }
    auto [a, b] =
        pilfer::join([depth] { return leaf_sum(depth - 1); }, [depth] { return leaf_sum(depth - 1); });
    return a + b;
}

void rest_microseconds(std::uint64_t count) { std::this_thread::sleep_for(std::chrono::microseconds(count)); }

} // namespace

/// A chain and a fan of futures in tasks; each is asked for several times, by several.
std::uint64_t work_futures(bench& b) {
    std::uint64_t const n = b.random.between(1, 300);
    std::uint64_t const got = b.pool.run([n] {
        std::vector<pilfer::future<std::uint64_t>> row;
        for (std::uint64_t i = 0; i < n; ++i) {
            if (i >= 2) {
                row.push_back(pilfer::async([one = row[i - 1], two = row[i / 2], i] {
                    return (one.get() + two.get() + i) % 1'000'003;
                }));
            } else {
                row.push_back(pilfer::async([i] { return i; }));
            }
        }
        auto [x, y] = pilfer::join([&] { return row.back().get(); }, [&] { return row.back().get(); });
        return x == y ? x : UINT64_MAX;
    });
    std::vector<std::uint64_t> wanted;
    for (std::uint64_t i = 0; i < n; ++i) {
        wanted.push_back(i < 2 ? i : (wanted[i - 1] + wanted[i / 2] + i) % 1'000'003);
    }
    if (got != wanted.back()) {
        throw wrong_result(fmt::format("a chain of {} futures gave {}, not {}", n, got, wanted.back()));
    }
    return n;
}

/// Threads outside the pool: submissions, futures, run.
std::uint64_t work_foreign(bench& b) {
    std::uint64_t const threads = b.random.between(1, 4);
    std::uint64_t const each = b.random.between(1, 60);
    marks all(threads * each);
    std::atomic<std::uint64_t> wrong{0};
    {
        std::vector<std::jthread> strangers;
        for (std::uint64_t t = 0; t < threads; ++t) {
            strangers.emplace_back([&, t] {
                std::vector<pilfer::future<std::uint64_t>> results;
                for (std::uint64_t i = 0; i < each; ++i) {
                    std::uint64_t const id = t * each + i;
                    if (i % 8 == 7) {
                        wrong += b.pool.run([&all, id] {
                            all.set(id);
                            return leaf_sum(3);
                        }) != 8;
                    } else {
                        results.push_back(b.pool.async([&all, id] {
                            all.set(id);
                            return leaf_sum(id % 6);
                        }));
                    }
                }
                std::uint64_t k = 0;
                for (std::uint64_t i = 0; i < each; ++i) {
                    if (i % 8 != 7) {
                        wrong += results[k++].get() != std::uint64_t{1} << (t * each + i) % 6;
                    }
                }
            });
        }
    }
    if (wrong.load() != 0) {
        throw wrong_result(fmt::format("{} results of submissions are wrong", wrong.load()));
    }
    all.check("submissions");
    return threads * each;
}

/// A second pool: tasks of one wait for the other, and it is drained or dropped while it has work.
std::uint64_t work_pools(bench& b) {
    pilfer::options o;
    o.workers = static_cast<unsigned>(b.random.between(1, 4));
    o.resume =
        b.random.pick({pilfer::resume::anywhere, pilfer::resume::own_thread, pilfer::resume::elsewhere});
    pilfer::pool other(o);
    std::uint64_t const n = b.random.between(1, 40);
    std::uint64_t const got = b.pool.run([&] {
        return pilfer::reduce(
            std::uint64_t{0}, n, std::uint64_t{0},
            [&](std::uint64_t) { return other.run([&] { return b.pool.run([] { return leaf_sum(2); }); }); },
            [](std::uint64_t x, std::uint64_t y) { return x + y; });
    });
    if (got != 4 * n) {
        throw wrong_result(fmt::format("two pools in turn counted {}, not {}", got, 4 * n));
    }
    bool const drops = b.random.one_in(2);
    std::uint64_t const asked = b.random.between(1, 400);
    marks all(asked);
    std::vector<pilfer::future<std::uint64_t>> results;
    for (std::uint64_t i = 0; i < asked; ++i) {
        results.push_back(other.async([&all, i] {
            all.set(i);
            return leaf_sum(4);
        }));
    }
    other.shutdown(drops ? pilfer::shutdown_mode::drop : pilfer::shutdown_mode::drain);
    std::uint64_t dropped = 0;
    for (std::uint64_t i = 0; i < asked; ++i) {
        bool broken = false;
        try {
            if (results[i].get() != 16) {
                throw wrong_result("a task that ran before a shutdown has a wrong result");
            }
        } catch (pilfer::broken_promise const&) {
            broken = true;
            ++dropped;
        }
        if (all.at(i) != (broken ? 0 : 1)) {
            throw wrong_result(fmt::format("task {} of {} ran {} times, and its promise {} broken", i, asked,
                                           all.at(i), broken ? "was" : "was not"));
        }
    }
    if (dropped != other.counters().dropped || (!drops && dropped != 0)) {
        throw wrong_result(fmt::format("shutdown({}) broke {} promises and counted {} dropped tasks",
                                       drops ? "drop" : "drain", dropped, other.counters().dropped));
    }
    return 3 * n + asked - dropped;
}

/// Everybody falls asleep; then a few tasks, one or many at a time.
std::uint64_t work_burst(bench& b) {
    std::uint64_t const rounds = b.random.between(1, 20);
    std::uint64_t const most = b.random.pick<std::uint64_t>({1, 2, 50});
    std::uint64_t const pause = b.random.pick<std::uint64_t>({0, 50, 300, 2000});
    std::uint64_t tasks = 0;
    for (std::uint64_t r = 0; r < rounds; ++r) {
        rest_microseconds(pause);
        std::uint64_t const n = b.random.between(1, most);
        marks all(n);
        std::vector<pilfer::future<void>> results;
        for (std::uint64_t i = 0; i < n; ++i) {
            results.push_back(b.pool.async([&all, i] { all.set(i); }));
        }
        for (auto& f : results) {
            f.get();
        }
        all.check("tasks of a burst");
        tasks += n;
    }
    return tasks;
}

/// One task for each worker, and none ends before all have started. Each needs a worker that is awake, so a
/// worker that keeps sleeping is noticed.
std::uint64_t work_meeting(bench& b) {
    unsigned const n = b.pool.workers();
    std::uint64_t const rounds = b.random.between(1, 10);
    bool const spawns = b.random.one_in(2);
    std::uint64_t const pause = b.random.pick<std::uint64_t>({0, 0, 100, 1000});
    for (std::uint64_t r = 0; r < rounds; ++r) {
        rest_microseconds(pause);
        std::atomic<unsigned> there{0};
        auto const meet = [&there, n] {
            there.fetch_add(1);
            while (there.load() < n) {
                std::this_thread::yield();
            }
        };
        if (r % 3 == 2) {
            std::vector<pilfer::future<void>> all;
            for (unsigned i = 0; i < n; ++i) {
                all.push_back(b.pool.async(meet));
            }
            for (auto& f : all) {
                f.get();
            }
            continue;
        }
        b.pool.run([&] {
            pilfer::scope s;
            for (unsigned i = 0; i + 1 < n; ++i) {
                if (spawns) {
                    s.spawn(meet);
                } else {
                    s.fork(meet);
                }
            }
            meet();
            s.sync();
        });
    }
    return rounds * n;
}

std::array<work, 14> const& works() {
    static constexpr std::array<work, 14> all = {{
        {"join", false, &work_join},
        {"spawn", false, &work_spawn},
        {"fork", false, &work_fork},
        {"mixed forks", false, &work_mixed},
        {"flat scope", false, &work_flat},
        {"loops", false, &work_loops},
        {"nesting", false, &work_nesting},
        {"joins that throw", false, &work_join_throws},
        {"scopes that throw", false, &work_scope_throws},
        {"futures", true, &work_futures},
        {"foreign threads", false, &work_foreign},
        {"two pools", true, &work_pools},
        {"bursts", false, &work_burst},
        {"meeting", true, &work_meeting},
    }};
    return all;
}

} // namespace tools
