// bench-sort: one way to sort one input, timed and verified; one line of JSON for each repetition.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#ifdef BENCH_SORT_TBB
#include <execution>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_sort.h>
#endif

#include <CLI/CLI.hpp>

#include <pilfer/pilfer.hpp>
#include <pilfer/sort.hpp>

#include "common/work.hpp"

namespace {

struct setting {
    std::string way = "pilfer";
    std::string input = "uint32";
    unsigned workers = 1;
    std::size_t count = 1'000'000;
    std::size_t repeat = 1;
};

struct record {
    std::uint64_t key;
    std::uint64_t value;
};
/// Written as users do who know of no radix sort.
struct by_key {
    bool operator()(const record& a, const record& b) const { return a.key < b.key; }
};

double processor_seconds() {
    std::timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Sorts `values`; false if this build has not this way.
template <class T, class Less>
bool sort_by(const setting& s, std::vector<T>& values, Less less) {
    if (s.way == "std") {
        std::sort(values.begin(), values.end(), less);
    } else if (s.way == "std_stable") {
        std::ranges::stable_sort(values, less);
    } else if (s.way == "pilfer") {
        pilfer::sort(values, less);
    } else if (s.way == "pilfer_stable") {
        pilfer::stable_sort(values, less);
#ifdef BENCH_SORT_TBB
    } else if (s.way == "tbb") {
        tbb::parallel_sort(values.begin(), values.end(), less);
    } else if (s.way == "par") {
        std::sort(std::execution::par, values.begin(), values.end(), less);
    } else if (s.way == "par_stable") {
        std::stable_sort(std::execution::par, values.begin(), values.end(), less);
#endif
    } else {
        return false;
    }
    return true;
}

/// An order-free hash: nothing was lost or doubled.
template <class T>
std::uint64_t hash_of(const T& x) {
    if constexpr (std::is_same_v<T, record>) {
        return x.key * 0x9e3779b97f4a7c15U + x.value * 31;
    } else {
        return std::hash<T>()(x) * 0x9e3779b97f4a7c15U + 1;
    }
}
template <class T>
std::uint64_t hash_of(const std::vector<T>& values) {
    std::uint64_t sum = 0;
    for (const T& x : values) {
        sum += hash_of(x);
    }
    return sum;
}

/// Each repetition sorts a part of `input` of its own: a processor remembers the branches of a short one.
template <class T, class Less>
int repeat(const setting& s, const std::vector<T>& input, Less less) {
    const auto part = [&](std::size_t i, std::size_t size) {
        const auto begin = input.begin() + static_cast<std::ptrdiff_t>(i * s.count);
        return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(size));
    };
    std::vector<T> warm = part(0, s.count / 50);
    if (!sort_by(s, warm, less)) {
        std::fprintf(stderr, "bench-sort: this build has no way '%s'\n", s.way.c_str());
        return 2;
    }
    bool all_right = true;
    for (std::size_t i = 0; i < s.repeat; ++i) {
        std::vector<T> values = part(i, s.count);
        const std::uint64_t hash = hash_of(values);
        const double cpu = processor_seconds();
        const double took = bench::seconds([&] { sort_by(s, values, less); });
        const double used = processor_seconds() - cpu;
        const bool right = std::is_sorted(values.begin(), values.end(), less) && hash_of(values) == hash;
        all_right = all_right && right;
        std::printf("{\"seconds\": %.9f, \"cpu\": %.9f, \"ok\": %s}\n", took, used, right ? "true" : "false");
    }
    return all_right ? 0 : 1;
}

/// The thread that calls oneTBB is one of its workers. So that of pilfer is one, too.
template <class T, class Less>
int measure(const setting& s, const std::vector<T>& input, Less less) {
#ifdef BENCH_SORT_TBB
    const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, s.workers);
#endif
    if (!s.way.starts_with("pilfer")) {
        return repeat(s, input, less);
    }
    pilfer::pool pool({.workers = s.workers});
    return pool.run([&] { return repeat(s, input, less); });
}

/// A line of a text: some words that are frequent, then others.
std::string line(std::mt19937_64& random) {
    static constexpr std::array<const char*, 8> words{"the ", "of ",       "and ",   "a work ",
                                                      "in ",  "stealing ", "queue ", "is "};
    std::string result;
    for (int i = 0; i < 3; ++i) {
        result += words[random() % words.size()];
    }
    return result + std::to_string(random() % 10'000'000);
}

template <class T, class Make>
std::vector<T> filled(std::size_t n, Make make) {
    std::mt19937_64 random(42);
    std::vector<T> result(n);
    for (std::size_t i = 0; i < n; ++i) {
        result[i] = make(random, i);
    }
    return result;
}

int run(const setting& s) {
    const std::size_t n = s.count * s.repeat;
    const std::less<> less;
    if (s.input == "uint32") {
        return measure(
            s, filled<std::uint32_t>(n, [](auto& r, std::size_t) { return static_cast<std::uint32_t>(r()); }),
            less);
    }
    if (s.input == "uint64") {
        return measure(s, filled<std::uint64_t>(n, [](auto& r, std::size_t) { return r(); }), less);
    }
    if (s.input == "double") {
        return measure(
            s, filled<double>(n, [](auto& r, std::size_t) { return static_cast<double>(r()) - 9e18; }), less);
    }
    if (s.input == "sorted") {
        return measure(s, filled<std::uint64_t>(n, [](auto&, std::size_t i) { return i; }), less);
    }
    if (s.input == "reversed") {
        return measure(s, filled<std::uint64_t>(n, [n](auto&, std::size_t i) { return n - i; }), less);
    }
    if (s.input == "few") {
        return measure(s, filled<std::uint64_t>(n, [](auto& r, std::size_t) { return r() % 16; }), less);
    }
    if (s.input == "records") {
        return measure(s, filled<record>(n, [](auto& r, std::size_t i) { return record{r(), i}; }), by_key());
    }
    if (s.input == "strings") {
        return measure(s, filled<std::string>(n, [](auto& r, std::size_t) { return std::to_string(r()); }),
                       less);
    }
    const auto text = filled<std::string>(n, [](auto& r, std::size_t) { return line(r); });
    return measure(s, std::vector<std::string_view>(text.begin(), text.end()), less);
}

} // namespace

int main(int argc, char** argv) {
    setting s;
    CLI::App app{"Sorts and says how long it took"};
    app.add_option("--way", s.way, "std, std_stable, pilfer, pilfer_stable, tbb, par or par_stable");
    app.add_option("--input", s.input, "what is sorted")
        ->check(CLI::IsMember(
            {"uint32", "uint64", "double", "sorted", "reversed", "few", "records", "strings", "lines"}));
    app.add_option("--workers", s.workers, "threads at work")->check(CLI::Range(1, 4096));
    app.add_option("--count", s.count, "elements");
    app.add_option("--repeat", s.repeat, "repetitions");
    CLI11_PARSE(app, argc, argv);
    return run(s);
}
