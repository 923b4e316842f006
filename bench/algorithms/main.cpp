// Algorithms by several runtimes in one process, taking turns: one line of JSON with the seconds of every
// round.
//
// bench-algorithms WORKERS ROUNDS ELEMENTS [ROW [RUNTIME]]. Every result is compared with the serial one's.
// The runtimes are std (one thread), pilfer, std::execution::par of the standard library, oneTBB and OpenMP,
// as far as each has the algorithm. Each calls from where its users do: pilfer from a task of its pool, the
// others from the main thread. The rows of parlaylib are there if its headers are: parlay.hpp. A short call
// is repeated, and the mean of its repetitions is one round.
#include <omp.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <execution>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <pilfer/algorithm.hpp>
#include <pilfer/pilfer.hpp>
#include <pilfer/sort.hpp>

#include "parlay.hpp"

namespace {

using doubles = std::vector<double>;
using block = tbb::blocked_range<std::size_t>;

struct inputs {
    doubles x;
    std::vector<int> keys;
    doubles out;
    std::vector<int> chosen;
    std::vector<std::string> words; // fewer than the others
    std::vector<std::string> sorted_words;
};
struct runtime {
    std::string name;
    std::function<double()> run; // returns a number that stands for the result
};
struct row {
    std::string name;
    std::size_t elements;
    std::vector<runtime> runtimes;
    std::function<void()> prepare = nullptr; // before each run, and not measured
};

// Closures, not functions: a pointer to a function is not inlined by every runtime.
constexpr auto step = [](double a) { return a * 0.75 + 1.0; };
constexpr auto is_chosen = [](int key) { return key % 3 == 0; };
constexpr std::size_t bins = 256;

double transform_result(const inputs& in) { return in.out[in.out.size() / 3] + in.out.back(); }
double filter_result(const std::vector<int>& v) {
    return static_cast<double>(v.size()) + (v.empty() ? 0 : v[v.size() / 2]);
}
double histogram_result(const std::vector<std::uint64_t>& counts) {
    double sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        sum += static_cast<double>(counts[i] * (i + 1));
    }
    return sum;
}
constexpr auto bin_of = [](int key) { return static_cast<std::size_t>(key) % bins; };

row transform_row(inputs& in) {
    const auto& x = in.x;
    auto& out = in.out;
    const auto par = std::execution::par;
    return {
        "transform",
        x.size(),
        {{"std", [&] { return std::transform(x.begin(), x.end(), out.begin(), step), transform_result(in); }},
         {"pilfer", [&] { return pilfer::transform(x, out.begin(), step), transform_result(in); }},
         {"std par",
          [&, par] {
              return std::transform(par, x.begin(), x.end(), out.begin(), step), transform_result(in);
          }},
         {"oneTBB",
          [&] {
              tbb::parallel_for(block(0, x.size()), [&](const block& b) {
                  for (std::size_t i = b.begin(); i != b.end(); ++i) {
                      out[i] = step(x[i]);
                  }
              });
              return transform_result(in);
          }},
         {"OpenMP", [&] {
#pragma omp parallel for
              for (std::size_t i = 0; i < x.size(); ++i) {
                  out[i] = step(x[i]);
              }
              return transform_result(in);
          }}}};
}

row reduce_row(const inputs& in) {
    const auto& x = in.x;
    const auto par = std::execution::par;
    return {"reduce",
            x.size(),
            {{"std", [&] { return std::reduce(x.begin(), x.end(), 0.0); }},
             {"pilfer", [&] { return pilfer::reduce(x, 0.0); }},
             {"std par", [&, par] { return std::reduce(par, x.begin(), x.end(), 0.0); }},
             {"oneTBB",
              [&] {
                  return tbb::parallel_reduce(
                      block(0, x.size()), 0.0,
                      [&](const block& b, double sum) {
                          for (std::size_t i = b.begin(); i != b.end(); ++i) {
                              sum += x[i];
                          }
                          return sum;
                      },
                      std::plus<>{});
              }},
             {"OpenMP", [&] {
                  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
                  for (std::size_t i = 0; i < x.size(); ++i) {
                      sum += x[i];
                  }
                  return sum;
              }}}};
}

