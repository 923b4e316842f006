#include "machine.hpp"

#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstddef>
#include <iterator>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/platform.hpp>

#include "platform/cpus.hpp"
#include "platform/os.hpp"

namespace tools {
namespace {

namespace os = pilfer::os;

[[nodiscard]] char const* guards() {
    std::size_t const bytes = os::page_size();
    void* const at = os::reserve(bytes);
    if (at == nullptr) {
        return "none (no address space)";
    }
    os::guard_kind const kind = os::guard(at, bytes);
    os::unreserve(at, bytes);
    switch (kind) {
    case os::guard_kind::light:
        return "light (no mapping of their own)";
    case os::guard_kind::mprotect:
        return "mprotect";
    case os::guard_kind::none:
        break;
    }
    return "none";
}

[[nodiscard]] char const* switching() {
#if defined(PILFER_ISA_X86_64)
    return "x86-64 assembly";
#elif defined(PILFER_ISA_AARCH64)
    return "AArch64 assembly";
#else
    return "ucontext";
#endif
}

} // namespace

machine_facts look_at_machine() {
    utsname name{};
    (void)uname(&name);
    return {.kernel = fmt::format("{} {} {}", name.sysname, name.release, name.machine),
            .membarrier = pilfer::detail::heavy_fence_reaches_all()
                              ? "works"
                              : "refused: every push and pop takes the slow path with a fence",
            .guards = guards(),
            .stacks = fmt::format("switched by {}", switching())};
}

std::string machine_report() {
    machine_facts const facts = look_at_machine();
    auto const quota = os::cgroup_cpus("");
    return fmt::format("kernel:      {}\n"
                       "CPUs:        {} in the affinity mask, quota {}, so {} workers by default\n"
                       "membarrier:  {}\n"
                       "guards:      {}\n"
                       "stacks:      {}\n",
                       facts.kernel, os::affinity_cpus(), quota ? std::to_string(*quota) : "none",
                       os::automatic_workers(), facts.membarrier, facts.guards, facts.stacks);
}

bool refuse_membarrier() noexcept {
    sock_filter rules[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_membarrier},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    sock_fprog const program{static_cast<unsigned short>(std::size(rules)), rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

} // namespace tools
