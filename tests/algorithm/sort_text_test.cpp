// Sorts by strings, whose characters are read a few at a time, give what comparing whole strings gives.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
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
            check(input, std::greater<std::string_view>());
        }
    });
}

TEST_P(sort_text, equals_std_on_many_strings) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        texts make(13);
        for (const std::size_t longest : {3U, 9U, 30U}) {
            for (const unsigned letters : {1U, 2U, 6U}) {
                const auto input = entries(40'000, make, longest, longest / 3, letters);
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
            std::vector<entry> all(20'000);
            for (std::size_t i = 0; i < all.size(); ++i) {
                all[i] = {std::string(length, 'x') + (i % 3 == 0 ? "a" : "b"), i};
            }
            check(all, std::ranges::less());
        }
    });
}

TEST_P(sort_text, takes_other_iterators_and_const_views) {
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
        // std::string_view and const char* differ as keys: only the first is read by its characters.
        std::vector<const char*> pointers;
        const std::vector<std::string> letters = {"b", "a", "c"};
        for (const std::string& s : letters) {
            pointers.push_back(s.c_str());
        }
        pilfer::sort(pointers, {}, [](const char* s) { return std::string(s); });
        EXPECT_EQ(std::string(pointers[0]) + pointers[1] + pointers[2], "abc");
    });
}

TEST_P(sort_text, a_cancelled_sort_keeps_every_string) {
    pilfer::pool pool(with_workers());
    texts make(19);
    std::vector<std::string> strings(30'000);
    for (std::string& s : strings) {
        s = make(40, 5, 6);
    }
    const auto expected = stably_sorted(strings);
    std::mt19937_64 random(3);
    for (std::uint64_t turn = 0; turn < support::hundredth_of(3'000, 20); ++turn) {
        pool.run([&] {
            auto elements = strings;
            pilfer::scope s;
            std::atomic<bool> begun{false};
            s.fork([&] {
                begun = true;
                pilfer::sort(elements);
            });
            s.fork([&, pauses = random() % 200'000] {
                for (std::uint64_t i = 0; i < pauses && begun; ++i) {
                }
                s.cancel();
            });
            s.sync();
            std::ranges::sort(elements);
            EXPECT_TRUE(elements == expected);
        });
    }
}

PILFER_OVER_WORKERS(sort_text);

} // namespace
