// Announcements of the structure of a program to `pilfer race`: forks, joins, edges and locks.
//
// Only a build with PILFER_RACE has them: the target pilfer::race, and the programs that link it. In any
// other build every function here is empty, and no object has a member for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace race {

#if defined(PILFER_RACE)
#if !defined(PILFER_BUILDING) && !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#error "compile a program for pilfer::race with -fsanitize=thread, and link it without (docs/guides/races.md)"
#elif !__has_feature(thread_sanitizer)
#error "compile a program for pilfer::race with -fsanitize=thread, and link it without (docs/guides/races.md)"
#endif
#endif

/// True if every loop has to be split into its elements, because some schedule splits it there.
inline constexpr bool splits_all = true;

/// The number of a strand: a part of a task without a fork, a join or an edge. 0: none, nothing is checked.
using strand = std::uint32_t;

/// How a strand began.
enum class how : std::uint8_t {
    start,
    child,
    element,
    rest,
    joined,
    first_of_join,
    second_of_join,
    async,
    call,
    graph_task,
    pipeline_stage
};

/// A series-parallel block: forks, and the join that ends it. 0: nothing was forked since the last join.
struct block {
    strand join = 0;
};

/// Forks: the running strand ends, its rest goes on, and the strand of the child is returned.
[[nodiscard]] strand fork(block& b, how kind) noexcept;
/// The strand in which the running task goes on.
[[nodiscard]] strand current() noexcept;
/// Starts a task that no block joins: whatever waits for it does so by an edge.
[[nodiscard]] strand fork_apart() noexcept;
/// Joins all that was forked in `b`.
void join(block& b) noexcept;

struct fiber;
struct detector;
struct notes;
class subtree;

/// Runs the elements of a loop one after the other, on the stack of this object. They may all run in
/// parallel. An element is a strand of its own only if it forks or meets an edge.
class loop {
public:
    /// Without elements it forks nothing.
    explicit loop(bool has_elements) noexcept;
    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;
    ~loop();
    /// The next element begins, in frames that the caller makes.
    void next() noexcept;
    void ended() noexcept { m_ended = true; }

private:
    friend struct detector;
    friend class subtree;
    void end_element(fiber& f) noexcept;
    void begin_element(fiber& f, std::uint32_t first, const void* frame) noexcept;
    block m_block;
    strand m_elements = 0; ///< the strand that they share; 0: nothing is looked at
    bool m_ended = false;
    strand m_before = 0;
    std::uint32_t m_edges_before = 0;
    std::uint32_t m_locks_before = 0;
    std::uint32_t m_last = 0;     ///< the number of the latest element
    std::uint32_t m_segments = 0; ///< of elements that have no strand of their own, the latest first
    loop* m_outer = nullptr;      ///< of the same fiber
    subtree* m_innermost = nullptr;
};

/// A node of a reduction: its operation comes after all elements below it, and is parallel to all others.
/// The run numbers elements and operations in post-order. So those below an operation have the numbers from
/// the first one of the node on.
class subtree {
public:
    /// The element that has just begun is its first one.
    explicit subtree(loop& l) noexcept;
    subtree(const subtree&) = delete;
    subtree& operator=(const subtree&) = delete;
    ~subtree();
    /// The upper half begins.
    void next() noexcept;
    /// The operation begins. One that accesses nothing has no number while `library` hides the results.
    void combines(bool accesses) noexcept;

private:
    friend struct detector;
    friend class subtree_end;
    /// The oldest strand of its own that the latest element below has left.
    void note_strand(const fiber& f) noexcept;
    loop& m_loop;
    subtree* m_outer;
    std::uint32_t m_first;
    strand m_oldest = 0; ///< the last strand of the first element below that has some of its own
    std::uint32_t m_edges = 0;
    bool m_combines = false;
};

/// Destroyed before the result of the lower half. If an exception leaves the upper half, the operation begins
/// here: the result is destroyed after all elements below it.
class subtree_end {
public:
    explicit subtree_end(subtree& node) noexcept;
    subtree_end(const subtree_end&) = delete;
    subtree_end& operator=(const subtree_end&) = delete;
    ~subtree_end();

private:
    subtree& m_node;
};

