// Replaces the kernel for the library's waits on a word and its wake-ups. Include it in one file of a program
// only.
#pragma once

#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>

namespace support {

/// Called on the thread that waits or wakes. False: the kernel is asked.
struct futex_hook {
    futex_hook() = default;
    futex_hook(const futex_hook&) = delete;
    futex_hook& operator=(const futex_hook&) = delete;
    virtual ~futex_hook() = default;
    [[nodiscard]] virtual bool wait(const void* word) = 0;
    [[nodiscard]] virtual bool wake(const void* word) = 0;
};
inline std::atomic<futex_hook*> the_futex_hook{nullptr};

} // namespace support

extern "C" inline __attribute__((used)) long syscall(long number, ...) noexcept {
    va_list list;
    va_start(list, number);
    long args[6];
    for (long& a : args) {
        a = va_arg(list, long);
    }
    va_end(list);
    if (number == SYS_futex) {
        const auto* const word = reinterpret_cast<const void*>(args[0]);
        support::futex_hook* const hook = support::the_futex_hook.load();
        if (hook != nullptr && args[1] == FUTEX_WAIT_PRIVATE && hook->wait(word)) {
            return 0;
        }
        if (hook != nullptr && args[1] == FUTEX_WAKE_PRIVATE && hook->wake(word)) {
            return 1;
        }
    }
    using function = long (*)(long, ...);
    static const auto kernel = reinterpret_cast<function>(dlsym(RTLD_NEXT, "syscall"));
    return kernel(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
