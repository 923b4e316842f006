// A std::mutex in tasks is fine as long as no task waits while it holds one. checked_lock is a lock_guard
// that the checked build (-DPILFER_CHECKED=ON) watches. That build would stop this program at the omitted
// line.
#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include <pilfer/pilfer.hpp>

int main() {
    std::mutex m;
    std::map<std::string, int> counts; // of a library that knows nothing of tasks
    pilfer::pool pool;
    pool.run([&] {
        pilfer::scope all;
        for (const char* word : {"here", "there", "here", "nowhere", "here"}) {
            all.fork([&, word] {
                const pilfer::checked_lock lock(m);
                ++counts[word];
                // pilfer::sleep_for(1ms): the frame could resume on another thread, and unlock there.
            });
        }
        all.sync();
    });
    for (const auto& [word, n] : counts) {
        std::printf("%s %d\n", word.c_str(), n);
    }
}
