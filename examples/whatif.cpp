// Three functions, and what each of them would give if it were twice as fast.
//
//     pilfer profile --graph graph.txt ./whatif
//     pilfer whatif --workers 1,2 --rank-on 2 graph.txt
//
// `whatif load`, `whatif convert` and `whatif index` really make one of them twice as fast, and print the
// milliseconds. Two other programs are `whatif lock N`, whose tasks share N locks, and `whatif grain N`,
// whose tasks have N items each. What a split of the lock, or larger tasks, would give:
//
//     pilfer profile --graph graph.txt ./whatif lock 1
//     pilfer whatif --split-lock 1=4 graph.txt
//     pilfer profile --graph graph.txt ./whatif grain 1
//     pilfer whatif --grain whatif.cpp:68=8 graph.txt
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

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

/// Tasks that spend most of their time under a lock.
void share(int locks) {
    std::vector<pilfer::mutex> all(static_cast<std::size_t>(locks));
    pilfer::scope s;
    for (std::size_t i = 0; i < 300; ++i) {
        s.fork([&all, i] {
            compute(15'000);
            const std::lock_guard held(all[i % all.size()]);
            compute(45'000);
        });
    }
    s.sync();
}

/// Tasks of some short items each.
void visit(int items) {
    pilfer::scope s;
    for (int i = 0; i < 100'000; i += items) {
        s.fork([n = std::min(items, 100'000 - i)] { compute(20 * n); });
    }
    s.sync();
}

/// Runs `f` in a pool, and prints how long it took.
void measure(const std::function<void()>& f) {
    pilfer::pool pool;
    const std::clock_t used = std::clock();
    const auto begin = std::chrono::steady_clock::now();
    pool.run(f);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    std::printf("%.3f ms, CPU time %.3f ms\n", took.count(),
                1'000.0 * static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC);
}

} // namespace

int main(int count, char** words) {
    const std::string_view faster = count > 1 ? words[1] : "";
    const int number = count > 2 ? std::max(std::atoi(words[2]), 1) : 1;
    if (faster == "lock" || faster == "grain") {
        measure([=] { faster == "lock" ? share(number) : visit(number); });
        return 0;
    }
    speeds by;
    by.load = faster == "load" ? 2 : 1;
    by.convert = faster == "convert" ? 2 : 1;
    by.index = faster == "index" ? 2 : 1;
    measure([by] {
        load(by);
        convert(by);
        index(by);
    });
}
