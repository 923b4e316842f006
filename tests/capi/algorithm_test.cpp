// <pilfer/pilfer_algorithm.h>: sorts, searches and sums of C arrays.
#include <pilfer/pilfer_algorithm.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "algorithm/sort_patterns.hpp"
#include "capi/support.hpp"

namespace {

using namespace capi_tests;

/// An element of `Size` bytes. Its number decides all of them.
template <std::size_t Size>
struct element {
    unsigned char bytes[Size];

    static constexpr unsigned largest = Size == 1 ? 256 : 65536;
    static element of(unsigned number) {
        element e{};
        for (std::size_t i = 0; i < Size; ++i) {
            e.bytes[i] = static_cast<unsigned char>(i % 2 == 0 ? number : number >> 8);
        }
        return e;
    }
    [[nodiscard]] unsigned number() const {
        return bytes[0] + (Size > 1 ? 256U * bytes[std::min<std::size_t>(1, Size - 1)] : 0U);
    }
    [[nodiscard]] unsigned key() const { return number() / 8; }
    friend bool operator==(const element& a, const element& b) {
        return std::memcmp(a.bytes, b.bytes, Size) == 0;
    }
};

/// The argument of a comparison: counts its calls, and cancels a scope.
struct watched {
    std::atomic<int> left{std::numeric_limits<int>::max()};
    pilfer_scope* scope = nullptr;
    void call() {
        if (scope != nullptr && left.fetch_sub(1) == 0) {
            (void)pilfer_scope_cancel(scope);
        }
    }
};

template <class E>
int by_key(const void* a, const void* b, void* arg) {
    if (arg != nullptr) {
        static_cast<watched*>(arg)->call();
    }
    const unsigned x = static_cast<const E*>(a)->key();
    const unsigned y = static_cast<const E*>(b)->key();
    return x < y ? -1 : x > y ? 1 : 0;
}

template <class E>
bool smaller_key(const E& a, const E& b) {
    return a.key() < b.key();
}

template <class E>
std::vector<E> random_elements(std::size_t n, std::mt19937& random) {
    std::vector<E> all(n);
    for (E& e : all) {
        e = E::of(random() % E::largest);
    }
    return all;
}
template <class E>
void expect_permutation(std::vector<E> a, std::vector<E> b) {
    const auto less = [](const E& x, const E& y) { return x.number() < y.number(); };
    std::ranges::sort(a, less);
    std::ranges::sort(b, less);
    EXPECT_TRUE(a == b);
}

template <std::size_t Size>
void sorts_like_std() {
    using E = element<Size>;
    std::mt19937 random(Size);
    const std::size_t most = support::sanitized ? 12'000 : 40'000;
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{15}, std::size_t{1000}, most}) {
        const auto input = random_elements<E>(n, random);
        const auto expected = sort_patterns::stably_sorted(input, smaller_key<E>);
        auto stable = input;
        EXPECT_EQ(pilfer_stable_sort(stable.data(), n, Size, by_key<E>, nullptr), 0);
        EXPECT_TRUE(stable == expected) << n << " elements of " << Size << " bytes";
        auto sorted = input;
        EXPECT_EQ(pilfer_sort(sorted.data(), n, Size, by_key<E>, nullptr), 0);
        EXPECT_TRUE(std::ranges::is_sorted(sorted, smaller_key<E>));
        expect_permutation(sorted, input);
    }
}

class c_algorithms : public over_workers {};

TEST_P(c_algorithms, arrays_of_elements_of_any_size_are_sorted_like_std) {
    const c_pool pool(GetParam());
    pool.run([] {
        sorts_like_std<1>();
        sorts_like_std<3>();
        sorts_like_std<4>();
        sorts_like_std<8>();
        sorts_like_std<12>();
        sorts_like_std<16>();
        sorts_like_std<40>();
    });
}

