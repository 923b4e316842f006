// Counts letters in parallel, each use in a table of its own: no lock, and no atomic counters. A thread_local
// would not do: a waiting task may resume on another thread, and another task may use its table meanwhile.
#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace {

using table = std::array<long, 26>;

[[nodiscard]] std::vector<std::string> make_lines() {
    std::vector<std::string> lines;
    for (int i = 0; i < 10'000; ++i) {
        lines.push_back("the quick brown fox jumps over the lazy dog");
    }
    return lines;
}

} // namespace

int main() {
    pilfer::pool pool;
    const std::vector<std::string> lines = make_lines();
    pilfer::worker_local<table> tables; // a table for each simultaneous use, made at the first one
    pool.run([&] {
        pilfer::for_each(std::size_t{0}, lines.size(), [&](std::size_t i) {
            const auto mine = tables.lease();
            for (const char c : lines[i]) {
                if (c != ' ') {
                    ++(*mine)[static_cast<std::size_t>(c - 'a')];
                }
            }
        });
    });
    const table all = tables.combine([](table sum, const table& more) {
        for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] += more[i];
        }
        return sum;
    });
    std::printf("e: %ld, o: %ld, z: %ld\n", all['e' - 'a'], all['o' - 'a'], all['z' - 'a']);
    std::printf("at most a table per worker: %s\n", tables.size() <= pool.workers() ? "yes" : "no");
}
