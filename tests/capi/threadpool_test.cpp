// <pilfer/threadpool.h>: threads, futures, misuse and the order of tasks.
#include <pilfer/threadpool.h>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

class threadpool_h_over_workers : public over_workers {
protected:
    [[nodiscard]] static int threads() { return static_cast<int>(GetParam()); }
};

[[nodiscard]] void* as_pointer(std::uintptr_t n) { return reinterpret_cast<void*>(n); }
[[nodiscard]] std::uintptr_t as_number(void* p) { return reinterpret_cast<std::uintptr_t>(p); }

[[nodiscard]] void* got_once(future* f) {
    void* const result = future_get(f);
    future_free(f);
    return result;
}

void* fib_by_futures(thread_pool* pool, void* data) {
    const std::uintptr_t n = as_number(data);
    if (n < 2) {
        return data;
    }
    future* const first = thread_pool_submit(pool, fib_by_futures, as_pointer(n - 1));
    const std::uintptr_t second = as_number(fib_by_futures(pool, as_pointer(n - 2)));
    return as_pointer(as_number(got_once(first)) + second);
}

/// Which threads ran tasks.
struct thread_ids {
    std::mutex mutex;
    std::set<long> seen;
    static void* note(thread_pool*, void* self) {
        auto& ids = *static_cast<thread_ids*>(self);
        const std::lock_guard lock(ids.mutex);
        ids.seen.insert(thread_id());
        return nullptr;
    }
    static void* note_two(thread_pool* pool, void* self) {
        future* const other = thread_pool_submit(pool, note, self);
        note(pool, self);
        return got_once(other);
    }
};

[[nodiscard]] std::size_t all_threads() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

/// Threads of all pools, by their names: other threads than the program's own may be a tool's.
[[nodiscard]] std::size_t pool_threads() {
    std::size_t n = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "comm");
        std::string name;
        std::getline(file, name);
        n += name.starts_with("pilfer/") ? 1 : 0;
    }
    return n;
}

TEST_P(threadpool_h_over_workers, only_the_threads_asked_for_run_tasks) {
    ASSERT_TRUE(eventually([] { return pool_threads() == 0; })) << "those of the case before";
    const auto others = all_threads();
    thread_pool* const pool = thread_pool_new(threads());
    ASSERT_NE(pool, nullptr);
    EXPECT_TRUE(eventually([] { return pool_threads() == GetParam(); })) << "all there";
    thread_ids ids;
    std::vector<future*> futures;
    for (int i = 0; i < 300; ++i) {
        futures.push_back(thread_pool_submit(pool, thread_ids::note_two, &ids));
    }
    for (future* const f : futures) {
        (void)got_once(f);
    }
    EXPECT_EQ(pool_threads(), GetParam());
    const std::size_t tools = sanitized ? 1 : 0; // ThreadSanitizer's own
    EXPECT_LE(all_threads(), others + GetParam() + tools) << "a thread under another name";
    EXPECT_EQ(ids.seen.count(thread_id()), 0U) << "the main thread ran a task";
    EXPECT_LE(ids.seen.size(), GetParam());
    thread_pool_shutdown_and_destroy(pool);
    EXPECT_TRUE(eventually([] { return pool_threads() == 0; }));
}

/// All that the library asks the environment for, as its sources say.
[[nodiscard]] std::set<std::string> environment_variables() {
    std::set<std::string> names;
    const std::string asks = "getenv(\"PILFER_";
    for (const auto& file : std::filesystem::recursive_directory_iterator(PILFER_TEST_SOURCES)) {
        if (!file.is_regular_file()) {
            continue;
        }
        std::stringstream all;
        all << std::ifstream(file.path()).rdbuf();
        const std::string text = all.str();
        for (auto at = text.find(asks); at != std::string::npos; at = text.find(asks, at + 1)) {
            const auto begin = at + asks.find('P');
            names.insert(text.substr(begin, text.find('"', begin) - begin));
        }
    }
    return names;
}

