// Merging two sorted sequences in parallel: the middle of the output decides which part of each input goes
// below it (co-ranking). Both sides of the cut are merged at once. Source: Odeh, Green, Mwassi, Shmueli,
// Birk: Merge Path, IPDPS workshops 2012.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include <pilfer/detail/sort/base.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace sorting {

/// How many of the first k elements of the merged output come from a. Equal elements of a go first. The
/// result is within both inputs for every comparison.
template <class A, class B, class Less>
[[nodiscard]] std::size_t co_rank(std::size_t k, A a, std::size_t na, B b, std::size_t nb, Less& less) {
    std::size_t low = k > nb ? k - nb : 0;
    std::size_t high = k < na ? k : na;
    while (low < high) {
        const std::size_t i = low + (high - low) / 2; // i < na, and k - i - 1 < nb
        if (less(*sorting::at(b, k - i - 1), *sorting::at(a, i))) {
            high = i;
        } else {
            low = i + 1;
        }
    }
    return low;
}

/// The inputs of a merge that moves their elements to the output. At the end the rest follows, without a
/// comparison: after an exception each element is in the output once.
template <class From, class To>
class merge_rest {
public:
    merge_rest(From first_a, std::size_t na, From first_b, std::size_t nb, To to)
        : a(first_a), a_end(sorting::at(first_a, na)), b(first_b), b_end(sorting::at(first_b, nb)), out(to) {}
    merge_rest(const merge_rest&) = delete;
    merge_rest& operator=(const merge_rest&) = delete;
    ~merge_rest() {
        const auto left = static_cast<std::size_t>(a_end - a);
        sorting::relocate(a, left, out);
        sorting::relocate(b, static_cast<std::size_t>(b_end - b), sorting::at(out, left));
    }
    From a, a_end, b, b_end;
    To out;
};

/// yes ? a : b without a branch. Compilers make one of the conditional operator if they take a structure
/// there.
template <class T>
[[nodiscard]] PILFER_ALWAYS_INLINE T* choose(bool yes, T* a, T* b) noexcept {
#if defined(__clang__)
    return __builtin_unpredictable(yes) ? a : b;
#else
    if constexpr (std::is_scalar_v<T>) {
        return yes ? a : b;
    } else {
        const auto other = reinterpret_cast<std::uintptr_t>(b);
        const auto mask = std::uintptr_t{0} - static_cast<std::uintptr_t>(yes);
        return reinterpret_cast<T*>(other ^ ((reinterpret_cast<std::uintptr_t>(a) ^ other) & mask));
    }
#endif
}

/// Merges cheap keys without branches, from both ends at once: two chains of dependent loads instead of one.
/// The inputs stay as they are. A batch takes at most half of the shorter input from each end, so that no
/// comparison whatever makes the two ends meet.
template <class T, class Less>
void merge_cheap(merge_rest<T*, T*>& m, Less& less) {
    T* a = m.a;
    T* b = m.b;
    T* a_end = m.a_end;
    T* b_end = m.b_end;
    T* out = m.out;
    T* out_end = out + (a_end - a) + (b_end - b);
    for (;;) {
        const std::ptrdiff_t batch = std::min(a_end - a, b_end - b) / 2;
        if (batch < 2) {
            break;
        }
        for (std::ptrdiff_t i = 0; i < batch; ++i) {
            const bool from_b = less(*b, *a);
            const T* low = sorting::choose(from_b, b, a);
            *out++ = *low;
            b += from_b;
            a += !from_b;
            const bool from_a = less(b_end[-1], a_end[-1]);
            const T* high = sorting::choose(from_a, a_end, b_end);
            *--out_end = high[-1];
            a_end -= from_a;
            b_end -= !from_a;
        }
    }
    while (a != a_end && b != b_end) {
        const bool from_b = less(*b, *a);
        const T* low = sorting::choose(from_b, b, a);
        *out++ = *low;
        b += from_b;
        a += !from_b;
    }
    m.a = a;
    m.b = b;
    m.a_end = a_end;
    m.b_end = b_end;
    m.out = out;
}

