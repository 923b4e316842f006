// The loops of <pilfer/algorithm/loops.hpp>.
#pragma once

#include <type_traits>

#include <pilfer/detail/algorithm/collected.hpp>
#include <pilfer/detail/algorithm/ranges.hpp>
#include <pilfer/detail/parallel/pieces.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class I, class S, class Body, class Proj>
void each(I first, S last, Body& body, Proj& proj, grain g) {
    const reachable<I> in(first, last);
    detail::over_pieces(in.size(), g, [&](std::uint64_t b, std::uint64_t e) {
        close_call<Proj, std::iter_reference_t<I>> project = proj;
        close_call<Body, std::indirect_result_t<Proj&, I>> call = body;
        for (auto from = detail::at(in.begin(), b), stop = detail::at(in.begin(), e); from != stop; ++from) {
            std::invoke(call, std::invoke(project, *from));
        }
    });
}

template <class I, class S, class O, class F, class Proj>
std::ranges::unary_transform_result<I, O> transform_one(I first, S last, O out, F& f, Proj& proj, grain g) {
    const reachable<I> in(first, last);
    const std::uint64_t n = in.size();
    const reachable<O> results(out, n);
    detail::over_pieces(n, g, [&](std::uint64_t b, std::uint64_t e) {
        close_call<Proj, std::iter_reference_t<I>> project = proj;
        close_call<F, std::indirect_result_t<Proj&, I>> call = f;
        auto to = detail::at(results.begin(), b);
        for (auto from = detail::at(in.begin(), b), stop = detail::at(in.begin(), e); from != stop;
             ++from, (void)++to) {
            *to = std::invoke(call, std::invoke(project, *from));
        }
    });
    return {in.at(n), results.at(n)};
}

template <class I1, class S1, class I2, class S2, class O, class F, class Proj1, class Proj2>
std::ranges::binary_transform_result<I1, I2, O> transform_two(I1 first1, S1 last1, I2 first2, S2 last2, O out,
                                                              F& f, Proj1& proj1, Proj2& proj2, grain g) {
    const reachable_pairs<I1, I2> in(first1, last1, first2, last2);
    const std::uint64_t n = in.size();
    const reachable<O> results(out, n);
    detail::over_pieces(n, g, [&](std::uint64_t b, std::uint64_t e) {
        close_call<Proj1, std::iter_reference_t<I1>> project1 = proj1;
        close_call<Proj2, std::iter_reference_t<I2>> project2 = proj2;
        close_call<F, std::indirect_result_t<Proj1&, I1>, std::indirect_result_t<Proj2&, I2>> call = f;
        auto to = detail::at(results.begin(), b);
        auto from2 = detail::at(in.in2.begin(), b);
        for (auto from = detail::at(in.in1.begin(), b), stop = detail::at(in.in1.begin(), e); from != stop;
             ++from, (void)++from2, (void)++to) {
            *to = std::invoke(call, std::invoke(project1, *from), std::invoke(project2, *from2));
        }
    });
    return {in.in1.at(n), in.in2.at(n), results.at(n)};
}

template <class I, class S, class O>
std::ranges::copy_result<I, O> copy_all(I first, S last, O out, grain g) {
    const std::uint64_t n = detail::length(first, last);
    detail::over_pieces(n, g, [&](std::uint64_t b, std::uint64_t e) {
        std::ranges::copy(detail::at(first, b), detail::at(first, e), detail::at(out, b));
    });
    return {detail::at(first, n), detail::at(out, n)};
}

template <class I, class S, class T>
I fill_all(I first, S last, const T& value, grain g) {
    const std::uint64_t n = detail::length(first, last);
    // A copy, because the caller's value may be an element, which one worker writes while others read it.
    // The copy of a proxy of an element would still refer to it.
    using element_value = std::iter_value_t<I>;
    constexpr bool is_proxy = std::same_as<T, std::iter_reference_t<I>> && !std::same_as<T, element_value>;
    using copied = std::conditional_t<is_proxy, element_value, T>;
    const std::conditional_t<std::is_copy_constructible_v<T>, copied, const T&> kept(value);
    detail::over_pieces(n, g, [&](std::uint64_t b, std::uint64_t e) {
        std::ranges::fill(detail::at(first, b), detail::at(first, e), kept);
    });
    return detail::at(first, n);
}

template <class I, class S, class F>
I generate_all(I first, S last, F& gen, grain g) {
    const std::uint64_t n = detail::length(first, last);
    detail::over_pieces(n, g, [&](std::uint64_t b, std::uint64_t e) {
        for (I to = detail::at(first, b), stop = detail::at(first, e); to != stop; ++to) {
            *to = std::invoke(gen);
        }
    });
    return detail::at(first, n);
}

template <class I, class S>
I reverse_all(I first, S last, grain g) {
    const std::uint64_t n = detail::length(first, last);
    const I end = detail::at(first, n);
    detail::over_pieces(n / 2, g, [&](std::uint64_t b, std::uint64_t e) {
        I low = detail::at(first, b);
        I high = end - static_cast<std::iter_difference_t<I>>(b);
        for (const I stop = detail::at(first, e); low != stop; ++low) {
            std::ranges::iter_swap(low, --high);
        }
    });
    return end;
}

template <class I, class S>
std::ranges::subrange<I> rotate_all(I first, I middle, S last, grain g) {
    const I end = detail::at(middle, detail::length(middle, last));
    if (first != middle && middle != end) {
        detail::reverse_all(first, middle, g);
        detail::reverse_all(middle, end, g);
        detail::reverse_all(first, end, g);
    }
    return {first + (end - middle), end};
}

} // namespace detail
} // namespace v0
} // namespace pilfer
