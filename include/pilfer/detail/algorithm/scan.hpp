// Prefix sums in blocks.
//
// The elements are cut into blocks whose size depends on their number alone. The prefix in front of a block
// is the one in front of the block before it, combined with that block's sum; the results within a block are
// folded from that prefix. Every schedule does this, so that all give the same bits:
//
//  * The worker at the lowest unfinished block knows its prefix. It computes the results and the block's sum
//    in one pass.
//  * The upper half of the blocks is offered if another worker asks, once before the first block, and after a
//    long block. A worker that takes it before the lower half has ended computes only the sums. When both
//    halves are done, the prefixes follow in order, and a loop over these blocks computes the results.
//  * If no thief has taken it by then, the upper half goes on in order.
//
// A pool of one worker therefore reads every element once; what another worker takes is read twice. Source of
// the two passes: Blelloch, CMU-CS-90-190.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <pilfer/detail/algorithm/ranges.hpp>
#include <pilfer/detail/parallel/pieces.hpp>
#include <pilfer/detail/parallel/tree.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Elements in a block of a scan of n elements.
[[nodiscard]] constexpr std::uint64_t scan_block(std::uint64_t n, grain g) noexcept {
    if (g.size > 1) {
        return g.size;
    }
    const std::uint64_t size = n / 256;
    return size < 64 ? 64 : size < 8192 ? size : 8192;
}

/// One scan of [0, n): from `in` to `out`, which may be the same.
template <bool Inclusive, class I, class O, class T, class Map, class Combine>
class scan_of {
public:
    scan_of(I in, O out, std::uint64_t n, Map& map, Combine& combine, grain g, common_report report) noexcept
        : m_in(in), m_out(out), m_map(map), m_combine(combine), m_blocks(n, detail::scan_block(n, g)),
          m_report(report) {}

    /// Writes all results; `prefix` is what comes before the first element.
    void run(T prefix) { this->in_order(0, m_blocks.count(), prefix, {}); }

private:
    /// The sum of a block is then told from its last result, with the same bits.
    static constexpr bool sum_is_last = any_grouping<Combine, T, T>;

    /// Writes the results of blocks [first, last). `prefix` becomes that of block `last`.
    void in_order(std::uint64_t first, std::uint64_t last, T& prefix, piece_size piece) {
        piece.start();
        while (first != last) {
            const std::uint64_t left = last - first;
            if (left > 1 &&
                (race::splits_all || piece.splits_unasked() || detail::split_wanted(this_worker(), piece))) {
                const std::uint64_t middle = last - detail::given_away(left);
                this->halves(first, middle, last, prefix, piece);
                return;
            }
            const std::uint64_t stop = first + piece.next(left);
            detail::as_part(m_report, [&] {
                auto blocks = [&](std::uint64_t from, std::uint64_t to) {
                    if constexpr (sum_is_last) {
                        this->results<true>(from, to, prefix);
                    } else {
                        for (; from != to; ++from) {
                            this->results<true>(from, from + 1, prefix);
                        }
                    }
                };
                detail::call_piece(blocks, first, stop);
            });
            first = stop;
            piece.done();
        }
    }
    void halves(std::uint64_t first, std::uint64_t middle, std::uint64_t last, T& prefix,
                const piece_size& piece) {
        lower_half below;
        bool in_order = false;
        std::unique_ptr<std::optional<T>[]> sums;
        auto sum_blocks = [&](std::uint64_t from, std::uint64_t to) {
            for (; from != to; ++from) {
                sums[from - middle].emplace(this->sum(from));
            }
        };
        auto lower = [&] {
            this->in_order(first, middle, prefix, piece.of_lower());
            below.ends();
        };
        auto upper = [&] {
            if (below.has_ended()) {
                in_order = true;
                this->in_order(middle, last, prefix, piece.of_upper());
                return;
            }
            sums.reset(new (std::nothrow) std::optional<T>[last - middle]);
            if (sums != nullptr) {
                detail::run_pieces(middle, last, sum_blocks, m_report, piece.of_upper());
            }
        };
        (void)detail::join_two(this_worker(), lower, upper, m_report);
        if (in_order) {
            return;
        }
        if (sums == nullptr) { // without memory for the sums the blocks just follow in order
            this->in_order(middle, last, prefix, piece.of_lower());
            return;
        }
        detail::as_part(m_report, [&] {
            for (std::uint64_t block = middle; block != last; ++block) {
                std::optional<T>& sum = sums[block - middle];
                T next = detail::combined<T>(m_combine, std::as_const(prefix), std::as_const(*sum));
                sum.emplace(std::move(prefix));
                prefix = std::move(next);
            }
        });
        auto write_blocks = [&](std::uint64_t from, std::uint64_t to) {
            for (; from != to; ++from) {
                this->results<false>(from, from + 1, *sums[from - middle]);
            }
        };
        detail::run_pieces(middle, last, write_blocks, m_report, piece.of_lower());
    }

