#include "platform/os.hpp"

#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string_view>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/pages.hpp>
#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/platform.hpp>

#include "base/once.hpp"
#include "base/write.hpp"
#include "platform/clock.hpp"

#if defined(PILFER_RACE)
#include <pilfer/detail/base/race.hpp>
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace pilfer {
inline namespace v0 {
namespace os {
namespace {

#if defined(PILFER_RACE)
using resting = detail::race::resting;
#else
struct resting {
    resting() noexcept {}
};
#endif

long futex(std::atomic<std::uint32_t>* word, int op, std::uint32_t value, const timespec* timeout) noexcept {
    return syscall(SYS_futex, word, op, value, timeout, nullptr, 0);
}

/// The return value of madvise is not to be trusted: qemu's user mode answers 0 and installs nothing.
/// The kernel itself is asked to read a guarded byte.
bool light_guards_work() noexcept {
    const std::size_t page = page_size();
    void* at = reserve(page);
    if (at == nullptr) {
        return false;
    }
    int ends[2];
    bool works = false;
    if (madvise(at, page, MADV_GUARD_INSTALL) == 0 && pipe(ends) == 0) {
        works = write(ends[1], at, 1) < 0 && errno == EFAULT;
        close(ends[0]);
        close(ends[1]);
    }
    unreserve(at, page);
    return works;
}

/// The CPUs that affinity_mask() returns on a pinned thread; null: not pinned.
constinit thread_local const std::vector<unsigned>* mask_before_pinning = nullptr;

/// Never inlined: a task may ask on one thread and then, after a switch, on another.
PILFER_NOINLINE const std::vector<unsigned>* pinned_instead_of() noexcept { return mask_before_pinning; }

/// A set of CPUs as the system wants it; cpu_set_t ends at 1,024.
class cpu_set {
public:
    explicit cpu_set(std::size_t cpus) noexcept : m_bytes(CPU_ALLOC_SIZE(cpus)), m_set(CPU_ALLOC(cpus)) {
        if (m_set != nullptr) {
            CPU_ZERO_S(m_bytes, m_set.get());
        }
    }
    [[nodiscard]] static cpu_set of(std::span<const unsigned> cpus) noexcept {
        std::size_t most = 0;
        for (const unsigned cpu : cpus) {
            most = cpu > most ? cpu : most;
        }
        cpu_set all(most + 1);
        for (const unsigned cpu : cpus) {
            if (all.there()) {
                CPU_SET_S(cpu, all.m_bytes, all.m_set.get());
            }
        }
        return all;
    }
    /// False: there was no memory.
    [[nodiscard]] bool there() const noexcept { return m_set != nullptr; }
    [[nodiscard]] std::size_t bytes() const noexcept { return m_bytes; }
    [[nodiscard]] cpu_set_t* get() const noexcept { return m_set.get(); }
    [[nodiscard]] bool has(std::size_t cpu) const noexcept { return CPU_ISSET_S(cpu, m_bytes, m_set.get()); }

private:
    struct give_back {
        void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
    };
    std::size_t m_bytes;
    std::unique_ptr<cpu_set_t, give_back> m_set;
};

/// Calls use(set) with the mask of the calling thread. False: the system does not provide it.
template <class Use>
bool with_affinity(Use use) {
    // The kernel refuses a set that is smaller than its own.
    for (std::size_t cpus = CPU_SETSIZE; cpus <= std::size_t{1} << 18; cpus *= 4) {
        const cpu_set set(cpus);
        if (!set.there()) {
            return false;
        }
        if (sched_getaffinity(0, set.bytes(), set.get()) == 0) {
            use(set);
            return true;
        }
        if (errno != EINVAL) {
            return false;
        }
    }
    return false;
}

/// pthread_create, with the mask that the calling thread had before it was pinned: a thread inherits its
/// maker's.
int create_thread(pthread_t& thread, void* (*entry)(void*), void* arg) noexcept {
#if defined(PILFER_RACE)
    const detail::race::making_thread own;
#endif
    if (const auto* mask = pinned_instead_of(); mask != nullptr) {
        const cpu_set all = cpu_set::of(*mask);
        pthread_attr_t attributes;
        if (all.there() && pthread_attr_init(&attributes) == 0) {
            const bool made = pthread_attr_setaffinity_np(&attributes, all.bytes(), all.get()) == 0 &&
                              pthread_create(&thread, &attributes, entry, arg) == 0;
            pthread_attr_destroy(&attributes);
            if (made) {
                return 0;
            }
        }
    }
    return pthread_create(&thread, nullptr, entry, arg);
}

} // namespace

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    if (PILFER_CHAOS_MAYBE(early_return)) {
        return;
    }
    const resting here;
    futex(&word, FUTEX_WAIT_PRIVATE, expected, nullptr);
}

void futex_wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t ns) noexcept {
    if (PILFER_CHAOS_MAYBE(early_return)) {
        return;
    }
    if (const time_source* s = current_time_source(); s != nullptr && s->wait != nullptr) {
        s->wait(word, expected, ns);
        return;
    }
    timespec t{};
    t.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
    t.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    const resting here;
    futex(&word, FUTEX_WAIT_PRIVATE, expected, &t);
}

void futex_wait_either(std::atomic<std::uint32_t>& a, std::uint32_t in_a, std::atomic<std::uint32_t>& b,
                       std::uint32_t in_b, std::uint64_t ns) noexcept {
    const resting here;
#if defined(SYS_futex_waitv)
    futex_waitv both[2]{};
    const auto fill = [](futex_waitv& w, std::atomic<std::uint32_t>& word, std::uint32_t value) {
        w.uaddr = reinterpret_cast<std::uintptr_t>(&word);
        w.val = value;
        w.flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
    };
    fill(both[0], a, in_a);
    fill(both[1], b, in_b);
    timespec until{};
    if (ns != 0) {
        clock_gettime(CLOCK_MONOTONIC, &until); // this call takes a point in time
        const std::uint64_t nsec = static_cast<std::uint64_t>(until.tv_nsec) + ns % 1'000'000'000;
        until.tv_sec += static_cast<time_t>(ns / 1'000'000'000 + nsec / 1'000'000'000);
        until.tv_nsec = static_cast<long>(nsec % 1'000'000'000);
    }
    if (syscall(SYS_futex_waitv, both, 2, 0, ns != 0 ? &until : nullptr, CLOCK_MONOTONIC) >= 0 ||
        errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT) {
        return;
    }
    // Not only ENOSYS: a container's filter that does not know the call may say EPERM.
#endif
    if (b.load(std::memory_order_acquire) == in_b) {
        futex_wait_for(a, in_a, ns != 0 && ns < 1'000'000 ? ns : 1'000'000);
    }
}

void futex_wake(std::atomic<std::uint32_t>* word, unsigned n) noexcept {
    futex(word, FUTEX_WAKE_PRIVATE, n > INT_MAX ? INT_MAX : n, nullptr);
}

std::size_t page_size() noexcept {
    static constinit asked_once size;
    return size.get([]() noexcept -> std::size_t {
        const long told = sysconf(_SC_PAGESIZE);
        return told > 0 ? static_cast<std::size_t>(told) : page_fallback;
    });
}

void* reserve(std::size_t bytes) noexcept {
    void* at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        return nullptr;
    }
    // A huge page under a stack would make 2 MiB resident for a few bytes.
    madvise(at, bytes, MADV_NOHUGEPAGE);
    return at;
}

bool address_space_is_limited() noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

void unreserve(void* at, std::size_t bytes) noexcept { munmap(at, bytes); }

void discard(void* at, std::size_t bytes) noexcept { madvise(at, bytes, MADV_DONTNEED); }
void populate(void* at, std::size_t bytes) noexcept { madvise(at, bytes, MADV_POPULATE_WRITE); }

guard_kind guard(void* at, std::size_t bytes) noexcept {
    static constinit asked_once light;
    if (light.get([]() noexcept { return light_guards_work(); }) != 0 &&
        madvise(at, bytes, MADV_GUARD_INSTALL) == 0) {
        return guard_kind::light;
    }
    // Each guard splits a mapping in two; half of the usual limit of 65,530 is left to the program.
    static std::atomic<unsigned> splits{0};
    if (splits.load(std::memory_order_relaxed) < 16'000 && mprotect(at, bytes, PROT_NONE) == 0) {
        splits.fetch_add(1, std::memory_order_relaxed);
        return guard_kind::mprotect;
    }
    return guard_kind::none;
}

int thread_start(std::uintptr_t& id, void* (*entry)(void*), void* arg) noexcept {
    // A signal handler of the program would run on a task's small stack: workers take none of the
    // asynchronous ones.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS}) {
        sigdelset(&all, fault);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before);
    // Profilers (gprof, gperftools) count where SIGPROF arrives. It arrives on the threads that use the CPU.
    if (sigismember(&before, SIGPROF) == 0) {
        sigdelset(&all, SIGPROF);
        pthread_sigmask(SIG_SETMASK, &all, nullptr);
    }
    pthread_t thread{};
    const int error = create_thread(thread, entry, arg);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    id = static_cast<std::uintptr_t>(thread);
    return error;
}

