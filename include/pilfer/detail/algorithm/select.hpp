// Selections: which elements stay, and where they go.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <pilfer/detail/algorithm/ranges.hpp>
#include <pilfer/detail/base/pages.hpp>
#include <pilfer/detail/parallel/pieces.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// One bit for every element of [begin, end), and how many are set in each block of 4096.
///
/// A first loop marks, each element once; the offsets of the blocks are added up; a second loop copies to
/// where the offsets say. One bit an element is all that has to be remembered between the two.
class selection {
public:
    static constexpr std::uint64_t block_size = 4096;

    selection(std::uint64_t begin, std::uint64_t end) noexcept
        : m_begin(begin), m_end(end), m_words(new (std::nothrow) std::uint64_t[this->word_count()]),
          m_offsets(new (std::nothrow) std::uint64_t[this->block_count()]) {}
    [[nodiscard]] bool has_memory() const noexcept { return m_words != nullptr && m_offsets != nullptr; }
    [[nodiscard]] std::uint64_t block_count() const noexcept {
        return (m_end - m_begin + block_size - 1) / block_size;
    }

    /// Marks the elements of a block that pred(proj(element)) holds for.
    template <class I, class Pred, class Proj>
    void mark(I first, std::uint64_t block, Pred& pred, Proj& proj) {
        close_call<Proj, std::iter_reference_t<I>> project = proj;
        close_call<Pred, std::indirect_result_t<Proj&, I>> call = pred;
        std::uint64_t index = this->first_of(block);
        const std::uint64_t stop = this->first_of(block + 1);
        std::uint64_t* word = &m_words[(index - m_begin) / 64];
        std::uint64_t count = 0;
        I from = detail::at(first, index);
        while (index != stop) {
            const auto bits = static_cast<unsigned>(stop - index < 64 ? stop - index : 64);
            std::uint64_t marks = 0;
            for (unsigned bit = 0; bit != bits; ++bit, (void)++from) {
                const bool stays = static_cast<bool>(std::invoke(call, std::invoke(project, *from)));
                marks |= std::uint64_t{stays} << bit;
            }
            *word++ = marks;
            count += static_cast<std::uint64_t>(std::popcount(marks));
            index += bits;
        }
        m_offsets[block] = count;
    }
    /// Turns the counts of the blocks into offsets from `start`. Returns the end.
    std::uint64_t add_up(std::uint64_t start) noexcept {
        for (std::uint64_t block = 0; block != this->block_count(); ++block) {
            start += std::exchange(m_offsets[block], start);
        }
        return start;
    }
    /// Copies the marked elements of a block to out + its offset.
    template <class I, class O>
    void place(I first, std::uint64_t block, O out) const {
        const std::uint64_t begin = this->first_of(block);
        const std::uint64_t stop = this->first_of(block + 1);
        O to = detail::at(out, m_offsets[block]);
        const std::uint64_t* word = &m_words[(begin - m_begin) / 64];
        for (std::uint64_t index = begin; index < stop; index += 64) {
            const I from = detail::at(first, index);
            for (std::uint64_t marks = *word++; marks != 0; marks &= marks - 1, (void)++to) {
                *to = from[static_cast<std::iter_difference_t<I>>(std::countr_zero(marks))];
            }
        }
    }

    /// mark() and place() of all blocks, in parallel.
    template <class I, class Pred, class Proj>
    void mark_all(I first, Pred& pred, Proj& proj, common_report report, piece_size piece) {
        auto blocks = [&](std::uint64_t from, std::uint64_t to) {
            for (; from != to; ++from) {
                this->mark(first, from, pred, proj);
            }
        };
        detail::run_pieces(0, this->block_count(), blocks, report, piece);
    }
    template <class I, class O>
    void place_all(I first, O out, common_report report, piece_size piece) const {
        auto blocks = [&](std::uint64_t from, std::uint64_t to) {
            for (; from != to; ++from) {
                this->place(first, from, out);
            }
        };
        detail::run_pieces(0, this->block_count(), blocks, report, piece);
    }
    /// Appends the marked elements of a block to a vector.
    template <class I, class T>
    void append(I first, std::uint64_t block, std::vector<T>& out) const {
        const std::uint64_t stop = this->first_of(block + 1);
        for (std::uint64_t index = this->first_of(block); index != stop; ++index) {
            if ((m_words[(index - m_begin) / 64] >> ((index - m_begin) % 64) & 1) != 0) {
                out.push_back(*detail::at(first, index));
            }
        }
    }

private:
    [[nodiscard]] std::uint64_t word_count() const noexcept { return (m_end - m_begin + 63) / 64; }
    [[nodiscard]] std::uint64_t first_of(std::uint64_t block) const noexcept {
        const std::uint64_t index = m_begin + block * block_size;
        return index < m_end ? index : m_end;
    }

