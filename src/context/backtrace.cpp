#include "context/backtrace.hpp"

#include <unwind.h>

#include "context/switch.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

#if defined(PILFER_ISA_PORTABLE)

unsigned backtrace(void*, void**, unsigned) noexcept { return 0; }

#else

namespace {

struct walk_state {
    void** addresses;
    unsigned most;
    unsigned count = 0;
    bool outside = false; // after the frame of pilfer_v0_trace: on the other stack
};

[[nodiscard]] void* start_of(_Unwind_Context* frame, void* ip) noexcept {
    // A return address may be after the end of its function.
    int before = 0;
    (void)_Unwind_GetIPInfo(frame, &before);
    return _Unwind_FindEnclosingFunction(static_cast<char*>(ip) - (before != 0 ? 0 : 1));
}

_Unwind_Reason_Code visit(_Unwind_Context* frame, void* argument) noexcept {
    auto& w = *static_cast<walk_state*>(argument);
    void* ip = reinterpret_cast<void*>(_Unwind_GetIP(frame));
    if (!w.outside) {
        w.outside = start_of(frame, ip) == reinterpret_cast<void*>(&pilfer_v0_trace);
        return _URC_NO_REASON;
    }
    if (ip == nullptr || w.count == w.most) {
        return _URC_END_OF_STACK;
    }
    w.addresses[w.count++] = ip;
    return _URC_NO_REASON;
}

void walk_frames(void* argument) noexcept { _Unwind_Backtrace(&visit, argument); }

} // namespace

unsigned backtrace(void* sp, void** addresses, unsigned most) noexcept {
    walk_state w{addresses, most};
    pilfer_v0_trace(sp, &walk_frames, &w);
    return w.count;
}

#endif

} // namespace detail
} // namespace v0
} // namespace pilfer
