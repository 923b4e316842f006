// A frame may hold a std::mutex, or use errno or a thread_local, across a wait. Then it must resume on the
// thread that it waited on. Other frames resume on the thread where their last child ended, which is faster.
// No other task of the pool may lock that mutex: it may run on this very thread meanwhile.
#include <atomic>
#include <cstdio>
#include <mutex>

#include <pilfer/pilfer.hpp>

int main() {
    pilfer::pool pool;
    std::mutex report; // must be unlocked by the thread that has locked it
    std::atomic<int> files{0};
    pool.run([&] {
        pilfer::scope s(pilfer::resume::own_thread);
        const std::lock_guard lock(report);
        for (int folder = 0; folder < 100; ++folder) {
            s.fork([&files] { pilfer::for_each(0, 10, [&files](int) { ++files; }); });
        }
        s.sync();
        std::printf("%d files\n", files.load());
    });
}
