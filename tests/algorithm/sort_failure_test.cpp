// Sorts keep every element once: after exceptions, cancellations and comparisons that are no order.
// Optimised lightly, also with AddressSanitizer: without inlining its runs take ten times as long.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pilfer/sort.hpp>

#include "algorithm/sort_patterns.hpp"
#include "support/harness.hpp"

namespace {

using sort_patterns::numbers;
using sort_patterns::pattern;

class sort_failure : public support::over_workers {};

struct broken {};

/// Throws at the k-th call, counted over all workers.
struct fuse {
    std::atomic<std::int64_t> left{-1};
    void burn() {
        if (left.load(std::memory_order_relaxed) >= 0 && left.fetch_sub(1, std::memory_order_relaxed) == 0) {
            throw broken();
        }
    }
};
fuse the_fuse;

/// Owns memory, so that AddressSanitizer sees an element that was lost, doubled or used after its end.
class owner {
public:
    explicit owner(std::uint64_t value) : m_value(new std::uint64_t(value)) {}
    owner(owner&& other) noexcept : m_value(std::exchange(other.m_value, nullptr)) {}
    owner& operator=(owner&& other) noexcept {
        delete std::exchange(m_value, std::exchange(other.m_value, nullptr));
        return *this;
    }
    ~owner() { delete m_value; }
    [[nodiscard]] std::uint64_t value() const { return *m_value; }

private:
    std::uint64_t* m_value;
};
/// As owner, but its moves throw when the fuse says so. A move that throws changes nothing.
class fragile {
public:
    explicit fragile(std::uint64_t value) : m_value(value) { ++alive; }
    fragile(fragile&& other) : m_value(other.m_value) {
        the_fuse.burn();
        ++alive;
    }
    fragile& operator=(fragile&& other) {
        the_fuse.burn();
        m_value = other.m_value;
        return *this;
    }
    ~fragile() { --alive; }
    [[nodiscard]] std::uint64_t value() const { return m_value; }
    static inline std::atomic<std::int64_t> alive{0};

private:
    std::uint64_t m_value;
};

template <class T>
std::vector<T> made_of(const std::vector<std::uint64_t>& values) {
    std::vector<T> result;
    result.reserve(values.size());
    for (const std::uint64_t x : values) {
        result.emplace_back(x);
    }
    return result;
}

/// Throws by the fuse, then compares.
template <class T>
bool burning(const T& a, const T& b) {
    the_fuse.burn();
    return a.value() < b.value();
}

template <class T>
std::vector<std::uint64_t> sorted_values(const std::vector<T>& elements) {
    std::vector<std::uint64_t> result;
    for (const T& x : elements) {
        result.push_back(x.value());
    }
    std::ranges::sort(result);
    return result;
}

/// Calls act(elements) with a fuse of every length up to its last call, in steps that grow. The elements
/// after a failure are those before it.
template <class T, class Act>
void throw_at_every_call(std::size_t n, bool keeps_all, Act act) {
    const auto values = numbers(pattern::random, n, n);
    auto expected = values;
    std::ranges::sort(expected);
    const auto dense = static_cast<std::int64_t>(n <= 300 ? support::hundredth_of(10'000, 20) : 4);
    bool threw = true;
    for (std::int64_t k = 0; threw; k += k < dense ? 1 : 1 + k / 4) {
        std::vector<T> elements = made_of<T>(values);
        the_fuse.left = k;
        threw = false;
        try {
            act(elements);
        } catch (const broken&) {
            threw = true;
        }
        the_fuse.left = -1;
        ASSERT_EQ(elements.size(), n);
        if (keeps_all || !threw) {
            ASSERT_EQ(sorted_values(elements), expected) << "call " << k;
        }
        if (!threw) {
            act(elements); // without a fuse: the order is right
        }
    }
}

template <class T>
void every_algorithm(std::size_t n, bool keeps_all) {
    auto less = [](const T& a, const T& b) { return burning(a, b); };
    throw_at_every_call<T>(n, keeps_all, [&](std::vector<T>& v) { pilfer::sort(v, less); });
    throw_at_every_call<T>(n, keeps_all, [&](std::vector<T>& v) { pilfer::stable_sort(v, less); });
    throw_at_every_call<T>(n, keeps_all, [&](std::vector<T>& v) {
        pilfer::nth_element(v, v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), less);
    });
    throw_at_every_call<T>(n, keeps_all, [&](std::vector<T>& v) {
        pilfer::partial_sort(v, v.begin() + static_cast<std::ptrdiff_t>(v.size() / 3), less);
    });
    throw_at_every_call<T>(n, keeps_all, [&](std::vector<T>& v) {
        pilfer::integer_sort(v, [](const T& x) {
            the_fuse.burn();
            return x.value();
        });
    });
    throw_at_every_call<T>(n, keeps_all, [&](std::vector<T>& v) { (void)pilfer::is_sorted(v, less); });
}

/// Trivially copyable: the way by digits, and the merges without branches.
struct plain {
    std::uint64_t number;
    explicit plain(std::uint64_t x = 0) : number(x) {}
    [[nodiscard]] std::uint64_t value() const { return number; }
};

TEST_P(sort_failure, comparison_throws_at_every_call) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const std::size_t n : {20U, 200U, 20'000U}) {
            every_algorithm<owner>(n, true);
            every_algorithm<plain>(n, true);
        }
    });
}