void thread_join(std::uintptr_t id) noexcept { pthread_join(static_cast<pthread_t>(id), nullptr); }

std::uint64_t thread_id() noexcept { return static_cast<std::uint64_t>(syscall(SYS_gettid)); }

namespace {
constexpr std::uint64_t no_key = UINT32_MAX;
constinit asked_once end_key;
std::atomic<bool> end_key_is_gone{false};

void free_key(std::uint64_t key) noexcept {
    if (key != no_key) {
        pthread_key_delete(static_cast<pthread_key_t>(key));
    }
}
} // namespace

bool at_thread_end(void (*end)(void* self), void* self) noexcept {
    const std::uint64_t key = end_key.get(
        [end]() noexcept -> std::uint64_t {
            pthread_key_t made{};
            return pthread_key_create(&made, end) == 0 ? std::uint64_t{made} : no_key;
        },
        free_key);
    return key != no_key && !end_key_is_gone.load(std::memory_order_acquire) &&
           pthread_setspecific(static_cast<pthread_key_t>(key), self) == 0;
}

void forget_thread_ends() noexcept {
    if (!end_key_is_gone.exchange(true, std::memory_order_acq_rel)) {
        free_key(end_key.get([]() noexcept { return no_key; }));
    }
}

void give_way() noexcept { sched_yield(); }

