// Characters of UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The bytes of the character of UTF-8 with which a text begins; 0: it is none, or one of ASCII.
[[nodiscard]] inline std::size_t utf8_bytes(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) -> unsigned {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const unsigned first = byte(0);
    const std::size_t bytes = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    for (std::size_t i = 1; i < bytes; ++i) {
        if (byte(i) >> 6 != 2) {
            return 0;
        }
    }
    // A longer form than necessary, a surrogate, or beyond U+10FFFF.
    const unsigned second = byte(1);
    const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
    return wrong ? 0 : bytes;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
