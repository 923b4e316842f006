// Each parallel algorithm of libstdc++ on libpilfer-tbb gives what the serial one gives.
#include <algorithm>
#include <atomic>
#include <execution>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using values = std::vector<int>;
constexpr auto par = std::execution::par;

/// Enough for several tasks of each algorithm, with many equal values.
constexpr std::size_t count = 20'000;

values mixed(unsigned seed = 1) {
    values v(count);
    for (int& x : v) {
        seed = seed * 1664525U + 1013904223U;
        x = static_cast<int>(seed >> 20);
    }
    return v;
}

values sorted(unsigned seed = 1) {
    values v = mixed(seed);
    std::sort(v.begin(), v.end());
    return v;
}

bool is_odd(int x) { return x % 2 != 0; }

/// f(v) and g(v) leave the same values and return the same.
template <class F, class G>
void same(const values& v, F f, G g) {
    values a = v;
    values b = v;
    if constexpr (std::is_void_v<decltype(f(a))>) {
        f(a);
        g(b);
    } else {
        EXPECT_EQ(f(a), g(b));
    }
    EXPECT_EQ(a, b);
}

// SAME(VALUES, <a call of std with P before its arguments>): with par and with seq. Iterators are returned as
// positions.
#define SAME(VALUES, ...)                                                                                    \
    do {                                                                                                     \
        SCOPED_TRACE(#__VA_ARGS__);                                                                          \
        const values given = VALUES;                                                                         \
        same(                                                                                                \
            given,                                                                                           \
            [&](values& v) { return called(v, std::execution::par, [&](auto& P) { return __VA_ARGS__; }); }, \
            [&](values& v) {                                                                                 \
                return called(v, std::execution::seq, [&](auto& P) { return __VA_ARGS__; });                 \
            });                                                                                              \
    } while (false)

template <class T>
T position(values&, T x) {
    return x;
}
std::ptrdiff_t position(values& v, values::iterator i) { return i - v.begin(); }
std::pair<std::ptrdiff_t, std::ptrdiff_t> position(values& v,
                                                   std::pair<values::iterator, values::iterator> p) {
    return {p.first - v.begin(), p.second - v.begin()};
}

template <class Policy, class Call>
auto called(values& v, const Policy& p, Call call) {
    return position(v, call(p));
}

// With results in `out`, whose values are compared, too.
#define SAME_OUT(VALUES, ...)                                                                                \
    do {                                                                                                     \
        SCOPED_TRACE(#__VA_ARGS__);                                                                          \
        const values in = VALUES;                                                                            \
        values out(2 * count, -1);                                                                           \
        values expected(2 * count, -1);                                                                      \
        std::ptrdiff_t end = 0;                                                                              \
        {                                                                                                    \
            const auto& P = std::execution::seq;                                                             \
            end = (__VA_ARGS__)-out.begin();                                                                 \
        }                                                                                                    \
        std::swap(out, expected);                                                                            \
        {                                                                                                    \
            const auto& P = std::execution::par;                                                             \
            EXPECT_EQ((__VA_ARGS__)-out.begin(), end);                                                       \
        }                                                                                                    \
        EXPECT_EQ(out, expected);                                                                            \
    } while (false)

TEST(std_par, for_each_and_generators) {
    values all = mixed();
    std::atomic<long> sum{0};
    std::for_each(par, all.begin(), all.end(), [&](int x) { sum += x; });
    EXPECT_EQ(sum, std::accumulate(all.begin(), all.end(), 0L));
    sum = 0;
    std::for_each_n(par, all.begin(), 1000, [&](int x) { sum += x; });
    EXPECT_EQ(sum, std::accumulate(all.begin(), all.begin() + 1000, 0L));
    SAME(mixed(), (std::fill(P, v.begin(), v.end(), 7), 0));
    SAME(mixed(), std::fill_n(P, v.begin(), 5000, 7));
    std::atomic<int> calls{0};
    std::generate(par, all.begin(), all.end(), [&] { return ++calls, 3; });
    EXPECT_EQ(all, values(count, 3));
    std::generate_n(par, all.begin(), 100, [&] { return ++calls, 4; });
    EXPECT_EQ(calls, static_cast<int>(count) + 100);
    EXPECT_EQ(std::count(all.begin(), all.end(), 4), 100);
}

TEST(std_par, searches) {
    const values needles{4000, 17, 99};
    SAME(mixed(), std::all_of(P, v.begin(), v.end(), [](int x) { return x >= 0; }));
    SAME(mixed(), std::any_of(P, v.begin(), v.end(), [](int x) { return x == 77; }));
    SAME(mixed(), std::none_of(P, v.begin(), v.end(), [](int x) { return x < 0; }));
    SAME(mixed(), std::count(P, v.begin(), v.end(), 5));
    SAME(mixed(), std::count_if(P, v.begin(), v.end(), is_odd));
    SAME(mixed(), std::find(P, v.begin(), v.end(), v[17'000]));
    SAME(mixed(), std::find_if(P, v.begin(), v.end(), [](int x) { return x == 99; }));
    SAME(mixed(), std::find_if_not(P, v.begin(), v.end(), [](int x) { return x != 98; }));
    SAME(mixed(), std::find_first_of(P, v.begin(), v.end(), needles.begin(), needles.end()));
    SAME(mixed(), std::find_end(P, v.begin(), v.end(), v.begin() + 100, v.begin() + 103));
    SAME(mixed(), std::search(P, v.begin(), v.end(), v.begin() + 12'000, v.begin() + 12'010));
    SAME(sorted(), std::search_n(P, v.begin(), v.end(), 3, v[10'000]));
    SAME(sorted(), std::adjacent_find(P, v.begin(), v.end(), [](int a, int b) { return b - a > 1; }));
    const values other = mixed(2);
    SAME(mixed(), std::equal(P, v.begin(), v.end(), other.begin()));
    SAME(mixed(), std::mismatch(P, v.begin(), v.end(), v.begin()).first);
    SAME(mixed(), std::lexicographical_compare(P, v.begin(), v.end(), other.begin(), other.end()));
    SAME(mixed(), std::min_element(P, v.begin(), v.end()));
    SAME(mixed(), std::max_element(P, v.begin(), v.end()));
    SAME(mixed(), std::minmax_element(P, v.begin(), v.end()));
    SAME(sorted(), std::is_sorted(P, v.begin(), v.end()));
    SAME(mixed(), std::is_sorted_until(P, v.begin(), v.end()));
    SAME(mixed(), std::is_partitioned(P, v.begin(), v.end(), is_odd));
    values heap = mixed();
    std::make_heap(heap.begin(), heap.end());
    SAME(heap, std::is_heap(P, v.begin(), v.end()));
    heap[15'000] = 1 << 20;
    SAME(heap, std::is_heap_until(P, v.begin(), v.end()));
}

TEST(std_par, copies_and_replacements) {
    SAME_OUT(mixed(), std::copy(P, in.begin(), in.end(), out.begin()));
    SAME_OUT(mixed(), std::copy_n(P, in.begin(), 12'345, out.begin()));
    SAME_OUT(mixed(), std::copy_if(P, in.begin(), in.end(), out.begin(), is_odd));
    SAME_OUT(mixed(), std::move(P, in.begin(), in.end(), out.begin()));
    SAME_OUT(mixed(), std::transform(P, in.begin(), in.end(), out.begin(), [](int x) { return 3 * x; }));
    SAME_OUT(mixed(), std::transform(P, in.begin(), in.end(), in.rbegin(), out.begin(), std::minus<>()));
    SAME_OUT(mixed(), std::replace_copy(P, in.begin(), in.end(), out.begin(), 5, 6));
    SAME_OUT(mixed(), std::replace_copy_if(P, in.begin(), in.end(), out.begin(), is_odd, 6));
    SAME_OUT(mixed(), std::remove_copy(P, in.begin(), in.end(), out.begin(), 5));
    SAME_OUT(mixed(), std::remove_copy_if(P, in.begin(), in.end(), out.begin(), is_odd));
    SAME_OUT(sorted(), std::unique_copy(P, in.begin(), in.end(), out.begin()));
    SAME_OUT(mixed(), std::reverse_copy(P, in.begin(), in.end(), out.begin()));
    SAME_OUT(mixed(), std::rotate_copy(P, in.begin(), in.begin() + 7'777, in.end(), out.begin()));
    SAME_OUT(mixed(),
             std::partition_copy(P, in.begin(), in.end(), out.begin(), out.begin() + count, is_odd).first);
    SAME_OUT(mixed(), std::adjacent_difference(P, in.begin(), in.end(), out.begin()));
    SAME(mixed(), (std::replace(P, v.begin(), v.end(), 5, 6), 0));
    SAME(mixed(), (std::replace_if(P, v.begin(), v.end(), is_odd, 6), 0));
    SAME(mixed(), (std::reverse(P, v.begin(), v.end()), 0));
    SAME(mixed(), std::rotate(P, v.begin(), v.begin() + 333, v.end()));
    SAME(mixed(), std::swap_ranges(P, v.begin(), v.begin() + count / 2, v.begin() + count / 2));
    // Values after the returned end are unspecified.
    SAME(mixed(), (v.erase(std::remove(P, v.begin(), v.end(), 5), v.end()), v.size()));
    SAME(mixed(), (v.erase(std::remove_if(P, v.begin(), v.end(), is_odd), v.end()), v.size()));
    SAME(sorted(), (v.erase(std::unique(P, v.begin(), v.end()), v.end()), v.size()));
}

TEST(std_par, sorts_and_partitions) {
    SAME(mixed(), (std::sort(P, v.begin(), v.end()), 0));
    SAME(mixed(), (std::sort(P, v.begin(), v.end(), std::greater<>()), 0));
    SAME(mixed(), (std::stable_sort(P, v.begin(), v.end(), [](int a, int b) { return a / 64 < b / 64; }), 0));
    SAME(mixed(), (std::partial_sort(P, v.begin(), v.begin() + 5'000, v.end()), v.resize(5'000), 0));
    SAME_OUT(mixed(), std::partial_sort_copy(P, in.begin(), in.end(), out.begin(), out.begin() + 5'000));
    // Only the value in the middle is specified.
    SAME(mixed(), (std::nth_element(P, v.begin(), v.begin() + 5'000, v.end()), v = {v[5'000]}, 0));
    SAME(mixed(), std::stable_partition(P, v.begin(), v.end(), is_odd));
    // Only which values are before the returned place.
    SAME(mixed(),
         (v.resize(static_cast<std::size_t>(std::partition(P, v.begin(), v.end(), is_odd) - v.begin())),
          std::sort(v.begin(), v.end()), 0));
    values halves = mixed();
    std::sort(halves.begin(), halves.begin() + 8'000);
    std::sort(halves.begin() + 8'000, halves.end());
    SAME(halves, (std::inplace_merge(P, v.begin(), v.begin() + 8'000, v.end()), 0));
    // Strings are moved, not copied, and none is lost.
    std::vector<std::string> words;
    for (const int x : mixed()) {
        words.push_back(std::to_string(x) + " is a string that is too long for its object");
    }
    auto expected = words;
    std::sort(expected.begin(), expected.end());
    std::sort(par, words.begin(), words.end());
    EXPECT_EQ(words, expected);
}

TEST(std_par, merges_and_sets) {
    const values other = sorted(3);
    SAME_OUT(sorted(), std::merge(P, in.begin(), in.end(), other.begin(), other.end(), out.begin()));
    SAME_OUT(sorted(), std::set_union(P, in.begin(), in.end(), other.begin(), other.end(), out.begin()));
    SAME_OUT(sorted(),
             std::set_intersection(P, in.begin(), in.end(), other.begin(), other.end(), out.begin()));
    SAME_OUT(sorted(), std::set_difference(P, in.begin(), in.end(), other.begin(), other.end(), out.begin()));
    SAME_OUT(sorted(),
             std::set_symmetric_difference(P, in.begin(), in.end(), other.begin(), other.end(), out.begin()));
    SAME(sorted(), std::includes(P, v.begin(), v.end(), v.begin() + 100, v.begin() + 9'000));
}

TEST(std_par, reductions_and_scans) {
    SAME(mixed(), std::reduce(P, v.begin(), v.end()));
    SAME(mixed(), std::reduce(P, v.begin(), v.end(), 5, [](int a, int b) { return std::max(a, b); }));
    // libstdc++ adds in the type of the elements, whatever the type of the first value.
    const values threes(count, 3);
    SAME(mixed(), std::transform_reduce(P, v.begin(), v.end(), threes.begin(), 0L));
    SAME(mixed(),
         std::transform_reduce(P, v.begin(), v.end(), 0L, std::plus<>(), [](int x) { return long{x} + 1; }));
    SAME_OUT(mixed(), std::inclusive_scan(P, in.begin(), in.end(), out.begin()));
    SAME_OUT(mixed(), std::inclusive_scan(P, in.begin(), in.end(), out.begin(), std::plus<>(), 3));
    SAME_OUT(mixed(), std::exclusive_scan(P, in.begin(), in.end(), out.begin(), 3));
    SAME_OUT(mixed(),
             std::transform_inclusive_scan(P, in.begin(), in.end(), out.begin(), std::plus<>(), is_odd));
    SAME_OUT(mixed(),
             std::transform_exclusive_scan(P, in.begin(), in.end(), out.begin(), 1, std::plus<>(), is_odd));
}

TEST(std_par, memory_without_objects) {
    const std::string text = "a string that is too long for its object";
    const std::vector<std::string> from(count, text);
    std::allocator<std::string> allocator;
    std::string* to = allocator.allocate(count);
    const auto destroy_all = [&] {
        EXPECT_EQ(std::count(to, to + count, text), static_cast<std::ptrdiff_t>(count));
        std::destroy(par, to, to + count);
    };
    std::uninitialized_copy(par, from.begin(), from.end(), to);
    destroy_all();
    std::uninitialized_copy_n(par, from.begin(), count, to);
    destroy_all();
    std::uninitialized_fill(par, to, to + count, text);
    destroy_all();
    std::uninitialized_fill_n(par, to, count, text);
    destroy_all();
    std::vector<std::string> moved = from;
    std::uninitialized_move(par, moved.begin(), moved.end(), to);
    destroy_all();
    moved = from;
    std::uninitialized_move_n(par, moved.begin(), count, to);
    EXPECT_EQ(std::count(to, to + count, text), static_cast<std::ptrdiff_t>(count));
    std::destroy_n(par, to, count);
    std::uninitialized_default_construct(par, to, to + count);
    std::destroy(par, to, to + count);
    std::uninitialized_default_construct_n(par, to, count);
    std::destroy(par, to, to + count);
    std::uninitialized_value_construct(par, to, to + count);
    std::destroy(par, to, to + count);
    std::uninitialized_value_construct_n(par, to, count);
    std::destroy(par, to, to + count);
    allocator.deallocate(to, count);
}

TEST(std_par, vectorised_policies) {
    values v = mixed();
    values u(count);
    std::transform(std::execution::par_unseq, v.begin(), v.end(), u.begin(), [](int x) { return x + 1; });
    EXPECT_EQ(std::reduce(std::execution::par_unseq, u.begin(), u.end(), 0L),
              std::accumulate(v.begin(), v.end(), static_cast<long>(count)));
    std::sort(std::execution::par_unseq, v.begin(), v.end());
    EXPECT_TRUE(std::is_sorted(std::execution::unseq, v.begin(), v.end()));
}

TEST(std_par, nothing_and_one_value) {
    for (std::size_t n = 0; n < 2; ++n) {
        values v(n, 3);
        values out(n);
        std::sort(par, v.begin(), v.end());
        std::inclusive_scan(par, v.begin(), v.end(), out.begin());
        EXPECT_EQ(out, v);
        EXPECT_EQ(std::reduce(par, v.begin(), v.end()), static_cast<int>(3 * n));
        EXPECT_EQ(std::find(par, v.begin(), v.end(), 4), v.end());
    }
}

TEST(std_par, algorithms_in_algorithms) {
    std::vector<values> rows(50, mixed());
    std::for_each(par, rows.begin(), rows.end(), [](values& row) {
        std::sort(par, row.begin(), row.end());
        EXPECT_EQ(std::count_if(par, row.begin(), row.end(), is_odd) +
                      std::count_if(par, row.begin(), row.end(), std::not_fn(is_odd)),
                  static_cast<std::ptrdiff_t>(count));
    });
    const values expected = sorted();
    EXPECT_TRUE(std::all_of(rows.begin(), rows.end(), [&](const values& row) { return row == expected; }));
}

TEST(std_par, an_exception_of_a_function_ends_the_program) {
    // As the standard says. It reaches std::terminate() by a noexcept function of libstdc++.
    EXPECT_DEATH(
        {
            values v = mixed();
            std::for_each(par, v.begin(), v.end(), [](int x) {
                if (x == 5) {
                    throw std::string("five");
                }
            });
        },
        "terminate called"); // two threads may throw at once
}

} // namespace
