// Counts every call of malloc, operator new and mmap. Include it in one file of a program only.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <pilfer/detail/base/platform.hpp>

#include "support/harness.hpp"

namespace support {

#if defined(PILFER_SANITIZED)
inline constexpr bool counts_allocations = false;
#else
inline constexpr bool counts_allocations = true;
#endif
inline std::atomic<std::uint64_t> allocation_count{0};
inline std::atomic<std::uint64_t> mapping_count{0};
[[nodiscard]] inline std::uint64_t allocations() { return allocation_count.load(); }
[[nodiscard]] inline std::uint64_t mappings() { return mapping_count.load(); }

} // namespace support

// A sanitizer brings an operator new and a malloc of its own: nothing is counted there, see
// counts_allocations.
#if !defined(PILFER_SANITIZED) && defined(__GLIBC__)
#define PILFER_TEST_COUNTS_MALLOC 1
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);

void* malloc(std::size_t n) noexcept {
    support::allocation_count.fetch_add(1, std::memory_order_relaxed);
    return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t size) noexcept {
    support::allocation_count.fetch_add(1, std::memory_order_relaxed);
    return __libc_calloc(n, size);
}
void* realloc(void* old, std::size_t n) noexcept {
    support::allocation_count.fetch_add(1, std::memory_order_relaxed);
    return __libc_realloc(old, n);
}
void* mmap(void* at, std::size_t n, int protection, int flags, int file, off_t offset) noexcept {
    support::mapping_count.fetch_add(1, std::memory_order_relaxed);
    return reinterpret_cast<void*>(syscall(SYS_mmap, at, n, protection, flags, file, offset));
}
}
#endif

#if !defined(PILFER_SANITIZED)
[[gnu::noinline]] void* operator new(std::size_t n) {
    // malloc counts its own calls if it can be replaced.
    if (void* p = std::malloc(n != 0 ? n : 1)) {
#if !defined(PILFER_TEST_COUNTS_MALLOC)
        support::allocation_count.fetch_add(1, std::memory_order_relaxed);
#endif
        return p;
    }
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif
