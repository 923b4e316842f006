// A look at the pools of another process at one moment. Two looks give rates and times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "object_names.hpp"
#include "observe/metrics.hpp"
#include "observe/snapshot.hpp"
#include "process_memory.hpp"
#include "stacks.hpp"

namespace tools {

/// A state that was the same at each look since then.
struct lasting {
    double seconds = 0; ///< from the first of these looks to this one
};

struct running_task {
    std::uint64_t pool;
    unsigned worker;
    unsigned context;
    std::string name; ///< of its innermost named function; empty: none
    lasting runs;
};

struct held_mutex {
    address mutex;
    std::string name;    ///< empty: none
    address holder;      ///< its activation, or a word of a thread
    long context = -1;   ///< index in snapshot::waiting of the holder's; -1: it does not wait
    std::string held_by; ///< as a text
    bool is_shared_mutex = false;
    bool has_readers = false;   ///< of a shared mutex
    bool is_held_alone = false; ///< a shared mutex
    std::size_t waiters = 0;
    lasting held;            ///< by the same holder at each look
    double longest_wait = 0; ///< seconds
};

struct ready_task {
    std::uint64_t pool;
    long worker; ///< the task is in the deque of this worker; -1: it is a submission
    lasting waits;
};

struct pool_look {
    pilfer::detail::pool_figures now;
    pilfer::counters before{}; ///< At the look before.
    bool quiet = false;        ///< All workers rest, and nothing is queued.
    lasting still;             ///< It has been quiet, and no task has begun.
    std::string stall;         ///< As a text; empty: there is none.
    std::string busy;          ///< All workers are in long tasks beside a submission, as a text; empty: no.
};

struct look {
    bool stopped = false;                         ///< by a signal or a debugger
    double passed = 0;                            ///< seconds since the look before; 0: this is the first
    std::vector<pool_look> pools;                 ///< the oldest first
    pilfer::detail::snapshot all;                 ///< without stacks and coroutines
    std::vector<double> waits;                    ///< seconds, beside all.waiting
    std::vector<std::vector<std::size_t>> cycles; ///< of waits, by indices in all.waiting; each is certain
    std::size_t carried_over = 0;                 ///< waits that an earlier look has read
    std::vector<running_task> running;
    std::vector<held_mutex> mutexes; ///< those that a task waits for, the longest held first
    std::vector<ready_task> ready;   ///< the oldest of each deque and queue, the oldest first

    [[nodiscard]] pilfer::counters sum_of(std::uint64_t pool) const;
};

class observer {
public:
    explicit observer(process_memory const& memory) : m_memory(memory) {}
    /// Looks once. `seconds`: the time. Throws process_has_ended.
    [[nodiscard]] look next(double seconds);
    /// The stack of a context of the newest look. Empty: its wait has ended.
    [[nodiscard]] std::vector<stack_frame> stack_of(pilfer::detail::waiting_context const& c,
                                                    stack_reader& reader) const;

private:
    struct seen_wait {
        address suspension = 0;
        std::uint32_t number = 0; ///< of the suspensions of its context
        double since = 0;
        pilfer::detail::waiting_context what;
    };
    struct seen_context {
        address at = 0;
        unsigned number = 0;
    };
    struct seen_pool {
        address entry = 0;
        pilfer::detail::pool_figures figures;
        std::vector<address> currents; ///< activations
        std::vector<address> homes;    ///< workers
        std::unordered_map<unsigned, seen_wait> waits;
        std::vector<seen_context> contexts;
        std::size_t turn = 0; ///< the first context that the next look reads, if it does not read all
        double quiet_since = 0;
        bool was_quiet = false;
        std::vector<double> running_since, oldest_since;
        double submitted_since = 0;
    };
    struct seen_holder {
        address holder = 0;
        double since = 0;
    };

    void read_pool(address entry, double seconds, look& now, std::map<std::uint64_t, seen_pool>& seen);
    [[nodiscard]] std::vector<address> read_workers(pool_look& p, seen_pool& s, address first,
                                                    std::size_t count, pilfer::detail::pool_core const& core);
    [[nodiscard]] std::vector<seen_context> contexts_of(address newest_slab) const;
    void read_waits(seen_pool& s, std::uint64_t pool, pilfer::detail::pool_core const* owner, double seconds,
                    look& now);
    void read_details(seen_pool const& s, std::vector<seen_wait*> const& fresh,
                      pilfer::detail::pool_core const* owner);
    [[nodiscard]] address scope_of(pilfer::detail::context const& c, address at) const;
    [[nodiscard]] pilfer::detail::wait_kind const* kind_at(address why);
    void add_running(pool_look const& p, seen_pool& s, seen_pool const* before, double seconds, look& now);
    void add_ready(pool_look const& p, seen_pool& s, seen_pool const* before, double seconds, look& now);
    void add_mutexes(double seconds, look& now);
    [[nodiscard]] bool is_certain(std::vector<std::size_t> const& cycle, look const& now);
    [[nodiscard]] bool same_task(pilfer::detail::waiting_context const& c) const;
    [[nodiscard]] bool still_waits(pilfer::detail::waiting_context const& c, seen_wait const& w) const;
    void judge(look& now) const;
    [[nodiscard]] bool has_alarm(address watch, unsigned workers) const;

    process_memory const& m_memory;
    double m_last = -1;
    std::uint64_t m_copy = 0; ///< of the library, whose pools are read; from 1
    std::map<std::uint64_t, seen_pool> m_pools;
    std::map<address, seen_holder> m_holders; // by mutex
    std::map<address, std::pair<std::string, pilfer::detail::wait_kind>> m_kinds;
    object_names m_names;
};

/// "context 12 "parse"", of pool 2 if there are several pools.
[[nodiscard]] std::string name_of(look const& l, pilfer::detail::waiting_context const& c);
/// "a future (0x...), which is suspended on context 3"
[[nodiscard]] std::string wait_of(look const& l, pilfer::detail::waiting_context const& c);

} // namespace tools
