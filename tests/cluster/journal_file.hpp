// A file of a test, which goes away with it.
#pragma once

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

namespace journal_files {

struct temporary_file {
    temporary_file() {
        static std::atomic<int> files{0};
        path = (std::filesystem::temp_directory_path() /
                ("pilfer-journal-" + std::to_string(getpid()) + "-" + std::to_string(++files)))
                   .string();
        std::filesystem::remove(path);
    }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file() { std::filesystem::remove(path); }
    std::string path;
};

inline std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
inline void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

} // namespace journal_files
