// Prefix sums in blocks.
//
// The elements are cut into blocks whose size depends on their number alone. The prefix in front of a block
// is the one in front of the block before it, combined with that block's sum; the results within a block are
// folded from that prefix. Every schedule does this, so that all give the same bits:
//
//  * The worker at the lowest unfinished block knows its prefix. It computes the results and the block's sum
//    in one pass, and goes on to the next block.
//  * A helper begins a quarter ahead, if another worker asks, once before the first block, and after a long
//    block. It computes sums until the first worker arrives where it began. Then it knows the prefix of the
//    block that it has come to, and computes results from there to the end. The first worker goes on over the
//    blocks whose sums are known.
//  * Blocks whose sums are known have known prefixes. All workers that ask compute their results.
//  * A helper that is asked shares sums: of as many blocks as it has passed. So the first worker, if it
//    arrives meanwhile, has as many results to compute.
//  * If the first worker comes to a block whose sum is missing, the helper was too late or too slow, and has
//    nothing more to do. It may still be reading that block, whose results may go to the same place. So the
//    first worker waits for it at the join of both, where it has to wait in any case, and goes on after that.
//  * Both may get helpers of their own.
//
// A pool of one worker therefore reads every element once; what a helper has passed is read twice. Source of
// sums that are computed ahead: Blelloch, CMU-CS-90-190.
#pragma once

#include <algorithm>
#include <atomic>
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

/// True if a loop has to be divided in the same way each time, or if the work of its parts is noted.
[[nodiscard]] inline bool splits_are_fixed() noexcept {
#if defined(PILFER_TEST)
    if (loops_are_fixed()) {
        return true;
    }
#endif
    return this_worker()->recording;
}

/// How far a helper has come that computes the sums of blocks ahead of another worker.
///
///   bits 2..63  a block: all before it have their sums
///   bit  1      the helper has begun, and may be reading this block and later ones
///   bit  0      over: the side that has set it goes on from this block
template <class T>
class head_start {
public:
    struct place {
        std::uint64_t block;
        bool has_begun;
        bool is_over;
    };

    explicit head_start(std::uint64_t first) noexcept : m_word(first << 2) {}

    [[nodiscard]] place now() const noexcept {
        const std::uint64_t seen = m_word.load(std::memory_order_acquire); // with move()
        return {seen >> 2, (seen & begun) != 0, (seen & over) != 0};
    }
    /// The other worker has come to the first block. It does not change `prefix` until this object ends.
    void arrive(const T& prefix) noexcept {
        m_prefix.store(std::addressof(prefix), std::memory_order_release);
    }
    /// The helper: the prefix of the first block, or null.
    [[nodiscard]] const T* prefix() const noexcept { return m_prefix.load(std::memory_order_acquire); }

    // Each of these is false if the other side has ended the head start.
    /// The helper begins.
    [[nodiscard]] bool begin(std::uint64_t first) noexcept {
        return this->move(first << 2, first << 2 | begun);
    }
    /// The helper has the sums of [first, stop). It leaves after the last sum of all.
    [[nodiscard]] bool pass(std::uint64_t first, std::uint64_t stop) noexcept {
        return this->move(first << 2 | begun, stop << 2 | begun);
    }
    /// The helper writes the results from `block` on.
    [[nodiscard]] bool lead(std::uint64_t block) noexcept {
        return this->move(block << 2 | begun, block << 2 | begun | over);
    }
    /// The other worker, which has come to the helper's block, does. Also false if the helper has moved.
    [[nodiscard]] bool end(const place& seen) noexcept {
        const std::uint64_t from = seen.block << 2 | (seen.has_begun ? begun : 0);
        return this->move(from, from | over);
    }

private:
    static constexpr std::uint64_t over = 1;
    static constexpr std::uint64_t begun = 2;

    [[nodiscard]] bool move(std::uint64_t from, std::uint64_t to) noexcept {
        return m_word.compare_exchange_strong(from, to, std::memory_order_acq_rel, std::memory_order_relaxed);
    }

    std::atomic<std::uint64_t> m_word;
    std::atomic<const T*> m_prefix{nullptr};
};

