// A map whose last elements cost most. Only places in the range travel. skewed_map_plain.cpp is the same
// program for one machine.
#include <cstdio>
#include <functional>

#include <pilfer/cluster.hpp>

double costly(int i) {
    double x = 1;
    for (int k = 0; k < i * i / 100; ++k) {
        x = x * 0.999 + 0.5 / (k + 1);
    }
    return x;
}

int main(int argc, char** argv) {
    pilfer::cluster::session s(argc, argv);
    const double sum = s.map_reduce(0, 1000, 0.0, costly, std::plus<>{});
    if (s.rank() == 0) {
        std::printf("sum: %.6f\n", sum);
    }
}
