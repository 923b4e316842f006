// The checked build: states of contexts, and the locks that a task holds.
#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/context/context.hpp>
#include <pilfer/detail/context/held_lock.hpp>

#include <cstdio>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr const char* state_names[] = {"pooled", "cached", "running", "suspended", "offered"};

[[nodiscard]] const char* name_of(context_state s) noexcept {
    const auto i = static_cast<unsigned>(s);
    return i < sizeof state_names / sizeof state_names[0] ? state_names[i] : "destroyed";
}

} // namespace

void wrong_state(context_state from, context_state to, context_state was) noexcept {
    char text[128];
    std::snprintf(text, sizeof text, "a context becomes %s that was %s and not %s", name_of(to), name_of(was),
                  name_of(from));
    check_failed(text);
}

#if defined(PILFER_CHECKED)
void check_locks(const context& c, const char* awaited) noexcept {
    const held_lock* const held = c.locks.load(rlx);
    if (held == nullptr) {
        return;
    }
    char text[512];
    std::snprintf(text, sizeof text, "a task waits for %s while it holds the lock that it took at %s:%u (%s)",
                  awaited, held->place.file_name(), static_cast<unsigned>(held->place.line()),
                  held->place.function_name());
    check_failed(text);
}
#endif

} // namespace detail
} // namespace v0
} // namespace pilfer
