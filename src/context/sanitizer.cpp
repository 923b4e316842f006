// The half of ThreadSanitizer's interface that has no header, and the calls of LeakSanitizer.
#include "context/sanitizer.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include <pilfer/detail/base/same_sanitizer.h>

extern "C" {
const char PILFER_SAME_SANITIZER = 0;

[[gnu::weak]] void __lsan_register_root_region(const void* low, std::size_t size);
[[gnu::weak]] void __lsan_disable();
[[gnu::weak]] void __lsan_enable();
}

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace san {

bool leak_sanitizer() noexcept { return &__lsan_register_root_region != nullptr; }

void is_root(const void* low, std::size_t size) noexcept { __lsan_register_root_region(low, size); }

void fake_stack_is_root([[maybe_unused]] const stack_view& of) noexcept {
#if defined(PILFER_ASAN)
    // Its size is FakeStack::RequiredSize() of compiler-rt/lib/asan/asan_fake_stack.h: a page, a byte for
    // each of the smallest frames, and eleven classes of frames, each as large as the stack.
    if (of.fake_stack != nullptr) {
        const std::size_t stack =
            std::clamp(std::bit_ceil(of.size), std::size_t{1} << 16, std::size_t{1} << 20);
        is_root(of.fake_stack, 4096 + stack / 32 + 11 * stack);
    }
#endif
}

never_lost::never_lost() noexcept {
    if (&__lsan_disable != nullptr) {
        __lsan_disable();
    }
}
never_lost::~never_lost() {
    if (&__lsan_enable != nullptr) {
        __lsan_enable();
    }
}

} // namespace san
} // namespace detail
} // namespace v0
} // namespace pilfer

#if defined(PILFER_TSAN)

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace san {

// Kept per fiber: a destructor that suspends takes it along.
void begin_hidden_order() noexcept {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}
void end_hidden_order() noexcept {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

} // namespace san
} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
