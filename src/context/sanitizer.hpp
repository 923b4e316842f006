// Notifies LeakSanitizer of memory that contains pointers to the heap. This is memory outside the heap, the
// stacks of threads and the program's statics.
//
// LeakSanitizer comes with AddressSanitizer or alone (-fsanitize=leak), and no macro shows the latter. So its
// functions are weak: null in a program without it.
#pragma once

#include <cstddef>

#include <pilfer/detail/base/sanitizer.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace san {

[[nodiscard]] bool leak_sanitizer() noexcept;
/// Lets LeakSanitizer look for pointers there while it is mapped and readable. No byte of it may be a guard.
void is_root(const void* low, std::size_t size) noexcept;
/// Adds the frames of a suspended context that AddressSanitizer keeps elsewhere.
void fake_stack_is_root(const stack_view& of) noexcept;

/// While it lives, allocations of the calling thread are never reported as leaks.
class never_lost {
public:
    never_lost() noexcept;
    never_lost(const never_lost&) = delete;
    never_lost& operator=(const never_lost&) = delete;
    ~never_lost();
};

} // namespace san
} // namespace detail
} // namespace v0
} // namespace pilfer
