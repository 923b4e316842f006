// Shared by the protocol tests: sizes, a watchdog, threads that start together, children that may die.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer_test {

/// `n` at PILFER_TEST_SCALE 1; a twentieth of it under the sanitizers; at least 1.
[[nodiscard]] inline std::int64_t scaled(std::int64_t n) {
    static const double scale = [] {
        const char* text = std::getenv("PILFER_TEST_SCALE");
        const double wanted = text != nullptr ? std::strtod(text, nullptr) : 1;
        return wanted > 0 ? wanted : 1;
    }();
#if defined(PILFER_SANITIZED)
    n /= 20;
#endif
    const auto size = static_cast<std::int64_t>(static_cast<double>(n) * scale);
    return size < 1 ? 1 : size;
}

/// Set by progressed(), cleared by the watchdog. It is written once a second, not once a round.
inline std::atomic<bool> moved{false};

/// Tells the watchdog that the test does not hang.
inline void progressed() noexcept {
    if (!moved.load(std::memory_order_relaxed)) {
        moved.store(true, std::memory_order_relaxed);
    }
}

/// A test that hangs fails, with the name of the hanging step. Rounds that end show that it does not hang: a
/// round is a few changes of threads, and on a busy machine all of them may take minutes.
class watchdog {
public:
    explicit watchdog(const char* what, std::chrono::seconds limit = std::chrono::seconds(50))
        : m_thread([this, what, limit] {
              std::unique_lock lock(m_mutex);
              for (std::chrono::seconds still{0}; still < limit;) {
                  if (m_done.wait_for(lock, std::chrono::seconds(1), [this] { return m_over; })) {
                      return;
                  }
                  still = moved.exchange(false) ? std::chrono::seconds(0) : still + std::chrono::seconds(1);
              }
              std::fprintf(stderr, "watchdog: %s hangs\n", what);
              std::abort();
          }) {}
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;
    ~watchdog() {
        {
            const std::lock_guard lock(m_mutex);
            m_over = true;
        }
        m_done.notify_all();
        m_thread.join();
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_done;
    bool m_over = false;
    std::thread m_thread; // last: it uses the others
};

/// Runs f(0) .. f(n - 1) on n threads that start at the same time; returns when all have ended.
template <class F>
void together(unsigned n, F f) {
    std::barrier start(static_cast<std::ptrdiff_t>(n));
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < n; ++i) {
        threads.emplace_back([&, i] {
            start.arrive_and_wait();
            f(i);
        });
    }
    for (auto& t : threads) {
        t.join();
    }
}

/// Short waits with more threads than CPUs: spins a little, then gives the CPU away.
template <class Condition>
void wait_until(Condition condition) {
    for (unsigned round = 0; !condition(); ++round) {
        if (round < 32) {
            pilfer::detail::cpu_relax();
        } else {
            std::this_thread::yield();
        }
    }
    progressed();
}

/// Runs f in a child process. True if the child came to its end: 0 returned by _exit.
template <class F>
[[nodiscard]] bool child_survives(F f) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        f();
        _exit(0);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// xorshift64*: deterministic per seed.
class dice {
public:
    explicit dice(std::uint64_t seed) noexcept : m_state(seed * 0x9e3779b97f4a7c15U + 1) {}
    [[nodiscard]] unsigned below(unsigned n) noexcept {
        m_state ^= m_state >> 12;
        m_state ^= m_state << 25;
        m_state ^= m_state >> 27;
        return static_cast<unsigned>(((m_state * 0x2545f4914f6cdd1dU) >> 33) % n);
    }

private:
    std::uint64_t m_state;
};

} // namespace pilfer_test