/// Runs a strand on whatever stack this object is made on. `b`: null for a task that no block joins.
class running {
public:
    running(strand child, const block* b) noexcept;
    running(const running&) = delete;
    running& operator=(const running&) = delete;
    ~running();

private:
    void begin(const void* frame) noexcept;
    strand m_before;
    std::uint32_t m_edges_before;
    std::uint32_t m_locks;
    strand m_child;
    strand m_join;
    bool m_from_library;
};

/// While it lives, code of the library runs in a frame of the program, and is not looked at. It is cheaper
/// than `unseen`: an access ends at once. In stacks its call stands for all calls of the library. With one
/// level, `running` begins a part of the program; with more levels, only `program` does.
class library {
public:
    explicit library(std::uint32_t levels = 1) noexcept;
    library(const library&) = delete;
    library& operator=(const library&) = delete;
    ~library();

private:
    void* m_fiber;
    void* m_top;
    std::uint32_t m_levels;
};
/// Instead of `library` if code of the program may be inlined, too.
struct no_library {
    explicit no_library(std::uint32_t = 1) noexcept {}
};
template <bool IsLibrary>
using library_if = std::conditional_t<IsLibrary, library, no_library>;
/// Moves of other results are code of the program.
template <class... Results>
inline constexpr bool moves_alone = (std::is_trivially_copyable_v<Results> && ...);

/// While it lives, a function of the program runs in code of the library.
class program {
public:
    program() noexcept;
    program(const program&) = delete;
    program& operator=(const program&) = delete;
    ~program();

private:
    void* m_fiber;
    std::uint32_t m_levels;
};

/// Calls f in a frame of its own, which is forgotten when the strand ends. Two functions that were inlined
/// into one frame would share its memory.
template <class F>
PILFER_NOINLINE decltype(auto) in_own_frame(F& f) {
    return f();
}

/// The end of one of `ordered_tasks`.
struct task_end {
    strand last = 0;
    std::uint32_t edges = 0; ///< that `last` has
    std::uint32_t edge = 0;  ///< from the end; 0: none was needed yet
    strand next = 0;         ///< around which the tasks after it are; 0: there is none yet
    strand all = 0;          ///< of the ordered tasks
};
/// The place of one of `ordered_tasks` after others.
struct task_start {
    strand next = 0;
    std::uint32_t edges = 0;
};
/// Tasks with a known order, which is not one of forks: those of a graph, or the calls of a pipeline's
/// stages. Others may run in parallel. While it lives, the task that made it is the library's.
class PILFER_API ordered_tasks {
public:
    explicit ordered_tasks(how kind) noexcept;
    ordered_tasks(const ordered_tasks&) = delete;
    ordered_tasks& operator=(const ordered_tasks&) = delete;
    /// All tasks have ended.
    ~ordered_tasks();
    /// The strand of a task, which `running` runs.
    [[nodiscard]] strand start(const task_start& after) noexcept;
    /// The running task ends here.
    void note_end(task_end& end) noexcept;
    static void add_edge(task_end& from, task_start& to) noexcept;
    static void add_edges(const task_start& from, task_start& to) noexcept;
    /// The start of a task that comes after no other one.
    [[nodiscard]] task_start first() const noexcept { return {m_all, 0}; }
    /// Called before the end of this object.
    static void forget(task_end& end) noexcept;

private:
    block m_block;
    strand m_all = 0; ///< that they would share as elements of a loop; 0: nothing is looked at
    strand m_before = 0;
    std::uint32_t m_edges_before = 0;
    std::uint32_t m_locks_before = 0;
};

/// The running task uses something that is not followed, which is named in the report.
void cannot_follow(const char* what) noexcept;
inline constexpr char left_out[] = "tasks that were cancelled or left out after an exception";

/// Calls f(i) for all i from `first` up to `last`. Each call may run in parallel to the others.
template <class I, class F>
void each(I first, I last, F f) {
    loop all(first != last);
    for (; first != last; ++first) {
        all.next();
        f(first);
    }
    all.ended();
}

/// While it lives, accesses of the running task are not looked at.
class unseen {
public:
    unseen() noexcept;
    unseen(const unseen&) = delete;
    unseen& operator=(const unseen&) = delete;
    ~unseen();
};

/// The thread waits in the library: another one may run tasks meanwhile.
class resting {
public:
    resting() noexcept;
    resting(const resting&) = delete;
    resting& operator=(const resting&) = delete;
    ~resting();

private:
    bool m_had_turn;
};

