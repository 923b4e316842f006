// A bounded buffer as a plain class: each call names its own condition, and no code signals anything.
#include <cstdio>
#include <deque>
#include <optional>
#include <pilfer/pilfer.hpp>

struct buffer {
    static constexpr std::size_t room = 3;
    std::deque<int> values;
    bool closed = false;
};

int main() {
    pilfer::pool pool;
    pilfer::monitor<buffer> shared;

    auto consumer = pool.async([&] {
        long sum = 0;
        for (;;) {
            const auto got = shared.call_when( // suspends until there is something to do
                [](const buffer& b) { return !b.values.empty() || b.closed; },
                [](buffer& b) -> std::optional<int> {
                    if (b.values.empty()) {
                        return std::nullopt;
                    }
                    const int v = b.values.front();
                    b.values.pop_front();
                    return v;
                });
            if (!got) {
                return sum;
            }
            sum += *got;
        }
    });
    for (int i = 1; i <= 1000; ++i) { // this thread is none of the pool's: it blocks while the buffer is full
        shared.call_when([](const buffer& b) { return b.values.size() < buffer::room; },
                         [i](buffer& b) { b.values.push_back(i); });
    }
    shared.call([](buffer& b) { b.closed = true; });
    std::printf("the sum of what came through: %ld\n", consumer.get());

    const auto late = shared.try_call_when_for(
        std::chrono::milliseconds(1), [](const buffer& b) { return !b.values.empty(); },
        [](buffer& b) { return b.values.front(); });
    std::puts(late ? "a value" : "nothing in time");
}
