// async starts a task whose result is fetched later, by as many as like.
#include <cstdio>
#include <memory>
#include <stdexcept>

#include <pilfer/pilfer.hpp>

int main() {
    pilfer::pool pool;

    pilfer::future<int> answer = pool.async([] { return 6 * 7; });
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): that it may be copied is what is shown
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

    // Nobody needs to fetch a result.
    int written = 0;
    pool.async([&written] { written = 1; }).wait();
    std::printf("written: %d\n", written);
}
