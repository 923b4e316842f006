// archive: values as bytes, for descriptions and results that travel between ranks.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace cluster {

/// Bytes that are no value of the type that was asked for.
struct archive_error : std::runtime_error {
    /// Makes the error with the text `what`.
    explicit archive_error(const std::string& what) : std::runtime_error(what) {}
};

class archive;

/// True if `serialize(archive&, T&)` is found beside T.
template <class T>
concept has_serialize = requires(archive& a, T& value) {
    serialize(a, value);
};

/// Writes values, or reads them back, in the same order.
///
/// Trivially copyable types, std::string, std::vector, std::pair and std::tuple need nothing. Any other type
/// has one function beside it for both directions: `void serialize(archive& a, T& t) { a(t.x, t.y); }`.
/// Reading makes such a T by its default constructor. Pointers are refused by the compiler, but not those
/// inside of a trivially copyable type. All machines must have the same architecture.
class archive {
public:
    /// Makes an empty archive for writing.
    archive() = default;
    /// Makes an archive that reads from `bytes`, which must outlive it.
    explicit archive(std::span<const std::byte> bytes) noexcept : m_left(bytes), m_reading(true) {}

    /// True if this archive reads.
    [[nodiscard]] bool reading() const noexcept { return m_reading; }

    /// Writes the values, or reads into them. Throws archive_error if too few bytes are left, and
    /// std::bad_alloc.
    template <class... T>
    void operator()(T&... values) {
        (one(values), ...);
    }
    /// Writes one value. Throws std::bad_alloc.
    template <class T>
    void put(const T& value) {
        one(const_cast<T&>(value)); // a writing archive only reads it
    }
    /// Reads one value. Throws archive_error, std::bad_alloc.
    template <class T>
    [[nodiscard]] T take() {
        if constexpr (is_plain<T>) {
            std::array<std::byte, sizeof(T)> bytes;
            read(bytes.data(), bytes.size());
            return std::bit_cast<T>(bytes);
        } else {
            T value{};
            one(value);
            return value;
        }
    }
    /// Throws archive_error unless everything has been read.
    void end() const {
        if (!m_left.empty()) {
            PILFER_THROW(archive_error("bytes are left over"));
        }
    }
    /// The bytes that have been written.
    [[nodiscard]] std::vector<std::byte>& bytes() noexcept { return m_bytes; }

private:
    template <class T>
    struct is_vector : std::false_type {};
    template <class T>
    struct is_vector<std::vector<T>> : std::true_type {};
    template <class T>
    struct is_tuple : std::false_type {};
    template <class... T>
    struct is_tuple<std::tuple<T...>> : std::true_type {};
    template <class T, class U>
    struct is_tuple<std::pair<T, U>> : std::true_type {};
    template <class T>
    static constexpr bool is_plain =
        std::is_trivially_copyable_v<T> && !has_serialize<T> && !is_tuple<T>::value;

    template <class T>
    void one(T& value) {
        static_assert(!std::is_pointer_v<T> && !std::is_member_pointer_v<T>,
                      "a pointer means nothing on another machine");
        if constexpr (has_serialize<T>) {
            serialize(*this, value);
        } else if constexpr (is_tuple<T>::value) {
            std::apply([this](auto&... parts) { (this->one(parts), ...); }, value);
        } else if constexpr (std::is_same_v<T, std::string>) {
            text(value);
        } else if constexpr (is_vector<T>::value) {
            elements(value);
        } else {
            static_assert(std::is_trivially_copyable_v<T>,
                          "a type that travels between ranks is trivially copyable or has a function "
                          "serialize(pilfer::cluster::archive&, T&) beside it");
            if (m_reading) {
                read(std::addressof(value), sizeof(T));
            } else {
                write(std::addressof(value), sizeof(T));
            }
        }
    }
    void text(std::string& value) {
        std::uint64_t size = value.size();
        one(size);
        if (m_reading) {
            must_have(size);
            value.assign(reinterpret_cast<const char*>(m_left.data()), static_cast<std::size_t>(size));
            m_left = m_left.subspan(static_cast<std::size_t>(size));
        } else {
            write(value.data(), value.size());
        }
    }
    template <class T>
    void elements(std::vector<T>& value) {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no elements: use char");
        std::uint64_t size = value.size();
        one(size);
        if (m_reading) {
            value.clear();
            // Before any memory is asked for: an element takes its own bytes, or at least one.
            if (size > m_left.size() / (is_plain<T> ? sizeof(T) : 1)) {
                PILFER_THROW(archive_error("too few bytes"));
            }
            if constexpr (is_plain<T> && std::is_default_constructible_v<T>) {
                // One copy, because large results are read twice.
                value.resize(static_cast<std::size_t>(size));
                read(value.data(), value.size() * sizeof(T));
            } else {
                value.reserve(static_cast<std::size_t>(is_plain<T> ? size : 0));
                for (std::uint64_t i = 0; i < size; ++i) {
                    value.push_back(take<T>());
                }
            }
        } else if constexpr (is_plain<T>) {
            write(value.data(), value.size() * sizeof(T));
        } else {
            const std::size_t before = m_bytes.size();
            for (T& element : value) {
                one(element);
            }
            if (m_bytes.size() - before < value.size()) {
                PILFER_THROW(archive_error("a serialize function of an element writes nothing"));
            }
        }
    }
    void must_have(std::uint64_t size) const {
        if (size > m_left.size()) {
            PILFER_THROW(archive_error("too few bytes"));
        }
    }
    void read(void* to, std::size_t size) {
        must_have(size);
        if (size != 0) {
            std::memcpy(to, m_left.data(), size);
            m_left = m_left.subspan(size);
        }
    }
    void write(const void* from, std::size_t size) {
        if (size != 0) {
            const std::size_t before = m_bytes.size();
            m_bytes.resize(before + size);
            std::memcpy(m_bytes.data() + before, from, size);
        }
    }

    std::vector<std::byte> m_bytes;
    std::span<const std::byte> m_left;
    bool m_reading = false;
};

} // namespace cluster
} // namespace v0
} // namespace pilfer
