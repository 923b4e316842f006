// A reduction whose grouping depends on the number of elements alone.
//
// The elements are the leaves of a binary tree: a node of n leaves has the largest power of two below n on
// its left side. Which subtrees are evaluated by one call, and which by a join, is decided by time and by
// thieves. Neither changes the tree, so that every schedule combines the same pairs. Sums and products of
// numbers have blocks that combine in another order (register_rows). If the functions for a block are too
// long for one call, they are called in parallel, and then their results are combined (divided_block).
#pragma once

#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include <pilfer/detail/parallel/pieces.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The number of elements that take about piece_ticks(), as all workers of one loop have last seen it.
/// Relaxed: a hint, and a worker that misses a change evaluates a smaller or larger subtree.
class common_size {
public:
    /// `least` elements are known to be short, and are never divided.
    explicit common_size(std::uint64_t least) noexcept : m_size(least), m_least(least) {}
    [[nodiscard]] std::uint64_t get() const noexcept { return m_size.load(std::memory_order_relaxed); }
    /// True if a subtree of n elements is large enough to say something about the size.
    [[nodiscard]] bool learns_from(std::uint64_t n) const noexcept { return n > this->get() / 2; }
    /// Called after such a subtree. Very short ones let the size grow faster, so that a loop of a hundred
    /// cheap elements reads the clock three times.
    void took(std::uint64_t ticks) noexcept {
        const std::uint64_t size = this->get();
        if (ticks < m_piece / 2 && size < largest) {
            m_size.store(ticks < m_piece / 32 ? size * 8 : size * 2, std::memory_order_relaxed);
        } else if (ticks > m_piece * 2 && size > m_least) {
            m_size.store(size / 2, std::memory_order_relaxed);
        }
    }

private:
    static constexpr std::uint64_t largest = std::uint64_t{1} << 20; // as in piece_size
    std::atomic<std::uint64_t> m_size;
    const std::uint64_t m_least;
    const std::uint64_t m_piece = piece_ticks();
};

/// The number of leaves on the left side of a node of n > 1 leaves.
[[nodiscard]] constexpr std::uint64_t left_leaves(std::uint64_t n) noexcept { return std::bit_floor(n - 1); }

/// True if no grouping of the elements can be told from another one: sums and the like of integers.
template <class Combine, class T, class Mapped>
inline constexpr bool
    any_grouping = std::integral<T>&& std::integral<std::remove_cvref_t<Mapped>> &&
                   (std::same_as<Combine, std::plus<>> || std::same_as<Combine, std::plus<T>> ||
                    std::same_as<Combine, std::multiplies<>> || std::same_as<Combine, std::multiplies<T>> ||
                    std::same_as<Combine, std::bit_and<>> || std::same_as<Combine, std::bit_or<>> ||
                    std::same_as<Combine, std::bit_xor<>>);

/// A full subtree of N leaves without a call. Its sums do not wait for each other, unlike those of a loop.
template <std::uint64_t N, class T, class I, class Map, class Combine>
[[nodiscard]] PILFER_ALWAYS_INLINE T unrolled_tree(I first, Map& map, Combine& combine) {
    if constexpr (N == 1) {
        return T(std::invoke(map, detail::element(first)));
    } else {
        T left = detail::unrolled_tree<N / 2, T>(first, map, combine);
        T right = detail::unrolled_tree<N / 2, T>(detail::advanced(first, N / 2), map, combine);
        return detail::combined<T>(combine, std::move(left), std::move(right));
    }
}

inline constexpr std::uint64_t unrolled_leaves = 8;

template <class Combine, class T>
inline constexpr bool adds =
    std::same_as<const Combine, const std::plus<>> || std::same_as<const Combine, const std::plus<T>>;
template <class Combine, class T>
inline constexpr bool multiplies = std::same_as<const Combine, const std::multiplies<>> ||
                                   std::same_as<const Combine, const std::multiplies<T>>;

/// True for numbers in memory: each is there, and no function computes it.
template <class T, class I, class Map>
inline constexpr bool in_memory = [] {
    using element_type = decltype(detail::element(std::declval<I&>()));
    return (std::same_as<element_type, T&> ||
            std::same_as<element_type, const T&>)&&std::same_as<const Map, const std::identity>;
}();

/// True for sums and products of numbers. A map to integers is left out: one register at a time is as fast,
/// and no order of integers can be told from another one.
template <class T, class I, class Map, class Combine>
inline constexpr bool by_registers =
    std::is_arithmetic_v<T> && !std::same_as<T, bool> && sizeof(T) <= sizeof(std::uint64_t) &&
    (adds<Combine, T> || multiplies<Combine, T>)&&(std::is_floating_point_v<T> || in_memory<T, I, Map>);

