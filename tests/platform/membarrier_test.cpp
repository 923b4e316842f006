// The heavy fence on a system that takes the system call away after the library began to rely on it.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

#include <pilfer/detail/base/atom.hpp>

#include "support/child.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;

/// From now on membarrier fails with EPERM in this process.
[[nodiscard]] bool forbid_membarrier() {
    sock_filter rules[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_membarrier},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    const sock_fprog program{static_cast<unsigned short>(std::size(rules)), rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

class bad_input_heavy_fence : public guarded {};

constexpr int no_filter = 77;

TEST_F(bad_input_heavy_fence, ends_the_program_when_the_call_is_refused_later) {
    if (!pilfer::detail::heavy_fence_reaches_all()) {
        GTEST_SKIP() << "no membarrier here";
    }
    const auto result = in_child([] {
        pilfer::detail::heavy_fence(); // still allowed; the child is registered like its parent
        if (!forbid_membarrier()) {
            return no_filter;
        }
        pilfer::detail::heavy_fence();
        return 0;
    });
    if (result.exited_with(no_filter)) {
        GTEST_SKIP() << "no filters of system calls here";
    }
    EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
    EXPECT_TRUE(result.said("membarrier")) << result;
}

} // namespace
