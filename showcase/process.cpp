#include "process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

namespace showcase {
namespace {

class descriptor {
public:
    descriptor() = default;
    explicit descriptor(int fd) : m_fd(fd) {}
    ~descriptor() { close(); }
    descriptor(descriptor const&) = delete;
    descriptor& operator=(descriptor const&) = delete;
    int get() const { return m_fd; }
    void set(int fd) {
        close();
        m_fd = fd;
    }
    void close() {
        if (m_fd >= 0)
            ::close(m_fd);
        m_fd = -1;
    }

private:
    int m_fd = -1;
};

struct pipe_pair {
    descriptor read;
    descriptor write;

    pipe_pair() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0)
            throw std::system_error(errno, std::generic_category(), "pipe");
        read.set(ends[0]);
        write.set(ends[1]);
    }
};

[[noreturn]] void become(command const& what, pid_t parent, int output, int errors) {
    // If the showcase is killed, its measured child must not continue alone.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(127);
    ::dup2(what.output >= 0 ? what.output : output, STDOUT_FILENO);
    ::dup2(errors, STDERR_FILENO);
    if (what.stack_size != 0) {
        rlimit limit{};
        ::getrlimit(RLIMIT_STACK, &limit);
        limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, std::max<rlim_t>(limit.rlim_cur, what.stack_size));
        ::setrlimit(RLIMIT_STACK, &limit);
    }
    for (auto const& [name, value] : what.environment)
        ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (std::string const& argument : what.arguments)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    std::string const words = "cannot be started: " + std::generic_category().message(errno) + '\n';
    (void)!::write(STDERR_FILENO, words.data(), words.size());
    ::_exit(127);
}

// Reads the available bytes. False at the end of the stream.
bool drain(int fd, std::string& into) {
    std::array<char, 4096> block{};
    ssize_t const got = ::read(fd, block.data(), block.size());
    if (got < 0)
        return errno == EINTR;
    into.append(block.data(), static_cast<std::size_t>(got));
    return got > 0;
}

std::string last_words(std::string_view text) {
    constexpr std::size_t kept = 400;
    while (!text.empty() && text.back() == '\n')
        text.remove_suffix(1);
    if (text.size() > kept)
        text.remove_prefix(text.size() - kept);
    return std::string(text);
}

std::string failure_of(int status, std::string const& errors) {
    std::string why;
    if (WIFSIGNALED(status)) {
        why = "killed by signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) +
              ")";
    } else if (WEXITSTATUS(status) != 0) {
        why = "ended with exit code " + std::to_string(WEXITSTATUS(status));
    } else {
        return {};
    }
    std::string const words = last_words(errors);
    return words.empty() ? why : why + ": " + words;
}

void listen(pipe_pair& output, pipe_pair& errors, std::string& said, std::string& complained,
            std::function<void()> const& tick) {
    constexpr int tenth_of_a_second = 100;
    std::array<pollfd, 2> watched{{{output.read.get(), POLLIN, 0}, {errors.read.get(), POLLIN, 0}}};
    std::array<std::string*, 2> const into{&said, &complained};
    while (watched[0].fd >= 0 || watched[1].fd >= 0) {
        if (::poll(watched.data(), watched.size(), tenth_of_a_second) <= 0) {
            tick();
            continue;
        }
        for (std::size_t i = 0; i < watched.size(); ++i)
            if (watched[i].fd >= 0 && watched[i].revents != 0 && !drain(watched[i].fd, *into[i]))
                watched[i].fd = -1;
    }
}

} // namespace

finished run_process(command const& what, std::function<void()> const& tick) {
    pipe_pair output;
    pipe_pair errors;
    pid_t const parent = ::getpid();
    auto const start = std::chrono::steady_clock::now();
    pid_t const child = ::fork();
    if (child < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0)
        become(what, parent, output.write.get(), errors.write.get());
    output.write.close();
    errors.write.close();

    finished result;
    std::string complained;
    listen(output, errors, result.output, complained, tick);
    int status = 0;
    rusage usage{};
    while (::wait4(child, &status, 0, &usage) < 0)
        if (errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "wait4");
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    result.failure = failure_of(status, complained);
    return result;
}

} // namespace showcase
