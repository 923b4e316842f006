// Every task runs exactly once, however it was made and on any worker.
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

/// Splits [first, last) in two by a way that depends on the range; each leaf marks its place.
class splitter {
public:
    explicit splitter(std::uint64_t n) : m_runs(n), m_size(n) {}

    void run(std::uint64_t first, std::uint64_t last) {
        const std::uint64_t n = last - first;
        if (n == 1) {
            m_runs[first].fetch_add(1, std::memory_order_relaxed);
            return;
        }
        // An uneven middle, so that halves end at different times.
        const std::uint64_t hash = (first * 0x9E3779B97F4A7C15U ^ last * 0xC2B2AE3D27D4EB4FU) >> 32;
        const std::uint64_t middle = first + 1 + hash % (n - 1);
        switch (hash >> 8 & 7U) {
        case 0:
        case 1:
        case 2:
            (void)pilfer::join([=, this] { run(first, middle); }, [=, this] { run(middle, last); });
            return;
        case 3:
        case 4: {
            pilfer::scope s;
            s.spawn([=, this] { run(first, middle); });
            run(middle, last);
            s.sync();
            return;
        }
        case 5:
        case 6: {
            pilfer::scope s;
            s.fork([=, this] { run(first, middle); });
            run(middle, last);
            return; // the destructor waits
        }
        default: {
            auto f = pilfer::async([=, this] { run(first, middle); });
            run(middle, last);
            f.get();
            return;
        }
        }
    }
    [[nodiscard]] std::uint64_t wrong() {
        std::uint64_t n = 0;
        for (auto& r : m_runs) {
            n += r.exchange(0) != 1;
        }
        return n;
    }
    [[nodiscard]] std::uint64_t size() const { return m_size; }

private:
    std::vector<std::atomic<std::uint8_t>> m_runs;
    std::uint64_t m_size;
};

class exactly_once : public over_workers {
protected:
    static void check(const pilfer::options& o, std::uint64_t tasks) {
        pilfer::options with_stack = o;
        with_stack.stack_size = 1 << 20;
        pilfer::pool pool(with_stack);
        splitter all(std::min<std::uint64_t>(tasks, 20'000));
        for (std::uint64_t done = 0; done < tasks; done += all.size()) {
            pool.run([&] { all.run(0, all.size()); });
            ASSERT_EQ(all.wrong(), 0U);
        }
        const auto c = pool.counters();
        EXPECT_EQ(c.suspends, c.resumes);
        EXPECT_EQ(c.dropped, 0U);
    }
};

// 10^8 in all at full scale.
TEST_P(exactly_once, on_demand) { check(with_workers(), hundredth_of(8'000'000)); }

TEST_P(exactly_once, always_public) {
    pilfer::options o = with_workers();
    o.balance.exposure = pilfer::exposure::always_public;
    check(o, hundredth_of(4'000'000));
}

TEST_P(exactly_once, all_reclaimed_at_once) {
    pilfer::options o = with_workers();
    o.balance.unshare = pilfer::unshare::all;
    check(o, hundredth_of(4'000'000));
}

TEST_P(exactly_once, resumed_elsewhere) {
    pilfer::options o = with_workers();
    o.resume = pilfer::resume::elsewhere;
    check(o, hundredth_of(1'000'000));
}

TEST_P(exactly_once, resumed_on_the_own_thread) {
    pilfer::options o = with_workers();
    o.resume = pilfer::resume::own_thread;
    check(o, hundredth_of(2'000'000));
}

TEST_P(exactly_once, with_few_contexts) {
    pilfer::options o = with_workers();
    o.max_contexts = 8;
    check(o, hundredth_of(1'000'000));
}

PILFER_OVER_WORKERS(exactly_once);

} // namespace
