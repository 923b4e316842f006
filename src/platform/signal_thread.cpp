#include "platform/signal_thread.hpp"

#include <signal.h>

#include <cerrno>
#include <mutex>
#include <new>
#include <system_error>

#include "platform/os.hpp"

namespace pilfer {
inline namespace v0 {
namespace os {
namespace {

constexpr int signals = 65;

struct use {
    unsigned users = 0;
    struct sigaction before {};
};

constinit std::mutex mutex; // of `uses`; the handler reads `before` of a signal that has users
use uses[signals];
/// Threads sleep on these words. The upper half counts arrivals of the signal. The lower half counts how
/// often one of its threads was asked to end, so that the word changes for that too.
std::atomic<std::uint32_t> arrivals[signals];
constexpr std::uint32_t one_arrival = 1U << 16;

void count_end(std::atomic<std::uint32_t>& word) noexcept {
    std::uint32_t was = word.load(std::memory_order_relaxed);
    while (!word.compare_exchange_weak(was, (was & ~(one_arrival - 1)) | ((was + 1) & (one_arrival - 1)),
                                       std::memory_order_release, std::memory_order_relaxed)) {
    }
}

/// A bit per signal whose earlier handler this thread is in. That handler may be one that was installed over
/// an earlier installation of handle() and calls it. Without the bit the two would call each other for ever.
/// A handler that leaves by longjmp leaves the bit set, and is not called again on its thread.
///
/// A relaxed atomic: the signal may interrupt one task of a thread and then another. ThreadSanitizer treats
/// these as different threads.
constinit thread_local std::atomic<std::uint64_t> in_earlier_handler
    __attribute__((tls_model("initial-exec"))){0};

void handle(int signal, siginfo_t* info, void* machine) noexcept {
    const int error = errno;
    arrivals[signal].fetch_add(one_arrival, std::memory_order_release);
    futex_wake(&arrivals[signal], UINT32_MAX);
    errno = error;
    const std::uint64_t bit = std::uint64_t{1} << (signal - 1);
    const std::uint64_t inside = in_earlier_handler.load(std::memory_order_relaxed);
    if ((inside & bit) != 0) {
        return;
    }
    in_earlier_handler.store(inside | bit, std::memory_order_relaxed);
    const struct sigaction& before = uses[signal].before;
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(signal, info, machine);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(signal);
    } // the user has replaced the default action, mostly the end of the process
    in_earlier_handler.store(in_earlier_handler.load(std::memory_order_relaxed) & ~bit,
                             std::memory_order_relaxed);
}

void install(int signal) {
    const std::lock_guard lock(mutex);
    use& u = uses[signal];
    if (u.users == 0) {
        // Read first: the handler may run as soon as it is installed.
        if (sigaction(signal, nullptr, &u.before) != 0) {
            throw std::system_error(errno, std::generic_category(), "pilfer: options.debug.dump_signal");
        }
        struct sigaction mine {};
        mine.sa_sigaction = &handle;
        mine.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
        mine.sa_mask = u.before.sa_mask;
        if (sigaction(signal, &mine, nullptr) != 0) {
            throw std::system_error(errno, std::generic_category(), "pilfer: options.debug.dump_signal");
        }
    }
    ++u.users;
}

void uninstall(int signal) noexcept {
    const std::lock_guard lock(mutex);
    use& u = uses[signal];
    if (--u.users > 0) {
        return;
    }
    // A handler that was installed over this one stays, and may still call it.
    struct sigaction present {};
    sigaction(signal, nullptr, &present);
    if ((present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == &handle) {
        sigaction(signal, &u.before, nullptr);
    }
}

} // namespace

bool usable_signal(int signal) noexcept {
    for (const int never : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS}) {
        if (signal == never) {
            return false;
        }
    }
    struct sigaction present {};
    // Numbers between the ordinary and the real-time ones belong to the C library, which refuses them.
    return signal > 0 && signal < signals && sigaction(signal, nullptr, &present) == 0;
}

signal_thread::signal_thread(int signal, void (*react)(void*), void* argument)
    : m_signal(signal), m_react(react), m_argument(argument),
      m_seen(arrivals[signal].load(std::memory_order_acquire) / one_arrival) {
    const auto entry = [](void* self) -> void* {
        static_cast<signal_thread*>(self)->run();
        return nullptr;
    };
    install(signal);
    if (const int error = thread_start(m_thread, entry, this); error != 0) {
        uninstall(signal);
        throw std::system_error(error, std::generic_category(),
                                "pilfer: no thread for options.debug.dump_signal");
    }
}

signal_thread::~signal_thread() {
    m_stop.store(true, std::memory_order_release);
    count_end(arrivals[m_signal]);
    futex_wake(&arrivals[m_signal], UINT32_MAX);
    thread_join(m_thread);
    uninstall(m_signal);
}

void signal_thread::forget_all() noexcept { ::new (&mutex) std::mutex; }

void signal_thread::run() noexcept {
    thread_name("pilfer/dump");
    for (;;) {
        const std::uint32_t word = arrivals[m_signal].load(std::memory_order_acquire);
        if (m_stop.load(std::memory_order_acquire)) {
            return; // its count is in `word`: a wait below would not end
        }
        if (word / one_arrival == m_seen) {
            futex_wait(arrivals[m_signal], word);
            continue;
        }
        m_seen = word / one_arrival; // signals that come together are one
        m_react(m_argument);
    }
}

} // namespace os
} // namespace v0
} // namespace pilfer
