// A watch for a state that must not occur: a ready task in a deque while a worker sleeps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;
class scheduler;

/// The oldest task of `owner` has stayed in its place for this time while `sleeper` slept.
struct hidden_task {
    std::uint64_t pool;
    unsigned owner;
    unsigned sleeper;
    std::uint64_t microseconds;
    [[nodiscard]] std::string text() const;
};

/// Looks at all pools of the process from a thread that is no worker, about every millisecond.
///
/// Time counts only while the promise of src/idle must hold without help of the system's scheduler:
/// 1. No worker has a token or looks for work, because such a worker may be waiting for a CPU.
/// 2. All sleepers really sleep in the kernel.
/// 3. The owner of the deque has moved since or is blocked inside its task, so it is not between its push and
/// the wake-up.
///
/// So a machine that has more to do than CPUs stops the clock, and no limit is too short for it. Pools that
/// lack stacks are left out, because their tasks wait for stacks.
class hidden_watch {
public:
    explicit hidden_watch(std::uint64_t limit_microseconds = 10'000) : m_limit(limit_microseconds) {}

    /// Looks once, and returns the first task that was hidden for longer than the limit. Cost: a lock that
    /// pools take when they are made and destroyed, and a few system calls for each suspicious deque.
    [[nodiscard]] std::optional<hidden_task> look();
    /// The longest time that counted so far, in microseconds.
    [[nodiscard]] std::uint64_t longest() const noexcept { return m_longest; }
    [[nodiscard]] std::uint64_t looks() const noexcept { return m_looks; }

private:
    static constexpr unsigned nobody = UINT32_MAX;
    /// The last look at one deque.
    struct sight {
        std::int64_t oldest = 0;
        bool any = false;
        unsigned sleeper = nobody;
        std::uint64_t sleeps = 0;    // of the sleeper
        std::uint64_t owner_cpu = 0; // nanoseconds
        std::uint64_t age = 0;       // nanoseconds that count
    };

    [[nodiscard]] std::optional<hidden_task> look_at(pool_core& p, std::uint64_t number,
                                                     std::vector<sight>& deques, std::uint64_t passed);
    [[nodiscard]] static bool counts(pool_core& p, unsigned owner, sight& s);
    static void begin(pool_core& p, scheduler& owner, sight& s, std::int64_t oldest);

    const std::uint64_t m_limit;
    std::uint64_t m_last = 0;
    std::uint64_t m_longest = 0;
    std::uint64_t m_looks = 0;
    std::map<std::uint64_t, std::vector<sight>> m_pools; // by number
};

} // namespace detail
} // namespace v0
} // namespace pilfer