TEST_P(c_algorithms, a_sort_compares_elements_at_aligned_addresses) {
    struct alignas(64) line {
        unsigned number;
    };
    const c_pool pool(GetParam());
    pool.run([] {
        const auto aligned = [](const void* a, const void* b, void*) {
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % alignof(line), 0U);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b) % alignof(line), 0U);
            const unsigned x = static_cast<const line*>(a)->number;
            const unsigned y = static_cast<const line*>(b)->number;
            return x < y ? -1 : x > y ? 1 : 0;
        };
        std::vector<line> lines(6000);
        for (unsigned i = 0; i < lines.size(); ++i) {
            lines[i].number = i * 2'654'435'761U;
        }
        EXPECT_EQ(pilfer_sort(lines.data(), lines.size(), sizeof(line), aligned, nullptr), 0);
        EXPECT_TRUE(std::ranges::is_sorted(lines, {}, &line::number));

        // Eight bytes at an address that is no multiple of eight.
        std::vector<std::uint32_t> words(2 * 6000 + 1);
        std::mt19937 random(5);
        std::ranges::generate(words, random);
        const auto first_word = [](const void* a, const void* b, void*) {
            const std::uint32_t x = *static_cast<const std::uint32_t*>(a);
            const std::uint32_t y = *static_cast<const std::uint32_t*>(b);
            return x < y ? -1 : x > y ? 1 : 0;
        };
        EXPECT_EQ(pilfer_sort(words.data() + 1, 6000, 8, first_word, nullptr), 0);
        for (std::size_t i = 3; i < words.size(); i += 2) {
            EXPECT_LE(words[i - 2], words[i]);
        }
    });
}

template <std::size_t Size>
void cancelled_sorts_keep_all() {
    using E = element<Size>;
    std::mt19937 random(Size);
    int cancelled = 0;
    for (int k = 0; k < 60'000; k += support::sanitized ? 4999 : 1499) {
        const auto input = random_elements<E>(6000, random);
        auto sorted = input;
        pilfer_scope scope;
        EXPECT_EQ(pilfer_scope_begin(&scope), 0);
        struct work {
            std::vector<E>* elements;
            watched arg;
            int code;
        };
        work w{&sorted, {}, 1};
        w.arg.left = k;
        w.arg.scope = &scope;
        EXPECT_EQ(pilfer_scope_fork(
                      &scope,
                      [](void* data) {
                          auto& self = *static_cast<work*>(data);
                          self.code = pilfer_sort(self.elements->data(), self.elements->size(), Size,
                                                  by_key<E>, &self.arg);
                      },
                      &w),
                  0);
        EXPECT_EQ(pilfer_scope_end(&scope), 0);
        EXPECT_TRUE(w.code == 0 || w.code == PILFER_ECANCELED) << w.code;
        cancelled += w.code == PILFER_ECANCELED ? 1 : 0;
        expect_permutation(sorted, input);
    }
    EXPECT_GT(cancelled, 0);
}

TEST_P(c_algorithms, a_cancelled_sort_keeps_every_element) {
    const c_pool pool(GetParam());
    pool.run([] {
        cancelled_sorts_keep_all<4>();
        cancelled_sorts_keep_all<24>();
    });
}

TEST_P(c_algorithms, a_comparison_that_is_no_order_loses_no_element) {
    const c_pool pool(GetParam());
    pool.run([] {
        using E = element<24>;
        std::mt19937 random(3);
        const auto input = random_elements<E>(9000, random);
        for (const auto sort : {pilfer_sort, pilfer_stable_sort}) {
            auto sorted = input;
            const auto always = [](const void*, const void*, void*) { return -1; };
            EXPECT_EQ(sort(sorted.data(), sorted.size(), sizeof(E), always, nullptr), 0);
            expect_permutation(sorted, input);
        }
    });
}

