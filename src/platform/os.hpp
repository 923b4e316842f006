// The operating system, as the library uses it. No scheduling here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pilfer {
inline namespace v0 {
namespace os {

inline constexpr std::size_t page_fallback = 4096;

/// Sleeps while `word` holds `expected`; may return early. Private futex: not std::atomic::wait, whose
/// proxy table lost wake-ups in libstdc++, and not std::condition_variable (glibc bug 25847).
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept;
/// futex_wait() for at most `ns` nanoseconds.
void futex_wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t ns) noexcept;
/// Wakes up to `n` waiters. Uses only the address: the word may be gone.
void futex_wake(std::atomic<std::uint32_t>* word, unsigned n) noexcept;
/// Sleeps while both words hold what is expected, at most `ns` nanoseconds; 0: without a limit. May return
/// early. If the kernel cannot wait for two words (before 5.16) it returns every millisecond.
void futex_wait_either(std::atomic<std::uint32_t>& a, std::uint32_t in_a, std::atomic<std::uint32_t>& b,
                       std::uint32_t in_b, std::uint64_t ns) noexcept;

[[nodiscard]] std::size_t page_size() noexcept;
/// Address space without memory; null if there is none.
[[nodiscard]] void* reserve(std::size_t bytes) noexcept;
/// True if a limit (`ulimit -v`) counts reserved address space, too.
[[nodiscard]] bool address_space_is_limited() noexcept;
void unreserve(void* at, std::size_t bytes) noexcept;
/// Gives the pages back; the range reads as zero afterwards.
void discard(void* at, std::size_t bytes) noexcept;
/// Gets pages for the range, whose contents stay. Does nothing before Linux 5.14.
void populate(void* at, std::size_t bytes) noexcept;

enum class guard_kind { none, light, mprotect };
/// Makes [at, at + bytes) inaccessible. Light guards (Linux 6.13) need no mapping of their own. mprotect
/// splits the mapping. A process may have about 65,000 mappings, so mprotect is refused after a number of
/// calls.
guard_kind guard(void* at, std::size_t bytes) noexcept;

/// Starts a joinable thread with cancellation off and all signals blocked but those of errors, such as
/// SIGSEGV, and SIGPROF unless the calling thread blocks it. Returns 0 or an errno. The thread may run on the
/// CPUs of affinity_mask(), even if the calling thread is pinned.
[[nodiscard]] int thread_start(std::uintptr_t& id, void* (*entry)(void*), void* arg) noexcept;
void thread_join(std::uintptr_t id) noexcept;
/// The calling thread's number in the system (the LWP of a debugger).
[[nodiscard]] std::uint64_t thread_id() noexcept;
/// Calls end(self) when the calling thread ends, after the destructors of its thread-locals; not when it ends
/// the program. One `end` for all callers. False: there is no place for it.
[[nodiscard]] bool at_thread_end(void (*end)(void* self), void* self) noexcept;
/// Threads that end from now on do not call `end`, which may be code of a library that is being unloaded.
void forget_thread_ends() noexcept;
/// Lets other threads that are ready run on this CPU first.
void give_way() noexcept;
/// Names the calling thread, at most 15 characters.
void thread_name(const char* name) noexcept;

/// The nice value of a thread, by its number in the system; 0 for the calling one. Returns 0 if it cannot be
/// read.
[[nodiscard]] int nice_of(std::uint64_t thread) noexcept;
/// Sets the nice value of the calling thread, limited to -20 .. 19. False: refused, and nothing has changed.
[[nodiscard]] bool make_nice(int value) noexcept;

/// The stack of the calling thread.
void thread_bounds(const void*& low, std::size_t& size) noexcept;

/// The number of CPUs in affinity_mask(), at least 1.
[[nodiscard]] unsigned affinity_cpus() noexcept;
/// The numbers of the CPUs in the affinity mask of the calling thread, ascending. On a thread that
/// pin_thread() has pinned: the CPUs that pin_thread() was given instead. Empty: the system does not provide
/// them.
[[nodiscard]] std::vector<unsigned> affinity_mask();
/// Keeps the calling thread on one CPU. affinity_mask() returns `instead_of`, which outlives the thread, from
/// now on. So a pool that a task on a pinned worker makes has all CPUs of this one. False: refused, for
/// example if the CPU is offline or forbidden meanwhile; the thread's mask is unchanged.
[[nodiscard]] bool pin_thread(unsigned cpu, const std::vector<unsigned>& instead_of) noexcept;

[[nodiscard]] std::uint64_t process_id() noexcept;
/// True if the program has more rights than the user who started it, for example by a setuid bit. Then the
/// environment is that of another user: it must not name files to write or programs to run.
[[nodiscard]] bool has_added_rights() noexcept;
/// Calls f() in each child of fork() from now on, on its only thread, before fork() returns there. This ends
/// when the library that contains this code is unloaded. False: no memory.
[[nodiscard]] bool call_in_children(void (*f)()) noexcept;
/// True if the object is in the memory of the program or of a library, and so lives to its end. Cost: a walk
/// through all loaded files.
[[nodiscard]] bool is_static(const void* object) noexcept;
/// True if the object is in the memory of the program itself, which is never unloaded. Cost: as is_static().
[[nodiscard]] bool is_static_in_program(const void* object) noexcept;
/// From now on exit_has_begun() works for objects that were made before. Without memory it does not.
void note_exit() noexcept;
/// True if a thread has called exit(), and exit() has reached the function of note_exit().
[[nodiscard]] bool exit_has_begun() noexcept;

/// Nanoseconds of the monotonic clock, or of the clock of a test: see clock.hpp.
[[nodiscard]] std::uint64_t now_ns() noexcept;

/// Nanoseconds of CPU time that the calling thread has used: constant while it waits for a CPU, or blocks.
[[nodiscard]] std::uint64_t thread_cpu_ns() noexcept;
/// Nanoseconds of CPU time of another thread of this process, by its number in the system; 0: it cannot be
/// read.
[[nodiscard]] std::uint64_t cpu_ns_of(std::uint64_t thread) noexcept;
/// True if that thread sleeps and a signal could wake it (S): it neither runs nor waits for a CPU or a page.
/// Reads a file: some 10 us. The number may also be that of another process: its initial thread.
[[nodiscard]] bool is_blocked(std::uint64_t thread) noexcept;

/// The text of an errno, which lives for ever, unlike the result of strerror(). Null: the system has no text.
[[nodiscard]] const char* error_text(int error) noexcept;

} // namespace os
} // namespace v0
} // namespace pilfer
