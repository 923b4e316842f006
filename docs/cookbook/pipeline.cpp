// A pipeline
//
// Each stage is a task that receives from one channel and sends to the next. A full channel suspends the
// stage before it, so a slow stage limits how much memory the values take. Several tasks may serve one stage.
#include <cstdio>
#include <string>

#include <pilfer/pilfer.hpp>

int main() {
    pilfer::pool pool;
    pilfer::channel<int> numbers(8);
    pilfer::channel<std::string> texts(8);
    constexpr int parsers = 3;

    long length = 0;
    pool.run([&] {
        pilfer::scope stages;
        stages.fork([&] {
            for (int i = 0; i < 1000; ++i) {
                (void)numbers.send(i);
            }
            numbers.close();
        });
        stages.fork([&] {
            pilfer::scope group;
            for (int p = 0; p < parsers; ++p) {
                group.fork([&] {
                    while (const auto n = numbers.receive()) {
                        (void)texts.send(std::to_string(*n));
                    }
                });
            }
            group.sync();
            texts.close(); // after the last of the three
        });
        stages.fork([&] {
            while (const auto text = texts.receive()) {
                length += static_cast<long>(text->size());
            }
        });
        stages.sync();
    });
    std::printf("%ld characters\n", length); // 10 + 90 * 2 + 900 * 3
}
