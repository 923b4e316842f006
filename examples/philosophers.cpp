// Dining philosophers: a task that waits for a fork suspends, and its worker runs another philosopher.
#include <array>
#include <cstdio>
#include <mutex>
#include <pilfer/pilfer.hpp>
#include <vector>

int main() {
    constexpr unsigned seats = 5;
    constexpr unsigned meals = 1000;
    pilfer::pool pool;
    std::array<pilfer::mutex, seats> forks;
    std::array<unsigned, seats> eaten{};
    pilfer::latch begin(seats); // all sit down before the first one eats

    std::vector<pilfer::future<void>> philosophers;
    for (unsigned seat = 0; seat < seats; ++seat) {
        philosophers.push_back(pool.async([&, seat] {
            begin.arrive_and_wait();
            for (unsigned i = 0; i < meals; ++i) {
                // Both or none: std::scoped_lock takes any two without a deadlock.
                const std::scoped_lock both(forks[seat], forks[(seat + 1) % seats]);
                ++eaten[seat];
            }
        }));
    }
    for (unsigned seat = 0; seat < seats; ++seat) {
        philosophers[seat].get();
        std::printf("philosopher %u has eaten %u times\n", seat, eaten[seat]);
    }
}
