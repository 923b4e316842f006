// A function that runs in a child process: for everything that must crash, and for limits and environments.
#pragma once

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>

#include "support/harness.hpp"

namespace support {

struct child_result {
    int status = 0;
    std::string output; ///< its standard error

    [[nodiscard]] bool exited_with(int code) const {
        return WIFEXITED(status) && WEXITSTATUS(status) == code;
    }
    [[nodiscard]] bool killed_by(int signal) const {
        return WIFSIGNALED(status) && WTERMSIG(status) == signal;
    }
    [[nodiscard]] bool said(const std::string& text) const { return output.find(text) != std::string::npos; }
};

inline std::ostream& operator<<(std::ostream& out, const child_result& r) {
    return out << (WIFEXITED(r.status) ? "exit " : "signal ")
               << (WIFEXITED(r.status) ? WEXITSTATUS(r.status) : WTERMSIG(r.status)) << ": " << r.output;
}

/// In a child whose only thread was a worker, which blocks all signals.
inline void unblock_alarms() {
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
}

/// Forks, so it must be called while no pool exists. The child exits with the result of `body`; an exception
/// is printed and gives 99.
template <class Body>
[[nodiscard]] child_result in_child(Body body, unsigned seconds = 30) {
    int ends[2];
    if (pipe(ends) != 0) {
        return {-1, "no pipe"};
    }
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        int code = 99;
        unblock_alarms();
        const watchdog end(seconds);
        try {
            code = body();
        } catch (const std::exception& e) {
            const std::string text = std::string("exception: ") + e.what() + "\n";
            (void)!write(2, text.data(), text.size());
        }
        _exit(code);
    }
    close(ends[1]);
    child_result result;
    char buffer[4096];
    for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
        result.output.append(buffer, static_cast<std::size_t>(n));
    }
    close(ends[0]);
    waitpid(child, &result.status, 0);
    return result;
}

} // namespace support
