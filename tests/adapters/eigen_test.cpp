// Eigen's Tensor module on a pool: results, numbers of threads, evaluations inside tasks, shutdown.
#include <atomic>
#include <cstddef>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include <pilfer/adapters/eigen.hpp>
#include <unsupported/Eigen/CXX11/Tensor>

#include "support/child.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using pilfer::adapters::eigen_pool;
using matrix = Eigen::Tensor<float, 2>;

class eigen_over_workers : public over_workers {};
PILFER_OVER_WORKERS(eigen_over_workers);
class eigen : public guarded {};

matrix filled(long rows, long columns) {
    matrix m(rows, columns);
    for (long i = 0; i < m.size(); ++i) {
        m.data()[i] = static_cast<float>(i % 7);
    }
    return m;
}
/// Whole numbers below 2^24: every order of the additions has the same result.
bool is_product(const matrix& a, const matrix& b, const matrix& product) {
    for (long i = 0; i < product.dimension(0); ++i) {
        for (long j = 0; j < product.dimension(1); ++j) {
            float sum = 0;
            for (long k = 0; k < a.dimension(1); ++k) {
                sum += a(i, k) * b(k, j);
            }
            if (sum != product(i, j)) {
                return false;
            }
        }
    }
    return true;
}
const Eigen::array<Eigen::IndexPair<int>, 1> rows_by_columns = {Eigen::IndexPair<int>(1, 0)};

/// A device that cuts everything into parts, also on a pool of one worker.
struct device_on {
    explicit device_on(pilfer::pool& p) : interface(p), device(&interface, 4) {}
    eigen_pool interface;
    Eigen::ThreadPoolDevice device;
};
const Eigen::TensorOpCost expensive(0, 0, 1e6);

TEST_P(eigen_over_workers, products_reductions_and_elements_are_those_of_one_thread) {
    pilfer::pool pool({.workers = GetParam()});
    device_on on(pool);
    const Eigen::ThreadPoolDevice& d = on.device;
    const matrix a = filled(150, 120);
    const matrix b = filled(120, 130);
    matrix product(150, 130);
    product.device(d) = a.contract(b, rows_by_columns);
    EXPECT_TRUE(is_product(a, b, product));

    Eigen::Tensor<float, 0> sum;
    sum.device(d) = product.sum();
    const Eigen::Tensor<float, 0> serial = product.sum();
    EXPECT_FLOAT_EQ(sum(), serial());

    matrix doubled(150, 130);
    doubled.device(d) = product + product;
    for (long i = 0; i < product.size(); ++i) {
        ASSERT_EQ(doubled.data()[i], 2 * product.data()[i]);
    }
}

TEST_P(eigen_over_workers, a_task_in_a_loop_evaluates_and_needs_no_other_thread) {
    pilfer::pool pool({.workers = GetParam(), .max_extra_workers = 0, .only_workers = true});
    device_on on(pool);
    const Eigen::ThreadPoolDevice& d = on.device;
    const matrix a = filled(70, 60);
    const matrix b = filled(60, 80);
    std::atomic<int> right{0};
    std::atomic<int> calls{0};
    pool.run([&] {
        const std::size_t before = thread_count();
        pilfer::for_each(0, 12, [&](int) {
            pilfer::scope s;
            s.fork([&] {
                matrix product(70, 80);
                product.device(d) = a.contract(b, rows_by_columns);
                right += is_product(a, b, product);
                d.parallelFor(64, expensive,
                              [&](long first, long end) { calls += static_cast<int>(end - first); });
            });
            s.sync();
        });
        EXPECT_LE(thread_count(), before);
    });
    EXPECT_EQ(right, 12);
    EXPECT_EQ(calls, 12 * 64);
}

TEST_P(eigen_over_workers, a_scheduled_function_may_evaluate_too) {
    pilfer::pool pool({.workers = GetParam()});
    device_on on(pool);
    const Eigen::ThreadPoolDevice& d = on.device;
    std::atomic<int> calls{0};
    d.parallelFor(8, expensive, [&](long first, long end) {
        for (; first != end; ++first) {
            d.parallelFor(8, expensive, [&](long f, long e) { calls += static_cast<int>(e - f); });
        }
    });
    EXPECT_EQ(calls, 64);
}

