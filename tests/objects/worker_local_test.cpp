// worker_local: one instance per use, as few as possible, all of them at the end.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "memory/numbers.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using pilfer::worker_local;

class worker_local_over_workers : public over_workers {};
PILFER_OVER_WORKERS(worker_local_over_workers);
class worker_local_values : public guarded {};

TEST_F(worker_local_values, members_are_functions) {
    struct counter {
        int count = 0;
        void add_one() { ++count; }
        [[nodiscard]] counter and_of(const counter& other) const { return {count + other.count}; }
    };
    worker_local<counter> all;
    {
        const auto one = all.lease();
        const auto two = all.lease();
    }
    all.for_each(&counter::add_one);
    EXPECT_EQ(all.combine(&counter::and_of).count, 2);
}

/// Says so when two uses have it at once.
struct exclusive {
    std::uint64_t uses = 0; // plain: ThreadSanitizer watches it, too
    std::atomic<int> inside{0};
    exclusive() = default;
    exclusive(const exclusive&) = delete;
    exclusive& operator=(const exclusive&) = delete;
};
struct instances : worker_local<exclusive> {
    std::atomic<std::size_t> users{0};
    std::atomic<std::size_t> peak{0};
};
struct use {
    explicit use(instances& all) : counted(all), mine(all.lease()) {
        EXPECT_EQ(mine->inside.fetch_add(1), 0) << "an instance that somebody has";
        ++mine->uses;
    }
    ~use() { EXPECT_EQ(mine->inside.fetch_sub(1), 1); }
    /// Lives from before the lease until after it, so that there are never more leases than users.
    struct counting {
        explicit counting(instances& i) : all(i) {
            const std::size_t now = all.users.fetch_add(1) + 1;
            for (std::size_t seen = all.peak; seen < now && !all.peak.compare_exchange_weak(seen, now);) {
            }
        }
        ~counting() { all.users.fetch_sub(1); }
        instances& all;
    } counted;
    pilfer::worker_lease<exclusive> mine;
};
/// Read from the system each time: compilers keep the result of std::this_thread::get_id().
[[nodiscard]] long thread_now() { return syscall(SYS_gettid); }
[[nodiscard]] std::uint64_t sum(worker_local<exclusive>& all) {
    std::uint64_t n = 0;
    all.for_each([&n](exclusive& e) { n += e.uses; });
    return n;
}

void nest(instances& all, unsigned n) {
    const use mine(all);
    if (n > 0) {
        pilfer::join([&] { nest(all, n - 1); }, [&] { nest(all, n - 1); });
    }
}

TEST_P(worker_local_over_workers, a_nested_use_has_a_value_of_its_own) {
    pilfer::pool pool(with_workers());
    instances all;
    const unsigned depth = sanitized ? 7 : 9;
    pool.run([&] { nest(all, depth); });
    EXPECT_EQ(sum(all), (std::uint64_t{2} << depth) - 1);
    EXPECT_LE(all.size(), all.peak);
    EXPECT_GE(all.size(), depth + 1);
    if (GetParam() == 1) {
        EXPECT_EQ(all.size(), depth + 1);
    }
}

TEST_P(worker_local_over_workers, plain_uses_need_no_more_than_there_are_workers) {
    pilfer::pool pool(with_workers());
    instances all;
    const auto n = hundredth_of(1'000'000, 2000);
    for (int round = 0; round < 3; ++round) {
        pool.run([&] { pilfer::for_each(std::uint64_t{0}, n, [&](std::uint64_t) { const use mine(all); }); });
    }
    EXPECT_EQ(sum(all), 3 * n);
    EXPECT_LE(all.size(), GetParam());
}

TEST_P(worker_local_over_workers, a_suspended_use_keeps_its_value) {
    pilfer::pool pool(with_workers());
    instances all;
    constexpr unsigned waiters = 20;
    for (int round = 0; round < 3; ++round) {
        pilfer::event go;
        pool.run([&] {
            pilfer::scope s;
            std::atomic<unsigned> waiting{0};
            for (unsigned i = 0; i < waiters; ++i) {
                s.fork([&] {
                    const use mine(all);
                    waiting.fetch_add(1);
                    go.wait();
                    ++mine.mine->uses;
                });
            }
            s.fork([&] {
                while (waiting != waiters) {
                    pilfer::yield();
                }
                { const use mine(all); }
                go.set();
            });
            s.sync();
        });
    }
    EXPECT_EQ(sum(all), 3 * (2 * waiters + 1));
    EXPECT_LE(all.size(), waiters + GetParam());
    EXPECT_GE(all.size(), waiters + 1);
    EXPECT_LE(all.size(), all.peak);
}

