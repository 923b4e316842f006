// The weights of a deque's tasks, against a model; and the moment at which the deque stops counting them.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <numeric>
#include <random>

#include "balance/load.hpp"
#include "deque/rings.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using pilfer::detail::scales;
using pilfer::detail::std_atom;
using pilfer::detail::steal_status;
using pilfer_test::any_task;
using pilfer_test::own_fence_atom;
using pilfer_test::task_word;
using pilfer_test::tested_deque;

static_assert(pilfer::balance::loads<scales<std_atom>>);

constexpr std::uint64_t most = std::uint64_t{1} << 32;

struct task {
    task_word word;
    std::uint64_t weight;
};

/// A deque with weights, and a plain queue as its model.
class pair_of_deques {
public:
    explicit pair_of_deques(std::int64_t start, bool pinned) : m_deque(4, pinned, start) {}

    void push(std::uint64_t weight) {
        m_next += 8;
        if (weight == 1) {
            (void)m_deque.push(m_next);
        } else {
            (void)m_deque.push(m_next, weight);
        }
        m_tasks.push_back({m_next, weight});
        m_shared = static_cast<std::size_t>(m_deque.deque.owner().shared_size());
    }
    void pop(std::int64_t unshare) {
        if (!m_tasks.empty()) {
            EXPECT_EQ(m_deque.deque.owner().newest_weight(), m_tasks.back().weight);
        }
        const task_word got = m_deque.deque.owner().pop(unshare);
        ASSERT_EQ(got, m_tasks.empty() ? 0 : m_tasks.back().word);
        if (!m_tasks.empty()) {
            m_tasks.pop_back();
        }
        m_shared = static_cast<std::size_t>(m_deque.deque.owner().shared_size());
    }
    void expose(std::int64_t n) {
        m_shared += static_cast<std::size_t>(m_deque.deque.owner().expose(n));
        ASSERT_LE(m_shared, m_tasks.size());
    }
    void steal() {
        const auto got = m_deque.deque.thief().steal(any_task);
        ASSERT_EQ(got.status, m_shared > 0 ? steal_status::success : steal_status::empty);
        if (m_shared > 0) {
            EXPECT_EQ(got.task, m_tasks.front().word);
            EXPECT_EQ(got.weight, m_tasks.front().weight);
            m_tasks.pop_front();
            --m_shared;
        }
    }
    /// All that can be asked.
    void compare() {
        const auto now = m_deque.deque.thief().scales();
        ASSERT_EQ(now.shared, m_shared);
        ASSERT_EQ(now.own, m_tasks.size() - m_shared);
        ASSERT_EQ(now.tasks(), m_tasks.size());
        ASSERT_EQ(now.shared_weight(), sum(0, m_shared));
        ASSERT_EQ(now.own_weight(), sum(m_shared, m_tasks.size()));
        ASSERT_EQ(now.weight(), sum(0, m_tasks.size()));
        for (const std::uint64_t part : {1U, 2U, 3U, 4U}) {
            const std::uint64_t weight = now.weight() * part / 4;
            ASSERT_EQ(now.oldest(weight), nearest(0, weight));
            ASSERT_EQ(now.oldest_own(weight), nearest(m_shared, weight));
        }
    }
    [[nodiscard]] bool weighs() { return m_deque.deque.owner().weighs(); }
    [[nodiscard]] std::size_t size() const { return m_tasks.size(); }

private:
    [[nodiscard]] std::uint64_t sum(std::size_t first, std::size_t last) const {
        std::uint64_t all = 0;
        for (std::size_t i = first; i < last; ++i) {
            all += m_tasks[i].weight;
        }
        return all;
    }
    /// One after the other, as the definition says.
    [[nodiscard]] std::uint64_t nearest(std::size_t first, std::uint64_t weight) const {
        const std::size_t all = m_tasks.size() - first;
        std::size_t best = std::min<std::size_t>(all, 1);
        const auto off = [&](std::size_t n) {
            const std::uint64_t together = sum(first, first + n);
            return together < weight ? weight - together : together - weight;
        };
        for (std::size_t n = best + 1; n <= all; ++n) {
            best = off(n) < off(best) ? n : best;
        }
        return best;
    }

    tested_deque<own_fence_atom> m_deque;
    std::deque<task> m_tasks;
    std::size_t m_shared = 0;
    task_word m_next = 0;
};

class deque_weights : public guarded {};

