#include "race/lines.hpp"

#if defined(PILFER_RACE)

#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

extern char** environ;

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace race {
namespace {

struct module {
    std::string path;
    std::uint64_t base;
    std::uint64_t from, to;
};

int add_module(dl_phdr_info* object, std::size_t, void* to) {
    auto& found = *static_cast<std::vector<module>*>(to);
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
        const auto& segment = object->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
            const std::uint64_t from = object->dlpi_addr + segment.p_vaddr;
            found.push_back({*object->dlpi_name != '\0' ? object->dlpi_name : "/proc/self/exe",
                             object->dlpi_addr, from, from + segment.p_memsz});
        }
    }
    return 0;
}

[[nodiscard]] std::string path_of_program() {
    std::string path(4096, '\0');
    const ssize_t n = readlink("/proc/self/exe", path.data(), path.size());
    path.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return path;
}

/// The output of `command file`, with `input` as its input. Empty: it could not be run.
[[nodiscard]] std::string output_of(const char* command, const std::string& file, const std::string& input) {
    std::FILE* const in = std::tmpfile();
    std::FILE* const out = std::tmpfile();
    std::string text;
    if (in != nullptr && out != nullptr && std::fwrite(input.data(), 1, input.size(), in) == input.size()) {
        std::fflush(in);
        std::rewind(in);
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, fileno(in), 0);
        posix_spawn_file_actions_adddup2(&files, fileno(out), 1);
        posix_spawn_file_actions_addopen(&files, 2, "/dev/null", 1, 0);
        const char* const arguments[] = {command, "-a", "-i", "-f", "-C", "-e", file.c_str(), nullptr};
        pid_t child = 0;
        if (posix_spawnp(&child, command, &files, nullptr, const_cast<char* const*>(arguments), environ) ==
            0) {
            int status = 0;
            (void)waitpid(child, &status, 0);
            std::rewind(out);
            char part[4096];
            for (std::size_t n; (n = std::fread(part, 1, sizeof part, out)) != 0;) {
                text.append(part, n);
            }
        }
        posix_spawn_file_actions_destroy(&files);
    }
    if (in != nullptr) {
        std::fclose(in);
    }
    if (out != nullptr) {
        std::fclose(out);
    }
    return text;
}

[[nodiscard]] std::string next_line(const std::string& text, std::size_t& at) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    return line;
}

/// Splits "file:line (discriminator 2)".
[[nodiscard]] source_line line_of(std::string function, std::string place) {
    place = place.substr(0, place.find(" ("));
    const std::size_t colon = place.rfind(':');
    source_line l{std::move(function), "", ""};
    for (std::size_t at; (at = l.function.find("pilfer::v0::")) != std::string::npos;) {
        l.function.erase(at + 8, 4);
    }
    if (colon != std::string::npos && place.compare(0, 2, "??") != 0) {
        l.file = place.substr(0, colon);
        l.line = place.substr(colon + 1);
    }
    return l;
}

} // namespace

bool line_table::look_up() {
    std::vector<module> modules;
    dl_iterate_phdr(&add_module, &modules);
    bool any = m_lines.empty();
    for (const module& m : modules) {
        std::vector<std::uint64_t> wanted;
        std::string input;
        for (const auto& [address, lines] : m_lines) {
            if (address > m.from && address <= m.to) {
                char number[32];
                std::snprintf(number, sizeof number, "0x%llx\n",
                              static_cast<unsigned long long>(address - 1 - m.base));
                input += number;
                wanted.push_back(address);
            }
        }
        if (wanted.empty()) {
            continue;
        }
        const std::string file = m.path == "/proc/self/exe" ? path_of_program() : m.path;
        std::string text;
        // That of binutils knows few of the inlined calls that clang describes.
        for (const char* command : {"llvm-addr2line", "llvm-addr2line-19", "addr2line"}) {
            text = output_of(command, file, input);
            if (!text.empty()) {
                any = true;
                break;
            }
        }
        std::size_t at = 0;
        std::size_t i = 0;
        while (at < text.size() && i <= wanted.size()) {
            const std::string line = next_line(text, at);
            if (line.compare(0, 2, "0x") == 0) {
                ++i;
            } else if (i != 0) {
                m_lines[wanted[i - 1]].push_back(line_of(line, next_line(text, at)));
            }
        }
    }
    return any;
}

const std::vector<source_line>& line_table::at(std::uint64_t returns_to) const {
    static const std::vector<source_line> none;
    const auto found = m_lines.find(returns_to);
    return found != m_lines.end() ? found->second : none;
}

} // namespace race
} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
