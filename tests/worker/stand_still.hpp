// A pool whose workers have announced the tasks of a test, and look for work when the test lets them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <pilfer/pilfer.hpp>

#include "pool/pool_core.hpp"

namespace support {

// A thread that waits here sleeps: the machine is for those that work.
inline void wait(const std::atomic<bool>& flag) { flag.wait(false); }
inline void wait(const std::atomic<unsigned>& counter, unsigned value) {
    for (unsigned now = counter; now != value; now = counter) {
        counter.wait(now);
    }
}
inline void open(std::atomic<bool>& flag) {
    flag = true;
    flag.notify_all();
}
inline void count(std::atomic<unsigned>& counter) {
    counter.fetch_add(1);
    counter.notify_all();
}

/// Every worker is inside a task of this test until it is let go. Before a worker may look for work, each has
/// called announce(worker, scope of that task), one after the other.
class stand_still {
public:
    using announce_function = std::function<void(unsigned, pilfer::scope&)>;

    stand_still(const pilfer::options& o, announce_function announce)
        : m_open(std::make_unique<std::atomic<bool>[]>(o.workers)), m_announce(std::move(announce)),
          m_pool(o) {
        for (unsigned i = 0; i < m_pool.workers(); ++i) {
            m_standing.push_back(m_pool.async([this] { stand(pilfer::detail::this_worker()->index); }));
        }
        wait(m_here, m_pool.workers());
        open(m_begin);
        wait(m_ready, m_pool.workers());
    }
    stand_still(const stand_still&) = delete;
    stand_still& operator=(const stand_still&) = delete;
    ~stand_still() {
        for (unsigned i = 0; i < m_pool.workers(); ++i) {
            let_go(i);
        }
        for (auto& each : m_standing) {
            each.get();
        }
    }
    void let_go(unsigned i) { open(m_open[i % m_pool.workers()]); }
    /// Tasks in the deque of worker i, while no worker works.
    [[nodiscard]] std::int64_t queued(unsigned i) {
        const auto there = m_pool.core().at(i % m_pool.workers()).deque.thief().look();
        return there.shared + there.own;
    }
    [[nodiscard]] std::uint64_t weight(unsigned i) {
        return m_pool.core().at(i % m_pool.workers()).deque.thief().scales().weight();
    }
    [[nodiscard]] pilfer::pool& pool() { return m_pool; }

private:
    void stand(unsigned me) {
        count(m_here);
        wait(m_begin);
        pilfer::scope s;
        wait(m_ready, me);
        m_announce(me, s);
        count(m_ready);
        wait(m_open[me]);
        s.sync();
    }
    std::unique_ptr<std::atomic<bool>[]> m_open;
    announce_function m_announce;
    std::atomic<unsigned> m_here{0};
    std::atomic<bool> m_begin{false};
    std::atomic<unsigned> m_ready{0};
    pilfer::pool m_pool;
    std::vector<pilfer::future<void>> m_standing;
};

} // namespace support
