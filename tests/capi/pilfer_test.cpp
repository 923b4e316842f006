// <pilfer/pilfer.h>: each call does the work of its C++ twin, and reports errors by a code.
#include <pilfer/pilfer.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

class c_interface_over_workers : public over_workers {};

TEST_P(c_interface_over_workers, fork_and_join_in_every_form) {
    const c_pool pool(GetParam());
    for (const auto f : {fib_by_join, fib_by_scope<way::spawn>, fib_by_scope<way::fork>,
                         fib_by_scope<way::spawn_weighted>, fib_by_scope<way::fork_weighted>}) {
        number whole{13, 0};
        EXPECT_EQ(pilfer_pool_run(pool, f, &whole), 0);
        EXPECT_EQ(whole.result, fib(13));
    }
    pilfer_future* future = nullptr;
    EXPECT_EQ(pilfer_async(pool, fib_by_futures, reinterpret_cast<void*>(13), &future), 0);
    void* result = nullptr;
    EXPECT_EQ(pilfer_future_get(future, &result), 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(result), fib(13));
    pilfer_future_free(future);
}

TEST_P(c_interface_over_workers, a_spawning_frame_keeps_its_locals_on_any_thread) {
    const c_pool pool(GetParam());
    pool.run([] {
        std::array<std::uint64_t, 500> squares{};
        struct one {
            std::uint64_t* to;
            std::uint64_t n;
        };
        std::array<one, 500> work{};
        const void* const here = &squares;
        pilfer_scope s;
        (void)pilfer_scope_begin(&s);
        for (std::uint64_t i = 0; i < work.size(); ++i) {
            work[i] = {&squares[i], i};
            EXPECT_EQ(pilfer_scope_spawn(
                          &s,
                          [](void* data) {
                              const auto& w = *static_cast<one*>(data);
                              *w.to = w.n * w.n;
                          },
                          &work[i]),
                      0);
            EXPECT_EQ(here, static_cast<const void*>(&squares));
        }
        EXPECT_EQ(pilfer_scope_end(&s), 0);
        for (std::uint64_t i = 0; i < squares.size(); ++i) {
            EXPECT_EQ(squares[i], i * i);
        }
    });
}

TEST_P(c_interface_over_workers, loops_visit_each_index_once) {
    const c_pool pool(GetParam());
    pool.run([] {
        for (const std::size_t n : {0U, 1U, 2U, 3U, 1000U, 20'000U}) {
            std::vector<std::uint8_t> visits(n + 7);
            EXPECT_EQ(pilfer_for_each(
                          7, n + 7,
                          [](std::size_t begin, std::size_t end, void* data) {
                              EXPECT_LT(begin, end);
                              for (std::size_t i = begin; i < end; ++i) {
                                  ++static_cast<std::uint8_t*>(data)[i];
                              }
                          },
                          visits.data()),
                      0);
            EXPECT_TRUE(std::all_of(visits.begin(), visits.begin() + 7, [](int v) { return v == 0; }));
            EXPECT_TRUE(std::all_of(visits.begin() + 7, visits.end(), [](int v) { return v == 1; }));
        }
    });
    EXPECT_EQ(pilfer_for_each(
                  5, 4, [](std::size_t, std::size_t, void*) { ADD_FAILURE(); }, nullptr),
              0);
}

TEST_P(c_interface_over_workers, reductions_keep_the_order) {
    const c_pool pool(GetParam());
    pool.run([] {
        for (const std::uint64_t n : {1U, 2U, 3U, 1000U, 20'000U}) {
            interval all{4, 5, false};
            EXPECT_EQ(pilfer_reduce(5, n + 5, &intervals, nullptr, &all), 0);
            EXPECT_EQ(all.begin, 4U) << "what was there comes first";
            EXPECT_EQ(all.end, n + 5);
            EXPECT_FALSE(all.torn);
        }
    });
    interval untouched{1, 2, false};
    EXPECT_EQ(pilfer_reduce(5, 5, &intervals, nullptr, &untouched), 0);
    EXPECT_EQ(untouched.end, 2U);
}

TEST_P(c_interface_over_workers, a_dropped_task_breaks_its_promise) {
    c_pool pool(GetParam());
    std::atomic<bool> go_on{false};
    const auto wait = [](void* flag) -> void* {
        while (!*static_cast<std::atomic<bool>*>(flag)) {
            std::this_thread::yield();
        }
        return flag;
    };
    std::vector<pilfer_future*> futures(GetParam() + 1);
    for (auto& f : futures) {
        EXPECT_EQ(pilfer_async(pool, wait, &go_on, &f), 0); // the last one finds no idle worker
    }
    EXPECT_EQ(pilfer_future_ready(futures.back()), 0);
    std::thread closer([&] { EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DROP), 0); });
    for (pilfer_future* more = nullptr;
         pilfer_async(
             pool, [](void*) -> void* { return nullptr; }, nullptr, &more) == 0;) {
        pilfer_future_free(more);
        std::this_thread::yield();
    }
    go_on = true;
    closer.join();
    unsigned broken = 0;
    for (pilfer_future* const f : futures) {
        void* result = nullptr;
        const int code = pilfer_future_get(f, &result);
        EXPECT_EQ(code == 0 ? static_cast<void*>(&go_on) : nullptr, result) << pilfer_strerror(code);
        EXPECT_EQ(pilfer_future_wait(f), code) << "again";
        broken += code == PILFER_EBROKEN ? 1 : 0;
        pilfer_future_free(f);
    }
    EXPECT_GE(broken, 1U);
    EXPECT_EQ(pilfer_pool_run(
                  pool, [](void*) { ADD_FAILURE(); }, nullptr),
              PILFER_ECLOSED);
}

