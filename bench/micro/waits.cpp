// A wait that a cancellation ends, listed and removed: below `depth` nodes that no other wait has, beside
// `others` nodes with a wait each.
#include <atomic>
#include <cstdint>
#include <deque>

#include <benchmark/benchmark.h>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/cancel/waits.hpp>
#include <pilfer/detail/context/scope_node.hpp>

namespace {

struct head {
    std::atomic<std::uint32_t> cancel_state{0};
    [[nodiscard]] const void* shielded() const { return nullptr; }
    [[nodiscard]] std::uint64_t clear_in() const { return 0; }
    void set_clear_in(std::uint64_t /*epoch*/) {}
};
using tree_node = pilfer::detail::basic_scope_node<pilfer::detail::std_atom, head>;
using waits =
    pilfer::detail::cancellable_waits<pilfer::detail::std_atom, pilfer::detail::futex_park, tree_node>;

void wait_listed(benchmark::State& state) {
    waits all;
    tree_node root(nullptr);
    std::deque<tree_node> nodes;
    std::deque<waits::waiter> others;
    for (std::int64_t i = 0; i < state.range(0); ++i) {
        others.emplace_back().node = &nodes.emplace_back(&root);
        all.add(others.back());
    }
    tree_node* at = &root;
    for (std::int64_t i = 0; i < state.range(1); ++i)
        at = &nodes.emplace_back(at);
    waits::waiter w;
    w.node = at;
    for (auto _ : state) {
        all.add(w);
        all.remove(w);
    }
    for (waits::waiter& o : others)
        all.remove(o);
}
BENCHMARK(wait_listed)
    ->Name("wait_listed")
    ->ArgNames({"others", "depth"})
    ->ArgsProduct({{0, 100, 10'000}, {1, 10, 60}});

} // namespace
