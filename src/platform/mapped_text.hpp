// A text that grows as memory, and is in its file although the process dies by a signal.
#pragma once

#if defined(PILFER_TEST)

#include <cstddef>
#include <string>
#include <string_view>

namespace pilfer {
inline namespace v0 {
namespace os {

/// One thread at a time. The file is longer than the text until close(): zeros follow the text.
class mapped_text {
public:
    /// The end of a text has at least so many bytes that only append_last() takes.
    static constexpr std::size_t reserved = 256;

    /// `file`: empty for a text without one. `most`: its greatest length. Throws std::system_error and
    /// std::bad_alloc.
    mapped_text(const std::string& file, std::size_t most);
    mapped_text(const mapped_text&) = delete;
    mapped_text& operator=(const mapped_text&) = delete;
    ~mapped_text();

    /// Adds a line, whose end is written last. No system call, except for each 256 KiB. False: there is no
    /// room in the file or in the text, and nothing was added.
    [[nodiscard]] bool append(std::string_view line) noexcept;
    /// At most `reserved` bytes after a text that is full; the rest is lost.
    void append_last(std::string_view line) noexcept;
    /// Cuts the file to the text, which does not change any more.
    void close() noexcept;

    [[nodiscard]] std::string_view text() const noexcept { return {m_at, m_length}; }
    /// The text is as long as it may be. Otherwise append() fails because the file has no room.
    [[nodiscard]] bool is_full(std::size_t more) const noexcept {
        return m_length + more + reserved > m_most;
    }

private:
    [[nodiscard]] bool grow(std::size_t needed) noexcept;
    void put(std::string_view line) noexcept;

    char* m_at = nullptr;
    std::size_t m_length = 0;
    std::size_t m_room = 0;
    const std::size_t m_most;
    int m_file = -1;
};

} // namespace os
} // namespace v0
} // namespace pilfer

#endif
