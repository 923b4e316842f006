// A program for several machines, here on one.
#include <cstdio>
#include <functional>

#include <pilfer/cluster.hpp>

struct twice {
    int n;
    int operator()() const { return 2 * n; }
};
PILFER_CLUSTER_TASK(twice);

int main(int argc, char** argv) {
    pilfer::cluster::session s(argc, argv);
    const int twice_21 = s.run(twice{21});
    const int sum = s.map_reduce(
        1, 11, 0, [](int i) { return i; }, std::plus<>{});
    std::printf("consumed %d and %d\n", twice_21, sum);
}
