// A folder that goes away with the test, and commands run by the shell.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace showcase_test {

class sandbox : public ::testing::Test {
public:
    sandbox() {
        std::string name = (std::filesystem::temp_directory_path() / "showcase-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("mkdtemp");
        ::chmod(name.c_str(), 0755); // some tests look at it as another user
        m_root = name;
    }
    ~sandbox() override {
        std::error_code ignored;
        std::filesystem::remove_all(m_root, ignored);
    }

    std::string at(std::string const& relative) const { return (m_root / relative).string(); }

    std::string write(std::string const& relative, std::string const& text) const {
        std::filesystem::path const path = m_root / relative;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream file(path, std::ios::binary);
        file << text;
        file.close();
        if (!file)
            throw std::runtime_error("cannot write " + path.string());
        return path.string();
    }

private:
    std::filesystem::path m_root;
};

inline std::string read_file(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error("cannot read " + path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

inline std::string quoted(std::string const& word) {
    std::string text = "'";
    for (char const c : word) {
        if (c == '\'')
            text += "'\\'";
        text += c;
    }
    return text + "'";
}

struct said {
    std::string text;
    int code; // exit code, or -1 when it did not end by itself
};

/// Runs a shell command. Standard error is not in the text unless the command redirects it.
inline said shell(std::string const& command) {
    FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr)
        throw std::runtime_error("popen");
    said result{{}, -1};
    std::array<char, 4096> block{};
    while (std::size_t const got = std::fread(block.data(), 1, block.size(), pipe))
        result.text.append(block.data(), got);
    int const status = ::pclose(pipe);
    if (WIFEXITED(status))
        result.code = WEXITSTATUS(status);
    return result;
}

inline said showcase(std::string const& arguments) {
    return shell(quoted(PILFER_SHOWCASE_PROGRAM) + ' ' + arguments);
}

} // namespace showcase_test
