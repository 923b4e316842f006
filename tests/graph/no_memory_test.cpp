// A task that cannot be added, because there is no memory or its function throws, leaves the graph as it was.
#include <atomic>
#include <cstdlib>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <pilfer/graph.hpp>

#include "support/harness.hpp"

namespace {
/// Calls of operator new on this thread until one fails; negative: none fails.
[[maybe_unused]] thread_local int left = -1;
} // namespace

#if !defined(PILFER_SANITIZED)
[[gnu::noinline]] void* operator new(std::size_t n) {
    if (left >= 0 && left-- == 0) {
        throw std::bad_alloc();
    }
    if (void* p = std::malloc(n != 0 ? n : 1)) {
        return p;
    }
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif

namespace {

using namespace support;

class graph_no_memory : public guarded {};

[[nodiscard]] std::string text_of(const pilfer::graph& g) {
    std::ostringstream out;
    g.dot(out);
    return out.str();
}

/// Calls f while the k-th allocation fails, for each k, and checks that each failure leaves `g` as it was.
template <class F>
void fail_in_turn(const pilfer::graph& g, F f) {
    for (int k = 0; k < 1000; ++k) {
        const std::string before = text_of(g);
        left = k;
        try {
            f();
            left = -1;
            return;
        } catch (const std::bad_alloc&) {
            left = -1;
            ASSERT_EQ(text_of(g), before) << k;
        }
    }
    FAIL() << "it never succeeds";
}

#if !defined(PILFER_SANITIZED)
TEST_F(graph_no_memory, nothing_is_half_linked) {
    pilfer::pool pool(workers(2));
    pilfer::graph g;
    pilfer::graph inner;
    pilfer::graph_limit l(1);
    std::vector<pilfer::node<int>> tasks;
    tasks.reserve(100);
    tasks.push_back(g.task([] { return 1; }));
    tasks.push_back(g.task([] { return 1; }));
    for (std::size_t i = 2; i < 60; ++i) {
        // The first tasks get many edges, and the arrays of these are enlarged in turn.
        fail_in_turn(g, [&] {
            tasks.push_back(
                g.task([](int x, int y, int z) { return x + y - z + 1; }, tasks[0], tasks[i - 1], tasks[1]));
        });
        ASSERT_EQ(tasks.size(), i + 1);
    }
    for (std::size_t i = 0; i < 20; ++i) {
        fail_in_turn(g, [&] { tasks[2].precede(tasks[40 + i]); });
        fail_in_turn(
            g, [&] { tasks[i].name("a name that is too long for the string itself " + std::to_string(i)); });
        fail_in_turn(g, [&] { tasks[i].limited_by(l); });
        fail_in_turn(g, [&] { (void)g.subgraph(inner, tasks[i]); });
    }
    g.run(pool);
    EXPECT_EQ(tasks.back().value(), 59);
}

TEST_F(graph_no_memory, the_check_of_a_run_may_be_repeated) {
    pilfer::pool pool(workers(1));
    pilfer::graph g;
    auto b = g.task([] { return 2; });
    auto a = g.task([] { return 1; });
    a.precede(b); // backwards, so that the run looks for cycles
    pool.run([&] {
        // The pool's own records are there already.
        pilfer::scope s;
        for (int i = 0; i < 10; ++i) {
            s.fork([] {});
        }
        s.sync();
        fail_in_turn(g, [&] { g.run(); });
    });
    EXPECT_EQ(b.value(), 2);
}
#endif

struct throws_when_moved {
    explicit throws_when_moved(bool* now) : armed(now) {}
    throws_when_moved(const throws_when_moved&) = delete;
    throws_when_moved(throws_when_moved&& other) : armed(other.armed) {
        if (*armed) {
            throw std::runtime_error("moved");
        }
    }
    throws_when_moved& operator=(throws_when_moved&&) = delete;
    ~throws_when_moved() = default;
    int operator()(int x) const { return x + 1; }
    bool* armed;
};

TEST_F(graph_no_memory, a_function_that_cannot_be_moved) {
    pilfer::pool pool(workers(2));
    pilfer::graph g;
    auto a = g.task([] { return 1; });
    bool armed = true;
    const std::string before = text_of(g);
    EXPECT_THROW((void)g.task(throws_when_moved(&armed), a), std::runtime_error);
    EXPECT_EQ(text_of(g), before);
    EXPECT_EQ(g.size(), 1U);
    armed = false;
    auto b = g.task(throws_when_moved(&armed), a);
    g.run(pool);
    EXPECT_EQ(b.value(), 2);
}

} // namespace
