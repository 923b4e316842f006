// The floating-point modes of the calling thread: rounding, and which exceptions trap. Not <cfenv>: its
// functions are in a library of their own, which users of pilfer_threadpool.o do not link.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/platform.hpp>

#if defined(PILFER_ISA_PORTABLE)
#include <cfenv>
#endif

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A set of modes. A context begins with the modes of the thread that starts it.
class rounding {
public:
    /// Returns the modes of the calling thread.
    [[nodiscard]] static rounding now() noexcept {
        rounding r;
#if defined(PILFER_ISA_X86_64)
        asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(r.m_sse), "=m"(r.m_x87));
#elif defined(PILFER_ISA_AARCH64)
        asm volatile("mrs %0, fpcr" : "=r"(r.m_control));
#else
        std::fegetenv(&r.m_all);
#endif
        return r;
    }
    /// Sets the modes of the calling thread.
    void set() const noexcept {
#if defined(PILFER_ISA_X86_64)
        asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(m_sse), "m"(m_x87));
#elif defined(PILFER_ISA_AARCH64)
        asm volatile("msr fpcr, %0" : : "r"(m_control));
#else
        std::fesetenv(&m_all);
#endif
    }

private:
    rounding() = default;
#if defined(PILFER_ISA_X86_64)
    std::uint32_t m_sse = 0;
    std::uint16_t m_x87 = 0;
#elif defined(PILFER_ISA_AARCH64)
    std::uint64_t m_control = 0;
#else
    std::fenv_t m_all{};
#endif
};

/// Sets modes while it lives, and restores the former ones afterwards.
class with_rounding {
public:
    explicit with_rounding(const rounding& modes) noexcept { modes.set(); }
    with_rounding(const with_rounding&) = delete;
    with_rounding& operator=(const with_rounding&) = delete;
    ~with_rounding() { m_before.set(); }

private:
    const rounding m_before = rounding::now();
};

} // namespace detail
} // namespace v0
} // namespace pilfer
