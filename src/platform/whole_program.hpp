// A program whose main() runs in child processes, for tests of schedules.
#pragma once

#if defined(PILFER_TEST)

#include <cstddef>
#include <cstdint>
#include <string>

namespace pilfer {
inline namespace v0 {
namespace os {

/// A function that runs before main().
using constructor = void (*)(int count, char** words, char** environment);

/// The part of a program that comes after one of its constructors.
class rest_of_program {
public:
    rest_of_program(constructor self, int count, char** words, char** environment) noexcept;
    /// False: the constructor is not in the program's own file, or main() is elsewhere.
    [[nodiscard]] bool is_known() const noexcept { return m_next != nullptr; }
    /// Runs the constructors after `self`, and then main(). Returns what that returns.
    [[nodiscard]] int run() const;

private:
    const constructor* m_next = nullptr;
    int m_count;
    char** m_words;
    char** m_environment;
};

/// Zeroed memory that this process shares with its children; pages that are not written cost nothing. Null:
/// there is none.
[[nodiscard]] void* shared_memory(std::size_t bytes) noexcept;

/// The end of a child process.
struct child_end {
    int code;   ///< Of exit(); 0 after a signal.
    int signal; ///< 0: none.
};
/// Forks. Returns 0 in the child, and its number in the parent; -1: there is no child. Each child finds a
/// file at standard input where this process was in it, and anything else empty. `hidden`: what the child
/// writes to its standard output and standard error is lost.
[[nodiscard]] int begin_child(bool hidden) noexcept;
/// Waits for the end of a child, at most about so many nanoseconds. False: it has not ended.
[[nodiscard]] bool wait_for_child(int child, std::uint64_t most, child_end& end) noexcept;
/// Nanoseconds of CPU time of all threads of a child that has not ended.
[[nodiscard]] std::uint64_t cpu_ns_of_child(int child) noexcept;
/// Ends a child that has not ended.
void end_child(int child) noexcept;
/// "signal 11, Segmentation fault".
[[nodiscard]] std::string signal_text(int signal);
/// Ends the process at once, without destructors.
[[noreturn]] void leave(int code) noexcept;
/// A variable of the environment that names a file. Null: it is not set, or the process has more rights than
/// its caller.
[[nodiscard]] const char* safe_variable(const char* name) noexcept;
/// Removes a variable from the environment.
void forget_variable(const char* name) noexcept;

} // namespace os
} // namespace v0
} // namespace pilfer

#endif