TEST_P(eigen_over_workers, the_number_of_a_thread_is_that_of_its_worker) {
    pilfer::pool pool({.workers = GetParam()});
    pilfer::pool other({.workers = 1});
    eigen_pool e(pool);
    EXPECT_EQ(e.NumThreads(), static_cast<int>(GetParam()));
    EXPECT_EQ(e.CurrentThreadId(), -1);
    other.run([&] { EXPECT_EQ(e.CurrentThreadId(), -1); });
    std::vector<std::atomic<long>> threads(GetParam());
    pilfer::pool* const p = &pool;
    p->run([&] {
        pilfer::for_each(0, 1000, [&](int) {
            const int id = e.CurrentThreadId();
            ASSERT_GE(id, 0);
            ASSERT_LT(id, e.NumThreads());
            long nobody = 0;
            const long me = thread_id();
            EXPECT_TRUE(threads[static_cast<std::size_t>(id)].compare_exchange_strong(nobody, me) ||
                        nobody == me);
        });
    });
    pool.resize(1);
    EXPECT_EQ(e.NumThreads(), static_cast<int>(GetParam()));
}

TEST_F(eigen, a_cancelled_task_ends_its_evaluation_first) {
    pilfer::pool pool({.workers = 1});
    device_on on(pool);
    const Eigen::ThreadPoolDevice& d = on.device;
    std::atomic<int> calls{0};
    pool.run([&] {
        pilfer::scope s;
        s.fork([&] {
            s.cancel();
            d.parallelFor(64, expensive,
                          [&](long first, long end) { calls += static_cast<int>(end - first); });
            EXPECT_EQ(calls, 64);
            EXPECT_TRUE(pilfer::cancelled());
        });
        s.sync();
    });
    EXPECT_EQ(calls, 64);
}

TEST_F(eigen, a_closed_pool_leaves_the_evaluation_to_its_caller) {
    pilfer::pool pool({.workers = 2});
    device_on on(pool);
    const Eigen::ThreadPoolDevice& d = on.device;
    pool.shutdown();
    const matrix a = filled(70, 60);
    const matrix b = filled(60, 80);
    matrix product(70, 80);
    product.device(d) = a.contract(b, rows_by_columns);
    EXPECT_TRUE(is_product(a, b, product));
}

TEST_F(eigen, a_shutdown_that_drops_does_not_drop_functions) {
    pilfer::pool pool({.workers = 1});
    eigen_pool e(pool);
    std::atomic<bool> begun{false};
    std::atomic<bool> go{false};
    std::atomic<int> calls{0};
    pool.submit([&] {
        for (int i = 0; i < 100; ++i) {
            e.Schedule([&] { ++calls; });
        }
        begun = true;
        while (!go) {
            std::this_thread::yield();
        }
    });
    while (!begun) {
        std::this_thread::yield();
    }
    e.Schedule([&] { ++calls; });
    std::thread closer([&] { pool.shutdown(pilfer::shutdown_mode::drop); });
    while (true) { // until the pool is closed
        try {
            pool.submit([] {});
        } catch (const pilfer::pool_closed&) {
            break;
        }
        std::this_thread::yield();
    }
    go = true;
    closer.join();
    EXPECT_EQ(calls, 101);
}

TEST_F(eigen, an_empty_function_is_an_error_of_the_caller) {
    pilfer::pool pool({.workers = 1});
    eigen_pool e(pool);
    EXPECT_THROW(e.Schedule(nullptr), pilfer::usage_error);
    EXPECT_THROW(e.ScheduleWithHint(nullptr, 0, 1), pilfer::usage_error);
    device_on on(pool);
    const Eigen::ThreadPoolDevice& d = on.device;
    d.parallelFor(0, expensive, [](long, long) { FAIL() << "a loop of no iterations"; });
}

TEST_F(eigen, the_hint_and_cancel_lose_nothing) {
    pilfer::pool pool({.workers = 2});
    eigen_pool e(pool);
    Eigen::Barrier all(10);
    for (int i = 0; i < 10; ++i) {
        e.ScheduleWithHint([&] { all.Notify(); }, i, i + 1);
        e.Cancel();
    }
    all.Wait();
    Eigen::Barrier none(0);
    none.Wait();
    Eigen::Notification once;
    pool.submit([&] { once.Notify(); });
    once.Wait();
    once.Wait();
}

TEST_F(eigen, an_exception_of_a_function_ends_the_program) {
    const child_result r = in_child([] {
        pilfer::pool pool({.workers = 1, .on_error = [](const std::exception_ptr&) {}});
        eigen_pool e(pool);
        e.Schedule([] { throw 1; });
        pool.shutdown();
        return 0;
    });
    EXPECT_TRUE(r.killed_by(SIGABRT)) << r;
}

} // namespace
