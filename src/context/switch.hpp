// Switching stacks. One implementation per instruction set, each with these five entry points. call_on is
// inline in <pilfer/detail/context/context.hpp>, which also lists what is not saved.
#pragma once

#include <pilfer/detail/context/context.hpp>

extern "C" {
/// Saves the caller to *save and resumes the stack saved at `target`. When another switch resumes the caller,
/// returns that call's `message`.
void* pilfer_v0_switch(void** save, void* target, void* message);
/// Resumes the stack saved at `target`; the present stack is given up.
[[noreturn]] void pilfer_v0_jump(void* target, void* message);
/// Saves the caller and calls entry(argument) on the stack that ends at `top`; entry never returns.
void* pilfer_v0_start(void** save, void* top, void (*entry)(void*), void* argument);
/// Saves the caller and continues after the `spawn` that filled `rest`.
void* pilfer_v0_continue(void** save, const pilfer::v0::detail::continuation* rest);
/// Calls walk(argument) from a frame whose caller, for an unwinder, is the stack saved at `sp`. Not available
/// if stacks are switched by ucontext.
void pilfer_v0_trace(void* sp, void (*walk)(void*), void* argument);
}