/// Merges on this task. Afterwards, also after an exception, all elements are in the output.
template <bool Cheap, class From, class To, class Less>
void merge_here(From a, std::size_t na, From b, std::size_t nb, To out, Less less) {
    merge_rest<From, To> m(a, na, b, nb, out);
    if (na == 0 || nb == 0 || !less(*b, *(m.a_end - 1))) {
        return; // already in order, as presorted data are
    }
    if (less(*(m.b_end - 1), *a)) { // the other way round, as reversed data are
        sorting::relocate(b, nb, out);
        m.b = m.b_end;
        m.out = sorting::at(out, nb);
        return;
    }
    if constexpr (Cheap && std::is_pointer_v<From> && std::is_pointer_v<To>) {
        sorting::merge_cheap(m, less);
    } else {
        while (m.a != m.a_end && m.b != m.b_end) {
            if (less(*m.b, *m.a)) {
                sorting::relocate(m.b, m.out);
                ++m.b;
            } else {
                sorting::relocate(m.a, m.out);
                ++m.a;
            }
            ++m.out;
        }
    }
}

/// Merges, perhaps in parallel. Afterwards, also after an exception or a cancellation, all elements are in
/// the output.
template <bool Cheap, class From, class To, class Less>
void merge_to(From a, std::size_t na, From b, std::size_t nb, To out, Less less, common_report report) {
    const std::size_t n = na + nb;
    if (n <= grain) {
        sorting::merge_here<Cheap>(a, na, b, nb, out, less);
        return;
    }
    const std::size_t k = n / 2;
    std::size_t i = std::min(na, k); // until it is known
    bool low_begun = false;
    bool high_begun = false;
    PILFER_TRY {
        i = sorting::co_rank(k, a, na, b, nb, less);
        auto low = [&] {
            low_begun = true;
            sorting::merge_to<Cheap>(a, i, b, k - i, out, less, report);
        };
        auto high = [&] {
            high_begun = true;
            sorting::merge_to<Cheap>(sorting::at(a, i), na - i, sorting::at(b, k - i), nb - (k - i),
                                     sorting::at(out, k), less, report);
        };
        (void)detail::join_two(detail::this_worker(), low, high, report);
    }
    PILFER_CATCH_ALL {
        if (!low_begun) {
            sorting::relocate(a, i, out);
            sorting::relocate(b, k - i, sorting::at(out, i));
        }
        if (!high_begun) {
            sorting::relocate(sorting::at(a, i), na - i, sorting::at(out, k));
            sorting::relocate(sorting::at(b, k - i), nb - (k - i), sorting::at(out, k + na - i));
        }
        PILFER_RETHROW;
    }
}

/// Merges by copying on this task. A function of its own, so that the iterators stay in registers: those that
/// a join's closures refer to are written to memory at every step.
template <class A, class B, class Out, class Less>
PILFER_NOINLINE void merge_copy_here(A a, A a_end, B b, B b_end, Out out, Less less) {
    while (a != a_end && b != b_end) {
        if (less(*b, *a)) {
            *out = *b;
            ++b;
        } else {
            *out = *a;
            ++a;
        }
        ++out;
    }
    out = std::ranges::copy(a, a_end, out).out;
    std::ranges::copy(b, b_end, out);
}

/// Merges by copying, for pilfer::merge.
template <class A, class B, class Out, class Less>
void merge_copy(A a, std::size_t na, B b, std::size_t nb, Out out, Less less, common_report report) {
    const std::size_t n = na + nb;
    if (n <= grain) {
        sorting::merge_copy_here(a, sorting::at(a, na), b, sorting::at(b, nb), out, less);
        return;
    }
    const std::size_t k = n / 2;
    const std::size_t i = sorting::co_rank(k, a, na, b, nb, less);
    auto low = [&] { sorting::merge_copy(a, i, b, k - i, out, less, report); };
    auto high = [&] {
        sorting::merge_copy(sorting::at(a, i), na - i, sorting::at(b, k - i), nb - (k - i),
                            sorting::at(out, k), less, report);
    };
    (void)detail::join_two(detail::this_worker(), low, high, report);
}

} // namespace sorting
} // namespace detail
} // namespace v0
} // namespace pilfer
