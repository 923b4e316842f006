// Places at which a test may let other tasks run, or an operation fail: see <pilfer/test.hpp>.
//
// Only a build with PILFER_TEST has them: the target pilfer::test, and the programs that link it. In any
// other build the macros are empty: no call, no load, no word.
//
//   PILFER_TEST_POINT(what, object)   An operation on `object` begins: "locks a mutex". The block ends it.
//   PILFER_TEST_ORDER(what, object)   Likewise, but no other task may run here: for recordings alone.
//   PILFER_TEST_CANNOT_REPEAT(what)   A recording cannot be repeated from here on because of that.
//   PILFER_TEST_FAULT(what, object)   True if the test wants it to fail.
//   PILFER_TEST_MEMORY_FAULT(what)    So for an allocation, if the test has asked for such faults.
//   PILFER_TEST_IO_FAULT(what)        So for a system call of pilfer::io.
//   PILFER_TEST_WAIT(object)          Waits for a notification; false if the caller is no explored task.
//   PILFER_TEST_NOTIFY(object, all)   Ends one of these waits, or all.
#pragma once

#include <atomic>

#include <pilfer/detail/base/platform.hpp>

#if defined(PILFER_TEST)

namespace pilfer {
inline namespace v0 {
namespace detail {

enum class fault_kind { own, memory, io };

/// The reactions of a test to these places.
struct test_hooks {
    /// `changes`: other tasks may go on here. True: done() is called at the end of the operation.
    bool (*point)(const char* what, const void* object, bool changes) noexcept;
    void (*done)() noexcept;
    void (*cannot_repeat)(const char* what) noexcept;
    bool (*fault)(fault_kind kind, const char* what, const void* object) noexcept;
    bool (*wait)(const void* object) noexcept;
    void (*notify)(const void* object, bool all) noexcept;
    bool fixed_loops; ///< Loops are split into the same parts each time, whoever asks for some.
};
/// Null while no schedule is explored or recorded.
extern PILFER_API std::atomic<const test_hooks*> test_points;

/// An operation, from its point to its end.
class test_step {
public:
    test_step(const char* what, const void* object, bool changes = true) noexcept {
        if (const test_hooks* const h = test_points.load(std::memory_order_relaxed)) [[unlikely]] {
            m_done = h->point(what, object, changes) ? h->done : nullptr;
        }
    }
    test_step(const test_step&) = delete;
    test_step& operator=(const test_step&) = delete;
    ~test_step() {
        if (m_done != nullptr) [[unlikely]] {
            m_done();
        }
    }

private:
    void (*m_done)() noexcept = nullptr;
};
inline void test_cannot_repeat(const char* what) noexcept {
    if (const test_hooks* const h = test_points.load(std::memory_order_relaxed)) {
        h->cannot_repeat(what);
    }
}
[[nodiscard]] inline bool loops_are_fixed() noexcept {
    const test_hooks* const h = test_points.load(std::memory_order_relaxed);
    return h != nullptr && h->fixed_loops;
}
[[nodiscard]] inline bool test_fault(fault_kind kind, const char* what, const void* object) noexcept {
    const test_hooks* const h = test_points.load(std::memory_order_relaxed);
    return h != nullptr && h->fault(kind, what, object);
}
[[nodiscard]] inline bool test_wait(const void* object) noexcept {
    const test_hooks* const h = test_points.load(std::memory_order_relaxed);
    return h != nullptr && h->wait(object);
}
inline void test_notify(const void* object, bool all) noexcept {
    if (const test_hooks* const h = test_points.load(std::memory_order_relaxed)) {
        h->notify(object, all);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#define PILFER_TEST_POINT(what, object) const ::pilfer::detail::test_step pilfer_test_step(what, object)
#define PILFER_TEST_ORDER(what, object)                                                                      \
    const ::pilfer::detail::test_step pilfer_test_step(what, object, false)
#define PILFER_TEST_CANNOT_REPEAT(what) ::pilfer::detail::test_cannot_repeat(what)
#define PILFER_TEST_FAULT(what, object)                                                                      \
    ::pilfer::detail::test_fault(::pilfer::detail::fault_kind::own, what, object)
#define PILFER_TEST_MEMORY_FAULT(what)                                                                       \
    ::pilfer::detail::test_fault(::pilfer::detail::fault_kind::memory, what, nullptr)
#define PILFER_TEST_IO_FAULT(what)                                                                           \
    ::pilfer::detail::test_fault(::pilfer::detail::fault_kind::io, what, nullptr)
#define PILFER_TEST_WAIT(object) ::pilfer::detail::test_wait(object)
#define PILFER_TEST_NOTIFY(object, all) ::pilfer::detail::test_notify(object, all)

#else

#define PILFER_TEST_POINT(what, object) static_cast<void>(0)
#define PILFER_TEST_ORDER(what, object) static_cast<void>(0)
#define PILFER_TEST_CANNOT_REPEAT(what) static_cast<void>(0)
#define PILFER_TEST_FAULT(what, object) false
#define PILFER_TEST_MEMORY_FAULT(what) false
#define PILFER_TEST_IO_FAULT(what) false
#define PILFER_TEST_WAIT(object) false
#define PILFER_TEST_NOTIFY(object, all) static_cast<void>(0)

#endif