/// The most leaves of a subtree that is evaluated in registers.
inline constexpr std::uint64_t register_leaves = unrolled_leaves * unrolled_leaves * unrolled_leaves;

template <class T>
struct register_of {
    static constexpr std::uint64_t bytes = 16;
    static constexpr std::uint64_t width = bytes / sizeof(T);
    typedef T type __attribute__((vector_size(bytes))); // NOLINT(modernize-use-using): g++ wants this form
};

template <class T, class I, class Map>
[[nodiscard]] PILFER_ALWAYS_INLINE typename register_of<T>::type load_register(I first, Map& map) {
    T all[register_of<T>::width];
    if constexpr (std::contiguous_iterator<I> && in_memory<T, I, Map>) {
        std::memcpy(all, std::to_address(first), sizeof(all));
    } else {
        for (T& one : all) {
            one = T(std::invoke(map, detail::element(first)));
            first = detail::advanced(first, 1);
        }
    }
    return std::bit_cast<typename register_of<T>::type>(all);
}

/// Asks for memory two pages ahead. The processor does so by itself within a page only. Beyond the end of
/// the range it does nothing.
PILFER_ALWAYS_INLINE void fetch_early(const void* from, std::uint64_t bytes) {
    constexpr std::uint64_t ahead = 8192;
    constexpr std::uint64_t line = 64;
    const auto at = reinterpret_cast<std::uintptr_t>(from) + ahead;
    for (std::uint64_t i = 0; i != bytes; i += line) {
        __builtin_prefetch(reinterpret_cast<const void*>(at + i)); // NOLINT(performance-no-int-to-ptr)
    }
}

/// Combines n numbers in another order than a tree of neighbours, which would have to exchange the places of
/// registers. They are at least two rows of eight registers. The places of a row are combined with those of
/// the next rows, one after the other, and then with each other as a tree. Memory is read from low to high
/// addresses, as the processor expects it: a tree of registers took twice as long beyond the caches.
template <class T, class I, class Map, class Combine, std::uint64_t... Column>
[[nodiscard]] PILFER_ALWAYS_INLINE T register_rows(I first, std::uint64_t n, Map& map, Combine& combine,
                                                   std::integer_sequence<std::uint64_t, Column...>) {
    constexpr std::uint64_t width = register_of<T>::width;
    constexpr std::uint64_t row_leaves = sizeof...(Column) * width;
    std::conditional_t<adds<Combine, T>, std::plus<>, std::multiplies<>> of_each_place;
    typename register_of<T>::type row[] = {
        detail::load_register<T>(detail::advanced(first, Column * width), map)...};
    for (std::uint64_t i = row_leaves; i != n; i += row_leaves) {
        const I next = detail::advanced(first, i);
        if constexpr (std::contiguous_iterator<I> && in_memory<T, I, Map>) {
            detail::fetch_early(std::to_address(next), sizeof(row));
        }
        ((row[Column] = of_each_place(row[Column],
                                      detail::load_register<T>(detail::advanced(next, Column * width), map))),
         ...);
    }
    T places[row_leaves];
    std::memcpy(places, row, sizeof(places));
    std::identity same;
    return detail::unrolled_tree<row_leaves, T>(&places[0], same, combine);
}

/// True for full subtrees that register_rows() evaluates.
template <class T>
[[nodiscard]] constexpr bool fills_rows(std::uint64_t n) noexcept {
    constexpr std::uint64_t least = 2 * unrolled_leaves * register_of<T>::width;
    return n >= least && n <= register_leaves && std::has_single_bit(n);
}

/// A full subtree of N leaves, a power of eight: eight times the next smaller one.
template <std::uint64_t N, class T, class I, class Map, class Combine>
[[nodiscard]] PILFER_ALWAYS_INLINE T full_tree(I first, Map& map, Combine& combine) {
    if constexpr (N == unrolled_leaves) {
        return detail::unrolled_tree<N, T>(first, map, combine);
    } else {
        T part[unrolled_leaves];
        for (T& value : part) {
            value = detail::full_tree<N / unrolled_leaves, T>(first, map, combine);
            first = detail::advanced(first, N / unrolled_leaves);
        }
        std::identity same;
        return detail::unrolled_tree<unrolled_leaves, T>(&part[0], same, combine);
    }
}