/// How many threads there are more beside a pool of two; -1: with that value there is no pool.
[[nodiscard]] int threads_beside(const std::string& variable, const std::string& value,
                                 const std::string& folder) {
    const auto result = in_child([&] {
        std::filesystem::current_path(folder); // the value may be taken for the name of a file to write
        setenv(variable.c_str(), value.c_str(), 1);
        const std::size_t before = thread_count();
        thread_pool* const pool = thread_pool_new(2);
        if (pool == nullptr) {
            return 255;
        }
        thread_ids ids;
        (void)got_once(thread_pool_submit(pool, thread_ids::note_two, &ids));
        std::this_thread::sleep_for(std::chrono::milliseconds(60)); // the governor looks every 50
        const std::size_t most = thread_count();
        thread_pool_shutdown_and_destroy(pool);
        return most > before ? static_cast<int>(most - before) : 0;
    });
    return WIFEXITED(result.status) && WEXITSTATUS(result.status) != 255 ? WEXITSTATUS(result.status) : -1;
}

TEST(thread_pool_new, makes_no_further_thread_whatever_the_environment_says) {
    const auto names = environment_variables();
    EXPECT_GE(names.size(), 8U);
    EXPECT_TRUE(names.count("PILFER_GOVERNOR") == 1 && names.count("PILFER_ADVICE") == 1);
    const std::string folder = testing::TempDir() + "pilfer_environment_" + std::to_string(getpid());
    std::filesystem::create_directory(folder);
    const std::string file = folder + "/advice";
    for (const auto& name : names) {
        if (support::on_one_lock() && name.rfind("PILFER_PROFILE", 0) == 0) {
            continue; // a recording is none of one lock
        }
        bool any = false;
        // One of these is right for each of them. For a new variable there has to be one.
        for (const std::string& value :
             {std::string("on"), std::string("1"), std::string("64K"), std::string("one_lock"),
              std::string("latency"), std::string("half"), std::string("spread"), file}) {
            std::ofstream(file) << "1\n";
            const int threads = threads_beside(name, value, folder);
            EXPECT_LE(threads, 2) << name << '=' << value;
            any = any || threads > 0;
        }
        EXPECT_TRUE(any) << name << " needs a value";
    }
    std::filesystem::remove_all(folder);
}

TEST_P(threadpool_h_over_workers, tasks_that_wait_for_tasks) {
    thread_pool* const pool = thread_pool_new(threads());
    EXPECT_EQ(as_number(got_once(thread_pool_submit(pool, fib_by_futures, as_pointer(15)))), fib(15));
    thread_pool_shutdown_and_destroy(pool);
}

/// A gate that a foreign thread opens; tasks that wait there hold their thread up.
struct gate {
    std::atomic<bool> open{false};
    std::atomic<int> inside{0};
    static void* pass(thread_pool*, void* self) {
        auto& g = *static_cast<gate*>(self);
        g.inside.fetch_add(1);
        while (!g.open) {
            std::this_thread::yield();
        }
        return self;
    }
};

TEST_P(threadpool_h_over_workers, a_future_that_is_running_is_awaited_by_many_and_again) {
    thread_pool* const pool = thread_pool_new(threads());
    struct both {
        gate door;
        future* running = nullptr;
        static void* wait(thread_pool*, void* self) { return future_get(static_cast<both*>(self)->running); }
    } shared;
    shared.running = thread_pool_submit(pool, gate::pass, &shared.door);
    std::vector<future*> inside;
    for (int i = 0; i < 20; ++i) {
        inside.push_back(thread_pool_submit(pool, both::wait, &shared));
    }
    std::atomic<int> right{0};
    std::vector<std::thread> outside;
    for (int i = 0; i < 4; ++i) {
        outside.emplace_back([&] { right += future_get(shared.running) == &shared.door ? 1 : 0; });
    }
    EXPECT_TRUE(eventually([&] { return shared.door.inside == 1; }));
    shared.door.open = true;
    for (auto& t : outside) {
        t.join();
    }
    EXPECT_EQ(right, 4);
    for (future* const f : inside) {
        EXPECT_EQ(got_once(f), &shared.door);
    }
    EXPECT_EQ(future_get(shared.running), &shared.door);
    EXPECT_EQ(got_once(shared.running), &shared.door) << "and once more";
    EXPECT_EQ(shared.door.inside, 1);
    thread_pool_shutdown_and_destroy(pool);
}

