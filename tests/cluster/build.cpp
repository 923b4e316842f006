// A program of one task, and another build of it with another TEST_BUILD: build [names] [--pilfer-worker]
#include <cstdio>
#include <cstring>
#include <exception>

#include <pilfer/cluster.hpp>

#include "cluster/tasks.hpp"

namespace {

struct answer {
    int operator()() const { return 40 + TEST_BUILD; }
};
PILFER_CLUSTER_TASK(answer);

} // namespace

int main(int argc, char** argv) {
    try {
        if (argc > 1 && std::strcmp(argv[1], "names") == 0) {
            std::puts(pilfer::detail::facts_of_program().build.c_str());
            return 0;
        }
        pilfer::cluster::session s(argc, argv);
        std::printf("answer %d\n", s.run(answer{}));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "ended by an exception: %s\n", e.what());
        return 1;
    }
}
