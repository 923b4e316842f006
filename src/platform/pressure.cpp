#include "platform/pressure.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace pilfer {
inline namespace v0 {
namespace os {
namespace {

/// The beginning of a text file. This is no stream, for two reasons. A stream would wait for the writer of a
/// named pipe. Its descriptor would stay open in a program that another thread executes meanwhile.
class beginning {
public:
    explicit beginning(const std::string& path) noexcept {
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (file < 0) {
            return;
        }
        struct stat what {};
        if (fstat(file, &what) == 0 && S_ISREG(what.st_mode)) {
            const ssize_t got = ::read(file, m_text.data(), m_text.size());
            m_left = {m_text.data(), got < 0 ? 0 : static_cast<std::size_t>(got)};
        }
        close(file);
    }
    beginning(const beginning&) = delete;
    beginning& operator=(const beginning&) = delete;

    /// The next word between spaces; empty: there is none.
    [[nodiscard]] std::string_view word() noexcept {
        constexpr std::string_view spaces = " \t\r\n";
        m_left.remove_prefix(std::min(m_left.find_first_not_of(spaces), m_left.size()));
        const std::string_view found = m_left.substr(0, m_left.find_first_of(spaces));
        m_left.remove_prefix(found.size());
        return found;
    }

private:
    std::array<char, 512> m_text;
    std::string_view m_left;
};

template <class T>
[[nodiscard]] std::optional<T> number(std::string_view text) noexcept {
    T n{};
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return error == std::errc{} && stop == text.data() + text.size() && !text.empty() ? std::optional(n)
                                                                                      : std::nullopt;
}

} // namespace

std::optional<std::uint64_t> waited_ns(const std::string& root, std::uint64_t thread) {
    beginning file(root + "/proc/self/task/" + std::to_string(thread) + "/schedstat");
    const auto ran = number<std::uint64_t>(file.word());
    const auto waited = number<std::uint64_t>(file.word());
    return ran ? waited : std::nullopt;
}

std::optional<std::uint64_t> stalled_ns(const std::string& root) {
    constexpr std::string_view total = "total=";
    beginning file(root + "/proc/pressure/cpu");
    for (std::string_view word = file.word(); !word.empty() && word != "full"; word = file.word()) {
        if (word.substr(0, total.size()) == total) {
            const auto us = number<std::uint64_t>(word.substr(total.size()));
            return us && *us <= UINT64_MAX / 1000 ? std::optional(*us * 1000) : std::nullopt;
        }
    }
    return std::nullopt;
}

std::optional<unsigned> number_in(const std::string& path) {
    const auto n = number<unsigned>(beginning(path).word());
    return n && *n <= 4096 ? n : std::nullopt;
}

} // namespace os
} // namespace v0
} // namespace pilfer
