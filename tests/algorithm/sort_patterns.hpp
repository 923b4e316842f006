// Inputs of the sorts' tests: the patterns on which sorts of the past were slow or wrong.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace sort_patterns {

enum class pattern { random, sorted, reversed, few, equal, pipe, saw, killer, nearly, small };
inline constexpr pattern all[] = {pattern::random, pattern::sorted, pattern::reversed, pattern::few,
                                  pattern::equal,  pattern::pipe,   pattern::saw,      pattern::killer,
                                  pattern::nearly, pattern::small};

/// n numbers. `killer`: the sequence of Musser that drives a median-of-3 quicksort to quadratic time.
inline std::vector<std::uint64_t> numbers(pattern p, std::size_t n, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> result(n);
    for (std::size_t i = 0; i < n; ++i) {
        std::uint64_t x = random();
        switch (p) {
        case pattern::random:
            break;
        case pattern::sorted:
        case pattern::nearly:
            x = i;
            break;
        case pattern::reversed:
            x = n - i;
            break;
        case pattern::few:
            x %= 5;
            break;
        case pattern::equal:
            x = 7;
            break;
        case pattern::pipe:
            x = std::min(i, n - i);
            break;
        case pattern::saw:
            x = i % 97;
            break;
        case pattern::killer: {
            const std::size_t k = n / 2;
            x = i >= k ? 2 * (i - k + 1) : i % 2 == 0 ? i + 1 : k + i;
            break;
        }
        case pattern::small:
            x %= 1000;
            break;
        }
        result[i] = x;
    }
    if (p == pattern::nearly && n > 0) {
        for (std::size_t i = 0; i < n / 50 + 1; ++i) {
            std::swap(result[random() % n], result[random() % n]);
        }
    }
    return result;
}

/// The result of std::ranges::stable_sort, by std::ranges::sort of the places: clang++ warns of libstdc++'s
/// own.
template <class T, class Comp = std::ranges::less, class Proj = std::identity>
std::vector<T> stably_sorted(const std::vector<T>& input, Comp comp = {}, Proj proj = {}) {
    std::vector<std::size_t> places(input.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    auto less = [&](std::size_t a, std::size_t b) {
        return std::invoke(comp, std::invoke(proj, input[a]), std::invoke(proj, input[b]));
    };
    std::ranges::sort(places,
                      [&](std::size_t a, std::size_t b) { return less(a, b) || (!less(b, a) && a < b); });
    std::vector<T> result;
    for (const std::size_t place : places) {
        result.push_back(input[place]);
    }
    return result;
}

/// A text for a number: with a long common beginning, short, or empty.
inline std::string text(std::uint64_t x) {
    switch (x % 5) {
    case 0:
        return std::string();
    case 1:
        return std::to_string(x);
    case 2:
        return "a common beginning of many " + std::to_string(x);
    default:
        return std::string(x % 11, static_cast<char>('a' + x % 3)) + std::string(x % 2, '\0') +
               std::to_string(x % 1000) + static_cast<char>(static_cast<unsigned char>(x >> 9));
    }
}

} // namespace sort_patterns
