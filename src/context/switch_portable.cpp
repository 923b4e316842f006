// Any other instruction set, by POSIX ucontext: complete, and slow (a system call for the signal mask at
// every switch). Also built with PILFER_PORTABLE_CONTEXT for testing.
#include "context/switch.hpp"

#if defined(PILFER_ISA_PORTABLE)

#include <ucontext.h>

#include <cstdlib>

namespace {

struct saved {
    ucontext_t context;
    void* message = nullptr;
};

// makecontext passes ints: a pointer is passed in two halves.
struct launch {
    pilfer::v0::detail::child_main main;
    void* top;
    pilfer::v0::detail::continuation* rest;
    void (*entry)(void*);
    void* argument;
};

void trampoline(unsigned high, unsigned low) {
    const auto at = (static_cast<std::uintptr_t>(high) << 16 << 16) | low;
    const launch l = *reinterpret_cast<launch*>(at);
    if (l.entry != nullptr) {
        l.entry(l.argument);
        std::abort();
    }
    auto* rest = l.main(l.top, l.rest);
    setcontext(&static_cast<saved*>(rest->sp)->context);
    std::abort();
}

void prepare(ucontext_t& c, void* top, launch& l) {
    constexpr std::size_t any = 8192; // only the end of the range counts
    getcontext(&c);
    c.uc_link = nullptr;
    c.uc_stack.ss_sp = static_cast<char*>(top) - any;
    c.uc_stack.ss_size = any;
    const auto at = reinterpret_cast<std::uintptr_t>(&l);
    makecontext(&c, reinterpret_cast<void (*)()>(&trampoline), 2, static_cast<unsigned>(at >> 16 >> 16),
                static_cast<unsigned>(at));
}

} // namespace

extern "C" {

void* pilfer_v0_switch(void** save, void* target, void* message) {
    saved self;
    *save = &self;
    auto* to = static_cast<saved*>(target);
    to->message = message;
    swapcontext(&self.context, &to->context);
    return self.message;
}

void pilfer_v0_jump(void* target, void* message) {
    auto* to = static_cast<saved*>(target);
    to->message = message;
    setcontext(&to->context);
    std::abort();
}

void* pilfer_v0_start(void** save, void* top, void (*entry)(void*), void* argument) {
    saved self;
    *save = &self;
    launch l{nullptr, nullptr, nullptr, entry, argument};
    ucontext_t c;
    prepare(c, top, l);
    swapcontext(&self.context, &c);
    return self.message;
}

void* pilfer_v0_continue(void** save, const pilfer::v0::detail::continuation* rest) {
    return pilfer_v0_switch(save, rest->sp, nullptr);
}
}

namespace pilfer {
inline namespace v0 {
namespace detail {

void call_on(void* top, continuation* rest, child_main main) noexcept {
    saved self;
    rest->sp = &self;
    launch l{main, top, rest, nullptr, nullptr};
    ucontext_t c;
    prepare(c, top, l);
    swapcontext(&self.context, &c);
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
