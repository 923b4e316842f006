// A periodic task
//
// `every` runs a function again and again, without a thread and without a stack between two runs. The runs
// never overlap. The function ends the series by returning false; `timer::cancel` ends it from outside.
#include <chrono>
#include <cstdio>

#include <pilfer/pilfer.hpp>

using namespace std::chrono_literals;

int main() {
    pilfer::pool pool;

    int runs = 0;
    pilfer::event finished;
    const pilfer::timer report = pilfer::every(pool, 1ms, [&] {
        std::printf("report %d\n", ++runs);
        if (runs < 3) {
            return true;
        }
        finished.set();
        return false;
    });
    finished.wait();

    pilfer::timer backup = pilfer::every(pool, 24h, [] { std::puts("backup"); });
    std::printf("%s\n", backup.cancel() ? "backup cancelled" : "backup has run");

    // Once, later.
    (void)pilfer::after(pool, 2ms, [] { std::puts("closing"); });
    pool.shutdown(); // waits for what has been accepted
}
