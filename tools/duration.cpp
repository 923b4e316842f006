#include "duration.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdint>

#include "dice.hpp"

namespace tools {

std::chrono::milliseconds read_duration(std::string const& option, std::string const& text) {
    double number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    std::string const unit(static_cast<char const*>(end), text.data() + text.size());
    double const factor = unit.empty() || unit == "s" ? 1e3
                          : unit == "ms"              ? 1
                          : unit == "m"               ? 60e3
                          : unit == "h"               ? 3600e3
                                                      : 0;
    // A year. The limit also keeps the product from overflowing.
    if (error != std::errc() || factor == 0 || !(number > 0) || number * factor > 365 * 24 * 3600e3) {
        throw CLI::ValidationError(option,
                                   "'" + text + "' is no duration; say 30s, 10m or 1h, at most a year");
    }
    return std::chrono::milliseconds(std::max<std::int64_t>(1, static_cast<std::int64_t>(number * factor)));
}

std::uint64_t read_seed(std::string const& text) {
    bool const hexadecimal = text.rfind("0x", 0) == 0;
    char const* const begin = text.data() + (hexadecimal ? 2 : 0);
    char const* const last = text.data() + text.size();
    std::uint64_t seed = 0;
    auto const [end, error] = std::from_chars(begin, last, seed, hexadecimal ? 16 : 10);
    if (error != std::errc() || end != last || begin == last) {
        throw CLI::ValidationError("--seed", "'" + text + "' is no number from 0 to 2^64 - 1");
    }
    return seed;
}

std::uint64_t fresh_seed() {
    auto const now = std::chrono::system_clock::now().time_since_epoch().count();
    return mixed(static_cast<std::uint64_t>(now) ^ static_cast<std::uint64_t>(getpid()) << 40) >> 32;
}

} // namespace tools