/// An edge: accesses before release(object) are ordered before those after a later acquire(object).
void release(const void* object) noexcept;
/// As release(), and what was released there before is forgotten: the address is that of a new object.
void release_first(const void* object) noexcept;
void acquire(const void* object) noexcept;
/// The object of the edge from tasks that no other task waits for to the end of their pool.
inline constexpr char detached_order = 0;
inline constexpr const void* detached_tasks = &detached_order;
/// The running task holds `lock` from here on, or no more. An odd address: shared with other readers.
void locks(const void* lock) noexcept;
void unlocks(const void* lock) noexcept;
/// This memory is that of a new object.
void fresh(const void* at, std::size_t bytes) noexcept;
/// While it lives, a thread that the calling thread makes is one of the library's.
class making_thread {
public:
    making_thread() noexcept;
    making_thread(const making_thread&) = delete;
    making_thread& operator=(const making_thread&) = delete;
    ~making_thread();
};

/// A function on behalf of a caller that waits for it: the caller's strand, on another stack.
class caller {
public:
    caller() noexcept;
    /// On the caller's thread, after the wait.
    void returns() noexcept;

    class call {
    public:
        explicit call(caller& c) noexcept;
        call(const call&) = delete;
        call& operator=(const call&) = delete;
        ~call();

    private:
        caller& m_caller;
        strand m_before;
        std::uint32_t m_edges_before;
    };

private:
    strand m_strand;
    std::uint32_t m_edges;
    std::uint32_t m_calls;
};

/// Calls a function of the program, for one part of a loop. No code of the library is inlined into this
/// frame.
template <class F, class... Arguments>
PILFER_NOINLINE decltype(auto) of_program(F& f, Arguments&&... arguments) {
    const program now;
    return std::invoke(f, std::forward<Arguments>(arguments)...);
}

/// A function that another thread calls while its task waits and other tasks run. Its accesses are those of
/// the task. They are noted, and entered when that thread has the turn.
class away {
public:
    away() noexcept;
    away(const away&) = delete;
    away& operator=(const away&) = delete;
    /// After the wait.
    ~away();

    /// The call, on any thread.
    class call {
    public:
        explicit call(const away& a) noexcept;
        call(const call&) = delete;
        call& operator=(const call&) = delete;
        ~call();

    private:
        notes* m_notes;
        bool m_had_turn;
    };

private:
    notes* m_notes; ///< null: nothing is looked at
};

/// A child of a scope, or a task that no block joins. Moves of the function, and its end, belong to no
/// strand.
template <class F>
class announced {
public:
    template <class G>
    announced(block& b, G&& g)
        : m_function(std::forward<G>(g)), m_child(race::fork(b, how::child)), m_block(&b) {}
    struct apart {};
    template <class G>
    announced(apart, G&& g) : m_function(std::forward<G>(g)), m_child(race::fork_apart()), m_block(nullptr) {}
    announced(announced&& other) noexcept(std::is_nothrow_move_constructible_v<F>)
        : announced(std::move(other), unseen()) {}
    announced(const announced& other) : announced(other, unseen()) {}
    announced& operator=(const announced&) = delete;
    ~announced() {
        const unseen here;
        m_function.~F();
    }
    decltype(auto) operator()() {
        const running here(m_child, m_block);
        return race::in_own_frame(m_function);
    }

private:
    announced(announced&& other, const unseen&) noexcept(std::is_nothrow_move_constructible_v<F>)
        : m_function(std::move(other.m_function)), m_child(other.m_child), m_block(other.m_block) {
        race::fresh(this, sizeof *this);
    }
    announced(const announced& other, const unseen&)
        : m_function(other.m_function), m_child(other.m_child), m_block(other.m_block) {
        race::fresh(this, sizeof *this);
    }
    union {
        F m_function;
    };
    strand m_child;
    block* m_block;
};

#else

inline constexpr bool splits_all = false;

struct block {};
PILFER_SAME_FRAME void release(const void*) noexcept {}
PILFER_SAME_FRAME void release_first(const void*) noexcept {}
PILFER_SAME_FRAME void acquire(const void*) noexcept {}
PILFER_SAME_FRAME void locks(const void*) noexcept {}
PILFER_SAME_FRAME void unlocks(const void*) noexcept {}
PILFER_SAME_FRAME void fresh(const void*, std::size_t) noexcept {}
PILFER_SAME_FRAME void cannot_follow(const char*) noexcept {}

#endif

} // namespace race
} // namespace detail
} // namespace v0
} // namespace pilfer
