// A pool that follows the resources that the system grants. Scripted files replace the kernel's; a few tests
// read the real ones.
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "governor/governor.hpp"
#include "platform/pressure.hpp"
#include "pool/pool_core.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;
using pilfer::detail::pool_governor;
using pilfer::governor::rule;

/// A folder that replaces the system's root, with files about the threads of a pool.
class scripted {
public:
    scripted() {
        char name[] = "/tmp/pilfer-governor-XXXXXX";
        m_root = mkdtemp(name);
    }
    scripted(const scripted&) = delete;
    scripted& operator=(const scripted&) = delete;
    ~scripted() { std::filesystem::remove_all(m_root); }
    [[nodiscard]] const std::string& root() const { return m_root; }

    void thread_has_waited(std::uint64_t thread, std::uint64_t ns) const {
        write("/proc/self/task/" + std::to_string(thread) + "/schedstat",
              "123456 " + std::to_string(ns) + " 17\n");
    }
    void some_have_stalled(std::uint64_t us) const {
        write("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + std::to_string(us) +
                                        "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
    }
    void write(const std::string& name, const std::string& text) const {
        const std::filesystem::path path = m_root + name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }

private:
    std::string m_root;
};

/// A pool and a governor without a thread, which looks when the test calls it.
class governor_on_files : public guarded {
protected:
    void make(unsigned workers, pool_governor::sources from = {}) {
        pilfer::options o;
        o.workers = workers;
        pool = std::make_unique<pilfer::pool>(o);
        for (unsigned i = 0; i < workers; ++i) {
            while (pool->core().at(i).thread_id.load() == 0) {
                std::this_thread::yield();
            }
        }
        from.root = files.root();
        eye = std::make_unique<pool_governor>(pool->core(), std::move(from));
        waited.assign(workers, 0);
        look(0); // the first one only remembers
    }
    /// 50 ms later; each of the workers that are active has waited so long of them.
    void look(std::uint64_t each_ms) {
        for (unsigned i = 0; i < waited.size(); ++i) {
            waited[i] += i < pool->workers() ? each_ms * rule::millisecond : 0;
            files.thread_has_waited(pool->core().at(i).thread_id.load(), waited[i]);
        }
        now += pool_governor::each;
        eye->look(now);
    }
    scripted files;
    std::unique_ptr<pilfer::pool> pool;
    std::unique_ptr<pool_governor> eye;
    std::vector<std::uint64_t> waited;
    std::uint64_t now = 1;
};

TEST_F(governor_on_files, parks_and_unparks_on_scripted_files) {
    make(4, {.measures = true});
    files.some_have_stalled(0);
    for (int i = 0; i < 100; ++i) {
        look(0);
    }
    EXPECT_EQ(pool->workers(), 4U);
    look(25); // half of the time each: two CPUs are missing
    EXPECT_EQ(pool->workers(), 4U);
    look(25);
    EXPECT_EQ(pool->workers(), 2U);
    EXPECT_EQ(pool->run([] { return fib_join(14); }), fib(14));
    for (int i = 0; i < 3; ++i) {
        look(0);
        EXPECT_EQ(pool->workers(), 2U);
    }
    look(0);
    EXPECT_EQ(pool->workers(), 3U) << "one is tried";
    look(20);
    EXPECT_EQ(pool->workers(), 2U) << "there was no room";
    for (int i = 0; i < 100; ++i) {
        look(0);
    }
    EXPECT_EQ(pool->workers(), 4U);
    EXPECT_EQ(pool->run([] { return fib_join(14); }), fib(14));
}

TEST_F(governor_on_files, pressure_of_the_machine_makes_it_more_patient) {
    make(2, {.measures = true});
    std::uint64_t stalled = 0;
    const auto busy_look = [&](std::uint64_t each_ms) {
        files.some_have_stalled(stalled += 25'000);
        look(each_ms);
    };
    busy_look(25);
    busy_look(25);
    EXPECT_EQ(pool->workers(), 1U);
    for (unsigned i = 0; i < 20; ++i) {
        busy_look(0);
    }
    EXPECT_EQ(pool->workers(), 1U);
    for (unsigned i = 0; i < rule::most_patience / pool_governor::each; ++i) {
        busy_look(0);
    }
    EXPECT_EQ(pool->workers(), 2U);
}

TEST_F(governor_on_files, resize_stays_the_upper_bound) {
    make(4, {.measures = true});
    pool->resize(2);
    for (int i = 0; i < 60; ++i) {
        look(0);
    }
    EXPECT_EQ(pool->workers(), 2U);
    pool->resize(4);
    look(0);
    for (int i = 0; i < 60; ++i) {
        look(0);
    }
    EXPECT_EQ(pool->workers(), 4U);
}

TEST_F(governor_on_files, resize_upwards_does_not_wait_for_a_look) {
    for (const bool measures : {false, true}) {
        make(4, {.measures = measures, .advice = [] { return 0U; }});
        look(0);
        EXPECT_EQ(pool->resize(1), 1U);
        look(0);
        EXPECT_EQ(pool->resize(4), 4U);
        EXPECT_EQ(pool->workers(), 4U);
    }
}

TEST_F(governor_on_files, resize_returns_the_number_that_advice_allows) {
    make(4, {.advice = [] { return 2U; }});
    EXPECT_EQ(pool->workers(), 2U);
    EXPECT_EQ(pool->resize(4), 2U);
    EXPECT_EQ(pool->resize(1), 1U);
}

TEST_F(governor_on_files, a_late_look_parks_only_workers_without_a_cpu) {
    make(8, {.measures = true});
    for (int i = 0; i < 2; ++i) {
        now += 5 * pool_governor::each; // with look(): six times as long as usual
        look(75);                       // 600 ms in 300 ms: two CPUs are missing
    }
    EXPECT_EQ(pool->workers(), 6U);
}

TEST_F(governor_on_files, files_that_vanish_or_are_wrong_change_nothing) {
    make(3, {.measures = true});
    const std::uint64_t first = pool->core().at(0).thread_id.load();
    for (const char* text : {"", "x y z", "1", "-1 -2 -3", "99999999999999999999 99999999999999999999 1"}) {
        files.write("/proc/self/task/" + std::to_string(first) + "/schedstat", text);
        files.write("/proc/pressure/cpu", text);
        now += pool_governor::each;
        eye->look(now);
        EXPECT_EQ(pool->workers(), 3U) << text;
    }
    std::filesystem::remove_all(files.root() + "/proc");
    for (int i = 0; i < 10; ++i) {
        now += pool_governor::each;
        eye->look(now);
    }
    EXPECT_EQ(pool->workers(), 3U);
    eye->look(now); // no time has passed
    eye->look(1);   // a clock that has gone back
    EXPECT_EQ(pool->workers(), 3U);
}

TEST_F(governor_on_files, advice_by_a_callback_and_by_a_file) {
    unsigned advised = 0;
    make(4, {.advice = [&] { return advised; }, .advice_file = files.root() + "/advice"});
    EXPECT_EQ(pool->workers(), 4U);
    advised = 2;
    look(0);
    EXPECT_EQ(pool->workers(), 2U);
    files.write("/advice", "1\n");
    look(0);
    EXPECT_EQ(pool->workers(), 1U) << "the smaller of both";
    for (const char* none : {"0", "", "many", "-3", "5000"}) {
        files.write("/advice", none);
        look(0);
        EXPECT_EQ(pool->workers(), 2U) << none;
    }
    advised = 1000;
    look(0);
    EXPECT_EQ(pool->workers(), 4U);
}

class governed_pool : public guarded {};

[[nodiscard]] pilfer::options governed(unsigned workers) {
    pilfer::options o;
    o.workers = workers;
    o.governor = pilfer::governing::on;
    return o;
}

TEST_F(governed_pool, its_thread_begins_and_ends_with_the_pool) {
    if (!pilfer::os::waited_ns("", pilfer::os::thread_id())) {
        GTEST_SKIP() << "this kernel keeps no schedstat";
    }
    const auto before = thread_count();
    for (int i = 0; i < 20; ++i) {
        pilfer::pool pool(governed(3));
        EXPECT_EQ(pool.settings().governor, pilfer::governing::on);
        EXPECT_EQ(thread_count(), before + 4);
        EXPECT_EQ(pool.run([] { return fib_join(12); }), fib(12));
        if (i % 2 == 0) {
            pool.shutdown(pilfer::shutdown_mode::drop);
        }
    }
    EXPECT_TRUE(threads_become(before));
}

TEST_F(governed_pool, off_means_no_thread) {
    const auto before = thread_count();
    pilfer::pool pool(workers(2));
    EXPECT_EQ(pool.settings().governor, pilfer::governing::off);
    EXPECT_EQ(thread_count(), before + 2);
}

TEST_F(governed_pool, advice_is_followed_while_the_pool_works) {
    std::atomic<unsigned> asked{0};
    auto o = workers(4);
    o.advice = [&] {
        ++asked;
        return 1U;
    };
    pilfer::pool pool(o);
    while (pool.workers() != 1) {
        EXPECT_EQ(pool.run([] { return fib_join(16); }), fib(16));
    }
    EXPECT_GE(asked.load(), 1U);
}

TEST_F(governed_pool, a_sleeping_pool_is_not_observed) {
    for (const unsigned seats : {0U, 2U}) {
        std::atomic<unsigned> asked{0};
        auto o = workers(2);
        o.attachable = seats;
        o.advice = [&] {
            ++asked;
            return 0U;
        };
        pilfer::pool pool(o);
        // Until the count stays equal for five times as long as between two questions: then the governor asks
        // no more.
        for (unsigned last = UINT32_MAX; last != asked.load();) {
            last = asked.load();
            std::this_thread::sleep_for(250ms);
        }
        const unsigned before = asked.load();
        while (asked.load() == before) { // and again once it works
            EXPECT_EQ(pool.run([] { return fib_join(16); }), fib(16));
        }
    }
}

/// All work is on a worker that has stepped aside and was called back for it.
TEST_F(governed_pool, advice_is_read_while_only_an_unparked_worker_works) {
    std::atomic<unsigned> asked{0};
    auto o = workers(2);
    o.resume = pilfer::resume::own_thread;
    o.advice = [&] {
        ++asked;
        return 0U;
    };
    pilfer::pool pool(o);
    pilfer::event go;
    std::atomic<bool> waits{false};
    std::atomic<unsigned> met{0};
    pilfer::future<void> frame;
    pool.run([&] {
        pilfer::scope s;
        for (int i = 0; i < 2; ++i) {
            s.fork([&] {
                ++met;
                while (met.load() < 2) {
                    std::this_thread::yield();
                }
                if (pilfer::detail::this_worker()->index == 0) {
                    while (!waits.load()) {
                        std::this_thread::yield();
                    }
                    return;
                }
                frame = pool.async([&] {
                    waits = true;
                    go.wait();
                    for (const unsigned before = asked.load(); asked.load() < before + 3;) {
                        std::this_thread::yield();
                    }
                });
                while (!waits.load()) {
                    pilfer::yield();
                }
            });
        }
    });
    pool.resize(1);
    for (unsigned last = UINT32_MAX; last != asked.load();) {
        last = asked.load();
        std::this_thread::sleep_for(250ms);
    }
    go.set();
    frame.get();
    SUCCEED()
        << "the frame waits for three more questions: nobody asks them where only workers in place count";
}

TEST_F(governed_pool, advice_must_not_end_the_pool) {
    std::atomic<pilfer::pool*> victim{nullptr};
    std::atomic<unsigned> refused{0};
    auto o = workers(2);
    o.advice = [&]() -> unsigned {
        if (pilfer::pool* const p = victim.load()) {
            try {
                p->shutdown();
            } catch (const pilfer::usage_error&) {
                ++refused;
                throw;
            }
        }
        return 0;
    };
    pilfer::pool pool(o);
    victim = &pool;
    while (refused.load() < 2) {
        EXPECT_EQ(pool.run([] { return fib_join(16); }), fib(16));
    }
    EXPECT_EQ(pool.workers(), 2U);
}

/// Opening it would wait for a writer.
TEST_F(governed_pool, advice_by_a_named_pipe_is_ignored) {
    const scripted files;
    const std::string pipe = files.root() + "/pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_FALSE(pilfer::os::number_in(pipe).has_value());
    EXPECT_FALSE(pilfer::os::number_in(files.root()).has_value());
    EXPECT_FALSE(pilfer::os::number_in("/dev/zero").has_value());
}

TEST_F(governed_pool, advice_that_throws_is_ignored) {
    std::atomic<unsigned> asked{0};
    auto o = workers(2);
    o.advice = [&]() -> unsigned {
        ++asked;
        throw std::runtime_error("no idea");
    };
    pilfer::pool pool(o);
    while (asked.load() < 3) {
        EXPECT_EQ(pool.run([] { return fib_join(16); }), fib(16));
    }
    EXPECT_EQ(pool.workers(), 2U);
}

TEST_F(governed_pool, the_environment_sets_governor_and_advice) {
    setenv("PILFER_GOVERNOR", "on", 1);
    if (pilfer::os::waited_ns("", pilfer::os::thread_id())) {
        const pilfer::pool pool(workers(2));
        EXPECT_EQ(pool.settings().governor, pilfer::governing::on);
    }
    for (const char* text : {"", "yes", "ON", "on "}) {
        setenv("PILFER_GOVERNOR", text, 1);
        try {
            const pilfer::pool pool(workers(2));
            FAIL() << text;
        } catch (const std::invalid_argument& e) {
            EXPECT_EQ(std::string(e.what()),
                      std::string("pilfer: PILFER_GOVERNOR must be off or on, not \"") + text + '"');
        }
    }
    setenv("PILFER_GOVERNOR", "nonsense", 1);
    auto o = workers(2);
    o.governor = pilfer::governing::off; // an explicit option overrides the environment
    EXPECT_NO_THROW(pilfer::pool{o});
    unsetenv("PILFER_GOVERNOR");
    o.governor = static_cast<pilfer::governing>(3);
    EXPECT_THROW(pilfer::pool{o}, std::invalid_argument);

    const scripted files;
    files.write("/advice", "1");
    setenv("PILFER_ADVICE", (files.root() + "/advice").c_str(), 1);
    {
        pilfer::pool pool(workers(3));
        while (pool.workers() != 1) {
            EXPECT_EQ(pool.run([] { return fib_join(16); }), fib(16));
        }
    }
    unsetenv("PILFER_ADVICE");
}

TEST_F(governed_pool, other_back_ends_have_no_governor) {
    const auto before = thread_count();
    auto o = governed(2);
    o.backend = pilfer::backend::one_lock;
    {
        pilfer::pool simple(o);
        EXPECT_EQ(thread_count(), before + 2);
        EXPECT_EQ(simple.settings().governor, pilfer::governing::off);
    }
    auto r = governed(1);
    r.debug.profile = true;
    pilfer::pool recording(r);
    EXPECT_EQ(recording.settings().governor, pilfer::governing::off);
}

TEST(pressure, of_this_kernel_is_readable) {
    const auto mine = pilfer::os::waited_ns("", pilfer::os::thread_id());
    EXPECT_EQ(mine.has_value(), std::filesystem::exists("/proc/self/schedstat"));
    EXPECT_FALSE(pilfer::os::waited_ns("", 0).has_value());
    EXPECT_FALSE(pilfer::os::waited_ns("/nowhere", pilfer::os::thread_id()).has_value());
    EXPECT_EQ(pilfer::os::stalled_ns("").has_value(), std::filesystem::exists("/proc/pressure/cpu"));
    const scripted files;
    files.some_have_stalled(1234);
    EXPECT_EQ(pilfer::os::stalled_ns(files.root()), 1'234'000U);
    files.write("/proc/pressure/cpu", "full avg10=0.00 total=5\n");
    EXPECT_FALSE(pilfer::os::stalled_ns(files.root()).has_value());
}

} // namespace
