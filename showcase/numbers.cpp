#include "numbers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace showcase {

std::string grouped(std::uint64_t number) {
    std::string text = fmt::format("{}", number);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, 1, ',');
    }
    return text;
}

std::string shown_seconds(double seconds) {
    if (seconds >= 100)
        return fmt::format("{:.1f} s", seconds);
    if (seconds >= 1)
        return fmt::format("{:.3f} s", seconds);
    if (seconds >= 1e-3)
        return fmt::format("{:.4g} ms", seconds * 1e3);
    return fmt::format("{:.4g} us", seconds * 1e6);
}

std::string shown_bytes(std::uint64_t bytes) {
    return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 1048576.0);
}

std::string printable(std::string_view text) {
    std::string shown(text);
    for (char& c : shown)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    return shown;
}

std::string shown_runtime(std::string_view runtime) {
    if (runtime == "tbb")
        return "oneTBB";
    if (runtime == "std")
        return "std::execution";
    if (runtime == "openmp")
        return "OpenMP";
    if (runtime == "libgomp")
        return "OpenMP (libgomp)";
    if (runtime == "libomp")
        return "OpenMP (libomp)";
    std::string shown(runtime);
    std::replace(shown.begin(), shown.end(), '_', ' ');
    return shown;
}

std::string shown_way_to_fork(std::string_view runtime) {
    return runtime == "serial" ? "plain call" : shown_runtime(runtime);
}

} // namespace showcase
