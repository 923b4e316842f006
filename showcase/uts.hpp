// uts: counts the nodes of an unbalanced tree. SHA-1 hashes decide its shape, so no runtime can foresee it
// (Olivier and others: UTS: An Unbalanced Tree Search Benchmark, LCPC 2006). The generator is the benchmarks'
// one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/uts.hpp"
#include "executors.hpp"

namespace showcase {

struct named_tree {
    std::string_view name;
    bench::uts::tree const& shape;
    unsigned levels;        // levels of the deepest node
    std::size_t stack_size; // enough bytes for that depth with each of the runtimes; 0: any default is enough
};

constexpr std::size_t mebibyte = std::size_t{1} << 20U;

// Stacks: no runtime was seen to use more than about 1 KiB per level and worker; stack that is not touched is
// not memory.
inline constexpr std::array<named_tree, 4> named_trees{{
    {"T1", bench::uts::t1, 10, 0},
    {"T3", bench::uts::t3, 1572, 16 * mebibyte},
    {"T1L", bench::uts::t1l, 13, 0},
    {"T3L", bench::uts::t3l, 17844, 256 * mebibyte},
}};

inline named_tree const& tree_named(std::string_view name) {
    for (named_tree const& tree : named_trees)
        if (tree.name == name)
            return tree;
    throw std::invalid_argument("no tree is called " + std::string(name));
}

template <executor X>
std::uint64_t uts_below(bench::uts::node const& node, bench::uts::tree const& shape);

/// The children's counts go to `counts`, which has room for all of them.
template <executor X>
std::uint64_t uts_children(bench::uts::node const& node, bench::uts::tree const& shape, std::uint64_t* counts,
                           std::size_t n) {
    X::for_children(n, [&node, &shape, counts](std::size_t i) {
        counts[i] = uts_below<X>(bench::uts::child_of(node, static_cast<unsigned>(i)), shape);
    });
    return std::accumulate(counts, counts + n, std::uint64_t{1});
}

// Apart, so that a vector and its clean-up do not widen the frames of a deep tree.
template <executor X>
[[gnu::noinline]] std::uint64_t uts_many_children(bench::uts::node const& node, bench::uts::tree const& shape,
                                                  std::size_t n) {
    std::vector<std::uint64_t> counts(n);
    return uts_children<X>(node, shape, counts.data(), n);
}

/// Number of nodes of the tree below `node`, itself included.
template <executor X>
std::uint64_t uts_below(bench::uts::node const& node, bench::uts::tree const& shape) {
    std::size_t const n = bench::uts::children_of(node, shape);
    if (n == 0)
        return 1;
    std::array<std::uint64_t, 8> few; // not cleared: each child writes its own
    if (n <= few.size())
        return uts_children<X>(node, shape, few.data(), n);
    return uts_many_children<X>(node, shape, n);
}

template <executor X>
std::uint64_t uts_nodes(X& runtime, std::string const& name) {
    bench::uts::tree const& shape = tree_named(name).shape;
    std::uint64_t nodes = 0;
    runtime.run([&] { nodes = uts_below<X>(bench::uts::root_of(shape), shape); });
    return nodes;
}

} // namespace showcase