/// A task of one pool waits for one of another, whose own task waits for one of the first.
TEST_P(threadpool_h_over_workers, pools_that_wait_for_each_other) {
    if (GetParam() < 5) {
        PILFER_NOT_ON_ONE_LOCK("five tasks of each pool block a thread each");
    }
    struct two {
        thread_pool* here;
        thread_pool* there;
        int depth;
        static void* ask(thread_pool* pool, void* data) {
            auto& t = *static_cast<two*>(data);
            EXPECT_EQ(pool, t.here);
            if (t.depth == 0) {
                return as_pointer(1);
            }
            two other{t.there, t.here, t.depth - 1};
            return as_pointer(1 + as_number(got_once(thread_pool_submit(t.there, ask, &other))));
        }
    };
    two first{thread_pool_new(threads()), thread_pool_new(threads()), 9};
    EXPECT_EQ(as_number(got_once(thread_pool_submit(first.here, two::ask, &first))), 10U);
    thread_pool_shutdown_and_destroy(first.here);
    thread_pool_shutdown_and_destroy(first.there);
}

TEST_P(threadpool_h_over_workers, hundreds_of_submissions_by_many_threads) {
    thread_pool* const pool = thread_pool_new(threads());
    std::atomic<std::uint64_t> sum{0};
    std::vector<std::thread> submitters;
    for (int t = 0; t < 4; ++t) {
        submitters.emplace_back([&] {
            std::vector<future*> futures;
            for (std::uintptr_t i = 0; i < 250; ++i) {
                futures.push_back(thread_pool_submit(pool, fib_by_futures, as_pointer(i % 6)));
            }
            for (future* const f : futures) {
                sum += as_number(got_once(f));
            }
        });
    }
    for (auto& t : submitters) {
        t.join();
    }
    std::uint64_t wanted = 0;
    for (unsigned i = 0; i < 250; ++i) {
        wanted += 4 * fib(i % 6);
    }
    EXPECT_EQ(sum, wanted);
    thread_pool_shutdown_and_destroy(pool);
}

TEST_P(threadpool_h_over_workers, shutdown_runs_what_was_submitted_and_futures_outlive_it) {
    thread_pool* const pool = thread_pool_new(threads());
    std::vector<future*> futures;
    for (int i = 0; i < 100; ++i) {
        futures.push_back(thread_pool_submit(pool, fib_by_futures, as_pointer(7)));
    }
    thread_pool_shutdown_and_destroy(pool);
    for (future* const f : futures) {
        EXPECT_EQ(as_number(got_once(f)), fib(7));
    }
}

TEST_P(threadpool_h_over_workers, a_future_freed_too_early) {
    if (pilfer::detail::checked_build) {
        const auto result = in_child([] {
            thread_pool* const pool = thread_pool_new(threads());
            static gate door; // never opened
            future_free(thread_pool_submit(pool, gate::pass, &door));
            return 0;
        });
        EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
        EXPECT_TRUE(result.said("pilfer: future_free: the task of this future has not ended")) << result;
        return;
    }
    thread_pool* const pool = thread_pool_new(threads());
    gate door;
    future_free(thread_pool_submit(pool, gate::pass, &door)); // running or not
    for (int i = 0; i < 20; ++i) {
        future_free(thread_pool_submit(pool, gate::pass, &door));
    }
    door.open = true;
    thread_pool_shutdown_and_destroy(pool);
    EXPECT_EQ(door.inside, 21) << "all the same";
}

PILFER_OVER_WORKERS(threadpool_h_over_workers);

class threadpool_h : public guarded {};

