// Counts the nodes of a tree; every child is a task.
#pragma once

#include "common/bench.hpp"
#include "common/uts.hpp"

namespace bench::uts {

template <class R>
std::uint64_t count(const node& parent, const tree& t) {
    const unsigned children = children_of(parent, t);
    if (children == 0)
        return 1;
    return 1 + R::fork_sum(children, [&parent, &t](unsigned i) { return count<R>(child_of(parent, i), t); });
}

/// The kernel over one table of trees.
template <class R, const by_size<tree>& Trees>
class walk : public kernel_base {
public:
    explicit walk(size s) : m_tree(Trees[s]) {}
    std::uint64_t run() const { return count<R>(root_of(m_tree), m_tree); }
    bool check(std::uint64_t answer) const { return answer == m_tree.nodes; }

private:
    tree m_tree;
};

} // namespace bench::uts
