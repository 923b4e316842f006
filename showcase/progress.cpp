#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace showcase {
namespace {

// The interval of a sign of life during a long step without a terminal.
constexpr double sign_of_life = 10;

bool is_terminal() {
    char const* const kind = std::getenv("TERM");
    return ::isatty(STDERR_FILENO) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

std::size_t terminal_width() {
    winsize size{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

} // namespace

progress::progress(std::size_t steps) : m_live(is_terminal()), m_steps(steps) {}

progress::~progress() { erase(); }

void progress::begin(std::string what, double expected) {
    ++m_step;
    m_what = std::move(what);
    m_expected = expected;
    m_start = std::chrono::steady_clock::now();
    m_said = 0;
    tick();
}

void progress::tick(std::string const& detail) {
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - m_start).count();
    std::string line = fmt::format("[{}/{}] {}", m_step, m_steps, m_what);
    if (m_live) {
        line += fmt::format(" {:.1f} s", seconds);
        if (m_expected > 1)
            line += fmt::format(" of about {:.0f} s", m_expected);
        if (!detail.empty())
            line += ", " + detail;
        draw(line);
    } else if (seconds - m_said >= sign_of_life) {
        m_said = seconds;
        fmt::print(stderr, "{}: {:.0f} s so far{}{}\n", line, seconds, detail.empty() ? "" : ", ", detail);
    }
}

void progress::end(std::string const& result) {
    std::string const line = fmt::format("[{}/{}] {}: {}", m_step, m_steps, m_what, result);
    if (m_live) {
        draw(line);
    } else {
        fmt::print(stderr, "{}\n", line);
    }
}

void progress::draw(std::string const& line) {
    std::string_view const fits = std::string_view(line).substr(0, terminal_width() - 1);
    fmt::print(stderr, "\r\033[K{}", fits);
    std::fflush(stderr);
}

void progress::erase() {
    if (!m_live)
        return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
}

} // namespace showcase