TEST_F(threadpool_h, submissions_from_outside_are_first_in_first_out) {
    thread_pool* const pool = thread_pool_new(1);
    gate door;
    future* const first = thread_pool_submit(pool, gate::pass, &door);
    struct entry {
        std::vector<int>* order;
        int number;
        static void* note(thread_pool*, void* data) {
            auto& e = *static_cast<entry*>(data);
            e.order->push_back(e.number); // one thread
            return nullptr;
        }
    };
    std::vector<int> order;
    std::vector<entry> entries;
    for (int i = 0; i < 500; ++i) {
        entries.push_back({&order, i});
    }
    std::vector<future*> futures;
    for (entry& e : entries) {
        futures.push_back(thread_pool_submit(pool, entry::note, &e));
    }
    door.open = true;
    // The order of the calls does not matter: a foreign thread only waits.
    std::for_each(futures.rbegin(), futures.rend(), [](future* f) { (void)got_once(f); });
    EXPECT_EQ(order.size(), 500U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    (void)got_once(first);
    thread_pool_shutdown_and_destroy(pool);
}

/// Ticks of all threads but this one, from /proc.
[[nodiscard]] std::uint64_t ticks_of_others() {
    std::uint64_t sum = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        if (task.path().filename() == std::to_string(thread_id())) {
            continue;
        }
        std::ifstream file(task.path() / "stat");
        std::string line;
        std::getline(file, line);
        std::istringstream words(line.substr(std::min(line.size(), line.rfind(')') + 1)));
        const std::vector<std::string> fields(std::istream_iterator<std::string>(words), {});
        sum += fields.size() > 12 ? std::stoull(fields[11]) + std::stoull(fields[12]) : 0;
    }
    return sum;
}

TEST_F(threadpool_h, an_idle_pool_uses_no_processor) {
    thread_pool* const pool = thread_pool_new(8);
    (void)got_once(thread_pool_submit(pool, fib_by_futures, as_pointer(10)));
    // A worker that keeps searching would use most of each half second.
    EXPECT_TRUE(eventually(
        [] {
            const auto before = ticks_of_others();
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
            return ticks_of_others() == before;
        },
        std::chrono::seconds(60)));
    thread_pool_shutdown_and_destroy(pool);
}

