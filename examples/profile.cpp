// How parallel is a program? Work and span of two ways to add up numbers, recorded on one worker.
// `pilfer profile PROGRAM` does this with every program, without a line of code.
#include <cstdio>
#include <numeric>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace {

long halves(const long* first, const long* last) {
    if (last - first <= 1'000) {
        return std::accumulate(first, last, 0L);
    }
    const long* middle = first + (last - first) / 2;
    auto [a, b] = pilfer::join([=] { return halves(first, middle); }, [=] { return halves(middle, last); });
    return a + b;
}

/// One piece after the other is forked, but each waits for the one before it.
long chain(const std::vector<long>& numbers) {
    long sum = 0;
    for (std::size_t i = 0; i < numbers.size(); i += 1'000) {
        pilfer::scope s;
        s.fork([&, i] { sum += std::accumulate(&numbers[i], &numbers[i] + 1'000, 0L); });
        s.sync();
    }
    return sum;
}

template <class F>
void report(const char* name, F f) {
    pilfer::options o;
    o.debug.profile = true; // one worker, serial order
    pilfer::pool pool(o);
    const long sum = pool.run(f);
    const pilfer::work_span p = pool.profile();
    std::printf("%s: %ld\n", name, sum);
    // Times vary; the number of tasks, and how many of them form the longest chain, do not.
    std::printf("  %llu tasks, at most %llu in a chain\n", static_cast<unsigned long long>(p.tasks),
                static_cast<unsigned long long>(p.span_tasks));
    std::printf("  can use more than one worker: %s\n", p.tasks > p.span_tasks ? "yes" : "no");
    std::fprintf(stderr, "  parallelism %.1f; 8 workers are %.1f to %.1f times as fast\n", p.parallelism(),
                 p.least_speedup(8), p.most_speedup(8));
}

} // namespace

int main() {
    std::vector<long> numbers(64'000);
    std::iota(numbers.begin(), numbers.end(), 1L);
    report("halves", [&] { return halves(numbers.data(), numbers.data() + numbers.size()); });
    report("chain", [&] { return chain(numbers); });
}