    std::uint64_t m_begin;
    std::uint64_t m_end;
    std::unique_ptr<std::uint64_t[]> m_words;
    std::unique_ptr<std::uint64_t[]> m_offsets;
};

/// Copies the elements of a range that stay, in order. Each part is copied at once, to where the part before
/// it has ended.
///
/// The upper half of a part is offered if a worker asks, once before the first element, and after a long one.
/// If another worker takes it before the lower half has ended, its elements are marked, and copied when it is
/// known how many come before them: they are read twice.
template <class I, class O, class Pred, class Proj>
class selective_copy {
public:
    selective_copy(I in, O out, Pred& pred, Proj& proj, common_report report)
        : m_in(in), m_out(out), m_pred(pred), m_proj(proj), m_report(report) {}

    /// Copies the elements of [first, last) that stay. All parts before it have ended.
    void run(std::uint64_t first, std::uint64_t last, piece_size piece) {
        piece.start();
        while (first != last) {
            const std::uint64_t left = last - first;
            if (left >= 2 * 64 &&
                (race::splits_all || piece.splits_unasked() || detail::split_wanted(this_worker(), piece))) {
                const std::uint64_t middle = last - detail::given_away(left);
                if (this->run_halves(first, middle, last, piece)) {
                    return;
                }
                first = middle;
                continue;
            }
            const std::uint64_t stop = first + piece.next(left);
            auto copies = [this](std::uint64_t b, std::uint64_t e) { this->copy(b, e); };
            detail::as_part(m_report, [&] { detail::call_piece(copies, first, stop); });
            first = stop;
            piece.done();
        }
    }
    /// Number of elements that were copied.
    [[nodiscard]] std::uint64_t count() const noexcept { return m_count; }

private:
    /// False: there was no memory for marks, and the upper half was left out.
    [[nodiscard]] bool run_halves(std::uint64_t first, std::uint64_t middle, std::uint64_t last,
                                  piece_size piece) {
        lower_half below;
        bool in_order = false;
        std::optional<selection> chosen;
        auto lower = [&] {
            this->run(first, middle, piece.of_lower());
            below.ends();
        };
        auto upper = [&] {
            in_order = below.has_ended();
            if (in_order) {
                this->run(middle, last, piece.of_upper());
                return;
            }
            chosen.emplace(middle, last);
            if (chosen->has_memory()) {
                chosen->mark_all(m_in, m_pred, m_proj, m_report, piece.of_upper());
            }
        };
        (void)detail::join_two(this_worker(), lower, upper, m_report);
        if (in_order) {
            return true;
        }
        if (!chosen->has_memory()) {
            return false;
        }
        m_count = chosen->add_up(m_count);
        chosen->place_all(m_in, m_out, m_report, piece.of_lower());
        return true;
    }
    void copy(std::uint64_t b, std::uint64_t e) {
        close_call<Proj, std::iter_reference_t<I>> project = m_proj;
        close_call<Pred, std::indirect_result_t<Proj&, I>> call = m_pred;
        O to = detail::at(m_out, m_count);
        const O before = to;
        for (I from = detail::at(m_in, b), end = detail::at(m_in, e); from != end; ++from) {
            if (std::invoke(call, std::invoke(project, *from))) {
                *to = *from;
                ++to;
            }
        }
        m_count += static_cast<std::uint64_t>(to - before);
    }

    I m_in;
    O m_out;
    Pred& m_pred;
    Proj& m_proj;
    common_report m_report;
    std::uint64_t m_count = 0; // changed by one part after the other
};

template <class I, class S, class O, class Pred, class Proj>
std::ranges::copy_if_result<I, O> copy_selected(I first, S last, O out, Pred& pred, Proj& proj) {
    const std::uint64_t n = detail::length(first, last);
    std::uint64_t count = 0;
    if (n != 0) {
        detail::in_loop([&](common_report report) {
            selective_copy<I, O, Pred, Proj> copy(first, out, pred, proj, report);
            copy.run(0, n, {});
            count = copy.count();
        });
    }
    return {detail::at(first, n), detail::at(out, count)};
}

/// True if several workers at once can assign From to the elements of a std::vector<T>.
template <class T, class From>
inline constexpr bool separate_elements =
    std::is_default_constructible_v<T>&& std::is_assignable_v<T&, From> && !std::is_same_v<T, bool>;

