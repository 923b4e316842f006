// Tasks that wait for each other, and a process that reads its own standard error.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>

#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace waits {

using namespace support;
using namespace std::chrono_literals;

/// Takes over standard error. For child processes.
class own_stderr {
public:
    own_stderr() : m_before(dup(2)) {
        if (pipe(m_ends) != 0 || dup2(m_ends[1], 2) < 0) {
            std::abort();
        }
    }
    /// Reads until `part` has come `times` times in all; only the watchdog ends it otherwise.
    void await(const std::string& part, std::size_t times = 1) {
        while (count(part) < times) {
            (void)take(-1);
        }
    }
    /// Reads for `time`.
    void listen(std::chrono::milliseconds time) {
        const auto end = std::chrono::steady_clock::now() + time;
        while (std::chrono::steady_clock::now() < end) {
            (void)take(10);
        }
    }
    [[nodiscard]] std::size_t count(const std::string& part) const {
        std::size_t n = 0;
        for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
            ++n;
        }
        return n;
    }
    /// Passes everything on to the parent process, which checks it: also the rest of a report that is being
    /// written.
    void give_back() {
        while (take(100)) {
        }
        dup2(m_before, 2);
        (void)!write(2, text.data(), text.size());
    }
    std::string text;

private:
    /// False: nothing has come.
    bool take(int milliseconds) {
        pollfd p{m_ends[0], POLLIN, 0};
        if (poll(&p, 1, milliseconds) <= 0) {
            return false;
        }
        char buffer[4096];
        const ssize_t n = read(m_ends[0], buffer, sizeof buffer);
        text.append(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
        return n > 0;
    }
    int m_before;
    int m_ends[2];
};

[[nodiscard]] inline pilfer::options reporting_after(unsigned milliseconds, unsigned n) {
    pilfer::options o = workers(n);
    o.debug.stall_report = milliseconds;
    return o;
}

/// A pool that may hold contexts for ever is never destroyed: the process ends with _exit.
[[nodiscard]] inline pilfer::pool& lasting(const pilfer::options& o) { return *new pilfer::pool(o); }

/// All arrive before one leaves, each on a worker of its own.
class meeting {
public:
    explicit meeting(int n) : m_missing(n) {}
    void arrive() {
        --m_missing;
        while (m_missing.load() > 0) {
            std::this_thread::sleep_for(100us);
        }
    }

private:
    std::atomic<int> m_missing;
};

/// N tasks in a ring: each waits for the next one's result. Objects of static life, because the tasks never
/// end.
template <std::size_t N>
struct ring {
    std::array<pilfer::future<int>, N> futures;
    std::atomic<bool> filled{false};
    meeting together{static_cast<int>(N)};

    /// Each of `bodies` is called with the future it has to wait for.
    void start(pilfer::pool& p, const std::array<int (*)(const pilfer::future<int>&), N>& bodies) {
        for (std::size_t i = 0; i < N; ++i) {
            futures[i] = p.async([this, i, body = bodies[i]] {
                together.arrive();
                while (!filled.load()) {
                    std::this_thread::sleep_for(100us);
                }
                return body(futures[(i + 1) % N]);
            });
        }
        filled = true;
    }
};

/// Counted from dump(). The counters will not do: a suspension is counted a moment before the context may be
/// seen.
[[nodiscard]] inline std::uint64_t suspended(const pilfer::pool& p) {
    std::ostringstream out;
    p.dump(out);
    const std::string text = out.str();
    std::size_t at = text.find(" suspended context");
    at = at == std::string::npos ? at : text.rfind("; ", at);
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + 2));
}

#if defined(PILFER_ISA_PORTABLE)
inline constexpr bool has_stacks = false; // unwound by gdb only
#else
inline constexpr bool has_stacks = true;
#endif

} // namespace waits

// Outside every namespace and never inlined, so that stacks show them by these very names.
extern "C" {
[[gnu::noinline]] inline int first_waits(const pilfer::future<int>& f) {
    const int n = f.get();
    asm volatile("");
    return n + 1;
}
[[gnu::noinline]] inline int second_waits(const pilfer::future<int>& f) {
    const int n = f.get();
    asm volatile("");
    return n + 2;
}
[[gnu::noinline]] inline int third_waits(const pilfer::future<int>& f) {
    const int n = f.get();
    asm volatile("");
    return n + 3;
}
}
