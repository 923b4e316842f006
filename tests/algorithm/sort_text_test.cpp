// Sorts by strings, whose characters are read a few at a time, give what comparing whole strings gives.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pilfer/sort.hpp>

#include "algorithm/sort_patterns.hpp"
#include "support/harness.hpp"

namespace {

using sort_patterns::stably_sorted;

class sort_text : public support::over_workers {};

/// An element with a string as its key, and the place from which it came.
struct entry {
    std::string key;
    std::size_t number = 0;
    friend bool operator==(const entry&, const entry&) = default;
};

/// Makes strings in which few characters differ, at places and lengths where pieces of a string meet.
class texts {
public:
    explicit texts(std::uint64_t seed) : m_random(seed) {}
    /// Of at most `longest` characters, the same ones up to about `common`. `letters`: how many different
    /// ones.
    std::string operator()(std::size_t longest, std::size_t common, unsigned letters) {
        static constexpr char alphabet[] = {'\0', '\xff', 'a', '\x80', '\x7f', 'b'};
        std::string s(m_random() % (longest + 1), 'c');
        for (std::size_t i = std::min(s.size(), common - common / 8 * (m_random() % 2)); i < s.size(); ++i) {
            s[i] = alphabet[m_random() % letters];
        }
        return s;
    }

private:
    std::mt19937_64 m_random;
};

std::vector<entry> entries(std::size_t n, texts& make, std::size_t longest, std::size_t common,
                           unsigned letters) {
    std::vector<entry> all(n);
    for (std::size_t i = 0; i < n; ++i) {
        all[i] = {make(longest, common, letters), i};
    }
    return all;
}

/// Sorts by the string in every way.
template <class Comp>
void check(const std::vector<entry>& input, Comp comp) {
    const auto expected = stably_sorted(input, comp, &entry::key);
    auto got = input;
    pilfer::stable_sort(got, comp, &entry::key);
    ASSERT_TRUE(got == expected);
    got = input;
    pilfer::sort(got, comp, &entry::key);
    ASSERT_TRUE(got == expected); // not promised, but there is one way for both

    std::vector<std::string> strings;
    std::vector<std::string> expected_strings;
    for (std::size_t i = 0; i < input.size(); ++i) {
        strings.push_back(input[i].key);
        expected_strings.push_back(expected[i].key);
    }
    std::vector<std::string_view> views(strings.begin(), strings.end());
    pilfer::stable_sort(views, comp);
    ASSERT_TRUE(std::ranges::equal(views, expected_strings));
    pilfer::sort(strings, comp);
    ASSERT_TRUE(strings == expected_strings);
}

TEST_P(sort_text, equals_std_on_random_strings) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        texts make(7);
        for (std::size_t turn = 0; turn < support::hundredth_of(10'000, 60); ++turn) {
            const std::size_t n = turn % 301;
            const std::size_t longest = 1 + turn % 40;
            const auto input = entries(n, make, longest, turn % 7 == 0 ? longest : turn % 9,
                                       2 + static_cast<unsigned>(turn % 5));
            check(input, std::ranges::less());
            check(input, std::ranges::greater());
        }
    });
}

TEST_P(sort_text, equals_std_at_every_length_of_a_common_beginning) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        texts make(11);
        for (std::size_t common = 0; common < 150; common += 3) {
            const auto input = entries(200, make, common + 12, common, 3);
            check(input, std::less<>());
            check(input, std::greater<>());
        }
    });
}

TEST_P(sort_text, equals_std_on_many_strings) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        texts make(13);
        for (const std::size_t longest : {3U, 9U, 30U}) {
            for (const unsigned letters : {1U, 2U, 6U}) {
                const auto input =
                    entries(support::sanitized ? 6000 : 15'000, make, longest, longest / 3, letters);
                check(input, std::ranges::less());
                check(input, std::ranges::greater());
            }
        }
    });
}

TEST_P(sort_text, equal_strings_keep_their_order) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const std::size_t length : {0U, 6U, 7U, 8U, 14U, 300U}) {
            std::vector<entry> all(support::sanitized ? 6000 : 20'000);
            for (std::size_t i = 0; i < all.size(); ++i) {
                all[i] = {std::string(length, 'x') + (i % 3 == 0 ? "a" : "b"), i};
            }
            check(all, std::ranges::less());
        }
    });
}

