// A program with other tasks than elastic.cpp, and with a bound if it has an argument more.
#include <cstdio>
#include <memory>

#include <pilfer/cluster.hpp>

struct only_here {
    int operator()() const { return 1; }
};
PILFER_CLUSTER_TASK(only_here);

int main(int argc, char** argv) {
    try {
        std::unique_ptr<pilfer::cluster::bound<int>> best;
        if (argc > 2) {
            best = std::make_unique<pilfer::cluster::bound<int>>(1);
        }
        pilfer::cluster::session s(argc, argv);
        return s.run(only_here{}) - 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "ended by an exception: %s\n", e.what());
        return 1;
    }
}
