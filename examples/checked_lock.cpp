// A std::mutex in tasks is fine as long as nobody waits while it is held. checked_lock is a lock_guard that
// the checked build (-DPILFER_CHECKED=ON) watches: it would stop this program at the line that is left out.
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
                // pilfer::sleep_for(1ms): the frame could go on on another thread, and unlock there.
            });
        }
        all.sync();
    });
    for (const auto& [word, n] : counts) {
        std::printf("%s %d\n", word.c_str(), n);
    }
}
