// Any thread may hand work to a pool: run and join block it, scope and async work as they do in a task.
#include <array>
#include <cstdio>
#include <thread>
#include <vector>

#include <pilfer/pilfer.hpp>

int main() {
    pilfer::pool pool;
    std::array<int, 4> results{};
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back(
            [&, i] { results[static_cast<std::size_t>(i)] = pool.run([i] { return i * i; }); });
    }
    for (auto& t : threads) {
        t.join();
    }
    for (const int r : results) {
        std::printf("run: %d\n", r);
    }

    // Outside a pool everything else goes to pilfer::pool::common().
    const auto [a, b] = pilfer::join([] { return 1; }, [] { return 2; });
    std::printf("join: %d %d\n", a, b);

    int forked = 0;
    pilfer::scope s;
    s.fork([&forked] { forked = 3; });
    s.sync();
    std::printf("scope: %d\n", forked);
    std::printf("async: %d\n", pilfer::async([] { return 4; }).get());
}