/// Lets all workers get the memory of a large vector from the system, which has reserved it for resize().
/// That would get it on one thread.
template <class T>
void populate(std::vector<T>& v, common_report report) {
    constexpr std::size_t large = std::size_t{1} << 25; // malloc of glibc has no such block at hand
    constexpr std::size_t part = std::size_t{1} << 22;
    const std::size_t bytes = v.capacity() * sizeof(T);
    if (bytes < large) {
        return;
    }
    auto parts = [&](std::uint64_t from, std::uint64_t to) {
        const std::size_t begin = static_cast<std::size_t>(from) * part;
        const std::size_t end = std::min(static_cast<std::size_t>(to) * part, bytes);
        detail::populate_pages(reinterpret_cast<std::byte*>(v.data()) + begin, end - begin);
    };
    detail::run_pieces(0, (bytes + part - 1) / part, parts, report, {});
}

template <class T, class I, class S, class Pred, class Proj>
[[nodiscard]] std::vector<T> filtered(I first, S last, Pred& pred, Proj& proj) {
    const std::uint64_t n = detail::length(first, last);
    std::vector<T> out;
    if (n == 0) {
        return out;
    }
    detail::in_loop([&](common_report report) {
        selection chosen(0, n);
        if (!chosen.has_memory()) {
            PILFER_THROW(std::bad_alloc());
        }
        chosen.mark_all(first, pred, proj, report, {});
        const std::uint64_t count = chosen.add_up(0);
        if constexpr (separate_elements<T, std::iter_reference_t<I>>) {
            out.reserve(static_cast<std::size_t>(count));
            detail::populate(out, report);
            out.resize(static_cast<std::size_t>(count));
            chosen.place_all(first, out.begin(), report, {});
        } else {
            out.reserve(static_cast<std::size_t>(count));
            for (std::uint64_t block = 0; block != chosen.block_count(); ++block) {
                detail::as_part(report, [&] { chosen.append(first, block, out); });
            }
        }
    });
    return out;
}

/// The elements of a part that stay: [begin, end) after they have moved to its front.
struct part_kept {
    std::uint64_t begin;
    std::uint64_t end;
};

/// Moves what stays of the elements [b, e) down to the end of their part.
template <class I, class Stays>
void compact_piece(I first, part_kept& part, std::uint64_t b, std::uint64_t e, Stays& stays) {
    I from = detail::at(first, b);
    const I stop = detail::at(first, e);
    if (Stays::first_stays && b == part.begin) {
        ++from;
    }
    I to = detail::at(first, part.end);
    if (part.end == b) { // all have stayed, and the next ones stay where they are until one goes
        while (from != stop && stays(from, from)) {
            ++from;
        }
        to = from;
        if (from != stop) {
            ++from;
        }
    }
    for (; from != stop; ++from) {
        if (stays(from, to)) {
            *to = std::ranges::iter_move(from);
            ++to;
        }
    }
    part.end = static_cast<std::uint64_t>(to - first);
}

/// Moves what stays to the front, in order. stays(element, end) decides about an element: `end` is the
/// iterator after the elements that stay so far in its part. If Stays::first_stays, the first one of a part
/// is not asked about. Each part is moved to its own front. If two parts meet, the upper one's elements move
/// down. If stays.at_seam(it, end) is false, the upper one's first element goes.
template <class I, class Stays>
[[nodiscard]] std::ranges::subrange<I> compact(I first, std::uint64_t n, grain g, Stays stays) {
    const part_kept all = detail::over_fold(
        n, g,
        [](std::uint64_t begin) {
            return part_kept{begin, begin};
        },
        [&](part_kept& part, std::uint64_t b, std::uint64_t e) {
            detail::compact_piece(first, part, b, e, stays);
        },
        [&](part_kept& part, std::uint64_t middle, part_kept other) {
            std::uint64_t from = middle;
            if (from != other.end && part.end != part.begin &&
                !stays.at_seam(detail::at(first, from), detail::at(first, part.end))) {
                ++from;
            }
            if (part.end == from) {
                part.end = other.end;
                return;
            }
            std::ranges::move(detail::at(first, from), detail::at(first, other.end),
                              detail::at(first, part.end));
            part.end += other.end - from;
        });
    return {detail::at(first, all.end), detail::at(first, n)};
}

template <class Pred, class Proj>
struct stays_unless {
    static constexpr bool first_stays = false;
    Pred& pred;
    Proj& proj;
    template <class I>
    [[nodiscard]] bool operator()(const I& element, const I&) const {
        return !std::invoke(pred, std::invoke(proj, *element));
    }
    template <class I>
    [[nodiscard]] static bool at_seam(const I&, const I&) noexcept {
        return true;
    }
};
template <class Same, class Proj>
struct stays_if_new {
    static constexpr bool first_stays = true;
    Same& same;
    Proj& proj;
    template <class I>
    [[nodiscard]] bool operator()(const I& element, I end) const {
        return !std::invoke(same, std::invoke(proj, *--end), std::invoke(proj, *element));
    }
    template <class I>
    [[nodiscard]] bool at_seam(const I& element, I end) const {
        return (*this)(element, end);
    }
};

