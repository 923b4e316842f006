// Actions that an operating system may take on a process at any time, done on purpose.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace tools {

/// A timer signal every 100 us while it lives: its handler runs on threads that are no workers, and their
/// system calls end with EINTR.
class frequent_signals {
public:
    frequent_signals();
    frequent_signals(frequent_signals const&) = delete;
    frequent_signals& operator=(frequent_signals const&) = delete;
    ~frequent_signals();
    [[nodiscard]] static std::uint64_t count() noexcept;
};

/// Moves the threads of this process among the CPUs they had at first, some thirty times a second.
class changing_masks {
public:
    explicit changing_masks(std::uint64_t seed);
    changing_masks(changing_masks const&) = delete;
    changing_masks& operator=(changing_masks const&) = delete;
    ~changing_masks();

private:
    std::atomic<bool> m_over{false};
    std::thread m_thread;
};

/// Stops and continues `child` at random. Returns its status as waitpid does.
[[nodiscard]] int stop_and_continue(pid_t child, std::uint64_t seed, std::uint64_t& stops);

} // namespace tools