/// With the results of other rows: a compiler that sees one array would read it once.
row dot_row(const inputs& in) {
    const auto& x = in.x;
    const auto& y = in.out;
    const auto par = std::execution::par;
    return {"dot product",
            x.size(),
            {{"std", [&] { return std::transform_reduce(x.begin(), x.end(), y.begin(), 0.0); }},
             {"pilfer", [&] { return pilfer::transform_reduce(x, y, 0.0); }},
             {"std par", [&, par] { return std::transform_reduce(par, x.begin(), x.end(), y.begin(), 0.0); }},
             {"oneTBB",
              [&] {
                  return tbb::parallel_reduce(
                      block(0, x.size()), 0.0,
                      [&](const block& b, double sum) {
                          for (std::size_t i = b.begin(); i != b.end(); ++i) {
                              sum += x[i] * y[i];
                          }
                          return sum;
                      },
                      std::plus<>{});
              }},
             {"OpenMP", [&] {
                  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
                  for (std::size_t i = 0; i < x.size(); ++i) {
                      sum += x[i] * y[i];
                  }
                  return sum;
              }}}};
}

row scan_row(inputs& in) {
    const auto& x = in.x;
    auto& out = in.out;
    const auto par = std::execution::par;
    return {
        "scan",
        x.size(),
        {{"std", [&] { return std::inclusive_scan(x.begin(), x.end(), out.begin()), transform_result(in); }},
         {"pilfer", [&] { return pilfer::inclusive_scan(x, out.begin()), transform_result(in); }},
         {"std par",
          [&, par] {
              return std::inclusive_scan(par, x.begin(), x.end(), out.begin()), transform_result(in);
          }},
         {"oneTBB",
          [&] {
              tbb::parallel_scan(
                  block(0, x.size()), 0.0,
                  [&](const block& b, double sum, bool is_final) {
                      for (std::size_t i = b.begin(); i != b.end(); ++i) {
                          sum += x[i];
                          if (is_final) {
                              out[i] = sum;
                          }
                      }
                      return sum;
                  },
                  std::plus<>{});
              return transform_result(in);
          }},
         {"OpenMP", [&] {
              double sum = 0;
#pragma omp parallel for reduction(inscan, + : sum)
              for (std::size_t i = 0; i < x.size(); ++i) {
                  sum += x[i];
#pragma omp scan inclusive(sum)
                  out[i] = sum;
              }
              return transform_result(in);
          }}}};
}

row filter_row(inputs& in) {
    const auto& keys = in.keys;
    auto& chosen = in.chosen;
    const auto par = std::execution::par;
    return {
        "filter",
        keys.size(),
        {{"std",
          [&] {
              std::vector<int> out;
              std::copy_if(keys.begin(), keys.end(), std::back_inserter(out), is_chosen);
              return filter_result(out);
          }},
         {"pilfer", [&] { return filter_result(pilfer::filter(keys, is_chosen)); }},
         // Into a vector of all elements' size that is there already: a smaller task than the others have.
         {"std par", [&, par] {
              const auto end = std::copy_if(par, keys.begin(), keys.end(), chosen.begin(), is_chosen);
              const auto n = end - chosen.begin();
              return static_cast<double>(n) + (n == 0 ? 0 : chosen[static_cast<std::size_t>(n) / 2]);
          }}}};
}

row find_row(const inputs& in) {
    const auto& keys = in.keys;
    const auto par = std::execution::par;
    const auto at = [&](auto it) { return static_cast<double>(it - keys.begin()); };
    return {"find",
            keys.size(),
            {{"std", [&, at] { return at(std::find(keys.begin(), keys.end(), -1)); }},
             {"pilfer", [&, at] { return at(pilfer::find(keys, -1)); }},
             {"std par", [&, at, par] { return at(std::find(par, keys.begin(), keys.end(), -1)); }}}};
}

