// What was announced under a lock runs first while its holder waits: row D10.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "objects/carriers.hpp"

namespace {

using namespace std::chrono_literals;
using namespace carriers;

/// Keeps its worker: nothing is announced, and nobody makes way.
template <class F>
void stand_until(F holds) {
    while (!holds()) {
        std::this_thread::sleep_for(20us);
    }
}

/// A list that several may write, each place once.
class record {
public:
    explicit record(std::size_t n) : m_of(n) {}
    void add(int what) { m_of[m_next.fetch_add(1)] = what; }
    [[nodiscard]] std::size_t size() const { return m_next; }
    [[nodiscard]] std::vector<int> all() const {
        return {m_of.begin(), m_of.begin() + static_cast<std::ptrdiff_t>(size())};
    }

private:
    std::vector<int> m_of;
    std::atomic<std::size_t> m_next{0};
};

/// A holder forks carriers into a scope of its own, one of which keeps each other worker until all have
/// started: what those workers have stolen besides lies in their deques.
class divided {
public:
    using function = std::function<void(int)>;
    static constexpr int carriers = support::sanitized ? 300 : 1000;

    /// Who does that, in which lock.
    enum class way { mutex, older, shared, readers, locked, queued, served, carrier, none };

    explicit divided(pilfer::options o) : m_pool(by_half(o)), m_order(carriers) {}

    /// `ready` runs outside of the pool, when all is divided. `on_top(i)`: on the stack of the holder.
    /// Returns what the sync of the holder has thrown.
    std::exception_ptr run(const std::function<void()>& ready, const function& on_top = {},
                           way how = way::mutex) {
        m_how = how;
        std::vector<pilfer::future<void>> one_each;
        for (unsigned i = 0; i < m_pool.workers(); ++i) {
            one_each.push_back(m_pool.async([&] {
                ++m_begun;
                stand_until([this] { return m_begun == m_pool.workers(); });
                if (this_index() == 0) {
                    inside([&] { hold(on_top); });
                } else {
                    stand_until([this] { return m_announced.load(); }); // and then it steals
                }
            }));
        }
        stand_until([this] { return m_divided.load(); });
        ready();
        m_go = true;
        for (auto& f : one_each) {
            f.get();
        }
        EXPECT_TRUE(m_mutex.try_lock()) << "it is free behind the holder";
        m_mutex.unlock();
        return m_error;
    }
    /// Another ready task: it must not begin on the holder's worker before the last carrier.
    void other() {
        EXPECT_NE(this_stack(), m_ended ? nullptr : m_stack);
        if (this_index() == m_worker && !m_ended && m_started != carriers) {
            ++m_too_early;
        }
    }
    [[nodiscard]] pilfer::pool& pool() { return m_pool; }
    [[nodiscard]] int too_early() const { return m_too_early; }
    [[nodiscard]] int started() const { return m_started; }
    /// Those that ran on the holder's stack, in order.
    [[nodiscard]] std::vector<int> order() const { return m_order.all(); }
    void cancel() { m_own->cancel(); }

private:
    [[nodiscard]] static pilfer::options& by_half(pilfer::options& o) {
        o.steal = pilfer::steal_amount::half();
        return o;
    }
    void hold(const function& on_top) {
        std::optional<pilfer::scope> younger;
        pilfer::scope& own = m_own != nullptr ? *m_own : younger.emplace();
        m_own = &own;
        m_stack = this_stack();
        m_worker = this_index();
        for (int i = 0; i < carriers; ++i) {
            own.fork([this, i, &on_top] { carrier(i, on_top); });
        }
        m_announced = true;
        stand_until([this] { return m_standing == m_pool.workers() - 1; });
        m_divided = true;
        stand_until([this] { return m_go.load(); });
        try {
            own.sync();
        } catch (...) {
            m_error = std::current_exception();
        }
        m_ended = true;
    }
    void inside(const std::function<void()>& f) {
        switch (m_how) {
        case way::none:
            return f();
        case way::mutex: {
            const std::lock_guard guard(m_mutex);
            return f();
        }
        case way::older: { // in a scope that began before the lock
            pilfer::scope own;
            m_own = &own;
            const std::lock_guard guard(m_mutex);
            return f();
        }
        case way::shared: {
            const std::lock_guard guard(m_shared);
            return f();
        }
        case way::readers: {
            const std::shared_lock guard(m_shared);
            return f();
        }
        case way::locked:
            return m_locked.call([&](int&) { f(); });
        case way::queued:
            return m_queued.call([&](int&) { f(); });
        case way::served: { // whoever makes the condition true runs f
            pilfer::scope s;
            s.spawn([&] { m_queued.call_when([](int n) { return n != 0; }, [&](int&) { f(); }); });
            m_queued.call([](int& n) { ++n; });
            return s.sync();
        }
        case way::carrier: { // of one that waits for it
            const std::lock_guard guard(m_mutex);
            pilfer::scope s;
            s.fork(f);
            return s.sync();
        }
        }
    }
    void carrier(int i, const function& on_top) {
        if (this_index() != m_worker) {
            ++m_started;
            ++m_standing;
            stand_until([this] { return m_started == carriers || m_ended || m_own->cancelled(); });
            return;
        }
        EXPECT_TRUE(this_stack() == m_stack || m_how == way::none);
        EXPECT_TRUE(m_go) << "on top of the holder before that waits";
        ++m_started;
        m_order.add(i);
        if (on_top) {
            on_top(i);
        }
    }

