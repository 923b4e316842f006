// Tasks of the tests of clusters.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <pilfer/cluster.hpp>
#include <pilfer/yield.hpp>

#include "bench/common/uts.hpp"

namespace tasks {

using pilfer::cluster::archive;

struct fib {
    int n;
    long operator()() const {
        if (n < 2) {
            return n;
        }
        auto [a, b] = pilfer::cluster::join(fib{n - 1}, fib{n - 2});
        return a + b;
    }
};
PILFER_CLUSTER_TASK(fib);

/// Nodes of an unbalanced tree; leaves are not descriptions of their own below `alone` nodes.
template <const bench::uts::tree& Tree>
struct uts {
    bench::uts::node n;
    std::uint64_t operator()() const {
        const auto children = std::views::iota(0u, bench::uts::children_of(n, Tree));
        return 1 +
               pilfer::cluster::sum(children, [this](unsigned i) { return uts{bench::uts::child_of(n, i)}; });
    }
};
using uts_t1 = uts<bench::uts::t1>;
using uts_t3 = uts<bench::uts::t3>;
inline constexpr bench::uts::tree small_tree{bench::uts::tree::shape::geometric, 4, 6, 0, 0, 19, 0};
using uts_small = uts<small_tree>;
PILFER_CLUSTER_TASK(uts_t1);
PILFER_CLUSTER_TASK(uts_t3);
PILFER_CLUSTER_TASK(uts_small);

inline std::uint64_t count_serially(const bench::uts::node& n, const bench::uts::tree& t) {
    std::uint64_t sum = 1;
    for (unsigned i = 0; i < bench::uts::children_of(n, t); ++i) {
        sum += count_serially(bench::uts::child_of(n, i), t);
    }
    return sum;
}

struct queens {
    int n, row;
    std::uint32_t columns, left, right;