/// One scan of [0, n): from `in` to `out`, which may be the same.
template <bool Inclusive, class I, class O, class T, class Map, class Combine>
class scan_of {
public:
    scan_of(I in, O out, std::uint64_t n, Map& map, Combine& combine, grain g, common_report report) noexcept
        : m_in(in), m_out(out), m_map(map), m_combine(combine), m_blocks(n, detail::scan_block(n, g)),
          m_report(report) {}

    /// Writes all results; `prefix` is what comes before the first element.
    void run(T prefix) {
        if (race::splits_all || detail::splits_are_fixed()) {
            this->in_two_passes(std::move(prefix));
        } else {
            this->in_order(0, m_blocks.count(), prefix, {});
        }
    }

private:
    using block_sums = std::unique_ptr<std::optional<T>[]>; // null: there was no memory

    /// The sum of a block is then told from its last result, with the same bits.
    static constexpr bool sum_is_last = any_grouping<Combine, T, T>;
    /// Numbers are combined with each other first, four at a time, and then with what comes before them. So a
    /// result waits for a quarter of the combinations before it. Sums of integers are ready at once.
    static constexpr bool in_groups = std::is_arithmetic_v<T> && !sum_is_last;
    struct group {
        T sums[4]; // of the first element, the first two and so on
    };

