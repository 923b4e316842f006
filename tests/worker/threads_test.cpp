// The name and the priority of a worker's thread, read back from /proc, and the calls at its beginning and
// end.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// The kernel's names of this process's threads; threads that end meanwhile are left out.
[[nodiscard]] std::vector<std::string> thread_names() {
    std::vector<std::string> names;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "comm");
        if (std::string name; std::getline(file, name)) {
            names.push_back(name);
        }
    }
    return names;
}
[[nodiscard]] bool is_there(const std::string& name) {
    const auto names = thread_names();
    return std::find(names.begin(), names.end(), name) != names.end();
}
/// Of the calling thread.
[[nodiscard]] std::string own_name() {
    std::ifstream file("/proc/thread-self/comm");
    std::string name;
    std::getline(file, name);
    return name;
}
/// Field 19 of its stat.
[[nodiscard]] int own_nice() {
    std::ifstream file("/proc/thread-self/stat");
    std::string line;
    std::getline(file, line);
    std::istringstream rest(line.substr(line.rfind(')') + 2));
    std::string skipped;
    for (int field = 3; field < 19; ++field) {
        rest >> skipped;
    }
    int nice = 99;
    rest >> nice;
    return nice;
}

class worker_threads : public guarded {};

TEST_F(worker_threads, names_are_read_back) {
    const std::pair<std::string, std::string> cases[] = {
        {"", "pilfer/"}, {"db", "db/"}, {"ten_bytes_", "ten_bytes_/"}, {"%s %n", "%s %n/"}};
    for (const auto& [name, prefix] : cases) {
        pilfer::options o = workers(3);
        o.name = name;
        pilfer::pool pool(o);
        EXPECT_EQ(pool.settings().name, name);
        EXPECT_THAT(pool.run([] { return own_name(); }), testing::StartsWith(prefix));
        // They name themselves, and may not have got so far.
        for (unsigned i = 0; i < 3; ++i) {
            EXPECT_TRUE(eventually([&] { return is_there(prefix + std::to_string(i)); })) << prefix << i;
        }
    }
}

