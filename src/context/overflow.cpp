#include "context/overflow.hpp"

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/write.hpp"
#include "context/stack_pool.hpp"
#include "platform/os.hpp"

namespace pilfer {
inline namespace v0 {
namespace overflow {
namespace {

using namespace pilfer::detail;

constexpr std::size_t alternate_bytes = std::size_t{64} * 1024;

current_context current = nullptr;
struct sigaction previous_segv;
struct sigaction previous_bus;

/// Decimal digits without allocating or locale: this runs in a signal handler.
const char* digits(std::size_t n, char (&buffer)[24]) noexcept {
    char* at = buffer + sizeof buffer - 1;
    *at = '\0';
    do {
        *--at = static_cast<char>('0' + n % 10);
        n /= 10;
    } while (n != 0);
    return at;
}

[[nodiscard]] const context* overflowed(const void* address) noexcept {
    const context* c = current();
    if (c == nullptr) {
        return nullptr;
    }
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto low = reinterpret_cast<std::uintptr_t>(c->low);
    return at < low && at >= low - c->home->guard ? c : nullptr;
}

/// True if the signal was sent, by kill, raise and the like: then there is no address.
[[nodiscard]] bool sent(const siginfo_t* info) noexcept { return info->si_code <= 0; }

void pass_on(const struct sigaction& before, int signal, siginfo_t* info, void* machine) noexcept {
    if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
        before.sa_sigaction(signal, info, machine);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(signal);
    } else if (!sent(info) || before.sa_handler == SIG_DFL) {
        // Restores the default: the faulting instruction runs again and ends the process. A signal that was
        // sent has no such instruction.
        sigaction(signal, &before, nullptr);
        if (sent(info)) {
            raise(signal);
        }
    }
}

void handle(int signal, siginfo_t* info, void* machine) noexcept {
    const context* c = sent(info) ? nullptr : overflowed(info->si_addr);
    if (c == nullptr) {
        pass_on(signal == SIGSEGV ? previous_segv : previous_bus, signal, info, machine);
        return;
    }
    char buffer[24];
    const auto top = reinterpret_cast<std::uintptr_t>(c);
    const std::size_t page = os::page_size();
    const std::size_t size = (top - reinterpret_cast<std::uintptr_t>(c->low) + page - 1) / page * page;
    os::write_error("pilfer: a task overflowed its stack of ");
    os::write_error(digits(size, buffer));
    os::write_error(" bytes; options.stack_size makes it larger\n");
    std::abort();
}

void put_back(int signal, const struct sigaction& before) noexcept {
    struct sigaction present {};
    if (sigaction(signal, nullptr, &present) == 0 && (present.sa_flags & SA_SIGINFO) != 0 &&
        present.sa_sigaction == &handle) {
        sigaction(signal, &before, nullptr);
    }
}

/// Removes the handler at the end of the program, or when a library that contains this one is unloaded: its
/// code would be gone. If another handler was installed after it, it stays.
struct end_of_program {
    end_of_program() = default;
    end_of_program(const end_of_program&) = delete;
    end_of_program& operator=(const end_of_program&) = delete;
    ~end_of_program() {
        if (current != nullptr) {
            put_back(SIGSEGV, previous_segv);
            put_back(SIGBUS, previous_bus);
        }
    }
};
const end_of_program at_the_end;

} // namespace

void install(current_context tell) noexcept {
    // Not std::call_once: libstdc++ keeps its argument in a thread-local, and a task that makes a pool may
    // meet another task of its thread there. Not a static local: a child of fork() would wait for ever for
    // the thread that was initialising it. A thread that comes meanwhile does not wait: for a moment it has
    // no message.
    static constinit std::atomic<bool> begun{false};
    if (!begun.exchange(true, std::memory_order_relaxed)) {
        current = tell;
        struct sigaction action {};
        action.sa_sigaction = &handle;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigemptyset(&action.sa_mask);
        sigaction(SIGSEGV, &action, &previous_segv);
        sigaction(SIGBUS, &action, &previous_bus);
    }
}

thread_stack::thread_stack() noexcept {
    stack_t present{};
    if (sigaltstack(nullptr, &present) == 0 && (present.ss_flags & SS_DISABLE) == 0) {
        return; // AddressSanitizer gives its threads one
    }
    m_memory = std::malloc(alternate_bytes);
    if (m_memory != nullptr) {
        stack_t s{};
        s.ss_sp = m_memory;
        s.ss_size = alternate_bytes;
        sigaltstack(&s, nullptr);
    }
}

thread_stack::~thread_stack() {
    if (m_memory != nullptr) {
        stack_t present{};
        if (sigaltstack(nullptr, &present) == 0 && present.ss_sp == m_memory) { // only its own
            stack_t off{};
            off.ss_flags = SS_DISABLE;
            sigaltstack(&off, nullptr);
        }
        std::free(m_memory);
    }
}

} // namespace overflow
} // namespace v0
} // namespace pilfer