/// Evaluates the subtree of n > 0 leaves that begins at `first`.
template <class T, class I, class Map, class Combine>
[[nodiscard]] T serial_tree(I first, std::uint64_t n, Map& map, Combine& combine) {
    if (n == 1) {
#if defined(PILFER_RACE)
        return detail::call_at<T>(map, first);
#endif
        return T(std::invoke(map, detail::element(first)));
    }
    if constexpr (by_registers<T, I, Map, Combine>) {
        if (detail::fills_rows<T>(n)) {
            return detail::register_rows<T>(first, n, map, combine,
                                            std::make_integer_sequence<std::uint64_t, unrolled_leaves>());
        }
    } else if constexpr (std::is_arithmetic_v<T>) {
        // Levels of eight: a call for many leaves costs little beside them.
        constexpr std::uint64_t many = unrolled_leaves * unrolled_leaves * unrolled_leaves;
        if (n == many) {
            return detail::full_tree<many, T>(first, map, combine);
        }
        if (n == many / unrolled_leaves) {
            return detail::full_tree<many / unrolled_leaves, T>(first, map, combine);
        }
    }
    if constexpr (std::is_trivially_copyable_v<T>) {
        if (n == unrolled_leaves) {
            return detail::unrolled_tree<unrolled_leaves, T>(first, map, combine);
        }
    }
    const std::uint64_t left = detail::left_leaves(n);
    T lower = detail::serial_tree<T>(first, left, map, combine);
    T upper = detail::serial_tree<T>(detail::advanced(first, left), n - left, map, combine);
    return detail::combined<T>(combine, std::move(lower), std::move(upper));
}

/// Folds elements from left to right.
template <class T, class I, class Map, class Combine>
[[nodiscard]] T serial_fold(I first, I last, Map& map, Combine& combine) {
    T sum = T(std::invoke(map, detail::element(first)));
    for (++first; first != last; ++first) {
        sum = detail::combined<T>(combine, std::move(sum),
                                  detail::converted<T>(std::invoke(map, detail::element(first))));
    }
    return sum;
}

#if defined(PILFER_RACE)

/// True for sums and the like of numbers, which access nothing.
template <class Combine, class T>
inline constexpr bool accesses_nothing = std::is_arithmetic_v<T> &&
                                         (std::same_as<Combine, std::plus<>> ||
                                          std::same_as<Combine, std::plus<T>> ||
                                          std::same_as<Combine, std::multiplies<>> ||
                                          std::same_as<Combine, std::multiplies<T>>);

template <class T, class Leaf, class Combine>
[[nodiscard]] T run_node(std::uint64_t first, std::uint64_t n, Leaf& leaf, Combine& combine, race::loop& all,
                         common_report report);
/// In the caller's frame: its last element of `all` has begun there.
template <class T, class Leaf, class Combine>
[[nodiscard]] PILFER_ALWAYS_INLINE T run_half(std::uint64_t first, std::uint64_t n, Leaf& leaf,
                                              Combine& combine, race::loop& all, common_report report) {
    return n == 1 ? detail::as_part(report, [&]() -> T { return leaf(first, 1); })
                  : detail::run_node<T>(first, n, leaf, combine, all, report);
}
/// Evaluates the node of n > 1 leaves from `first` on, in order.
template <class T, class Leaf, class Combine>
[[nodiscard]] T run_node(std::uint64_t first, std::uint64_t n, Leaf& leaf, Combine& combine, race::loop& all,
                         common_report report) {
    race::subtree node(all);
    const std::uint64_t left = detail::left_leaves(n);
    T lower = detail::run_half<T>(first, left, leaf, combine, all, report);
    const race::subtree_end end(node);
    node.next();
    T upper = detail::run_half<T>(first + left, n - left, leaf, combine, all, report);
    node.combines(!accesses_nothing<Combine, T>);
    if constexpr (accesses_nothing<Combine, T>) {
        return std::invoke(combine, lower, upper);
    } else {
        return detail::as_part(report, [&]() -> T {
            auto one = [&]() -> T { return std::invoke(combine, std::move(lower), std::move(upper)); };
            return race::of_program(one);
        });
    }
}
template <class T, class Leaf, class Combine>
[[nodiscard]] T run_tree(std::uint64_t, std::uint64_t n, Leaf& leaf, Combine& combine, common_size&,
                         common_report report) {
    race::loop all(true);
    all.next();
    T value = detail::run_half<T>(0, n, leaf, combine, all, report);
    all.ended();
    return value;
}

#else

template <class T, class Leaf, class Combine>
[[nodiscard]] T run_tree(std::uint64_t first, std::uint64_t n, Leaf& leaf, Combine& combine,
                         common_size& size, common_report report);

/// Evaluates a node of at most register_leaves leaves whose maps are too long for one call: maps them in
/// parallel, and combines their results as if they were numbers in memory, in the order of one call.
template <class T, class Leaf, class Combine>
[[nodiscard]] PILFER_NOINLINE T divided_block(std::uint64_t first, std::uint64_t n, Leaf& leaf,
                                              Combine& combine, common_size& size, common_report report) {
    struct nothing {};
    T values[register_leaves];
    auto map = [&](std::uint64_t from, std::uint64_t count) {
        leaf.map_to(&values[from - first], from, count);
        return nothing{};
    };
    auto both = [](nothing, nothing) { return nothing{}; };
    (void)detail::run_tree<nothing>(first, n, map, both, size, report);
    std::identity same;
    return detail::serial_tree<T>(&values[0], n, same, combine);
}

