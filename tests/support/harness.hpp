// Shared by all behaviour tests: a scale for their counts, an end for their hangs, worker counts to run over.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include <pilfer/pilfer.hpp>

namespace support {

#if defined(PILFER_ASAN) || defined(PILFER_TSAN) || defined(__SANITIZE_ADDRESS__) ||                         \
    defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// PILFER_TEST_SCALE multiplies every count; 1 is a hundredth of a full check.
inline std::uint64_t scale() {
    static const std::uint64_t factor = [] {
        const char* text = std::getenv("PILFER_TEST_SCALE");
        const long n = text != nullptr ? std::atol(text) : 1;
        return static_cast<std::uint64_t>(std::max(n, 1L));
    }();
    return factor;
}

/// A hundredth of `full` times the scale; a tenth of that under a sanitizer, never less than `least`.
inline std::uint64_t hundredth_of(std::uint64_t full, std::uint64_t least = 1) {
    return std::max(full / (sanitized ? 1000 : 100) * scale(), least);
}

/// Ends the process when a test hangs. A signal and no thread, so that threads can be counted and
/// processes forked. With PILFER_TEST_HANG=wait the process stays for a debugger.
class watchdog {
public:
    explicit watchdog(unsigned seconds) : m_seconds(seconds) {
        static bool wait = false;
        const char* text = std::getenv("PILFER_TEST_HANG");
        wait = text != nullptr && std::strcmp(text, "wait") == 0;
        struct sigaction action {};
        action.sa_handler = [](int) {
            static constexpr char message[] = "watchdog: the test hangs\n";
            (void)!write(2, message, sizeof message - 1);
            if (wait) {
                for (;;) {
                    pause();
                }
            }
            std::abort();
        };
        sigaction(SIGALRM, &action, nullptr);
        restart();
    }
    /// The test goes on: its time begins again.
    void restart() const {
        const auto factor = static_cast<unsigned>(std::min<std::uint64_t>(scale(), 200));
        alarm(m_seconds * factor * (sanitized ? 5 : 1));
    }
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;
    ~watchdog() { alarm(0); }

private:
    unsigned m_seconds;
};

/// Seconds: many times the duration of a one-second test on a machine that builds and tests with all its
/// CPUs.
inline constexpr unsigned patience = 40;

/// Base of the fixtures: no test hangs for ever.
class guarded : public ::testing::Test {
    watchdog m_watchdog{patience};
};

/// A scheduling test runs with one worker, a pair, an odd number, and more than there are CPUs.
class over_workers : public ::testing::TestWithParam<unsigned> {
public:
    [[nodiscard]] static pilfer::options with_workers() {
        pilfer::options o;
        o.workers = GetParam();
        return o;
    }

private:
    watchdog m_watchdog{patience};
};

#define PILFER_OVER_WORKERS(fixture)                                                                         \
    INSTANTIATE_TEST_SUITE_P(workers, fixture, ::testing::Values(1U, 2U, 3U, 8U, 64U),                       \
                             ::testing::PrintToStringParamName())

[[nodiscard]] inline pilfer::options workers(unsigned n) {
    pilfer::options o;
    o.workers = n;
    return o;
}

/// The tests of futures and of <pilfer/threadpool.h> run a second time with this back-end
/// (tests/CMakeLists.txt).
[[nodiscard]] inline bool on_one_lock() {
    const char* text = std::getenv("PILFER_BACKEND");
    return text != nullptr && std::strcmp(text, "one_lock") == 0;
}
/// In a test of something that only the stealing back-end has.
#define PILFER_NOT_ON_ONE_LOCK(why)                                                                          \
    if (support::on_one_lock()) {                                                                            \
        GTEST_SKIP() << "not on one lock: " << (why);                                                        \
    }                                                                                                        \
    static_assert(true)

/// Plain recursive work that forks: the usual load of these tests.
inline std::uint64_t fib_join(unsigned n) {
    if (n < 2) {
        return n;
    }
    auto [a, b] = pilfer::join([n] { return fib_join(n - 1); }, [n] { return fib_join(n - 2); });
    return a + b;
}
inline std::uint64_t fib_spawn(unsigned n) {
    if (n < 2) {
        return n;
    }
    std::uint64_t a = 0;
    pilfer::scope s;
    s.spawn([&a, n] { a = fib_spawn(n - 1); });
    const std::uint64_t b = fib_spawn(n - 2);
    s.sync();
    return a + b;
}
inline std::uint64_t fib_fork(unsigned n) {
    if (n < 2) {
        return n;
    }
    std::uint64_t a = 0;
    pilfer::scope s;
    s.fork([&a, n] { a = fib_fork(n - 1); });
    const std::uint64_t b = fib_fork(n - 2);
    s.sync();
    return a + b;
}
[[nodiscard]] inline std::uint64_t fib(unsigned n) {
    std::uint64_t a = 0;
    std::uint64_t b = 1;
    while (n-- > 0) {
        const std::uint64_t next = a + b;
        a = b;
        b = next;
    }
    return a;
}

} // namespace support
