// OpenCV's parallel loops on a pool: ranges, thread numbers, errors, loops inside tasks.
#include <atomic>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <opencv2/core.hpp>
#include <pilfer/adapters/opencv.hpp>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using pilfer::adapters::opencv_backend;

class opencv_over_workers : public over_workers {};
PILFER_OVER_WORKERS(opencv_over_workers);
class opencv : public guarded {};

/// OpenCV uses the pool as long as this lives. Without a back-end its loops are serial.
struct in_opencv {
    explicit in_opencv(pilfer::pool& p) { pilfer::adapters::use_in_opencv(p); }
    ~in_opencv() {
        cv::parallel::setParallelForBackend(std::shared_ptr<cv::parallel::ParallelForAPI>(), false);
    }
};

TEST_P(opencv_over_workers, each_index_is_visited_once_on_a_worker) {
    pilfer::pool pool({.workers = GetParam()});
    const in_opencv use(pool);
    for (const int n : {0, 1, 2, 1000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
        cv::parallel_for_(cv::Range(0, n), [&](const cv::Range& r) {
            for (int i = r.start; i < r.end; ++i) {
                ++visits[static_cast<std::size_t>(i)];
            }
        });
        for (const auto& v : visits) {
            ASSERT_EQ(v, 1);
        }
    }
}

TEST_P(opencv_over_workers, a_body_keeps_its_number_and_has_it_alone) {
    pilfer::pool pool({.workers = GetParam()});
    const in_opencv use(pool);
    const int threads = cv::getNumThreads();
    EXPECT_EQ(threads, static_cast<int>(GetParam()));
    EXPECT_EQ(cv::getThreadNum(), 0);
    std::vector<std::atomic<int>> inside(static_cast<std::size_t>(threads));
    cv::parallel_for_(cv::Range(0, 200), [&](const cv::Range&) {
        const int me = cv::getThreadNum();
        ASSERT_GE(me, 0);
        ASSERT_LT(me, threads);
        EXPECT_EQ(inside[static_cast<std::size_t>(me)]++, 0);
        // The body may go on elsewhere, and other bodies run meanwhile.
        pilfer::sleep_for(std::chrono::microseconds(100));
        pilfer::for_each(0, 10, [](int) { pilfer::yield(); });
        EXPECT_EQ(cv::getThreadNum(), me);
        --inside[static_cast<std::size_t>(me)];
    });
}

TEST_P(opencv_over_workers, loops_in_tasks_in_a_loop_need_no_other_thread) {
    pilfer::pool pool({.workers = GetParam(), .max_extra_workers = 0, .only_workers = true});
    const in_opencv use(pool);
    const cv::Mat m(300, 300, CV_32F, cv::Scalar(2));
    std::atomic<int> right{0};
    std::atomic<int> calls{0};
    pool.run([&] {
        const std::size_t before = thread_count();
        pilfer::for_each(0, 20, [&](int) {
            pilfer::scope s;
            s.fork([&] {
                cv::parallel_for_(cv::Range(0, 10), [&](const cv::Range& r) { calls += r.size(); });
                cv::Mat out;
                cv::exp(m, out);
                cv::sqrt(m, out);
                right += cv::sum(m)[0] == 180000;
            });
            s.sync();
        });
        EXPECT_LE(thread_count(), before);
    });
    EXPECT_EQ(right, 20);
    EXPECT_EQ(calls, 200);
}

TEST_P(opencv_over_workers, the_caller_goes_on_on_its_thread) {
    pilfer::pool pool({.workers = GetParam()});
    const in_opencv use(pool);
    pool.run([&] {
        pilfer::for_each(0, 20, [&](int) {
            const long before = thread_id();
            cv::parallel_for_(cv::Range(0, 50), [&](const cv::Range&) {
                // No wait of pilfer: one of these loops is parallel, and the others run in their callers.
                std::this_thread::sleep_for(std::chrono::microseconds(20));
            });
            EXPECT_EQ(thread_id(), before);
        });
    });
}

TEST_P(opencv_over_workers, an_exception_of_a_body_arrives) {
    pilfer::pool pool({.workers = GetParam()});
    const in_opencv use(pool);
    EXPECT_THROW(cv::parallel_for_(cv::Range(0, 100),
                                   [](const cv::Range& r) {
                                       if (r.start <= 50 && 50 < r.end) {
                                           throw std::runtime_error("body");
                                       }
                                   }),
                 std::exception);
    std::atomic<int> calls{0};
    cv::parallel_for_(cv::Range(0, 100), [&](const cv::Range& r) { calls += r.size(); });
    EXPECT_EQ(calls, 100);
}

TEST_F(opencv, numbers_of_threads) {
    pilfer::pool pool({.workers = 4});
    const in_opencv use(pool);
    EXPECT_EQ(cv::getNumThreads(), 4);
    cv::setNumThreads(2);
    EXPECT_EQ(cv::getNumThreads(), 2);
    std::set<int> seen;
    std::mutex m;
    cv::parallel_for_(cv::Range(0, 100), [&](const cv::Range&) {
        const std::lock_guard hold(m);
        seen.insert(cv::getThreadNum());
    });
    EXPECT_LE(*seen.rbegin(), 1);
    cv::setNumThreads(1000);
    EXPECT_EQ(cv::getNumThreads(), 4);
    opencv_backend alone(pool);
    EXPECT_EQ(alone.setNumThreads(3), 4);
    EXPECT_EQ(alone.setNumThreads(-1), 3);
    EXPECT_EQ(alone.getNumThreads(), 4);
    EXPECT_STREQ(alone.getName(), "pilfer");
    cv::setNumThreads(-1);
}

TEST_F(opencv, bad_input) {
    pilfer::pool pool({.workers = 2});
    opencv_backend b(pool);
    EXPECT_THROW(b.parallel_for(10, nullptr, nullptr), pilfer::usage_error);
    int calls = 0;
    const auto count = [](int first, int end, void* sum) { *static_cast<int*>(sum) += end - first; };
    b.parallel_for(0, count, &calls);
    b.parallel_for(-5, count, &calls);
    EXPECT_EQ(calls, 0);
    pool.shutdown();
    EXPECT_THROW(b.parallel_for(10, count, &calls), pilfer::pool_closed);
    EXPECT_THROW(b.parallel_for(10, count, &calls), pilfer::pool_closed) << "the loop before is over";
    EXPECT_EQ(calls, 0);
}

TEST_F(opencv, a_second_loop_runs_in_its_caller) {
    pilfer::pool pool({.workers = 2});
    opencv_backend b(pool);
    struct both {
        opencv_backend* backend;
        std::atomic<int> outer{0};
        std::atomic<int> inner{0};
    } counts{&b};
    b.parallel_for(
        8,
        [](int first, int end, void* p) {
            auto* c = static_cast<both*>(p);
            c->outer += end - first;
            const int me = c->backend->getThreadNum();
            for (; first != end; ++first) {
                c->backend->parallel_for(
                    10, [](int f, int e, void* q) { static_cast<both*>(q)->inner += e - f; }, p);
            }
            EXPECT_EQ(c->backend->getThreadNum(), me);
        },
        &counts);
    EXPECT_EQ(counts.outer, 8);
    EXPECT_EQ(counts.inner, 80);
}

} // namespace