/// Evaluates the node of n > 0 leaves from `first` on. leaf(first, n) evaluates a subtree by one call.
template <class T, class Leaf, class Combine>
[[nodiscard]] T run_tree(std::uint64_t first, std::uint64_t n, Leaf& leaf, Combine& combine,
                         common_size& size, common_report report) {
    if (n <= size.get()) {
        auto part = [&]() -> T { return leaf(first, n); };
        if (!size.learns_from(n)) {
            return detail::as_part(report, part);
        }
        const std::uint64_t before = cheap_ticks();
        T value = detail::as_part(report, part);
        size.took(cheap_ticks() - before);
        return value;
    }
    if constexpr (requires(T * values) { leaf.map_to(values, first, n); }) {
        if (n <= register_leaves) {
            return detail::divided_block<T>(first, n, leaf, combine, size, report);
        }
    }
    const std::uint64_t left = detail::left_leaves(n);
    auto lower = [&]() -> T { return detail::run_tree<T>(first, left, leaf, combine, size, report); };
    auto upper = [&]() -> T {
        return detail::run_tree<T>(first + left, n - left, leaf, combine, size, report);
    };
    auto both = detail::join_two(this_worker(), lower, upper, report);
    return detail::as_part(report, [&]() -> T {
        // NOLINTNEXTLINE(bugprone-use-after-move): each takes another element
        return detail::combined<T>(combine, std::get<0>(std::move(both)), std::get<1>(std::move(both)));
    });
}

#endif

/// Evaluates subtrees of a reduction by one call.
template <class T, class I, class Map, class Combine>
struct subtree_of {
    I first;
    Map& map;
    Combine& combine;

    T operator()(std::uint64_t from, std::uint64_t count) {
        kept_close<Map, decltype(detail::element(first))> close_map = map;
        kept_close<Combine, T, T> close_combine = combine;
        return detail::serial_tree<T>(detail::advanced(first, from), count, close_map, close_combine);
    }
    /// Writes what the map returns for `count` elements.
    void map_to(T* out, std::uint64_t from, std::uint64_t count) requires by_registers<T, I, Map, Combine> {
        kept_close<Map, decltype(detail::element(first))> close_map = map;
        for (const std::uint64_t end = from + count; from != end; ++from) {
            *out++ = T(std::invoke(close_map, detail::element(detail::advanced(first, from))));
        }
    }
};

/// The number of elements that a leaf of the tree folds from left to right if no grain is given. A T that
/// owns memory may be a string or a vector that grows; folding appends to it, and a tree of single elements
/// would copy each of them log2 n times. Two thousand leaves are enough for balance.
template <class T>
[[nodiscard]] constexpr std::uint64_t leaf_size(std::uint64_t n, grain g) noexcept {
    if (g.size > 1 || std::is_trivially_copyable_v<T>) {
        return g.size;
    }
    return n / 2048 + 1;
}

/// Combines map(element) of n > 0 elements.
template <class T, class I, class Map, class Combine>
[[nodiscard]] T reduce_tree(I first, std::uint64_t n, Map& map, Combine& combine, grain g,
                            common_report report) {
    const std::uint64_t folded = detail::leaf_size<T>(n, g);
    constexpr bool is_short = in_memory<T, I, Map> && by_registers<T, I, Map, Combine>;
    common_size size(is_short && folded <= 1 ? 8 * register_leaves : 1);
    if (folded <= 1) {
#if defined(PILFER_RACE)
        const race::library_if<race::moves_alone<T> && (std::integral<I> || std::contiguous_iterator<I>)>
            here(2);
#endif
        subtree_of<T, I, Map, Combine> leaf{first, map, combine};
        return detail::run_tree<T>(0, n, leaf, combine, size, report);
    }
    const blocks_of blocks(n, folded);
    auto block = [&](std::uint64_t number) -> T {
        kept_close<Map, decltype(detail::element(first))> close_map = map;
        kept_close<Combine, T, T> close_combine = combine;
        return detail::serial_fold<T>(detail::advanced(first, blocks.begin(number)),
                                      detail::advanced(first, blocks.begin(number + 1)), close_map,
                                      close_combine);
    };
    subtree_of<T, std::uint64_t, decltype(block), Combine> leaf{0, block, combine};
    return detail::run_tree<T>(0, blocks.count(), leaf, combine, size, report);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
