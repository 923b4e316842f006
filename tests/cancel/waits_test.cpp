// The list of waits: which waits a cancellation finds, and which nodes it does not even look at.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/cancel/waits.hpp>
#include <pilfer/detail/context/scope_node.hpp>

#include "support/child.hpp"
#include "support/harness.hpp"

namespace {

namespace cancel_flag = pilfer::detail::cancel_flag;

/// A state that counts the looks at it.
struct counted_state {
    std::uint32_t word = 0;
    mutable unsigned looks = 0;
    [[nodiscard]] std::uint32_t load(std::memory_order /*o*/) const {
        ++looks;
        return word;
    }
    void fetch_or(std::uint32_t bits, std::memory_order /*o*/) { word |= bits; }
};
struct head {
    counted_state cancel_state;
    [[nodiscard]] const void* shielded() const { return nullptr; }
    [[nodiscard]] std::uint64_t clear_in() const { return 0; }
    void set_clear_in(std::uint64_t /*epoch*/) {}
};
using tree_node = pilfer::detail::basic_scope_node<pilfer::detail::std_atom, head>;
using waits =
    pilfer::detail::cancellable_waits<pilfer::detail::std_atom, pilfer::detail::futex_park, tree_node>;

struct waiter : waits::waiter {
    explicit waiter(tree_node& at) {
        node = &at;
        stop = [](waits::waiter& self) noexcept { ++static_cast<waiter&>(self).stops; };
    }
    unsigned stops = 0;
};

void cancel(waits& all, tree_node& n) {
    n.head().cancel_state.fetch_or(cancel_flag::cancelled, std::memory_order_relaxed);
    all.stop_below(n);
}

[[nodiscard]] bool is_below(tree_node* n, const tree_node* top) {
    for (; n != nullptr; n = tree_node::strip(n->parent())) {
        if (n == top) {
            return true;
        }
    }
    return false;
}

TEST(cancellable_waits, strangers_are_not_looked_at) {
    waits all;
    tree_node root(nullptr);
    tree_node cancelled(&root);
    tree_node inner(&cancelled);
    waiter below(inner);
    all.add(below);
    std::vector<std::unique_ptr<tree_node>> others;
    std::vector<std::unique_ptr<waiter>> strangers;
    for (int i = 0; i < 10'000; ++i) {
        others.push_back(std::make_unique<tree_node>(i % 2 == 0 ? &root : nullptr));
        strangers.push_back(std::make_unique<waiter>(*others.back()));
        all.add(*strangers.back());
    }
    cancel(all, cancelled);
    EXPECT_EQ(below.stops, 1U);
    for (const auto& n : others) {
        EXPECT_EQ(n->head().cancel_state.looks, 0U);
    }
    EXPECT_EQ(root.head().cancel_state.looks, 0U);
    for (const auto& s : strangers) {
        EXPECT_EQ(s->stops, 0U);
        all.remove(*s);
    }
    all.remove(below);
}

TEST(cancellable_waits, every_wait_below_is_found_at_any_depth) {
    for (const unsigned depth : {1U, 63U, 64U, 65U, 66U, 1000U}) {
        waits all;
        std::vector<std::unique_ptr<tree_node>> chain;
        for (unsigned i = 0; i < depth; ++i) {
            chain.push_back(std::make_unique<tree_node>(chain.empty() ? nullptr : chain.back().get()));
        }
        waiter deep(*chain.back());
        waiter again(*chain.back());
        waiter half(*chain[depth / 2]);
        all.add(deep);
        all.add(half);
        all.add(again);
        all.remove(half);
        cancel(all, *chain.front());
        EXPECT_EQ(deep.stops, 1U) << depth;
        EXPECT_EQ(again.stops, 1U) << depth;
        EXPECT_EQ(half.stops, 0U) << depth;
        all.remove(deep);
        all.remove(again);
    }
}

TEST(cancellable_waits, a_wait_that_is_too_deep_makes_no_later_one_a_stranger_that_is_looked_at) {
    waits all;
    std::vector<std::unique_ptr<tree_node>> chain;
    std::vector<std::unique_ptr<waiter>> listed;
    for (unsigned i = 0; i < 100; ++i) {
        chain.push_back(std::make_unique<tree_node>(chain.empty() ? nullptr : chain.back().get()));
    }
    waiter too_deep(*chain.back());
    all.add(too_deep);
    for (const auto& n : chain) {
        listed.push_back(std::make_unique<waiter>(*n));
        all.add(*listed.back());
    }
    all.remove(too_deep);
    tree_node elsewhere(nullptr);
    cancel(all, elsewhere);
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_EQ(chain[i]->head().cancel_state.looks, 0U) << i;
        all.remove(*listed[i]);
    }
}

