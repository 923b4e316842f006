// The inline part of a worker: the words that announcing and taking back a task touch.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <pilfer/detail/context/context.hpp>
#include <pilfer/detail/context/scope_node.hpp>
#include <pilfer/detail/deque/deque.hpp>
#include <pilfer/detail/deque/submissions.hpp>
#include <pilfer/detail/memory/record.hpp>
#include <pilfer/task_options.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

/// The head of the C++ runtime's per-thread exception state (Itanium C++ ABI, 2.2.2).
/// Relaxed atomic accesses, as for all words that several contexts of one thread touch.
struct exception_state {
    void* caught;
    unsigned uncaught;

    [[nodiscard]] PILFER_ALWAYS_INLINE bool empty() noexcept {
        return (reinterpret_cast<std::uintptr_t>(std::atomic_ref(caught).load(rlx)) |
                std::atomic_ref(uncaught).load(rlx)) == 0;
    }
    [[nodiscard]] exception_state load() noexcept {
        return {std::atomic_ref(caught).load(rlx), std::atomic_ref(uncaught).load(rlx)};
    }
    [[nodiscard]] PILFER_ALWAYS_INLINE unsigned in_flight() noexcept {
        return std::atomic_ref(uncaught).load(rlx);
    }
    void store(exception_state other) noexcept {
        std::atomic_ref(caught).store(other.caught, rlx);
        std::atomic_ref(uncaught).store(other.uncaught, rlx);
    }
};

/// All members but the deque belong to the code that runs on the worker's thread. They are relaxed atomics
/// because ThreadSanitizer treats the contexts of one thread as different threads.
struct worker {
    split_deque<std_atom> deque;
    std::atomic<activation*> current{nullptr};
    std::atomic<std::uintptr_t> free_contexts{0}; // the link of the first one, see ranked<context>
    std::atomic<free_record*> free_records[2]{};
    exception_state* exceptions = nullptr;
    pool_core* pool = nullptr;
    unsigned index = 0;
    bool recording = false; ///< the pool records work and span: loops split as if every worker asked for work
#if defined(PILFER_TEST)
    bool explores = false; ///< tasks are in the list of src/explore, never in the deque
#endif
    /// The number of this worker among all live workers of the process, reused after its end. no_serial:
    /// there is no free number.
    std::uint32_t serial = no_serial;
    static constexpr std::uint32_t no_serial = UINT32_MAX;

    worker(ring<std_atom>* first, bool pinned, std::int64_t start = 0) noexcept
        : deque(first, pinned, start) {}
};

/// The beginning of each scope. One store clears all but the continuation, and the mark after it.
struct scope_head {
    continuation rest;        // not initialised
    std::uint64_t m_clear_in; // not initialised: see basic_scope_node::was_clear()
    /// Facts that the quick test of sync must see even if nothing is owed: the number of exceptions thrown by
    /// children, and that a task below announced a child here. Such a task need not be counted by this scope:
    /// it may be a branch of a join, or the child of an inner scope. But its end happens before this scope's
    /// sync, which therefore sees the mark.
    ///
    /// It is at the beginning of its word: a load from the middle of a wider store costs a forked child 1 ns.
    std::atomic<std::uint32_t> cancel_state{0};
    bool comes_home = false; // each wait returns on the thread that began it
    bool threw = false;      // scope::m_suppressed has a value; two bytes: one store clears them and the mark

    [[nodiscard]] std::uint64_t clear_in() const noexcept {
        return std::atomic_ref(const_cast<std::uint64_t&>(m_clear_in)).load(rlx);
    }
    void set_clear_in(std::uint64_t epoch) noexcept { std::atomic_ref(m_clear_in).store(epoch, rlx); }
    /// For a shield, which is no scope of a user (cancel_flag::shielded) and has no continuation: the scope
    /// that it shields against.
    [[nodiscard]] const scope_node* shielded() const noexcept {
        return static_cast<const scope_node*>(rest.ip);
    }
    /// Of the place of a stolen branch (cancel_flag::branch), which has no continuation either: the join of
    /// several functions, or the loop, that it is a part of.
    [[nodiscard]] const void* join() const noexcept { return rest.ip; }
};

struct spark;
struct suspension;

// The kinds of an entry.
inline constexpr task_word kind_mask = 3;
inline constexpr task_word kind_spark = 0;        // spark: join, async, submissions
inline constexpr task_word kind_continuation = 1; // continuation of a scope
inline constexpr task_word kind_forked = 2;       // child of a scope

