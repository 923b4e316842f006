// <pilfer/pilfer.h>, row E2: each call does what its C++ twin does, and says what is wrong by a code.
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

#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

/// Options as C makes them.
class c_options {
public:
    c_options() { EXPECT_EQ(pilfer_options_new(&m_options), 0); }
    explicit c_options(unsigned workers) : c_options() { set("workers", std::to_string(workers)); }
    c_options(const c_options&) = delete;
    c_options& operator=(const c_options&) = delete;
    ~c_options() { pilfer_options_free(m_options); }
    void set(const char* name, const std::string& value) {
        EXPECT_EQ(pilfer_options_set(m_options, name, value.c_str()), 0) << name << ": " << error();
    }
    [[nodiscard]] std::string get(const char* name) const {
        std::array<char, 128> text{};
        EXPECT_EQ(pilfer_options_get(m_options, name, text.data(), text.size()), 0) << name;
        return text.data();
    }
    [[nodiscard]] std::string error() const { return pilfer_options_error(m_options); }
    [[nodiscard]] pilfer_options* handle() const { return m_options; }

private:
    pilfer_options* m_options = nullptr;
};

class c_pool {
public:
    explicit c_pool(const c_options& o) { EXPECT_EQ(pilfer_pool_new(&m_pool, o.handle()), 0) << o.error(); }
    explicit c_pool(unsigned workers) : c_pool(c_options(workers)) {}
    c_pool(const c_pool&) = delete;
    c_pool& operator=(const c_pool&) = delete;
    ~c_pool() { EXPECT_EQ(pilfer_pool_destroy(m_pool), 0); }
    operator pilfer_pool*() const { return m_pool; } // NOLINT(*-explicit-*)

    /// f() on a worker.
    template <class F>
    void run(F f) const {
        EXPECT_EQ(pilfer_pool_run(
                      m_pool, [](void* self) { (*static_cast<F*>(self))(); }, &f),
                  0);
    }

private:
    pilfer_pool* m_pool = nullptr;
};

struct number {
    unsigned n;
    std::uint64_t result;
};

void fib_by_join(void* data) {
    auto& self = *static_cast<number*>(data);
    number a{self.n - 1, 0};
    number b{self.n - 2, 0};
    if (self.n < 2) {
        self.result = self.n;
        return;
    }
    EXPECT_EQ(pilfer_join2(fib_by_join, &a, fib_by_join, &b), 0);
    self.result = a.result + b.result;
}

enum class way { spawn, defer, spawn_weighted, defer_weighted };

template <way Way>
int start(pilfer_scope* s, void (*f)(void*), number* n) {
    switch (Way) {
    case way::spawn:
        return pilfer_scope_spawn(s, f, n);
    case way::defer:
        return pilfer_scope_defer(s, f, n);
    case way::spawn_weighted:
        return pilfer_scope_spawn_weighted(s, n->n, f, n);
    case way::defer_weighted:
        return pilfer_scope_defer_weighted(s, n->n, f, n);
    }
    return 1;
}

template <way Way>
void fib_by_scope(void* data) {
    auto& self = *static_cast<number*>(data);
    if (self.n < 2) {
        self.result = self.n;
        return;
    }
    number a{self.n - 1, 0};
    number b{self.n - 2, 0};
    pilfer_scope s;
    EXPECT_EQ(pilfer_scope_begin(&s), 0);
    EXPECT_EQ(start<Way>(&s, fib_by_scope<Way>, &a), 0);
    fib_by_scope<Way>(&b);
    EXPECT_EQ(pilfer_scope_sync(&s), 0);
    self.result = a.result + b.result;
    EXPECT_EQ(pilfer_scope_end(&s), 0);
}

void* fib_by_futures(void* data) {
    const auto n = reinterpret_cast<std::uintptr_t>(data);
    if (n < 2) {
        return data;
    }
    pilfer_future* a = nullptr;
    EXPECT_EQ(pilfer_async(nullptr, fib_by_futures, reinterpret_cast<void*>(n - 1), &a), 0);
    const auto b = reinterpret_cast<std::uintptr_t>(fib_by_futures(reinterpret_cast<void*>(n - 2)));
    void* first = nullptr;
    EXPECT_EQ(pilfer_future_get(a, &first), 0);
    EXPECT_EQ(pilfer_future_ready(a), 1);
    pilfer_future_free(a);
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(first) + b);
}

class row_E2 : public over_workers {};