TEST_P(c_interface_over_workers, timers_and_detached_tasks) {
    std::atomic<int> ran{0};
    const auto count = [](void* n) { static_cast<std::atomic<int>*>(n)->fetch_add(1); };
    pilfer_timer* every = nullptr;
    pilfer_timer* late = nullptr;
    {
        const c_pool pool(GetParam());
        EXPECT_EQ(pilfer_after(pool, 3'600'000'000'000, count, &ran, &late), 0);
        EXPECT_EQ(pilfer_timer_over(late), 0);
        EXPECT_EQ(pilfer_timer_cancel(late), 1);
        EXPECT_EQ(pilfer_timer_cancel(late), 0) << "once";
        const auto ten_times = [](void* n) {
            pilfer_yield();
            pilfer_sleep_for(1000);
            return static_cast<std::atomic<int>*>(n)->fetch_add(1) < 9 ? 1 : 0;
        };
        EXPECT_EQ(pilfer_every(pool, 1000, ten_times, &ran, &every), 0);
        EXPECT_TRUE(eventually([&] { return pilfer_timer_over(every) == 1; }, std::chrono::seconds(60)));
        EXPECT_EQ(ran, 10);
        EXPECT_EQ(pilfer_timer_cancel(every), 0);
        for (int i = 0; i < 10; ++i) {
            EXPECT_EQ(pilfer_submit(pool, count, &ran), 0);
            EXPECT_EQ(pilfer_after(pool, 1000, count, &ran, nullptr), 0);
        }
    }
    EXPECT_EQ(ran, 30) << "the pool's end is a drain";
    EXPECT_EQ(pilfer_timer_over(late), 1);
    pilfer_timer_free(late);
    pilfer_timer_free(every);
}

PILFER_OVER_WORKERS(c_interface_over_workers);

class c_interface : public guarded {};

TEST_F(c_interface, calls_outside_a_pool_use_the_common_pool) {
    with_a_common_pool([] {
        const long here = thread_id();
        for (const auto f : {fib_by_join, fib_by_scope<way::spawn>, fib_by_scope<way::fork>}) {
            number whole{9, 0};
            f(&whole);
            EXPECT_EQ(whole.result, fib(9));
            EXPECT_EQ(thread_id(), here);
        }
        interval all{0, 0, false};
        EXPECT_EQ(pilfer_reduce(1, 100, &intervals, nullptr, &all), 0);
        EXPECT_EQ(all.end, 100U);
        pilfer_pool* common = nullptr;
        EXPECT_EQ(pilfer_pool_common(&common), 0);
        EXPECT_EQ(pilfer_pool_workers(common), pilfer::pool::common().workers());
        EXPECT_EQ(pilfer_pool_destroy(common), PILFER_EINVAL) << "it is everybody's";
        EXPECT_EQ(pilfer_pool_run(common, fib_by_join, std::make_unique<number>().get()), 0);
    });
}