TEST_F(deque_weights, every_sum_is_that_of_a_model) {
    const std::uint64_t steps = hundredth_of(300'000, 3000);
    for (const bool pinned : {false, true}) {
        for (const std::int64_t start : {std::int64_t{0}, std::int64_t{250}, (std::int64_t{1} << 32) - 7}) {
            std::mt19937_64 random(static_cast<std::uint64_t>(start) + (pinned ? 1 : 0));
            pair_of_deques d(start, pinned);
            bool weighed = false;
            bool stopped = false;
            for (std::uint64_t step = 0; step < steps && !HasFatalFailure(); ++step) {
                // Phases in which nothing new has a weight: the deque runs empty of those that have.
                const bool heavy = step / 128 % 2 == 0;
                const std::uint64_t action = random() % 16;
                if (action < (heavy && d.size() < 30 ? 8U : 4U)) {
                    const std::uint64_t kind = random() % 8;
                    d.push(!heavy || kind < 3 ? 1 : (kind == 3 ? most : 1 + random() % 100));
                } else if (action < 11) {
                    d.pop(random() % 2 == 0 ? 1 : INT64_MAX / 4);
                } else if (action < 13) {
                    d.expose(static_cast<std::int64_t>(random() % 4));
                } else {
                    d.steal();
                }
                d.compare();
                stopped = stopped || (weighed && !d.weighs());
                weighed = d.weighs();
            }
            EXPECT_TRUE(stopped) << "no phase without weights ever freed the deque of them";
        }
    }
}

TEST_F(deque_weights, weighs_from_the_first_weight_until_all_weights_are_gone) {
    tested_deque<own_fence_atom> d(8);
    auto own = d.deque.owner();
    (void)d.push(8);
    EXPECT_FALSE(own.weighs());
    EXPECT_FALSE(own.push(16)) << "a push without weights takes the fast path";
    (void)d.push(24, 5);
    EXPECT_TRUE(own.weighs());
    EXPECT_EQ(d.deque.thief().scales().weight(), 7U);
    // On top of it everything is weighed.
    ASSERT_TRUE(own.push(32));
    own.weigh_newest();
    EXPECT_EQ(d.deque.thief().scales().weight(), 8U);
    (void)own.pop(1);
    (void)own.pop(1);
    // The next one lies where the weight was.
    ASSERT_TRUE(own.push(40));
    own.weigh_newest();
    EXPECT_FALSE(own.weighs());
    (void)d.deque.signal().take();
    EXPECT_FALSE(own.push(48)) << "and the fast path is back";
    EXPECT_EQ(d.deque.thief().scales().weight(), 4U);
}

TEST_F(deque_weights, stops_to_weigh_when_thieves_took_the_weights) {
    tested_deque<own_fence_atom> d(8);
    auto own = d.deque.owner();
    (void)d.push(8, 9);
    ASSERT_EQ(own.expose(1), 1);
    EXPECT_EQ(d.deque.thief().steal(any_task).weight, 9U);
    ASSERT_TRUE(own.push(16));
    own.weigh_newest();
    EXPECT_FALSE(own.weighs());
    EXPECT_EQ(d.deque.thief().scales().weight(), 1U);
}

TEST_F(deque_weights, a_weight_below_the_first_one_counts) {
    for (const bool pinned : {false, true}) {
        pair_of_deques d(0, pinned);
        d.push(1);
        d.push(5);
        d.pop(1);
        d.pop(1);
        d.push(7); // below where the deque began to weigh
        d.compare();
        d.push(1);
        d.push(3);
        d.compare();
        d.expose(3);
        d.steal();
        d.compare();
    }
}

TEST_F(deque_weights, sums_of_the_largest_weights_do_not_overflow) {
    constexpr std::uint64_t tasks = 300;
    pair_of_deques d(0, false);
    for (std::uint64_t i = 0; i < tasks; ++i) {
        d.push(most);
    }
    d.expose(tasks / 2);
    d.compare();
}

TEST_F(deque_weights, the_number_nearest_to_a_weight) {
    struct row {
        std::deque<std::uint64_t> weights;
        std::uint64_t weight;
        std::uint64_t tasks;
    };
    const row rows[] = {
        {{9, 1, 1, 1, 1, 1, 1, 1}, 8, 1},
        {{1, 1, 1, 1, 1, 1, 1, 9}, 8, 7},
        {{1, 9, 1, 1}, 6, 2},
        {{4, 8, 4}, 8, 1}, // 4 and 12 are equally near
        {{5, 5, 5}, 1, 1},
        {{5, 5, 5}, 15, 3},
        {{5, 5, 5}, 1000, 3},
        {{1000}, 1, 1},
        {{2, 2, 2}, 0, 1},
        {{}, 5, 0},
    };
    for (const row& r : rows) {
        tested_deque<own_fence_atom> d(16);
        task_word word = 0;
        for (const std::uint64_t w : r.weights) {
            (void)d.push(word += 8, w);
        }
        const auto now = d.deque.thief().scales();
        EXPECT_EQ(now.weight(), std::accumulate(r.weights.begin(), r.weights.end(), std::uint64_t{0}));
        EXPECT_EQ(now.oldest(r.weight), r.tasks) << "row " << &r - rows;
        EXPECT_EQ(now.oldest_own(r.weight), r.tasks) << "row " << &r - rows;
    }
}

} // namespace