template <class I, class S, class Pred, class Proj>
std::ranges::subrange<I> removed(I first, S last, Pred& pred, Proj& proj, grain g) {
    return detail::compact(first, detail::length(first, last), g, stays_unless<Pred, Proj>{pred, proj});
}
template <class I, class S, class Same, class Proj>
std::ranges::subrange<I> made_unique(I first, S last, Same& same, Proj& proj, grain g) {
    return detail::compact(first, detail::length(first, last), g, stays_if_new<Same, Proj>{same, proj});
}

/// Swaps elements with pred(proj(element)) to the front of their part, from both ends of what is left of it.
/// If two parts meet, the others of the lower one change places with what the upper one has at its front.
template <class I, class Pred, class Proj>
class partition_of {
public:
    partition_of(I first, Pred& pred, Proj& proj, grain g, common_report report)
        : m_first(first), m_pred(pred), m_proj(proj), m_grain(g.size == 0 ? 1 : g.size), m_report(report) {}

    /// Partitions [first, last) and returns where its others begin.
    [[nodiscard]] std::uint64_t run(std::uint64_t first, std::uint64_t last, piece_size piece) {
        piece.start();
        while (first != last) {
            const std::uint64_t left = blocks_of(last - first, m_grain).count();
            if (left > 1 &&
                (race::splits_all || piece.splits_unasked() || detail::split_wanted(this_worker(), piece))) {
                return this->run_halves(first, first + (left - detail::given_away(left)) * m_grain, last,
                                        piece);
            }
            const std::uint64_t size = piece.next(left) * m_grain;
            detail::as_part(m_report, [&] {
                auto part = [&](std::uint64_t b, std::uint64_t e) {
                    std::tie(first, last) = this->swap_some(b, e, size - size / 2);
                };
                detail::call_piece(part, first, last);
            });
            piece.done();
        }
        return first;
    }

private:
    [[nodiscard]] std::uint64_t run_halves(std::uint64_t first, std::uint64_t middle, std::uint64_t last,
                                           const piece_size& piece) {
        auto lower = [&] { return this->run(first, middle, piece.of_lower()); };
        auto upper = [&] { return this->run(middle, last, piece.of_upper()); };
        const auto [low, high] = detail::join_two(this_worker(), lower, upper, m_report);
        const std::uint64_t below = middle - low;
        const std::uint64_t above = high - middle;
        const std::uint64_t swaps = below < above ? below : above;
        detail::as_part(m_report, [&, at = low, end = high] {
            std::ranges::swap_ranges(detail::at(m_first, at), detail::at(m_first, at + swaps),
                                     detail::at(m_first, end - swaps), detail::at(m_first, end));
        });
        return low + above;
    }
    /// Decides about elements at both ends of [first, last), at most `most` at each. Returns what is left.
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> swap_some(std::uint64_t first, std::uint64_t last,
                                                                    std::uint64_t most) {
        close_call<Proj, std::iter_reference_t<I>> project = m_proj;
        close_call<Pred, std::indirect_result_t<Proj&, I>> call = m_pred;
        const auto holds = [&](const I& at) {
            return static_cast<bool>(std::invoke(call, std::invoke(project, *at)));
        };
        const std::uint64_t half = (last - first) / 2;
        I low = detail::at(m_first, first);
        I high = detail::at(m_first, last);
        const I low_stop = detail::at(low, std::min(most, last - first - half));
        const I high_stop = detail::at(m_first, last - std::min(most, half));
        for (;;) {
            while (low != low_stop && holds(low)) {
                ++low;
            }
            if (low == low_stop) {
                break;
            }
            while (high != high_stop && !holds(high - 1)) {
                --high;
            }
            if (high-- == high_stop) { // an element that has not been looked at comes to `low`
                if (low != high) {
                    std::ranges::iter_swap(low, high);
                }
                break;
            }
            std::ranges::iter_swap(low, high);
            ++low;
        }
        return {static_cast<std::uint64_t>(low - m_first), static_cast<std::uint64_t>(high - m_first)};
    }

    I m_first;
    Pred& m_pred;
    Proj& m_proj;
    std::uint64_t m_grain;
    common_report m_report;
};

template <class I, class S, class Pred, class Proj>
std::ranges::subrange<I> partitioned(I first, S last, Pred& pred, Proj& proj, grain g) {
    const std::uint64_t n = detail::length(first, last);
    std::uint64_t others = 0;
    if (n != 0) {
        detail::in_loop([&](common_report report) {
            others = partition_of<I, Pred, Proj>(first, pred, proj, g, report).run(0, n, {});
        });
    }
    return {detail::at(first, others), detail::at(first, n)};
}

} // namespace detail
} // namespace v0
} // namespace pilfer
