// Switching stacks. One implementation per instruction set; all have these five entry points (call_on is
// inline in <pilfer/detail/context/context.hpp>). What is not saved is listed there.
#pragma once

#include <pilfer/detail/context/context.hpp>

extern "C" {
/// Saves the caller to *save and goes on where `target` was saved. Returns, when somebody switches back,
/// the `message` of that call.
void* pilfer_v0_switch(void** save, void* target, void* message);
/// Goes on where `target` was saved; the present stack is given up.
[[noreturn]] void pilfer_v0_jump(void* target, void* message);
/// Saves the caller and calls entry(argument) on the stack that ends at `top`; entry never returns.
void* pilfer_v0_start(void** save, void* top, void (*entry)(void*), void* argument);
/// Saves the caller and goes on behind the `spawn` that filled `rest`.
void* pilfer_v0_continue(void** save, const pilfer::v0::detail::continuation* rest);
/// Calls walk(argument) from a frame whose caller, for an unwinder, is the stack that was saved at `sp`.
/// Not where stacks are switched by ucontext.
void pilfer_v0_trace(void* sp, void (*walk)(void*), void* argument);
}
