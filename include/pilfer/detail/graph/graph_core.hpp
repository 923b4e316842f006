// A graph without the types of its tasks: how it is built and run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

#include <pilfer/detail/base/plain_vector.hpp>
#include <pilfer/detail/graph/vertex.hpp>
#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {

class scope;

namespace detail {

class nesting;

/// A task and the graph that it is in.
struct task_ref {
    graph_core* graph = nullptr;
    vertex* task = nullptr;
};

/// Memory of tasks: blocks that are freed with the graph.
class PILFER_API vertex_memory {
public:
    vertex_memory() noexcept = default;
    vertex_memory(const vertex_memory&) = delete;
    vertex_memory& operator=(const vertex_memory&) = delete;
    ~vertex_memory();
    /// Throws std::bad_alloc.
    [[nodiscard]] void* take(std::size_t bytes, std::size_t align) {
        const auto gap = static_cast<std::size_t>(-reinterpret_cast<std::uintptr_t>(m_at)) & (align - 1);
        if (static_cast<std::size_t>(m_end - m_at) < bytes + gap) [[unlikely]] {
            return take_from_new_block(bytes, align);
        }
        char* const got = m_at + gap;
        m_at = got + bytes;
        return got;
    }

private:
    struct block;
    class kept_blocks;
    struct end_of_program;

    [[nodiscard]] void* take_from_new_block(std::size_t bytes, std::size_t align);

    static kept_blocks kept;
    static const end_of_program at_the_end;
    block* m_blocks = nullptr;
    char* m_at = nullptr;
    char* m_end = nullptr;
    std::size_t m_bytes = 0; // of all blocks
};

/// The tasks of a graph, and its runs. States, edges and the argument: src/graph/README.md.
class PILFER_API graph_core {
public:
    graph_core() noexcept = default;
    graph_core(const graph_core&) = delete;
    graph_core& operator=(const graph_core&) = delete;
    ~graph_core();

    /// Makes a V of `args` that starts after `inputs`. Throws usage_error, std::bad_alloc and what making the
    /// V throws; then nothing has changed.
    template <class V, class... Args>
    task_ref add(std::initializer_list<task_ref> inputs, Args&&... args) {
        check_inputs(inputs);
        void* const memory = m_memory.take(sizeof(V), alignof(V));
        return adopt(::new (memory) V(std::forward<Args>(args)...), inputs);
    }
    task_ref add_inner(graph_core& inner, std::initializer_list<task_ref> inputs);
    /// A strong edge. Throws usage_error, std::bad_alloc.
    static void connect(const task_ref& from, const task_ref& to);
    /// A weak edge, from a condition.
    static void offer(const task_ref& from, const task_ref& to);
    static void name(const task_ref& t, std::string_view text);
    static void limit(const task_ref& t, limit_core& l);
    /// Throws usage_error if the handle is empty or the graph runs.
    static void check_idle(const task_ref& t);

    /// In a task of the pool that runs the graph.
    void run();
    [[nodiscard]] std::size_t size() const noexcept { return m_size; }
    void dot(std::ostream& out) const;

    /// True if a task may run more than once, so that a value is guarded.
    [[nodiscard]] bool has_choices() const noexcept { return m_choices; }
    /// The number of this run, and never 0.
    [[nodiscard]] std::uint32_t run_number() const noexcept { return m_run; }
    [[noreturn]] static void no_value(const vertex& v);
    [[noreturn]] static void not_ready(const vertex& v, const char* what);
    /// For errors: the name in quotes, or the kind and the number.
    [[nodiscard]] static std::string name_of(const vertex& v);

private:
    struct step;
    struct only_run;
    struct ordered_run;

    static void check_precedes(const vertex& v);
    void check_inputs(std::initializer_list<task_ref> inputs);
    void check_free(const char* call) const;
    [[nodiscard]] task_ref adopt(vertex* v, std::initializer_list<task_ref> inputs);
    static void check_edge(const task_ref& from, const task_ref& to);
    void edge(vertex* from, vertex* to);
    [[nodiscard]] static vertex_extras& extras(vertex* v);
    [[nodiscard]] static const std::string* given_name(const vertex& v) noexcept;
    [[nodiscard]] bool contains(const graph_core* g) const;
    void prepare();
    void check_cycles();
    [[nodiscard]] vertex* find_cycle();
    void rearm();
    void work(vertex* v, nesting here);
    void start_roots(std::uint32_t first, std::uint32_t last, nesting here);
    void fork(vertex* v, nesting here);
    [[nodiscard]] vertex* take_kept() noexcept;
    [[nodiscard]] bool goes_on();
    [[nodiscard]] vertex* release(vertex* v, std::uint32_t first, std::uint32_t last, vertex* next,
                                  nesting here);
    [[nodiscard]] vertex* release_guarded(vertex* v, std::int64_t choice, vertex* next, nesting here);
    [[nodiscard]] static bool arrives(vertex* v) noexcept;
    [[nodiscard]] static bool arrives_guarded(vertex* v) noexcept;
    static void begin(vertex* v);
    static void end(vertex* v) noexcept;
    void dot_body(std::ostream& out, const std::string& prefix, unsigned depth) const;

    vertex_memory m_memory;
    vertex* m_first = nullptr;
    vertex* m_last = nullptr;
    std::uint32_t m_size = 0;
    std::uint32_t m_run = 0;
    bool m_choices = false;  // There is a condition.
    bool m_backward = false; // An edge leads to a task that was added earlier, so there may be a cycle.
    bool m_changed = false;  // The graph has changed since the last check.
    bool m_unclean = false;  // The words of the tasks are not as a complete run leaves them.
    plain_vector<vertex*> m_roots;
    plain_vector<graph_core*> m_inner;
    scope* m_scope = nullptr; // of this run
    std::atomic<bool> m_running{false};
    std::atomic<bool> m_cut{false}; // a task of this run does not start
    // Tasks that are ready, and would have been forked too deep. Under the lock; m_keeps: there are some.
    raw_lock<std_atom, futex_park> m_kept_lock;
    plain_vector<vertex*> m_kept;
    std::atomic<bool> m_keeps{false};
#if defined(PILFER_RACE)
    race::ordered_tasks* m_ordered = nullptr; // of this run
    race::task_start m_next;                  // after all tasks that have ended, if there are conditions
#endif
};

} // namespace detail
} // namespace v0
} // namespace pilfer
