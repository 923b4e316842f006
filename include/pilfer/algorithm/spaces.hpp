// Shapes of loops: chunks, planes, volumes, tiles, steps.
//
// All of them: indices are handled in any order and in parallel, and nothing is allocated. Functions are
// called from several workers at once. Exceptions and cancellation as for for_each.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <stdexcept>

#include <pilfer/detail/algorithm/spaces.hpp>
#include <pilfer/detail/algorithm/strided.hpp>
#include <pilfer/parallel/grain.hpp>
#include <pilfer/parallel/position.hpp>

namespace pilfer {
inline namespace v0 {

/// Calls body(begin, end) for pieces that together cover [first, last). Each piece takes about 4 us, so that
/// a call may prepare something for its elements. The grain is the least number of elements, but at the end.
/// The two ends are integers or random-access iterators.
struct for_each_chunk_algorithm {
    /// Calls body(begin, end) for pieces of [first, last).
    template <loop_position I, class Body>
    void operator()(I first, I last, Body body, grain g = {}) const {
        if (first < last) {
            detail::over_pieces(detail::range_size(first, last), g, [&](std::uint64_t b, std::uint64_t e) {
                body(detail::advanced(first, b), detail::advanced(first, e));
            });
        }
    }
};
/// `for_each_chunk`, to be called as a function.
inline constexpr for_each_chunk_algorithm for_each_chunk{};

/// Calls body(row, column) for all pairs of [0, rows) x [0, columns): row by row, in pieces of about 4 us.
/// The product has to fit into 64 bits.
struct for_each_2d_algorithm {
    /// Calls body for all indices of the space.
    template <std::integral N, class Body>
    void operator()(N rows, N columns, Body body, grain g = {}) const {
        detail::each_pair(rows, columns, body, g);
    }
};
/// `for_each_2d`, to be called as a function.
inline constexpr for_each_2d_algorithm for_each_2d{};

/// Calls body(plane, row, column) for all triples of [0, planes) x [0, rows) x [0, columns), the last index
/// fastest. The product has to fit into 64 bits.
struct for_each_3d_algorithm {
    /// Calls body for all indices of the space.
    template <std::integral N, class Body>
    void operator()(N planes, N rows, N columns, Body body, grain g = {}) const {
        detail::each_triple(planes, rows, columns, body, g);
    }
};
/// `for_each_3d`, to be called as a function.
inline constexpr for_each_3d_algorithm for_each_3d{};

/// Calls body(begin, end) for tiles that together cover [0, sizes[0]) x [0, sizes[1]) x ..., for any number
/// of dimensions. `begin` and `end` are arrays: the tile has the indices from begin[d] to end[d] in dimension
/// d. Tiles at the far sides may be smaller. A tile size below one counts as one. The number of tiles has to
/// fit into 64 bits; the grain counts tiles.
///
/// For neighbours in several dimensions that should stay in a cache: a matrix product, a transposition.
struct for_each_tile_algorithm {
    /// Calls body for all tiles of the space.
    template <std::integral N, std::size_t D, class Body>
    void operator()(const std::array<N, D>& sizes, const std::array<N, D>& tile, Body body,
                    grain g = {}) const {
        detail::each_tile(sizes, tile, body, g);
    }
};
/// `for_each_tile`, to be called as a function.
inline constexpr for_each_tile_algorithm for_each_tile{};

/// Every step-th position of a range, as a range with random access: for all algorithms.
template <loop_position I>
class strided_range : public std::ranges::view_interface<strided_range<I>> {
public:
    /// An empty range.
    strided_range() = default;
    /// The positions first, first + step, first + 2 * step and so on that are before `last`: integers, or the
    /// elements of iterators. There have to be fewer than 2^63. Throws std::invalid_argument if step < 1.
    strided_range(I first, I last, std::int64_t step)
        : m_begin(first, checked(step), 0), m_end(first, step, detail::steps_between(first, last, step)) {}
    /// The iterator of the first position; `base()` of an iterator is its position in the original range.
    [[nodiscard]] detail::strided_iterator<I> begin() const { return m_begin; }
    /// The end.
    [[nodiscard]] detail::strided_iterator<I> end() const { return m_end; }

private:
    static std::int64_t checked(std::int64_t step) {
        if (step < 1) {
            PILFER_THROW(std::invalid_argument("strided: a step must be at least 1"));
        }
        return step;
    }

    detail::strided_iterator<I> m_begin{};
    detail::strided_iterator<I> m_end{};
};

/// Makes loops and algorithms take steps: for_each(strided(0, n, 4), body), reduce(strided(v, 3), 0.0).
struct strided_function {
    /// Every step-th position of [first, last): integers, or the elements of iterators. Throws
    /// std::invalid_argument if step < 1.
    template <loop_position I>
    [[nodiscard]] strided_range<I> operator()(I first, I last, std::int64_t step) const {
        return {first, last, step};
    }
    /// Every step-th element of a range, from its first one. Throws std::invalid_argument if step < 1.
    template <detail::sequence_range R>
    requires std::ranges::borrowed_range<R>
    [[nodiscard]] strided_range<std::ranges::iterator_t<R>> operator()(R&& range, std::int64_t step) const {
        const auto first = std::ranges::begin(range);
        return {first, std::ranges::next(first, std::ranges::end(range)), step};
    }
};
/// `strided`, to be called as a function.
inline constexpr strided_function strided{};

} // namespace v0
} // namespace pilfer

/// @cond
// Its iterators do not refer to it.
template <class I>
inline constexpr bool std::ranges::enable_borrowed_range<pilfer::strided_range<I>> = true;
/// @endcond
