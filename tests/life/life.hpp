// Shared by the tests of the life cycle.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "support/harness.hpp"

namespace life {

inline pilfer::options workers(unsigned n) {
    pilfer::options o;
    o.workers = n;
    o.max_workers = 0;
    return o;
}

inline long fib(int n) {
    if (n < 2) {
        return n;
    }
    const auto both = pilfer::join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
    return std::get<0>(both) + std::get<1>(both);
}

/// Numbers the first check that fails: a child reports it by its exit code.
class checks {
public:
    void that(bool holds) {
        ++m_checked;
        if (!holds && m_failed == 0) {
            m_failed = m_checked;
        }
    }
    [[nodiscard]] int first_failed() const { return m_failed; }

private:
    int m_checked = 0;
    int m_failed = 0;
};
/// ThreadSanitizer ends a process that forks while it has threads and then starts one.
#if defined(PILFER_TSAN) || defined(__SANITIZE_THREAD__)
inline constexpr bool children_may_have_threads = false;
#else
inline constexpr bool children_may_have_threads = true;
#endif

/// While it exists, threads make and end pools, use the common one, wait for futures, lock mutexes, cancel
/// scopes and write dumps. Any lock of the library may therefore be held at any moment.
class busy {
public:
    explicit busy(unsigned threads = 3) {
        for (unsigned i = 0; i < threads; ++i) {
            m_threads.emplace_back([this, i] { work(i); });
        }
    }
    busy(const busy&) = delete;
    busy& operator=(const busy&) = delete;
    ~busy() {
        m_end.store(true);
        for (std::thread& t : m_threads) {
            t.join();
        }
    }

private:
    void work(unsigned i) {
        for (unsigned round = i; !m_end.load(); ++round) {
            switch (round % 5) {
            case 0: {
                pilfer::pool p(workers(2));
                (void)p.run([] { return fib(12); });
                break;
            }
            case 1:
                (void)fib(10); // by the common pool
                break;
            case 2: {
                auto f = pilfer::pool::common().async([] { return fib(8); });
                (void)f.get();
                break;
            }
            case 3:
                pilfer::pool::common().run([] {
                    pilfer::scope s;
                    for (int k = 0; k < 20; ++k) {
                        s.fork([] { (void)fib(5); });
                    }
                    s.cancel();
                });
                break;
            default: {
                pilfer::pool p(workers(1));
                pilfer::mutex m;
                pilfer::scope s;
                for (int k = 0; k < 4; ++k) {
                    s.spawn([&m] { const std::lock_guard lock(m); });
                }
                s.sync();
                break;
            }
            }
        }
    }

    std::atomic<bool> m_end{false};
    std::vector<std::thread> m_threads;
};

} // namespace life

#if defined(PILFER_ASAN) || defined(__SANITIZE_ADDRESS__)
/// Each program has one file that includes this. Children of these tests end beside tasks that own memory.
/// The leak checker does not look at their stacks.
extern "C" __attribute__((used, visibility("default"))) const char* __asan_default_options() { // NOLINT
    return "detect_leaks=0";
}
#endif
