// Facts about this process from /proc.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <pilfer/detail/base/platform.hpp>

namespace support {

/// Under qemu-user: limits of the address space mean the emulator's own, its memory is counted with the
/// program's, and a program cannot start itself again.
#if defined(PILFER_TEST_EMULATED)
inline constexpr bool emulated = true;
#else
inline constexpr bool emulated = false;
#endif

[[nodiscard]] inline std::uint64_t status_kib(const char* field) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind(field, 0) == 0) {
            return std::stoull(line.substr(std::string(field).size() + 1));
        }
    }
    return 0;
}
[[nodiscard]] inline std::uint64_t resident_bytes() { return status_kib("VmRSS") * 1024; }
[[nodiscard]] inline std::size_t thread_count() {
#if defined(PILFER_TSAN)
    // ThreadSanitizer starts a thread of its own beside the first one of the program.
    [[maybe_unused]] static const bool started = [] {
        std::thread([] {}).join();
        std::this_thread::sleep_for(std::chrono::milliseconds(100)); // it leaves /proc a little later
        return true;
    }();
#endif
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        ++n;
    }
    return n;
}
/// Threads of this process that have that name.
[[nodiscard]] inline std::size_t threads_named(const std::string& name) {
    std::size_t n = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string comm;
        std::getline(std::ifstream(task.path() / "comm") >> std::ws, comm);
        n += comm == name ? 1 : 0;
    }
    return n;
}
/// A joined thread may stay in /proc for a moment. Fewer will do: those of an earlier case may have been
/// among the wanted.
[[nodiscard]] inline bool threads_become(std::size_t wanted) {
    for (int i = 0; i < 20'000; ++i) {
        if (thread_count() <= wanted) {
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}
/// Of the kernel, asked each time: no value that a compiler could keep across a switch.
[[nodiscard]] inline long thread_id() { return syscall(SYS_gettid); }
/// Sleeps in small steps until `condition()` holds; false after `limit`.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition,
                              std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return true;
}

} // namespace support