TEST(cancellable_waits, a_node_that_ends_out_of_turn_is_forgotten) {
    waits all;
    tree_node outer(nullptr);
    tree_node elsewhere(nullptr);
    alignas(tree_node) std::array<std::byte, sizeof(tree_node)> memory;
    tree_node* const middle = new (memory.data()) tree_node(&outer);
    tree_node inner(tree_node::as_owner(middle));
    waiter below(inner);
    all.add(below);
    inner.relink(*middle);
    all.unlink(*middle);
    std::destroy_at(middle);
    // Another node begins at that address, inside another one.
    tree_node* const other = new (memory.data()) tree_node(&elsewhere);
    waiter at_other(*other);
    all.add(at_other);
    cancel(all, elsewhere);
    EXPECT_EQ(at_other.stops, 1U);
    EXPECT_EQ(below.stops, 0U);
    cancel(all, outer);
    EXPECT_EQ(below.stops, 1U);
    all.remove(at_other);
    all.remove(below);
    std::destroy_at(other);
}

TEST(cancellable_waits, a_random_tree_agrees_with_a_walk_over_all) {
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
        waits all;
        std::vector<std::unique_ptr<tree_node>> nodes;
        for (int i = 0; i < 300; ++i) {
            tree_node* const parent =
                nodes.empty() || random() % 8 == 0 ? nullptr : nodes[random() % nodes.size()].get();
            nodes.push_back(std::make_unique<tree_node>(parent));
        }
        std::vector<std::unique_ptr<tree_node>> gone;
        std::vector<std::unique_ptr<waiter>> listed;
        for (int step = 0; step < 3000; ++step) {
            if (step % 30 == 0) {
                std::swap(nodes[random() % nodes.size()], nodes.back());
                tree_node* const ends = nodes.back().get();
                if (std::none_of(listed.begin(), listed.end(),
                                 [ends](const auto& l) { return l->node == ends; })) {
                    for (const auto& n : nodes) {
                        if (n->parent() == ends) {
                            n->relink(*ends);
                        }
                    }
                    all.unlink(*ends);
                    gone.push_back(std::move(nodes.back()));
                    nodes.pop_back();
                }
            }
            if (listed.size() < 100 || random() % 2 == 0) {
                listed.push_back(std::make_unique<waiter>(*nodes[random() % nodes.size()]));
                all.add(*listed.back());
            } else {
                std::swap(listed[random() % listed.size()], listed.back());
                all.remove(*listed.back());
                listed.pop_back();
            }
        }
        const tree_node& top = *nodes[random() % nodes.size()];
        cancel(all, const_cast<tree_node&>(top));
        for (const auto& l : listed) {
            EXPECT_EQ(l->stops, is_below(l->node, &top) ? 1U : 0U);
            all.remove(*l);
        }
    }
}

TEST(cancellable_waits, a_wait_from_before_a_fork_leaves_what_the_child_lists_alone) {
    struct forking : waiter {
        forking(waits& of, tree_node& at) : waiter(at), all(&of) {
            stop = [](waits::waiter& self) noexcept { static_cast<forking&>(self).all->forget_threads(); };
        }
        waits* all;
    };
    const auto result = support::in_child([] { // which loses memory, as a child of fork() does
        waits all;
        tree_node node(nullptr);
        forking before(all, node);
        all.add(before);
        cancel(all, node); // the function runs under the lock, as if another thread held it
        waiter after(node);
        all.add(after);
        all.remove(before);
        all.stop_below(node);
        all.remove(after);
        return after.stops == 1 ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

} // namespace
