// Exceptions: the first one arrives with its type and value, the others are counted, nothing leaks.
#include <fmt/format.h>

#include "works_parts.hpp"

namespace tools {
namespace {

struct thrown {
    std::uint64_t who;
};

/// Counts how many of it are alive.
class witness {
public:
    explicit witness(std::atomic<std::int64_t>& alive) noexcept : m_alive(&alive) { add(1); }
    witness(witness const& other) noexcept : m_alive(other.m_alive) { add(1); }
    witness& operator=(witness const&) = delete;
    ~witness() { add(-1); }

private:
    void add(std::int64_t n) const noexcept { m_alive->fetch_add(n, std::memory_order_relaxed); }
    std::atomic<std::int64_t>* m_alive;
};

struct throwing_tree {
    std::uint64_t guilty; // the leaf that throws; beyond the last: none
    std::atomic<std::int64_t> alive{0};
    std::atomic<std::uint64_t> ran{0};

    std::uint64_t run(std::uint64_t first, std::uint64_t last) {
        witness const here(alive);
        if (last - first == 1) {
            ran.fetch_add(1, std::memory_order_relaxed);
            if (first == guilty) {
                throw thrown{first};
            }
            return 1;
        }
        std::uint64_t const middle = first + (last - first + 1) / 2;
        witness const carried(alive);
        auto [a, b] = pilfer::join([this, first, middle, carried] { return run(first, middle); },
                                   [this, middle, last, carried] { return run(middle, last); });
        return a + b;
    }
};

} // namespace

std::uint64_t work_join_throws(bench& b) {
    std::uint64_t const n = b.random.between(1, 2000);
    throwing_tree tree{b.random.below(n + n / 8 + 1)};
    std::uint64_t got = 0;
    std::uint64_t who = UINT64_MAX;
    try {
        got = b.pool.run([&] { return tree.run(0, n); });
    } catch (thrown const& t) {
        who = t.who;
    }
    bool const throws = tree.guilty < n;
    if (throws ? who != tree.guilty : got != n) {
        throw wrong_result(
            fmt::format("a join of {} leaves, with a throwing leaf {}, returned {} or threw {}", n,
                        tree.guilty, got, who));
    }
    if (tree.alive.load() != 0 || tree.ran.load() > n) {
        throw wrong_result(fmt::format("a join that throws: {} objects are left, {} of {} leaves ran",
                                       tree.alive.load(), tree.ran.load(), n));
    }
    return tree.ran.load();
}

std::uint64_t work_scope_throws(bench& b) {
    std::uint64_t const n = b.random.between(1, 1000);
    std::uint64_t const every = b.random.pick<std::uint64_t>({1, 1, 2, 10});
    bool const spawns = b.random.one_in(2);
    std::atomic<std::int64_t> alive{0};
    std::atomic<std::uint64_t> ran{0};
    std::atomic<std::uint64_t> threw{0};
    std::uint64_t said = 0;
    b.pool.run([&] {
        pilfer::scope s;
        witness const carried(alive);
        for (std::uint64_t i = 0; i < n; ++i) {
            auto child = [&ran, &threw, i, every, carried] {
                ran.fetch_add(1, std::memory_order_relaxed);
                if (i % every == 0) {
                    threw.fetch_add(1, std::memory_order_relaxed);
                    throw thrown{i};
                }
            };
            if (spawns) {
                s.spawn(child);
            } else {
                s.fork(child);
            }
        }
        try {
            s.sync();
        } catch (thrown const& t) {
            said = 1 + s.suppressed();
            if (t.who % every != 0 || t.who >= n) {
                throw wrong_result(fmt::format("a scope rethrew {}, which no child threw", t.who));
            }
        }
    });
    if (said != threw.load() || said == 0 || ran.load() > n || alive.load() != 0) {
        throw wrong_result(fmt::format(
            "a scope of {} children: {} ran, {} threw, {} exceptions were reported, {} objects are left", n,
            ran.load(), threw.load(), said, alive.load()));
    }
    return ran.load();
}

} // namespace tools
