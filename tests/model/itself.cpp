// The checker's reports, their replay, and the range of its searches.
#include <gtest/gtest.h>

#include <optional>

#include "harness.hpp"

namespace {

using namespace model;

constexpr auto rlx = std::memory_order_relaxed;
constexpr auto acq = std::memory_order_acquire;
constexpr auto rel = std::memory_order_release;

/// The first failure within `most` executions of `s`.
template <class H>
std::optional<result> first_failure(strategy& s, unsigned most = 20'000) {
    const harness h = registered<H>::of("itself", "");
    for (unsigned i = 0; i < most && s.begin(); ++i) {
        const result& r = here().run(h, s);
        if (r.failed) {
            return r;
        }
    }
    return std::nullopt;
}

/// All three strategies report `text`, and their recordings fail equally.
template <class H>
void expect_found(const char* text) {
    random_walk r(1);
    priorities p(1, 3);
    exhaustive e(3, 3);
    for (strategy* s : {static_cast<strategy*>(&r), static_cast<strategy*>(&p), static_cast<strategy*>(&e)}) {
        const auto found = first_failure<H>(*s);
        ASSERT_TRUE(found.has_value()) << text;
        EXPECT_NE(found->message.find(text), std::string::npos) << found->message;
        replay again(from_text(to_text(found->choices)));
        const auto twice = first_failure<H>(again, 1);
        ASSERT_TRUE(twice.has_value());
        EXPECT_EQ(twice->message, found->message);
    }
}

template <class H>
void expect_clean() {
    random_walk r(1);
    priorities p(1, 3);
    exhaustive e(3, 3);
    for (strategy* s : {static_cast<strategy*>(&r), static_cast<strategy*>(&p), static_cast<strategy*>(&e)}) {
        const auto found = first_failure<H>(*s);
        EXPECT_FALSE(found.has_value()) << found->message;
    }
}

struct nothing {
    void finish() {}
};

// ---- reports ----------------------------------------------------------------------------------

struct locks_crossed : nothing {
    static constexpr unsigned threads = 2;
    atomic<int> a{0};
    atomic<int> b{0};
    static void lock(atomic<int>& l) {
        for (unsigned round = 0; l.exchange(1, acq) != 0; ++round) {
            atom::relax(round);
        }
    }
    void thread(unsigned i) {
        lock(i == 0 ? a : b);
        lock(i == 0 ? b : a);
        a.store(0, rel);
        b.store(0, rel);
    }
};

TEST(itself, finds_a_deadlock) { expect_found<locks_crossed>("nobody can go on: thread 1 waits"); }

template <bool SetBefore>
struct sleeper : nothing {
    static constexpr unsigned threads = 2;
    atomic<std::uint32_t> word{0};
    void thread(unsigned i) {
        if (i == 0) {
            while (word.load(acq) == 0) {
                park::wait(word, 0);
            }
        } else if (SetBefore) {
            word.store(1, rel);
            park::wake(word);
        } else {
            park::wake(word);
            word.store(1, rel);
        }
    }
};

TEST(itself, finds_a_lost_wake_up) {
    expect_found<sleeper<false>>("thread 1 sleeps");
    expect_clean<sleeper<true>>();
}

/// A thread that sleeps on two words. For each of them another thread may change it; thread `Silent` does not
/// wake.
template <int Silent>
struct sleeper_on_two : nothing {
    static constexpr unsigned threads = 3;
    atomic<std::uint32_t> words[2];
    bool changed = false; // of the checker itself
    void thread(unsigned i) {
        if (i == 2) {
            while (words[0].load(acq) == 0 && words[1].load(acq) == 0) {
                park::wait_either(words[0], 0, words[1], 0, 0);
            }
            return;
        }
        if (here().choose(2) == 0) {
            return;
        }
        changed = true;
        words[i].store(1, rel);
        if (static_cast<int>(i) != Silent) {
            park::wake(words[i]);
        }
    }
    bool at_rest() const { return !changed; }
};

TEST(itself, finds_a_lost_wake_up_of_a_sleeper_on_two_words) {
    expect_found<sleeper_on_two<0>>("sleeps");
    expect_found<sleeper_on_two<1>>("sleeps");
    expect_clean<sleeper_on_two<2>>();
}

struct wakes_by_chance : nothing {
    static constexpr unsigned threads = 2;
    atomic<std::uint32_t> word{0};
    void thread(unsigned i) {
        if (i == 0) {
            park::wait(word, 0);
            check(word.load(acq) == 1, "woken for nothing");
        } else {
            word.store(1, rel);
            park::wake(word);
        }
    }
};

TEST(itself, wakes_sleepers_without_a_reason) { expect_found<wakes_by_chance>("woken for nothing"); }

struct touches_the_dead : nothing {
    static constexpr unsigned threads = 2;
    struct frame {
        atomic<int> done{0};
    };
    alignas(frame) std::byte memory[sizeof(frame)];
    frame* there = ::new (static_cast<void*>(memory)) frame;
    void thread(unsigned i) {
        if (i == 0) {
            there->done.store(1, rel);
            (void)there->done.load(rlx); // the setter touches it after its last store
        } else {
            while (there->done.load(acq) == 0) {
                atom::relax(0);
            }
            std::destroy_at(there);
        }
    }
};

TEST(itself, finds_a_use_after_free) { expect_found<touches_the_dead>("use after free"); }

struct built_without_an_edge : nothing {
    static constexpr unsigned threads = 2;
    struct thing {
        atomic<int> value{7};
    };
    alignas(thing) std::byte memory[sizeof(thing)];
    atomic<thing*> there{nullptr};
    void thread(unsigned i) {
        if (i == 0) {
            there.store(::new (static_cast<void*>(memory)) thing, rlx);
        } else if (thing* t = there.load(acq)) {
            (void)t->value.load(rlx);
        }
    }
};

TEST(itself, finds_a_use_before_construction) {
    expect_found<built_without_an_edge>("construction did not happen before");
}

struct twice {
    static constexpr unsigned threads = 2;
    atomic<int> taken{0};
    tasks<1> all;
    twice() { all.announce(0); }
    void thread(unsigned) {
        if (taken.load(rlx) == 0) { // and not a compare-and-swap
            taken.store(1, rlx);
            all.run(0);
        }
    }
    void finish() { all.finish(); }
};

TEST(itself, finds_a_task_that_runs_twice) { expect_found<twice>("ran twice"); }

struct never {
    static constexpr unsigned threads = 2;
    atomic<int> offered{0};
    tasks<1> all;
    void thread(unsigned i) {
        if (i == 0) {
            all.announce(0);
            offered.store(1, rel);
        } else if (offered.load(acq) == 1) {
            all.run(0);
        }
    }
    void finish() { all.finish(); }
};

TEST(itself, finds_a_task_that_is_lost) { expect_found<never>("lost"); }

struct endless : nothing {
    static constexpr unsigned threads = 2;
    atomic<int> x{0};
    void thread(unsigned i) {
        while (i == 0) {
            (void)x.fetch_add(1, rlx);
        }
    }
};

TEST(itself, finds_a_loop_without_an_end) { expect_found<endless>("without an end"); }

struct left_in_peace {
    static constexpr unsigned threads = 2;
    atomic<std::uint32_t> word{0};
    bool fine = true; // of the checker: threads may sleep for good
    void thread(unsigned i) {
        if (i == 0) {
            for (;;) {
                park::wait(word, 0);
            }
        }
        here().never_again();
    }
    void finish() { fine = false; }
    [[nodiscard]] bool at_rest() const { return fine; }
};

TEST(itself, accepts_endless_sleep_if_the_harness_does) {
    exhaustive e(2, 1);
    EXPECT_FALSE(first_failure<left_in_peace>(e).has_value());
}

// ---- searches ---------------------------------------------------------------------------------

/// n threads that change k own variables each: nothing but schedules to choose from.
template <unsigned Threads, unsigned Steps>
struct independent : nothing {
    static constexpr unsigned threads = Threads;
    atomic<int> x[Threads];
    void thread(unsigned i) {
        for (unsigned k = 0; k < Steps; ++k) {
            (void)x[i].fetch_add(1, rlx);
        }
    }
};

template <class H>
std::uint64_t executions(unsigned preemptions) {
    const harness h = registered<H>::of("itself", "");
    exhaustive s(preemptions, 0);
    std::uint64_t n = 0;
    for (; s.begin(); ++n) {
        EXPECT_FALSE(here().run(h, s).failed);
    }
    return n;
}

TEST(itself, the_exhaustive_search_counts_right) {
    // Two threads of one step: which is first. A thread can be preempted before its only step, too.
    EXPECT_EQ((executions<independent<2, 1>>(0)), 2U);
    EXPECT_EQ((executions<independent<3, 1>>(0)), 6U);
    EXPECT_EQ((executions<independent<3, 5>>(0)), 6U);
    // Preempted before any of its k steps: 2 * (1 + k).
    EXPECT_EQ((executions<independent<2, 1>>(1)), 4U);
    EXPECT_EQ((executions<independent<2, 3>>(1)), 8U);
}

/// Executions with at most `preemptions` that `first` begins.
template <class H>
std::uint64_t begun_by(unsigned first, unsigned preemptions) {
    const harness h = registered<H>::of("itself", "");
    exhaustive s(preemptions, 0, first);
    std::uint64_t n = 0;
    for (; s.begin(); ++n) {
        EXPECT_FALSE(here().run(h, s).failed);
    }
    return n;
}

TEST(itself, a_search_is_the_sum_of_its_parts_by_first_thread) {
    for (const unsigned preemptions : {0U, 1U, 2U}) {
        std::uint64_t sum = 0;
        for (const unsigned first : {0U, 1U, 2U}) {
            const std::uint64_t part = begun_by<independent<3, 5>>(first, preemptions);
            EXPECT_GT(part, 0U);
            sum += part;
        }
        EXPECT_EQ(sum, (executions<independent<3, 5>>(preemptions)));
    }
}

/// Only if the third thread begins, and is preempted by the first.
struct begun_by_the_third : nothing {
    static constexpr unsigned threads = 3;
    unsigned before = 0; // of the checker itself
    atomic<int> x{0};
    void thread(unsigned i) {
        before = 10 * before + i + 1;
        (void)x.fetch_add(1, rlx);
        check(i != 0 || before != 31, "begun by the third");
    }
};

TEST(itself, the_named_thread_begins) {
    for (const unsigned first : {0U, 1U, 2U}) {
        exhaustive s(2, 0, first);
        EXPECT_EQ(first_failure<begun_by_the_third>(s).has_value(), first == 2) << first;
    }
}

/// Stale reads as well: the reader may see any of three values.
struct read_thrice : nothing {
    static constexpr unsigned threads = 2;
    atomic<int> x{0};
    void thread(unsigned i) {
        for (int k = 1; k < 4; ++k) {
            if (i == 0) {
                x.store(k, rlx);
            } else {
                (void)x.load(rlx);
            }
        }
    }
};

/// The mean of `probes` estimates, with its known error, against the search itself.
template <class H>
void expect_estimated(unsigned preemptions, unsigned odd) {
    const harness h = registered<H>::of("itself", "");
    exhaustive all(preemptions, odd);
    std::uint64_t n = 0;
    for (; all.begin(); ++n) {
        EXPECT_FALSE(here().run(h, all).failed);
    }
    probe s(1, preemptions, odd);
    for (unsigned i = 0; i < 20'000 && s.begin(); ++i) {
        EXPECT_FALSE(here().run(h, s).failed);
    }
    const auto size = static_cast<double>(n);
    EXPECT_NEAR(s.mean(), size, 4 * s.standard_error()) << preemptions << ' ' << odd;
    EXPECT_LT(s.standard_error(), size / 20) << preemptions << ' ' << odd;
}

TEST(itself, the_size_of_a_search_is_estimated) {
    expect_estimated<independent<3, 5>>(0, 0);
    for (const unsigned preemptions : {1U, 2U, 3U}) {
        expect_estimated<independent<2, 3>>(preemptions, 0);
        expect_estimated<independent<3, 5>>(preemptions, 0);
        for (const unsigned odd : {0U, 1U, 2U}) {
            expect_estimated<read_thrice>(preemptions, odd);
        }
    }
}

struct deep_bug : nothing {
    static constexpr unsigned threads = 2;
    atomic<int> x{0};
    void thread(unsigned i) {
        if (i == 0) {
            for (int k = 0; k < 20; ++k) {
                x.store(k, rlx);
            }
        } else {
            int ten = 10;
            const bool first = x.compare_exchange_strong(ten, -1, rlx, rlx);
            if (first) {
                check(x.load(rlx) != 19, "preempted twice");
            }
        }
    }
};

TEST(itself, priorities_find_a_bug_of_depth_three) {
    priorities p(1, 3);
    EXPECT_TRUE(first_failure<deep_bug>(p, 100'000).has_value());
}

TEST(itself, the_same_seed_makes_the_same_choices) {
    random_walk a(5);
    random_walk b(5);
    random_walk other(6);
    const harness h = registered<independent<3, 5>>::of("itself", "");
    std::vector<std::vector<std::uint8_t>> made;
    for (random_walk* s : {&a, &b, &other}) {
        ASSERT_TRUE(s->begin());
        (void)here().run(h, *s);
        made.push_back(s->choices());
    }
    EXPECT_EQ(made[0], made[1]);
    EXPECT_NE(made[0], made[2]);
}

TEST(itself, choices_survive_conversion_to_text) {
    const std::vector<std::uint8_t> some = {0, 1, 9, 10, 35, 36, 61};
    EXPECT_EQ(from_text(to_text(some)), some);
    EXPECT_TRUE(from_text("01-2").empty());
}

// ---- weakened orders --------------------------------------------------------------------------

struct passing : nothing {
    static constexpr unsigned threads = 2;
    plain<int> data{0};
    atomic<int> flag{0};
    void thread(unsigned i) {
        if (i == 0) {
            data = 1;
            flag.store(1, rel);
        } else if (flag.load(acq) == 1) {
            check(data == 1, "wrong data");
        }
    }
};

TEST(itself, a_weakened_order_is_weaker) {
    const harness h = registered<passing>::of("itself", "");
    std::vector<site> sites;
    here().collect(&sites);
    random_walk s(1);
    ASSERT_TRUE(s.begin());
    (void)here().run(h, s);
    here().collect(nullptr);
    ASSERT_EQ(sites.size(), 2U);
    for (const site& one : sites) {
        const mutation m{one, rlx};
        here().mutate(&m);
        exhaustive e(3, 3);
        const auto found = first_failure<passing>(e);
        here().mutate(nullptr);
        ASSERT_TRUE(found.has_value()) << to_string(one.kind);
        EXPECT_NE(found->message.find("data race"), std::string::npos);
    }
    expect_clean<passing>();
}

} // namespace
