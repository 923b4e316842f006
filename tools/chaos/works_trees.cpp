// Fork-join: trees by every kind of fork, loops, deep nesting.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "works_parts.hpp"

namespace tools {
namespace {

/// The sums over the leaves of a range; the closed form is the oracle. A leaf that is missing or present
/// twice changes the count. A leaf that replaces another one changes one of the sums.
struct sums {
    std::uint64_t count = 0;
    std::uint64_t linear = 0;
    std::uint64_t square = 0;

    [[nodiscard]] static sums of_leaf(std::uint64_t i) noexcept { return {1, i, i * i}; }
    [[nodiscard]] static sums of_all(std::uint64_t n) noexcept {
        return {n, n * (n - 1) / 2, n * (n - 1) * (2 * n - 1) / 6}; // n is below 2^20: nothing overflows
    }
    [[nodiscard]] friend sums operator+(sums a, sums b) noexcept {
        return {a.count + b.count, a.linear + b.linear, a.square + b.square};
    }
    friend bool operator==(sums const&, sums const&) = default;
};

enum class forks { join, spawn, fork, mixed };

template <forks Kind>
sums tree(std::uint64_t first, std::uint64_t last) {
    std::uint64_t const n = last - first;
    if (n == 1) {
        return sums::of_leaf(first);
    }
    // An uneven middle: the halves end at different times, so that either may wait for the other.
    std::uint64_t const hash = tools::mixed(first * 31 + last);
    std::uint64_t const middle = first + 1 + (n > 64 ? n / 4 + hash % (n / 2) : hash % (n - 1));
    forks const kind =
        Kind != forks::mixed ? Kind : static_cast<forks>((hash >> 40) % 3); // the last one is mixed itself
    if (kind == forks::join) {
        auto [a, b] =
            pilfer::join([=] { return tree<Kind>(first, middle); }, [=] { return tree<Kind>(middle, last); });
        return a + b;
    }
    sums a;
    pilfer::scope s;
    if (kind == forks::spawn) {
        s.spawn([&a, first, middle] { a = tree<Kind>(first, middle); });
    } else {
        s.fork([&a, first, middle] { a = tree<Kind>(first, middle); });
    }
    sums const b = tree<Kind>(middle, last);
    s.sync();
    return a + b;
}

template <forks Kind>
std::uint64_t run_tree(bench& b) {
    // Without stacks tasks pile up on top of each other: smaller trees there.
    std::uint64_t const most = std::uint64_t{1} << b.random.between(4, b.many_stacks ? 15 : 11);
    std::uint64_t const n = b.random.between(1, std::max<std::uint64_t>(most / b.shrink, 2));
    sums const got = b.pool.run([n] { return tree<Kind>(0, n); });
    sums const wanted = sums::of_all(n);
    if (got != wanted) {
        throw wrong_result(fmt::format("a tree of {} leaves counted {}, {}, {} instead of {}, {}, {}", n,
                                       got.count, got.linear, got.square, wanted.count, wanted.linear,
                                       wanted.square));
    }
    return n - 1;
}

/// Many children of one scope, from the owner and from descendants.
std::uint64_t run_flat(bench& b) {
    std::uint64_t const n = b.random.between(1, 3000 / b.shrink);
    auto const all = std::make_unique<marks>(2 * n);
    bool const spawns = b.random.one_in(2);
    b.pool.run([&] {
        pilfer::scope s;
        for (std::uint64_t i = 0; i < n; ++i) {
            auto child = [&s, &all = *all, i, n] {
                all.set(i);
                s.fork([&all, i, n] { all.set(n + i); });
            };
            if (spawns) {
                s.spawn(child);
            } else {
                s.fork(child);
            }
            if (i % 256 == 255) {
                s.sync();
            }
        }
        s.sync();
    });
    all->check("children of one scope");
    return 2 * n;
}

std::uint64_t run_loops(bench& b) {
    std::uint64_t const n = b.random.between(1, 60'000);
    auto const all = std::make_unique<marks>(n);
    std::uint64_t const sum = b.pool.run([&] {
        pilfer::for_each(std::uint64_t{0}, n, [&](std::uint64_t i) { all->set(i); });
        return pilfer::reduce(
            std::uint64_t{0}, n, std::uint64_t{7}, [](std::uint64_t i) { return i * i; },
            [](std::uint64_t x, std::uint64_t y) { return x + y; });
    });
    all->check("bodies of a loop");
    if (sum != 7 + sums::of_all(n).square) {
        throw wrong_result(fmt::format("reduce over {} elements returned {}", n, sum));
    }
    return 2;
}

/// One stack per level; on the way back they are given up again.
std::uint64_t nest(std::uint64_t depth) {
    if (depth == 0) {
        return 1;
    }
    std::uint64_t below = 0;
    std::uint64_t beside = 0;
    {
        pilfer::scope s;
        s.spawn([&below, depth] { below = nest(depth - 1); });
        if (depth % 16 == 0) {
            s.spawn([&beside, depth] { beside = nest(depth % 64 / 4); });
        }
        s.sync();
    }
    return below + beside + 1;
}
std::uint64_t nested_by_itself(std::uint64_t depth) {
    std::uint64_t n = 1;
    for (std::uint64_t d = 1; d <= depth; ++d) {
        n += 1 + (d % 16 == 0 ? nested_by_itself(d % 64 / 4) : 0);
    }
    return n;
}

std::uint64_t run_nesting(bench& b) {
    std::uint64_t const depth = b.random.between(1, (b.many_stacks ? 500 : 60) / b.shrink);
    std::uint64_t const got = b.pool.run([depth] { return nest(depth); });
    if (got != nested_by_itself(depth)) {
        throw wrong_result(fmt::format("spawns {} levels deep counted {} frames, not {}", depth, got,
                                       nested_by_itself(depth)));
    }
    return got;
}

} // namespace

std::uint64_t work_join(bench& b) { return run_tree<forks::join>(b); }
std::uint64_t work_spawn(bench& b) { return run_tree<forks::spawn>(b); }
std::uint64_t work_fork(bench& b) { return run_tree<forks::fork>(b); }
std::uint64_t work_mixed(bench& b) { return run_tree<forks::mixed>(b); }
std::uint64_t work_flat(bench& b) { return run_flat(b); }
std::uint64_t work_loops(bench& b) { return run_loops(b); }
std::uint64_t work_nesting(bench& b) { return run_nesting(b); }

} // namespace tools
