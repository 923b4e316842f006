// Ways to make a frame move that depend on no luck.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <string>

#include <pilfer/pilfer.hpp>

namespace moved {

/// A flag that one task raises and another waits for without giving up its worker.
class flag {
public:
    void raise() noexcept { m_up.store(true, std::memory_order_release); }
    void spin() const noexcept {
        while (!m_up.load(std::memory_order_acquire)) {
            sched_yield();
        }
    }

private:
    std::atomic<bool> m_up{false};
};

/// Tasks that wait for it suspend, also on a pool of one worker: it is opened by a thread of another pool.
class gate {
public:
    gate() : m_pool(one_worker()) {
        m_opened = m_pool.async([this] {
            m_started.raise();
            m_flag.spin();
        });
        m_started.spin(); // a waiting task would run m_opened itself if it had not started
    }
    void open() noexcept { m_flag.raise(); }
    void wait() const { m_opened.get(); }

private:
    [[nodiscard]] static pilfer::options one_worker() {
        pilfer::options o;
        o.workers = 1;
        return o;
    }
    flag m_started;
    flag m_flag;
    pilfer::pool m_pool;
    pilfer::future<void> m_opened;
};

/// Every test of this kind runs with 1, 2 and 4 workers, and once with every join moved.
struct setting {
    unsigned workers;
    pilfer::resume resume;
};

class with_pool : public testing::TestWithParam<setting> {
protected:
    [[nodiscard]] static pilfer::options options() {
        pilfer::options o;
        o.workers = GetParam().workers;
        o.resume = GetParam().resume;
        return o;
    }
};

inline constexpr setting settings[] = {
    {1, pilfer::resume::anywhere},   {2, pilfer::resume::anywhere},  {4, pilfer::resume::anywhere},
    {2, pilfer::resume::own_thread}, {4, pilfer::resume::elsewhere},
};

[[nodiscard]] inline std::string name_of(const testing::TestParamInfo<setting>& info) {
    const char* const how[] = {"anywhere", "own_thread", "elsewhere"};
    return std::to_string(info.param.workers) + "_" + how[static_cast<int>(info.param.resume)];
}

} // namespace moved
