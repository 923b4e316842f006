// Shared by the tests of descriptors.
#pragma once

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

namespace io_tests {

/// Both ends of a pipe or of a pair of sockets; non-blocking.
class ends {
public:
    enum kind { pipes, sockets };
    explicit ends(kind k = pipes) {
        const int error = k == pipes
                              ? ::pipe2(m_fd, O_NONBLOCK | O_CLOEXEC)
                              : ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, m_fd);
        if (error != 0) {
            std::abort();
        }
    }
    ends(ends&& other) noexcept : m_fd{std::exchange(other.m_fd[0], -1), std::exchange(other.m_fd[1], -1)} {}
    ~ends() {
        close(0);
        close(1);
    }
    [[nodiscard]] int in() const { return m_fd[0]; }
    [[nodiscard]] int out() const { return m_fd[1]; }
    void close(int which) {
        if (m_fd[which] >= 0) {
            ::close(std::exchange(m_fd[which], -1));
        }
    }
    void say(char c = 'x') const { EXPECT_EQ(::write(m_fd[1], &c, 1), 1); }
    /// The next character; 0: none.
    [[nodiscard]] char hear() const {
        char c = 0;
        return ::read(m_fd[0], &c, 1) == 1 ? c : '\0';
    }
    void fill() const {
        const std::string much(1 << 16, 'f');
        while (::write(m_fd[1], much.data(), much.size()) > 0) {
        }
    }

private:
    int m_fd[2];
};

[[nodiscard]] inline bool is(std::error_code e, std::errc what) { return e == std::make_error_code(what); }

} // namespace io_tests