    /// Writes the results of blocks [first, last). `prefix` becomes that of block `last`.
    void in_order(std::uint64_t first, std::uint64_t last, T& prefix, piece_size piece) {
        piece.start();
        while (first != last) {
            const std::uint64_t left = last - first;
            if (left > 1 && (piece.splits_unasked() || detail::split_wanted(this_worker(), piece))) {
                first = this->with_helper(first, first + (left + 3) / 4, last, prefix, piece);
                piece = piece.of_lower();
                piece.start();
                continue;
            }
            const std::uint64_t stop = first + piece.next(left);
            detail::as_part(m_report, [&] {
                auto blocks = [&](std::uint64_t from, std::uint64_t to) {
                    prefix = this->write(from, to, prefix);
                };
                detail::call_piece(blocks, first, stop);
            });
            first = stop;
            piece.done();
        }
    }
    /// Writes results from `first` on; a helper may begin at `middle`. Returns the block where results are
    /// missing, or `last`; `prefix` becomes that of this block.
    [[nodiscard]] std::uint64_t with_helper(std::uint64_t first, std::uint64_t middle, std::uint64_t last,
                                            T& prefix, const piece_size& piece) {
        head_start<T> ahead(middle);
        block_sums sums; // from `middle` on; the helper allocates them
        std::optional<T> end;
        std::uint64_t at = middle;
        auto lower = [&] {
            this->in_order(first, middle, prefix, piece.of_lower());
            at = this->follow(ahead, middle, last, prefix, sums, end, piece.of_lower());
        };
        auto upper = [&] { this->help(ahead, middle, last, sums, end, piece.of_upper()); };
        (void)detail::join_two(this_worker(), lower, upper, m_report);
        if (end.has_value()) {
            prefix = std::move(*end);
        }
        return at;
    }
    /// Goes on at block `first`, where the helper began. Returns the block that it has caught the helper at,
    /// or `last`. Sets `end`, if the helper does not, to the prefix of that block unless this is `prefix`.
    [[nodiscard]] std::uint64_t follow(head_start<T>& ahead, std::uint64_t first, std::uint64_t last,
                                       const T& prefix, const block_sums& sums, std::optional<T>& end,
                                       piece_size piece) {
        std::uint64_t at = first;
        const T* before = std::addressof(prefix);
        std::optional<T> mine;
        auto block = [&](std::uint64_t from, std::uint64_t to) {
            mine = this->write(from, to, *before);
            before = std::addressof(*mine);
        };
        ahead.arrive(prefix);
        auto helper = ahead.now();
        for (; !helper.is_over && helper.block != last; helper = ahead.now()) {
            if (helper.block != at) {
                (void)detail::split_wanted(this_worker(), piece); // leaves if the scan is stopped
                detail::as_part(m_report, [&] { detail::call_piece(block, at, at + 1); });
                ++at;
            } else if (ahead.end(helper)) {
                end = std::move(mine);
                return at;
            }
        }
        if (at != helper.block) {
            this->write_known(at, helper.block, sums.get() + (at - first), *before, piece);
        }
        if (!helper.is_over) {
            end = std::move(sums[last - first - 1]);
        }
        return last;
    }
    /// Computes sums of blocks from `first` on, and when the other worker has come there, results.
    void help(head_start<T>& ahead, std::uint64_t first, std::uint64_t last, block_sums& sums,
              std::optional<T>& end, piece_size piece) {
        if (ahead.now().is_over) { // as a rule: no other worker has taken this
            return;
        }
        sums.reset(new (std::nothrow) std::optional<T>[last - first]);
        if (sums == nullptr || !ahead.begin(first)) { // the other one goes on alone
            return;
        }
        std::uint64_t at = first;
        while (at != last && ahead.prefix() == nullptr) {
            const std::uint64_t stop = this->sum_some(at, first, last, sums.get(), piece);
            if (!ahead.pass(at, stop)) {
                return;
            }
            at = stop;
        }
        if (at == first || at == last) { // without a sum it would only be in the way
            return;
        }
        std::optional<T> next;
        detail::as_part(m_report, [&] {
            next = this->after(*ahead.prefix(), sums[0]);
            for (std::uint64_t i = 1; i != at - first; ++i) {
                next = this->after(*next, sums[i]);
            }
        });
        if (ahead.lead(at)) { // from here on the sums are the other worker's
            end = std::move(next);
            this->in_order(at, last, *end, piece);
        }
    }
    /// Computes the sum of block `at`, or if another worker asks, of as many as there are from `first` to it.
    /// Returns the next block.
    [[nodiscard]] std::uint64_t sum_some(std::uint64_t at, std::uint64_t first, std::uint64_t last,
                                         std::optional<T>* sums, piece_size& piece) {
        auto sum_blocks = [&](std::uint64_t from, std::uint64_t to) {
            for (; from != to; ++from) {
                sums[from - first].emplace(this->sum(from));
            }
        };
        if (detail::split_wanted(this_worker(), piece) && at != first) {
            const std::uint64_t stop = at + std::min(at - first, last - at);
            detail::run_pieces(at, stop, sum_blocks, m_report, piece);
            return stop;
        }
        detail::as_part(m_report, [&] { detail::call_piece(sum_blocks, at, at + 1); });
        return at + 1;
    }
    [[nodiscard]] T after(const T& prefix, const std::optional<T>& sum) {
        return detail::combined<T>(m_combine, prefix, *sum);
    }
    /// Writes the results of blocks [first, last) in parallel. `sums` are those of the blocks; each becomes
    /// the prefix of the next block.
    void write_known(std::uint64_t first, std::uint64_t last, std::optional<T>* sums, const T& prefix,
                     const piece_size& piece) {
        auto before = [&](std::uint64_t i) -> const T& { return i == first ? prefix : *sums[i - first - 1]; };
        detail::as_part(m_report, [&] {
            for (std::uint64_t i = first; i != last; ++i) {
                sums[i - first].emplace(this->after(before(i), sums[i - first]));
            }
        });
        auto write_blocks = [&](std::uint64_t from, std::uint64_t to) {
            for (; from != to; ++from) {
                (void)this->results(from, from + 1, before(from));
            }
        };
        detail::run_pieces(first, last, write_blocks, m_report, piece);
    }

    /// The form whose parts do not depend on who is faster.
    void in_two_passes(T prefix) {
        const std::uint64_t count = m_blocks.count();
        const block_sums sums(new (std::nothrow) std::optional<T>[count]);
        if (sums == nullptr) {
            auto all = [&](std::uint64_t from, std::uint64_t to) { prefix = this->write(from, to, prefix); };
            detail::as_part(m_report, [&] { detail::call_piece(all, 0, count); });
            return;
        }
        auto sum_blocks = [&](std::uint64_t from, std::uint64_t to) {
            for (; from != to; ++from) {
                sums[from].emplace(this->sum(from));
            }
        };
        detail::run_pieces(0, count, sum_blocks, m_report, {});
        this->write_known(0, count, sums.get(), prefix, {});
    }

