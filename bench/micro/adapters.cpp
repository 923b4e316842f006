// The bulk operations of a std::execution back-end beside a plain loop. The interface stands for that of a
// standard library.
#include <array>
#include <cstddef>
#include <exception>

#include <benchmark/benchmark.h>

#include <pilfer/adapters/parallel_scheduler.hpp>
#include <pilfer/pilfer.hpp>

#include "adapters/replaceable.hpp"

namespace {

using replaceable::bulk_item_receiver_proxy;
using backend =
    pilfer::adapters::parallel_scheduler_backend<replaceable::parallel_scheduler_backend,
                                                 replaceable::receiver_proxy, bulk_item_receiver_proxy>;

struct empty_items final : bulk_item_receiver_proxy {
    pilfer::event done;
    void set_value() noexcept override { done.set(); }
    void set_error(std::exception_ptr) noexcept override { std::terminate(); }
    void set_stopped() noexcept override { std::terminate(); }
    void execute(std::size_t first, std::size_t end) noexcept override {
        for (; first != end; ++first) {
            benchmark::DoNotOptimize(first);
        }
    }
};
constexpr std::size_t items = 1'000'000;

template <class Run>
void bulk_of(benchmark::State& state, Run run) {
    pilfer::pool pool({.workers = static_cast<unsigned>(state.range(0))});
    backend b(pool);
    pool.run([&] {
        for (auto _ : state)
            run(b);
    });
}
template <class Start>
void started(backend& b, Start start) {
    alignas(std::max_align_t) std::array<std::byte, 64> scratch;
    empty_items r;
    start(b, r, std::span<std::byte>(scratch));
    r.done.wait();
}

void bulk_for_each(benchmark::State& state) {
    bulk_of(state, [](backend&) {
        pilfer::for_each(std::size_t{0}, items, [](std::size_t i) { benchmark::DoNotOptimize(i); });
    });
}
void bulk_chunked(benchmark::State& state) {
    bulk_of(state, [](backend& b) {
        started(b, [](auto& to, auto& r, auto space) { to.schedule_bulk_chunked(items, r, space); });
    });
}
void bulk_unchunked(benchmark::State& state) {
    bulk_of(state, [](backend& b) {
        started(b, [](auto& to, auto& r, auto space) { to.schedule_bulk_unchunked(items, r, space); });
    });
}
BENCHMARK(bulk_for_each)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(bulk_chunked)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(bulk_unchunked)->Arg(1)->Arg(2)->UseRealTime();

} // namespace
