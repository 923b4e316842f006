// async starts a task; its result is fetched later, any number of times. A promise is a result that any
// thread sets.
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include <pilfer/pilfer.hpp>

int main() {
    pilfer::pool pool;

    pilfer::future<int> answer = pool.async([] { return 6 * 7; });
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): shows that it may be copied
    pilfer::future<int> copy = answer;
    std::printf("answer: %d, and again: %d\n", answer.get(), copy.get());

    // A task may wait for another one: it gives its worker to others meanwhile.
    pilfer::future<int> next = pool.async([answer] { return answer.get() + 1; });
    std::printf("next: %d\n", next.get());

    // A result that can only be moved is taken.
    auto box = pool.async([] { return std::make_unique<int>(7); });
    std::printf("box: %d\n", *box.take());

    auto bad = pool.async([]() -> int { throw std::runtime_error("no result"); });
    try {
        (void)bad.get();
    } catch (const std::runtime_error& e) {
        std::printf("get threw: %s\n", e.what());
    }

    // The continuation runs as a task of its own when the result is there; an exception skips it.
    const auto text = answer.then([](int n) { return std::to_string(n) + "!"; });
    std::printf("then: %s\n", text.get().c_str());
    const auto handled =
        bad.then([](int n) { return n + 1; }).continue_with([](const pilfer::future<int>& f) {
            try {
                return f.get();
            } catch (const std::runtime_error&) {
                return -1;
            }
        });
    std::printf("handled: %d\n", handled.get());

    // A promise is set by any thread, once. A wait with a time limit waits for the result only.
    pilfer::promise<int> promise;
    const pilfer::future<int> promised = promise.get_future();
    const bool early = promised.wait_for(std::chrono::milliseconds(1)) == pilfer::future_status::ready;
    std::printf("early: %s\n", early ? "ready" : "timeout");
    const auto sum = pilfer::when_all(promised, answer).then(pool, [](const auto& both) {
        return std::get<0>(both).get() + std::get<1>(both).get();
    });
    const auto first = pilfer::when_any(promised, answer);
    std::printf("ready first: number %zu\n", first.get().index);
    std::thread([&promise] { promise.set_value(100); }).join();
    std::printf("sum: %d\n", sum.get());

    // A result need not be fetched.
    int written = 0;
    pool.async([&written] { written = 1; }).wait();
    std::printf("written: %d\n", written);
}