    /// Writes the results of blocks and returns the prefix of block `last`.
    [[nodiscard]] T write(std::uint64_t first, std::uint64_t last, const T& prefix) {
        if constexpr (sum_is_last) {
            return this->results(first, last, prefix);
        } else {
            T next = this->results_and_sum(first, prefix);
            while (++first != last) {
                next = this->results_and_sum(first, next);
            }
            return next;
        }
    }
    [[nodiscard]] T sum(std::uint64_t i) {
        kept_close<Map, std::iter_reference_t<I>> map = m_map;
        kept_close<Combine, T, T> combine = m_combine;
        I from = detail::at(m_in, m_blocks.begin(i));
        std::uint64_t left = m_blocks.begin(i + 1) - m_blocks.begin(i) - 1;
        T total = T(std::invoke(map, *from));
        ++from;
        if constexpr (in_groups) {
            for (; left >= 4; left -= 4) {
                total = detail::combined<T>(combine, total, next_group(from, map, combine).sums[3]);
            }
        }
        for (; left != 0; --left, (void)++from) {
            total =
                detail::combined<T>(combine, std::move(total), detail::converted<T>(std::invoke(map, *from)));
        }
        return total;
    }
    /// Writes results that are folded from `prefix`, and returns what comes after them.
    T results(std::uint64_t first, std::uint64_t last, const T& prefix) {
        kept_close<Map, std::iter_reference_t<I>> map = m_map;
        kept_close<Combine, T, T> combine = m_combine;
        const std::uint64_t begin = m_blocks.begin(first);
        I from = detail::at(m_in, begin);
        O to = detail::at(m_out, begin);
        std::uint64_t left = m_blocks.begin(last) - begin - 1;
        T run = step(prefix, detail::converted<T>(std::invoke(map, *from)), to, combine);
        ++from;
        ++to;
        if constexpr (in_groups) {
            for (; left >= 4; left -= 4) {
                run = write_group(run, next_group(from, map, combine), to, combine);
            }
        }
        for (; left != 0; --left, (void)++from, (void)++to) {
            run = step(run, detail::converted<T>(std::invoke(map, *from)), to, combine);
        }
        return run;
    }
    /// Likewise for one block, but returns the prefix of the next one.
    T results_and_sum(std::uint64_t i, const T& prefix) {
        kept_close<Map, std::iter_reference_t<I>> map = m_map;
        kept_close<Combine, T, T> combine = m_combine;
        const std::uint64_t begin = m_blocks.begin(i);
        I from = detail::at(m_in, begin);
        O to = detail::at(m_out, begin);
        std::uint64_t left = m_blocks.begin(i + 1) - begin - 1;
        // The element is read before the result is written: both may be in one place. The chain of the sums
        // runs beside the chain of the results and costs no time of its own.
        T total = T(std::invoke(map, *from));
        T run = step(prefix, std::as_const(total), to, combine);
        ++from;
        ++to;
        if constexpr (in_groups) {
            for (; left >= 4; left -= 4) {
                const group g = next_group(from, map, combine);
                total = detail::combined<T>(combine, total, g.sums[3]);
                run = write_group(run, g, to, combine);
            }
        }
        for (; left != 0; --left, (void)++from, (void)++to) {
            const T value = T(std::invoke(map, *from));
            total = detail::combined<T>(combine, std::move(total), value);
            run = step(run, value, to, combine);
        }
        return detail::combined<T>(combine, prefix, std::as_const(total));
    }

    /// Reads four elements.
    template <class Function, class Call>
    static PILFER_ALWAYS_INLINE group next_group(I& from, Function& map, Call& combine) {
        group g;
        g.sums[0] = T(std::invoke(map, *from));
        for (unsigned k = 1; k != 4; ++k) {
            g.sums[k] =
                detail::combined<T>(combine, g.sums[k - 1], detail::converted<T>(std::invoke(map, *++from)));
        }
        ++from;
        return g;
    }
    /// Writes four results and returns what comes before the next element.
    template <class Call>
    static PILFER_ALWAYS_INLINE T write_group(const T& run, const group& g, O& to, Call& combine) {
        const T sums[] = {
            detail::combined<T>(combine, run, g.sums[0]), detail::combined<T>(combine, run, g.sums[1]),
            detail::combined<T>(combine, run, g.sums[2]), detail::combined<T>(combine, run, g.sums[3])};
        for (unsigned k = 0; k != 4; ++k, (void)++to) {
            if constexpr (Inclusive) {
                *to = sums[k];
            } else {
                *to = k == 0 ? run : sums[k - 1];
            }
        }
        return sums[3];
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
