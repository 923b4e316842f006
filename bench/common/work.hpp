// Work of a chosen length, its time, and how programs of their own report to pictures.py.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

/// Steps of a chain of multiplications: work that takes as long on each processor of a machine, however often
/// it is interrupted.
[[nodiscard]] inline std::uint64_t work(std::uint64_t x, std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        x ^= x >> 29;
    }
    return x;
}

/// The seconds that `f` takes.
template <class F>
[[nodiscard]] double seconds(const F& f) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The steps that take `ns` nanoseconds on this machine.
[[nodiscard]] inline std::uint64_t steps_for(double ns) {
    constexpr std::uint64_t some = 100'000;
    double best = 1;
    volatile std::uint64_t result = 1;
    for (int i = 0; i < 20; ++i) {
        best = std::min(best, seconds([&] { result = work(result, some); }));
    }
    return static_cast<std::uint64_t>(ns * 1e-9 / best * some);
}

[[nodiscard]] inline double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

/// The seconds of one way in every round.
struct timed {
    std::string way;
    std::vector<double> seconds;
};

/// One line: {"way": [seconds, ...], ...}.
inline void print_json(const std::vector<timed>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        std::printf("%s\"%s\": [", i == 0 ? "{" : "], ", all[i].way.c_str());
        for (std::size_t k = 0; k < all[i].seconds.size(); ++k) {
            std::printf("%s%.4g", k == 0 ? "" : ", ", all[i].seconds[k]);
        }
    }
    std::printf("]}\n");
}

} // namespace bench
