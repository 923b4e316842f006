// Sorts, searches, reductions and scans of C arrays.
#include <pilfer/pilfer_algorithm.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include <pilfer/algorithm/spaces.hpp>
#include <pilfer/detail/algorithm/scan.hpp>
#include <pilfer/detail/algorithm/search.hpp>
#include <pilfer/parallel/for_each.hpp>
#include <pilfer/parallel/reduce.hpp>
#include <pilfer/sort.hpp>

#include "capi/error.hpp"
#include "capi/task.hpp"

namespace pilfer {
inline namespace v0 {
namespace capi {
namespace {

using compare_function = int (*)(const void*, const void*, void*);
using combine_function = void (*)(void*, const void*, void*);

/// An array of C, whose elements are bytes.
template <class Byte>
struct array_of {
    Byte* base;
    std::size_t count;
    std::size_t size;

    [[nodiscard]] bool is_valid() const noexcept {
        return size != 0 && (base != nullptr || count == 0) && count <= std::size_t{PTRDIFF_MAX} / size;
    }
    [[nodiscard]] Byte* at(std::size_t index) const noexcept { return base + index * size; }
};
using array = array_of<std::byte>;
using const_array = array_of<const std::byte>;

/// Copies one element. The usual sizes need no call.
PILFER_ALWAYS_INLINE void copy_element(void* to, const void* from, std::size_t size) noexcept {
    if (size == 8) {
        std::memcpy(to, from, 8);
    } else if (size == 4) {
        std::memcpy(to, from, 4);
    } else {
        std::memcpy(to, from, size);
    }
}

/// Uninitialised memory, aligned for any type. Throws std::bad_alloc.
[[nodiscard]] std::unique_ptr<std::byte[]> bytes_for(std::size_t count, std::size_t size) {
    return std::unique_ptr<std::byte[]>(new std::byte[count * size]);
}

// ---- sorting ----

struct comparison {
    compare_function function;
    void* argument;
    [[nodiscard]] bool operator()(const void* a, const void* b) const noexcept {
        return capi::call(function, a, b, argument) < 0;
    }
};

/// An element of `Size` bytes that is moved itself. Its bytes may be those of any type.
template <std::size_t Size>
struct alignas(Size) block {
    std::byte bytes[Size];
};

template <bool Stable, class I, class Less>
void sort_range(I first, I last, Less less) {
    if constexpr (Stable) {
        pilfer::stable_sort(first, last, less);
    } else {
        pilfer::sort(first, last, less);
    }
}

template <bool Stable, std::size_t Size>
void sort_blocks(const array& a, comparison compare) {
    auto* const first = reinterpret_cast<block<Size>*>(a.base);
    sort_range<Stable>(first, first + a.count,
                       [compare](const block<Size>& x, const block<Size>& y) { return compare(&x, &y); });
}

/// Sorts the addresses of the elements, then moves each element once. The compared elements are those of the
/// array, because only there they are aligned as the caller wants them.
template <bool Stable>
void sort_places(const array& a, comparison compare) {
    const auto sorted = capi::bytes_for(a.count, a.size);
    const std::unique_ptr<const std::byte*[]> places(new const std::byte*[a.count]);
    pilfer::for_each_chunk(std::size_t{0}, a.count, [&](std::size_t begin, std::size_t end) {
        for (; begin != end; ++begin) {
            places[begin] = a.at(begin);
        }
    });
    sort_range<Stable>(places.get(), places.get() + a.count, compare);
    pilfer::for_each_chunk(std::size_t{0}, a.count, [&](std::size_t begin, std::size_t end) {
        for (; begin != end; ++begin) {
            std::memcpy(sorted.get() + begin * a.size, places[begin], a.size);
        }
    });
    try {
        pilfer::for_each_chunk(std::size_t{0}, a.count, [&](std::size_t begin, std::size_t end) {
            std::memcpy(a.at(begin), sorted.get() + begin * a.size, (end - begin) * a.size);
        });
    } catch (...) { // cancelled: elements would be missing
        std::memcpy(a.base, sorted.get(), a.count * a.size);
        throw;
    }
}

template <std::size_t Size>
[[nodiscard]] bool is_made_of_blocks(const array& a) noexcept {
    return a.size == Size && reinterpret_cast<std::uintptr_t>(a.base) % Size == 0;
}

template <bool Stable>
int sort_array(const array& a, comparison compare) noexcept {
    if (!a.is_valid() || compare.function == nullptr) {
        return PILFER_EINVAL;
    }
    if (a.count < 2) {
        return 0;
    }
    return capi::guarded([&] {
        if (is_made_of_blocks<4>(a)) {
            sort_blocks<Stable, 4>(a, compare);
        } else if (is_made_of_blocks<8>(a)) {
            sort_blocks<Stable, 8>(a, compare);
        } else if (is_made_of_blocks<16>(a)) {
            sort_blocks<Stable, 16>(a, compare);
        } else {
            sort_places<Stable>(a, compare);
        }
    });
}

// ---- sums ----

struct combination {
    combine_function function;
    void* argument;
    void operator()(void* left, const void* right) const noexcept {
        capi::call(function, left, right, argument);
    }
};

/// Makes *sum the combination of the elements [begin, end). The range is not empty.
void fold(const const_array& a, std::size_t begin, std::size_t end, combination combine, void* sum) noexcept {
    copy_element(sum, a.at(begin), a.size);
    while (++begin != end) {
        combine(sum, a.at(begin));
    }
}

/// Combines *result with all elements.
void reduce_array(const const_array& a, combination combine, void* result) {
    const detail::blocks_of blocks(a.count, a.count / 2048 + 1);
    const auto sums = capi::bytes_for(blocks.count(), a.size);
    const auto sum_of = [&](std::uint64_t block) -> void* {
        void* const sum = sums.get() + block * a.size;
        fold(a, blocks.begin(block), blocks.begin(block + 1), combine, sum);
        return sum;
    };
    const auto both = [&](void* left, const void* right) {
        combine(left, right);
        return left;
    };
    (void)pilfer::reduce(std::uint64_t{0}, blocks.count(), result, sum_of, both);
}

/// A scan in two passes over the same blocks as those of C++: the sum of each block, and from the prefixes of
/// the blocks the results. One pass would call `combine` as often, because both sums have to have bits that
/// no schedule changes.
class array_scan {
public:
    /// `init` null: an inclusive scan.
    array_scan(const const_array& in, std::byte* out, const void* init, combination combine)
        : m_in(in), m_out(out), m_init(init), m_combine(combine),
          m_blocks(in.count, detail::scan_block(in.count, {})),
          m_values(capi::bytes_for(2 * m_blocks.count(), in.size)) {}

    void run() {
        const std::uint64_t n = m_blocks.count();
        pilfer::for_each(std::uint64_t{1}, n, [this](std::uint64_t block) {
            fold(m_in, m_blocks.begin(block - 1), m_blocks.begin(block), m_combine, this->value(block));
        });
        this->add_up();
        pilfer::for_each(std::uint64_t{0}, n, [this](std::uint64_t block) {
            if (m_init != nullptr) {
                this->write_before(block);
            } else {
                this->write_with(block);
            }
        });
    }

private:
    /// The sum of the block in front of this one; later what comes before this one.
    [[nodiscard]] std::byte* value(std::uint64_t block) const noexcept {
        return m_values.get() + 2 * block * m_in.size;
    }
    [[nodiscard]] std::byte* scratch(std::uint64_t block) const noexcept {
        return this->value(block) + m_in.size;
    }
    /// Turns the sums into prefixes.
    void add_up() noexcept {
        std::uint64_t block = 1;
        if (m_init != nullptr) {
            copy_element(this->value(0), m_init, m_in.size);
            block = 0;
        }
        for (++block; block < m_blocks.count(); ++block) {
            copy_element(this->scratch(block), this->value(block - 1), m_in.size);
            m_combine(this->scratch(block), this->value(block));
            copy_element(this->value(block), this->scratch(block), m_in.size);
        }
    }
    /// Writes the sums that include their own element.
    void write_with(std::uint64_t block) noexcept {
        std::byte* const sum = this->value(block);
        std::size_t i = m_blocks.begin(block);
        const std::size_t end = m_blocks.begin(block + 1);
        if (block == 0) { // nothing comes before it
            copy_element(sum, m_in.at(0), m_in.size);
            copy_element(m_out, sum, m_in.size);
            ++i;
        }
        for (; i != end; ++i) {
            m_combine(sum, m_in.at(i));
            copy_element(m_out + i * m_in.size, sum, m_in.size);
        }
    }
    /// Writes the sums of what comes before each element, which is read first: `out` may be `in`.
    void write_before(std::uint64_t block) noexcept {
        std::byte* const sum = this->value(block);
        std::byte* const element = this->scratch(block);
        const std::size_t end = m_blocks.begin(block + 1);
        for (std::size_t i = m_blocks.begin(block); i != end; ++i) {
            copy_element(element, m_in.at(i), m_in.size);
            copy_element(m_out + i * m_in.size, sum, m_in.size);
            m_combine(sum, element);
        }
    }

    const_array m_in;
    std::byte* m_out;
    const void* m_init;
    combination m_combine;
    detail::blocks_of m_blocks;
    std::unique_ptr<std::byte[]> m_values; ///< two of each block
};

int scan(const const_array& in, void* out, const void* init, combination combine) noexcept {
    if (!in.is_valid() || (out == nullptr && in.count != 0) || combine.function == nullptr) {
        return PILFER_EINVAL;
    }
    if (in.count == 0) {
        return 0;
    }
    return capi::guarded([&] { array_scan(in, static_cast<std::byte*>(out), init, combine).run(); });
}

} // namespace
} // namespace capi
} // namespace v0
} // namespace pilfer

