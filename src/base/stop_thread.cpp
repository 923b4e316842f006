#include "base/stop_thread.hpp"

#if defined(PILFER_TEST)

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "base/clock.hpp"
#include "base/os.hpp"
#include "base/source_lines.hpp"

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
};
std::atomic<stop_request*> stop_asked{nullptr};
std::atomic<std::uint32_t> stop_done{0};
struct sigaction before_stop {};

void wait_for_ever(int) {
    stop_request* const r = stop_asked.exchange(nullptr, std::memory_order_acq_rel);
    if (r == nullptr) {
        return; // the signal comes from elsewhere
    }
    r->count = os::return_addresses(r->frames, r->most);
    stop_done.store(1, std::memory_order_release);
    os::futex_wake(&stop_done, 1);
    sigset_t all;
    sigfillset(&all);
    for (;;) {
        sigsuspend(&all);
    }
}

} // namespace

void may_be_stopped() noexcept {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, stop_signal);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

bool stop_thread(std::uintptr_t thread, const void** frames, unsigned most, unsigned& count) noexcept {
    constexpr std::uint64_t patience = 10'000'000'000;
    stop_request r{frames, most, 0};
    stop_done.store(0, std::memory_order_relaxed);
    stop_asked.store(&r, std::memory_order_release);
    struct sigaction mine {};
    mine.sa_handler = &wait_for_ever;
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

} // namespace os
} // namespace v0
} // namespace pilfer

#endif
