// Looks for what must not be: a ready task in a deque beside a worker that sleeps (row B8 of the tests).
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

/// The oldest task of `owner` has lain where it is for so long while `sleeper` slept.
struct hidden_task {
    std::uint64_t pool;
    unsigned owner;
    unsigned sleeper;
    std::uint64_t microseconds;
    [[nodiscard]] std::string text() const;
};

/// Looks at all pools of the process from a thread that is no worker, about every millisecond.
///
/// Time counts only while the promise of src/idle holds without any help of the system's scheduler: nobody
/// has a token or looks for work (who does may be waiting for a CPU), all sleepers really sleep in the
/// kernel, and the owner of the deque has moved since or is blocked inside its task, so that it does not
/// stand between its push and the wake-up. So a machine that has more to do than CPUs stops the clock, and no
/// limit is too short for it. Pools that lack stacks are left out: tasks wait for them.
class hidden_watch {
public:
    explicit hidden_watch(std::uint64_t limit_microseconds = 10'000) : m_limit(limit_microseconds) {}

    /// One look. What it returns is the first task that was hidden for longer than the limit. Costs a lock
    /// that pools take when they are made and destroyed, and a few system calls for each deque that looks
    /// forgotten.
    [[nodiscard]] std::optional<hidden_task> look();
    /// The longest time that counted so far, in microseconds.
    [[nodiscard]] std::uint64_t longest() const noexcept { return m_longest; }
    [[nodiscard]] std::uint64_t looks() const noexcept { return m_looks; }

private:
    static constexpr unsigned nobody = UINT32_MAX;
    /// What was seen of one deque.
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
