// The smallest and the largest element, and where two ranges differ.
#pragma once

#include <cstdint>

#include <pilfer/detail/algorithm/collected.hpp>
#include <pilfer/detail/algorithm/ranges.hpp>
#include <pilfer/detail/algorithm/search.hpp>
#include <pilfer/detail/parallel/pieces.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The index of the first element for which no other one is before(it), or n of no elements.
template <class I, class Before>
[[nodiscard]] std::uint64_t extreme_index(I first, std::uint64_t n, Before before, grain g) {
    return detail::over_fold(
        n, g, [](std::uint64_t begin) { return begin; },
        [&](std::uint64_t& best, std::uint64_t b, std::uint64_t e) {
            I top = detail::at(first, best);
            I from = detail::at(first, b);
            for (std::uint64_t index = b; index != e; ++index, (void)++from) {
                if (before(from, top)) {
                    top = from;
                    best = index;
                }
            }
        },
        [&](std::uint64_t& best, std::uint64_t, std::uint64_t other) {
            if (before(detail::at(first, other), detail::at(first, best))) {
                best = other;
            }
        });
}
template <class I, class S, class Less, class Proj>
[[nodiscard]] I find_min(I first, S last, Less& less, Proj& proj, grain g) {
    const auto before = [&](const I& a, const I& b) {
        return static_cast<bool>(std::invoke(less, std::invoke(proj, *a), std::invoke(proj, *b)));
    };
    return detail::at(first, detail::extreme_index(first, detail::length(first, last), before, g));
}
template <class I, class S, class Less, class Proj>
[[nodiscard]] I find_max(I first, S last, Less& less, Proj& proj, grain g) {
    const auto before = [&](const I& a, const I& b) {
        return static_cast<bool>(std::invoke(less, std::invoke(proj, *b), std::invoke(proj, *a)));
    };
    return detail::at(first, detail::extreme_index(first, detail::length(first, last), before, g));
}

template <class I, class S, class Less, class Proj>
[[nodiscard]] std::ranges::minmax_element_result<I> find_minmax(I first, S last, Less& less, Proj& proj,
                                                                grain g) {
    struct ends {
        std::uint64_t low;
        std::uint64_t high;
    };
    const auto below = [&](std::uint64_t a, std::uint64_t b) {
        return static_cast<bool>(std::invoke(less, std::invoke(proj, *detail::at(first, a)),
                                             std::invoke(proj, *detail::at(first, b))));
    };
    const auto add = [&](ends& all, ends other) {
        if (below(other.low, all.low)) {
            all.low = other.low;
        }
        if (!below(other.high, all.high)) {
            all.high = other.high;
        }
    };
    const ends found = detail::over_fold(
        detail::length(first, last), g,
        [](std::uint64_t begin) {
            return ends{begin, begin};
        },
        [&](ends& all, std::uint64_t b, std::uint64_t e) {
            for (; b != e; ++b) {
                add(all, ends{b, b});
            }
        },
        [&](ends& all, std::uint64_t, ends other) { add(all, other); });
    return {detail::at(first, found.low), detail::at(first, found.high)};
}

template <class I1, class I2, class Pred, class Proj1, class Proj2>
[[nodiscard]] std::uint64_t differing_index(I1 first1, I2 first2, std::uint64_t n, Pred& pred, Proj1& proj1,
                                            Proj2& proj2, grain g) {
    return detail::over_search(n, g, [&](std::uint64_t b, std::uint64_t e) {
        close_call<Proj1, std::iter_reference_t<I1>> project1 = proj1;
        close_call<Proj2, std::iter_reference_t<I2>> project2 = proj2;
        I1 at1 = detail::at(first1, b);
        I2 at2 = detail::at(first2, b);
        for (; b != e && std::invoke(pred, std::invoke(project1, *at1), std::invoke(project2, *at2));
             ++b, (void)++at1, (void)++at2) {
        }
        return b;
    });
}
template <class I1, class S1, class I2, class S2, class Pred, class Proj1, class Proj2>
[[nodiscard]] std::ranges::mismatch_result<I1, I2>
find_mismatch(I1 first1, S1 last1, I2 first2, S2 last2, Pred& pred, Proj1& proj1, Proj2& proj2, grain g) {
    const std::uint64_t size = reachable_pairs<I1, I2>(first1, last1, first2, last2).size();
    const std::uint64_t n = detail::differing_index(first1, first2, size, pred, proj1, proj2, g);
    return {detail::at(first1, n), detail::at(first2, n)};
}
template <class I1, class S1, class I2, class S2, class Pred, class Proj1, class Proj2>
[[nodiscard]] bool are_equal(I1 first1, S1 last1, I2 first2, S2 last2, Pred& pred, Proj1& proj1, Proj2& proj2,
                             grain g) {
    const reachable_pairs<I1, I2> in(first1, last1, first2, last2);
    const std::uint64_t n = in.size();
    return in.in1.at(n) == last1 && in.in2.at(n) == last2 &&
           detail::differing_index(first1, first2, n, pred, proj1, proj2, g) == n;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
