// The files of a recording pool, the settings of the environment, and the refused ones.
#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <locale>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <shared_mutex>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "profile/graph_file.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;

/// An empty folder of this process and test, removed at the end.
class folder {
public:
    folder() {
        std::string name = ::testing::TempDir() + "pilfer_profile_XXXXXX";
        EXPECT_NE(mkdtemp(name.data()), nullptr);
        m_path = name;
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() {
        std::error_code ignored;
        std::filesystem::remove_all(m_path, ignored);
    }
    [[nodiscard]] std::string at(const std::string& name) const { return m_path + "/" + name; }
    [[nodiscard]] std::string text(const std::string& name) const {
        std::ifstream in(at(name));
        EXPECT_TRUE(in) << name;
        std::ostringstream all;
        all << in.rdbuf();
        return all.str();
    }
    [[nodiscard]] nlohmann::json json(const std::string& name) const {
        return nlohmann::json::parse(text(name));
    }
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& entry : std::filesystem::directory_iterator(m_path)) {
            all.push_back(entry.path().filename().string());
        }
        std::sort(all.begin(), all.end());
        return all;
    }

private:
    std::string m_path;
};

/// Joins, spawns, forks, asyncs that suspend, a loop, an exception; from a foreign thread, several times.
void everything(pilfer::pool& pool) {
    for (int round = 0; round < 2; ++round) {
        pool.run([] {
            (void)fib_join(8);
            (void)fib_spawn(8);
            (void)fib_fork(8);
            auto f = pilfer::async([] { (void)fib_join(6); });
            pilfer::scope s;
            s.fork([f] { f.get(); });
            s.spawn([f] { f.get(); });
            s.sync();
            f.get();
            (void)pilfer::async([] { (void)fib_spawn(4); });
            pilfer::for_each(0, 1'000, [](int) {});
            try {
                (void)pilfer::join([] { throw 1; }, [] {});
            } catch (int) {
            }
        });
        auto f = pool.async([] { (void)fib_join(5); });
        f.get();
    }
}

/// In a child process, so that the environment and the numbers of files are fresh.
template <class Body>
void with_environment(const std::vector<std::pair<std::string, std::string>>& variables, Body body) {
    const auto result = in_child([&] {
        for (const auto& [name, value] : variables) {
            setenv(name.c_str(), value.c_str(), 1);
        }
        body();
        return ::testing::Test::HasFailure() ? 1 : 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

class profile_files : public guarded {};

TEST_F(profile_files, the_graph_has_the_printed_work_and_span) {
    const folder here;
    with_environment({{"PILFER_PROFILE", here.at("p")}, {"PILFER_PROFILE_GRAPH", here.at("g")}}, [] {
        pilfer::pool pool;
        everything(pool);
    });
    const auto figures = here.json("p");
    EXPECT_EQ(figures.at("format"), "pilfer-profile 2");
    EXPECT_EQ(figures.at("complete"), true);
    EXPECT_EQ(figures.at("workers_asked"), 0);
    const graph_file graph(here.text("g"));
    EXPECT_EQ(graph.tasks.size(), graph.end);
    EXPECT_EQ(graph.end, figures.at("tasks").get<std::uint64_t>() + 1) << "with the world outside";
    EXPECT_EQ(graph.work(), figures.at("work_ns").get<std::uint64_t>());
    EXPECT_EQ(graph.span(), figures.at("span_ns").get<std::uint64_t>());
    EXPECT_GT(graph.work(), 0U);
}

/// Six joins, at lines of their own: more places than a chain keeps in itself.
void join_at_six_lines() {
    (void)pilfer::join([] {}, [] {});
    (void)pilfer::join([] {}, [] {});
    (void)pilfer::join([] {}, [] {});
    (void)pilfer::join([] {}, [] {});
    (void)pilfer::join([] {}, [] {});
    (void)pilfer::join([] {}, [] {});
}

TEST_F(profile_files, nothing_is_lost_while_threads_outside_submit_and_wait_at_once) {
    constexpr unsigned threads = 4;
    constexpr unsigned rounds = 20;
    const folder here;
    with_environment({{"PILFER_PROFILE", here.at("p")}, {"PILFER_PROFILE_GRAPH", here.at("g")}}, [] {
        pilfer::pool pool;
        std::vector<std::thread> outside;
        for (unsigned i = 0; i < threads; ++i) {
            outside.emplace_back([&pool] {
                for (unsigned round = 0; round < rounds; ++round) {
                    auto f = pool.async(join_at_six_lines); // its record ends on this thread
                    pool.run([] { (void)fib_join(5); });
                    auto inner = pool.run([] { return pilfer::async(join_at_six_lines); });
                    f.get();
                    inner.get();
                    (void)pool.profile();
                }
            });
        }
        for (std::thread& t : outside) {
            t.join();
        }
    });
    const auto figures = here.json("p");
    EXPECT_EQ(figures.at("complete"), true);
    EXPECT_EQ(figures.at("tasks"), threads * rounds * (7 + 8 + 8)) << "fib(5) forks 7 times";
    EXPECT_EQ(figures.at("strands"), threads * rounds * (19 + 22 + 21))
        << "3 for each join, 1 for each task, 1 for async";
    const graph_file graph(here.text("g"));
    EXPECT_EQ(graph.tasks.size(), graph.end);
    EXPECT_EQ(graph.work(), figures.at("work_ns").get<std::uint64_t>());
    EXPECT_EQ(graph.span(), figures.at("span_ns").get<std::uint64_t>());
}

/// How often each lock of the graph is taken in three tasks that run `f`, in the order of the locks. Each
/// critical section must end.
template <class F>
[[nodiscard]] std::vector<int> sections_of(F f) {
    const folder here;
    with_environment({{"PILFER_PROFILE_GRAPH", here.at("g")}}, [&f] {
        pilfer::pool pool;
        pool.run([&f] {
            pilfer::scope s;
            for (int i = 0; i < 3; ++i) {
                s.fork(f);
            }
            s.sync();
        });
    });
    std::map<std::uint64_t, int> taken;
    std::map<std::uint64_t, int> left;
    for (const auto& [number, words] : graph_file(here.text("g")).tasks) {
        for (const auto& w : words) {
            taken[w.n] += w.sign == '(' ? 1 : 0;
            left[w.n] += w.sign == ')' ? 1 : 0;
        }
    }
    EXPECT_EQ(taken, left);
    std::vector<int> all;
    for (const auto& [lock, times] : taken) {
        if (times != 0) {
            all.push_back(times);
        }
    }
    return all;
}

TEST_F(profile_files, the_graph_has_every_way_to_lock_a_shared_mutex_alone) {
    pilfer::shared_mutex m;
    pilfer::mutex other;
    using counts = std::vector<int>;
    EXPECT_EQ(sections_of([&m] { const std::unique_lock held(m); }), counts{3});
    EXPECT_EQ(sections_of([&m] {
                  m.lock_cancellable();
                  m.unlock();
              }),
              counts{3});
    EXPECT_EQ(sections_of([&m] {
                  if (const std::unique_lock held(m, std::try_to_lock); held.owns_lock()) {
                  }
              }),
              counts{3});
    EXPECT_EQ(sections_of([&] { const std::scoped_lock both(m, other); }), (counts{3, 3}));
    EXPECT_EQ(sections_of([&m] { const std::shared_lock held(m); }), counts{}) << "readers are beside others";
}

template <class Object>
pilfer::task<> by_coroutine(Object& object) {
    co_await pilfer::read(object, [](const int&) {});
    co_await pilfer::call(object, [](int& n) { ++n; });
}

TEST_F(profile_files, the_graph_has_the_calls_of_objects) {
    using counts = std::vector<int>;
    pilfer::synchronized<int> plain;
    pilfer::synchronized<int, pilfer::shared_mutex> shared;
    EXPECT_EQ(sections_of([&plain] { plain.call([](int& n) { ++n; }); }), counts{3});
    EXPECT_EQ(sections_of([&shared] { shared.call([](int& n) { ++n; }); }), counts{3});
    EXPECT_EQ(sections_of([&] { pilfer::call_all([](int& a, int& b) { a = b; }, plain, shared); }),
              (counts{3, 3}));
    EXPECT_EQ(sections_of([&plain] { pilfer::sync_wait(by_coroutine(plain)); }), counts{6});
    EXPECT_EQ(sections_of([&shared] { pilfer::sync_wait(by_coroutine(shared)); }), counts{3});
    pilfer::monitor<int> m;
    EXPECT_EQ(sections_of([&m] { m.call([](int& n) { ++n; }); }), counts{3});
}

TEST_F(profile_files, every_pool_writes_files_of_its_own) {
    const folder here;
    with_environment({{"PILFER_PROFILE", here.at("p%p")}}, [] {
        pilfer::pool first(workers(3));
        EXPECT_EQ(first.workers(), 1U) << "whatever was asked for";
        EXPECT_TRUE(first.settings().debug.profile);
        pilfer::pool second(workers(1));
        second.run([&] { (void)first.run([] { return fib_join(5); }); });
        // At the end: the first has ended when the second one does.
        first.shutdown();
        second.shutdown();
    });
    const auto names = here.names();
    ASSERT_EQ(names.size(), 2U);
    EXPECT_EQ(names[1], names[0] + ".2");
    EXPECT_EQ(names[0].find('%'), std::string::npos);
    EXPECT_EQ(here.json(names[0]).at("workers_asked"), 3);
    EXPECT_EQ(here.json(names[0]).at("tasks"), 8) << "fib(5) forks 7 times";
    EXPECT_EQ(here.json(names[1]).at("tasks"), 1) << "what another pool does is not seen";
}

TEST_F(profile_files, the_common_pool_writes_at_exit) {
    const folder here;
    const auto result = in_child([&]() -> int {
        setenv("PILFER_PROFILE", here.at("p").c_str(), 1);
        setenv("PILFER_PROFILE_GRAPH", here.at("g").c_str(), 1);
        // Scopes and joins of a foreign thread are submissions, its syncs and theirs waits from outside.
        pilfer::scope s;
        s.spawn([] { (void)fib_join(5); });
        s.spawn([] {});
        s.sync();
        (void)pilfer::join([] {}, [] {});
        std::exit(0);
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    const auto p = here.json("p");
    // Two children beside each other; then the join.
    EXPECT_EQ(p.at("tasks"), 11);
    EXPECT_EQ(p.at("strands"), 22 + 1 + 4);
    EXPECT_EQ(p.at("span_strands"), 9 + 3);
    EXPECT_EQ(p.at("span_tasks"), 3 + 2);
    const graph_file graph(here.text("g"));
    EXPECT_EQ(graph.tasks.size(), 12U);
    EXPECT_EQ(graph.work(), p.at("work_ns").get<std::uint64_t>());
    EXPECT_EQ(graph.span(), p.at("span_ns").get<std::uint64_t>());
}

TEST_F(profile_files, digits_are_not_grouped) {
    struct grouping : std::numpunct<char> {
        [[nodiscard]] char do_thousands_sep() const override { return '.'; }
        [[nodiscard]] std::string do_grouping() const override { return "\1"; }
    };
    const folder here;
    with_environment({{"PILFER_PROFILE", here.at("p")}, {"PILFER_PROFILE_GRAPH", here.at("g")}}, [] {
        std::locale::global(std::locale(std::locale::classic(), new grouping));
        pilfer::pool pool;
        pool.run([] { (void)fib_join(10); });
    });
    EXPECT_EQ(here.json("p").at("tasks"), 89);
    EXPECT_EQ(graph_file(here.text("g")).end, 90U);
}

TEST_F(profile_files, a_loop_is_split_into_pieces_of_its_own) {
    // The body waits for the clock, so the number of iterations that are longer than a piece is known.
    const auto spin = [](int) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
        while (std::chrono::steady_clock::now() < end) {
        }
    };
    pilfer::options o;
    o.debug.profile = true;
    pilfer::pool pool(o);
    constexpr int n = 64;
    pool.run([&] { pilfer::for_each(0, n, spin); });
    const auto p = pool.profile();
    EXPECT_GE(p.work_ns, n * 10'000U);
    EXPECT_GE(p.tasks, 8U) << "a loop is split although nobody else is there";
    EXPECT_LE(p.tasks, std::uint64_t{n} + 1) << "and never below an iteration";
    EXPECT_LT(p.span_strands, p.strands);
    // Iterations far shorter than a piece: no part is announced without a request. A part that is already in
    // the deque is no reason to keep the rest.
    const auto blink = [](int) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(500);
        while (std::chrono::steady_clock::now() < end) {
        }
    };
    pilfer::pool third(o);
    third.run([&] { pilfer::for_each(0, 2'000, blink); });
    EXPECT_GE(third.profile().tasks, 30U);
    // Pieces that take no time are not worth a task: without the smallest piece there would be 100,000.
    pilfer::pool other(o);
    other.run([] { pilfer::for_each(0, 100'000, [](int) {}); });
    EXPECT_LE(other.profile().tasks, 50'000U);
}

TEST_F(profile_files, times_add_up) {
    pilfer::options o;
    o.debug.profile = true;
    pilfer::pool pool(o);
    everything(pool);
    pool.shutdown();
    const auto p = pool.profile();
    EXPECT_LE(p.span_ns, p.work_ns);
    EXPECT_GE(p.parallelism(), 1);
    EXPECT_GE(p.burdened_span_ns, p.span_ns);
    EXPECT_LE(p.burdened_parallelism(), p.parallelism());
    for (unsigned workers = 1; workers <= 64; workers *= 2) {
        EXPECT_LE(p.least_speedup(workers), p.most_speedup(workers)) << workers;
        EXPECT_LE(p.most_speedup(workers), workers);
    }
}

TEST(speed_up_laws, hold_on_computed_examples) {
    pilfer::work_span p;
    EXPECT_EQ(p.parallelism(), 1) << "nothing was recorded";
    EXPECT_EQ(p.least_speedup(4), 1);
    p.work_ns = 1'000;
    p.span_ns = 100;
    p.burdened_span_ns = 250;
    EXPECT_DOUBLE_EQ(p.parallelism(), 10);
    EXPECT_DOUBLE_EQ(p.burdened_parallelism(), 4);
    EXPECT_DOUBLE_EQ(p.most_speedup(4), 4);
    EXPECT_DOUBLE_EQ(p.most_speedup(64), 10);
    EXPECT_DOUBLE_EQ(p.least_speedup(4), 1'000 / (1'000.0 / 4 + 100 * 0.75 + 150));
    EXPECT_DOUBLE_EQ(p.least_speedup(1), 1) << "one worker steals nothing";
    p.span_ns = p.burdened_span_ns = p.work_ns;
    EXPECT_DOUBLE_EQ(p.least_speedup(8), 1) << "a serial program is as fast on any number of workers";
    p.burdened_span_ns = 4'000;
    EXPECT_DOUBLE_EQ(p.least_speedup(8), 0.25) << "thefts cost more than the workers give";
}

class bad_input_profile : public guarded {};

TEST_F(bad_input_profile, several_workers_are_refused) {
    pilfer::options o = workers(2);
    o.debug.profile = true;
    try {
        const pilfer::pool pool(o);
        ADD_FAILURE() << "accepted";
    } catch (const std::invalid_argument& e) {
        const std::string text = e.what();
        EXPECT_NE(text.find("options.debug.profile"), std::string::npos) << text;
        EXPECT_NE(text.find("not 2"), std::string::npos) << text;
    }
    o.workers = 1;
    EXPECT_NO_THROW(pilfer::pool{o});
    o.workers = 5'000;
    EXPECT_THROW(pilfer::pool{o}, std::invalid_argument);
}

TEST_F(bad_input_profile, a_pool_that_does_not_record_has_no_profile) {
    const pilfer::pool pool(workers(1));
    EXPECT_FALSE(pool.settings().debug.profile);
    EXPECT_THROW((void)pool.profile(), pilfer::usage_error);
}

TEST_F(profile_files, the_environment_sets_the_cost_of_a_theft) {
    with_environment({{"PILFER_PROFILE_BURDEN", "0,1000000000"}}, [] {
        pilfer::options o;
        o.debug.profile = true;
        pilfer::pool pool(o);
        EXPECT_EQ(pool.profile().theft_ns, 0U);
        EXPECT_EQ(pool.profile().resume_ns, 1'000'000'000U);
        pool.run([] { (void)pilfer::join([] {}, [] {}); });
        EXPECT_GE(pool.profile().burdened_span_ns, 1'000'000'000U);
        EXPECT_LT(pool.profile().burdened_span_ns, 2'000'000'000U) << "one resumption";
    });
}

TEST_F(bad_input_profile, a_malformed_burden) {
    for (const char* text : {"", "2000", "2000,", ",1000", "2000;1000", "2000, 1000", "-1,1000", "2000,1000 ",
                             "2e3,1", "1,1000000001", "99999999999999999999,1", "many,few"}) {
        with_environment({{"PILFER_PROFILE_BURDEN", text}}, [&] {
            EXPECT_NO_THROW(pilfer::pool(workers(1))) << "it does not record";
            pilfer::options o;
            o.debug.profile = true;
            try {
                const pilfer::pool pool(o);
                ADD_FAILURE() << "accepted: " << text;
            } catch (const std::invalid_argument& e) {
                const std::string said = e.what();
                EXPECT_NE(said.find("PILFER_PROFILE_BURDEN"), std::string::npos) << said;
                EXPECT_NE(said.find(std::string("not \"") + text + "\""), std::string::npos) << said;
            }
        });
    }
}

TEST_F(bad_input_profile, files_that_cannot_be_written) {
    for (const char* variable : {"PILFER_PROFILE", "PILFER_PROFILE_GRAPH"}) {
        with_environment({{variable, "/nowhere/at/all"}}, [&] {
            try {
                const pilfer::pool pool(workers(1));
                ADD_FAILURE() << "accepted";
            } catch (const std::system_error& e) {
                const std::string text = e.what();
                EXPECT_NE(text.find(std::string(variable) + ":"), std::string::npos) << text;
                EXPECT_NE(text.find("/nowhere/at/all"), std::string::npos) << text;
            }
            setenv(variable, "", 1);
            EXPECT_THROW(pilfer::pool(workers(1)), std::invalid_argument);
        });
        // A full disk gives a message, and the program continues.
        const auto result = in_child([&] {
            setenv(variable, "/dev/full", 1);
            pilfer::pool pool(workers(1));
            return pool.run([] { return fib_join(12) == fib(12) ? 0 : 1; });
        });
        EXPECT_TRUE(result.exited_with(0)) << result;
        EXPECT_TRUE(result.said(variable)) << result;
    }
}

} // namespace
