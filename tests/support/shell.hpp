// Commands run by the shell, and their output.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace support {

struct said {
    std::string text;
    int code; // exit code, or -1 when it did not end by itself
};

/// Standard error is not in the text unless the command redirects it.
[[nodiscard]] inline said shell(const std::string& command) {
    FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) {
        throw std::runtime_error("popen");
    }
    said result{{}, -1};
    std::array<char, 4096> block{};
    while (const std::size_t got = std::fread(block.data(), 1, block.size(), pipe)) {
        result.text.append(block.data(), got);
    }
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) {
        result.code = WEXITSTATUS(status);
    }
    return result;
}

[[nodiscard]] inline bool has(const said& s, const std::string& text) {
    return s.text.find(text) != std::string::npos;
}

} // namespace support
