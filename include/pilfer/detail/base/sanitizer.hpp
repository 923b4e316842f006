// Notifies AddressSanitizer and ThreadSanitizer of stacks that change hands.
//
// Without a sanitizer every function here is empty. ThreadSanitizer gets one fiber per stack. A switch
// creates no happens-before edge, except in a build with PILFER_TEST. The edges that the model really has
// (spawn to child, child to sync) are announced by name. So ThreadSanitizer sees a race between two tasks
// even if both ran on one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pilfer/detail/base/platform.hpp>

#if defined(PILFER_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(PILFER_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The sanitizers' view of one stack.
struct stack_view {
    void* fiber = nullptr;      // ThreadSanitizer
    void* fake_stack = nullptr; // AddressSanitizer
    const void* low = nullptr;
    std::size_t size = 0;
};

namespace san {

PILFER_SAME_FRAME void acquire([[maybe_unused]] const void* edge) noexcept {
#if defined(PILFER_TSAN) && !defined(PILFER_RACE)
    if (edge != nullptr) {
        __tsan_acquire(const_cast<void*>(edge));
    }
#endif
}
PILFER_SAME_FRAME void release([[maybe_unused]] const void* edge) noexcept {
#if defined(PILFER_TSAN) && !defined(PILFER_RACE)
    if (edge != nullptr) {
        __tsan_release(const_cast<void*>(edge));
    }
#endif
}

#if defined(PILFER_TSAN) && defined(PILFER_TEST)
/// Each switch is an edge: the one worker whose schedules are explored may keep plain data of all tasks.
inline constexpr unsigned switch_flag = 0;
#elif defined(PILFER_TSAN)
inline constexpr unsigned switch_flag = __tsan_switch_to_fiber_no_sync;
#endif
/// Called right before the switch, from an always-inline caller. A null `from` gives the stack up. `edge` is
/// released after the last look at `to`. An instrumented caller's look must come before any code runs on that
/// stack, because the stack's memory may be reused soon.
PILFER_SAME_FRAME void leave([[maybe_unused]] stack_view* from, [[maybe_unused]] const stack_view& to,
                             [[maybe_unused]] const void* edge = nullptr) noexcept {
#if defined(PILFER_ASAN)
    __sanitizer_start_switch_fiber(from != nullptr ? &from->fake_stack : nullptr, to.low, to.size);
#endif
#if defined(PILFER_TSAN)
    void* const fiber = to.fiber;
    release(edge);
    __tsan_switch_to_fiber(fiber, switch_flag);
#endif
}
/// Called first on the stack that was switched to.
PILFER_SAME_FRAME void enter([[maybe_unused]] stack_view& self) noexcept {
#if defined(PILFER_ASAN)
    __sanitizer_finish_switch_fiber(self.fake_stack, nullptr, nullptr);
    self.fake_stack = nullptr;
#endif
}

#if defined(PILFER_TSAN)
PILFER_API void begin_hidden_order() noexcept;
PILFER_API void end_hidden_order() noexcept;
#endif
/// While it lives, ThreadSanitizer ignores the accesses of this stack. They are ordered by something that it
/// cannot see: the count of references to an exception.
///
/// The count is kept in the C++ runtime, which is not instrumented. A handler elsewhere has looked at the
/// exception and gave up its reference at its end, in code outside this library. So neither end of the edge
/// can be announced. The last reference destroys the exception.
struct hidden_order {
    hidden_order() noexcept {
#if defined(PILFER_TSAN)
        begin_hidden_order();
#endif
    }
    hidden_order(const hidden_order&) = delete;
    hidden_order& operator=(const hidden_order&) = delete;
    ~hidden_order() {
#if defined(PILFER_TSAN)
        end_hidden_order();
#endif
    }
};

PILFER_SAME_FRAME void unpoison([[maybe_unused]] const void* low,
                                [[maybe_unused]] std::size_t size) noexcept {
#if defined(PILFER_ASAN)
    __asan_unpoison_memory_region(low, size);
#endif
}

} // namespace san
} // namespace detail
} // namespace v0
} // namespace pilfer
