// Limit what runs at once
//
// A semaphore with four permits: of a hundred tasks at most four are inside the section at any time. The
// tasks that wait are suspended and do not occupy a worker.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>

#include <pilfer/pilfer.hpp>

using namespace std::chrono_literals;

class permit {
public:
    explicit permit(pilfer::counting_semaphore<>& from) : m_from(from) { m_from.acquire(); }
    ~permit() { m_from.release(); }
    permit(const permit&) = delete;
    permit& operator=(const permit&) = delete;

private:
    pilfer::counting_semaphore<>& m_from;
};

int main() {
    pilfer::pool pool;
    pilfer::counting_semaphore<> permits(4);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::atomic<int> finished{0};

    pool.run([&] {
        pilfer::scope requests;
        for (int i = 0; i < 100; ++i) {
            requests.fork([&] {
                const permit mine(permits);
                const int now = ++inside;
                for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
                }
                pilfer::sleep_for(1ms); // a request to a service
                --inside;
                ++finished;
            });
        }
        requests.sync();
    });
    std::printf("%d requests, more than four at once: %s\n", finished.load(), most > 4 ? "yes" : "no");
}
