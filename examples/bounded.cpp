// A producer that is faster than its consumers: a bounded queue holds it up, or sends it away. Tasks have
// names, and a scope is awaited for as long as one likes.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include <pilfer/pilfer.hpp>

namespace {

using namespace std::chrono_literals;

[[nodiscard]] pilfer::options bounded(pilfer::when_full what) {
    pilfer::options o;
    o.workers = 2;
    o.queue_capacity = 8;
    o.when_full = what;
    return o;
}

void waits() {
    std::atomic<int> written{0};
    pilfer::pool pool(bounded(pilfer::when_full::wait));
    for (int i = 0; i < 1000; ++i) {
        pool.submit([&written] { ++written; }); // never more than eight wait for a worker
    }
    pool.shutdown();
    std::printf("written: %d\n", written.load());
}

void fails() {
    pilfer::pool pool(bounded(pilfer::when_full::fail));
    pilfer::event go_on;
    std::atomic<int> accepted{0};
    try {
        for (;;) {
            pool.submit([&go_on] {
                while (!go_on.is_set()) {
                    std::this_thread::yield();
                }
            });
            ++accepted;
        }
    } catch (const pilfer::queue_full& e) {
        std::printf("%s\n", e.what());
    }
    std::printf("accepted: %s\n", accepted >= 8 ? "eight or more" : "too few");
    go_on.set();
    pool.shutdown();
}

void names() {
    pilfer::options o;
    o.on_error = [](const std::exception_ptr& error) {
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& e) {
            std::printf("\"%s\" has thrown: %s\n", pilfer::current_task_name(), e.what());
        }
    };
    pilfer::pool pool(o);
    pool.submit(pilfer::named("parse config", [] { throw std::runtime_error("line 3: no value"); }));
    pool.shutdown();
}

void in_time() {
    pilfer::pool pool;
    pool.run([] {
        pilfer::event answer;
        pilfer::scope s;
        s.spawn([&] { answer.wait(); });
        std::printf("in time: %s\n", s.sync_for(1ms) ? "yes" : "no");
        answer.set();
        std::printf("in time: %s\n", s.sync_for(1h) ? "yes" : "no");
    });
}

} // namespace

int main() {
    waits();
    fails();
    names();
    in_time();
}