TEST_F(c_interface, a_pool_takes_advice) {
    c_options o(3);
    o.set("governor", "off");
    EXPECT_EQ(pilfer_options_set_advice(
                  o.handle(), [](void* n) { return *static_cast<unsigned*>(n); },
                  std::make_unique<unsigned>(3).get()),
              0);
    unsigned advised = 1;
    EXPECT_EQ(pilfer_options_set_advice(
                  o.handle(), [](void* n) { return *static_cast<unsigned*>(n); }, &advised),
              0)
        << "the last one counts";
    {
        const c_pool pool(o);
        while (pilfer_pool_workers(pool) != 1) {
            number whole{14, 0};
            EXPECT_EQ(pilfer_pool_run(pool, fib_by_join, &whole), 0);
            EXPECT_EQ(whole.result, fib(14));
        }
    }
    EXPECT_EQ(pilfer_options_set_advice(o.handle(), nullptr, nullptr), 0);
    EXPECT_EQ(pilfer_options_set_advice(nullptr, nullptr, nullptr), PILFER_EINVAL);
}

TEST_F(c_interface, a_pool_is_resized) {
    c_options o(1);
    o.set("max_workers", "3");
    const c_pool pool(o);
    for (const unsigned n : {3U, 1U, 2U}) {
        unsigned there = 0;
        EXPECT_EQ(pilfer_pool_resize(pool, n, &there), 0);
        EXPECT_EQ(there, n);
        EXPECT_EQ(pilfer_pool_workers(pool), n);
        number whole{12, 0};
        EXPECT_EQ(pilfer_pool_run(pool, fib_by_join, &whole), 0);
        EXPECT_EQ(whole.result, fib(12));
    }
    EXPECT_EQ(pilfer_pool_resize(pool, 3, nullptr), 0);
    EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), 0);
    EXPECT_EQ(pilfer_pool_resize(pool, 1, nullptr), PILFER_ECLOSED);
}

TEST_F(c_interface, a_scope_that_returns_to_its_thread) {
    c_options o(3);
    o.set("resume", "elsewhere");
    const c_pool pool(o);
    pool.run([] {
        for (int i = 0; i < 20; ++i) {
            pilfer_scope s;
            EXPECT_EQ(pilfer_scope_begin_at(&s, PILFER_RESUME_OWN_THREAD), 0);
            const long here = thread_id();
            number n{5, 0};
            EXPECT_EQ(pilfer_scope_fork(&s, fib_by_join, &n), 0);
            EXPECT_EQ(pilfer_scope_end(&s), 0);
            EXPECT_EQ(thread_id(), here);
        }
    });
}

TEST_F(c_interface, counters_settings_and_dump) {
    c_options o(2);
    o.set("debug.count_all", "1");
    o.set("debug.trace_events", "1024");
    const c_pool pool(o);
    number whole{10, 0};
    EXPECT_EQ(pilfer_pool_run(pool, fib_by_join, &whole), 0);
    pilfer_counters sum{};
    EXPECT_EQ(pilfer_pool_counters(pool, &sum), 0);
    EXPECT_EQ(sum.scopes_shared, 0U) << "there were none";
    EXPECT_EQ(sum.run_submitted, 1U);
    EXPECT_EQ(sum.announced, 88U) << "calls of fib that fork";
    EXPECT_EQ(sum.announced, sum.run_inline + sum.run_own + sum.run_stolen);
    pilfer_counters one{};
    std::uint64_t announced = 0;
    for (unsigned i = 0; i < 2; ++i) {
        EXPECT_EQ(pilfer_worker_counters(pool, i, &one), 0);
        announced += one.announced;
    }
    EXPECT_EQ(announced, sum.announced);

    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    EXPECT_EQ(pilfer_pool_dump(pool, ends[1]), 0);
    std::array<char, 4096> text{};
    const ssize_t got = read(ends[0], text.data(), text.size());
    EXPECT_NE(
        std::string_view(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))).find("worker"),
        std::string_view::npos);
    close(ends[0]);
    close(ends[1]);

    const std::string path = testing::TempDir() + "capi_trace_" + std::to_string(getpid()) + ".json";
    EXPECT_EQ(pilfer_pool_write_trace(pool, path.c_str()), 0);
    std::stringstream trace;
    trace << std::ifstream(path).rdbuf();
    EXPECT_NE(trace.str().find("traceEvents"), std::string::npos);
    unlink(path.c_str());

    c_options recording;
    recording.set("debug.profile", "1");
    const c_pool serial(recording);
    EXPECT_EQ(pilfer_pool_run(serial, fib_by_join, &whole), 0);
    pilfer_work_span figures{};
    EXPECT_EQ(pilfer_pool_profile(serial, &figures), 0);
    EXPECT_EQ(figures.complete, 1);
    EXPECT_GE(figures.tasks, 88U);
    EXPECT_GT(figures.strands, figures.span_strands);
}

