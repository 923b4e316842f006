// Functions that run each time something happens, and hold no stack in between: a channel has a value, an
// event is set, a pipe has something to read.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <system_error>

#include <pilfer/pilfer.hpp>

int main() {
    pilfer::pool pool;

    // One run for each value, in order, never two at once. It is over when the channel is closed and empty.
    pilfer::channel<std::string> words(4);
    std::string text;
    const pilfer::subscription writer =
        pilfer::on(pool, words, [&text](std::string word) { text += (text.empty() ? "" : " ") + word; });
    for (const char* word : {"no", "stack", "waits", "here"}) {
        (void)words.send(word);
    }
    words.close();
    while (!writer.over()) {
        pilfer::sleep_for(std::chrono::milliseconds(1));
    }
    std::printf("%s\n", text.c_str());

    // An event runs it once for each time that it is set; false ends it.
    pilfer::event alarm;
    pilfer::event seen;
    const pilfer::subscription guard = pilfer::on(pool, alarm, [&, times = 0]() mutable {
        ++times;
        std::printf("alarm %d\n", times);
        seen.set();
        return times < 2;
    });
    alarm.set();
    seen.wait();
    alarm.set();
    while (!guard.over()) {
        pilfer::sleep_for(std::chrono::milliseconds(1));
    }

    // A descriptor runs it as long as there is something to read.
    int ends[2];
    if (pipe(ends) != 0) {
        return 1;
    }
    pilfer::latch three(3);
    pilfer::subscription reader = pilfer::on(pool, pilfer::io::readable(ends[0]), [&] {
        char c = 0;
        if (read(ends[0], &c, 1) == 1) {
            std::printf("read %c\n", c);
            three.count_down();
        }
    });
    if (write(ends[1], "abc", 3) != 3) {
        return 1;
    }
    three.wait();
    reader.cancel();
    while (!reader.over()) {
        pilfer::sleep_for(std::chrono::milliseconds(1));
    }
    close(ends[0]);
    close(ends[1]);
}