TEST_P(sort_failure, move_throws_at_every_call) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const std::size_t n : {20U, 200U, 20'000U}) {
            every_algorithm<fragile>(n, false);
        }
    });
    EXPECT_EQ(fragile::alive, 0);
}

TEST_P(sort_failure, comparison_of_fragile_elements_loses_none) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        std::vector<fragile> elements = made_of<fragile>(numbers(pattern::random, 20'000, 1));
        const auto expected = sorted_values(elements);
        std::atomic<int> calls{0};
        EXPECT_THROW(pilfer::stable_sort(elements,
                                         [&](const fragile& a, const fragile& b) {
                                             if (++calls == 100'000) {
                                                 throw broken();
                                             }
                                             return a.value() < b.value();
                                         }),
                     broken);
        EXPECT_EQ(sorted_values(elements), expected);
    });
}

TEST_P(sort_failure, cancelled_at_random) {
    pilfer::pool pool(with_workers());
    std::mt19937_64 random(5);
    const auto values = numbers(pattern::random, 30'000, 6);
    auto expected = values;
    std::ranges::sort(expected);
    for (std::uint64_t turn = 0; turn < support::hundredth_of(3'000, 20); ++turn) {
        const auto at = static_cast<std::int64_t>(random() % 400'000);
        pool.run([&] {
            std::vector<owner> elements = made_of<owner>(values);
            std::vector<plain> others = made_of<plain>(values);
            pilfer::scope s;
            std::atomic<std::int64_t> calls{0};
            auto stops = [&](auto& a, auto& b) {
                if (++calls == at) {
                    s.cancel();
                }
                return a.value() < b.value();
            };
            s.spawn([&] {
                if (turn % 3 == 0) {
                    pilfer::sort(elements, stops);
                } else {
                    pilfer::stable_sort(elements, stops);
                }
            });
            s.spawn([&] {
                pilfer::integer_sort(others, [&](const plain& x) {
                    if (++calls == at) {
                        s.cancel();
                    }
                    return x.value();
                });
            });
            s.sync();
            EXPECT_EQ(sorted_values(elements), expected);
            EXPECT_EQ(sorted_values(others), expected);
        });
    }
}

/// A sort of 32 MiB gives the pages of its memory back by a loop over parts, which a cancellation stops.
TEST(finished_sort, cancelled_at_its_last_comparison_returns) {
    struct large {
        std::uint64_t value;
        std::uint64_t unused[127];
    };
    pilfer::pool pool({.workers = 1});
    const std::size_t n = 32'768;
    const auto values = numbers(pattern::random, n, n);
    std::uint64_t last = 0;
    for (int turn = 0; turn < 2; ++turn) {
        std::vector<large> elements(n);
        for (std::size_t i = 0; i < n; ++i) {
            elements[i].value = values[i];
        }
        bool returned = false;
        pool.run([&] {
            pilfer::scope s;
            s.spawn([&] {
                std::uint64_t calls = 0;
                pilfer::sort(elements, [&](const large& a, const large& b) {
                    if (++calls == last) {
                        s.cancel();
                    }
                    return a.value < b.value;
                });
                returned = true;
                EXPECT_EQ(pilfer::cancelled(), turn == 1);
                last = calls;
            });
            s.sync();
        });
        EXPECT_TRUE(returned);
        EXPECT_TRUE(std::ranges::is_sorted(elements, {}, &large::value));
    }
}

/// Comparisons that are no strict weak order.
enum class nonsense { chance, always, never, circle };
struct no_order {
    nonsense kind;
    static inline std::atomic<std::uint64_t> state{1};
    template <class T>
    bool operator()(const T& a, const T& b) const {
        switch (kind) {
        case nonsense::chance:
            return (state.fetch_add(0x9e3779b97f4a7c15U, std::memory_order_relaxed) >> 40) % 2 == 0;
        case nonsense::always:
            return true;
        case nonsense::never:
            return false;
        default:
            return (a.value() - b.value()) % 3 == 1;
        }
    }
};

/// Sorts between two elements that no sort may touch. All elements are there afterwards.
template <class T>
void stays_within(const std::vector<std::uint64_t>& values, no_order comp) {
    auto expected = values;
    std::ranges::sort(expected);
    for (int algorithm = 0; algorithm < 3; ++algorithm) {
        std::vector<T> elements = made_of<T>(values);
        elements.emplace(elements.begin(), 42U);
        elements.emplace_back(43U);
        const auto first = elements.begin() + 1;
        const auto last = elements.end() - 1;
        if (algorithm == 0) {
            pilfer::sort(first, last, comp);
        } else if (algorithm == 1) {
            pilfer::stable_sort(first, last, comp);
        } else {
            pilfer::nth_element(first, first + (last - first) / 2, last, comp);
        }
        ASSERT_EQ(elements.front().value(), 42U);
        ASSERT_EQ(elements.back().value(), 43U);
        elements.erase(elements.begin());
        elements.pop_back();
        ASSERT_EQ(sorted_values(elements), expected);
    }
}

TEST_P(sort_failure, comparison_that_is_no_order_stays_within_the_range) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const std::size_t n : {5U, 31U, 300U, 5'000U, 40'000U}) {
            const auto values = numbers(pattern::random, n, n);
            for (const nonsense kind :
                 {nonsense::chance, nonsense::always, nonsense::never, nonsense::circle}) {
                stays_within<owner>(values, {kind});
                stays_within<plain>(values, {kind});
                stays_within<fragile>(values, {kind});
            }
        }
    });
}

TEST_P(sort_failure, comparisons_stay_few_on_every_pattern) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        const std::size_t n = 50'000;
        for (const pattern p : sort_patterns::all) {
            const auto values = numbers(p, n, 8);
            std::atomic<std::uint64_t> calls{0};
            auto counting = [&](const auto& a, const auto& b) {
                calls.fetch_add(1, std::memory_order_relaxed);
                return a.value() < b.value();
            };
            auto merged = made_of<owner>(values);
            pilfer::sort(merged, counting);
            EXPECT_LT(calls.exchange(0), n * 20) << static_cast<int>(p);
            auto in_place = made_of<fragile>(values);
            pilfer::sort(in_place, counting);
            EXPECT_LT(calls.exchange(0), n * 60) << static_cast<int>(p);
            auto selected = made_of<owner>(values);
            pilfer::nth_element(selected, selected.begin() + n / 2, counting);
            EXPECT_LT(calls.exchange(0), n * 12) << static_cast<int>(p);
        }
    });
}

PILFER_OVER_WORKERS(sort_failure);

} // namespace
