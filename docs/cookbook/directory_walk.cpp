// Walk a directory tree in parallel
//
// Each directory is a task of one `scope`. A task may fork into the scope of its ancestor, so the tree needs
// no list of directories to visit and no counter of running tasks. `sync` returns after the last directory.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <pilfer/pilfer.hpp>

namespace fs = std::filesystem;

struct totals {
    std::atomic<long> files{0};
    std::atomic<long> bytes{0};
};

void walk(pilfer::scope& all, const fs::path& folder, totals& sum) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        if (entry.is_directory() && !entry.is_symlink()) {
            all.fork([&all, &sum, path = entry.path()] { walk(all, path, sum); });
        } else if (entry.is_regular_file()) {
            ++sum.files;
            sum.bytes += static_cast<long>(entry.file_size());
        }
    }
}

int main() {
    const fs::path top = fs::temp_directory_path() / ("pilfer-walk-" + std::to_string(getpid()));
    for (int i = 0; i < 20; ++i) {
        fs::create_directories(top / std::to_string(i) / "below");
        std::ofstream(top / std::to_string(i) / "below" / "file") << "ten bytes\n";
    }

    pilfer::pool pool;
    totals sum;
    pool.run([&] {
        pilfer::scope all;
        walk(all, top, sum);
        all.sync(); // throws the first exception of any directory
    });
    std::printf("%ld files, %ld bytes\n", sum.files.load(), sum.bytes.load());
    fs::remove_all(top);
}
