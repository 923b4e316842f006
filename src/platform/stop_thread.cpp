#include "platform/stop_thread.hpp"

#if defined(PILFER_TEST)

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <string_view>

#include "platform/clock.hpp"
#include "platform/os.hpp"
#include "platform/source_lines.hpp"

namespace pilfer {
inline namespace v0 {
namespace os {
namespace {

// By default nothing happens on this signal, so it does no harm if it comes from elsewhere.
constexpr int stop_signal = SIGURG;

struct stop_request {
    const void** frames;
    unsigned most;
    unsigned count;
    std::uint32_t number;
};
std::atomic<stop_request*> stop_asked{nullptr};
std::atomic<std::uint32_t> stop_done{0}; // 1 while a thread is in the handler
std::atomic<std::uint32_t> stop_over{0}; // the number of the stop that ends; threads stay from earlier ones
std::uint32_t stops = 0;
struct sigaction before_stop {};

void wait_in_handler(int) {
    stop_request* const r = stop_asked.exchange(nullptr, std::memory_order_acq_rel);
    if (r == nullptr) {
        return; // the signal comes from elsewhere
    }
    const int error = errno;
    const std::uint32_t number = r->number;
    r->count = os::interrupted_addresses(r->frames, r->most);
    stop_done.store(1, std::memory_order_release);
    os::futex_wake(&stop_done, 1);
    for (std::uint32_t over = 0; (over = stop_over.load(std::memory_order_acquire)) != number;) {
        os::futex_wait(stop_over, over);
    }
    stop_done.store(0, std::memory_order_release);
    os::futex_wake(&stop_done, 1);
    errno = error;
}

} // namespace

void may_be_stopped() noexcept {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, stop_signal);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

bool stop_thread(std::uintptr_t thread, const void** frames, unsigned most, unsigned& count) noexcept {
    constexpr std::uint64_t patience = 60'000'000'000;
    stop_request r{frames, most, 0, ++stops};
    stop_done.store(0, std::memory_order_relaxed);
    stop_asked.store(&r, std::memory_order_release);
    struct sigaction mine {};
    mine.sa_handler = &wait_in_handler;
    mine.sa_flags = SA_RESTART;
    sigfillset(&mine.sa_mask); // other threads handle what the process gets
    if (sigaction(stop_signal, &mine, &before_stop) != 0) {
        return false;
    }
    const std::uint64_t start = kernel_now_ns();
    bool reacts = pthread_kill(static_cast<pthread_t>(thread), stop_signal) == 0;
    while (reacts && stop_done.load(std::memory_order_acquire) == 0) {
        os::futex_wait_for(stop_done, 0, patience / 100);
        // The thread may have begun to react: then its answer comes.
        reacts = kernel_now_ns() - start < patience || stop_asked.exchange(nullptr) == nullptr;
    }
    (void)sigaction(stop_signal, &before_stop, nullptr);
    count = r.count;
    return reacts;
}

void let_thread_go() noexcept {
    stop_over.store(stops, std::memory_order_release);
    os::futex_wake(&stop_over, INT_MAX);
    while (stop_done.load(std::memory_order_acquire) != 0) {
        os::futex_wait(stop_done, 1);
    }
}

code_with_locks::code_with_locks() noexcept {
    const auto look = [](dl_phdr_info* object, std::size_t, void* argument) {
        auto& all = *static_cast<code_with_locks*>(argument);
        const std::string_view path = object->dlpi_name;
        const std::string_view file = path.substr(path.rfind('/') + 1);
        if (!file.starts_with("libc.so") && !file.starts_with("ld-") &&
            file.find("malloc") == std::string_view::npos && !file.starts_with("libasan")) {
            return 0;
        }
        for (unsigned i = 0; i < object->dlpi_phnum && all.m_count < most; ++i) {
            const auto& segment = object->dlpi_phdr[i];
            if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
                const std::uintptr_t from = object->dlpi_addr + segment.p_vaddr;
                all.m_ranges[all.m_count++] = {from, from + segment.p_memsz};
            }
        }
        return 0;
    };
    dl_iterate_phdr(look, this);
}

bool code_with_locks::has(const void* const* frames, unsigned depth) const noexcept {
    return std::any_of(frames, frames + depth, [this](const void* frame) {
        const auto at = reinterpret_cast<std::uintptr_t>(frame) - 1;
        return std::any_of(m_ranges.begin(), m_ranges.begin() + m_count,
                           [at](const range& r) { return at >= r.from && at < r.to; });
    });
}

} // namespace os
} // namespace v0
} // namespace pilfer

#endif