TEST_F(c_interface, threads_call_on_start_and_on_stop) {
    struct count {
        std::atomic<unsigned> started{0};
        std::atomic<unsigned> stopped{0};
    } seen;
    const auto start = [](unsigned worker, void* arg) { static_cast<count*>(arg)->started += worker + 1; };
    const auto stop = [](unsigned worker, void* arg) { static_cast<count*>(arg)->stopped += worker + 1; };
    c_options o(2);
    EXPECT_EQ(pilfer_options_on_start(o.handle(), start, &seen), 0);
    EXPECT_EQ(pilfer_options_on_stop(o.handle(), stop, &seen), 0);
    {
        const c_pool pool(o);
        EXPECT_EQ(seen.started, 3U);
        EXPECT_EQ(seen.stopped, 0U);
    }
    EXPECT_EQ(seen.stopped, 3U);
    EXPECT_EQ(pilfer_options_on_start(o.handle(), nullptr, &seen), 0);
    EXPECT_EQ(pilfer_options_on_stop(o.handle(), nullptr, nullptr), 0);
    { const c_pool pool(o); }
    EXPECT_EQ(seen.started, 3U);
    EXPECT_EQ(seen.stopped, 3U);
    EXPECT_EQ(pilfer_options_on_start(nullptr, start, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_options_on_stop(nullptr, stop, nullptr), PILFER_EINVAL);
}

TEST_F(c_interface, a_pool_is_kept_warm) {
    const c_options o(2);
    const c_pool pool(o);
    EXPECT_EQ(pilfer_keep_warm_end(pool), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_keep_warm_begin(pool), 0);
    EXPECT_EQ(pilfer_keep_warm_begin(pool), 0);
    EXPECT_EQ(pilfer_pool_run(
                  pool, [](void*) {}, nullptr),
              0);
    EXPECT_EQ(pilfer_keep_warm_end(pool), 0);
    EXPECT_EQ(pilfer_keep_warm_end(pool), 0);
    EXPECT_EQ(pilfer_keep_warm_end(pool), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_keep_warm_begin(nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_keep_warm_end(nullptr), PILFER_EINVAL);
}

TEST_F(c_interface, options_by_name_and_text) {
    // A value other than the default, for each.
    const std::pair<const char*, const char*> others[] = {
        {"workers", "3"},           {"stack_size", "131072"},     {"max_contexts", "500"},
        {"max_extra_workers", "3"}, {"balance", "3/4,nearest"},   {"pin", "compact"},
        {"spin", "battery"},        {"name", "ten_bytes_"},       {"priority", "-7"},
        {"resume", "own-thread"},   {"balance.unshare", "all"},   {"debug.overflow_message", "0"},
        {"only_workers", "1"},      {"debug.stall_report", "0"},  {"debug.dump_signal", "12"},
        {"debug.count_all", "1"},   {"debug.trace_events", "64"}, {"debug.profile", "1"},
        {"backend", "one_lock"}};
    c_options o;
    for (const auto& [name, text] : others) {
        EXPECT_NE(o.get(name), text) << name;
        o.set(name, text);
    }
    for (const auto& [name, text] : others) {
        EXPECT_EQ(o.get(name), text) << name << " is another's member";
    }
    for (const char* text :
         {"65535/65536,longest,threshold:4611686018427387904:4611686018427387904:4611686018427387904",
          "threshold:4611686018427387904:4611686018427387904:65536/65536", "short-eager:7",
          "all-but-one,sticky,doubling", ""}) {
        o.set("balance", text);
        EXPECT_EQ(o.get("balance"), text);
        EXPECT_EQ(o.get("balance.unshare"), "all") << "a policy does not name it";
    }
    EXPECT_EQ(o.error(), "");

    c_options few(2);
    few.set("balance", "ring");
    const c_pool pool(few);
    c_options there;
    EXPECT_EQ(pilfer_pool_settings(pool, there.handle()), 0);
    EXPECT_EQ(there.get("workers"), "2");
    EXPECT_NE(there.get("balance").find(",ring,"), std::string::npos) << "what nobody named is filled in";
}

TEST_F(c_interface, every_code_has_a_text) {
    std::vector<std::string> texts;
    for (int code = 0; code >= PILFER_EMISMATCH; --code) {
        texts.emplace_back(pilfer_strerror(code));
        EXPECT_EQ(std::count(texts.begin(), texts.end(), texts.back()), 1) << code;
    }
    const std::string none = pilfer_strerror(1);
    EXPECT_EQ(std::count(texts.begin(), texts.end(), none), 0);
    for (const int code : {PILFER_EMISMATCH - 1, INT_MIN, INT_MAX}) {
        EXPECT_EQ(pilfer_strerror(code), none);
    }
}

} // namespace
