// The common parts of all sorts: comparisons with projections, moving elements between range and buffer, the
// buffer.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <ranges>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/pages.hpp>
#include <pilfer/detail/scope/join.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace sorting {

/// Fewer elements than this are sorted, merged or searched by one task.
inline constexpr std::size_t grain = 4096;

/// Calls work(report) where joins may be used: on this worker, or in pool::common(). Work that is too small
/// for a join stays on the calling thread.
template <class Work>
void run(std::size_t n, Work work) {
    auto whole = [&] { detail::reporting([&](common_report report) { work(report); }); };
    if (n <= grain || detail::this_worker() != nullptr) {
        whole();
    } else {
        pool::common().run(whole);
    }
}

/// A comparison and its projection as one function of two elements.
template <class Comp, class Proj1, class Proj2 = Proj1>
class order {
public:
    order(Comp& comp, Proj1& first, Proj2& second) noexcept
        : m_comp(std::addressof(comp)), m_first(std::addressof(first)), m_second(std::addressof(second)) {}

    template <class A, class B>
    [[nodiscard]] PILFER_ALWAYS_INLINE bool operator()(A&& a, B&& b) const {
        return static_cast<bool>(std::invoke(*m_comp, std::invoke(*m_first, std::forward<A>(a)),
                                             std::invoke(*m_second, std::forward<B>(b))));
    }

private:
    Comp* m_comp;
    Proj1* m_first;
    Proj2* m_second;
};

/// The value that a comparison looks at.
template <class I, class Proj>
using key_of = std::remove_cvref_t<std::invoke_result_t<Proj&, std::iter_reference_t<I>>>;

template <class Comp, class K>
inline constexpr bool is_less = std::same_as<Comp, std::ranges::less> || std::same_as<Comp, std::less<>> ||
                                std::same_as<Comp, std::less<K>>;
template <class Comp, class K>
inline constexpr bool is_greater = std::same_as<Comp, std::ranges::greater> ||
                                   std::same_as<Comp, std::greater<>> || std::same_as<Comp, std::greater<K>>;

/// True if the sorts may copy elements of this type bit by bit and assign them as they are: not if it is
/// move-only.
template <class T>
inline constexpr bool
    copies_freely = std::is_trivially_copyable_v<T> &&
                    sizeof(T) <= 32 && std::is_copy_constructible_v<T>&& std::is_copy_assignable_v<T>;

/// True if the merges avoid branches: comparing costs less than a wrong guess of the processor. A comparison
/// with captures may look anything up, and a range or a pointer has its values elsewhere. With branches the
/// processor loads these ahead.
template <class I, class Comp, class Proj>
inline constexpr bool cheap_order = [] {
    using value = std::iter_value_t<I>;
    using key = key_of<I, Proj>;
    constexpr bool natural = is_less<Comp, key> || is_greater<Comp, key>;
    return copies_freely<value> && std::is_empty_v<Comp> &&
           (std::is_empty_v<Proj> || std::is_member_object_pointer_v<Proj>)&&(
               std::is_arithmetic_v<key> || std::is_enum_v<key> || (std::is_pointer_v<key> && natural) ||
               (std::is_class_v<key> && !std::ranges::range<key> && sizeof(key) <= 16));
}();

/// A contiguous range is used through pointers. Its elements move by construction and destruction, so that
/// each lives in one place. Other iterators, and proxies, move by assignment and stay constructed.
template <class I>
[[nodiscard]] auto place_of(I first) {
    if constexpr (std::contiguous_iterator<I>) {
        return std::to_address(first);
    } else {
        return first;
    }
}

/// True if elements move between the range and a buffer without exceptions.
template <class I>
inline constexpr bool moves_safely = [] {
    using value = std::iter_value_t<I>;
    constexpr bool out = noexcept(std::ranges::iter_move(std::declval<const I&>())) &&
                         std::is_nothrow_constructible_v<value, std::iter_rvalue_reference_t<I>> &&
                         std::is_nothrow_destructible_v<value> && std::is_nothrow_move_constructible_v<value>;
    return out &&
           (std::contiguous_iterator<I> || std::is_nothrow_assignable_v<std::iter_reference_t<I>, value>);
}();

/// Moves an element from one place to an empty other one.
template <class From, class To>
PILFER_ALWAYS_INLINE void relocate(From from, To to) noexcept {
    if constexpr (std::is_pointer_v<To>) {
        std::construct_at(to, std::ranges::iter_move(from));
    } else {
        *to = std::ranges::iter_move(from);
    }
    if constexpr (std::is_pointer_v<From>) {
        std::destroy_at(from);
    }
}

template <class I>
[[nodiscard]] PILFER_ALWAYS_INLINE I at(I first, std::size_t index) {
    return first + static_cast<std::iter_difference_t<I>>(index);
}

/// Moves n elements in order.
template <class From, class To>
void relocate(From from, std::size_t n, To to) noexcept {
    if constexpr (std::is_pointer_v<From> && std::is_pointer_v<To> &&
                  std::is_trivially_copyable_v<std::iter_value_t<From>>) {
        if (n != 0) {
            std::memcpy(static_cast<void*>(to), static_cast<const void*>(from),
                        n * sizeof(std::iter_value_t<From>));
        }
    } else {
        for (std::size_t i = 0; i < n; ++i) {
            sorting::relocate(sorting::at(from, i), sorting::at(to, i));
        }
    }
}

