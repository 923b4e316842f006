// Places at which a test may let other tasks run: see <pilfer/test.hpp>.
//
// Only a build with PILFER_TEST has them: the target pilfer::test, and the programs that link it. In any
// other build the macro is empty: no call, no load, no word.
//
//   PILFER_TEST_POINT(what, object)   An operation on `object` begins: "locks a mutex".
#pragma once

#include <atomic>

#include <pilfer/detail/base/platform.hpp>

#if defined(PILFER_TEST)

namespace pilfer {
inline namespace v0 {
namespace detail {

using test_point_function = void (*)(const char* what, const void* object) noexcept;
/// Null while no schedule is explored.
extern PILFER_API std::atomic<test_point_function> test_points;

inline void test_point(const char* what, const void* object) noexcept {
    if (const test_point_function f = test_points.load(std::memory_order_relaxed)) {
        f(what, object);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#define PILFER_TEST_POINT(what, object) ::pilfer::detail::test_point(what, object)

#else

#define PILFER_TEST_POINT(what, object) static_cast<void>(0)

#endif
