#include "text_input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "sortlines.hpp"
#include "treehash.hpp"

namespace showcase {
namespace {

// git's rule for text and binary files.
constexpr std::size_t looked_at = 8000;

class text_maker {
public:
    text_maker(int fd, std::uint64_t limit, std::function<void(std::uint64_t)> const& tick)
        : m_fd(fd), m_limit(limit), m_tick(tick) {}

    void folder(std::string const& path, bool is_root) {
        tree_node node;
        list_folder(node, path, is_root);
        for (tree_node const& child : node.children) {
            if (m_made.bytes >= m_limit)
                return;
            std::string const child_path = path + '/' + child.name;
            if (child.directory) {
                folder(child_path, false);
            } else {
                file(child_path);
            }
        }
        m_tick(m_made.bytes);
    }

    text_made made() const { return m_made; }

private:
    void file(std::string const& path) {
        int const from = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (from < 0)
            return;
        try {
            copy(from);
        } catch (...) {
            ::close(from);
            throw;
        }
        ::close(from);
    }

    void copy(int from) {
        char last = '\n';
        bool first = true;
        while (m_made.bytes < m_limit) {
            ssize_t const got = ::read(from, m_block.data(), m_block.size());
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                break;
            std::string_view block(m_block.data(), static_cast<std::size_t>(got));
            if (first && block.substr(0, looked_at).find('\0') != std::string_view::npos)
                return;
            if (first)
                ++m_made.files;
            first = false;
            block = block.substr(
                0, static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), m_limit - m_made.bytes)));
            write(block);
            last = block.back();
        }
        if (last != '\n')
            write("\n");
    }

    void write(std::string_view bytes) {
        m_made.bytes += bytes.size();
        while (!bytes.empty()) {
            ssize_t const put = ::write(m_fd, bytes.data(), bytes.size());
            if (put < 0 && errno == EINTR)
                continue;
            if (put < 0)
                throw std::system_error(errno, std::generic_category(), "cannot write the text to sort");
            bytes.remove_prefix(static_cast<std::size_t>(put));
        }
    }

    int m_fd;
    std::uint64_t m_limit;
    std::function<void(std::uint64_t)> const& m_tick;
    text_made m_made;
    std::array<char, 256 * 1024> m_block{};
};

} // namespace

text_made make_text(std::string const& folder, int fd, std::uint64_t limit,
                    std::function<void(std::uint64_t)> const& tick) {
    text_maker maker(fd, limit, tick);
    maker.folder(folder, true);
    return maker.made();
}

text_source::text_source(std::string const& path) : m_descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (m_descriptor < 0)
        throw std::system_error(errno, std::generic_category(), path);
    off_t const end = ::lseek(m_descriptor, 0, SEEK_END);
    if (end < 0) {
        int const error = errno;
        ::close(m_descriptor);
        throw std::system_error(error, std::generic_category(), path);
    }
    m_size = static_cast<std::size_t>(end);
}

text_source::~text_source() { ::close(m_descriptor); }

bool text_source::read(char* to, std::size_t offset, std::size_t bytes) const noexcept {
    while (bytes > 0) {
        ssize_t const got = ::pread(m_descriptor, to, bytes, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        auto const n = static_cast<std::size_t>(got);
        to += n;
        offset += n;
        bytes -= n;
    }
    return true;
}

} // namespace showcase