row histogram_row(const inputs& in) {
    using table = std::vector<std::uint64_t>;
    const auto& keys = in.keys;
    const auto add = [](table a, const table& b) {
        std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::plus<>{});
        return a;
    };
    return {"histogram",
            keys.size(),
            {{"std",
              [&] {
                  table counts(bins);
                  for (const int key : keys) {
                      ++counts[bin_of(key)];
                  }
                  return histogram_result(counts);
              }},
             {"pilfer", [&] { return histogram_result(pilfer::histogram(keys, bins, bin_of)); }},
             {"oneTBB",
              [&, add] {
                  tbb::enumerable_thread_specific<table> tables(bins);
                  tbb::parallel_for(block(0, keys.size()), [&](const block& b) {
                      table& mine = tables.local();
                      for (std::size_t i = b.begin(); i != b.end(); ++i) {
                          ++mine[bin_of(keys[i])];
                      }
                  });
                  return histogram_result(tables.combine(add));
              }},
             {"OpenMP", [&] {
                  std::uint64_t counts[bins] = {};
#pragma omp parallel for reduction(+ : counts)
                  for (std::size_t i = 0; i < keys.size(); ++i) {
                      ++counts[bin_of(keys[i])];
                  }
                  return histogram_result(table(&counts[0], &counts[bins]));
              }}}};
}

double sorted_result(const std::vector<int>& v) {
    return v.front() + 3.0 * v[v.size() / 2] + 7.0 * v[v.size() / 3] + v.back();
}
double sorted_result(const std::vector<std::string>& v) {
    return v.front()[0] + 3.0 * v[v.size() / 2].back() + 7.0 * v[v.size() / 3].back() +
           11.0 * v.back().back();
}

/// Each run sorts a copy of `from` in `v` that begins elsewhere. A processor would learn by heart how a short
/// input that comes again is sorted.
template <class T>
row sort_row(const char* name, const std::vector<T>& from, std::vector<T>& v) {
    const auto par = std::execution::par;
    const auto sorted = [&v](auto sort) { return [&v, sort] { return sort(), sorted_result(v); }; };
    return {name,
            from.size(),
            {{"std", sorted([&v] { std::sort(v.begin(), v.end()); })},
             {"pilfer", sorted([&v] { pilfer::sort(v); })},
             {"std par", sorted([&v, par] { std::sort(par, v.begin(), v.end()); })},
             {"oneTBB", sorted([&v] { tbb::parallel_sort(v.begin(), v.end()); })}},
            [&from, &v, turn = std::size_t{0}]() mutable {
                turn = (turn + 37) % from.size();
                std::rotate_copy(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(turn), from.end(),
                                 v.begin());
            }};
}

#if defined(BENCH_PARLAY)
void add_parlaylib(row& r, inputs& in) {
    const auto add = [&r](std::function<double()> run) {
        r.runtimes.push_back({"parlaylib", std::move(run)});
    };
    if (r.name == "transform") {
        add([&in] { return parlay_side::transform(in.x, in.out, step), transform_result(in); });
    } else if (r.name == "reduce") {
        add([&in] { return parlay_side::reduce(in.x); });
    } else if (r.name == "scan") {
        add([&in] {
            const auto sums = parlay_side::scan(in.x);
            return sums[sums.size() / 3] + sums[sums.size() - 1];
        });
    } else if (r.name == "filter") {
        add([&in] {
            const auto v = parlay_side::filter(in.keys, is_chosen);
            return static_cast<double>(v.size()) + (v.empty() ? 0 : v[v.size() / 2]);
        });
    } else if (r.name == "find") {
        add([&in] { return static_cast<double>(parlay_side::find(in.keys, -1)); });
    } else if (r.name == "histogram") {
        add([&in] {
            const auto counts = parlay_side::histogram(in.keys, bins, bin_of);
            return histogram_result(std::vector<std::uint64_t>(counts.begin(), counts.end()));
        });
    } else if (r.name == "sort") {
        add([&in] { return parlay_side::sort(in.chosen), sorted_result(in.chosen); });
    } else if (r.name == "sort strings") {
        add([&in] { return parlay_side::sort(in.sorted_words), sorted_result(in.sorted_words); });
    }
}
#endif

/// The seconds of one call: the mean of `times`. Its result goes to `got`.
double seconds_of(const row& r, const runtime& one, int times, double& got) {
    const int at_once = r.prepare ? 1 : times;
    std::chrono::duration<double> took{0};
    for (int done = 0; done < times; done += at_once) {
        if (r.prepare) {
            r.prepare();
        }
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < at_once; ++i) {
            got = one.run();
        }
        took += std::chrono::steady_clock::now() - begin;
    }
    return took.count() / times;
}

bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

} // namespace

int main(int argc, char** argv) {
    if (argc < 4 || argc > 6) {
        std::fprintf(stderr, "usage: bench-algorithms WORKERS ROUNDS ELEMENTS [ROW [RUNTIME]]\n");
        return 2;
    }
    const auto workers = static_cast<unsigned>(std::atoi(argv[1]));
    const int rounds = std::atoi(argv[2]);
    const auto n = static_cast<std::size_t>(std::atoll(argv[3]));

    inputs in{doubles(n), std::vector<int>(n), doubles(n), std::vector<int>(n), {}, {}};
    std::uint32_t random = 12345;
    for (std::size_t i = 0; i < n; ++i) {
        random = random * 1664525 + 1013904223;
        in.x[i] = static_cast<double>(random >> 8) / (1 << 24);
        in.keys[i] = static_cast<int>(random >> 9);
    }
    in.keys[n - 1] = -1; // what find looks for
    in.out = in.x;
    for (std::size_t i = 0; i < std::min<std::size_t>(n, 1'000'000); ++i) {
        random = random * 1664525 + 1013904223;
        in.words.push_back(std::to_string(std::uint64_t{random} * random));
    }
    in.sorted_words = in.words;
    const int times = n < 100'000 ? static_cast<int>(100'000 / n) : 1;

    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
    omp_set_num_threads(static_cast<int>(workers));
#if defined(BENCH_PARLAY)
    parlay_side::set_workers(workers);
#endif
    pilfer::pool pool({.workers = workers});

    std::printf("{\"workers\": %u, \"elements\": %zu, \"rows\": [", workers, n);
    bool first_row = true;
    for (row r : {transform_row(in), reduce_row(in), dot_row(in), scan_row(in), filter_row(in), find_row(in),
                  histogram_row(in), sort_row("sort", in.keys, in.chosen),
                  sort_row("sort strings", in.words, in.sorted_words)}) {
        if (argc >= 5 && r.name != argv[4]) {
            continue;
        }
#if defined(BENCH_PARLAY)
        add_parlaylib(r, in);
#endif
        std::vector<std::vector<double>> seconds(r.runtimes.size());
        double want = 0;
        (void)seconds_of(r, r.runtimes[0], 1, want);
        if (argc == 6) {
            std::erase_if(r.runtimes, [&](const runtime& one) { return one.name != argv[5]; });
            seconds.resize(r.runtimes.size());
            if (r.runtimes.empty()) {
                std::fprintf(stderr, "%s has no runtime '%s'\n", r.name.c_str(), argv[5]);
                return 2;
            }
        }
        for (int round = -1; round < rounds; ++round) { // the first one is not counted
            for (std::size_t turn = 0; turn < r.runtimes.size(); ++turn) {
                // Forwards and backwards: what one runtime leaves in the caches is not always for the same
                // one.
                const std::size_t i = round % 2 == 0 ? turn : r.runtimes.size() - 1 - turn;
                const auto& one = r.runtimes[i];
                double got = 0;
                const auto measure = [&] { return seconds_of(r, one, times, got); };
                const double took = one.name == "pilfer" ? pool.run(measure) : measure();
                if (!same(got, want)) {
                    std::fprintf(stderr, "%s by %s: %.17g, not %.17g\n", r.name.c_str(), one.name.c_str(),
                                 got, want);
                    return 1;
                }
                if (round >= 0) {
                    seconds[i].push_back(took);
                }
            }
        }
        std::printf("%s\n  {\"name\": \"%s\", \"elements\": %zu, \"seconds\": {", first_row ? "" : ",",
                    r.name.c_str(), r.elements);
        first_row = false;
        for (std::size_t i = 0; i < r.runtimes.size(); ++i) {
            std::printf("%s\"%s\": [", i == 0 ? "" : ", ", r.runtimes[i].name.c_str());
            for (std::size_t k = 0; k < seconds[i].size(); ++k) {
                std::printf("%s%.9f", k == 0 ? "" : ", ", seconds[i][k]);
            }
            std::printf("]");
        }
        std::printf("}}");
    }
    std::printf("]}\n");
}
