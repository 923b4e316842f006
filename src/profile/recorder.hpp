// Follows one worker from task to task and adds up work and span meanwhile: the graph itself is never kept.
//
// Every function of the worker's side is called on the worker's thread, from its slow paths. A task's time
// passes between enter(), begun() ... and the next call of any of them. The time between pause() and those
// belongs to the scheduler and the recorder, and counts for no task.
#pragma once

#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/park.hpp>
#include <pilfer/profile.hpp>

#include "base/forks.hpp"
#include "profile/chain.hpp"
#include "profile/graph.hpp"
#include "profile/section.hpp"
#include "profile/table.hpp"
#include "trace/places.hpp"

namespace pilfer {
inline namespace v0 {
namespace profile {

/// The identity of a live task or scope: the word in the deque, or the address of the scope.
using key = std::uintptr_t;

/// The lengths of a chain of strands.
struct path {
    std::uint64_t ns = 0;
    std::uint64_t burdened_ns = 0;
    std::uint64_t strands = 0;
    std::uint64_t tasks = 0;
    chain places; // of the nanoseconds; empty if no lines are recorded

    /// Raises each length by itself: the longest chains in different units need not be the same chain.
    void raise(const path& other) noexcept;
};

class recorder;

/// The address of the code that a task runs.
using code = const void*;

/// The end of a task, from which its waiters continue.
struct task_end {
    path longest;
    std::uint64_t task = 0; // its number; 0: it was not a task of its own
};

/// The mark in a future. It may outlive its pool, and end on any thread.
struct mark {
    mark() = default;
    mark(const mark&) = delete;
    mark& operator=(const mark&) = delete;
    ~mark();
    std::shared_ptr<recorder> home;
    task_end end;
};

/// The caller of the library, on a stack that ends at `end`. 0: the end is not known.
struct spot {
    trace::frame from;
    std::uintptr_t end = 0;
};

/// The burden of a theft and of a resumption: what study::built_in_costs() says, which `pilfer view` uses.
struct burden {
    std::uint64_t theft_ns = 561;
    std::uint64_t resume_ns = 51;
};
/// Parses PILFER_PROFILE_BURDEN: "THEFT,RESUMPTION" in nanoseconds, 0 to 10^9 each; null: the default. Throws
/// std::invalid_argument, which names the variable.
[[nodiscard]] burden burden_from(const char* environment);

class recorder : public std::enable_shared_from_this<recorder> {
public:
    /// A task that runs or is suspended is referred to by a frame only, and without memory its end is no
    /// longer recorded. So each task is also in the list of all. From it the recorder ends those that are
    /// left.
    struct task {
        explicit task(task** list) noexcept : next(std::exchange(*list, this)), place(list) {
            if (next != nullptr) {
                next->place = &next;
            }
        }
        task(const task&) = delete;
        task& operator=(const task&) = delete;
        ~task() {
            *place = next;
            if (next != nullptr) {
                next->place = place;
            }
        }
        task* next;
        task** place; // the pointer that points to this task
        std::uint64_t number = 0;
        key self = 0;
        key awaited_as = 0;           // for what a caller returns from: a child of this scope
        path longest;                 // up to the current strand
        std::uint64_t strand_ns = 0;  // of that strand, so far
        std::uint64_t written_ns = 0; // of it, in the words already
        std::uint64_t split_from = 0; // the total work when this task began or its loop was split
        trace::places::number forked_at = 0;
        trace::places::number came_to = 0; // where the current strand began
        line words;
        std::vector<key> held; // locks, the oldest first; for the graph only
    };

    /// `graph`: the stream for the task graph, or null; it outlives the recorder's use by tasks. `lines`:
    /// also by lines of the source. Cost: a millisecond, in which clocks are compared. Throws std::bad_alloc.
    explicit recorder(std::ostream* graph, burden costs = {}, bool lines = false);
    ~recorder();
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;

    // -- the worker's side
    /// Stops the running task's clock until the next call.
    void pause() noexcept;
    /// Resumes the running task's clock.
    void go_on() noexcept;
    /// `child` was announced, and its parent runs on. `scope`: 0, or where it will be a child when
    /// returned().
    void forked(key child, code runs, const spot& here, key scope = 0) noexcept;
    /// `rest`, the parent's continuation, was announced: from here on the child runs.
    /// `spawner`: the return address into the function that spawns, or null: then `here` is all that is
    /// known.
    void spawned(key rest, const void* spawner, const spot& here) noexcept;
    /// An announced or submitted task begins, or a continuation is resumed.
    void begun(key task_or_rest) noexcept;
    /// The running task waits or yields. The returned task is passed to enter().
    [[nodiscard]] task* leave() noexcept;
    /// The running task waits for an object that is no task. `why`: a text that is never freed.
    [[nodiscard]] task* leave(const char* why, const void* object, const spot& here) noexcept;
    void enter(task* t) noexcept;
    /// The running task ends; its key identifies it to its waiter.
    void ended() noexcept;
    /// The running task ends, a child of `scope`.
    void child_ended(key scope) noexcept;
    /// The running task ends, for which a thread outside waits.
    void root_ended() noexcept;
    /// The running task of a future ends; null without memory. Its time after that counts for no task.
    [[nodiscard]] mark* fulfilled(key self) noexcept;
    /// The running task has waited for `child`, for all children of `scope`, for a future.
    void joined(key child, const spot& here) noexcept;
    void synced(key scope, const spot& here) noexcept;
    void got(const mark& m, const spot& here) noexcept;
    /// The running task calls `child`, which was forked or submitted. One that was not is a part of its
    /// caller. The result is passed to returned().
    [[nodiscard]] task* called(key child) noexcept;
    /// The running task, called by `caller`, ends. The caller's clock stands until the next call.
    void returned(task* caller) noexcept;
    /// The running task has taken, or released, the lock at this address. For the graph only.
    void locked(const void* lock, const spot& here) noexcept;
    void unlocked(const void* lock) noexcept;
    /// The running task submits `child`.
    void submitted(key child, code runs, const spot& here) noexcept;
    /// True if the running task's loop may be split: it has computed for `smallest_piece_ns` since it began
    /// or was split.
    [[nodiscard]] bool may_split() noexcept;

    // -- any other thread
    /// In a child of fork() without the worker these do nothing: it may have been in the middle of any event.
    void submitted_outside(key child, code runs, const spot& here, key scope = 0) noexcept;
    /// `carrier`, which is about to be submitted, calls other tasks and is none. False: it comes no more.
    void carries(key carrier, bool comes) noexcept;
    /// True once for each carrier that comes.
    [[nodiscard]] bool is_carrier(key submission) noexcept;
    /// True if the running task was called, and will be a child of the scope when returned().
    [[nodiscard]] bool is_in_child(key scope) noexcept;
    void synced_outside(key scope) noexcept;
    void got_outside(const mark& m) noexcept;
    /// Exact while no task runs. In a child of fork() without the worker they are not complete.
    [[nodiscard]] work_span figures() const noexcept;
    /// Closes the graph: from now on nothing is recorded.
    void finish() noexcept;
    /// Writes what the lines of the source have taken, as a JSON array; an empty one if no lines are
    /// recorded. Not in a child of fork(), which writes no file.
    void write_lines(std::ostream& out) const;
    /// Writes the waits that leave() was given a reason for and that are over, by reason and line, in the
    /// same way.
    void write_waits(std::ostream& out) const;
    /// In a child of fork(), called by the worker outside of all events: the recording goes on, unless
    /// another thread was in the middle of one.
    void forget_threads() noexcept;
    friend mark;

    /// The length of the pieces of a loop between two looks (detail::piece_ticks()).
    static constexpr std::uint64_t smallest_piece_ns = 4'000;

private:
    struct children {
        path longest;
        std::vector<std::uint64_t> tasks; // for the graph only
    };

    template <class F>
    void guarded(F f) noexcept;
    template <class F>
    void on_worker(F f) noexcept;
    template <class F>
    void outside(F f) noexcept;
    /// True in a child of fork() without the worker. The section is never entered there: the worker, or a
    /// thread that waited for it, may have been inside.
    [[nodiscard]] bool has_lost_worker() const noexcept;
    /// What tasks computed from a place on, to their next fork or wait.
    struct place_figures {
        std::uint64_t work_ns = 0;
        std::uint64_t strands = 0;
        std::uint64_t tasks = 0;    // forked there
        std::uint64_t tasks_ns = 0; // what these compute, from any place on
        std::uint64_t waits = 0;
        std::uint64_t waited_ns = 0; // if there were a worker for each task
    };

    /// A wait for something else than tasks that is not over.
    struct open_wait {
        trace::places::number place = 0;
        const char* why = nullptr;
        std::string object_name;
        std::uint64_t since = 0; // ticks
    };
    struct wait_figures {
        std::uint64_t waits = 0;
        std::uint64_t total_ns = 0;
        std::uint64_t longest_ns = 0;
        void add(const wait_figures& other) noexcept;
    };
    using line_name = std::tuple<std::string, unsigned, std::string>; // file, line, function without a file

    [[nodiscard]] std::uint64_t stopping() const noexcept;
    void stop_clock(std::uint64_t now) noexcept;
    void start_clock() noexcept;
    void close_strand();
    void write_strand();
    [[nodiscard]] task& running() noexcept;
    [[nodiscard]] task& behind_strand();
    [[nodiscard]] trace::places::number place_of(const spot& here, const task& t);
    void comes_to(task& t, trace::places::number place);
    void add_places(trace::places::number last);
    [[nodiscard]] std::unique_ptr<task> child_of(task& parent);
    task* add_child(std::unique_ptr<task>& slot, key self, code runs, task& parent, const spot& here,
                    key scope = 0);
    void write_functions();
    void write_locks();
    void write_places();
    [[nodiscard]] const std::vector<trace::source_place>& sources() const;
    [[nodiscard]] line_name name_of(std::size_t place) const;
    void end_wait(const task* t) noexcept;
    void wait_over(task& t, const path& end, std::uint64_t number);
    void wait_over(task& t, key scope, const spot* here);
    std::unique_ptr<task> retire();
    void retire_into(key scope);
    void calibrate() noexcept;
    [[nodiscard]] std::uint64_t ns_of(std::uint64_t ticks) const noexcept;
    [[nodiscard]] std::uint64_t off_cpu(std::uint64_t now) noexcept;

    static constexpr std::uint64_t standing = UINT64_MAX;
    static constexpr double suspicious_ns = 20'000; // several switches of the system's
    static constexpr double often_ns = 1'000'000;

    mutable section<detail::std_atom, detail::futex_park> m_section{
        !detail::heavy_fence_reaches_all()};                 // of everything below
    std::atomic<std::thread::id> m_worker{};                 // the thread that enters it
    std::uint64_t m_process = detail::forks::this_process(); // that of the worker
    std::atomic<bool> m_changes{false};                      // by another thread, which holds the section
    const burden m_burden;
    std::ostream* m_graph;
    double m_ns_per_tick = 1;
    std::uint64_t m_suspicious = 0; // a stretch from which the CPU may have been taken, in ticks
    std::uint64_t m_often = 0;
    std::uint64_t m_empty = 0;                    // ticks between the readings around nothing
    std::atomic<std::uint64_t> m_began{standing}; // ticks; written outside the lock, by the worker's thread
    std::uint64_t m_stopped = 0;                  // ticks
    std::uint64_t m_compared = 0;                 // ticks when m_cpu was read
    std::uint64_t m_cpu = 0;
    bool m_broken = false;
    bool m_finished = false;
    task* m_tasks = nullptr; // all that have not ended; destroyed after the members that own some of them
    std::unique_ptr<task> m_outside;
    task* m_running = nullptr; // owned here alone while it runs
    path m_work;               // sums, not a chain
    path m_longest;
    std::uint64_t m_made = 1;               // numbers given to tasks; 0 is the outside
    table<std::unique_ptr<task>> m_waiting; // announced, submitted, continuations
    table<std::unique_ptr<task>> m_ended;   // awaited by their key
    table<children> m_scopes;
    std::unordered_set<key> m_carriers;                  // about to be submitted
    std::atomic<std::size_t> m_carrier_count{0};         // their number
    std::unordered_map<code, std::uint64_t> m_functions; // numbers from 1; for the graph only
    /// Locks by their addresses. Locks that follow each other at one address are one.
    struct lock_entry {
        std::uint64_t number;        // from 1
        trace::places::number place; // where it was locked first
    };
    std::unordered_map<key, lock_entry> m_locks;
    const bool m_lines;
    trace::places m_places;
    std::vector<place_figures> m_at{{}};     // by place
    trace::places::number m_places_seen = 1; // the size of m_at
    std::unordered_map<const task*, open_wait> m_open_waits;
    std::map<std::tuple<trace::places::number, const char*, std::string>, wait_figures>
        m_waits; // those that are over, by place, reason and name of the object
    mutable std::vector<trace::source_place> m_sources; // by place; empty until they are asked for
};

} // namespace profile
} // namespace v0
} // namespace pilfer
