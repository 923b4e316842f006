// Helpers of the scenarios: checks, pools that record which resources were refused, small loads.
#pragma once

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pilfer/pilfer.hpp>

#include "faults/scenarios.hpp"

namespace faults {

inline std::atomic<unsigned> missing{0};  // workers, of all pools together
inline std::atomic<bool> plain{false};    // a spawn or task on top ran for want of a stack
inline std::atomic<bool> unpinned{false}; // a worker that was to be pinned is not

inline void expect(bool right, const char* what) {
    if (!right) {
        const harness_code harness;
        throw wrong_result{what};
    }
}

template <class T, class U>
inline void expect_equal(const T& got, const U& wanted, const char* what) {
    if (got != static_cast<T>(wanted)) {
        const harness_code harness;
        throw wrong_result{std::string(what) + ": " + std::to_string(got) + " instead of " +
                           std::to_string(wanted)};
    }
}

/// Room for `n` elements, which is no concern of the library.
template <class T>
[[nodiscard]] inline std::vector<T> reserved(std::size_t n) {
    const harness_code harness;
    std::vector<T> v;
    v.reserve(n);
    return v;
}

/// A pool that reports the resources that were refused.
class watched_pool {
public:
    explicit watched_pool(const pilfer::options& o)
        : m_pool(o), m_bounded(o.max_contexts != 0),
          m_pinned(o.pin == pilfer::pinning::compact || o.pin == pilfer::pinning::spread) {
        if (o.workers != 0) {
            missing += o.workers - m_pool.workers();
        }
        expect(m_pool.workers() >= 1 && m_pool.workers() == m_pool.settings().workers, "number of workers");
    }
    ~watched_pool() {
        if (!m_bounded && m_pool.counters().no_context != 0) {
            plain = true;
        }
        if (m_pinned) {
            look_where_they_run();
        }
    }
    watched_pool(const watched_pool&) = delete;
    watched_pool& operator=(const watched_pool&) = delete;

    pilfer::pool* operator->() { return &m_pool; }
    pilfer::pool& operator*() { return m_pool; }

private:
    /// dump() names the CPU of each worker that is pinned.
    void look_where_they_run() {
        m_pool.shutdown(); // a thread that has not begun yet is not pinned either
        const harness_code harness;
        std::ostringstream out;
        m_pool.dump(out);
        const std::string text = out.str();
        unsigned pinned = 0;
        for (std::size_t at = 0; (at = text.find(", CPU ", at)) != std::string::npos; ++at) {
            ++pinned;
        }
        if (pinned != m_pool.workers()) {
            unpinned = true;
        }
    }

    pilfer::pool m_pool;
    bool m_bounded;
    bool m_pinned;
};

[[nodiscard]] inline pilfer::options workers(unsigned n) {
    pilfer::options o;
    o.workers = n;
    return o;
}

/// A thread of the program's own; without one the scenario does with less.
class foreign_thread {
public:
    template <class F>
    explicit foreign_thread(F f) {
        const harness_code harness;
        m_thread = std::thread([this, f] {
            try {
                f();
            } catch (...) {
                m_error = std::current_exception();
            }
        });
    }
    foreign_thread(const foreign_thread&) = delete;
    foreign_thread& operator=(const foreign_thread&) = delete;
    ~foreign_thread() { end(); }
    /// Waits, and rethrows the thread's exception.
    void join() {
        end();
        if (m_error) {
            std::rethrow_exception(std::exchange(m_error, nullptr));
        }
    }

private:
    void end() {
        if (m_thread.joinable()) {
            m_thread.join();
        }
    }
    std::exception_ptr m_error;
    std::thread m_thread;
};

inline void nap() {
    const timespec t{0, 50'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
}

inline std::uint64_t fib_serial(unsigned n) { return n < 2 ? n : fib_serial(n - 1) + fib_serial(n - 2); }

inline std::uint64_t fib_join(unsigned n) {
    if (n < 2) {
        return n;
    }
    auto [a, b] = pilfer::join([n] { return fib_join(n - 1); }, [n] { return fib_join(n - 2); });
    return a + b;
}

/// The children nap, so that others have the time to steal the rest of their parents.
inline std::uint64_t fib_spawn(unsigned n, unsigned napping) {
    if (n < 2) {
        return n;
    }
    std::uint64_t a = 0;
    pilfer::scope s;
    s.spawn([&a, n, napping] {
        if (n % 4 == napping) {
            nap();
        }
        a = fib_spawn(n - 1, napping);
    });
    const std::uint64_t b = fib_spawn(n - 2, napping);
    s.sync();
    return a + b;
}

inline constexpr unsigned never_naps = 99;

} // namespace faults
