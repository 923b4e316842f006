// A long reduction, for one machine: see journal.cpp.
#include <cstdio>
#include <functional>

#include <pilfer/pilfer.hpp>

int is_prime(int n) {
    for (int d = 2; d <= n / d; ++d) {
        if (n % d == 0) {
            return 0;
        }
    }
    return n >= 2 ? 1 : 0;
}

int main() {
    const int primes = pilfer::reduce(0, 300'000, 0, is_prime, std::plus<>{});
    std::printf("primes below 300000: %d\n", primes);
}
