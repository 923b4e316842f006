#include "base/pressure.hpp"

#include <fstream>

namespace pilfer {
inline namespace v0 {
namespace os {

std::optional<std::uint64_t> waited_ns(const std::string& root, std::uint64_t thread) {
    std::ifstream file(root + "/proc/self/task/" + std::to_string(thread) + "/schedstat");
    std::uint64_t ran = 0;
    std::uint64_t waited = 0;
    if (!(file >> ran >> waited)) {
        return std::nullopt;
    }
    return waited;
}

std::optional<std::uint64_t> stalled_ns(const std::string& root) {
    std::ifstream file(root + "/proc/pressure/cpu");
    for (std::string word; file >> word;) {
        if (word == "full") {
            break;
        }
        if (word.rfind("total=", 0) == 0 && word.size() > 6 &&
            word.find_first_not_of("0123456789", 6) == std::string::npos && word.size() < 24) {
            return std::stoull(word.substr(6)) * 1000;
        }
    }
    return std::nullopt;
}

std::optional<unsigned> number_in(const std::string& path) {
    std::ifstream file(path);
    unsigned n = 0;
    if (!(file >> n) || n > 4096) {
        return std::nullopt;
    }
    return n;
}

} // namespace os
} // namespace v0
} // namespace pilfer
