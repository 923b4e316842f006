// Stacks, and the continuation record of `spawn`: the part that templates need inline.
//
// The assembly relies on the offsets that are asserted at the foot. Not saved across a switch:
// thread-locals, errno, signal mask, AVX state (caller-saved), the shadow stack (not supported).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/base/same_sanitizer.h>
#include <pilfer/detail/base/sanitizer.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class bound_frames;
struct context;
struct slab;
struct std_atom;
struct scope_head;
template <class Atom, class Head>
class basic_scope_node;
using scope_node = basic_scope_node<std_atom, scope_head>;
struct suspension;
struct worker;
class held_lock;
class pool_core;

/// One run of one task: its address is the task's identity ("who owns this scope?").
struct activation {
    /// The innermost scope around the task's present point: one of its own, else the one that it is a child
    /// in, null if there is none. Only the thread that runs the task uses it.
    std::atomic<scope_node*> node{nullptr};
    context* ctx = nullptr; // null: of a thread outside
    /// Number of exceptions that were in flight on this stack when the task began. They are not the task's
    /// own.
    unsigned uncaught = 0;
    /// The number of library locks that the task holds, times 2. Plus 1 if the first of them marked
    /// `node`, which an enclosing scope may have had marked before. And `locks_are_recorded`.
    unsigned locks = 0;
    /// A bit of `locks`: the pool records a task graph, and wants to know of each lock.
    static constexpr unsigned locks_are_recorded = 1U << 31;

    [[nodiscard]] bool holds_lock() const noexcept { return (locks & ~locks_are_recorded) != 0; }
};

/// An activation on top of another frame. Every activation is one, except a context's own.
struct activation_on_top : activation {
    activation* beneath;
    PILFER_ALWAYS_INLINE activation_on_top(activation* under, scope_node* parent, unsigned in_flight) noexcept
        : activation{parent, under->ctx, in_flight, 0}, beneath(under) {}
};

/// The owner of a context: src/context/README.md has the table. Kept in the checked build only.
enum class context_state : std::uint32_t {
    pooled,    // warm in the stack pool, or just built
    cached,    // in a worker's list
    running,   // some worker is on it
    suspended, // a frame on it waits, from the instant it leaves the stack
    offered,   // the rest of a spawn is in a deque
};
/// Prints the wrong change of state and aborts.
[[noreturn]] PILFER_API PILFER_COLD void wrong_state(context_state from, context_state to,
                                                     context_state was) noexcept;

/// A free context and its rank in one word; 0 is none. The rank is an upper bound for the length of a list
/// that starts at that context. It fits into the low bits, because contexts are aligned to 64.
template <class Node>
struct ranked {
    static constexpr std::uint32_t most = 64;
    static constexpr std::uintptr_t mask = most - 1;

    /// `rank`: 1 to most.
    [[nodiscard]] static std::uintptr_t of(const Node* node, std::uint32_t rank) noexcept {
        return reinterpret_cast<std::uintptr_t>(node) | (rank - 1);
    }
    [[nodiscard]] PILFER_ALWAYS_INLINE static Node* node(std::uintptr_t link) noexcept {
        return reinterpret_cast<Node*>(link & ~mask);
    }
    [[nodiscard]] static std::uint32_t rank(std::uintptr_t link) noexcept {
        return link == 0 ? 0 : static_cast<std::uint32_t>(link & mask) + 1;
    }
};