using namespace pilfer::capi;

extern "C" {

int pilfer_sort(void* base, size_t count, size_t size, int (*compare)(const void*, const void*, void*),
                void* arg) {
    return sort_array<false>({static_cast<std::byte*>(base), count, size}, {compare, arg});
}

int pilfer_stable_sort(void* base, size_t count, size_t size, int (*compare)(const void*, const void*, void*),
                       void* arg) {
    return sort_array<true>({static_cast<std::byte*>(base), count, size}, {compare, arg});
}

int pilfer_find(size_t first, size_t last, int (*holds)(size_t, void*), void* arg, size_t* found) {
    if (holds == nullptr || found == nullptr) {
        return PILFER_EINVAL;
    }
    *found = last;
    if (first >= last) {
        return 0;
    }
    return guarded([&] {
        *found = first + pilfer::detail::over_search(last - first, {}, [&](std::uint64_t b, std::uint64_t e) {
                     while (b != e && pilfer::capi::call(holds, first + b, arg) == 0) {
                         ++b;
                     }
                     return b;
                 });
    });
}

int pilfer_reduce_elements(const void* base, size_t count, size_t size,
                           void (*combine)(void*, const void*, void*), void* arg, void* result) {
    const const_array a{static_cast<const std::byte*>(base), count, size};
    if (!a.is_valid() || combine == nullptr || result == nullptr) {
        return PILFER_EINVAL;
    }
    return count == 0 ? 0 : guarded([&] { reduce_array(a, {combine, arg}, result); });
}

int pilfer_inclusive_scan(const void* in, void* out, size_t count, size_t size,
                          void (*combine)(void*, const void*, void*), void* arg) {
    return scan({static_cast<const std::byte*>(in), count, size}, out, nullptr, {combine, arg});
}

int pilfer_exclusive_scan(const void* in, void* out, size_t count, size_t size, const void* init,
                          void (*combine)(void*, const void*, void*), void* arg) {
    if (init == nullptr) {
        return PILFER_EINVAL;
    }
    return scan({static_cast<const std::byte*>(in), count, size}, out, init, {combine, arg});
}

} // extern "C"
