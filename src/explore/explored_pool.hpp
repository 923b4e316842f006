// A pool that explores, and the state of the process meanwhile.
#pragma once

#if defined(PILFER_TEST)

#include <cstddef>
#include <mutex>

#include "platform/clock.hpp"
#include "search/exploration.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class interleaving;

/// The schedule that runs on the calling thread; null: none.
[[nodiscard]] interleaving* explored_here() noexcept;
/// The schedule of the calling task; null: no explored task calls, or it is in a child of fork().
[[nodiscard]] interleaving* explored_task() noexcept;

/// While it lives, tasks of explored pools reach their points, have their clock, and an abort of the program
/// says its schedule. One at a time.
class exploring_process {
public:
    /// `follows`: the one schedule is a recording.
    explicit exploring_process(bool follows = false) noexcept;
    exploring_process(const exploring_process&) = delete;
    exploring_process& operator=(const exploring_process&) = delete;
    ~exploring_process();

private:
    const os::time_source* m_time;
};

/// Held by each call that explores or records.
extern std::mutex one_call;

/// This text is written if the program aborts.
void say_at_abort(const char* format, const char* name, unsigned long long number) noexcept;

/// Makes a pool, and runs the schedules that `x` asks for, until it asks for none, or one leaves tasks that
/// wait for ever, or hold the thread. Such a pool is left as it is. `stack`: the size of each stack; 0: the
/// usual one. Throws what making a pool throws.
void explore_in_a_pool(exploration& x, std::size_t stack);

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
