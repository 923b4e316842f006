// Work and span in strands and tasks are exact: formulae, programs computed by hand, and random programs
// against an evaluation that never runs them.
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "support/harness.hpp"

namespace {

using namespace support;

[[nodiscard]] pilfer::options recording() {
    pilfer::options o;
    o.debug.profile = true;
    return o;
}

struct counts {
    std::uint64_t strands;
    std::uint64_t span_strands;
    std::uint64_t tasks;
    std::uint64_t span_tasks;

    friend bool operator==(const counts&, const counts&) = default;
    friend std::ostream& operator<<(std::ostream& out, const counts& c) {
        return out << c.strands << " strands, span " << c.span_strands << "; " << c.tasks << " tasks, span "
                   << c.span_tasks;
    }
};

[[nodiscard]] counts of(const pilfer::work_span& p) {
    return {p.strands, p.span_strands, p.tasks, p.span_tasks};
}

/// Conditions that hold for any times.
void expect_sane(const pilfer::work_span& p) {
    EXPECT_TRUE(p.complete);
    EXPECT_LE(p.span_ns, p.work_ns);
    EXPECT_LE(p.span_ns, p.burdened_span_ns);
    EXPECT_GE(p.parallelism(), 1);
    EXPECT_LE(p.span_strands, p.strands);
    EXPECT_LE(p.span_tasks, p.tasks);
}

template <class F>
[[nodiscard]] counts recorded(F f, pilfer::options o = recording()) {
    pilfer::pool pool(o);
    pool.run(f);
    const auto p = pool.profile();
    expect_sane(p);
    return of(p);
}

class exact_work_and_span : public guarded {};

TEST_F(exact_work_and_span, a_task_that_forks_nothing_is_one_strand) {
    pilfer::pool pool(recording());
    EXPECT_EQ(of(pool.profile()), (counts{0, 0, 0, 0}));
    for (std::uint64_t i = 1; i <= 3; ++i) {
        pool.run([] {});
        EXPECT_EQ(of(pool.profile()), (counts{i, i, i, i})) << "what one thread runs in turn is a chain";
    }
    EXPECT_EQ(pool.workers(), 1U);
}

TEST_F(exact_work_and_span, fib_has_its_formula) {
    for (unsigned n = 1; n <= 14; ++n) {
        const std::uint64_t forks = fib(n + 1) - 1;
        // Each fork ends a strand and begins two, each join ends two and begins one.
        const std::uint64_t strands = 1 + 3 * forks;
        EXPECT_EQ(recorded([n] { (void)fib_join(n); }), (counts{strands, 2 * n - 1, 1 + forks, 1 + n / 2}))
            << n << ": the offered one is fib(n - 2)";
        EXPECT_EQ(recorded([n] { (void)fib_spawn(n); }), (counts{strands, 2 * n - 1, 1 + forks, n})) << n;
        EXPECT_EQ(recorded([n] { (void)fib_fork(n); }), (counts{strands, 2 * n - 1, 1 + forks, n})) << n;
    }
}

TEST_F(exact_work_and_span, a_flat_scope) {
    const auto flat = [](bool spawn) {
        return recorded([spawn] {
            pilfer::scope s;
            for (int i = 0; i < 1'000; ++i) {
                spawn ? s.spawn([] {}) : s.fork([] {});
            }
            s.sync();
        });
    };
    // The parent's 1,000 strands between the forks are a chain, and the last child hangs on its end.
    EXPECT_EQ(flat(true), (counts{2'002, 1'002, 1'001, 2}));
    EXPECT_EQ(flat(false), (counts{2'002, 1'002, 1'001, 2}));
}

TEST_F(exact_work_and_span, joins_and_spawns_with_a_sync_in_the_middle) {
    // By hand. The root's strands are r0 .. r7; A has 3 and its second branch 1; B, C and y have 1.
    // Longest: r0, A before its join, a branch, A after it, r3, r4, r5 or y, r6, r7.
    // Tasks: root, A, A's second branch, then C or y.
    EXPECT_EQ(recorded([] {
                  pilfer::scope s;
                  s.spawn([] { (void)pilfer::join([] {}, [] {}); }); // A
                  s.spawn([] {});                                    // B
                  s.sync();
                  s.spawn([] {});                   // C
                  (void)pilfer::join([] {}, [] {}); // y is the second
                  s.sync();
              }),
              (counts{15, 9, 6, 4}));
}

TEST_F(exact_work_and_span, a_future_that_a_forked_child_waits_for) {
    // By hand. The root: r0 fork F, r1 fork D1, r2 fork D2, r3 sync, r4 get, r5. F joins three times in turn:
    // 10 strands, 7 of them a chain. D1: d0 get d1. Longest: r0, F's 7, d1, r4, r5. Tasks: root, F, the
    // second branches of F's joins: 5.
    EXPECT_EQ(recorded([] {
                  auto f = pilfer::async([] {
                      for (int i = 0; i < 3; ++i) {
                          (void)pilfer::join([] {}, [] {});
                      }
                  });
                  pilfer::scope s;
                  s.fork([f] { f.get(); });
                  s.fork([] {});
                  s.sync();
                  f.get();
              }),
              (counts{19, 11, 7, 5}));
}

TEST_F(exact_work_and_span, a_future_without_a_waiter_is_a_chain_of_its_own) {
    pilfer::pool pool(recording());
    pool.run([] {
        (void)pilfer::async([] {
            (void)pilfer::join([] {}, [] {});
            (void)pilfer::join([] {}, [] {});
        });
    });
    pool.shutdown();
    EXPECT_EQ(of(pool.profile()), (counts{9, 6, 4, 4}));
}

TEST_F(exact_work_and_span, a_foreign_thread_forks_and_waits_too) {
    pilfer::pool pool(recording());
    auto first = pool.async([] { (void)pilfer::join([] {}, [] {}); });
    auto second = pool.async([] {});
    first.get();
    second.get();
    // The two are parallel; a later run follows both.
    EXPECT_EQ(of(pool.profile()), (counts{5, 3, 3, 2}));
    pool.run([] {});
    EXPECT_EQ(of(pool.profile()), (counts{6, 4, 4, 3}));
}

TEST_F(exact_work_and_span, a_join_of_several_is_a_nest) {
    // The later ones are one task until it is taken: j1 | (j2 | (j3 | j4)).
    EXPECT_EQ(recorded([] { (void)pilfer::join([] {}, [] {}, [] {}, [] {}); }), (counts{10, 7, 4, 4}));
}

TEST_F(exact_work_and_span, exceptions_keep_the_recorded_work) {
    const auto fail = [] { throw std::runtime_error("no"); };
    const auto calm = [](auto f) {
        try {
            f();
        } catch (const std::runtime_error&) {
        }
    };
    EXPECT_EQ(recorded([&] { calm([&] { (void)pilfer::join(fail, [] {}); }); }), (counts{4, 3, 2, 2}));
    EXPECT_EQ(recorded([&] { calm([&] { (void)pilfer::join([] {}, fail); }); }), (counts{4, 3, 2, 2}));
    EXPECT_EQ(recorded([&] { calm([&] { (void)pilfer::join(fail, fail); }); }), (counts{4, 3, 2, 2}));
    EXPECT_EQ(recorded([&] {
                  calm([&] {
                      pilfer::scope s;
                      s.spawn(fail);
                      s.spawn([] {}); // dropped: not a task
                      s.sync();
                  });
              }),
              (counts{4, 3, 2, 2}));
    EXPECT_EQ(recorded([&] { calm([&] { pilfer::async(fail).get(); }); }), (counts{4, 3, 2, 2}));
    // In a catch block a spawn is a plain call, and a join is a join.
    EXPECT_EQ(recorded([&] {
                  try {
                      fail();
                  } catch (const std::runtime_error&) {
                      pilfer::scope s;
                      s.spawn([] {});
                      (void)pilfer::join([] {}, [] {});
                  }
              }),
              (counts{4, 3, 2, 2}));
}

TEST_F(exact_work_and_span, is_equal_under_all_options) {
    for (const std::size_t stacks : {0U, 1U, 2U, 5U}) {
        for (const auto resume :
             {pilfer::resume::anywhere, pilfer::resume::own_thread, pilfer::resume::elsewhere}) {
            for (const auto exposure : {pilfer::exposure::on_demand, pilfer::exposure::always_public}) {
                pilfer::options o = recording();
                o.max_contexts = stacks;
                if (stacks != 0) {
                    o.stack_size = std::size_t{16} << 20; // tasks run on top of others
                }
                o.resume = resume;
                o.balance.exposure = exposure;
                o.balance.unshare = pilfer::unshare::all;
                EXPECT_EQ(recorded([] { (void)fib_join(10); }, o), (counts{265, 19, 89, 6})) << stacks;
                EXPECT_EQ(recorded([] { (void)fib_fork(10); }, o), (counts{265, 19, 89, 10})) << stacks;
            }
        }
    }
}

TEST_F(exact_work_and_span, submissions_that_make_tasks_yield) {
    // Many threads submit while one long recursion runs: contexts give way in the middle of announcements.
    pilfer::pool pool(recording());
    std::vector<std::thread> threads;
    const auto rounds = hundredth_of(2'000, 5);
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            for (std::uint64_t k = 0; k < rounds; ++k) {
                pool.run([] {
                    (void)fib_join(6);
                    (void)fib_spawn(6);
                });
            }
        });
    }
    for (auto& t : threads) {
        t.join();
    }
    const auto p = pool.profile();
    expect_sane(p);
    EXPECT_EQ(p.tasks, 3 * rounds * 25) << "fib(6) forks 12 times";
    EXPECT_EQ(p.strands, 3 * rounds * 73);
}

// ---- random programs -------------------------------------------------------------------------------------

/// A program and its expected result: work and the two spans follow from its shape alone.
struct program {
    enum class step { join, spawn, fork, sync, nested_scope, async, get };
    struct action {
        step what;
        std::unique_ptr<program> one;
        std::unique_ptr<program> other;
    };
    std::vector<action> actions;
};

[[nodiscard]] std::unique_ptr<program> random_program(std::mt19937_64& dice, unsigned depth) {
    auto p = std::make_unique<program>();
    const std::uint64_t n = depth == 0 ? 0 : dice() % 5;
    for (std::uint64_t i = 0; i < n; ++i) {
        auto& a = p->actions.emplace_back();
        a.what = static_cast<program::step>(dice() % 7);
        if (a.what != program::step::sync && a.what != program::step::get) {
            a.one = random_program(dice, depth - 1);
        }
        if (a.what == program::step::join) {
            a.other = random_program(dice, depth - 1);
        }
    }
    return p;
}

/// One body of a scope: its own scope, and the futures that it made.
void run(const program& p) {
    std::vector<pilfer::future<void>> futures;
    pilfer::scope s;
    for (const auto& a : p.actions) {
        switch (a.what) {
        case program::step::join:
            (void)pilfer::join([&] { run(*a.one); }, [&] { run(*a.other); });
            break;
        case program::step::spawn:
            s.spawn([&] { run(*a.one); });
            break;
        case program::step::fork:
            s.fork([&] { run(*a.one); });
            break;
        case program::step::sync:
            s.sync();
            break;
        case program::step::nested_scope:
            run(*a.one);
            break;
        case program::step::async:
            futures.push_back(pilfer::async([&] { run(*a.one); }));
            break;
        case program::step::get:
            for (const auto& f : futures) {
                f.get();
            }
            break;
        }
    }
    s.sync();
    for (const auto& f : futures) {
        f.get(); // the programs refer to objects of this frame
    }
}

class evaluation {
public:
    struct length {
        std::uint64_t strands;
        std::uint64_t tasks;
    };
    [[nodiscard]] counts of_root(const program& p) {
        const length end = task(p, {0, 0});
        return {m_strands, end.strands, m_tasks, end.tasks};
    }

private:
    void close(length& at) {
        ++m_strands;
        ++at.strands;
    }
    static void raise(length& at, const length& other) {
        at.strands = std::max(at.strands, other.strands);
        at.tasks = std::max(at.tasks, other.tasks);
    }
    [[nodiscard]] length task(const program& p, length at) {
        ++m_tasks;
        ++at.tasks;
        body(p, at);
        close(at);
        return at;
    }
    void wait(length& at, std::vector<length>& ends) {
        if (!ends.empty()) {
            close(at);
        }
        for (const auto& e : ends) {
            raise(at, e);
        }
        ends.clear();
    }
    void body(const program& p, length& at) {
        std::vector<length> children;
        std::vector<length> futures;
        const auto get = [&] {
            for (const auto& f : futures) {
                close(at);
                raise(at, f);
            }
        };
        for (const auto& a : p.actions) {
            switch (a.what) {
            case program::step::join: {
                close(at);
                const length other = task(*a.other, at);
                body(*a.one, at);
                close(at);
                raise(at, other);
                break;
            }
            case program::step::spawn:
            case program::step::fork:
                close(at);
                children.push_back(task(*a.one, at));
                break;
            case program::step::sync:
                wait(at, children);
                break;
            case program::step::nested_scope:
                body(*a.one, at);
                break;
            case program::step::async:
                close(at);
                futures.push_back(task(*a.one, at));
                break;
            case program::step::get:
                get();
                break;
            }
        }
        wait(at, children);
        get();
    }

    std::uint64_t m_strands = 0;
    std::uint64_t m_tasks = 0;
};

TEST_F(exact_work_and_span, random_programs) {
    std::mt19937_64 dice(7);
    for (std::uint64_t i = 0; i < hundredth_of(10'000, 20); ++i) {
        const auto p = random_program(dice, 5);
        EXPECT_EQ(recorded([&] { run(*p); }), evaluation().of_root(*p)) << "program " << i;
    }
}

} // namespace
