// A function that runs on a thread of its own whenever the process gets a signal.
#pragma once

#include <atomic>
#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace os {

/// True if the signal can be caught, and does not report a fault of the running instruction.
[[nodiscard]] bool usable_signal(int signal) noexcept;

/// While such an object lives, its signal has a handler that wakes the object's thread and then calls the
/// handler that was there before. A handler itself may do next to nothing: it interrupts a thread that may
/// hold any lock.
class signal_thread {
public:
    /// Throws std::system_error when no thread can be made.
    signal_thread(int signal, void (*react)(void*), void* argument);
    signal_thread(const signal_thread&) = delete;
    signal_thread& operator=(const signal_thread&) = delete;
    /// Waits for a reaction in progress. The last object of a signal restores the former handler.
    ~signal_thread();
    /// In a child of fork(), which has none of the threads: the handlers stay, and wake no thread.
    static void forget_all() noexcept;

private:
    void run() noexcept;

    int m_signal;
    void (*m_react)(void*);
    void* m_argument;
    std::uint32_t m_seen;
    std::atomic<bool> m_stop{false};
    std::uintptr_t m_thread = 0;
};

} // namespace os
} // namespace v0
} // namespace pilfer
