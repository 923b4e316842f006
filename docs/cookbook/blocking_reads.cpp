// Read files without blocking workers
//
// A read of a regular file blocks its thread: the system knows no readiness for files. `blocking` runs such a
// call on a thread beside the workers, and the worker does other things meanwhile. There are at most
// `options.max_extra_workers` such threads; further calls block their workers. The work on the contents stays
// on the workers.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
    return pilfer::blocking([&] {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    });
}

int main() {
    const fs::path folder = fs::temp_directory_path() / ("pilfer-reads-" + std::to_string(getpid()));
    fs::create_directory(folder);
    std::vector<fs::path> files;
    for (int i = 0; i < 20; ++i) {
        files.push_back(folder / std::to_string(i));
        std::ofstream(files.back()) << "first line\nsecond line\n";
    }

    pilfer::pool pool;
    std::atomic<long> lines{0};
    pool.run([&] {
        pilfer::scope readers;
        for (const fs::path& file : files) {
            readers.fork([&lines, &file] {
                const std::string text = read_file(file);
                lines += std::ranges::count(text, '\n');
            });
        }
        readers.sync();
    });
    std::printf("%ld lines\n", lines.load());
    fs::remove_all(folder);
}
