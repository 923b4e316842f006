// The order for one measured run, and its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace showcase {

struct problem {
    std::string path;
    std::string reason;
};

struct job {
    std::string program; // treehash, uts, sortlines, wordcount
    std::string runtime; // serial, pilfer, tbb, openmp, std
    std::string input;   // a folder, a tree's name, a text file
    unsigned workers = 1;
    std::size_t stack_size = 0; // bytes; 0 leaves the runtime its default
};

struct outcome {
    double seconds = 0;          // Wall time of the work: without starting threads or hashing a text.
    std::string result;          // Equal for all runtimes; otherwise one of them is wrong.
    std::uint64_t items = 0;     // files, nodes, lines, different words
    std::uint64_t bytes = 0;     // Read; 0 if there is no input.
    std::uint64_t problems = 0;  // unreadable files and folders
    std::vector<problem> listed; // the first ones of them
};

/// How many problems an outcome names; the others are only counted.
constexpr std::size_t problems_listed = 100;

} // namespace showcase
