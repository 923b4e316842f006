// The loops of <pilfer/algorithm/spaces.hpp>.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <pilfer/detail/algorithm/ranges.hpp>
#include <pilfer/detail/parallel/pieces.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

template <std::integral N, class Body>
void each_pair(N rows, N columns, Body& body, grain g) {
    if (rows <= 0 || columns <= 0) {
        return;
    }
    const auto width = static_cast<std::uint64_t>(columns);
    detail::over_pieces(static_cast<std::uint64_t>(rows) * width, g, [&](std::uint64_t b, std::uint64_t e) {
        close_call<Body, N, N> call = body;
        std::uint64_t row = b / width;
        for (std::uint64_t begin = b % width; b != e; begin = 0, ++row) {
            const std::uint64_t end = e - b < width - begin ? begin + (e - b) : width;
            b += end - begin;
            for (std::uint64_t column = begin; column != end; ++column) {
                call(static_cast<N>(row), static_cast<N>(column));
            }
        }
    });
}

template <std::integral N, class Body>
void each_triple(N planes, N rows, N columns, Body& body, grain g) {
    if (planes <= 0 || rows <= 0 || columns <= 0) {
        return;
    }
    const auto height = static_cast<std::uint64_t>(rows);
    const auto width = static_cast<std::uint64_t>(columns);
    const std::uint64_t all = static_cast<std::uint64_t>(planes) * height * width;
    detail::over_pieces(all, g, [&](std::uint64_t b, std::uint64_t e) {
        close_call<Body, N, N, N> call = body;
        std::uint64_t plane = b / width / height;
        std::uint64_t row = b / width % height;
        for (std::uint64_t begin = b % width; b != e; begin = 0) {
            const std::uint64_t end = e - b < width - begin ? begin + (e - b) : width;
            b += end - begin;
            for (std::uint64_t column = begin; column != end; ++column) {
                call(static_cast<N>(plane), static_cast<N>(row), static_cast<N>(column));
            }
            if (++row == height) {
                row = 0;
                ++plane;
            }
        }
    });
}

/// A space of D dimensions, cut into tiles that are numbered with the last dimension fastest.
template <std::integral N, std::size_t D>
class tiled_space {
public:
    tiled_space(const std::array<N, D>& sizes, const std::array<N, D>& tile) noexcept {
        for (std::size_t d = 0; d != D; ++d) {
            m_sizes[d] = sizes[d] > 0 ? static_cast<std::uint64_t>(sizes[d]) : 0;
            m_tile[d] = tile[d] > 0 ? static_cast<std::uint64_t>(tile[d]) : 1;
            m_tiles[d] = m_sizes[d] / m_tile[d] + (m_sizes[d] % m_tile[d] != 0 ? 1 : 0);
        }
    }
    [[nodiscard]] std::uint64_t count() const noexcept {
        std::uint64_t all = 1;
        for (const std::uint64_t n : m_tiles) {
            all *= n;
        }
        return all;
    }
    /// Calls body(begin, end) for one tile.
    template <class Body>
    void visit(std::uint64_t number, Body& body) const {
        std::array<N, D> begin{};
        std::array<N, D> end{};
        for (std::size_t d = D; d-- != 0; number /= m_tiles[d]) {
            const std::uint64_t from = number % m_tiles[d] * m_tile[d];
            const std::uint64_t left = m_sizes[d] - from;
            begin[d] = static_cast<N>(from);
            end[d] = static_cast<N>(from + (left < m_tile[d] ? left : m_tile[d]));
        }
        body(begin, end);
    }

private:
    std::array<std::uint64_t, D> m_sizes{};
    std::array<std::uint64_t, D> m_tile{};
    std::array<std::uint64_t, D> m_tiles{}; ///< how many in this dimension
};

template <std::integral N, std::size_t D, class Body>
void each_tile(const std::array<N, D>& sizes, const std::array<N, D>& tile, Body& body, grain g) {
    static_assert(D != 0, "a space has one dimension at least");
    const tiled_space<N, D> space(sizes, tile);
    detail::over_pieces(space.count(), g, [&](std::uint64_t b, std::uint64_t e) {
        for (; b != e; ++b) {
            space.visit(b, body);
        }
    });
}

} // namespace detail
} // namespace v0
} // namespace pilfer