TEST_P(c_algorithms, a_search_gives_the_lowest_index) {
    const c_pool pool(GetParam());
    pool.run([] {
        std::vector<char> flags(20'000);
        const auto holds = [](std::size_t i, void* data) -> int {
            return (*static_cast<std::vector<char>*>(data))[i] == 1 ? -5 : 0;
        };
        std::size_t found = 0;
        EXPECT_EQ(pilfer_find(7, flags.size(), holds, &flags, &found), 0);
        EXPECT_EQ(found, flags.size()) << "none";
        for (const std::size_t at : {19'999U, 12'345U, 10'000U, 501U, 8U, 7U}) {
            flags[at] = 1;
            EXPECT_EQ(pilfer_find(7, flags.size(), holds, &flags, &found), 0);
            EXPECT_EQ(found, at);
        }
        flags[3] = 1;
        EXPECT_EQ(pilfer_find(7, flags.size(), holds, &flags, &found), 0);
        EXPECT_EQ(found, 7U) << "nothing in front of the range is asked";
        EXPECT_EQ(pilfer_find(9, 9, holds, &flags, &found), 0);
        EXPECT_EQ(found, 9U);
        EXPECT_EQ(pilfer_find(9, 2, holds, &flags, &found), 0);
        EXPECT_EQ(found, 2U);
    });
}

/// A run of numbers: combinations only exist in order.
struct run {
    std::uint64_t begin;
    std::uint64_t end;
    bool torn;
    friend bool operator==(const run&, const run&) = default;
};
void join_runs(void* left, const void* right, void*) {
    auto& l = *static_cast<run*>(left);
    const auto& r = *static_cast<const run*>(right);
    l = {l.begin, r.end, l.torn || r.torn || l.end != r.begin};
}
std::vector<run> single_runs(std::size_t n) {
    std::vector<run> all(n);
    for (std::size_t i = 0; i < n; ++i) {
        all[i] = {i + 1, i + 2, false};
    }
    return all;
}

TEST_P(c_algorithms, sums_keep_the_order) {
    const c_pool pool(GetParam());
    pool.run([] {
        for (const std::size_t n : {0U, 1U, 2U, 63U, 64U, 65U, 300U, 2048U, 2049U, 70'000U}) {
            const auto in = single_runs(n);
            const run zero{0, 1, false};
            run all = zero;
            EXPECT_EQ(pilfer_reduce_elements(in.data(), n, sizeof(run), join_runs, nullptr, &all), 0);
            EXPECT_EQ(all, (run{0, n + 1, false})) << n;

            std::vector<run> inclusive(n);
            std::vector<run> exclusive(n);
            for (std::size_t i = 0; i < n; ++i) {
                inclusive[i] = {1, i + 2, false};
                exclusive[i] = {0, i + 1, false};
            }
            auto out = std::vector<run>(n);
            EXPECT_EQ(pilfer_inclusive_scan(in.data(), out.data(), n, sizeof(run), join_runs, nullptr), 0);
            EXPECT_TRUE(out == inclusive) << n;
            EXPECT_EQ(pilfer_exclusive_scan(in.data(), out.data(), n, sizeof(run), &zero, join_runs, nullptr),
                      0);
            EXPECT_TRUE(out == exclusive) << n;
            out = in;
            EXPECT_EQ(pilfer_inclusive_scan(out.data(), out.data(), n, sizeof(run), join_runs, nullptr), 0);
            EXPECT_TRUE(out == inclusive) << n << " in place";
            out = in;
            EXPECT_EQ(
                pilfer_exclusive_scan(out.data(), out.data(), n, sizeof(run), &zero, join_runs, nullptr), 0);
            EXPECT_TRUE(out == exclusive) << n << " in place";
        }
    });
}

TEST_P(c_algorithms, sums_of_small_elements) {
    const c_pool pool(GetParam());
    pool.run([] {
        const auto add_up = [](void* left, const void* right, void*) {
            auto& l = *static_cast<std::uint16_t*>(left);
            l = static_cast<std::uint16_t>(l + *static_cast<const std::uint16_t*>(right));
        };
        std::vector<std::uint16_t> in(30'000);
        std::iota(in.begin(), in.end(), std::uint16_t{1});
        std::vector<std::uint16_t> out(in.size());
        std::vector<std::uint16_t> expected(in.size());
        std::inclusive_scan(in.begin(), in.end(), expected.begin());
        EXPECT_EQ(pilfer_inclusive_scan(in.data(), out.data(), in.size(), 2, add_up, nullptr), 0);
        EXPECT_TRUE(out == expected);
        std::uint16_t sum = 0;
        EXPECT_EQ(pilfer_reduce_elements(in.data(), in.size(), 2, add_up, nullptr, &sum), 0);
        EXPECT_EQ(sum, expected.back());
    });
}

/// The sums of one array of doubles.
struct sums {
    double all = 0;
    std::vector<double> inclusive = std::vector<double>(50'000);
    std::vector<double> exclusive = std::vector<double>(50'000);

    void take() {
        const auto add = [](void* left, const void* right, void*) {
            *static_cast<double*>(left) += *static_cast<const double*>(right);
        };
        std::mt19937 random(1);
        std::vector<double> in(inclusive.size());
        for (double& x : in) {
            x = 1.0 / static_cast<double>(1 + random() % 1'000'000);
        }
        all = 0;
        EXPECT_EQ(pilfer_reduce_elements(in.data(), in.size(), 8, add, nullptr, &all), 0);
        EXPECT_EQ(pilfer_inclusive_scan(in.data(), inclusive.data(), in.size(), 8, add, nullptr), 0);
        EXPECT_EQ(pilfer_exclusive_scan(in.data(), exclusive.data(), in.size(), 8, &in[0], add, nullptr), 0);
    }
};

TEST_P(c_algorithms, sums_have_the_same_bits_for_any_number_of_workers) {
    sums one;
    {
        const c_pool pool(1U);
        pool.run([&] { one.take(); });
    }
    const c_pool pool(GetParam());
    pool.run([&] {
        sums here;
        for (int i = 0; i < 5; ++i) {
            here.take();
            EXPECT_EQ(std::memcmp(&here.all, &one.all, sizeof one.all), 0);
            EXPECT_TRUE(here.inclusive == one.inclusive);
            EXPECT_TRUE(here.exclusive == one.exclusive);
        }
    });
}

TEST_P(c_algorithms, after_a_cancellation_each_call_says_so) {
    const c_pool pool(GetParam());
    pool.run([] {
        pilfer_scope scope;
        EXPECT_EQ(pilfer_scope_begin(&scope), 0);
        EXPECT_EQ(pilfer_scope_fork(
                      &scope,
                      [](void* data) {
                          (void)pilfer_scope_cancel(static_cast<pilfer_scope*>(data));
                          auto in = single_runs(10'000);
                          run all{0, 1, false};
                          const auto* zero = &in[0];
                          EXPECT_EQ(pilfer_reduce_elements(in.data(), in.size(), sizeof(run), join_runs,
                                                           nullptr, &all),
                                    PILFER_ECANCELED);
                          EXPECT_EQ(all, (run{0, 1, false})) << "as before";
                          std::vector<run> out(in.size());
                          EXPECT_EQ(pilfer_inclusive_scan(in.data(), out.data(), in.size(), sizeof(run),
                                                          join_runs, nullptr),
                                    PILFER_ECANCELED);
                          EXPECT_EQ(pilfer_exclusive_scan(in.data(), out.data(), in.size(), sizeof(run), zero,
                                                          join_runs, nullptr),
                                    PILFER_ECANCELED);
                          std::size_t found = 5;
                          const auto never = [](std::size_t, void*) { return 0; };
                          EXPECT_EQ(pilfer_find(0, 10'000, never, nullptr, &found), PILFER_ECANCELED);
                          EXPECT_EQ(found, 10'000U);
                      },
                      &scope),
                  0);
        EXPECT_EQ(pilfer_scope_end(&scope), 0);
    });
}

PILFER_OVER_WORKERS(c_algorithms);

class c_algorithms_alone : public guarded {};

TEST_F(c_algorithms_alone, calls_outside_a_pool_use_the_common_pool) {
    with_a_common_pool([] {
        sorts_like_std<8>();
        sums here;
        here.take();
        std::size_t found = 0;
        const auto from_5000 = [](std::size_t i, void*) { return i >= 5000 ? 1 : 0; };
        EXPECT_EQ(pilfer_find(0, 9000, from_5000, nullptr, &found), 0);
        EXPECT_EQ(found, 5000U);
    });
}

TEST_F(c_algorithms_alone, bad_input_is_refused) {
    const auto compare = [](const void*, const void*, void*) { return 0; };
    const auto combine = [](void*, const void*, void*) {};
    const auto never = [](std::size_t, void*) { return 0; };
    const std::size_t many = std::numeric_limits<std::size_t>::max() / 8;
    std::uint64_t a[2] = {2, 1};
    std::uint64_t b[2] = {};
    std::size_t found = 0;
    const int codes[] = {
        pilfer_sort(nullptr, 1, 8, compare, nullptr),
        pilfer_sort(a, 2, 0, compare, nullptr),
        pilfer_sort(a, 0, 0, compare, nullptr),
        pilfer_sort(a, many, 8, compare, nullptr),
        pilfer_sort(a, 2, 8, nullptr, nullptr),
        pilfer_stable_sort(nullptr, 1, 8, compare, nullptr),
        pilfer_stable_sort(a, 2, 8, nullptr, nullptr),
        pilfer_find(0, 1, nullptr, nullptr, &found),
        pilfer_find(0, 1, never, nullptr, nullptr),
        pilfer_reduce_elements(nullptr, 1, 8, combine, nullptr, b),
        pilfer_reduce_elements(a, 2, 0, combine, nullptr, b),
        pilfer_reduce_elements(a, many, 8, combine, nullptr, b),
        pilfer_reduce_elements(a, 2, 8, nullptr, nullptr, b),
        pilfer_reduce_elements(a, 2, 8, combine, nullptr, nullptr),
        pilfer_inclusive_scan(nullptr, b, 1, 8, combine, nullptr),
        pilfer_inclusive_scan(a, nullptr, 1, 8, combine, nullptr),
        pilfer_inclusive_scan(a, b, 2, 0, combine, nullptr),
        pilfer_inclusive_scan(a, b, 2, 8, nullptr, nullptr),
        pilfer_exclusive_scan(nullptr, b, 1, 8, a, combine, nullptr),
        pilfer_exclusive_scan(a, nullptr, 1, 8, a, combine, nullptr),
        pilfer_exclusive_scan(a, b, 2, 8, nullptr, combine, nullptr),
        pilfer_exclusive_scan(a, b, 2, 8, a, nullptr, nullptr),
    };
    for (std::size_t i = 0; i < std::size(codes); ++i) {
        EXPECT_EQ(codes[i], PILFER_EINVAL) << "row " << i;
    }
    EXPECT_EQ(a[0], 2U);
    EXPECT_EQ(pilfer_sort(nullptr, 0, 8, compare, nullptr), 0);
    EXPECT_EQ(pilfer_inclusive_scan(nullptr, nullptr, 0, 8, combine, nullptr), 0);
    EXPECT_EQ(pilfer_reduce_elements(nullptr, 0, 8, combine, nullptr, b), 0);
}

TEST_F(c_algorithms_alone, without_memory_nothing_is_changed) {
    if (sanitized) {
        GTEST_SKIP() << "a sanitizer ends the program";
    }
    // One element of more bytes than there is memory for two of.
    const std::size_t size = std::size_t{1} << 62;
    const auto combine = [](void*, const void*, void*) { ADD_FAILURE(); };
    char in = 1;
    char out = 2;
    EXPECT_EQ(pilfer_reduce_elements(&in, 1, size, combine, nullptr, &out), PILFER_ENOMEM);
    EXPECT_EQ(pilfer_inclusive_scan(&in, &out, 1, size, combine, nullptr), PILFER_ENOMEM);
    EXPECT_EQ(pilfer_exclusive_scan(&in, &out, 1, size, &in, combine, nullptr), PILFER_ENOMEM);
    const auto compare = [](const void*, const void*, void*) -> int {
        ADD_FAILURE();
        return 0;
    };
    EXPECT_EQ(pilfer_sort(&in, 2, size / 2, compare, nullptr), PILFER_ENOMEM);
    EXPECT_EQ(out, 2);
}

} // namespace
