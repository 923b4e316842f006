// The joining function fails while another one waits for an event of its own child: the join ends.
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>

#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

enum class by { get, timed_get, event, channel, condition, latch, semaphore, queued };
constexpr const char* names[] = {"get",       "timed_get", "event",     "channel",
                                 "condition", "latch",     "semaphore", "queued"};

/// In a scope of its own. Its child sets the awaited event after a while.
void waits(by how) {
    pilfer::promise<int> promise;
    auto future = promise.get_future();
    pilfer::event event;
    pilfer::channel<int> channel(1);
    pilfer::mutex mutex;
    pilfer::condition_variable condition;
    bool is_set = false;
    pilfer::latch latch(1);
    pilfer::counting_semaphore<> semaphore(0);
    pilfer::monitor<int> queued(0);
    pilfer::scope s;
    s.fork([&] {
        pilfer::sleep_for(50ms); // stopped meanwhile, or not
        promise.set_value(1);
        event.set();
        (void)channel.send(1);
        {
            const std::lock_guard lock(mutex);
            is_set = true;
        }
        condition.notify_all();
        latch.count_down();
        semaphore.release();
        queued.call([](int& v) { v = 1; });
    });
    switch (how) {
    case by::get:
        (void)future.get();
        break;
    case by::timed_get:
        (void)future.wait_for(60s);
        break;
    case by::event:
        event.wait();
        break;
    case by::channel:
        (void)channel.receive();
        break;
    case by::condition: {
        std::unique_lock lock(mutex);
        condition.wait(lock, [&] { return is_set; });
        break;
    }
    case by::latch:
        latch.wait();
        break;
    case by::semaphore:
        semaphore.acquire();
        break;
    case by::queued:
        queued.call_when([](const int& v) { return v == 1; }, [](int&) {});
        break;
    }
    s.sync();
}

class waits_for_children : public testing::TestWithParam<std::tuple<by, unsigned>> {
protected:
    support::watchdog limit{30};
    pilfer::pool pool{{.workers = std::get<1>(GetParam())}};

    static void fails() {
        pilfer::sleep_for(5ms);
        throw std::runtime_error("the other branch");
    }
    /// The function on the joining stack is the first one.
    template <class F, class G>
    void expect_end(F first, G last) {
        EXPECT_THROW(pool.run([&] { (void)pilfer::join(first, last); }), std::runtime_error);
        EXPECT_THROW(pool.run([&] { pilfer::for_each(0, 2, [&](int i) { i == 0 ? first() : last(); }); }),
                     std::runtime_error);
        EXPECT_THROW(pool.run([&] {
            pilfer::scope s;
            s.fork([&] { (void)pilfer::join(first, last); });
            s.sync();
        }),
                     std::runtime_error);
    }
};

TEST_P(waits_for_children, the_join_ends_if_the_joining_frame_fails) {
    expect_end(&fails, [] { waits(std::get<0>(GetParam())); });
}

INSTANTIATE_TEST_SUITE_P(waits, waits_for_children,
                         testing::Combine(testing::Values(by::get, by::timed_get, by::event, by::channel,
                                                          by::condition, by::latch, by::semaphore,
                                                          by::queued),
                                          testing::Values(1U, 2U, 8U)),
                         [](const auto& i) {
                             // Not a literal in front of a string: g++ 12 warns of a copy that cannot be.
                             return std::string(names[static_cast<int>(std::get<0>(i.param))]) + "_" +
                                    std::to_string(std::get<1>(i.param));
                         });

} // namespace
