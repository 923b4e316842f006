// The operating system, as the rest of the library wants it. No scheduling here.
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
/// As above, at most `ns` nanoseconds.
void futex_wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t ns) noexcept;
/// Wakes up to `n` waiters. Uses only the address: the word may be gone.
void futex_wake(std::atomic<std::uint32_t>* word, unsigned n) noexcept;
/// Sleeps while both hold what is expected; 0 nanoseconds: for as long as that takes. May return early. Where
/// the kernel cannot wait for two (before 5.16) it returns every millisecond.
void futex_wait_either(std::atomic<std::uint32_t>& a, std::uint32_t in_a, std::atomic<std::uint32_t>& b,
                       std::uint32_t in_b, std::uint64_t ns) noexcept;

[[nodiscard]] std::size_t page_size() noexcept;
/// Address space without memory behind it; null if there is none.
[[nodiscard]] void* reserve(std::size_t bytes) noexcept;
/// A limit (`ulimit -v`) counts reserve() without memory behind it, too.
[[nodiscard]] bool address_space_is_limited() noexcept;
void unreserve(void* at, std::size_t bytes) noexcept;
/// Gives the pages back; the range reads as zero afterwards.
void discard(void* at, std::size_t bytes) noexcept;

enum class guard_kind { none, light, mprotect };
/// Makes [at, at + bytes) inaccessible. Light guards (Linux 6.13) need no mapping of their own;
/// mprotect splits the mapping, of which a process has about 65,000, so it is refused after a number.
guard_kind guard(void* at, std::size_t bytes) noexcept;

/// Starts a joinable thread with all signals blocked and cancellation off. 0, or an errno. It may run where
/// affinity_mask() says, also if the calling thread is pinned.
[[nodiscard]] int thread_start(std::uintptr_t& id, void* (*entry)(void*), void* arg) noexcept;
void thread_join(std::uintptr_t id) noexcept;
/// The calling thread's number in the system (the LWP of a debugger).
[[nodiscard]] std::uint64_t thread_id() noexcept;
/// end(self) when the calling thread ends, behind the destructors of its thread-locals; not where it ends the
/// program. One `end` for all callers. False: there is no place for it.
[[nodiscard]] bool at_thread_end(void (*end)(void* self), void* self) noexcept;
/// Threads that end from now on call nothing: `end` may be code of a library that is being unloaded.
void forget_thread_ends() noexcept;
/// Other threads that are ready run on this CPU first.
void give_way() noexcept;
/// Names the calling thread, at most 15 characters.
void thread_name(const char* name) noexcept;

/// The nice value of a thread, by its number in the system; 0 for the calling one. What cannot be read is 0.
[[nodiscard]] int nice_of(std::uint64_t thread) noexcept;
/// Of the calling thread, cut to -20 .. 19. False: refused, and nothing has changed.
[[nodiscard]] bool make_nice(int value) noexcept;

/// The stack of the calling thread.
void thread_bounds(const void*& low, std::size_t& size) noexcept;

/// CPUs in affinity_mask(), at least 1.
[[nodiscard]] unsigned affinity_cpus() noexcept;
/// The numbers of the CPUs in the affinity mask of the calling thread, ascending; of a thread that
/// pin_thread() put on one of them: what it was given instead of its mask. Empty: the system does not say.
[[nodiscard]] std::vector<unsigned> affinity_mask();
/// Keeps the calling thread on one CPU. `instead_of`, which outlives the thread, is what affinity_mask() says
/// from now on: a pool that a task on a pinned worker makes has all CPUs of this one. False: refused, as for
/// a CPU that is offline or forbidden meanwhile; the thread runs where it could before.
[[nodiscard]] bool pin_thread(unsigned cpu, const std::vector<unsigned>& instead_of) noexcept;

[[nodiscard]] std::uint64_t process_id() noexcept;
/// f() in each child of fork() from now on, on its only thread, before fork() returns there. Until the
/// library that this is part of is unloaded. False: no memory.
[[nodiscard]] bool call_in_children(void (*f)()) noexcept;
/// The object lies in the memory of the program or of a library, and so lives to its end. Cost: a walk
/// through what is loaded.
[[nodiscard]] bool is_static(const void* object) noexcept;
/// The object lies in the memory of the program itself, which is never unloaded. Cost: as is_static().
[[nodiscard]] bool is_static_in_program(const void* object) noexcept;
/// From now on exit_has_begun() tells objects that were made before. Without memory it does not.
void note_exit() noexcept;
/// exit() was called, by whatever thread, and has come to what was noted.
[[nodiscard]] bool exit_has_begun() noexcept;

/// Nanoseconds of the monotonic clock, or of what a test has put in its place: see clock.hpp.
[[nodiscard]] std::uint64_t now_ns() noexcept;

/// Nanoseconds of a CPU that the calling thread has used: stands still while it waits for one, or blocks.
[[nodiscard]] std::uint64_t thread_cpu_ns() noexcept;
/// Of another thread of this process, by its number in the system; 0: it cannot be read.
[[nodiscard]] std::uint64_t cpu_ns_of(std::uint64_t thread) noexcept;
/// That thread sleeps and a signal could wake it (S): it neither runs nor waits for a CPU or a page. Reads a
/// file: some 10 us.
[[nodiscard]] bool is_blocked(std::uint64_t thread) noexcept;

/// What an errno means; it lives for ever, unlike what strerror() returns. Null: the system does not say.
[[nodiscard]] const char* error_text(int error) noexcept;

/// Writes to standard error without allocating.
void write_error(const char* text) noexcept;
/// Writes all of it, or as much as `file` takes.
void write_all(int file, const char* text, std::size_t bytes) noexcept;

} // namespace os
} // namespace v0
} // namespace pilfer
