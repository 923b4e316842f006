// An unbalanced tree, for one machine: see tree.cpp.
#include <cstdint>
#include <cstdio>
#include <functional>

#include <pilfer/pilfer.hpp>

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
        return 1 + pilfer::reduce(
                       0, children(), 0L, [this](int i) { return child(i)(); }, std::plus<>{});
    }
};

int main() {
    pilfer::pool pool({.stack_size = 8 << 20}); // the tree is deep
    const long nodes = pool.run(node{42, 0});
    std::printf("nodes: %ld\n", nodes);
}
