// Compiler and instruction-set seams. Nothing here knows about scheduling.
#pragma once

#if __cplusplus < 202002L
#error "pilfer needs -std=c++20"
#elif defined(__clang__) && __clang_major__ < 16
#error "pilfer needs clang++ 16 or newer"
#elif !defined(__clang__) && defined(__GNUC__) && __GNUC__ < 11
#error "pilfer needs g++ 11 or newer"
#endif

#include <cstddef>

#include <pilfer/detail/base/which_sanitizer.h>

#if !defined(PILFER_STATIC)
#define PILFER_API __attribute__((visibility("default")))
#else
#define PILFER_API
#endif

// For code that must be part of its caller's frame: around a switch of stacks.
#define PILFER_SAME_FRAME inline __attribute__((always_inline))
// For the fast paths, whose cost is counted in instructions. Unoptimised builds keep them as functions:
// inlined into each caller they made the code several times as large, slow to compile and slow to step
// through.
#if defined(__OPTIMIZE__)
#define PILFER_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define PILFER_ALWAYS_INLINE inline
#endif
#define PILFER_NOINLINE __attribute__((noinline))
#define PILFER_COLD __attribute__((noinline, cold))

// A function that is entered on one stack and left on another must carry no instrumentation: the
// sanitizers' entry and exit hooks would then hit two different shadow stacks.
#if defined(PILFER_SANITIZED) && defined(__clang__)
#define PILFER_NO_SANITIZE __attribute__((noinline, disable_sanitizer_instrumentation))
#elif defined(PILFER_SANITIZED)
#define PILFER_NO_SANITIZE __attribute__((noinline, no_sanitize("address", "thread", "undefined")))
#else
#define PILFER_NO_SANITIZE
#endif

// A program without exceptions (-fno-exceptions) may include these headers: what would be thrown ends the
// program, with the text. Either the whole program has exceptions or none of it, because both kinds of a
// template would share one name.
#if defined(__cpp_exceptions)
#define PILFER_TRY try
#define PILFER_CATCH_ALL catch (...)
#define PILFER_THROW(...) throw __VA_ARGS__
#define PILFER_RETHROW throw
#else
#define PILFER_TRY if constexpr (true)
#define PILFER_CATCH_ALL else
#define PILFER_THROW(...) ::pilfer::detail::ends_in_place_of(__VA_ARGS__)
#define PILFER_RETHROW ::pilfer::detail::ends_without_exceptions("an exception")
#endif

#if defined(__x86_64__) && !defined(__ILP32__) && !defined(PILFER_PORTABLE_CONTEXT)
#define PILFER_ISA_X86_64 1
#elif defined(__aarch64__) && !defined(PILFER_PORTABLE_CONTEXT)
#define PILFER_ISA_AARCH64 1
#else
#define PILFER_ISA_PORTABLE 1
#endif

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Two neighbouring 64-byte lines are fetched together by the prefetchers of current x86-64 and
/// AArch64 cores, so words of different writers are kept this far apart.
inline constexpr std::size_t line_bytes = 128;

/// "pilfer: a program without exceptions cannot go on: " and the text, on standard error; then
/// std::terminate().
[[noreturn]] PILFER_API void ends_without_exceptions(const char* what) noexcept;
template <class Error>
[[noreturn]] void ends_in_place_of(const Error& error) noexcept {
    if constexpr (requires { error.what(); }) {
        detail::ends_without_exceptions(error.what());
    } else {
        detail::ends_without_exceptions("a task was stopped (see scope::cancel)");
    }
}

PILFER_ALWAYS_INLINE void cpu_relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

} // namespace detail
} // namespace v0
} // namespace pilfer
