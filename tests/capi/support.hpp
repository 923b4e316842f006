// Shared by the tests of <pilfer/pilfer.h>.
#pragma once

#include <pilfer/pilfer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace capi_tests {

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

/// A function of C from a callable that lives longer than the call.
template <class F>
inline void call_of(void* f) {
    (*static_cast<F*>(f))();
}

/// f(i) for i below n as tasks of the pool, awaited.
template <class F>
void tasks(pilfer_pool* pool, unsigned n, F f) {
    struct one {
        F* function;
        unsigned i;
    };
    std::vector<one> all;
    for (unsigned i = 0; i < n; ++i) {
        all.push_back({&f, i});
    }
    std::vector<pilfer_future*> futures(n);
    for (unsigned i = 0; i < n; ++i) {
        const auto run = [](void* p) -> void* {
            auto* o = static_cast<one*>(p);
            (*o->function)(o->i);
            return nullptr;
        };
        ASSERT_EQ(pilfer_async(pool, run, &all[i], &futures[i]), 0);
    }
    for (pilfer_future* future : futures) {
        EXPECT_EQ(pilfer_future_get(future, nullptr), 0);
        pilfer_future_free(future);
    }
}

struct number {
    unsigned n;
    std::uint64_t result;
};

inline void fib_by_join(void* data) {
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

/// Options as an argument: valid until the end of the full expression.
class given_options {
public:
    explicit given_options(pilfer_task_options options) : m_options(options) {}
    operator const pilfer_task_options*() const { return &m_options; } // NOLINT(google-explicit-constructor)

private:
    pilfer_task_options m_options;
};
[[nodiscard]] inline given_options at(int priority) { return given_options({priority, 0, nullptr}); }
[[nodiscard]] inline given_options weighing(std::uint64_t weight) {
    return given_options({PILFER_AUTOMATIC, weight, nullptr});
}
[[nodiscard]] inline given_options called(const char* name) {
    return given_options({PILFER_AUTOMATIC, 0, name});
}

enum class way { spawn, fork, spawn_weighted, fork_weighted };

template <way Way>
inline int start(pilfer_scope* s, void (*f)(void*), number* n) {
    switch (Way) {
    case way::spawn:
        return pilfer_scope_spawn(s, f, n);
    case way::fork:
        return pilfer_scope_fork(s, f, n);
    case way::spawn_weighted:
        return pilfer_scope_spawn_with(s, weighing(n->n), f, n);
    case way::fork_weighted:
        return pilfer_scope_fork_with(s, weighing(n->n), f, n);
    }
    return 1;
}

template <way Way>
inline void fib_by_scope(void* data) {
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
    EXPECT_EQ(pilfer_scope_shared(&s) & ~1, 0);
    self.result = a.result + b.result;
    EXPECT_EQ(pilfer_scope_end(&s), 0);
}

inline void* fib_by_futures(void* data) {
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

/// Runs `body` in a child process. The common pool's threads stay in the process that made it, so no child
/// made later would have them.
template <class Body>
void with_a_common_pool(Body body) {
    const auto result = in_child([&] {
        body();
        return testing::Test::HasFailure() ? 1 : 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

/// Joined intervals: a sum that only exists in order.
struct interval {
    std::uint64_t begin;
    std::uint64_t end; ///< == begin: the empty one
    bool torn;
};
inline constexpr pilfer_reducer intervals = {
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

} // namespace capi_tests