TEST_F(threadpool_h, without_each_of_its_threads_there_is_no_pool) {
    if (sanitized || emulated) {
        GTEST_SKIP() << "the limit would be the tool's";
    }
    const auto result = in_child([] {
        const rlim_t most = status_kib("VmSize") * 1024 + (rlim_t{150} << 20); // stacks of some 18 threads
        const rlimit limit{most, most};
        setrlimit(RLIMIT_AS, &limit);
        if (thread_pool_new(64) != nullptr || !eventually([] { return pool_threads() == 0; })) {
            return 1;
        }
        thread_pool* const small = thread_pool_new(2); // nothing was kept
        const auto n = as_number(got_once(thread_pool_submit(small, fib_by_futures, as_pointer(10))));
        thread_pool_shutdown_and_destroy(small);
        return n == fib(10) ? 0 : 2;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_TRUE(result.said("of 64 threads could be made")) << result;
}

/// Wrong calls: their messages, and whether the process ends.
struct wrong {
    const char* name;
    int (*body)(); // 0: as it should be
    int signal;
    const char* said;
};
std::ostream& operator<<(std::ostream& out, const wrong& w) { return out << w.name; }

void* nothing(thread_pool*, void*) { return nullptr; }

/// thread_pool_new(n) gives nothing.
template <int n>
int no_pool_of() {
    return thread_pool_new(n) == nullptr ? 0 : 1;
}

const wrong calls[] = {
    {"no_threads", no_pool_of<0>, 0, "pilfer: thread_pool_new: nthreads must be from 1 to 4096, not 0"},
    {"minus_one_thread", no_pool_of<-1>, 0, "not -1"},
    {"the_least_number_of_threads", no_pool_of<INT32_MIN>, 0, "not -2147483648"},
    {"too_many_threads", no_pool_of<4097>, 0, "not 4097"},
    {"wrong_environment",
     [] {
         setenv("PILFER_BALANCE", "wrong", 1);
         return thread_pool_new(1) == nullptr ? 0 : 1;
     },
     0, "pilfer: thread_pool_new: pilfer: PILFER_BALANCE="},
    {"submit_to_no_pool", [] { return thread_pool_submit(nullptr, nothing, nullptr) == nullptr ? 0 : 1; }, 0,
     "pilfer: thread_pool_submit: the pool is NULL"},
    {"submit_no_task",
     [] {
         thread_pool* const pool = thread_pool_new(1);
         const bool refused = thread_pool_submit(pool, nullptr, nullptr) == nullptr;
         thread_pool_shutdown_and_destroy(pool);
         return refused ? 0 : 1;
     },
     0, "pilfer: thread_pool_submit: the task is NULL"},
    {"get_nothing",
     [] {
         (void)future_get(nullptr);
         return 0;
     },
     SIGABRT, "pilfer: future_get: the future is NULL"},
    {"free_nothing",
     [] {
         future_free(nullptr);
         thread_pool_shutdown_and_destroy(nullptr);
         return 0;
     },
     0, ""},
    {"destroyed_by_an_own_task",
     [] {
         thread_pool* const pool = thread_pool_new(2);
         (void)future_get(thread_pool_submit(
             pool,
             [](thread_pool* p, void*) -> void* {
                 thread_pool_shutdown_and_destroy(p);
                 return nullptr;
             },
             nullptr));
         return 0;
     },
     SIGABRT, "pilfer: thread_pool_shutdown_and_destroy: called by a task of this very pool"},
    {"a_task_that_throws",
     [] {
         (void)future_get(thread_pool_submit(
             thread_pool_new(1), [](thread_pool*, void*) -> void* { throw std::runtime_error("x"); },
             nullptr));
         return 0;
     },
     SIGABRT, "left a function that was given to the C interface"},
#if !defined(PILFER_TSAN) // its runtime cannot end a thread on another stack
    {"a_task_that_ends_its_thread",
     [] {
         (void)future_get(thread_pool_submit(
             thread_pool_new(1), [](thread_pool*, void*) -> void* { pthread_exit(nullptr); }, nullptr));
         return 0;
     },
     SIGABRT, "left a function that was given to the C interface"},
#endif
};

/// No code says "stopped" here, and an exception would leave through C.
TEST_P(threadpool_h_over_workers, a_caller_in_a_cancelled_scope_still_gets_its_result) {
    static std::atomic<bool> open;
    open = false;
    thread_pool* const pool = thread_pool_new(threads());
    future* const f = thread_pool_submit(
        pool,
        [](thread_pool*, void* data) -> void* {
            while (!open) {
                std::this_thread::yield();
            }
            return data;
        },
        as_pointer(7));
    std::uintptr_t got = 0;
    bool stopped = false;
    pilfer::pool callers(workers(2));
    callers.run([&] {
        pilfer::scope s;
        s.spawn([&] {
            s.cancel();
            stopped = pilfer::cancelled();
            std::thread opener([] { open = true; });
            got = as_number(got_once(f));
            opener.join();
        });
        s.sync();
    });
    EXPECT_TRUE(stopped);
    EXPECT_EQ(got, 7U);
    thread_pool_shutdown_and_destroy(pool);
}

class bad_input_threadpool : public testing::TestWithParam<wrong> {
    watchdog m_watchdog{40};
};

TEST_P(bad_input_threadpool, row) {
    const wrong& w = GetParam();
    const auto result = in_child(w.body);
    EXPECT_TRUE(w.signal == 0 ? result.exited_with(0) : result.killed_by(w.signal)) << result;
    EXPECT_TRUE(result.said(w.said)) << result;
}

INSTANTIATE_TEST_SUITE_P(table, bad_input_threadpool, testing::ValuesIn(calls),
                         [](const auto& one) { return std::string(one.param.name); });

} // namespace