/// An announced task. run() executes it on a context of its own. If a suspended frame waited for the end of
/// this task, run() returns that suspension, to be resumed.
struct spark {
    using run_function = suspension* (*)(spark*, worker*) noexcept;
    run_function run;

    spark(run_function f, scope_node* parent) noexcept : run(f) { set_parent(parent); }
    /// The innermost scope that encloses the task: for a child its own, for a branch of a join that of the
    /// joining frame, none for an async. Relaxed atomic accesses: a stale entry may be read.
    [[nodiscard]] scope_node* parent() noexcept { return std::atomic_ref(m_parent).load(rlx); }
    /// parent() for the worker that starts the task. ThreadSanitizer must not see this look. On the thread
    /// that announced the task it needs no edge, and an edge to the scheduler would order all tasks that
    /// start there.
    [[nodiscard]] PILFER_NO_SANITIZE scope_node* parent_to_start() noexcept {
        return __atomic_load_n(&m_parent, __ATOMIC_RELAXED); // std::atomic_ref's load() would be instrumented
    }
    void set_parent(scope_node* s) noexcept { std::atomic_ref(m_parent).store(s, rlx); }

#if defined(PILFER_TEST)
    /// test_identity::next() of the task that has announced or submitted this one.
    [[nodiscard]] PILFER_NO_SANITIZE std::uint64_t test_origin() noexcept {
        return __atomic_load_n(&m_test_origin, __ATOMIC_RELAXED); // as parent_to_start()
    }
    void set_test_origin(std::uint64_t origin) noexcept { std::atomic_ref(m_test_origin).store(origin, rlx); }
#endif

private:
    scope_node* m_parent; // not initialised by a plain store
#if defined(PILFER_TEST)
    std::uint64_t m_test_origin;
#endif
};

/// The innermost scope around the task of an entry. The address of a continuation is that of its scope's
/// node.
[[nodiscard]] inline scope_node* parent_of(task_word entry) noexcept {
    const task_word at = entry & ~kind_mask;
    return (entry & kind_mask) == kind_continuation ? reinterpret_cast<scope_node*>(at)
                                                    : reinterpret_cast<spark*>(at)->parent_to_start();
}

} // namespace detail
} // namespace v0
} // namespace pilfer

/// The worker of this thread, null on foreign threads. Read it through this_worker() only.
extern "C" PILFER_API thread_local pilfer::v0::detail::worker* pilfer_v0_this_worker
    __attribute__((tls_model("initial-exec")));

