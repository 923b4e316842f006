#include "platform/whole_program.hpp"

#if defined(PILFER_TEST)

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "platform/os.hpp"

// C++ has no name for main() that can be called, and the linker none for these that is no reserved one.
extern "C" {
extern int pilfer_v0_main(int, char**, char**) __asm__("main") __attribute__((weak));
extern const pilfer::v0::os::constructor pilfer_v0_first_constructor[] __asm__("__init_array_start")
    __attribute__((weak, visibility("hidden")));
extern const pilfer::v0::os::constructor pilfer_v0_constructors_end[] __asm__("__init_array_end")
    __attribute__((weak, visibility("hidden")));
}

namespace pilfer {
inline namespace v0 {
namespace os {

// Only glibc gives constructors the arguments of main().
rest_of_program::rest_of_program([[maybe_unused]] constructor self, int count, char** words,
                                 char** environment) noexcept
    : m_count(count), m_words(words), m_environment(environment) {
#if defined(__GLIBC__)
    if (&pilfer_v0_main == nullptr) {
        return;
    }
    for (const constructor* c = pilfer_v0_first_constructor; c != pilfer_v0_constructors_end; ++c) {
        if (*c == self) {
            m_next = c + 1;
            return;
        }
    }
#endif
}

int rest_of_program::run() const {
    for (const constructor* c = m_next; c != pilfer_v0_constructors_end; ++c) {
        (*c)(m_count, m_words, m_environment);
    }
    return pilfer_v0_main(m_count, m_words, m_environment);
}

void* shared_memory(std::size_t bytes) noexcept {
    void* const p =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p != MAP_FAILED ? p : nullptr;
}

namespace {

/// The signal that says that a child has ended.
[[nodiscard]] sigset_t end_of_child() noexcept {
    sigset_t s;
    (void)sigemptyset(&s);
    (void)sigaddset(&s, SIGCHLD);
    return s;
}

} // namespace

int begin_child(bool hidden) noexcept {
    static const off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    std::fflush(nullptr);                // or the child would write it once more
    (void)std::signal(SIGCHLD, SIG_DFL); // else, where it is ignored, each child would seem to end with 0
    // wait_for_child() takes this signal. It is blocked before the fork, so that it is not lost. Only the
    // first call finds the mask of the program.
    static const sigset_t before = [] {
        const sigset_t end = end_of_child();
        sigset_t s;
        (void)sigprocmask(SIG_BLOCK, &end, &s);
        return s;
    }();
    const pid_t child = fork();
    if (child != 0) {
        return static_cast<int>(child);
    }
    (void)sigprocmask(SIG_SETMASK, &before, nullptr);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (at < 0 || lseek(STDIN_FILENO, at, SEEK_SET) < 0) {
        (void)dup2(nothing, STDIN_FILENO);
    }
    if (hidden) {
        (void)dup2(nothing, STDOUT_FILENO);
        (void)dup2(nothing, STDERR_FILENO);
    }
    (void)close(nothing);
    return 0;
}

bool wait_for_child(int child, std::uint64_t most, child_end& end) noexcept {
    int status = 0;
    pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) {
        constexpr std::uint64_t a_second = 1'000'000'000;
        const timespec limit{static_cast<time_t>(most / a_second), static_cast<long>(most % a_second)};
        const sigset_t one = end_of_child();
        (void)sigtimedwait(&one, nullptr, &limit);
        ended = waitpid(child, &status, WNOHANG);
    }
    end = {WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    return ended != 0;
}

std::uint64_t cpu_ns_of_child(int child) noexcept {
    clockid_t clock{};
    timespec t{};
    if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &t) != 0) {
        return 0;
    }
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

void end_child(int child) noexcept {
    (void)kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
}

std::string signal_text(int signal) {
    const char* const text = strsignal(signal);
    return "signal " + std::to_string(signal) + (text != nullptr ? std::string(", ") + text : "");
}

void leave(int code) noexcept { _exit(code); }

const char* safe_variable(const char* name) noexcept {
    return has_added_rights() ? nullptr : std::getenv(name);
}

void forget_variable(const char* name) noexcept { (void)unsetenv(name); }

} // namespace os
} // namespace v0
} // namespace pilfer

#endif
