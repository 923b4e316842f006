// The floating-point modes of the calling thread, for a scheduler that runs on top of a frame. Not <cfenv>,
// whose functions stand in a library of their own, which users of pilfer_threadpool.o do not link.
#pragma once

#include <cstdint>

#include <pilfer/detail/platform.hpp>

#if defined(PILFER_ISA_PORTABLE)
#include <cfenv>
#endif

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Usual modes while one lives; those of before behind it.
class usual_rounding {
public:
    usual_rounding() noexcept {
#if defined(PILFER_ISA_X86_64)
        asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(m_sse), "=m"(m_x87));
        set(0x1f80, 0x037f); // as the ABI has them at the start of a process
#elif defined(PILFER_ISA_AARCH64)
        asm volatile("mrs %0, fpcr" : "=r"(m_control));
        asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
#else
        std::fegetenv(&m_before);
        std::fesetenv(FE_DFL_ENV);
#endif
    }
    usual_rounding(const usual_rounding&) = delete;
    usual_rounding& operator=(const usual_rounding&) = delete;
    ~usual_rounding() {
#if defined(PILFER_ISA_X86_64)
        set(m_sse, m_x87);
#elif defined(PILFER_ISA_AARCH64)
        asm volatile("msr fpcr, %0" : : "r"(m_control));
#else
        std::fesetenv(&m_before);
#endif
    }

private:
#if defined(PILFER_ISA_X86_64)
    static void set(std::uint32_t sse, std::uint16_t x87) noexcept {
        asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(sse), "m"(x87));
    }
    std::uint32_t m_sse = 0;
    std::uint16_t m_x87 = 0;
#elif defined(PILFER_ISA_AARCH64)
    std::uint64_t m_control = 0;
#else
    std::fenv_t m_before;
#endif
};

} // namespace detail
} // namespace v0
} // namespace pilfer
