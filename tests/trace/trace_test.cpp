// A trace is well-formed after any loss of a ring, agrees with the counters, and costs nothing when off.
// Optimised in every build: recursions fill the usual stack with frames of their size.
#include <atomic>
#include <cstdio>
#include <fstream>
#include <locale>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "pool/pool_core.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"
#include "trace/document.hpp"

namespace {

using namespace support;

/// Joins, spawns, forks, asyncs and a loop, enough for thefts on any number of workers.
void busy(pilfer::pool& pool, unsigned n = 12) {
    pool.run([n] {
        EXPECT_EQ(fib_join(n), fib(n));
        EXPECT_EQ(fib_spawn(n), fib(n));
        EXPECT_EQ(fib_fork(n), fib(n));
        std::vector<pilfer::future<std::uint64_t>> all;
        for (int i = 0; i < 20; ++i) {
            all.push_back(pilfer::async([] { return fib_spawn(6); }));
        }
        for (auto& f : all) {
            EXPECT_EQ(f.get(), fib(6));
        }
        std::atomic<int> runs{0};
        pilfer::for_each(0, 20'000, [&](int) { runs.fetch_add(1, std::memory_order_relaxed); });
        EXPECT_EQ(runs, 20'000);
    });
}

class trace_document : public over_workers {
protected:
    /// All that the trace and the counters both know. The pool has ended.
    static void expect_agreement(const pilfer::pool& pool) {
        const auto c = pool.counters();
        const document d = written(pool);
        ASSERT_EQ(d.overwritten(), 0U) << "the ring of this test is too small";
        EXPECT_EQ(d.tracks(), pool.workers());
        std::uint64_t stolen = d.count("on top: stolen ");
        EXPECT_EQ(d.count("stolen ") + stolen, c.run_stolen);
        for (const char* task : {"spark", "continuation", "forked"}) {
            stolen += d.sum(std::string("stolen ") + task, "tasks");
        }
        EXPECT_EQ(stolen, c.tasks_stolen);
        EXPECT_EQ(d.count("own ") + d.count("on top: own "), c.run_own);
        EXPECT_EQ(d.count("submitted ") + d.count("on top: submitted "), c.run_submitted);
        EXPECT_EQ(d.count("resumed here") + d.count("resumed anywhere"), c.run_resumed);
        EXPECT_EQ(d.count("resumed "), c.resumes);
        EXPECT_EQ(d.count("suspended"), c.suspends);
        EXPECT_EQ(d.count("sleep"), c.sleeps);
        EXPECT_EQ(d.count("wake "), c.wakes);
        EXPECT_EQ(d.count("force expose "), c.reaches);
        EXPECT_EQ(d.count("expose "), c.exposures);
        EXPECT_EQ(d.sum("expose", "tasks"), c.exposed_tasks);
        EXPECT_EQ(d.sum("missed steals", "failed"), c.steals_failed);
        EXPECT_EQ(d.sum("missed steals", "lost"), c.steals_lost);
        EXPECT_EQ(c.steals_tried, c.run_stolen + c.steals_failed + c.steals_lost);
        EXPECT_EQ(d.count("plain call") + d.count("on top: "), c.no_context);
        // The file has equal counters.
        EXPECT_EQ(d.counter("run_stolen"), c.run_stolen);
        EXPECT_EQ(d.counter("tasks_stolen"), c.tasks_stolen);
        EXPECT_EQ(d.counter("suspends"), c.suspends);
        EXPECT_EQ(d.counter("contexts_peak"), c.contexts_peak);
    }
    static void run_and_compare(const pilfer::options& o, int times = 3) {
        pilfer::pool pool(o);
        for (int i = 0; i < times; ++i) {
            busy(pool);
        }
        pool.shutdown();
        expect_agreement(pool);
    }
};

TEST_P(trace_document, agrees_with_the_counters) { run_and_compare(traced(GetParam())); }

TEST_P(trace_document, agrees_with_the_counters_for_every_policy) {
    for (const auto resume : {pilfer::resume::own_thread, pilfer::resume::elsewhere}) {
        for (const std::size_t stacks : {0U, 2U}) {
            pilfer::options o = traced(GetParam(), 1 << 18);
            o.balance.exposure = pilfer::exposure::always_public;
            o.balance.steal =
                stacks == 0 ? pilfer::steal_amount::half() : pilfer::steal_amount::all_but_one();
            o.resume = resume;
            o.max_contexts = stacks;
            if (stacks != 0) {
                o.stack_size = std::size_t{16} << 20; // tasks run on top of others
            }
            // Once: with few stacks workers nap, and a longer run has more events.
            run_and_compare(o, 1);
        }
    }
}

TEST_P(trace_document, a_ring_that_wraps_stays_balanced) {
    for (const std::size_t size : {64U, 128U}) {
        pilfer::options o = traced(GetParam(), size);
        o.max_contexts = 3; // slices on top of others, too
        o.stack_size = std::size_t{16} << 20;
        o.resume = pilfer::resume::elsewhere;
        pilfer::pool pool(o);
        for (int i = 0; i < 5; ++i) {
            busy(pool, 9);
            const document d = written(pool);
            EXPECT_LE(d.events(), GetParam() * (2 * size + 2));
        }
        pool.shutdown();
        const document d = written(pool);
        EXPECT_GT(d.overwritten(), 0U);
        std::uint64_t kept = 0;
        for (const auto& t : d.json().at("otherData").at("tracks")) {
            kept += t.at("events").get<std::uint64_t>();
            if (t.at("overwritten") > 0) {
                EXPECT_EQ(t.at("events").get<std::uint64_t>(), size - 1) << "the newest are kept";
            }
        }
        EXPECT_GE(kept, size - 1);
    }
}

TEST_P(trace_document, may_be_written_while_the_workers_run) {
    pilfer::options o = traced(GetParam(), 64);
    o.resume = pilfer::resume::elsewhere;
    pilfer::pool pool(o);
    std::atomic<bool> stop{false};
    auto work = pool.async([&] {
        while (!stop) {
            (void)fib_spawn(8);
        }
    });
    // One worker has no thief for its joins: its ring holds its one slice only.
    const std::uint64_t wanted = GetParam() == 1 ? 0 : hundredth_of(100'000);
    const std::uint64_t documents = hundredth_of(5'000, 10);
    for (std::uint64_t i = 1; i <= documents; ++i) {
        document d = written(pool);
        EXPECT_LE(d.events(), GetParam() * (2 * 64U + 2));
        while (i == documents && (d.events() == 0 || d.overwritten() < wanted)) {
            d = written(pool);
        }
    }
    stop = true;
    work.get();
}

PILFER_OVER_WORKERS(trace_document);

class trace_switched_off : public guarded {};

TEST_F(trace_switched_off, is_the_default_and_has_no_ring) {
    EXPECT_EQ(pilfer::options{}.debug.trace_events, 0U);
    pilfer::pool pool(workers(3));
    busy(pool);
    EXPECT_EQ(pool.settings().debug.trace_events, 0U);
    for (unsigned i = 0; i < pool.workers(); ++i) {
        EXPECT_EQ(pool.core().at(i).log.traced(), nullptr) << "0 bytes";
    }
    const document d = written(pool);
    EXPECT_EQ(d.events(), 0U);
    EXPECT_EQ(d.tracks(), 3U);
    EXPECT_GE(d.counter("run_submitted"), 1U);
}

TEST_F(trace_switched_off, a_large_ring_is_no_memory_before_it_is_filled) {
    if (sanitized || emulated) {
        GTEST_SKIP() << "memory is counted together with the tool's";
    }
    const auto before = resident_bytes();
    pilfer::pool pool(traced(4, std::size_t{1} << 24)); // 1 GiB of addresses
    EXPECT_EQ(pool.run([] { return 1; }), 1);
    EXPECT_LT(resident_bytes() - before, 16U << 20);
}

class bad_input_trace : public guarded {};

TEST_F(bad_input_trace, malformed_sizes) {
    for (const std::size_t wrong : {std::size_t{1}, std::size_t{32}, std::size_t{63}, std::size_t{65},
                                    std::size_t{100'000}, std::size_t{1} << 25, SIZE_MAX}) {
        pilfer::options o = traced(1, wrong);
        try {
            const pilfer::pool pool(o);
            ADD_FAILURE() << wrong << " was accepted";
        } catch (const std::invalid_argument& e) {
            const std::string text = e.what();
            EXPECT_NE(text.find("options.debug.trace_events"), std::string::npos) << text;
            EXPECT_NE(text.find("power of two"), std::string::npos) << text;
            EXPECT_NE(text.find("64"), std::string::npos) << text;
            EXPECT_NE(text.find("16777216"), std::string::npos) << text;
        }
    }
    EXPECT_NO_THROW(pilfer::pool(traced(1, 64)));
}

TEST_F(bad_input_trace, a_file_that_cannot_be_written) {
    pilfer::pool pool(traced(1));
    try {
        pilfer::write_trace(pool, "/nowhere/at/all.json");
        ADD_FAILURE() << "accepted";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code().value(), ENOENT);
        EXPECT_NE(std::string(e.what()).find("/nowhere/at/all.json"), std::string::npos) << e.what();
    }
    EXPECT_EQ(pool.run([] { return 3; }), 3);
    EXPECT_THROW(pilfer::write_trace(pool, "/dev/full"), std::system_error);
}

TEST_F(bad_input_trace, a_locale_that_groups_digits_changes_nothing) {
    struct grouping : std::numpunct<char> {
        [[nodiscard]] char do_thousands_sep() const override { return '.'; }
        [[nodiscard]] std::string do_grouping() const override { return "\1"; }
    };
    pilfer::pool pool(traced(1));
    busy(pool);
    pool.shutdown();
    std::ostringstream out;
    out.imbue(std::locale(std::locale::classic(), new grouping));
    pilfer::write_trace(pool, out);
    EXPECT_EQ(document(out.str()).counter("run_submitted"), 1U);
}

/// A path of this process and test, removed at the end.
class temporary {
public:
    explicit temporary(const std::string& name)
        : m_path(::testing::TempDir() + "pilfer_" + std::to_string(getpid()) + "_" + name) {}
    temporary(const temporary&) = delete;
    temporary& operator=(const temporary&) = delete;
    ~temporary() {
        std::remove(m_path.c_str());
        std::remove((m_path + ".2").c_str());
    }
    [[nodiscard]] const std::string& path() const { return m_path; }
    [[nodiscard]] static std::string text(const std::string& path) {
        std::ifstream in(path);
        std::ostringstream all;
        all << in.rdbuf();
        return all.str();
    }
    [[nodiscard]] std::string text() const { return text(m_path); }

private:
    std::string m_path;
};

TEST_F(bad_input_trace, write_trace_replaces_a_file) {
    const temporary file("replaced");
    std::ofstream(file.path()) << std::string(100'000, '}');
    pilfer::pool pool(traced(2));
    busy(pool);
    pilfer::write_trace(pool, file.path());
    EXPECT_EQ(document(file.text()).tracks(), 2U);
}

class trace_environment : public guarded {};

TEST_F(trace_environment, every_pool_writes_its_file_at_its_end) {
    const temporary file("each");
    const auto result = in_child([&] {
        setenv("PILFER_TRACE", file.path().c_str(), 1);
        pilfer::pool first(workers(2));
        {
            pilfer::pool second(workers(3));
            busy(second);
        }
        busy(first);
        const bool on = first.settings().debug.trace_events == 65'536;
        first.shutdown();
        const bool at_shutdown = !temporary::text(file.path()).empty();
        return on && at_shutdown ? 0 : 1;
    });
    ASSERT_TRUE(result.exited_with(0)) << result;
    const document first(file.text());
    const document second(temporary::text(file.path() + ".2"));
    EXPECT_EQ(first.tracks(), 2U);
    EXPECT_EQ(second.tracks(), 3U);
    for (const auto* d : {&first, &second}) {
        EXPECT_EQ(d->overwritten(), 0U);
        EXPECT_EQ(d->count("stolen "), d->counter("run_stolen"));
        EXPECT_EQ(d->count("submitted "), 1U);
    }
}

TEST_F(trace_environment, the_common_pool_writes_at_the_end_of_the_program) {
    const temporary file("common_%p");
    std::string path;
    const auto result = in_child([&] {
        setenv("PILFER_TRACE", file.path().c_str(), 1);
        setenv("PILFER_WORKERS", "2", 1);
        (void)pilfer::join([] {}, [] {});
        const std::string named = std::to_string(getpid());
        (void)!write(2, named.data(), named.size());
        std::exit(0);
        return 1;
    });
    ASSERT_TRUE(result.exited_with(0)) << result;
    path = file.path();
    path.replace(path.find("%p"), 2, result.output);
    const document d(temporary::text(path));
    std::remove(path.c_str());
    EXPECT_EQ(d.tracks(), 2U);
    EXPECT_EQ(d.count("submitted "), 1U);
}

TEST_F(trace_environment, an_unusable_path_is_an_error_before_any_work) {
    for (const char* wrong : {"", "/nowhere/at/all.json", "/"}) {
        const auto result = in_child([wrong] {
            setenv("PILFER_TRACE", wrong, 1);
            try {
                const pilfer::pool pool(workers(1));
            } catch (const std::exception& e) {
                const std::string text = e.what();
                return text.find("PILFER_TRACE") != std::string::npos && text.find(wrong) != std::string::npos
                           ? 0
                           : 2;
            }
            return 1;
        });
        EXPECT_TRUE(result.exited_with(0)) << '"' << wrong << "\": " << result;
    }
}

TEST_F(trace_environment, a_full_disk_is_reported_and_the_results_are_kept) {
    const auto result = in_child([] {
        setenv("PILFER_TRACE", "/dev/full", 1);
        std::uint64_t n = 0;
        {
            pilfer::pool pool(workers(2));
            n = pool.run([] { return fib_join(10); });
        }
        return n == fib(10) ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_TRUE(result.said("PILFER_TRACE: /dev/full")) << result;
}

TEST_F(trace_environment, a_forked_child_leaves_the_file_to_its_parent) {
    const temporary file("forked");
    const auto result = in_child([&] {
        setenv("PILFER_TRACE", file.path().c_str(), 1);
        setenv("PILFER_WORKERS", "1", 1);
        (void)pilfer::join([] {}, [] {});
        if (const pid_t child = fork(); child == 0) {
            std::exit(0);
        } else {
            int status = 0;
            waitpid(child, &status, 0);
        }
        const bool untouched = temporary::text(file.path()).empty();
        if (!untouched) {
            return 1;
        }
        std::exit(0);
    });
    ASSERT_TRUE(result.exited_with(0)) << result;
    EXPECT_EQ(document(file.text()).tracks(), 1U);
}

} // namespace