    [[nodiscard]] bool is_free(int c) const { return ((columns >> c | left >> c | right >> c) & 1) == 0; }
    [[nodiscard]] queens place(int c) const {
        const std::uint32_t bit = 1u << c;
        return {n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1};
    }
    long operator()() const {
        if (row == n) {
            return 1;
        }
        std::vector<int> free;
        for (int c = 0; c < n; ++c) {
            if (is_free(c)) {
                free.push_back(c);
            }
        }
        if (row >= 4) {
            long sum = 0;
            for (const int c : free) {
                sum += place(c)();
            }
            return sum;
        }
        return pilfer::cluster::sum(free, [this](int c) { return place(c); });
    }
};
PILFER_CLUSTER_TASK(queens);

/// Sorts by merging. The description is the data.
struct merge_sort {
    std::vector<int> values;
    std::vector<int> operator()() const {
        if (values.size() <= 1000) {
            auto sorted = values;
            std::sort(sorted.begin(), sorted.end());
            return sorted;
        }
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        auto [a, b] =
            pilfer::cluster::join(merge_sort{{values.begin(), middle}}, merge_sort{{middle, values.end()}});
        std::vector<int> sorted(values.size());
        std::merge(a.begin(), a.end(), b.begin(), b.end(), sorted.begin());
        return sorted;
    }
};
inline void serialize(archive& a, merge_sort& m) { a(m.values); }
PILFER_CLUSTER_TASK(merge_sort);

inline std::vector<int> numbers(std::size_t n) {
    std::vector<int> values(n);
    std::uint32_t x = 12345;
    for (int& v : values) {
        x = x * 1664525 + 1013904223;
        v = static_cast<int>(x >> 4);
    }
    return values;
}

/// Two branches of different types, one of them without a result.
struct greeting {
    std::string name;
    std::string operator()() const { return "hello " + name; }
};
inline void serialize(archive& a, greeting& g) { a(g.name); }
PILFER_CLUSTER_TASK(greeting);
struct nothing {
    void operator()() const {}
};
PILFER_CLUSTER_TASK(nothing);
struct mixed {
    int depth;
    std::string operator()() const {
        if (depth == 0) {
            auto [text, none] = pilfer::cluster::join(greeting{"you"}, nothing{});
            (void)none;
            return text;
        }
        auto [a, b] = pilfer::cluster::join(mixed{depth - 1}, greeting{std::to_string(depth)});
        return a + "," + b;
    }
};
PILFER_CLUSTER_TASK(mixed);

/// Throws at one leaf of a binary tree. Other ranks get some, if each leaf takes a moment.
struct thrower {
    int depth;
    unsigned place; // of this node in its level
    unsigned bad;   // the leaf that throws; beyond all: none
    bool odd;       // what it throws is no std::exception
    int pause_us = 0;
    long operator()() const {
        if (depth == 0) {
            if (pause_us != 0) {
                std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
            }
            if (place != bad) {
                return 1;
            }
            if (odd) {
                throw 42;
            }
            throw std::out_of_range("leaf " + std::to_string(place));
        }
        auto [a, b] = pilfer::cluster::join(thrower{depth - 1, 2 * place, bad, odd, pause_us},
                                            thrower{depth - 1, 2 * place + 1, bad, odd, pause_us});
        return a + b;
    }
};
PILFER_CLUSTER_TASK(thrower);

/// Catches the error of a branch, and goes on.
struct catcher {
    int depth;
    long operator()() const {
        if (depth == 0) {
            try {
                return thrower{6, 0, 13, false}();
            } catch (const pilfer::cluster::remote_error& e) {
                return std::string(e.what()) == "leaf 13" ? 1 : 1'000'000;
            }
        }
        auto [a, b] = pilfer::cluster::join(catcher{depth - 1}, catcher{depth - 1});
        return a + b;
    }
};
PILFER_CLUSTER_TASK(catcher);

/// Offers numbers in an order that no rank knows. The smallest one is 17, the largest one 16,000 + 17.
inline pilfer::cluster::bound<int> smallest(1'000'000);
inline pilfer::cluster::bound<double, std::greater<>> largest(0);
/// Compares the upper half alone. The lower half says who has the value.
struct by_cost {
    bool operator()(std::uint64_t a, std::uint64_t b) const { return a >> 32 < b >> 32; }
};
inline pilfer::cluster::bound<std::uint64_t, by_cost> cheapest(std::uint64_t{1000} << 32);
struct offering {
    int depth;
    int place; // of this node in its level
    int operator()() const {
        if (depth == 0) {
            const int value = 17 + 1000 * (place * 5 % 17);
            std::this_thread::sleep_for(std::chrono::microseconds(500));
            (void)smallest.improve(value);
            (void)largest.improve(value);
            (void)cheapest.improve(std::uint64_t{7} << 32 | static_cast<std::uint64_t>(place));
            return 1;
        }
        auto [a, b] =
            pilfer::cluster::join(offering{depth - 1, 2 * place}, offering{depth - 1, 2 * place + 1});
        return a + b;
    }
};
PILFER_CLUSTER_TASK(offering);
/// Its description, which is that of rank 0.
struct echo {
    std::uint64_t value;
    std::uint64_t operator()() const { return value; }
};
PILFER_CLUSTER_TASK(echo);
/// Waits until another rank's offer is here. The first branch keeps this rank's only worker.
struct waiting {
    double operator()() const {
        while (largest.get() < 4711) {
            std::this_thread::yield();
        }
        return largest.get();
    }
};
PILFER_CLUSTER_TASK(waiting);
struct offer_elsewhere {
    int operator()() const { return largest.improve(4711) ? 1 : 0; }
};
PILFER_CLUSTER_TASK(offer_elsewhere);
struct heard_elsewhere {
    double operator()() const {
        auto [heard, offered] = pilfer::cluster::join(waiting{}, offer_elsewhere{});
        return heard * offered;
    }
};
PILFER_CLUSTER_TASK(heard_elsewhere);

/// A tree of leaves that end only if they are cancelled. Each says that it has begun, and lets other tasks of
/// its worker run: one of them may be on its way to the branch that has to be cancelled.
struct endless_leaves {
    int depth;
    int operator()() const {
        if (depth == 0) {
            (void)largest.improve(4711);
            while (!pilfer::cancelled()) {
                pilfer::yield();
            }
            return 1;
        }
        auto [a, b] = pilfer::cluster::join(endless_leaves{depth - 1}, endless_leaves{depth - 1});
        return a + b;
    }
};
PILFER_CLUSTER_TASK(endless_leaves);
/// Fails once a leaf has begun elsewhere. Keeps this rank's only worker until then.
struct failing {
    int operator()() const {
        (void)waiting{}();
        throw std::runtime_error("the first branch fails");
    }
};
PILFER_CLUSTER_TASK(failing);
struct fails_beside_endless {
    int depth;
    int operator()() const {
        auto [a, b] = pilfer::cluster::join(failing{}, endless_leaves{depth});
        return a + b;
    }
};
PILFER_CLUSTER_TASK(fails_beside_endless);

/// A sum of floating-point numbers whose grouping shows.
struct fraction {
    int denominator;
    double operator()() const { return 1.0 / denominator; }
};
PILFER_CLUSTER_TASK(fraction);
struct harmonic {
    int n;
    double operator()() const {
        return pilfer::cluster::sum(std::views::iota(1, n + 1), [](int i) { return fraction{i}; });
    }
};
PILFER_CLUSTER_TASK(harmonic);

} // namespace tasks