TEST_P(row_E2, fork_and_join_in_every_form) {
    const c_pool pool(GetParam());
    for (const auto f : {fib_by_join, fib_by_scope<way::spawn>, fib_by_scope<way::defer>,
                         fib_by_scope<way::spawn_weighted>, fib_by_scope<way::defer_weighted>}) {
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

TEST_P(row_E2, a_spawning_frame_keeps_its_locals_wherever_it_goes_on) {
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

TEST_P(row_E2, loops_visit_each_index_once) {
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

/// Joined intervals: a sum that only exists in order.
struct interval {
    std::uint64_t begin;
    std::uint64_t end; ///< == begin: the empty one
    bool torn;
};
constexpr pilfer_reducer intervals = {
    sizeof(interval),
    [](void* value, void*) {
        *static_cast<interval*>(value) = {0, 0, false};
    },
    [](void* value, std::size_t begin, std::size_t end, void*) {
        auto& v = *static_cast<interval*>(value);
        v.torn = v.torn || begin >= end || (v.begin != v.end && v.end != begin);
        v = {v.begin == v.end ? begin : v.begin, end, v.torn};
        // Long enough for others to come.
        for (std::size_t i = begin; i < end && i % 64 == 0; ++i) {
            std::this_thread::yield();
        }
    },
    [](void* left, void* right, void*) {
        auto& l = *static_cast<interval*>(left);
        const auto& r = *static_cast<interval*>(right);
        if (r.begin != r.end) {
            const bool apart = l.begin != l.end && l.end != r.begin;
            l = {l.begin == l.end ? r.begin : l.begin, r.end, l.torn || r.torn || apart};
        }
    }};

TEST_P(row_E2, reductions_keep_the_order) {
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

TEST_P(row_E2, a_dropped_task_breaks_its_promise) {
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
        EXPECT_EQ(pilfer_async(pool, wait, &go_on, &f), 0); // the last one finds nobody free
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

TEST_P(row_E2, time_and_tasks_that_nobody_waits_for) {
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

/// A pointer that is a number, as tests send and return them.
void* numbered(std::uintptr_t n) { return reinterpret_cast<void*>(n); }
std::uintptr_t number_of(void* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// The code of a future, which is freed, and its result.
int take(pilfer_future* f, std::uintptr_t& n) {
    void* result = numbered(77);
    const int code = pilfer_future_get(f, &result);
    n = number_of(result);
    pilfer_future_free(f);
    return code;
}

TEST_P(row_E2, a_promise_is_set_once) {
    const c_pool pool(GetParam());
    pilfer_promise* p = nullptr;
    ASSERT_EQ(pilfer_promise_new(&p), 0);
    pilfer_future* const first = pilfer_promise_future(p);
    pilfer_future* const second = pilfer_promise_future(p);
    EXPECT_EQ(pilfer_future_ready(first), 0);
    EXPECT_EQ(pilfer_future_wait_for(first, 0), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_future_wait_for(first, 1000), PILFER_ETIMEDOUT);
    // A task waits for it, on each worker, while one more sets it.
    std::vector<pilfer_future*> waiting(GetParam());
    for (auto& w : waiting) {
        EXPECT_EQ(pilfer_async(
                      pool,
                      [](void* f) -> void* {
                          void* got = nullptr;
                          EXPECT_EQ(pilfer_future_get(static_cast<pilfer_future*>(f), &got), 0);
                          return got;
                      },
                      first, &w),
                  0);
    }
    EXPECT_EQ(pilfer_submit(
                  pool,
                  [](void* set) {
                      EXPECT_EQ(pilfer_promise_set_value(static_cast<pilfer_promise*>(set), numbered(5)), 0);
                  },
                  p),
              0);
    std::uintptr_t n = 0;
    for (auto* w : waiting) {
        EXPECT_EQ(take(w, n), 0);
        EXPECT_EQ(n, 5U);
    }
    EXPECT_EQ(pilfer_promise_set_value(p, nullptr), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_promise_set_error(p, -1000), PILFER_EUSAGE);
    pilfer_promise_free(p);
    EXPECT_EQ(pilfer_future_wait_for(first, UINT64_MAX), 0);
    pilfer_future_free(first);
    EXPECT_EQ(take(second, n), 0) << "also after the promise";
    EXPECT_EQ(n, 5U);

    ASSERT_EQ(pilfer_promise_new(&p), 0);
    pilfer_future* const failed = pilfer_promise_future(p);
    EXPECT_EQ(pilfer_promise_set_error(p, 0), PILFER_EINVAL);
    EXPECT_EQ(pilfer_promise_set_error(p, 1), PILFER_EINVAL);
    EXPECT_EQ(pilfer_promise_set_error(p, -1000), 0);
    pilfer_promise_free(p);
    EXPECT_EQ(pilfer_future_wait_for(failed, 0), -1000);
    EXPECT_EQ(take(failed, n), -1000);
    EXPECT_EQ(n, 77U) << "nothing was stored";

    ASSERT_EQ(pilfer_promise_new(&p), 0);
    pilfer_future* const broken = pilfer_promise_future(p);
    pilfer_promise_free(p);
    EXPECT_EQ(take(broken, n), PILFER_EBROKEN);
}

TEST_P(row_E2, functions_go_on_with_results) {
    auto pool = std::make_unique<c_pool>(GetParam());
    const auto plus = [](void* result, void* arg) -> void* {
        return numbered(number_of(result) + number_of(arg));
    };
    const auto code_and_arg = [](pilfer_future* done, void* arg) -> void* {
        EXPECT_EQ(pilfer_future_ready(done), 1);
        return numbered(number_of(arg) + static_cast<std::uintptr_t>(-pilfer_future_wait(done)));
    };
    pilfer_future* f = nullptr;
    ASSERT_EQ(pilfer_async(
                  *pool, [](void* arg) { return arg; }, numbered(1), &f),
              0);
    for (unsigned i = 0; i < 50; ++i) { // the source may be freed at once
        pilfer_future* next = nullptr;
        ASSERT_EQ(pilfer_future_then(f, plus, numbered(2), &next), 0);
        pilfer_future_free(f);
        f = next;
    }
    pilfer_future* handled = nullptr;
    ASSERT_EQ(pilfer_future_continue_with(f, code_and_arg, numbered(10), &handled), 0);
    std::uintptr_t n = 0;
    EXPECT_EQ(take(f, n), 0);
    EXPECT_EQ(n, 101U);
    EXPECT_EQ(take(handled, n), 0);
    EXPECT_EQ(n, 10U);

    // Where there is no result the code goes on instead.
    pilfer_promise* p = nullptr;
    ASSERT_EQ(pilfer_promise_new(&p), 0);
    f = pilfer_promise_future(p);
    pilfer_future* skipped = nullptr;
    const auto never = [](void*, void*) -> void* {
        ADD_FAILURE() << "called without a result";
        return nullptr;
    };
    ASSERT_EQ(pilfer_future_then_in(*pool, f, never, nullptr, &skipped), 0);
    ASSERT_EQ(pilfer_future_continue_with_in(*pool, skipped, code_and_arg, numbered(10), &handled), 0);
    EXPECT_EQ(pilfer_future_ready(handled), 0);
    EXPECT_EQ(pilfer_promise_set_error(p, -2000), 0);
    EXPECT_EQ(take(skipped, n), -2000);
    EXPECT_EQ(take(handled, n), 0);
    EXPECT_EQ(n, 2010U);
    pilfer_promise_free(p);
    pilfer_future_free(f);

    // A pool that is gone by the time of the result takes nothing.
    ASSERT_EQ(pilfer_promise_new(&p), 0);
    f = pilfer_promise_future(p);
    ASSERT_EQ(pilfer_future_then_in(*pool, f, never, nullptr, &skipped), 0);
    pilfer_future* late = nullptr;
    ASSERT_EQ(pilfer_future_then_in(*pool, skipped, never, nullptr, &late), 0);
    EXPECT_EQ(pilfer_future_ready(late), 0);
    pool.reset(); // not even there any more
    EXPECT_EQ(pilfer_promise_set_value(p, nullptr), 0);
    EXPECT_EQ(take(skipped, n), PILFER_ECLOSED);
    EXPECT_EQ(take(late, n), PILFER_ECLOSED);
    pilfer_promise_free(p);
    pilfer_future_free(f);
}

TEST_P(row_E2, one_future_for_several) {
    const c_pool pool(GetParam());
    constexpr std::size_t count = 20;
    std::array<pilfer_future*, count> futures{};
    std::array<pilfer_promise*, count> promises{};
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(pilfer_promise_new(&promises[i]), 0);
        futures[i] = pilfer_promise_future(promises[i]);
    }
    pilfer_future* all = nullptr;
    pilfer_future* any = nullptr;
    ASSERT_EQ(pilfer_when_all(futures.data(), count, &all), 0);
    ASSERT_EQ(pilfer_when_any(futures.data(), count, &any), 0);
    EXPECT_EQ(pilfer_future_ready(all), 0);
    EXPECT_EQ(pilfer_future_ready(any), 0);
    EXPECT_EQ(pilfer_promise_set_error(promises[7], -1000), 0);
    void* which = nullptr;
    EXPECT_EQ(pilfer_future_get(any, &which), 0);
    EXPECT_EQ(which, futures[7]);
    EXPECT_EQ(pilfer_future_ready(all), 0);
    pilfer_future_free(any);
    // Others see the end of all of them, set by tasks, some by being dropped.
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(pilfer_submit(
                      pool,
                      [](void* p) {
                          (void)pilfer_promise_set_value(static_cast<pilfer_promise*>(p), nullptr);
                          pilfer_promise_free(static_cast<pilfer_promise*>(p));
                      },
                      promises[i]),
                  0);
    }
    std::uintptr_t n = 0;
    EXPECT_EQ(take(all, n), 0) << "the codes are in the futures";
    EXPECT_EQ(n, 0U);
    ASSERT_EQ(pilfer_when_any(futures.data(), count, &any), 0) << "all of them ready";
    EXPECT_EQ(pilfer_future_get(any, &which), 0);
    EXPECT_EQ(which, futures[0]);
    pilfer_future_free(any);
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(pilfer_future_wait(futures[i]), i == 7 ? -1000 : 0);
        pilfer_future_free(futures[i]);
    }
    ASSERT_EQ(pilfer_when_all(nullptr, 0, &all), 0);
    EXPECT_EQ(take(all, n), 0);
    ASSERT_EQ(pilfer_when_any(nullptr, 0, &any), 0);
    EXPECT_EQ(take(any, n), 0);
    EXPECT_EQ(n, 0U) << "none";
}

/// What tasks and a thread share: a number under a mutex, and who is told of it.
struct shared_number {
    pilfer_mutex mutex;
    pilfer_condition changed;
    unsigned n = 0;
    unsigned wanted = 0;
};

TEST_P(row_E2, mutex_and_condition) {
    const c_pool pool(GetParam());
    shared_number shared;
    ASSERT_EQ(pilfer_mutex_init(&shared.mutex), 0);
    ASSERT_EQ(pilfer_condition_init(&shared.changed), 0);
    constexpr unsigned tasks = 20;
    constexpr unsigned each = 50;
    shared.wanted = tasks * each;
    const auto add = [](void* data) {
        auto& s = *static_cast<shared_number*>(data);
        for (unsigned i = 0; i < each; ++i) {
            EXPECT_EQ(pilfer_mutex_lock(&s.mutex), 0);
            const unsigned before = s.n;
            if (i % 10 == 0) {
                pilfer_yield(); // with the mutex held, unlike under one of pthreads
            }
            s.n = before + 1;
            EXPECT_EQ(s.n == s.wanted ? pilfer_condition_notify_all(&s.changed)
                                      : pilfer_condition_notify_one(&s.changed),
                      0);
            EXPECT_EQ(pilfer_mutex_unlock(&s.mutex), 0);
        }
    };
    const auto wait = [](void* data) {
        auto& s = *static_cast<shared_number*>(data);
        EXPECT_EQ(pilfer_mutex_lock(&s.mutex), 0);
        while (s.n != s.wanted) {
            EXPECT_EQ(pilfer_condition_wait(&s.changed, &s.mutex), 0);
        }
        EXPECT_EQ(pilfer_mutex_unlock(&s.mutex), 0);
    };
    for (unsigned i = 0; i < tasks; ++i) {
        EXPECT_EQ(pilfer_submit(pool, i % 2 == 0 ? +wait : +add, &shared), 0);
        EXPECT_EQ(pilfer_submit(pool, i % 2 == 0 ? +add : +wait, &shared), 0);
    }
    wait(&shared); // a thread
    // Tasks that still wait are told by the last notification; each of them takes the mutex once more.
    EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), 0);
    EXPECT_EQ(shared.n, shared.wanted);

    EXPECT_EQ(pilfer_mutex_try_lock(&shared.mutex), 0);
    std::thread([&] { // to lock twice is misuse
        EXPECT_EQ(pilfer_mutex_try_lock(&shared.mutex), PILFER_ETIMEDOUT);
        EXPECT_EQ(pilfer_mutex_lock_for(&shared.mutex, 1000), PILFER_ETIMEDOUT);
    })
        .join();
    EXPECT_EQ(pilfer_condition_wait_for(&shared.changed, &shared.mutex, 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_mutex_unlock(&shared.mutex), 0) << "it was locked again";
    EXPECT_EQ(pilfer_mutex_lock_for(&shared.mutex, 0), 0);
    EXPECT_EQ(pilfer_mutex_unlock(&shared.mutex), 0);
    pilfer_condition_destroy(&shared.changed);
    pilfer_mutex_destroy(&shared.mutex);
}

struct signals {
    pilfer_semaphore semaphore;
    pilfer_latch latch;
    pilfer_event event;
    std::atomic<unsigned> passed{0};
};

TEST_P(row_E2, semaphore_latch_and_event) {
    const c_pool pool(GetParam());
    signals s;
    constexpr unsigned tasks = 12;
    ASSERT_EQ(pilfer_semaphore_init(&s.semaphore, 0), 0);
    ASSERT_EQ(pilfer_latch_init(&s.latch, tasks), 0);
    ASSERT_EQ(pilfer_event_init(&s.event, 0), 0);
    EXPECT_EQ(pilfer_semaphore_try_acquire(&s.semaphore), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_semaphore_acquire_for(&s.semaphore, 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_latch_try_wait(&s.latch), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_latch_wait_for(&s.latch, 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_event_is_set(&s.event), 0);
    EXPECT_EQ(pilfer_event_wait_for(&s.event, 1000), PILFER_ETIMEDOUT);
    const auto task = [](void* data) {
        auto& it = *static_cast<signals*>(data);
        EXPECT_EQ(pilfer_event_wait(&it.event), 0);
        EXPECT_EQ(pilfer_semaphore_acquire(&it.semaphore), 0);
        ++it.passed;
        EXPECT_EQ(pilfer_latch_count_down(&it.latch, 1), 0);
    };
    for (unsigned i = 0; i < tasks; ++i) {
        EXPECT_EQ(pilfer_submit(pool, task, &s), 0);
    }
    EXPECT_EQ(pilfer_event_set(&s.event), 0);
    EXPECT_EQ(pilfer_event_is_set(&s.event), 1);
    EXPECT_EQ(pilfer_semaphore_release(&s.semaphore, 0), 0);
    EXPECT_EQ(s.passed, 0U) << "nothing was released";
    EXPECT_EQ(pilfer_semaphore_release(&s.semaphore, tasks + 2), 0);
    EXPECT_EQ(pilfer_latch_wait(&s.latch), 0);
    EXPECT_EQ(s.passed, tasks);
    EXPECT_EQ(pilfer_latch_try_wait(&s.latch), 0);
    EXPECT_EQ(pilfer_latch_wait_for(&s.latch, 0), 0);
    EXPECT_EQ(pilfer_event_wait_for(&s.event, 0), 0);
    EXPECT_EQ(pilfer_semaphore_try_acquire(&s.semaphore), 0);
    EXPECT_EQ(pilfer_semaphore_acquire_for(&s.semaphore, 0), 0);
    EXPECT_EQ(pilfer_semaphore_try_acquire(&s.semaphore), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), 0);
    EXPECT_EQ(pilfer_event_reset(&s.event), 0);
    EXPECT_EQ(pilfer_event_is_set(&s.event), 0);
    pilfer_event_destroy(&s.event);
    ASSERT_EQ(pilfer_event_init(&s.event, 1), 0);
    EXPECT_EQ(pilfer_event_wait(&s.event), 0);
    pilfer_event_destroy(&s.event);
    pilfer_latch_destroy(&s.latch);
    pilfer_semaphore_destroy(&s.semaphore);
}

struct pipeline {
    pilfer_channel* channel = nullptr;
    std::atomic<std::uintptr_t> sum{0};
    std::atomic<unsigned> senders{0};
};

TEST_P(row_E2, channels_of_every_capacity) {
    for (const std::size_t capacity : {0U, 1U, 7U}) {
        const c_pool pool(GetParam());
        pipeline p;
        ASSERT_EQ(pilfer_channel_new(&p.channel, capacity), 0);
        constexpr unsigned senders = 4;
        constexpr std::uintptr_t each = 50;
        p.senders = senders;
        const auto send = [](void* data) {
            auto& to = *static_cast<pipeline*>(data);
            for (std::uintptr_t i = 1; i <= each; ++i) {
                EXPECT_EQ(pilfer_channel_send(to.channel, numbered(i)), 0);
            }
            if (--to.senders == 0) {
                EXPECT_EQ(pilfer_channel_close(to.channel), 0);
            }
        };
        const auto receive = [](void* data) {
            auto& from = *static_cast<pipeline*>(data);
            void* value = nullptr;
            int code = 0;
            while ((code = pilfer_channel_receive(from.channel, &value)) == 0) {
                from.sum += number_of(value);
            }
            EXPECT_EQ(code, PILFER_ECLOSED);
        };
        for (unsigned i = 0; i < senders; ++i) {
            EXPECT_EQ(pilfer_submit(pool, i % 2 == 0 ? +send : +receive, &p), 0);
            EXPECT_EQ(pilfer_submit(pool, i % 2 == 0 ? +receive : +send, &p), 0);
        }
        receive(&p); // a thread
        EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), 0);
        EXPECT_EQ(p.sum, senders * each * (each + 1) / 2);
        EXPECT_EQ(pilfer_channel_closed(p.channel), 1);
        EXPECT_EQ(pilfer_channel_size(p.channel), 0U);
        pilfer_channel_free(p.channel);
    }
}

TEST_P(row_E2, a_channel_says_why_not) {
    pilfer_channel* c = nullptr;
    ASSERT_EQ(pilfer_channel_new(&c, 2), 0);
    void* value = numbered(77);
    EXPECT_EQ(pilfer_channel_try_receive(c, &value), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_channel_receive_for(c, &value, 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(number_of(value), 77U) << "as before";
    EXPECT_EQ(pilfer_channel_try_send(c, nullptr), 0) << "NULL is a value";
    EXPECT_EQ(pilfer_channel_send_for(c, numbered(2), 0), 0);
    EXPECT_EQ(pilfer_channel_try_send(c, numbered(3)), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_channel_send_for(c, numbered(3), 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_channel_size(c), 2U);
    EXPECT_EQ(pilfer_channel_closed(c), 0);
    EXPECT_EQ(pilfer_channel_receive(c, nullptr), PILFER_EINVAL) << "nothing is received";
    EXPECT_EQ(pilfer_channel_receive(c, &value), 0);
    EXPECT_EQ(value, nullptr);
    EXPECT_EQ(pilfer_channel_close(c), 0);
    EXPECT_EQ(pilfer_channel_close(c), 0);
    EXPECT_EQ(pilfer_channel_closed(c), 1);
    EXPECT_EQ(pilfer_channel_send(c, numbered(4)), PILFER_ECLOSED);
    EXPECT_EQ(pilfer_channel_try_send(c, numbered(4)), PILFER_ECLOSED);
    EXPECT_EQ(pilfer_channel_send_for(c, numbered(4), 1000), PILFER_ECLOSED);
    EXPECT_EQ(pilfer_channel_receive_for(c, &value, 0), 0) << "what was accepted is there";
    EXPECT_EQ(number_of(value), 2U);
    EXPECT_EQ(pilfer_channel_receive(c, &value), PILFER_ECLOSED);
    EXPECT_EQ(pilfer_channel_try_receive(c, &value), PILFER_ECLOSED);
    EXPECT_EQ(pilfer_channel_receive_for(c, &value, 1000), PILFER_ECLOSED);
    EXPECT_EQ(number_of(value), 2U) << "as before";
    pilfer_channel_free(c);
}

/// More than the workers block for what only another task does.
TEST_P(row_E2, blocking_calls_hold_no_worker_up) {
    c_options o(GetParam());
    o.set("max_extra_workers", std::to_string(GetParam() + 1));
    const c_pool pool(o);
    struct shared {
        std::array<int, 2> ends{};
        std::atomic<unsigned> got{0};
    } s;
    ASSERT_EQ(pipe(s.ends.data()), 0);
    const auto read_one = [](void* data) -> void* {
        EXPECT_EQ(pilfer_blocking(
                      [](void* all) {
                          auto& self = *static_cast<shared*>(all);
                          char byte = 0;
                          self.got += read(self.ends[0], &byte, 1) == 1 ? 1 : 0;
                      },
                      data),
                  0);
        return nullptr;
    };
    std::vector<pilfer_future*> readers(GetParam() + 1);
    for (auto& f : readers) {
        EXPECT_EQ(pilfer_async(pool, read_one, &s, &f), 0);
    }
    EXPECT_EQ(pilfer_pool_run(
                  pool,
                  [](void* data) {
                      auto& self = *static_cast<shared*>(data);
                      const std::string bytes(65, 'x'); // one for each reader at least
                      EXPECT_EQ(write(self.ends[1], bytes.data(), bytes.size()), 65);
                  },
                  &s),
              0);
    for (auto* const f : readers) {
        EXPECT_EQ(pilfer_future_wait(f), 0);
        pilfer_future_free(f);
    }
    EXPECT_EQ(s.got, readers.size());
    close(s.ends[0]);
    close(s.ends[1]);
}

PILFER_OVER_WORKERS(row_E2);

class row_E2_alone : public guarded {};

/// In a child: the common pool's threads stay where it was made, and no child made later would have them.
template <class Body>
void with_a_common_pool(Body body) {
    const auto result = in_child([&] {
        body();
        return testing::Test::HasFailure() ? 1 : 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

TEST_F(row_E2_alone, outside_a_pool_the_common_one_does_it) {
    with_a_common_pool([] {
        const long here = thread_id();
        for (const auto f : {fib_by_join, fib_by_scope<way::spawn>, fib_by_scope<way::defer>}) {
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

TEST_F(row_E2_alone, a_scope_that_comes_home) {
    c_options o(3);
    o.set("resume", "elsewhere");
    const c_pool pool(o);
    pool.run([] {
        for (int i = 0; i < 20; ++i) {
            pilfer_scope s;
            EXPECT_EQ(pilfer_scope_begin_at(&s, PILFER_RESUME_OWN_THREAD), 0);
            const long here = thread_id();
            number n{5, 0};
            EXPECT_EQ(pilfer_scope_defer(&s, fib_by_join, &n), 0);
            EXPECT_EQ(pilfer_scope_end(&s), 0);
            EXPECT_EQ(thread_id(), here);
        }
    });
}

TEST_F(row_E2_alone, what_a_pool_tells) {
    c_options o(2);
    o.set("count_all", "1");
    o.set("trace_events", "1024");
    const c_pool pool(o);
    number whole{10, 0};
    EXPECT_EQ(pilfer_pool_run(pool, fib_by_join, &whole), 0);
    pilfer_counters sum{};
    EXPECT_EQ(pilfer_pool_counters(pool, &sum), 0);
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
    recording.set("profile", "1");
    const c_pool serial(recording);
    EXPECT_EQ(pilfer_pool_run(serial, fib_by_join, &whole), 0);
    pilfer_work_span figures{};
    EXPECT_EQ(pilfer_pool_profile(serial, &figures), 0);
    EXPECT_EQ(figures.complete, 1);
    EXPECT_GE(figures.tasks, 88U);
    EXPECT_GT(figures.strands, figures.span_strands);
}

TEST_F(row_E2_alone, options_by_name_and_text) {
    // A value other than the default, for each.
    const std::pair<const char*, const char*> others[] = {
        {"workers", "3"},           {"stack_size", "131072"},   {"max_contexts", "500"},
        {"max_extra_workers", "3"}, {"balance", "3/4,nearest"}, {"pin", "compact"},
        {"resume", "own-thread"},   {"take_back", "all"},       {"overflow_message", "0"},
        {"stall_report", "0"},      {"dump_signal", "12"},      {"count_all", "1"},
        {"trace_events", "64"},     {"profile", "1"},           {"backend", "one_lock"}};
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

TEST_F(row_E2_alone, every_code_has_a_text) {
    std::vector<std::string> texts;
    for (int code = 0; code >= PILFER_ETIMEDOUT; --code) {
        texts.emplace_back(pilfer_strerror(code));
        EXPECT_EQ(std::count(texts.begin(), texts.end(), texts.back()), 1) << code;
    }
    const std::string none = pilfer_strerror(1);
    EXPECT_EQ(std::count(texts.begin(), texts.end(), none), 0);
    for (const int code : {PILFER_ETIMEDOUT - 1, INT_MIN, INT_MAX}) {
        EXPECT_EQ(pilfer_strerror(code), none);
    }
}

// ---- wrong calls ------------------------------------------------------------------------------

void nothing(void*) {}
void* no_value(void*) { return nullptr; }
void* no_following(void*, void*) { return nullptr; }
void* no_handling(pilfer_future*, void*) { return nullptr; }
int never_again(void*) { return 0; }
void no_piece(std::size_t, std::size_t, void*) {}

/// The text is wrong for that option: refused, said with the option's name, and nothing changed.
struct wrong_text {
    const char* option;
    const char* value;
    const char* said;
};

TEST_F(row_E2_alone, bad_input_option_texts) {
    const std::string nines(30, '9');
    const wrong_text rows[] = {
        {"workers", "", "options.workers must be a decimal number"},
        {"workers", "-1", "not \"-1\""},
        {"workers", "+1", "not \"+1\""},
        {"workers", " 1", "not \" 1\""},
        {"workers", "1 ", "not \"1 \""},
        {"workers", "0x2", "not \"0x2\""},
        {"workers", "4294967296", "that its type can hold"},
        {"workers", nines.c_str(), "that its type can hold"},
        {"stack_size", "256K", "options.stack_size must be"},
        {"max_contexts", "1e3", "options.max_contexts must be"},
        {"dump_signal", "-5", "options.dump_signal must be"},
        {"dump_signal", "2147483648", "options.dump_signal must be"},
        {"stall_report", "off", "options.stall_report must be"},
        {"trace_events", "all", "options.trace_events must be"},
        {"count_all", "", "options.count_all must be 0 or 1"},
        {"count_all", "2", "options.count_all must be 0 or 1"},
        {"overflow_message", "no", "options.overflow_message must be 0 or 1"},
        {"profile", "true", "options.profile must be 0 or 1"},
        {"pin", "Compact", "options.pin must be automatic, off, compact or spread"},
        {"pin", "", "options.pin must be"},
        {"resume", "own_thread", "options.resume must be anywhere, own-thread or elsewhere"},
        {"take_back", "two", "options.take_back must be one or all"},
        {"backend", "one-lock", "options.backend must be automatic, work_stealing or one_lock"},
        {"balance", "halve", "options.balance=\"halve\": \"halve\" is no policy"},
        {"balance", "one,half", "is a second amount"},
        {"balance", "0/1", "P/Q needs"},
        {"balance", ",", "is no policy"},
        {"", "1", "there is no option \"\""},
        {"Workers", "1", "there is no option \"Workers\""},
        {"eager", "1", "there is no option \"eager\""},
        {"workers ", "1", "there is no option"},
    };
    c_options o;
    for (const wrong_text& row : rows) {
        std::array<char, 128> before{};
        const bool known = pilfer_options_get(o.handle(), row.option, before.data(), before.size()) == 0;
        EXPECT_EQ(pilfer_options_set(o.handle(), row.option, row.value), PILFER_EINVAL)
            << row.option << " = " << row.value;
        EXPECT_NE(o.error().find(row.said), std::string::npos) << o.error();
        if (known) {
            EXPECT_EQ(o.get(row.option), before.data()) << row.value;
        }
    }
    // What only the pool can judge.
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
             {"workers", "4097"}, {"stack_size", "16383"}, {"trace_events", "65"}, {"dump_signal", "9"}}) {
        c_options bad;
        bad.set(name, value);
        pilfer_pool* pool = nullptr;
        EXPECT_EQ(pilfer_pool_new(&pool, bad.handle()), PILFER_EINVAL);
        EXPECT_EQ(pool, nullptr);
        EXPECT_NE(bad.error().find("options." + std::string(name)), std::string::npos) << bad.error();
    }
    std::array<char, 4> text{};
    EXPECT_EQ(pilfer_options_get(o.handle(), "resume", text.data(), text.size()), PILFER_EINVAL);
    EXPECT_EQ(pilfer_options_get(o.handle(), "no", text.data(), text.size()), PILFER_EINVAL);
}

TEST_F(row_E2_alone, bad_input_arguments) {
    with_a_common_pool([] {
        c_pool pool(2U);
        const c_options o;
        pilfer_pool* no_pool = pool;
        pilfer_future* future = nullptr;
        pilfer_timer* timer = nullptr;
        pilfer_counters counters{};
        pilfer_work_span figures{};
        pilfer_scope s;
        pilfer_scope none; // never begun
        pilfer_future* ready = nullptr;
        ASSERT_EQ(pilfer_async(pool, no_value, nullptr, &ready), 0);
        const std::array<pilfer_future*, 2> pair = {ready, nullptr};
        pilfer_mutex mutex;
        pilfer_condition condition;
        pilfer_semaphore semaphore;
        pilfer_latch latch;
        void* got = nullptr;
        ASSERT_EQ(pilfer_scope_begin(&s), 0);
        std::array<char, 128> text{};
        int value = 0;
        const pilfer_reducer sums = {sizeof value, [](void*, void*) {},
                                     [](void*, std::size_t, std::size_t, void*) {},
                                     [](void*, void*, void*) {}};
        const auto without = [&](auto member) {
            pilfer_reducer r = sums;
            r.*member = {};
            return pilfer_reduce(0, 9, &r, nullptr, &value);
        };
        const int codes[] = {
            pilfer_options_new(nullptr),
            pilfer_options_set(nullptr, "workers", "1"),
            pilfer_options_set(o.handle(), nullptr, "1"),
            pilfer_options_set(o.handle(), "workers", nullptr),
            pilfer_options_get(nullptr, "workers", text.data(), text.size()),
            pilfer_options_get(o.handle(), nullptr, text.data(), text.size()),
            pilfer_options_get(o.handle(), "workers", nullptr, 64),
            pilfer_options_get(o.handle(), "workers", text.data(), 0),
            pilfer_pool_new(nullptr, nullptr),
            pilfer_pool_common(nullptr),
            pilfer_pool_shutdown(nullptr, PILFER_DRAIN),
            pilfer_pool_shutdown(pool, -1),
            pilfer_pool_shutdown(pool, 2),
            pilfer_pool_run(nullptr, nothing, nullptr),
            pilfer_pool_run(pool, nullptr, nullptr),
            pilfer_pool_settings(nullptr, o.handle()),
            pilfer_pool_settings(pool, nullptr),
            pilfer_pool_dump(nullptr, 2),
            pilfer_pool_dump(pool, -1),
            pilfer_pool_write_trace(nullptr, "x"),
            pilfer_pool_write_trace(pool, nullptr),
            pilfer_pool_counters(nullptr, &counters),
            pilfer_pool_counters(pool, nullptr),
            pilfer_worker_counters(nullptr, 0, &counters),
            pilfer_worker_counters(pool, 0, nullptr),
            pilfer_worker_counters(pool, 2, &counters),
            pilfer_worker_counters(pool, UINT_MAX, &counters),
            pilfer_pool_profile(nullptr, &figures),
            pilfer_pool_profile(pool, nullptr),
            pilfer_join2(nullptr, nullptr, nothing, nullptr),
            pilfer_join2(nothing, nullptr, nullptr, nullptr),
            pilfer_scope_begin(nullptr),
            pilfer_scope_begin_at(nullptr, PILFER_RESUME_ANYWHERE),
            pilfer_scope_begin_at(&none, 2),
            pilfer_scope_begin_at(&none, -1),
            pilfer_scope_spawn(nullptr, nothing, nullptr),
            pilfer_scope_spawn(&s, nullptr, nullptr),
            pilfer_scope_defer(nullptr, nothing, nullptr),
            pilfer_scope_defer(&s, nullptr, nullptr),
            pilfer_scope_spawn_weighted(&s, 0, nothing, nullptr),
            pilfer_scope_spawn_weighted(&s, 4'294'967'297, nothing, nullptr),
            pilfer_scope_defer_weighted(&s, 0, nothing, nullptr),
            pilfer_scope_defer_weighted(&s, UINT64_MAX, nothing, nullptr),
            pilfer_scope_defer_weighted(nullptr, 1, nothing, nullptr),
            pilfer_scope_sync(nullptr),
            pilfer_scope_end(nullptr),
            pilfer_for_each(0, 9, nullptr, nullptr),
            pilfer_reduce(0, 9, nullptr, nullptr, &value),
            pilfer_reduce(0, 9, &sums, nullptr, nullptr),
            without(&pilfer_reducer::size),
            without(&pilfer_reducer::identity),
            without(&pilfer_reducer::fold),
            without(&pilfer_reducer::combine),
            pilfer_async(pool, nullptr, nullptr, &future),
            pilfer_async(pool, no_value, nullptr, nullptr),
            pilfer_async_weighted(pool, 0, no_value, nullptr, &future),
            pilfer_async_weighted(pool, 4'294'967'297, no_value, nullptr, &future),
            pilfer_blocking(nullptr, nullptr),
            pilfer_submit(nullptr, nothing, nullptr),
            pilfer_submit(pool, nullptr, nullptr),
            pilfer_after(pool, 1, nullptr, nullptr, &timer),
            pilfer_every(pool, 1, nullptr, nullptr, &timer),
            pilfer_every(pool, 0, never_again, nullptr, &timer),
            pilfer_every(pool, UINT64_MAX, never_again, nullptr, &timer),
            pilfer_timer_cancel(nullptr),
            pilfer_timer_over(nullptr),
            pilfer_future_get(nullptr, nullptr),
            pilfer_future_wait(nullptr),
            pilfer_future_ready(nullptr),
            pilfer_future_wait_for(nullptr, 1),
            pilfer_future_then(nullptr, no_following, nullptr, &future),
            pilfer_future_then(ready, nullptr, nullptr, &future),
            pilfer_future_then(ready, no_following, nullptr, nullptr),
            pilfer_future_then_in(pool, nullptr, no_following, nullptr, &future),
            pilfer_future_continue_with(nullptr, no_handling, nullptr, &future),
            pilfer_future_continue_with(ready, nullptr, nullptr, &future),
            pilfer_future_continue_with(ready, no_handling, nullptr, nullptr),
            pilfer_future_continue_with_in(pool, ready, nullptr, nullptr, &future),
            pilfer_when_all(nullptr, 1, &future),
            pilfer_when_all(pair.data(), 2, &future),
            pilfer_when_all(pair.data(), 1, nullptr),
            pilfer_when_any(nullptr, 1, &future),
            pilfer_when_any(pair.data(), 2, &future),
            pilfer_when_any(pair.data(), 1, nullptr),
            pilfer_promise_new(nullptr),
            pilfer_promise_set_value(nullptr, nullptr),
            pilfer_promise_set_error(nullptr, -1000),
            pilfer_mutex_init(nullptr),
            pilfer_mutex_lock(nullptr),
            pilfer_mutex_try_lock(nullptr),
            pilfer_mutex_lock_for(nullptr, 1),
            pilfer_mutex_unlock(nullptr),
            pilfer_condition_init(nullptr),
            pilfer_condition_wait(nullptr, &mutex),
            pilfer_condition_wait(&condition, nullptr),
            pilfer_condition_wait_for(nullptr, &mutex, 1),
            pilfer_condition_wait_for(&condition, nullptr, 1),
            pilfer_condition_notify_one(nullptr),
            pilfer_condition_notify_all(nullptr),
            pilfer_semaphore_init(nullptr, 0),
            pilfer_semaphore_init(&semaphore, -1),
            pilfer_semaphore_release(nullptr, 1),
            pilfer_semaphore_release(&semaphore, -1),
            pilfer_semaphore_acquire(nullptr),
            pilfer_semaphore_try_acquire(nullptr),
            pilfer_semaphore_acquire_for(nullptr, 1),
            pilfer_latch_init(nullptr, 0),
            pilfer_latch_init(&latch, -1),
            pilfer_latch_count_down(nullptr, 1),
            pilfer_latch_count_down(&latch, -1),
            pilfer_latch_wait(nullptr),
            pilfer_latch_try_wait(nullptr),
            pilfer_latch_wait_for(nullptr, 1),
            pilfer_event_init(nullptr, 0),
            pilfer_event_set(nullptr),
            pilfer_event_reset(nullptr),
            pilfer_event_is_set(nullptr),
            pilfer_event_wait(nullptr),
            pilfer_event_wait_for(nullptr, 1),
            pilfer_channel_new(nullptr, 1),
            pilfer_channel_send(nullptr, nullptr),
            pilfer_channel_try_send(nullptr, nullptr),
            pilfer_channel_send_for(nullptr, nullptr, 1),
            pilfer_channel_receive(nullptr, &got),
            pilfer_channel_try_receive(nullptr, &got),
            pilfer_channel_receive_for(nullptr, &got, 1),
            pilfer_channel_close(nullptr),
            pilfer_channel_closed(nullptr),
        };
        for (std::size_t i = 0; i < std::size(codes); ++i) {
            EXPECT_EQ(codes[i], PILFER_EINVAL) << "row " << i;
        }
        EXPECT_EQ(future, nullptr);
        EXPECT_EQ(timer, nullptr);
        EXPECT_EQ(pilfer_scope_end(&s), 0);
        pilfer_future_free(ready);
        pilfer_promise_free(nullptr);
        EXPECT_EQ(pilfer_promise_future(nullptr), nullptr);
        pilfer_mutex_destroy(nullptr);
        pilfer_condition_destroy(nullptr);
        pilfer_semaphore_destroy(nullptr);
        pilfer_latch_destroy(nullptr);
        pilfer_event_destroy(nullptr);
        pilfer_channel_free(nullptr);
        EXPECT_EQ(pilfer_channel_size(nullptr), 0U);
        pilfer_timer_free(nullptr);
        pilfer_options_free(nullptr);
        pilfer_future_free(nullptr);
        EXPECT_EQ(pilfer_future_copy(nullptr), nullptr);
        EXPECT_EQ(pilfer_pool_destroy(nullptr), 0);
        EXPECT_EQ(pilfer_pool_workers(nullptr), 0U);
        EXPECT_STREQ(pilfer_options_error(nullptr), "");
        c_options bad(5000);
        EXPECT_EQ(pilfer_pool_new(&no_pool, bad.handle()), PILFER_EINVAL);
        EXPECT_EQ(no_pool, nullptr);
        // And it still works.
        number whole{8, 0};
        EXPECT_EQ(pilfer_pool_run(pool, fib_by_scope<way::spawn>, &whole), 0);
        EXPECT_EQ(whole.result, fib(8));
    });
}

TEST_F(row_E2_alone, bad_input_wrong_callers) {
    with_a_common_pool([] {
        c_pool pool(2U);
        pilfer_work_span figures{};
        EXPECT_EQ(pilfer_pool_profile(pool, &figures), PILFER_EUSAGE) << "it does not record";
        EXPECT_EQ(pilfer_pool_write_trace(pool, "/nowhere/at/all"), PILFER_ESYSTEM);
        pool.run([&] {
            EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_pool_destroy(pool), PILFER_EUSAGE);
        });
        // A stranger's scope; the owner goes on with it.
        pilfer_scope s;
        ASSERT_EQ(pilfer_scope_begin(&s), 0);
        pool.run([&] {
            EXPECT_EQ(pilfer_scope_spawn(&s, nothing, nullptr), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_scope_sync(&s), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_scope_end(&s), PILFER_EUSAGE);
        });
        std::thread([&] {
            EXPECT_EQ(pilfer_scope_spawn(&s, nothing, nullptr), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_scope_defer(&s, nothing, nullptr), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_scope_end(&s), PILFER_EUSAGE);
        }).join();
        number whole{8, 0};
        EXPECT_EQ(pilfer_scope_defer(&s, fib_by_join, &whole), 0);
        EXPECT_EQ(pilfer_scope_end(&s), 0);
        EXPECT_EQ(whole.result, fib(8));
        EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), 0);
        EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DROP), 0) << "twice is once";
        pilfer_future* future = nullptr;
        EXPECT_EQ(pilfer_async(pool, no_value, nullptr, &future), PILFER_ECLOSED);
        EXPECT_EQ(pilfer_async_weighted(pool, 3, no_value, nullptr, &future), PILFER_ECLOSED);
        EXPECT_EQ(pilfer_submit(pool, nothing, nullptr), PILFER_ECLOSED);
        EXPECT_EQ(pilfer_after(pool, 1, nothing, nullptr, nullptr), PILFER_ECLOSED);
        EXPECT_EQ(pilfer_every(pool, 1, never_again, nullptr, nullptr), PILFER_ECLOSED);
        EXPECT_EQ(future, nullptr);
    });
}

TEST_F(row_E2_alone, bad_input_the_common_pool_is_closed) {
    const auto result = in_child([] {
        pilfer_pool* common = nullptr;
        pilfer_future* future = nullptr;
        pilfer_scope s;
        interval all{0, 0, false};
        int n = 0;
        const bool closed =
            pilfer_pool_common(&common) == 0 && pilfer_pool_shutdown(common, PILFER_DRAIN) == 0 &&
            pilfer_join2(nothing, nullptr, nothing, nullptr) == PILFER_ECLOSED &&
            pilfer_for_each(0, 9, no_piece, nullptr) == PILFER_ECLOSED &&
            pilfer_reduce(0, 9, &intervals, nullptr, &all) == PILFER_ECLOSED &&
            pilfer_async(nullptr, no_value, nullptr, &future) == PILFER_ECLOSED &&
            pilfer_scope_begin(&s) == 0 && pilfer_scope_spawn(&s, nothing, &n) == PILFER_ECLOSED &&
            pilfer_scope_defer(&s, nothing, &n) == PILFER_ECLOSED && pilfer_scope_end(&s) == 0;
        return closed ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

/// No exception passes: the process ends, and says why.
struct thrower {
    const char* name;
    int (*call)();
};
void throws(void*) { throw std::runtime_error("x"); }
void* throws_value(void*) { throw std::runtime_error("x"); }
void* throws_following(void*, void*) { throw std::runtime_error("x"); }
void throws_piece(std::size_t, std::size_t, void*) { throw std::runtime_error("x"); }
template <int (*Start)(pilfer_scope*, void (*)(void*), void*)>
int throws_in_scope() {
    pilfer_scope s;
    return pilfer_scope_begin(&s) + Start(&s, throws, nullptr) + pilfer_scope_end(&s);
}

class bad_input_c_throws : public testing::TestWithParam<thrower> {
    watchdog m_watchdog{40};
};

TEST_P(bad_input_c_throws, row) {
    const auto result = in_child([] {
        const c_pool pool(2U);
        pool.run([] { (void)GetParam().call(); });
        return 0;
    });
    EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
    EXPECT_TRUE(result.said("left a function that was given to the C interface")) << result;
}

INSTANTIATE_TEST_SUITE_P(
    table, bad_input_c_throws,
    testing::Values(thrower{"run",
                            [] {
                                pilfer_pool* p = nullptr;
                                return pilfer_pool_new(&p, nullptr) + pilfer_pool_run(p, throws, nullptr);
                            }},
                    thrower{"join_first", [] { return pilfer_join2(throws, nullptr, nothing, nullptr); }},
                    thrower{"join_second", [] { return pilfer_join2(nothing, nullptr, throws, nullptr); }},
                    thrower{"spawn", throws_in_scope<pilfer_scope_spawn>},
                    thrower{"defer", throws_in_scope<pilfer_scope_defer>},
                    thrower{"loop", [] { return pilfer_for_each(0, 9, throws_piece, nullptr); }},
                    thrower{"fold",
                            [] {
                                pilfer_reducer r = intervals;
                                r.fold = [](void*, std::size_t, std::size_t, void*) {
                                    throw std::runtime_error("x");
                                };
                                interval all{0, 0, false};
                                return pilfer_reduce(0, 9, &r, nullptr, &all);
                            }},
                    thrower{"then",
                            [] {
                                pilfer_future* f = nullptr;
                                pilfer_future* g = nullptr;
                                return pilfer_async(nullptr, no_value, nullptr, &f) +
                                       pilfer_future_then(f, throws_following, nullptr, &g) +
                                       pilfer_future_wait(g);
                            }},
                    thrower{"future",
                            [] {
                                pilfer_future* f = nullptr;
                                return pilfer_async(nullptr, throws_value, nullptr, &f) +
                                       pilfer_future_wait(f);
                            }}),
    [](const auto& one) { return std::string(one.param.name); });

} // namespace