void thread_name(const char* name) noexcept {
    pthread_setname_np(pthread_self(), name);
    // Cancellation would unwind through task frames: "exception not rethrown" aborts the program.
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
}

// On Linux a nice value is a thread's: POSIX would have it for the process.
int nice_of(std::uint64_t thread) noexcept {
    errno = 0;
    const int value = getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
    return errno == 0 ? value : 0;
}

bool make_nice(int value) noexcept {
    return setpriority(PRIO_PROCESS, static_cast<id_t>(thread_id()), std::clamp(value, -20, 19)) == 0;
}

bool is_blocked(std::uint64_t thread) noexcept {
    char text[256]; // the wanted letter follows a number and a name of 15 characters
    std::snprintf(text, sizeof text, "/proc/%llu/stat", static_cast<unsigned long long>(thread));
    const int file = open(text, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    const ssize_t got = ::read(file, text, sizeof text);
    close(file);
    const std::string_view line(text, got < 0 ? 0 : static_cast<std::size_t>(got));
    const std::size_t end = line.rfind(')'); // a name may hold any character
    return end != std::string_view::npos && end + 2 < line.size() && line[end + 2] == 'S';
}

void thread_bounds(const void*& low, std::size_t& size) noexcept {
    pthread_attr_t attributes;
    void* at = nullptr;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &at, &size);
        pthread_attr_destroy(&attributes);
    }
    low = at;
}

unsigned affinity_cpus() noexcept {
    if (const auto* mask = pinned_instead_of(); mask != nullptr && !mask->empty()) {
        return static_cast<unsigned>(mask->size());
    }
    int count = 0;
    const auto all = [&](const cpu_set& set) { count = CPU_COUNT_S(set.bytes(), set.get()); };
    if (with_affinity(all) && count > 0) {
        return static_cast<unsigned>(count);
    }
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? static_cast<unsigned>(online) : 1;
}

std::vector<unsigned> affinity_mask() {
    if (const auto* mask = pinned_instead_of(); mask != nullptr) {
        return *mask;
    }
    std::vector<unsigned> cpus;
    (void)with_affinity([&](const cpu_set& set) {
        for (std::size_t cpu = 0; cpu < set.bytes() * CHAR_BIT; ++cpu) {
            if (set.has(cpu)) {
                cpus.push_back(static_cast<unsigned>(cpu));
            }
        }
    });
    return cpus;
}

