// The bare switch between two stacks; one iteration is two of them.
#include <benchmark/benchmark.h>

#include <context/switch.hpp>
#include <cstddef>
#include <memory>

namespace {

struct pair {
    void* outer = nullptr;
    void* inner = nullptr;
};

void answer_for_ever(void* argument) {
    auto* both = static_cast<pair*>(argument);
    for (;;)
        pilfer_v0_switch(&both->inner, both->outer, nullptr);
}

void two_switches(benchmark::State& state) {
    struct alignas(64) memory {
        std::byte bytes[64 * 1024];
    };
    const auto stack = std::make_unique<memory>();
    pair both;
    pilfer_v0_start(&both.outer, stack->bytes + sizeof(memory), answer_for_ever, &both);
    for (auto _ : state)
        pilfer_v0_switch(&both.outer, both.inner, nullptr);
}
BENCHMARK(two_switches);

} // namespace
