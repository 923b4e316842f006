// dropin_programs NAME ROUNDS: runs one program of users of oneTBB and of libstdc++'s std::execution::par,
// and prints what it computed and the nanoseconds of each round. It knows nothing of pilfer: bench/dropin.py
// starts it with Debian's libtbb.so.12 and with libpilfer-tbb.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execution>
#include <functional>
#include <numeric>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_group.h>

namespace {

std::vector<double> values(std::size_t n) {
    std::vector<double> v(n);
    unsigned long x = 1;
    for (double& y : v) {
        x = x * 6364136223846793005UL + 1442695040888963407UL;
        y = static_cast<double>(x >> 40);
    }
    return v;
}

long fib(int n) {
    if (n < 2) {
        return n;
    }
    long a = 0;
    tbb::task_group g;
    g.run([&] { a = fib(n - 1); });
    const long b = fib(n - 2);
    g.wait();
    return a + b;
}

struct program {
    const char* name;
    std::function<double(const std::vector<double>&, std::vector<double>&)> run; // of the input and of a copy
};

const auto par = std::execution::par;

const std::vector<program> programs{
    {"std::sort", [](auto&, auto& v) { return std::sort(par, v.begin(), v.end()), v[v.size() / 3]; }},
    {"std::stable_sort",
     [](auto&, auto& v) { return std::stable_sort(par, v.begin(), v.end()), v[v.size() / 3]; }},
    {"std::reduce", [](auto& in, auto&) { return std::reduce(par, in.begin(), in.end(), 0.0); }},
    {"std::transform",
     [](auto& in, auto& v) {
         std::transform(par, in.begin(), in.end(), v.begin(), [](double x) { return 3 * x + 1; });
         return v.back();
     }},
    {"std::inclusive_scan",
     [](auto& in, auto& v) { return std::inclusive_scan(par, in.begin(), in.end(), v.begin()), v.back(); }},
    {"std::for_each",
     [](auto&, auto& v) {
         return std::for_each(par, v.begin(), v.end(), [](double& x) { x += 1; }), v.back();
     }},
    {"std::count_if",
     [](auto& in, auto&) {
         return double(std::count_if(par, in.begin(), in.end(), [](double x) { return x > 1e6; }));
     }},
    {"tbb::parallel_for",
     [](auto&, auto& v) {
         tbb::parallel_for(std::size_t{0}, v.size(), [&](std::size_t i) { v[i] *= 2; });
         return v.back();
     }},
    {"tbb::parallel_reduce",
     [](auto& in, auto&) {
         return tbb::parallel_reduce(
             tbb::blocked_range<std::size_t>(0, in.size()), 0.0,
             [&](const auto& r, double s) {
                 return std::accumulate(in.begin() + long(r.begin()), in.begin() + long(r.end()), s);
             },
             std::plus<>());
     }},
    {"tbb::parallel_sort", [](auto&, auto& v) { return tbb::parallel_sort(v), v[v.size() / 3]; }},
    {"fib(27) by task_group", [](auto&, auto&) { return double(fib(27)); }},
    {"1,000 loops of 1,000",
     [](auto&, auto& v) {
         for (int k = 0; k < 1000; ++k) {
             tbb::parallel_for(0, 1000, [&](int i) { v[std::size_t(i)] += 1; });
         }
         return v[999];
     }},
    {"loops in a loop",
     [](auto&, auto& v) {
         tbb::parallel_for(0, 1000, [&](int k) {
             tbb::parallel_for(0, 1000, [&](int i) { v[std::size_t(k * 1000 + i) % v.size()] += 1; });
         });
         return v[v.size() / 2];
     }},
    {"static_partitioner",
     [](auto&, auto& v) {
         for (int k = 0; k < 10; ++k) {
             tbb::parallel_for(
                 tbb::blocked_range<std::size_t>(0, v.size()),
                 [&](const auto& r) {
                     for (auto i = r.begin(); i != r.end(); ++i) {
                         v[i] += 1;
                     }
                 },
                 tbb::static_partitioner());
         }
         return v.back();
     }},
    {"affinity_partitioner", // what a thread had in its cache it has again
     [](auto&, auto& v) {
         tbb::affinity_partitioner where;
         for (int k = 0; k < 100; ++k) {
             tbb::parallel_for(
                 tbb::blocked_range<std::size_t>(0, v.size() / 10),
                 [&](const auto& r) {
                     for (auto i = r.begin(); i != r.end(); ++i) {
                         v[i] += 1;
                     }
                 },
                 where);
         }
         return v[v.size() / 20];
     }},
    {"parallel_pipeline",
     [](auto& in, auto&) {
         std::size_t next = 0;
         double sum = 0;
         tbb::parallel_pipeline(
             16, tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order,
                                                     [&](tbb::flow_control& c) {
                                                         if (next == 20'000) {
                                                             c.stop();
                                                         }
                                                         return next++;
                                                     }) &
                     tbb::make_filter<std::size_t, double>(tbb::filter_mode::parallel,
                                                           [&](std::size_t i) { return in[i] + 1; }) &
                     tbb::make_filter<double, void>(tbb::filter_mode::serial_in_order,
                                                    [&](double x) { sum += x; }));
         return sum;
     }},
};

} // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
        for (const program& p : programs) {
            std::puts(p.name);
        }
        return 0;
    }
    if (argc != 3) {
        std::fprintf(stderr, "usage: dropin_programs --list | NAME ROUNDS\n");
        return 2;
    }
    const auto found = std::find_if(programs.begin(), programs.end(),
                                    [&](const program& p) { return std::strcmp(p.name, argv[1]) == 0; });
    if (found == programs.end()) {
        std::fprintf(stderr, "dropin_programs: there is no program %s\n", argv[1]);
        return 2;
    }
    const std::vector<double> in = values(1'000'000);
    std::vector<double> v = in;
    (void)found->run(in, v); // the threads begin
    for (int round = 0; round < std::atoi(argv[2]); ++round) {
        std::copy(in.begin(), in.end(), v.begin());
        const auto begin = std::chrono::steady_clock::now();
        const double result = found->run(in, v);
        const auto end = std::chrono::steady_clock::now();
        if (round == 0) {
            std::printf("result %.6g\n", result);
        }
        std::printf("%ld\n", static_cast<long>(
                                 std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count()));
    }
}