bool pin_thread(unsigned cpu, const std::vector<unsigned>& instead_of) noexcept {
    const cpu_set one = cpu_set::of({&cpu, 1});
    if (!one.there() || sched_setaffinity(0, one.bytes(), one.get()) != 0) {
        return false;
    }
    mask_before_pinning = &instead_of;
    return true;
}

bool call_in_children(void (*f)()) noexcept { return pthread_atfork(nullptr, nullptr, f) == 0; }

namespace {

[[nodiscard]] bool lies_in(const dl_phdr_info& where, const void* object) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(object);
    for (unsigned i = 0; i < where.dlpi_phnum; ++i) {
        const auto& segment = where.dlpi_phdr[i];
        if (segment.p_type == PT_LOAD && address - (where.dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
            return true;
        }
    }
    return false;
}

} // namespace

bool is_static(const void* object) noexcept {
    const auto look = [](dl_phdr_info* info, std::size_t, void* at) { return lies_in(*info, at) ? 1 : 0; };
    return dl_iterate_phdr(look, const_cast<void*>(object)) != 0;
}

bool is_static_in_program(const void* object) noexcept {
    enum answer : int { no = 1, yes = 2 };
    // The program comes first; an answer ends the walk.
    const auto look = [](dl_phdr_info* info, std::size_t, void* at) {
        return static_cast<int>(lies_in(*info, at) ? yes : no);
    };
    return dl_iterate_phdr(look, const_cast<void*>(object)) == yes;
}

namespace {
std::atomic<bool> exit_begun{false};
}

void note_exit() noexcept {
    (void)std::atexit([] { exit_begun.store(true, std::memory_order_relaxed); });
}

// Relaxed: exit() runs what was noted and the destructors on one thread.
bool exit_has_begun() noexcept { return exit_begun.load(std::memory_order_relaxed); }

std::uint64_t process_id() noexcept { return static_cast<std::uint64_t>(getpid()); }

bool has_added_rights() noexcept { return getauxval(AT_SECURE) != 0; }

const char* error_text([[maybe_unused]] int error) noexcept {
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 32)
    return strerrordesc_np(error);
#endif
#endif
    return nullptr;
}

} // namespace os
} // namespace v0
} // namespace pilfer

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

bool register_membarrier() noexcept {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

} // namespace

bool heavy_fence_reaches_all() noexcept {
    static constinit os::asked_once registered;
    return registered.get([]() noexcept { return register_membarrier(); }) != 0;
}

void heavy_fence() noexcept {
    // Also a fence of the caller, and all there is when membarrier is missing: deques are pinned then.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (heavy_fence_reaches_all()) {
        // Deques already rely on it. Membarrier may be refused later, say by a filter of system calls that
        // was installed after registration. Then two threads could take the same task.
        if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
            os::write_error("pilfer: the system call membarrier has stopped working\n");
            std::abort();
        }
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
}

namespace {

/// Calls f(at, bytes) for the whole pages of the range, if there are any.
template <class F>
void over_whole_pages(void* at, std::size_t bytes, F f) noexcept {
    const std::uintptr_t page = os::page_size();
    const auto from = reinterpret_cast<std::uintptr_t>(at);
    const std::uintptr_t first = (from + page - 1) / page * page;
    const std::uintptr_t last = (from + bytes) / page * page;
    if (first < last) {
        f(static_cast<std::byte*>(at) + (first - from), last - first);
    }
}

} // namespace

void discard_pages(void* at, std::size_t bytes) noexcept { over_whole_pages(at, bytes, os::discard); }
void populate_pages(void* at, std::size_t bytes) noexcept { over_whole_pages(at, bytes, os::populate); }

void futex_park::wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    os::futex_wait(word, expected);
}

void futex_park::wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                          std::uint64_t ns) noexcept {
    os::futex_wait_for(word, expected, ns);
}

void futex_park::wake(std::atomic<std::uint32_t>& word) noexcept { os::futex_wake(&word, 1); }

void backoff(unsigned round) noexcept {
    if (round < 64) {
        cpu_relax();
    } else {
        sched_yield(); // the thread that it waits for may have been preempted
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
