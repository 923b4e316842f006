// A task of one pool may run something in another: its worker is free for others meanwhile.
#include <cstdio>

#include <pilfer/pilfer.hpp>

namespace {

[[nodiscard]] pilfer::options with_workers(unsigned n) {
    pilfer::options o;
    o.workers = n;
    return o;
}

[[nodiscard]] long sum_below(int n) {
    return pilfer::reduce(
        0, n, 0L, [](int i) { return long{i}; }, [](long a, long b) { return a + b; });
}

}  // namespace

int main() {
    pilfer::pool outer(with_workers(1));
    pilfer::pool inner(with_workers(2));
    const auto [here, there] = outer.run([&] {
        return pilfer::join([] { return sum_below(1'000); },
                            [&] { return inner.run([] { return sum_below(2'000); }); });
    });
    std::printf("outer pool of %u: %ld\n", outer.workers(), here);
    std::printf("inner pool of %u: %ld\n", inner.workers(), there);
}
