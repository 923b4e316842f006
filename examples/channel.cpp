// A pipeline over channels: each stage is a task that suspends while it has nothing to do.
#include <cstdio>
#include <pilfer/pilfer.hpp>
#include <string>

int main() {
    pilfer::pool pool;
    pilfer::channel<int> numbers(4);       // at most four values wait in it
    pilfer::channel<std::string> words(0); // the sender waits until its value is received

    auto source = pool.async([&] {
        for (int i = 1; i <= 5; ++i) {
            (void)numbers.send(i); // false: closed
        }
        numbers.close(); // sent values can still be received
    });
    auto squares = pool.async([&] {
        while (const auto n = numbers.receive()) { // nothing: closed and empty
            (void)words.send(std::to_string(*n) + " squared is " + std::to_string(*n * *n));
        }
        words.close();
    });
    while (const auto line = words.receive()) { // this thread is none of the pool's: it blocks
        std::puts(line->c_str());
    }
    source.get();
    squares.get();

    const auto late = pilfer::channel<int>(1).try_receive_for(std::chrono::milliseconds(1));
    std::puts(late ? "a value" : "nothing in time");
}
