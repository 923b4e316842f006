// Several objects at once.
#include <pilfer/synchronized.hpp>

#include <algorithm>
#include <functional>

#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

void order_all(synchronized_part* parts, std::size_t n) {
    std::sort(parts, parts + n, [](const synchronized_part& a, const synchronized_part& b) {
        return std::less<>{}(a.object, b.object);
    });
    const auto same = [](const synchronized_part& a, const synchronized_part& b) {
        return a.object == b.object;
    };
    if (std::adjacent_find(parts, parts + n, same) != parts + n) {
        throw usage_error("pilfer: call_all() was given the same object twice");
    }
}

void enter_all(synchronized_part* parts, std::size_t n) {
    order_all(parts, n);
    std::size_t entered = 0;
    try {
        for (; entered < n; ++entered) {
            parts[entered].enter(parts[entered].object);
        }
    } catch (...) {
        leave_all(parts, entered);
        throw;
    }
}

void leave_all(const synchronized_part* parts, std::size_t n) noexcept {
    while (n-- > 0) {
        parts[n].leave(parts[n].object);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
