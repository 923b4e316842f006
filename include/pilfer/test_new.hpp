// Allocations that fail by choice, in a program with the target pilfer::test.
//
// One file of the program defines PILFER_TEST_NEW before it includes this header. That replaces operator new
// and operator delete of the whole program. In an explored task, with options::memory_faults, operator new
// may throw std::bad_alloc. docs/guides/testing.md explains it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/base/test_point.hpp>

namespace pilfer {
inline namespace v0 {
namespace test {

/// malloc(). Null: there is no memory, or a test wants the call to fail.
[[nodiscard]] inline void* allocate(std::size_t bytes) noexcept {
    return PILFER_TEST_MEMORY_FAULT("an allocation") ? nullptr : std::malloc(bytes != 0 ? bytes : 1);
}

} // namespace test
} // namespace v0
} // namespace pilfer

#if defined(PILFER_TEST_NEW)

/// Of memory that a test may refuse. Throws std::bad_alloc.
void* operator new(std::size_t bytes) {
    void* const p = pilfer::test::allocate(bytes);
    if (p == nullptr) {
        throw std::bad_alloc();
    }
    return p;
}
/// Of memory that a test may refuse. Throws std::bad_alloc.
void* operator new[](std::size_t bytes) { return ::operator new(bytes); }
/// Of memory that a test may refuse. Null: there is none.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return pilfer::test::allocate(bytes);
}
/// Of memory that a test may refuse. Null: there is none.
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return pilfer::test::allocate(bytes);
}
/// free().
void operator delete(void* p) noexcept { std::free(p); }
/// free().
void operator delete[](void* p) noexcept { std::free(p); }
/// free().
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
/// free().
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

#endif
