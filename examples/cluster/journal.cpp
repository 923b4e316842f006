// A long reduction that goes on after it was killed: primes, counted by all machines, with a journal on rank
// 0. journal_plain.cpp is the same program for one machine, without the journal.
//
//     mpirun -n 4 --hostfile hosts --bind-to none ./journal primes.journal
//
// Kill it, and start it again with the same line. It counts only what it has not counted yet.
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>

#include <unistd.h>

#include <pilfer/cluster.hpp>

int is_prime(int n) {
    for (int d = 2; d <= n / d; ++d) {
        if (n % d == 0) {
            return 0;
        }
    }
    return n >= 2 ? 1 : 0;
}

int main(int argc, char** argv) {
    pilfer::cluster::session s(argc, argv);
    const std::string own = "primes-" + std::to_string(getpid()) + ".journal";
    const std::string file = argc > 1 ? argv[1] : (std::filesystem::temp_directory_path() / own).string();
    const int primes = s.map_reduce_journaled(file, 0, 300'000, 0, is_prime, std::plus<>{});
    if (s.rank() == 0) {
        std::printf("primes below 300000: %d\n", primes);
        if (argc <= 1) {
            std::filesystem::remove(file); // it stays otherwise, for a call that has nothing left to do
        }
    }
}
