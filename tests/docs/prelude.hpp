// Declarations that the guides' pieces of code assume.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include <pilfer/algorithm.hpp>
#include <pilfer/pilfer.hpp>

namespace guide {

struct node {
    const node* left = nullptr;
    const node* right = nullptr;
    int value = 0;
};
struct board {
    std::uint64_t bits = 0;
};
inline bool fits(board b, int row, int column) { return (b.bits >> (8 * row + column) & 1) == 0; }
inline board with(board b, int row, int column) { return {b.bits | std::uint64_t{1} << (8 * row + column)}; }

inline std::atomic<long> touched{0};
template <class T>
void touch(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
        touched += static_cast<long>(value);
    } else {
        (void)value;
        ++touched;
    }
}
inline double value(int i) { return i; }
inline void begin_thread() {}
inline void end_thread() {}

inline constexpr auto body = [](int i) { touch(i); };
inline constexpr auto f = [] {
    touch(1);
    return 1;
};
inline constexpr auto g = [] {
    touch(2);
    return 2;
};
inline constexpr auto h = [] { touch(3); };
inline constexpr int n = 100;
inline std::vector<double> v(100, 1.0);

} // namespace guide