/// A lease that begins on one worker and ends on another: the rest of a spawn is stolen in between.
TEST_P(worker_local_over_workers, a_lease_moves_with_the_rest_of_a_spawn) {
    pilfer::pool pool(with_workers());
    instances all;
    const auto n = hundredth_of(10'000, 20);
    for (std::uint64_t i = 0; i < n; ++i) {
        pool.run([&] {
            const use mine(all);
            const long before = thread_now();
            std::atomic<bool> went_on{false};
            pilfer::scope s;
            s.spawn([&] {
                while (GetParam() > 1 && !went_on) { // a task that has not started is within reach
                    std::this_thread::yield();
                }
            });
            went_on = true;
            EXPECT_EQ(GetParam() > 1, before != thread_now());
            ++mine.mine->uses;
            s.sync();
        });
    }
    EXPECT_EQ(sum(all), 2 * n);
    EXPECT_LE(all.size(), GetParam()) << "whoever finds its own list empty looks at those of others";
}

TEST_P(worker_local_over_workers, threads_and_two_pools_use_it_at_once) {
    pilfer::pool one(with_workers());
    pilfer::pool two(with_workers());
    instances all;
    const auto n = hundredth_of(100'000, 500);
    const auto in_pool = [&](pilfer::pool& p) {
        p.run([&] { pilfer::for_each(std::uint64_t{0}, n, [&](std::uint64_t) { const use mine(all); }); });
    };
    const auto outside = [&] {
        for (std::uint64_t i = 0; i < n; ++i) {
            const use mine(all);
        }
    };
    std::thread a(outside);
    std::thread b(outside);
    std::thread c([&] { in_pool(one); });
    in_pool(two);
    a.join();
    b.join();
    c.join();
    EXPECT_EQ(sum(all), 4 * n);
    EXPECT_LE(all.size(), 2 * GetParam() + 2);
}

/// Made by tasks, ended by threads and by tasks of another pool, and the other way round.
TEST_P(worker_local_over_workers, a_lease_ends_on_the_worker_that_it_moved_to) {
    pilfer::pool one(with_workers());
    pilfer::pool two(with_workers());
    instances all;
    using lease = pilfer::worker_lease<exclusive>;
    const auto n = hundredth_of(20'000, 100);
    for (std::uint64_t i = 0; i < n; ++i) {
        lease a = one.run([&] { return all.lease(); });
        lease b = two.run([&] { return all.lease(); });
        lease c = all.lease();
        std::set<exclusive*> three{&*a, &*b, &*c};
        EXPECT_EQ(three.size(), 3U);
        two.run([mine = std::move(a)] { ++mine->uses; });
        one.run([mine = std::move(c)] { ++mine->uses; });
        b = all.lease(); // the one that it was goes back
        ++b->uses;
    }
    EXPECT_EQ(sum(all), 3 * n);
    EXPECT_LE(all.size(), 4U) << "while b gets another one there are two more, and its own";
}

TEST_P(worker_local_over_workers, values_outlive_their_pool) {
    instances all;
    for (int i = 0; i < 10; ++i) {
        pilfer::pool pool(with_workers());
        pool.run([&] { const use mine(all); });
    }
    EXPECT_EQ(all.size(), 1U);
    { const use mine(all); }
    EXPECT_EQ(all.size(), 1U) << "threads find it, too";
    EXPECT_EQ(sum(all), 11U);
}

TEST_P(worker_local_over_workers, works_with_the_one_lock_back_end) {
    pilfer::options o = with_workers();
    o.backend = pilfer::backend::one_lock;
    pilfer::pool pool(o);
    instances all;
    pool.run([&] { nest(all, 6); });
    EXPECT_EQ(sum(all), 127U);
    EXPECT_LE(all.size(), all.peak);
}

TEST_F(worker_local_values, combine_reads_all_values_and_keeps_them) {
    using list = std::vector<int>;
    worker_local<list> names([made = 0]() mutable { return list{++made}; });
    const auto append = [](list l, const list& r) {
        l.insert(l.end(), r.begin(), r.end());
        return l;
    };
    EXPECT_EQ(names.combine(append), list{1}) << "of none: what the factory makes";
    EXPECT_EQ(names.size(), 0U);
    {
        const auto a = names.lease();
        const auto b = names.lease();
        const auto c = names.lease();
        EXPECT_EQ(*c, list{4});
    }
    EXPECT_EQ(names.combine(append), (list{2, 3, 4}));
    EXPECT_EQ(names.combine(append), (list{2, 3, 4}));
    names.for_each([](list& l) { l = {0}; });
    EXPECT_EQ(names.combine(append), (list{0, 0, 0}));
    EXPECT_EQ(names.size(), 3U);
}

TEST_F(worker_local_values, types_that_can_neither_be_copied_nor_made_from_nothing) {
    struct fixed {
        explicit fixed(int v) : value(v) {}
        fixed(const fixed&) = delete;
        fixed& operator=(const fixed&) = delete;
        int value;
    };
    worker_local<fixed> all([] { return fixed(7); });
    EXPECT_EQ(all.lease()->value, 7);
    worker_local<std::unique_ptr<int>> owners;
    EXPECT_EQ(*owners.lease(), nullptr);
    worker_local<int> zero;
    EXPECT_EQ(*zero.lease(), 0);
}

TEST_F(worker_local_values, a_value_stays_as_it_was_left) {
    pilfer::pool pool(workers(1));
    worker_local<int> all;
    pool.run([&] {
        *all.lease() = 5;
        EXPECT_EQ(*all.lease(), 5);
    });
    EXPECT_EQ(*all.lease(), 5) << "a thread takes what a worker has, before it makes a new one";
    EXPECT_EQ(all.size(), 1U);
}

TEST_F(worker_local_values, all_values_are_leased_while_they_are_visited) {
    worker_local<int> all;
    { const auto a = all.lease(); }
    int seen = 0;
    all.for_each([&](int&) {
        ++seen;
        EXPECT_THROW(all.for_each([](int&) {}), pilfer::usage_error);
        EXPECT_THROW((void)all.combine([](int a, int b) { return a + b; }), pilfer::usage_error);
        const auto fresh = all.lease();
        EXPECT_EQ(all.size(), 2U);
    });
    EXPECT_EQ(seen, 1);
    all.for_each([&](int&) { ++seen; });
    EXPECT_EQ(seen, 3);
}

TEST_F(worker_local_values, an_exception_leaves_the_values_unchanged) {
    struct spoiled {};
    int left = 2;
    worker_local<int> all([&left] {
        if (left-- == 0) {
            throw spoiled();
        }
        return left;
    });
    {
        const auto a = all.lease();
        const auto b = all.lease();
        EXPECT_THROW((void)all.lease(), spoiled);
        EXPECT_EQ(all.size(), 2U);
        EXPECT_THROW(all.for_each([](int&) {}), pilfer::usage_error);
    }
    EXPECT_THROW(all.for_each([](int&) { throw spoiled(); }), spoiled);
    EXPECT_THROW((void)all.combine([](int, int) -> int { throw spoiled(); }), spoiled);
    EXPECT_EQ(all.combine([](int a, int b) { return a + b; }), 1);
    worker_local<int> none([]() -> int { throw spoiled(); });
    EXPECT_THROW((void)none.lease(), spoiled);
    EXPECT_THROW((void)none.combine([](int a, int) { return a; }), spoiled);
    none.for_each([](int&) { ADD_FAILURE(); });
}

TEST_F(worker_local_values, a_lease_is_moved_and_assigned) {
    worker_local<int> all;
    auto a = all.lease();
    *a = 1;
    auto b = std::move(a);
    EXPECT_EQ(*b, 1);
    auto& itself = b;
    b = std::move(itself);
    EXPECT_EQ(*b, 1);
    a = std::move(b);
    EXPECT_EQ(*a, 1);
    EXPECT_EQ(all.size(), 1U);
    static_assert(!std::is_copy_constructible_v<pilfer::worker_lease<int>>);
    static_assert(!std::is_default_constructible_v<worker_local<std::reference_wrapper<int>>>);
    static_assert(!std::is_constructible_v<worker_local<int>, const char* (*)()>);
    static_assert(!std::is_move_constructible_v<worker_local<int>>);
}

TEST_F(worker_local_values, instances_are_destroyed_with_it) {
    static int alive = 0;
    struct counted {
        counted() { ++alive; }
        counted(const counted&) { ++alive; }
        counted& operator=(const counted&) = default;
        ~counted() { --alive; }
    };
    {
        worker_local<counted> all;
        const auto a = all.lease();
        { const auto b = all.lease(); }
        EXPECT_EQ(alive, 2);
    }
    EXPECT_EQ(alive, 0);
}

TEST(worker_local_process, destroyed_while_a_lease_exists) {
    const auto r = in_child([] {
        auto all = std::make_unique<worker_local<int>>();
        auto lease = all->lease();
        all.reset();
        return 0;
    });
    EXPECT_TRUE(r.killed_by(SIGABRT)) << r;
    EXPECT_TRUE(r.said("a worker_local was destroyed while an instance of it was leased")) << r;
}

TEST_F(worker_local_values, numbers_are_reused_and_may_run_out) {
    using pilfer::detail::numbers;
    using pilfer::detail::worker;
    std::vector<std::uint32_t> mine;
    for (auto n = numbers::take(); n != worker::no_serial; n = numbers::take()) {
        mine.push_back(n);
    }
    EXPECT_EQ(std::set<std::uint32_t>(mine.begin(), mine.end()).size(), mine.size());
    {
        pilfer::pool pool(workers(2));
        instances all;
        pool.run([&] { nest(all, 6); });
        EXPECT_EQ(sum(all), 127U) << "workers without a number";
        EXPECT_LE(all.size(), all.peak);
    }
    for (const auto n : mine) {
        numbers::give(n);
    }
    {
        // Those in the larger pieces of the table.
        std::vector<std::uint32_t> low;
        for (int i = 0; i < 1000; ++i) {
            low.push_back(numbers::take());
        }
        pilfer::pool pool(workers(3));
        instances all;
        pool.run([&] { nest(all, 6); });
        EXPECT_EQ(sum(all), 127U);
        EXPECT_LE(all.size(), all.peak);
        for (const auto n : low) {
            numbers::give(n);
        }
    }
    const auto again = numbers::take();
    EXPECT_EQ(again, *std::min_element(mine.begin(), mine.end()));
    numbers::give(again);
}

} // namespace