    pilfer::pool m_pool;
    way m_how = way::mutex;
    pilfer::mutex m_mutex;
    pilfer::shared_mutex m_shared;
    pilfer::synchronized<int> m_locked{0};
    pilfer::monitor<int> m_queued{0};
    record m_order;
    pilfer::scope* m_own = nullptr;
    const context* m_stack = nullptr;
    std::atomic<unsigned> m_worker{UINT32_MAX};
    std::atomic<unsigned> m_standing{0};
    std::atomic<int> m_started{0};
    std::atomic<int> m_too_early{0};
    std::atomic<unsigned> m_begun{0};
    std::atomic<bool> m_announced{false};
    std::atomic<bool> m_divided{false};
    std::atomic<bool> m_go{false};
    std::atomic<bool> m_ended{false};
    std::exception_ptr m_error;
};

class row_D10_divided : public row_D10 {};
PILFER_OVER(row_D10_divided, 1U, 2U, 3U, 8U, 64U);

// Own ones newest first, then those that thieves have taken and not started, oldest first; nothing else,
// though other tasks are ready. All that are not on their way run on the holder's stack.
TEST_P(row_D10_divided, a_holder_runs_its_carriers_before_its_worker_starts_another) {
    pilfer::options o = with(workers());
    divided d(o);
    const auto others = static_cast<std::size_t>(hundredth_of(1'000'000));
    std::vector<pilfer::future<void>> all;
    EXPECT_EQ(d.run([&] {
        for (std::size_t i = 0; i < others; ++i) {
            all.push_back(d.pool().async([&d] { d.other(); }));
        }
    }),
              nullptr);
    for (auto& f : all) {
        f.get();
    }
    EXPECT_EQ(d.too_early(), 0);
    EXPECT_EQ(d.started(), divided::carriers);
    const std::vector<int> order = d.order();
    EXPECT_EQ(order.size(), static_cast<std::size_t>(divided::carriers) - (workers() - 1));
    if (workers() <= 2) {
        const auto stolen = std::is_sorted_until(order.begin(), order.end(), std::greater<>());
        EXPECT_TRUE(std::is_sorted(stolen, order.end()));
        if (workers() == 2) {
            EXPECT_NE(stolen, order.end()) << "nothing was taken back";
        }
    }
}

// Older tasks that lie in the same deque are no carriers: they wait for the end of the lock.
TEST(row_D10_alone, what_was_announced_before_the_lock_waits) {
    const support::watchdog limit(support::patience);
    pilfer::pool pool(support::workers(1));
    const auto others = hundredth_of(1'000'000);
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> ran{0};
    pool.run([&] {
        pilfer::scope s;
        for (std::uint64_t i = 0; i < others; ++i) {
            s.fork([&] {
                EXPECT_TRUE(over);
                ++ran;
            });
        }
        pilfer::synchronized<int> object(0);
        object.call([&](int&) {
            pilfer::scope own;
            for (int i = 0; i < 1000; ++i) {
                own.fork([&] {
                    EXPECT_EQ(ran, 0U);
                    pilfer::scope further;
                    further.fork([&] { EXPECT_EQ(ran, 0U); });
                });
            }
            own.sync();
            over = true;
        });
        s.sync();
    });
    EXPECT_EQ(ran, others);
}

// Whatever the lock is, and whoever is under it: a reader, f of a monitor call on the stack of whoever serves
// it, a carrier that waits for its own ones. Without a lock what is queued comes first.
TEST_P(row_D10_divided, under_every_lock) {
    for (const auto how : {divided::way::mutex, divided::way::older, divided::way::shared,
                           divided::way::readers, divided::way::locked, divided::way::queued,
                           divided::way::served, divided::way::carrier, divided::way::none}) {
        divided d(with(workers()));
        std::vector<pilfer::future<void>> all;
        EXPECT_EQ(d.run(
                      [&] {
                          for (int i = 0; i < 100; ++i) {
                              all.push_back(d.pool().async([&d] { d.other(); }));
                          }
                      },
                      {}, how),
                  nullptr);
        for (auto& f : all) {
            f.get();
        }
        EXPECT_EQ(d.started(), divided::carriers);
        if (how == divided::way::none) {
            EXPECT_NE(d.too_early(), 0);
        } else {
            EXPECT_EQ(d.too_early(), 0) << static_cast<int>(how);
            EXPECT_EQ(d.order().size(), static_cast<std::size_t>(divided::carriers) - (workers() - 1));
        }
    }
}

// The first exception of one that was taken back cancels the scope: the rest is dropped, wherever it lies,
// and the lock is free behind the holder.
TEST_P(row_D10_divided, one_that_throws) {
    for (const int at : {0, 10, divided::carriers / 2 + 10, divided::carriers - 70}) {
        divided d(with(workers()));
        std::atomic<int> n{0};
        const auto error = d.run([] {},
                                 [&](int) {
                                     if (n++ == at) {
                                         throw std::out_of_range("a carrier");
                                     }
                                 });
        ASSERT_NE(error, nullptr) << at;
        EXPECT_THROW(std::rethrow_exception(error), std::out_of_range);
        EXPECT_EQ(d.order().size(), static_cast<std::size_t>(at) + 1);
        EXPECT_EQ(d.pool().counters().dropped, static_cast<std::uint64_t>(divided::carriers - d.started()));
    }
}

// Cancelled from one of them, while they are taken back.
TEST_P(row_D10_divided, one_that_cancels) {
    for (const int at : {0, divided::carriers / 2 + 10, divided::carriers - 70}) {
        divided d(with(workers()));
        std::atomic<int> n{0};
        EXPECT_EQ(d.run([] {},
                        [&](int) {
                            if (n++ == at) {
                                d.cancel();
                            }
                        }),
                  nullptr);
        EXPECT_EQ(d.order().size(), static_cast<std::size_t>(at) + 1);
        EXPECT_EQ(d.pool().counters().dropped, static_cast<std::uint64_t>(divided::carriers - d.started()));
    }
}

class row_D10_two : public row_D10 {};
PILFER_OVER(row_D10_two, 2U);

// The part of a join that a thief has taken along and not started runs on the stack of the holder that waits
// for it.
TEST_P(row_D10_two, a_branch_of_a_join_is_taken_back) {
    pilfer::options o = with(2);
    o.steal = pilfer::steal_amount::half();
    pilfer::pool pool(o);
    std::atomic<bool> plugged{false};
    std::atomic<bool> go{false};
    std::atomic<bool> stolen{false};
    std::atomic<bool> over{false};
    auto plug = pool.async([&] {
        plugged = true;
        stand_until([&] { return go.load(); });
    });
    stand_until([&] { return plugged.load(); });
    pool.run([&] {
        const auto stand = [&] {
            stolen = true;
            stand_until([&] { return over.load(); });
        };
        pilfer::scope before;
        before.fork(stand);
        pilfer::mutex m;
        const std::lock_guard guard(m);
        const context* const mine = this_stack();
        const auto [first, second] = pilfer::join(
            [&] {
                pilfer::scope own;
                own.fork([] {}); // the third: half of these are two
                go = true;
                stand_until([&] { return stolen.load(); });
                return 1;
            },
            [&] {
                over = true;
                return this_stack() == mine;
            });
        EXPECT_EQ(first, 1);
        EXPECT_TRUE(second);
    });
    plug.get();
}

class row_D10_three : public row_D10 {};
PILFER_OVER(row_D10_three, 3U);

// A holder has suspended. Its carriers and as many other tasks lie with workers that do not look: an idle one
// takes the former first, whoever of the two comes first on its way.
TEST_P(row_D10_three, idle_workers_prefer_what_a_holder_waits_for) {
    pilfer::options o = with(3);
    o.steal = pilfer::steal_amount::one();
    constexpr int each = 40;
    for (const unsigned others : {1U, 2U}) {
        pilfer::pool pool(o);
        record order(2 * each);
        std::atomic<unsigned> begun{0};
        std::atomic<int> announced{0};
        std::atomic<bool> carrier_stands{false};
        std::atomic<bool> plugged{false};
        const auto announce = [&](pilfer::scope& s, int what) {
            stand_until([&] { return plugged.load(); });
            for (int i = 0; i < each; ++i) {
                s.fork([&order, what] { order.add(what); });
            }
            ++announced;
            stand_until([&] { return order.size() == 2 * each; });
        };
        const auto hold = [&](int&) {
            pilfer::scope own;
            own.fork([&] {
                carrier_stands = true;
                announce(own, 1);
            });
            stand_until([&] { return carrier_stands.load(); });
            own.sync();
        };
        std::vector<pilfer::future<void>> all;
        for (int i = 0; i < 3; ++i) {
            all.push_back(pool.async([&] { // one on each worker
                ++begun;
                stand_until([&] { return begun == 3; });
                if (this_index() == 0) {
                    pilfer::monitor<int> object(0);
                    object.call(hold);
                } else if (this_index() == others) {
                    pilfer::scope s;
                    announce(s, 0);
                } // the third one comes back, and steals the carrier
            }));
        }
        stand_until([&] { return carrier_stands.load(); });
        all.push_back(pool.async([&] { // on the holder's worker, once that one has suspended
            EXPECT_EQ(this_index(), 0U);
            EXPECT_TRUE(pool.core().for_holders().any());
            plugged = true;
            stand_until([&] { return announced == 2; });
        }));
        for (auto& f : all) {
            f.get();
        }
        const std::vector<int> ran = order.all();
        // At one of 64 ends an idle worker looks elsewhere first.
        EXPECT_GE(std::count(ran.begin(), ran.begin() + each + 1, 1), each) << testing::PrintToString(ran);
        EXPECT_FALSE(pool.core().for_holders().any());
    }
}

// One worker: what is queued waits for a holder's carriers, but not for those that never end.
TEST(row_D10_alone, endless_carriers_make_way_in_the_end) {
    const support::watchdog limit(support::patience);
    pilfer::pool pool(support::workers(1));
    std::atomic<bool> begun{false};
    std::atomic<bool> over{false};
    auto holder = pool.async([&] {
        pilfer::mutex m;
        const std::lock_guard guard(m);
        pilfer::scope own;
        const std::function<void()> again = [&] {
            begun = true;
            if (!over) {
                own.fork([&again] { again(); });
            }
        };
        own.fork([&again] { again(); });
        own.sync();
    });
    stand_until([&] { return begun.load(); });
    pool.async([&] { over = true; }).get();
    holder.get();
}

// What is looked for: words, in rows of a line.
TEST(row_D10_awaited, names) {
    using pilfer::detail::awaited_by_holders;
    const auto all = std::make_unique<awaited_by_holders>();
    EXPECT_FALSE(all->any());
    EXPECT_FALSE(all->has(0));
    {
        const awaited_by_holders::entered nowhere(nullptr, 64);
        const awaited_by_holders::entered one(all.get(), 64);
        const awaited_by_holders::entered again(all.get(), 64);
        EXPECT_TRUE(all->any());
        EXPECT_TRUE(all->has(64));
        EXPECT_FALSE(all->has(0));
        EXPECT_FALSE(all->has(128));
        // More than there is room for: those that found none are missed, and end as they began.
        std::vector<std::unique_ptr<awaited_by_holders::entered>> many;
        for (awaited_by_holders::word w = 1; w <= 10'000; ++w) {
            many.push_back(std::make_unique<awaited_by_holders::entered>(all.get(), w << 20));
        }
        unsigned found = 0;
        for (awaited_by_holders::word w = 1; w <= 10'000; ++w) {
            found += all->has(w << 20) ? 1 : 0;
        }
        EXPECT_GT(found, awaited_by_holders::room / 2);
        EXPECT_LE(found, awaited_by_holders::room - 2);
    }
    EXPECT_FALSE(all->any());
    EXPECT_FALSE(all->has(64));
    // By the kind of the entry.
    EXPECT_EQ(awaited_by_holders::name_of(0), 0U);
    EXPECT_EQ(awaited_by_holders::name_of(64 | pilfer::detail::kind_continuation), 0U);
    EXPECT_EQ(awaited_by_holders::name_of(64 | pilfer::detail::kind_spark), 64U);
    pilfer::detail::spark child(nullptr, reinterpret_cast<pilfer::detail::scope_place*>(128));
    EXPECT_EQ(awaited_by_holders::name_of(reinterpret_cast<pilfer::detail::task_word>(&child) |
                                          pilfer::detail::kind_forked),
              128U);
}

} // namespace
