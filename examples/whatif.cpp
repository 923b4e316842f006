// Three functions, and what each of them would give if it were twice as fast.
//
//     pilfer profile --graph graph.txt ./whatif
//     pilfer whatif --workers 1,2 --rank-on 2 graph.txt
//
// `whatif load`, `whatif convert` and `whatif index` really make one of them twice as fast, and print the
// milliseconds.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string_view>

#include <pilfer/pilfer.hpp>

namespace {

/// Work of a fixed size that no compiler leaves out.
void compute(long rounds) {
    volatile double x = 1;
    for (long i = 0; i < rounds; ++i) {
        x = x * 1.000001 + 1e-9;
    }
}

struct speeds {
    long load = 1, convert = 1, index = 1;
};

/// A serial part.
void load(speeds by) {
    pilfer::scope s;
    s.fork([by] { compute(8'000'000 / by.load); });
    s.sync();
}

/// Many equal tasks.
void convert(speeds by) {
    pilfer::scope s;
    for (int i = 0; i < 100; ++i) {
        s.fork([by] { compute(200'000 / by.convert); });
    }
    s.sync();
}

/// Three tasks, which two workers cannot share evenly.
void index(speeds by) {
    pilfer::scope s;
    for (int i = 0; i < 3; ++i) {
        s.fork([by] { compute(4'000'000 / by.index); });
    }
    s.sync();
}

} // namespace

int main(int count, char** words) {
    const std::string_view faster = count > 1 ? words[1] : "";
    speeds by;
    by.load = faster == "load" ? 2 : 1;
    by.convert = faster == "convert" ? 2 : 1;
    by.index = faster == "index" ? 2 : 1;
    pilfer::pool pool;
    const std::clock_t used = std::clock();
    const auto begin = std::chrono::steady_clock::now();
    pool.run([by] {
        load(by);
        convert(by);
        index(by);
    });
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    std::printf("%.3f ms, CPU time %.3f ms\n", took.count(),
                1'000.0 * static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC);
}