namespace pilfer {
inline namespace v0 {
namespace detail {

#if defined(PILFER_ISA_PORTABLE)
/// Never inlined, so that no address of a thread-local outlives it.
[[nodiscard]] PILFER_API worker* this_worker_cold() noexcept;
#endif

/// A compiler may keep the address of a thread-local across a call; after a call the frame may be on
/// another thread. So the read is opaque: one volatile asm, which cannot be merged with an earlier one.
[[nodiscard]] PILFER_ALWAYS_INLINE worker* this_worker() noexcept {
#if defined(PILFER_ISA_X86_64)
    worker* w;
    asm volatile("movq pilfer_v0_this_worker@gottpoff(%%rip), %0\n\t"
                 "movq %%fs:(%0), %0"
                 : "=r"(w));
    return w;
#elif defined(PILFER_ISA_AARCH64)
    worker* w;
    asm volatile("mrs x9, tpidr_el0\n\t"
                 "adrp %0, :gottprel:pilfer_v0_this_worker\n\t"
                 "ldr %0, [%0, :gottprel_lo12:pilfer_v0_this_worker]\n\t"
                 "ldr %0, [x9, %0]"
                 : "=&r"(w)
                 :
                 : "x9");
    return w;
#else
    return this_worker_cold();
#endif
}

/// Called when a frame is resumed, perhaps on another thread: everything that thread did before its first
/// task happens before.
PILFER_ALWAYS_INLINE void arrive() noexcept {
#if defined(PILFER_TSAN)
    san::acquire(this_worker());
#endif
}

/// The address of an object of the calling frame, computed anew. Kept across a call it would cost a
/// callee-saved register, which every frame of a recursion stores and loads.
template <class T>
[[nodiscard]] PILFER_ALWAYS_INLINE std::uintptr_t address_again(T& local) noexcept {
#if defined(PILFER_ISA_X86_64)
    std::uintptr_t a;
    asm volatile("leaq %1, %0" : "=r"(a) : "m"(local));
    return a;
#else
    return reinterpret_cast<std::uintptr_t>(std::addressof(local));
#endif
}

/// May an announcement suspend the announcing frame to let waiting work pass? `spawn` and `join` are points
/// at which a frame may move anyway. `fork` and `async` are not: their caller may hold a lock. A spark that
/// is announced with `keep` is a `submission`; a one-lock pool relies on that.
enum class way { make, keep };

/// The push of `task` hit the signal word: makes room, exposes, wakes, makes way. False: there is no memory
/// for a larger ring and `task` was taken back; run it as a plain call. With way::make the caller may be on
/// another worker afterwards.
PILFER_API bool announce_signalled(worker* w, task_word task, way may = way::make) noexcept;

/// Puts a task with a weight on the bottom of the own deque. False: there is no memory for a larger ring; run
/// it as a plain call. The caller may be on another worker afterwards, as after announce_signalled().
[[nodiscard]] PILFER_API bool announce_weighted(worker* w, task_word task, std::uint64_t weight,
                                                way may) noexcept;

/// Between two tasks or pieces of a loop: does what other threads ask for (signal word::asked) without
/// announcing anything. It exposes, wakes, and lets queued submissions and contexts pass, so that the caller
/// may be on another worker afterwards.
PILFER_API void attend(worker* w) noexcept;

#if defined(PILFER_TEST)
/// The task on `w` is about to announce `task`.
PILFER_ALWAYS_INLINE void counts_fork(worker* w, task_word task) noexcept {
    if ((task & kind_mask) != kind_continuation) {
        reinterpret_cast<spark*>(task & ~kind_mask)->set_test_origin(w->current.load(rlx)->ctx->test.next());
    }
}
#endif

/// Puts `task` on the bottom of the own deque, from where it was taken back. True: call announce_signalled().
[[nodiscard]] PILFER_ALWAYS_INLINE bool push_again(worker* w, task_word task) noexcept {
    san::release(reinterpret_cast<const void*>(task & ~kind_mask));
    return w->deque.owner().push(task) || PILFER_CHAOS_MAYBE(trip);
}
/// Puts a new task on the bottom of the own deque. True: call announce_signalled().
[[nodiscard]] PILFER_ALWAYS_INLINE bool push_task(worker* w, task_word task) noexcept {
#if defined(PILFER_TEST)
    detail::counts_fork(w, task);
#endif
    return push_again(w, task);
}

/// Announces `task` on the bottom of the own deque. False: run it as a plain call.
[[nodiscard]] PILFER_ALWAYS_INLINE bool announce(worker* w, task_word task, way may = way::make) noexcept {
    if (push_task(w, task)) [[unlikely]] {
        return announce_signalled(w, task, may);
    }
    return true;
}
/// Announces a task that was announced before, perhaps by another task, and was taken back.
[[nodiscard]] PILFER_ALWAYS_INLINE bool announce_again(worker* w, task_word task, way may) noexcept {
    return !push_again(w, task) || announce_signalled(w, task, may);
}

/// The bottom was lowered below the guard: finishes taking `task` back.
PILFER_API worker* reclaim_slow(worker* w, task_word task) noexcept;

/// Takes `task` back if it is still the newest of this worker. Returns the worker on which the caller now
/// runs, or null if the task is gone.
[[nodiscard]] PILFER_ALWAYS_INLINE worker* reclaim(worker* w, task_word task) noexcept {
    using owner = split_deque<std_atom>::owner_end;
    if (w == nullptr) {
        __builtin_unreachable(); // a task is never taken back on a foreign thread
    }
    PILFER_CHAOS_POINT(announce);
#if defined(PILFER_TEST)
    if (w->explores) {
        return reclaim_slow(w, task);
    }
#endif
    const auto got = w->deque.owner().pop_if(task);
    if (got == owner::popped::taken) [[likely]] {
        return w;
    }
    return got == owner::popped::gone ? nullptr : reclaim_slow(w, task);
}

/// Leaves the stack to the scheduler of this worker; s.publish(s) runs there. Returns when a thread resumes
/// `s`, possibly on another worker of the same pool.
PILFER_API void suspend(worker* w, suspension& s) noexcept;

/// Gives a suspended context to the scheduler of a worker of its pool. Anyone.
PILFER_API void make_runnable(suspension* s) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
