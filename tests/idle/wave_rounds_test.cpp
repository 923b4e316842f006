// The wave of wake-ups among real workers, in rounds. The depth of a tree of wake-ups depends on the workers
// that get a CPU first, so the test decides that. A woken worker keeps sleeping until all of the round before
// have found their work. The tree is then the protocol's own on any machine.
#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "pool/pool_core.hpp"
#include "support/futexes.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"
#include "worker/stand_still.hpp"

namespace {

using namespace support;
namespace detail = pilfer::detail;
using wire = detail::signal_word<detail::std_atom>;

/// The sleep of a pool's workers. While it holds them, a wake-up is only noted.
class beds final : public futex_hook {
public:
    explicit beds(pilfer::pool& pool) : m_pool(pool), m_beds(pool.workers()) { the_futex_hook = this; }
    ~beds() override { the_futex_hook = nullptr; }

    [[nodiscard]] bool wait(const void* word) override {
        const unsigned i = of(word);
        if (i == m_beds.size()) {
            return false;
        }
        std::unique_lock hold(m_lock);
        if (!m_pool.core().idle().is_asleep(i)) {
            return true;
        }
        bed& mine = m_beds[i];
        mine.taken = true;
        ++m_taken;
        m_changed.notify_all();
        m_changed.wait(hold, [&] { return mine.called; });
        mine.called = false;
        mine.taken = false;
        --m_taken;
        return true;
    }
    [[nodiscard]] bool wake(const void* word) override {
        const unsigned i = of(word);
        const std::lock_guard hold(m_lock);
        if (i == m_beds.size() || !m_beds[i].taken) {
            return false;
        }
        if (m_holds) {
            m_woken.emplace_back(detail::this_worker()->index, i);
        } else {
            call(i);
        }
        return true;
    }

    void wait_until_taken(unsigned n) {
        std::unique_lock hold(m_lock);
        m_changed.wait(hold, [&] { return m_taken == n; });
    }
    void hold(bool on) {
        const std::lock_guard hold(m_lock);
        m_holds = on;
    }
    void let_up(unsigned i) {
        const std::lock_guard hold(m_lock);
        call(i);
    }
    /// Pairs of waker and woken worker since the last call.
    [[nodiscard]] std::vector<std::pair<unsigned, unsigned>> woken() {
        const std::lock_guard hold(m_lock);
        return std::exchange(m_woken, {});
    }

private:
    struct bed {
        bool taken = false;
        bool called = false;
    };
    [[nodiscard]] unsigned of(const void* word) const {
        unsigned i = 0;
        while (i < m_beds.size() && m_pool.core().idle().state_of(i) != word) {
            ++i;
        }
        return i;
    }
    void call(unsigned i) {
        m_beds[i].called = true;
        m_changed.notify_all();
    }

    pilfer::pool& m_pool;
    std::mutex m_lock;
    std::condition_variable m_changed;
    std::vector<bed> m_beds;
    unsigned m_taken = 0;
    bool m_holds = false;
    std::vector<std::pair<unsigned, unsigned>> m_woken;
};

class wave_of_real_workers : public ::testing::TestWithParam<unsigned> {
    watchdog m_watchdog{patience};
};

TEST_P(wave_of_real_workers, is_a_tree_of_log2_levels) {
    const unsigned n = GetParam();
    pilfer::options o = workers(n);
    o.balance.steal =
        pilfer::steal_amount::one(); // the surplus of a larger theft is a publication of its own
    o.debug.stall_report = 0;
    std::vector<unsigned> depth(n, 0);
    std::vector<unsigned> wakes(n, 0);
    std::atomic<unsigned> begun{0};
    std::atomic<bool> announced{false};
    std::atomic<bool> over{false};
    unsigned publisher = 0;
    unsigned rounds = 0;
    {
        pilfer::pool pool(o);
        beds all(pool);
        // They may have fallen asleep before: up and down again.
        { const pilfer::keep_warm up(pool); }
        all.wait_until_taken(n);
        auto root = pool.async([&] {
            all.wait_until_taken(n - 1);
            detail::worker* w = detail::this_worker();
            publisher = w->index;
            auto& trip = w->deque.signal();
            trip.clear_wanted();
            (void)trip.take();
            all.hold(true);
            pilfer::scope s;
            for (unsigned i = 1; i < n; ++i) {
                if (i == n - 1) {
                    trip.set(wire::wanted); // all others are left to the wave
                }
                s.fork([&] {
                    count(begun);
                    wait(over);
                });
            }
            open(announced);
            wait(over);
            s.sync();
        });
        wait(announced);
        unsigned up = 0;
        for (auto woken = all.woken(); !woken.empty(); woken = all.woken(), ++rounds) {
            // One after the other, so that no two rob one victim at once. A worker that has begun its task
            // has done its wake-ups.
            for (const auto& [waker, i] : woken) {
                EXPECT_EQ(depth[i], 0U) << "woken twice";
                EXPECT_EQ(pool.core().idle().hint(i), publisher)
                    << "told another victim than the one that has work";
                depth[i] = depth[waker] + 1;
                ++wakes[waker];
                all.let_up(i);
                wait(begun, ++up);
            }
        }
        all.hold(false);
        open(over);
        root.get();
        EXPECT_EQ(up, n - 1);
        pool.shutdown();
    }
    const auto levels = static_cast<unsigned>(std::bit_width(n - 1));
    EXPECT_EQ(rounds, levels);
    EXPECT_EQ(*std::max_element(depth.begin(), depth.end()), levels);
    EXPECT_LE(*std::max_element(wakes.begin(), wakes.end()), 2U) << "a wave, not a herd";
    EXPECT_EQ(wakes[publisher], 1U);
}

INSTANTIATE_TEST_SUITE_P(of, wave_of_real_workers, ::testing::Values(2U, 3U, 8U, 63U, 64U, 65U),
                         ::testing::PrintToStringParamName());

} // namespace