TEST_F(worker_threads, the_last_of_the_most_workers_keeps_its_number) {
    if (sanitized || emulated) {
        GTEST_SKIP() << "too many threads";
    }
    pilfer::options o = workers(1'001);
    o.name = "ten_bytes_";
    std::mutex lock;
    std::vector<std::string> names;
    o.on_start = [&](unsigned i) {
        if (i == 1'000) {
            const std::lock_guard hold(lock);
            names.push_back(own_name());
        }
    };
    const pilfer::pool pool(o);
    if (pool.workers() == 1'001) {
        EXPECT_THAT(names, ElementsAre("ten_bytes_/1000"));
    }
}

TEST_F(worker_threads, helpers_of_blocking_have_the_name_too) {
    pilfer::options o = workers(1);
    EXPECT_EQ(pilfer::pool(o).run([] { return pilfer::blocking([] { return own_name(); }); }),
              "pilfer/blocking");
    o.name = "longest__x";
    EXPECT_EQ(pilfer::pool(o).run([] { return pilfer::blocking([] { return own_name(); }); }),
              "longest__x/bloc");
}

/// The calls by worker, in their order: "start", "task", "stop".
class journal {
public:
    void add(unsigned worker, const std::string& what) {
        const std::lock_guard hold(m_lock);
        m_lines.resize(std::max<std::size_t>(m_lines.size(), worker + 1));
        m_lines[worker].push_back(what);
        m_threads.resize(m_lines.size());
        m_threads[worker].push_back(static_cast<int>(gettid()));
    }
    [[nodiscard]] std::vector<std::vector<std::string>> lines() {
        const std::lock_guard hold(m_lock);
        return m_lines;
    }
    /// Each worker's entries come from one thread.
    [[nodiscard]] bool of_one_thread_each() {
        const std::lock_guard hold(m_lock);
        return std::all_of(m_threads.begin(), m_threads.end(), [](const auto& own) {
            return std::all_of(own.begin(), own.end(), [&](int id) { return id == own.front(); });
        });
    }
    [[nodiscard]] pilfer::options asked_for(pilfer::options o) {
        o.on_start = [this](unsigned i) { add(i, "start"); };
        o.on_stop = [this](unsigned i) { add(i, "stop"); };
        return o;
    }

private:
    std::mutex m_lock;
    std::vector<std::vector<std::string>> m_lines;
    std::vector<std::vector<int>> m_threads;
};

void expect_each_started_and_stopped(journal& j, std::size_t workers) {
    const auto lines = j.lines();
    EXPECT_EQ(lines.size(), workers);
    for (const auto& own : lines) {
        EXPECT_EQ(std::count(own.begin(), own.end(), "start"), 1);
        EXPECT_EQ(std::count(own.begin(), own.end(), "stop"), 1);
        EXPECT_EQ(own.front(), "start");
        EXPECT_EQ(own.back(), "stop");
    }
    EXPECT_TRUE(j.of_one_thread_each());
}

class thread_callbacks : public over_workers {};

TEST_P(thread_callbacks, before_the_first_task_and_after_the_last_one) {
    for (const auto backend : {pilfer::backend::work_stealing, pilfer::backend::one_lock}) {
        journal j;
        pilfer::options o = j.asked_for(with_workers());
        o.backend = backend;
        o.max_extra_workers = 0;
        {
            pilfer::pool pool(o);
            EXPECT_EQ(j.lines().size(), GetParam()) << "the constructor waits for them";
            for (int i = 0; i < 20; ++i) {
                pool.submit([&] { j.add(pilfer::detail::this_worker()->index, "task"); });
            }
            EXPECT_EQ(pool.run([] { return fib_join(10); }), fib(10));
        }
        expect_each_started_and_stopped(j, GetParam());
        std::size_t tasks = 0;
        for (const auto& own : j.lines()) {
            tasks += static_cast<std::size_t>(std::count(own.begin(), own.end(), "task"));
        }
        EXPECT_EQ(tasks, 20U);
    }
}

TEST_P(thread_callbacks, a_drop_calls_on_stop) {
    journal j;
    pilfer::pool pool(j.asked_for(with_workers()));
    pilfer::latch begun(1);
    std::atomic<bool> over{false};
    pool.submit([&] {
        begun.count_down();
        while (!over) {
            pilfer::yield();
        }
    });
    begun.wait();
    std::thread ends([&] { pool.shutdown(pilfer::shutdown_mode::drop); });
    over = true;
    ends.join();
    expect_each_started_and_stopped(j, GetParam());
    pool.shutdown();
    expect_each_started_and_stopped(j, GetParam());
}

TEST_P(thread_callbacks, one_that_throws_at_the_start_is_the_constructors_exception) {
    const auto threads = thread_count();
    for (const auto backend : {pilfer::backend::work_stealing, pilfer::backend::one_lock}) {
        for (unsigned bad = 0; bad < GetParam(); bad += 1 + GetParam() / 3) {
            journal j;
            pilfer::options o = j.asked_for(with_workers());
            o.backend = backend;
            o.on_start = [&](unsigned i) {
                if (i == bad) {
                    throw std::out_of_range("worker " + std::to_string(i));
                }
                j.add(i, "start");
            };
            try {
                const pilfer::pool pool(o);
                ADD_FAILURE() << "nothing was thrown";
            } catch (const std::out_of_range& e) {
                EXPECT_EQ(e.what(), "worker " + std::to_string(bad));
            }
            auto lines = j.lines();
            lines.resize(GetParam());
            for (unsigned i = 0; i < GetParam(); ++i) {
                if (i == bad) {
                    EXPECT_TRUE(lines[i].empty());
                } else {
                    EXPECT_THAT(lines[i], ElementsAre("start", "stop"));
                }
            }
        }
    }
    EXPECT_TRUE(threads_become(threads));
}

TEST_P(thread_callbacks, all_may_throw) {
    pilfer::options o = with_workers();
    std::atomic<int> stopped{0};
    o.on_start = [](unsigned) { throw 5; };
    o.on_stop = [&](unsigned) { stopped.fetch_add(1); };
    EXPECT_THROW(pilfer::pool{o}, int);
    EXPECT_EQ(stopped, 0);
}

PILFER_OVER_WORKERS(thread_callbacks);

TEST_F(worker_threads, a_constructor_that_fails_after_the_start_calls_on_stop) {
    const auto result = in_child([] {
        if (geteuid() == 0 && setresuid(65'534, 65'534, 65'534) != 0) {
            return 77;
        }
        journal j;
        pilfer::options o = j.asked_for(workers(2));
        o.debug.dump_signal = SIGUSR1; // takes a thread, which is made last
        o.on_start = [&](unsigned i) {
            if (i == 1) {
                // The other one has been made by then: it is made first.
                const rlimit none{0, 0};
                setrlimit(RLIMIT_NPROC, &none);
            }
            j.add(i, "start");
        };
        try {
            const pilfer::pool pool(o);
            return 77; // a sandbox that permits it to every user
        } catch (const std::system_error&) {
        }
        const std::vector<std::string> both{"start", "stop"};
        return j.lines() == std::vector{both, both} ? 0 : 1;
    });
    if (result.exited_with(77)) {
        GTEST_SKIP() << "threads cannot be refused here";
    }
    EXPECT_TRUE(result.exited_with(0)) << result;
}

TEST_F(worker_threads, callbacks_run_as_on_foreign_threads) {
    pilfer::pool other(workers(2));
    std::atomic<unsigned> good{0};
    pilfer::options o = workers(2);
    const auto use = [&](unsigned) {
        // On its own large stack, which has nothing of the pool.
        volatile char large[1 << 20];
        large[0] = 1;
        large[sizeof large - 1] = 1;
        good += pilfer::detail::this_worker() == nullptr && other.run([] { return fib_join(10); }) == fib(10)
                    ? 1
                    : 0;
    };
    o.on_start = use;
    o.on_stop = use;
    {
        pilfer::pool pool(o);
        EXPECT_EQ(good, 2U);
        EXPECT_EQ(pool.run([] { return fib_spawn(10); }), fib(10));
    }
    EXPECT_EQ(good, 4U);
}

TEST_F(worker_threads, a_shutdown_by_on_stop_is_refused) {
    pilfer::pool* itself = nullptr;
    std::atomic<int> refused{0};
    pilfer::options o = workers(2);
    o.on_stop = [&](unsigned) {
        try {
            itself->shutdown();
        } catch (const pilfer::usage_error& e) {
            refused += std::string(e.what()).find("on_stop") != std::string::npos ? 1 : 0;
        }
        EXPECT_THROW(itself->submit([] {}), pilfer::pool_closed);
    };
    {
        pilfer::pool pool(o);
        itself = &pool;
    }
    EXPECT_EQ(refused, 2);
}

TEST_F(worker_threads, one_that_throws_at_the_end_ends_the_program) {
    const auto result = in_child([] {
        pilfer::options o = workers(2);
        o.on_stop = [](unsigned) { throw std::runtime_error("spoiled end"); };
        pilfer::pool{o}.shutdown();
        return 0;
    });
    EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
    EXPECT_TRUE(result.said("pilfer: options.on_stop has thrown: spoiled end\n")) << result;
}

TEST_F(worker_threads, temporary_threads_of_one_lock_call_both) {
    journal j;
    pilfer::options o = j.asked_for(workers(1));
    o.backend = pilfer::backend::one_lock;
    {
        pilfer::pool pool(o);
        pool.run([&] {
            pilfer::event done;
            pool.submit([&] { done.set(); });
            done.wait(); // the only thread blocks: another one runs the setting task
        });
    }
    const auto lines = j.lines();
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_THAT(lines[0], ElementsAre("start", "stop"));
    EXPECT_THAT(lines[1], ElementsAre("start", "stop"));
}

TEST_F(worker_threads, a_temporary_thread_whose_start_throws_ends_the_program) {
    const auto result = in_child([] {
        pilfer::options o = workers(1);
        o.backend = pilfer::backend::one_lock;
        o.on_start = [](unsigned i) {
            if (i != 0) {
                throw std::runtime_error("no more of them");
            }
        };
        pilfer::pool pool(o);
        pool.run([&] {
            pilfer::event done;
            pool.submit([&] { done.set(); });
            done.wait();
        });
        return 0;
    });
    EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
    EXPECT_TRUE(result.said("pilfer: options.on_start has thrown: no more of them\n")) << result;
}

TEST_F(worker_threads, helpers_of_blocking_call_neither) {
    journal j;
    {
        pilfer::pool pool(j.asked_for(workers(1)));
        pool.run([] { pilfer::blocking([] {}); });
    }
    ASSERT_EQ(j.lines().size(), 1U);
    EXPECT_THAT(j.lines()[0], ElementsAre("start", "stop"));
}

TEST_F(worker_threads, a_priority_is_read_back) {
    const auto result = in_child([] {
        const int before = own_nice();
        for (const auto backend : {pilfer::backend::work_stealing, pilfer::backend::one_lock}) {
            pilfer::options o = workers(2);
            o.priority = 3;
            o.backend = backend;
            std::atomic<int> wrong{0};
            o.on_start = [&](unsigned) { wrong += own_nice() == std::min(before + 3, 19) ? 0 : 1; };
            pilfer::pool pool(o);
            std::ostringstream text;
            pool.dump(text);
            if (wrong != 0 || pool.run([] { return own_nice(); }) != std::min(before + 3, 19) ||
                own_nice() != before ||
                text.str().find(", nice " + std::to_string(std::min(before + 3, 19)) + ")") ==
                    std::string::npos) {
                return 1;
            }
            // A pool that a task makes has its maker's priority, and temporary threads have their pool's.
            if (pool.run([] { return pilfer::pool(workers(1)).run([] { return own_nice(); }); }) !=
                std::min(before + 3, 19)) {
                return 2;
            }
        }
        pilfer::options most = workers(1);
        most.priority = 19;
        return pilfer::pool(most).run([] { return own_nice(); }) == std::min(before + 19, 19) ? 0 : 3;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

TEST_F(worker_threads, without_a_priority_nothing_is_set) {
    pilfer::pool pool(workers(2));
    EXPECT_EQ(pool.run([] { return own_nice(); }), own_nice());
    std::ostringstream text;
    pool.dump(text);
    EXPECT_THAT(text.str(), Not(HasSubstr("nice")));
    EXPECT_THAT(text.str(), Not(HasSubstr("priority")));
}

/// Without the privilege, for every user that runs the test.
TEST_F(worker_threads, a_refused_priority_is_no_error_and_is_listed_in_the_dump) {
    const auto result = in_child([] {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_NICE, &none);
        if (geteuid() == 0 && setresuid(65'534, 65'534, 65'534) != 0) {
            return 77;
        }
        const int before = own_nice();
        pilfer::options o = workers(2);
        o.priority = -5;
        pilfer::pool pool(o);
        if (pool.run([] { return own_nice(); }) != before) {
            return 78; // a sandbox that permits it to every user
        }
        std::ostringstream text;
        pool.dump(text); // at least one of them has begun
        return text.str().find(", priority refused)") != std::string::npos ? 0 : 1;
    });
    if (result.exited_with(77) || result.exited_with(78)) {
        GTEST_SKIP() << "priorities cannot be refused here";
    }
    EXPECT_TRUE(result.exited_with(0)) << result;
}

} // namespace
