#include "pool/environment.hpp"

#include <charconv>
#include <stdexcept>
#include <string>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

[[nodiscard]] std::size_t unit_of(std::string_view suffix) noexcept {
    if (suffix.empty()) {
        return 1;
    }
    if (suffix.size() != 1) {
        return 0;
    }
    switch (suffix.front()) {
    case 'K':
    case 'k':
        return std::size_t{1} << 10;
    case 'M':
    case 'm':
        return std::size_t{1} << 20;
    case 'G':
    case 'g':
        return std::size_t{1} << 30;
    default:
        return 0;
    }
}

} // namespace

std::size_t stack_from(const char* environment) {
    if (environment == nullptr) {
        return usual_stack;
    }
    const std::string_view text = environment;
    std::size_t n = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error == std::errc{}) {
        const std::size_t unit = unit_of(text.substr(static_cast<std::size_t>(stop - text.data())));
        // A division, because the product may overflow.
        if (unit != 0 && n <= most_stack / unit && n * unit >= least_stack) {
            return n * unit;
        }
    }
    throw std::invalid_argument(
        "pilfer: PILFER_STACK must be a number of bytes from 16384 to 1073741824, or of K, M "
        "or G, such as 256K, not \"" +
        std::string(text) + '"');
}

idle spin_from(const char* environment) {
    if (environment == nullptr) {
        return idle::balanced;
    }
    for (const idle how : {idle::latency, idle::balanced, idle::battery}) {
        if (name(how) == environment) {
            return how;
        }
    }
    throw std::invalid_argument("pilfer: PILFER_SPIN must be latency, balanced or battery, not \"" +
                                std::string(environment) + '"');
}

std::string_view name(idle how) noexcept {
    switch (how) {
    case idle::latency:
        return "latency";
    case idle::battery:
        return "battery";
    case idle::automatic:
    case idle::balanced:
        break;
    }
    return "balanced";
}

/// The name plus a slash and four digits must fit into a thread name of the system.
void check_thread_name(std::string_view name) {
    bool printable = true;
    for (const char c : name) {
        printable = printable && static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
    }
    if (name.size() > 10 || !printable) {
        throw std::invalid_argument(
            "pilfer: options.name must be at most 10 bytes long, without control characters (its workers are "
            "called name/0 to name/4095), not \"" +
            std::string(name) + '"');
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
