// An unbalanced tree: no machine can know beforehand which child is large. tree_plain.cpp is the same program
// for one machine.
#include <cstdint>
#include <cstdio>
#include <ranges>

#include <pilfer/cluster.hpp>

struct node {
    std::uint64_t state;
    int depth;

    int children() const { return depth == 0 ? 3000 : (state >> 40) % 100 < 20 ? 4 : 0; }
    node child(int i) const {
        std::uint64_t x = state + 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(i + 1);
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return {x ^ (x >> 31), depth + 1};
    }
    long operator()() const { // how many nodes there are from here on
        return 1 + pilfer::cluster::sum(std::views::iota(0, children()), [this](int i) { return child(i); });
    }
};
PILFER_CLUSTER_TASK(node);

int main(int argc, char** argv) {
    pilfer::cluster::session s(argc, argv, {.stack_size = 8 << 20}); // the tree is deep
    const long nodes = s.run(node{42, 0});
    if (s.rank() == 0) {
        std::printf("nodes: %ld\n", nodes);
    }
}