/// Calls part(i) for every i of [first, last), in parallel.
template <class Part>
void for_parts(std::size_t first, std::size_t last, Part& part, common_report report) {
    if (last - first <= 1) {
        if (first != last) {
            part(first);
        }
        return;
    }
    const std::size_t middle = first + (last - first) / 2;
    auto low = [&] { sorting::for_parts(first, middle, part, report); };
    auto high = [&] { sorting::for_parts(middle, last, part, report); };
    (void)detail::join_two(detail::this_worker(), low, high, report);
}

/// Raw memory for n elements. A few elements need no allocation.
template <class T>
class buffer {
public:
    /// Throws std::bad_alloc if there is no memory.
    explicit buffer(std::size_t n) : buffer(n, std::nothrow) {
        if (m_data == nullptr) {
            PILFER_THROW(std::bad_alloc());
        }
    }
    /// data() is null if there is no memory.
    buffer(std::size_t n, std::nothrow_t) noexcept : m_size(n) {
        if (n <= local_bytes / sizeof(T)) {
            m_data = reinterpret_cast<T*>(m_local);
        } else if (n <= std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T)) {
            m_data =
                static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{alignment}, std::nothrow));
        }
    }
    buffer(const buffer&) = delete;
    buffer& operator=(const buffer&) = delete;
    ~buffer() {
        if (m_data != reinterpret_cast<T*>(m_local)) {
            ::operator delete (m_data, std::align_val_t{alignment});
        }
    }
    [[nodiscard]] T* data() noexcept { return m_data; }
    /// Called when the elements are not needed any more: all workers give the pages of a large buffer back to
    /// the system. The destructor would do that on one thread.
    void discard(common_report report);

private:
    static constexpr std::size_t local_bytes = 1024;
    // malloc of glibc returns any block of this size to the system as soon as it is freed.
    static constexpr std::size_t large_bytes = std::size_t{1} << 25;
    static constexpr std::size_t discarded_bytes = std::size_t{1} << 22;
    static constexpr std::size_t alignment = alignof(T) > line_bytes ? alignof(T) : line_bytes;
    alignas(T) std::byte m_local[local_bytes];
    T* m_data = nullptr;
    std::size_t m_size;
};

/// for_parts(0, parts, ...) that leaves no part out: after a cancellation this task runs those that have not
/// begun. The next join of the task throws. `part` throws nothing.
template <class Part>
void for_all_parts(std::size_t parts, Part& part, common_report report) {
    buffer<bool> begun(parts, std::nothrow);
    if (parts == 1 || begun.data() == nullptr) {
        for (std::size_t p = 0; p < parts; ++p) {
            part(p);
        }
        return;
    }
    std::uninitialized_fill_n(begun.data(), parts, false);
    auto noted = [&](std::size_t p) {
        begun.data()[p] = true;
        part(p);
    };
    PILFER_TRY { sorting::for_parts(0, parts, noted, report); }
    PILFER_CATCH_ALL {
        for (std::size_t p = 0; p < parts; ++p) {
            if (!begun.data()[p]) {
                part(p);
            }
        }
    }
}

template <class T>
void buffer<T>::discard(common_report report) {
    const std::size_t bytes = m_size * sizeof(T);
    if (bytes < large_bytes) {
        return;
    }
    auto part = [&](std::size_t p) {
        const std::size_t from = p * discarded_bytes;
        detail::discard_pages(reinterpret_cast<std::byte*>(m_data) + from,
                              std::min(discarded_bytes, bytes - from));
    };
    sorting::for_all_parts((bytes + discarded_bytes - 1) / discarded_bytes, part, report);
}

/// An element taken out of a range. It goes back to its place at the end, also after an exception.
template <class I>
class hole {
public:
    explicit hole(I at) : m_value(std::ranges::iter_move(at)), m_at(at) {}
    hole(const hole&) = delete;
    hole& operator=(const hole&) = delete;
    ~hole() { *m_at = std::move(m_value); }
    [[nodiscard]] std::iter_value_t<I>& value() noexcept { return m_value; }
    /// Fills the hole with the element before it, which leaves a hole there.
    void step_down() {
        *m_at = std::ranges::iter_move(m_at - 1);
        --m_at;
    }
    [[nodiscard]] I place() const { return m_at; }

private:
    std::iter_value_t<I> m_value;
    I m_at;
};

/// Sorts few elements in place; stable.
template <class I, class Less>
void insertion_sort(I first, std::size_t n, Less less) {
    for (std::size_t i = 1; i < n; ++i) {
        I next = sorting::at(first, i);
        if (!less(*next, *(next - 1))) {
            continue;
        }
        if constexpr (moves_safely<I> &&
                      std::is_nothrow_assignable_v<std::iter_reference_t<I>, std::iter_value_t<I>>) {
            hole<I> here(next);
            do {
                here.step_down();
            } while (here.place() != first && less(here.value(), *(here.place() - 1)));
        } else {
            do {
                std::ranges::iter_swap(next, next - 1);
                --next;
            } while (next != first && less(*next, *(next - 1)));
        }
    }
}

} // namespace sorting
} // namespace detail
} // namespace v0
} // namespace pilfer