TEST_P(sort_text, takes_other_iterators_and_projections) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        texts make(17);
        std::vector<std::string> strings(500);
        for (std::string& s : strings) {
            s = make(20, 4, 4);
        }
        const auto expected = stably_sorted(strings);
        auto backwards = strings;
        pilfer::sort(backwards.rbegin(), backwards.rend());
        std::ranges::reverse(backwards);
        EXPECT_TRUE(backwards == expected);
        // Of a deque, and by a function, whose result is a string of its own.
        std::deque<std::string> deque(strings.begin(), strings.end());
        pilfer::stable_sort(deque);
        EXPECT_TRUE(std::ranges::equal(deque, expected));
        auto by_copies = strings;
        pilfer::stable_sort(by_copies, {}, [](const std::string& s) { return s; });
        EXPECT_TRUE(by_copies == expected);
    });
}

TEST_P(sort_text, equals_std_on_many_strings_with_one_beginning) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        texts make(23);
        std::vector<std::string> strings(support::sanitized ? 100'000 : 400'000);
        for (std::string& s : strings) {
            s = "https://" + make(6, 0, 6);
        }
        auto expected = strings;
        std::ranges::sort(expected);
        pilfer::sort(strings);
        EXPECT_TRUE(strings == expected);
    });
}

/// Cancels a scope at one of its moves.
class counted_entry {
public:
    struct fuse {
        std::atomic<int> moves{0};
        int at = 0;
        pilfer::scope* of = nullptr;
    };
    counted_entry(std::string k, fuse& f) : key(std::move(k)), m_fuse(&f) {}
    counted_entry(counted_entry&& other) noexcept : key(std::move(other.key)), m_fuse(other.m_fuse) {
        if (++m_fuse->moves == m_fuse->at) {
            m_fuse->of->cancel();
        }
    }
    counted_entry& operator=(counted_entry&& other) noexcept {
        key = std::move(other.key);
        return *this;
    }
    ~counted_entry() = default;
    std::string key;

private:
    fuse* m_fuse;
};

TEST_P(sort_text, a_sort_that_is_cancelled_while_elements_move_ends) {
    pilfer::pool pool(with_workers());
    constexpr int n = support::sanitized ? 12'000 : 30'000;
    texts make(19);
    std::vector<std::string> strings(n);
    for (std::string& s : strings) {
        s = make(40, 5, 6);
    }
    auto expected = strings;
    std::ranges::sort(expected);
    std::atomic<int> ended{0};
    int begun = 0;
    for (const int at : {1, 2, 4096, 4097, 10'000, n - 1, n, n + 1, n + 5000, 2 * n - 1, 2 * n}) {
        pool.run([&] {
            counted_entry::fuse f;
            std::vector<counted_entry> elements;
            elements.reserve(n);
            for (const std::string& s : strings) {
                elements.emplace_back(s, f);
            }
            pilfer::scope s;
            f.of = &s;
            f.at = at;
            s.spawn([&] {
                pilfer::sort(elements, {}, &counted_entry::key);
                EXPECT_TRUE(pilfer::cancelled());
                ++ended;
            });
            ++begun;
            s.sync();
            EXPECT_GE(f.moves, at); // the sort had come so far
            std::vector<std::string> got;
            for (counted_entry& e : elements) {
                got.push_back(e.key);
            }
            EXPECT_TRUE(got == expected) << at;
        });
    }
    EXPECT_EQ(ended, begun);
}

TEST_P(sort_text, elements_are_aligned_as_their_type_asks) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        struct alignas(256) wide {
            wide() = default;
            wide(wide&& other) noexcept : key(std::move(other.key)) {
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % 256, 0U);
            }
            wide& operator=(wide&& other) noexcept {
                key = std::move(other.key);
                return *this;
            }
            ~wide() = default;
            std::string key;
        };
        texts make(29);
        std::vector<wide> elements(500);
        std::vector<std::string> expected;
        for (wide& e : elements) {
            e.key = make(12, 3, 5);
            expected.push_back(e.key);
        }
        std::ranges::sort(expected);
        pilfer::sort(elements, {}, &wide::key);
        EXPECT_TRUE(std::ranges::equal(elements, expected, {}, &wide::key));
    });
}

PILFER_OVER_WORKERS(sort_text);

} // namespace
