#include "platform/source_lines.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>

#include "platform/clock.hpp"
#include "platform/os.hpp"
#include "platform/symbols.hpp"

extern "C" char** environ; // NOLINT(readability-redundant-declaration): unistd.h has it only with _GNU_SOURCE

namespace pilfer {
inline namespace v0 {
namespace os {
namespace {

/// Arguments have a limit, too.
constexpr std::size_t addresses_at_once = 2'000;

[[nodiscard]] std::string command_address(std::uintptr_t n) {
    std::ostringstream out;
    out << "0x" << std::hex << n;
    return out.str();
}

/// The standard output of a program; empty if it cannot be run. If it takes longer than `most` nanoseconds it
/// is killed, and what it has written so far is returned.
[[nodiscard]] std::string output_of(std::vector<std::string> command, std::uint64_t most) {
    if (has_added_rights()) {
        return {}; // PATH chooses the program
    }
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (std::string& a : command) {
        arguments.push_back(a.data());
    }
    arguments.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return {};
    }
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        error = posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    std::string text;
    if (error == 0) {
        constexpr std::uint64_t look = 100'000'000;
        const std::uint64_t start = kernel_now_ns();
        char piece[4096];
        for (;;) {
            pollfd end{ends[0], POLLIN, 0};
            const int comes = poll(&end, 1, static_cast<int>(look / 1'000'000));
            if (comes > 0) {
                const ssize_t n = ::read(ends[0], piece, sizeof piece);
                if (n > 0) {
                    text.append(piece, static_cast<std::size_t>(n));
                } else if (n == 0 || errno != EINTR) {
                    break;
                }
            } else if (comes < 0 && errno != EINTR) {
                break;
            }
            if (kernel_now_ns() - start > most) {
                (void)kill(child, SIGKILL);
                break;
            }
        }
        while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    close(ends[0]);
    return text;
}

/// "file:12" or "file:12 (discriminator 3)"; "??:0" if nothing is known.
[[nodiscard]] source_line read_line(const std::string& function, const std::string& text) {
    source_line l;
    l.function = function != "??" ? function : "";
    const std::size_t colon = text.rfind(':');
    if (colon != std::string::npos && text.compare(0, 2, "??") != 0) {
        l.line = static_cast<unsigned>(std::strtoul(text.c_str() + colon + 1, nullptr, 10));
        l.file = l.line != 0 ? text.substr(0, colon) : "";
    }
    return l;
}

struct walk_state {
    const void** to;
    unsigned most;
    bool is_interrupted = false; // the list begins anew after the frame of a signal
    unsigned count = 0;
};

_Unwind_Reason_Code visit(_Unwind_Context* frame, void* argument) noexcept {
    auto& w = *static_cast<walk_state*>(argument);
    int is_place = 0; // and no return address
    const std::uintptr_t ip = _Unwind_GetIPInfo(frame, &is_place);
    if (is_place != 0 && w.is_interrupted) {
        w.count = 0;
    }
    if (ip == 0 || w.count == w.most) {
        return _URC_END_OF_STACK;
    }
    w.to[w.count++] = reinterpret_cast<const void*>(ip + (is_place != 0 ? 1 : 0));
    return _URC_NO_REASON;
}

} // namespace

unsigned return_addresses(const void** to, unsigned most) noexcept {
    walk_state w{to, most};
    _Unwind_Backtrace(&visit, &w);
    return w.count;
}

unsigned interrupted_addresses(const void** to, unsigned most) noexcept {
    walk_state w{to, most, true};
    _Unwind_Backtrace(&visit, &w);
    return w.count;
}

void source_lines::learn(const std::vector<const void*>& addresses) {
    std::map<std::string, std::vector<std::uintptr_t>> unknown;
    for (const void* const a : addresses) {
        const loaded_from f = file_around(reinterpret_cast<std::uintptr_t>(a) - 1);
        if (f.found && m_lines.try_emplace({f.path, f.address}).second) {
            unknown[f.path].push_back(f.address);
        }
    }
    for (const auto& [path, all] : unknown) {
        for (std::size_t from = 0; from < all.size(); from += addresses_at_once) {
            const std::size_t to = std::min(from + addresses_at_once, all.size());
            // The child's /proc/self is another program.
            const std::string file = !path.empty() ? path : "/proc/" + std::to_string(getpid()) + "/exe";
            std::vector<std::string> command{"", "-a", "-i", "-f", "-C", "-e", file};
            for (std::size_t i = from; i < to; ++i) {
                command.push_back(command_address(all[i]));
            }
            // LLVM's first: that of binutils 2.40 misses calls that clang++ has inlined.
            std::string text;
            for (const char* const name : {"llvm-addr2line", "llvm-addr2line-19", "addr2line"}) {
                command.front() = name;
                if (text = output_of(command, m_most); !text.empty()) {
                    break;
                }
            }
            std::istringstream lines(text);
            std::vector<source_line>* here = nullptr;
            for (std::string line; std::getline(lines, line);) {
                if (line.compare(0, 2, "0x") == 0) {
                    here = &m_lines[{path, std::strtoull(line.c_str(), nullptr, 16)}];
                    continue;
                }
                std::string where;
                if (here == nullptr || !std::getline(lines, where)) {
                    break;
                }
                if (source_line l = read_line(line, where); !l.function.empty()) {
                    here->push_back(std::move(l));
                }
            }
        }
    }
}

const std::vector<source_line>& source_lines::at(const void* return_address) const {
    static const std::vector<source_line> nothing;
    const loaded_from f = file_around(reinterpret_cast<std::uintptr_t>(return_address) - 1);
    const auto found = m_lines.find({f.path, f.address});
    return found != m_lines.end() ? found->second : nothing;
}

} // namespace os
} // namespace v0
} // namespace pilfer
