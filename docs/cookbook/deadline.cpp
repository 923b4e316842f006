// A deadline
//
// A `deadline` cancels a scope when its time has come. Tasks that wait are taken out at once; tasks that
// compute leave at their next fork, join, loop or wait, or when they ask `cancelled`. The answer is what has
// been finished by then.
#include <atomic>
#include <chrono>
#include <cstdio>

#include <pilfer/pilfer.hpp>

using namespace std::chrono_literals;

/// Better with every round, and never finished.
void improve(std::atomic<int>& quality) {
    while (!pilfer::cancelled()) {
        ++quality;
        pilfer::yield(); // lets other tasks of this worker run
    }
}

int main() {
    pilfer::pool pool;
    pool.run([] {
        std::atomic<int> quality{1}; // a first answer, by a cheap method
        pilfer::scope search;
        const pilfer::deadline limit(search, 10ms);
        search.fork([&] { improve(quality); });
        search.fork([] { pilfer::sleep_for(1h); }); // a source that does not answer
        search.sync();                              // returns soon after the deadline
        std::printf("%s\n", quality > 0 ? "the best answer so far" : "no answer");
    });
}
