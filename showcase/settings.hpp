// The settings of the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace showcase {

struct settings {
    std::string folder = "/usr/share";
    std::string out = "out";
    unsigned workers = 0; // 0: one per core this process may use; resolved by read_settings
    unsigned repeat = 3;
    bool quick = false;
    std::string tree = "T1";
    std::uint64_t text_bytes = 200'000'000;
    std::vector<std::string> programs{"treehash", "uts",      "sortlines", "wordcount",
                                      "forks",    "speedups", "timeline"};
    std::vector<std::string> runtimes{"serial", "pilfer", "tbb", "openmp"};
};

/// The settings, or the exit code if the program must end here (help, or a wrong option). The message has
/// been printed by then.
std::variant<settings, int> read_settings(int count, char const* const* words);

/// The exit code for wrong options and for a folder that cannot be read.
constexpr int exit_bad_usage = 2;

} // namespace showcase