    [[nodiscard]] T sum(std::uint64_t block) {
        kept_close<Map, std::iter_reference_t<I>> map = m_map;
        kept_close<Combine, T, T> combine = m_combine;
        return detail::serial_fold<T>(detail::at(m_in, m_blocks.begin(block)),
                                      detail::at(m_in, m_blocks.begin(block + 1)), map, combine);
    }
    /// Writes the results of a block, or of several ones if sum_is_last. With `Next`, `prefix` becomes that
    /// of the next block.
    template <bool Next>
    void results(std::uint64_t block, std::uint64_t last, T& prefix) {
        kept_close<Map, std::iter_reference_t<I>> map = m_map;
        kept_close<Combine, T, T> combine = m_combine;
        const std::uint64_t begin = m_blocks.begin(block);
        I from = detail::at(m_in, begin);
        const I stop = detail::at(m_in, m_blocks.begin(last));
        O to = detail::at(m_out, begin);
        if constexpr (!Next || sum_is_last) {
            T run = std::move(prefix);
            for (; from != stop; ++from, (void)++to) {
                run = step(run, detail::converted<T>(std::invoke(map, *from)), to, combine);
            }
            prefix = std::move(run);
        } else {
            // The element is read before the result is written: both may be in one place. The chain of the
            // sums runs beside the chain of the results and costs no time of its own.
            T total = T(std::invoke(map, *from));
            T run = step(prefix, std::as_const(total), to, combine);
            for (++from, (void)++to; from != stop; ++from, (void)++to) {
                const T value = T(std::invoke(map, *from));
                total = detail::combined<T>(combine, std::move(total), value);
                run = step(run, value, to, combine);
            }
            prefix = detail::combined<T>(combine, std::as_const(prefix), std::as_const(total));
        }
    }
    /// Writes one result and returns what comes before the next element.
    template <class Value, class Call>
    static PILFER_ALWAYS_INLINE T step(const T& run, Value&& value, O to, Call& combine) {
        if constexpr (Inclusive) {
            T next = detail::combined<T>(combine, run, std::forward<Value>(value));
            *to = next;
            return next;
        } else {
            T next = detail::combined<T>(combine, run, std::forward<Value>(value));
            *to = run;
            return next;
        }
    }

    I m_in;
    O m_out;
    Map& m_map;
    Combine& m_combine;
    blocks_of m_blocks;
    common_report m_report;
};

template <bool Inclusive, class I, class S, class O, class T, class Map, class Combine>
std::ranges::in_out_result<I, O> scan_all(I first, S last, O out, T init, Map& map, Combine& combine,
                                          grain g) {
    const std::uint64_t n = detail::length(first, last);
    if (n != 0) {
        detail::in_loop([&](common_report report) {
            scan_of<Inclusive, I, O, T, Map, Combine> scan(first, out, n, map, combine, g, report);
            scan.run(std::move(init));
        });
    }
    return {detail::at(first, n), detail::at(out, n)};
}

/// An inclusive scan without an initial value: the first element is one.
template <class I, class S, class O, class Map, class Combine>
std::ranges::in_out_result<I, O> scan_from_first(I first, S last, O out, Map& map, Combine& combine,
                                                 grain g) {
    using value = value_of<Map, I>;
    const std::uint64_t n = detail::length(first, last);
    if (n == 0) {
        return {first, out};
    }
    value init = std::invoke(map, *first);
    *out = init;
    return detail::scan_all<true>(detail::at(first, 1), detail::at(first, n), detail::at(out, 1),
                                  std::move(init), map, combine, g);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
