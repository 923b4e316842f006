// A task of a graph: its edges, and the words that say when it starts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/raw_lock.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class graph_core;
class vertex;

/// Lets at most `most` tasks of one graph run at once. The others are in a queue.
class PILFER_API limit_core {
public:
    /// Throws std::invalid_argument.
    explicit limit_core(unsigned most);
    limit_core(const limit_core&) = delete;
    limit_core& operator=(const limit_core&) = delete;

    /// True: `v` may run. False: `v` is in the queue, and the end of another task runs it. (graph.E4)
    [[nodiscard]] bool enter(vertex* v) noexcept;
    /// Called at the end of a task of the group: the task that takes its place, or null. (graph.E4)
    [[nodiscard]] vertex* leave() noexcept;
    /// Between two runs, if the first of them was cut short.
    void reset() noexcept;
    /// False: another graph uses the limit.
    [[nodiscard]] bool belongs_to(const graph_core* g) noexcept;

private:
    raw_lock<std_atom, futex_park> m_lock;
    unsigned m_most;
    unsigned m_running = 0;
    vertex* m_first = nullptr;
    vertex* m_last = nullptr;
    const graph_core* m_graph = nullptr;
#if defined(PILFER_RACE)
    friend class graph_core;
    race::task_start m_next; ///< after all tasks of the group that have ended, if one at a time may run
#endif
};

/// Members that few tasks need.
struct vertex_extras {
    std::string name;
    limit_core* limit = nullptr;
    vertex* behind = nullptr; // the next one in the limit's queue
};

/// A task of a graph without its function. Of 64 bytes.
class vertex {
public:
    enum class kind : std::uint8_t { task, condition, graph };

    explicit vertex(kind k) noexcept : m_kind(k) {}
    vertex(const vertex&) = delete;
    vertex& operator=(const vertex&) = delete;
    virtual ~vertex() {
        if (m_count > few) {
            delete[] m_out.many;
        }
    }
    /// Calls the function. Returns the index that a condition chooses.
    virtual std::int64_t run(graph_core& g) = 0;
    /// The graph that a subgraph runs; null for other tasks.
    [[nodiscard]] virtual const graph_core* inner() const noexcept { return nullptr; }

private:
    friend class graph_core;
    friend class limit_core;
    static constexpr std::uint32_t few = 2;

    [[nodiscard]] vertex* const* out() const noexcept { return m_count > few ? m_out.many : m_out.in_place; }
    [[nodiscard]] bool is_condition() const noexcept { return m_kind == kind::condition; }
    void push_edge(vertex* to);
    void pop_edge() noexcept;

    std::atomic<std::uint32_t> m_missing{0}; // strong edges that are still to arrive (graph.E1)
    std::uint32_t m_strong = 0;              // strong edges to this task
    std::atomic<bool> m_active{false};       // started and not ended; only in a graph with choices (graph.E2)
    kind m_kind;
    bool m_chosen = false;     // a condition has an edge to this task
    std::uint32_t m_count = 0; // edges from this task
    union {
        vertex* in_place[few];
        vertex** many; // of bit_ceil(m_count) places
    } m_out{};
    vertex* m_next = nullptr; // in the order in which the tasks were added
    std::unique_ptr<vertex_extras> m_extras;
    std::uint32_t m_number = 0;
#if defined(PILFER_RACE)
    race::task_start m_after;
    race::task_end m_end;
#endif
};

static_assert(race::splits_all || sizeof(void*) != 8 || sizeof(vertex) <= 64);

} // namespace detail
} // namespace v0
} // namespace pilfer
