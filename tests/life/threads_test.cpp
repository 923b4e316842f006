// Threads outside all pools come, use one, and go; pools come and go.
#include <filesystem>
#include <iterator>
#include <latch>

#include "life/life.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;
using life::fib;
using life::workers;

class threads_that_use_pools : public ::testing::Test {
    support::watchdog m_end{240};
};

[[nodiscard]] std::size_t descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

void use(pilfer::pool& p) {
    EXPECT_EQ(p.async([] { return fib(5); }).get(), 5);
    pilfer::scope s;
    int n = 0;
    s.fork([&n] { n = 1; });
    s.sync();
    EXPECT_EQ(n, 1);
    pilfer::mutex m;
    auto held = p.async([&m] { const std::lock_guard lock(m); });
    { const std::lock_guard lock(m); }
    held.wait();
    pilfer::timer t = pilfer::after(p, 1h, [] {});
    (void)t.cancel();
}

TEST_F(threads_that_use_pools, end_and_leave_nothing) {
    pilfer::pool p(workers(2));
    const auto round = [&p] {
        std::vector<std::thread> threads;
        for (int i = 0; i < 10; ++i) {
            threads.emplace_back([&p] { use(p); });
        }
        for (std::thread& t : threads) {
            t.join();
        }
    };
    for (int i = 0; i < 20; ++i) {
        round();
    }
    const std::size_t before = support::resident_bytes();
    const std::size_t open = descriptors();
    for (std::uint64_t i = 0; i < support::hundredth_of(10'000, 10); ++i) {
        round();
    }
    EXPECT_EQ(descriptors(), open);
    if (!support::sanitized) {
        EXPECT_LT(support::resident_bytes(), before + (std::size_t{8} << 20));
    }
}

/// A thread's last action may be to use a pool, after all other state of the library has ended on that
/// thread.
TEST_F(threads_that_use_pools, may_do_so_in_destructors_of_thread_locals) {
    static pilfer::pool* pool = nullptr;
    static std::atomic<int> ran{0};
    struct late {
        ~late() {
            ran += static_cast<int>(pool->async([] { return fib(5); }).get());
        }
        bool made = false;
    };
    pilfer::pool p(workers(2));
    pool = &p;
    for (int i = 0; i < 100; ++i) {
        std::thread([&p] {
            static thread_local late object; // before the thread first uses the library
            object.made = true;
            use(p);
        }).join();
    }
    EXPECT_EQ(ran, 500);
}

/// A thread ends while a task that it has submitted runs.
TEST_F(threads_that_use_pools, may_end_before_their_tasks) {
    pilfer::pool p(workers(2));
    std::latch go{1};
    std::atomic<int> ran{0};
    for (int i = 0; i < 50; ++i) {
        std::thread([&] {
            p.submit([&] {
                go.wait();
                ++ran;
            });
        }).join();
    }
    go.count_down();
    p.shutdown();
    EXPECT_EQ(ran, 50);
}

TEST_F(threads_that_use_pools, thousands_of_pools_leave_no_threads_or_memory) {
    const auto one = [](unsigned i) {
        pilfer::options o = workers(1 + i % 3);
        o.backend = i % 7 == 0 ? pilfer::backend::one_lock : pilfer::backend::work_stealing;
        pilfer::pool p(o);
        if (i % 2 == 0) {
            EXPECT_EQ(p.run([] { return fib(5); }), 5);
        }
        if (i % 5 == 0) {
            use(p);
        }
    };
    for (unsigned i = 0; i < 100; ++i) {
        one(i);
    }
    const std::size_t before = support::resident_bytes();
    const std::size_t open = descriptors();
    const std::size_t threads = support::thread_count();
    const auto n = static_cast<unsigned>(support::hundredth_of(100'000, 200));
    for (unsigned i = 0; i < n; ++i) {
        one(i);
    }
    EXPECT_EQ(descriptors(), open);
    EXPECT_EQ(support::thread_count(), threads);
    if (!support::sanitized) {
        EXPECT_LT(support::resident_bytes(), before + (std::size_t{8} << 20));
    }
}

} // namespace
