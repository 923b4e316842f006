// Drinking philosophers (Chandy and Misra, ACM TOPLAS 6:4, 1984). Neighbours share bottles. Each session
// needs some of a philosopher's bottles, a new selection each time, and begins when all of them are free.
#include <array>
#include <bitset>
#include <cstdio>
#include <pilfer/pilfer.hpp>
#include <random>
#include <vector>

constexpr unsigned seats = 7;
constexpr unsigned sessions = 500;
using bottles = std::bitset<2 * seats>; // shared with the right neighbour, and with the next one after it

int main() {
    pilfer::pool pool;
    pilfer::monitor<bottles> in_use;

    std::vector<pilfer::future<unsigned>> philosophers;
    for (unsigned seat = 0; seat < seats; ++seat) {
        philosophers.push_back(pool.async([&in_use, seat] {
            std::minstd_rand random(seat + 1);
            unsigned drunk = 0;
            for (; drunk < sessions; ++drunk) {
                bottles wanted;
                for (const unsigned b :
                     {seat, (seat + seats - 1) % seats, seats + seat, seats + (seat + seats - 2) % seats}) {
                    wanted[b] = random() % 2 == 0;
                }
                in_use.call_when([&](const bottles& u) { return (u & wanted).none(); },
                                 [&](bottles& u) { u |= wanted; });
                pilfer::yield(); // it drinks
                in_use.call([&](bottles& u) { u &= ~wanted; });
            }
            return drunk;
        }));
    }
    for (unsigned seat = 0; seat < seats; ++seat) {
        std::printf("philosopher %u has drunk %u times\n", seat, philosophers[seat].get());
    }
    std::printf("bottles in use: %zu\n", in_use.read([](const bottles& u) { return u.count(); }));
}
