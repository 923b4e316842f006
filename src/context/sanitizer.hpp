// What LeakSanitizer has to be told: memory that is no part of the heap, of the stack of a thread or of the
// program's statics, and in which pointers to the heap lie.
//
// LeakSanitizer comes with AddressSanitizer or alone (-fsanitize=leak), which no macro tells. So its
// functions are weak: null in a program without it.
#pragma once

#include <cstddef>

#include <pilfer/detail/base/sanitizer.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace san {

[[nodiscard]] bool leak_sanitizer() noexcept;
/// It looks for pointers in there as long as it is mapped and can be read. No byte of it may be a guard.
void is_root(const void* low, std::size_t size) noexcept;
/// The frames of a suspended context that AddressSanitizer keeps elsewhere.
void fake_stack_is_root(const stack_view& of) noexcept;

/// What the calling thread allocates while it lives is never called a leak.
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