#if defined(PILFER_TEST)
/// What a recording of a schedule, and its repetition, know of a task with a stack of its own: its name, from
/// that of its parent and the number of the fork there. Relaxed atomics, as all words of a context.
class test_identity {
public:
    [[nodiscard]] std::uint64_t name() const noexcept { return m_name.load(std::memory_order_relaxed); }
    /// A task begins on this stack. `origin`: next() of its parent, or 0.
    void begin(std::uint64_t origin) noexcept {
        m_name.store(name_of(origin), std::memory_order_relaxed);
        m_forks.store(0, std::memory_order_relaxed);
        leaves();
        m_steps.store(0, std::memory_order_relaxed);
    }
    /// The origin of one more task that this one forks.
    [[nodiscard]] PILFER_ALWAYS_INLINE std::uint64_t next() noexcept {
        const std::uint64_t n = m_forks.load(std::memory_order_relaxed) + 1;
        m_forks.store(n, std::memory_order_relaxed);
        return name() + n;
    }
    /// True if next() has given `origin`.
    [[nodiscard]] bool has_forked(std::uint64_t origin) const noexcept {
        return origin - name() - 1 < m_forks.load(std::memory_order_relaxed);
    }
    /// The task leaves its thread. Children that it has forked so far may be in the deque of a worker to
    /// which it does not come back.
    void leaves() noexcept {
        m_left.store(m_forks.load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    /// True if next() has given `origin` since the task left its thread for the last time.
    [[nodiscard]] bool has_just_forked(std::uint64_t origin) const noexcept {
        const std::uint64_t left = m_left.load(std::memory_order_relaxed);
        return origin - name() - 1 - left < m_forks.load(std::memory_order_relaxed) - left;
    }
    [[nodiscard]] static constexpr std::uint64_t name_of(std::uint64_t origin) noexcept {
        return (origin ^ (origin >> 32)) * 0x9e3779b97f4a7c15ULL;
    }
    /// The operations that the task is inside of.
    [[nodiscard]] unsigned steps() const noexcept { return m_steps.load(std::memory_order_relaxed); }
    void set_steps(unsigned n) noexcept { m_steps.store(n, std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> m_name{0};
    std::atomic<std::uint64_t> m_forks{0};
    std::atomic<std::uint64_t> m_left{0}; // m_forks when the task left its thread for the last time
    std::atomic<unsigned> m_steps{0};
};
#endif

/// A stack. This record is at the top of its own stack, so that a context touches one page less.
struct alignas(64) context {
    activation self;
    std::atomic<std::uintptr_t> next{0}; // in a free list: the link of the next context
    std::atomic<std::uintptr_t> link{0}; // of this context: the head of a list while it is the first
    /// Not 0 while a thread reads this suspended stack. A thread that resumes it waits until then
    /// (observe.I1, src/observe).
    std::atomic<std::uint32_t> walked{0};
    slab* home = nullptr;
    pool_core* pool = nullptr;
    std::byte* low = nullptr; // lowest usable byte; the guard is below it
    void* job = nullptr;      // the job of the entry function, with its kind; null for a child of spawn
    std::atomic<suspension*> waiting{nullptr}; // while the context is suspended: its innermost wait
    std::atomic<const char*> name{nullptr};    // of the innermost named function on it, in its frame
    /// Its innermost frames that must go on on their thread. Only code on this context uses it, and a thief
    /// that resumes its rest.
    bound_frames* bound = nullptr;
    stack_view view;
    std::uint32_t index = 0; // in its slab
    std::uint32_t valgrind_id = 0;
    std::atomic<std::uint32_t> waits{0}; // number of suspensions: `pilfer top` tells two waits apart by it
#if defined(PILFER_TEST)
    test_identity test;
#endif
#if defined(PILFER_CHECKED)
    std::atomic<context_state> state{context_state::pooled};
    std::atomic<held_lock*> locks{nullptr}; // the newest checked_lock taken on this stack
#endif

    /// Every change of a context's owner passes here. Empty outside the checked build.
    PILFER_ALWAYS_INLINE void change([[maybe_unused]] context_state from,
                                     [[maybe_unused]] context_state to) noexcept {
#if defined(PILFER_CHECKED)
        const context_state was = state.exchange(to, std::memory_order_relaxed);
        if (was != from) [[unlikely]] {
            detail::wrong_state(from, to, was);
        }
#endif
    }

    /// The first address below this record that is free for `bytes` bytes aligned to `align`.
    /// The context itself is aligned to 64, so for an `align` up to that the distance is a constant.
    [[nodiscard]] PILFER_ALWAYS_INLINE void* place(std::size_t bytes, std::size_t align) noexcept {
        return reinterpret_cast<std::byte*>(this) - distance(bytes, align);
    }
    [[nodiscard]] static constexpr std::size_t distance(std::size_t bytes, std::size_t align) noexcept {
        return (bytes + align - 1) & ~(align - 1);
    }
};

/// The rest of a function that called `spawn`: it is resumed at `ip` with these registers. Everything else
/// that the caller keeps alive is on its stack, because the switch names it as clobbered.
///
/// x86-64: the record holds all callee-saved registers. Naming r12..r15 as clobbered would cost more. The
/// caller's prologue and epilogue would store and load them, even in calls that return before they spawn.
struct continuation {
    void* ip;
    void* sp;
    void* bp;                 // x29 on AArch64
    void* bx;                 // x19 on AArch64
    std::uint64_t fp_control; // mxcsr, from which the x87 control word follows; FPCR on AArch64
#if defined(PILFER_ISA_X86_64)
    void* more[4]; // r12..r15: loaded by the code at `ip`, which finds this record in rsi
    void* top;     // of the child's stack: tells this spawn from a later one of the same frame
#endif
};

static_assert(alignof(context) >= ranked<context>::most, "the rank lies in the low bits of the address");

using child_main = continuation* (*)(void* top, continuation*);

// Debuggers and unwinders stop at the bottom of a stack: the return address there is undefined.
#if defined(__GCC_HAVE_DWARF2_CFI_ASM) && __GCC_HAVE_DWARF2_CFI_ASM
#if defined(PILFER_ISA_X86_64)
#define PILFER_CFI_BOTTOM ".cfi_remember_state\n\t.cfi_undefined rip\n\t"
#else
#define PILFER_CFI_BOTTOM ".cfi_remember_state\n\t.cfi_undefined 30\n\t"
#endif
#define PILFER_CFI_RESTORE ".cfi_restore_state\n\t"
#else
#define PILFER_CFI_BOTTOM ""
#define PILFER_CFI_RESTORE ""
#endif

#if defined(PILFER_ISA_X86_64)

#if defined(__CET__) && (__CET__ & 1)
#define PILFER_LANDING "endbr64\n\t"
#else
#define PILFER_LANDING ""
#endif
// The compiler may keep values in registers that exist only with these extensions, so they are named too.
#if defined(__AVX512F__)
#define PILFER_CLOBBER_WIDE                                                                                  \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26",     \
        "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define PILFER_CLOBBER_WIDE
#endif
#if defined(__APX_F__)
#define PILFER_CLOBBER_APX                                                                                   \
    , "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29",      \
        "r30", "r31"
#else
#define PILFER_CLOBBER_APX
#endif

/// Saves the caller in `cont` and calls main(top, cont) on the stack that ends at `top`. Returns at once with
/// main's result, or later on the thread that took `cont`.
///
/// main's return is an ordinary `ret`, which keeps the return predictor in step. Like any function main has
/// kept the callee-saved registers. So if the record is still that of this spawn, only the stack pointer is
/// missing.
///
/// If the address is equal, the record may be that of a later spawn of this frame. Then `top` differs,
/// because this child's stack is still in use. In that case everything comes from the record, including the
/// rounding mode (see pilfer_v0_continue). The code of the rare cases follows the function.
PILFER_SAME_FRAME void call_on(void* top, continuation* cont, child_main main) noexcept {
    // clang-format off
    asm volatile(
        "leaq 2f(%%rip), %%rax\n\t"
        "movq %%rax, 0(%%rsi)\n\t"
        "movq %%rsp, 8(%%rsi)\n\t"
        "movq %%rbp, 16(%%rsi)\n\t"
        "movq %%rbx, 24(%%rsi)\n\t"
        "stmxcsr 32(%%rsi)\n\t"
        "movq %%r12, 40(%%rsi)\n\t"
        "movq %%r13, 48(%%rsi)\n\t"
        "movq %%r14, 56(%%rsi)\n\t"
        "movq %%r15, 64(%%rsi)\n\t"
        "movq %%rdi, 72(%%rsi)\n\t"
        "movq %%rdi, %%rsp\n\t" PILFER_CFI_BOTTOM
        "call *%%rdx\n\t" PILFER_CFI_RESTORE
        "cmpq %%rsp, 72(%%rax)\n\t"
        "jne 3f\n\t"
        "movq 8(%%rax), %%rsp\n"
        "1:\n\t"
        ".subsection 1\n"
        "3:\n\t"
        "movq %%rax, %%rsi\n\t"
        "ldmxcsr 32(%%rsi)\n\t"
        "fnstcw -8(%%rsp)\n\t"
        "movl 32(%%rsi), %%eax\n\t"
        "movl %%eax, %%ecx\n\t"
        "shrl $3, %%eax\n\t"
        "andl $0x0c00, %%eax\n\t"
        "shrl $7, %%ecx\n\t"
        "andl $0x3f, %%ecx\n\t"
        "orl %%ecx, %%eax\n\t"
        "movl -8(%%rsp), %%ecx\n\t"
        "andl $0xf3c0, %%ecx\n\t"
        "orl %%eax, %%ecx\n\t"
        "movl %%ecx, -8(%%rsp)\n\t"
        "fldcw -8(%%rsp)\n\t"
        "movq 8(%%rsi), %%rsp\n\t"
        "movq 16(%%rsi), %%rbp\n\t"
        "movq 24(%%rsi), %%rbx\n\t"
        "jmp *0(%%rsi)\n"
        "2:\n\t" PILFER_LANDING
        "movq 40(%%rsi), %%r12\n\t"
        "movq 48(%%rsi), %%r13\n\t"
        "movq 56(%%rsi), %%r14\n\t"
        "movq 64(%%rsi), %%r15\n\t"
        "jmp 1b\n\t"
        ".previous\n\t"
        : "+D"(top), "+S"(cont), "+d"(main)
        :
        : "rax", "rcx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
          "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)",
          "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)" PILFER_CLOBBER_WIDE PILFER_CLOBBER_APX);
    // clang-format on
}

#elif defined(PILFER_ISA_AARCH64)

// A scalable register overlaps the vector register of its number, which is always named. clang does not
// know the first-fault register by name and keeps nothing in it.
#if defined(__ARM_FEATURE_SVE)
#if defined(__clang__)
#define PILFER_CLOBBER_FFR
#else
#define PILFER_CLOBBER_FFR , "ffr"
#endif
#define PILFER_CLOBBER_SVE                                                                                   \
    , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14",         \
        "p15" PILFER_CLOBBER_FFR
#else
#define PILFER_CLOBBER_SVE
#endif

PILFER_SAME_FRAME void call_on(void* top, continuation* cont, child_main main) noexcept {
    register void* x0 asm("x0") = top;
    register continuation* x1 asm("x1") = cont;
    register child_main x2 asm("x2") = main;
    // clang-format off
    asm volatile(
        "adr x9, 1f\n\t"
        "mov x10, sp\n\t"
        "stp x9, x10, [x1]\n\t"
        "stp x29, x19, [x1, #16]\n\t"
        "mrs x9, fpcr\n\t"
        "str x9, [x1, #32]\n\t"
        "mov sp, x0\n\t"
        PILFER_CFI_BOTTOM
        "blr x2\n\t" PILFER_CFI_RESTORE
        // The record may be that of a later spawn, made in another rounding mode.
        "ldr x11, [x0, #32]\n\t"
        "mrs x12, fpcr\n\t"
        "cmp x11, x12\n\t"
        "b.eq 2f\n\t"
        "msr fpcr, x11\n"
        "2:\n\t"
        "ldp x9, x10, [x0]\n\t"
        "ldp x29, x19, [x0, #16]\n\t"
        "mov sp, x10\n\t"
        "br x9\n"
        "1:\n\t"
        "hint #36\n\t"  // bti j; x16/x17 are not used for the jump
        : "+r"(x0), "+r"(x1), "+r"(x2)
        :
        : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18",
          "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "memory", "cc", "v0", "v1", "v2", "v3",
          "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19",
          "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31" PILFER_CLOBBER_SVE);
    // clang-format on
}

#else

/// Portable fallback, built on ucontext in src/context: slow, complete.
PILFER_API void call_on(void* top, continuation* cont, child_main main) noexcept;

#endif

static_assert(offsetof(continuation, ip) == 0 && offsetof(continuation, sp) == 8);
static_assert(offsetof(continuation, bp) == 16 && offsetof(continuation, bx) == 24);
static_assert(offsetof(continuation, fp_control) == 32);
#if defined(PILFER_ISA_X86_64)
static_assert(offsetof(continuation, more) == 40 && offsetof(continuation, top) == 72);
#endif

/// The activation of this thread, which is no worker.
PILFER_API activation* activation_outside() noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
