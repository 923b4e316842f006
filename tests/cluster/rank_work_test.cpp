// The work of one rank, with the test as the other ranks: branches that others take, and guests that come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pilfer/cluster.hpp>
#include <pilfer/event.hpp>
#include <pilfer/yield.hpp>

#include "cluster/journal_file.hpp"
#include "cluster/one_session.hpp"
#include "cluster/rank_work.hpp"
#include "cluster/tree.hpp"

namespace {

using namespace tasks;
using one_session::number_of;
using one_session::session;

/// The work of one rank, with this test as the other ranks.
struct one_rank {
    explicit one_rank(unsigned workers = 1) : pool({.workers = workers}), work(pool, 0) {
        (void)pilfer::detail::cluster_tasks();
    }
    ~one_rank() {
        while (!work.is_quiet()) {
            std::this_thread::yield();
        }
    }
    template <class T>
    void start(const T& task) {
        work.start_root([task](archive& out) { out.put(pilfer::detail::call_task(task)); });
    }
    template <class R>
    R result() {
        while (!work.is_root_done()) {
            std::this_thread::yield();
        }
        archive in(work.root().bytes);
        return in.take<R>();
    }
    /// The results of take_finished(), once there are some.
    std::vector<pilfer::detail::local_work::finished> take_finished() {
        std::vector<pilfer::detail::local_work::finished> all;
        while (all.empty()) {
            all = work.take_finished();
        }
        return all;
    }
    /// The ticket of the one branch that its parent wants no longer.
    std::uint64_t take_unwanted() {
        std::vector<pilfer::detail::parcel_result> all;
        while (all.empty()) {
            all = work.take_unwanted();
        }
        EXPECT_EQ(all.size(), 1u);
        EXPECT_TRUE(work.take_unwanted().empty()) << "once";
        return all[0].ticket;
    }
    /// Takes what is offered, once there is something.
    std::vector<pilfer::detail::parcel> take() {
        std::vector<pilfer::detail::parcel> parcels;
        while (parcels.empty()) {
            parcels = work.take_half();
        }
        return parcels;
    }
    pilfer::pool pool;
    pilfer::detail::rank_work work;
};

/// Runs one function beside a branch that the test takes.
std::function<void()> beside;
struct offers {
    int kind;
    struct left {
        int kind;
        int operator()() const {
            beside();
            return kind == 1 ? throw std::runtime_error("left") : 1;
        }
    };
    int operator()() const {
        auto [a, b] = pilfer::cluster::join(left{kind}, offers{7});
        return a + b;
    }
};
PILFER_CLUSTER_TASK(offers);

/// Lets `beside` return. Until then it keeps its worker, which could run the branch otherwise.
struct hold {
    hold() {
        beside = [this] {
            while (!m_open) {
                std::this_thread::yield();
            }
        };
    }
    void open() { m_open = true; }

private:
    std::atomic<bool> m_open{false};
};

TEST(answer, parent_is_suspended_until_the_result_is_there) {
    one_rank r;
    hold left;
    r.start(offers{0});
    auto parcels = r.take();
    ASSERT_EQ(parcels.size(), 1u);
    archive in(parcels[0].description);
    EXPECT_EQ(in.take<offers>().kind, 7);
    left.open();
    // The only worker is free while the parent waits.
    EXPECT_EQ(r.pool.run([] { return 5; }), 5);
    EXPECT_FALSE(r.work.is_root_done());
    r.work.complete({.ticket = parcels[0].ticket, .bytes = [] {
                         archive out;
                         out.put(41);
                         return out.bytes();
                     }()});
    EXPECT_EQ(r.result<int>(), 42);
}

TEST(answer, error_is_thrown_in_the_parent) {
    one_rank r;
    hold left;
    r.start(offers{0});
    auto parcels = r.take();
    left.open();
    const std::string text = "far away";
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    r.work.complete(
        {.ticket = parcels[0].ticket, .rank = 3, .failed = 1, .bytes = {bytes, bytes + text.size()}});
    while (!r.work.is_root_done()) {
    }
    EXPECT_EQ(r.work.root().failed, 1);
    EXPECT_EQ(r.work.root().rank, 3u);
    EXPECT_EQ(r.work.root().bytes.size(), text.size());
}

TEST(answer, parent_that_throws_waits_for_the_branch_that_is_elsewhere) {
    one_rank r;
    hold left;
    r.start(offers{1});
    auto parcels = r.take();
    left.open();
    EXPECT_EQ(r.take_unwanted(), parcels[0].ticket);
    (void)r.pool.run([] { return 0; });
    EXPECT_FALSE(r.work.is_root_done()) << "its frame is known elsewhere";
    r.work.complete({.ticket = parcels[0].ticket});
    while (!r.work.is_root_done()) {
    }
    EXPECT_EQ(r.work.root().failed, 1);
    EXPECT_EQ(r.work.root().bytes.size(), 4u) << "left";
}

/// Waits inside of a scope until the test cancels it.
std::atomic<bool> cancels_now{false};
struct cancelled_offers {
    int operator()() const {
        pilfer::scope s;
        s.fork([] { (void)offers{0}(); });
        while (!cancels_now) {
            pilfer::yield();
        }
        s.cancel();
        s.sync();
        return 3;
    }
};
PILFER_CLUSTER_TASK(cancelled_offers);

TEST(answer, cancelled_parent_wants_no_result) {
    one_rank r(3);
    hold left;
    cancels_now = false;
    r.start(cancelled_offers{});
    auto parcels = r.take();
    left.open();
    EXPECT_TRUE(r.work.take_unwanted().empty());
    cancels_now = true;
    EXPECT_EQ(r.take_unwanted(), parcels[0].ticket);
    EXPECT_FALSE(r.work.is_root_done());
    r.work.complete({.ticket = parcels[0].ticket, .failed = 1});
    EXPECT_EQ(r.result<int>(), 3);
}

TEST(answer, branch_that_nobody_took_runs_here) {
    one_rank r;
    beside = [] {};
    r.start(fib{15});
    EXPECT_EQ(r.result<long>(), 610);
    EXPECT_EQ(r.work.available(), 0u);
}

TEST(answer, result_of_another_type_is_an_error) {
    one_rank r;
    hold left;
    r.start(offers{0});
    auto parcels = r.take();
    left.open();
    r.work.complete({.ticket = parcels[0].ticket, .bytes = std::vector<std::byte>(3)});
    while (!r.work.is_root_done()) {
    }
    EXPECT_EQ(r.work.root().failed, 1);
}

TEST(answer, unknown_ticket_is_refused) {
    one_rank r;
    EXPECT_THROW(r.work.complete({.ticket = 1}), pilfer::detail::balance_error);
}

pilfer::detail::parcel parcel_of(const fib& f, std::uint64_t ticket) {
    archive out;
    out.put(f);
    return {.origin = 2,
            .task = pilfer::detail::entry_of<fib>().number,
            .ticket = ticket,
            .description = std::move(out.bytes())};
}

template <class T>
pilfer::detail::parcel guest_of(const T& task, std::uint64_t ticket) {
    archive out;
    out.put(task);
    return {.origin = 2,
            .task = pilfer::detail::entry_of<T>().number,
            .ticket = ticket,
            .description = std::move(out.bytes())};
}

/// Ends only if it is cancelled: 0 by itself, 1 by a wait.
std::atomic<bool> loop_began{false};
struct endless_guest {
    int kind;
    int operator()() const {
        loop_began = true;
        while (kind == 0 && !pilfer::cancelled()) {
        }
        if (kind == 1) {
            pilfer::event never;
            never.wait();
        }
        return 5;
    }
};
PILFER_CLUSTER_TASK(endless_guest);

void expect_stopped(const pilfer::detail::local_work::finished& f, std::uint64_t ticket) {
    EXPECT_EQ(f.origin, 2u);
    EXPECT_EQ(f.result.ticket, ticket);
    EXPECT_EQ(f.result.failed, 1);
    const std::string text(reinterpret_cast<const char*>(f.result.bytes.data()), f.result.bytes.size());
    EXPECT_EQ(text, "the task was stopped");
}

TEST(dropped_guests, end_while_they_run) {
    one_rank r(2);
    for (const int kind : {0, 1}) {
        loop_began = false;
        r.work.start(guest_of(endless_guest{kind}, 7));
        while (!loop_began) {
            std::this_thread::yield();
        }
        r.work.drop(1, 7); // of another origin
        r.work.drop(2, 8);
        EXPECT_TRUE(r.work.take_finished().empty());
        r.work.drop(2, 7);
        const auto ended = r.take_finished();
        ASSERT_EQ(ended.size(), 1u);
        if (kind == 0) {
            archive in(ended[0].result.bytes);
            EXPECT_EQ(in.take<int>(), 5) << "it did not look at anything that throws";
        } else {
            expect_stopped(ended[0], 7);
        }
    }
}

TEST(dropped_guests, never_begin_if_they_wait) {
    one_rank r;
    std::atomic<bool> open{false};
    r.pool.submit([&] {
        while (!open) {
        }
    });
    loop_began = false;
    r.work.start(guest_of(endless_guest{0}, 7));
    r.work.drop(2, 7);
    const auto ended = r.take_finished(); // the only worker is busy
    ASSERT_EQ(ended.size(), 1u);
    expect_stopped(ended[0], 7);
    EXPECT_EQ(r.work.available(), 0u);
    r.work.drop(2, 7); // nothing is here
    open = true;
    (void)r.pool.run([] { return 0; });
    EXPECT_FALSE(loop_began);
    EXPECT_TRUE(r.work.take_finished().empty()) << "one result";
}

TEST(dropped_guests, may_come_after_they_were_dropped) {
    one_rank r;
    r.work.drop(2, 7);
    loop_began = false;
    r.work.start(guest_of(endless_guest{0}, 7));
    const auto ended = r.take_finished();
    ASSERT_EQ(ended.size(), 1u);
    expect_stopped(ended[0], 7);
    EXPECT_FALSE(r.work.has_guests());
    r.work.start(parcel_of({10}, 8));
    EXPECT_EQ(r.take_finished()[0].result.failed, 0) << "another parcel runs";
    EXPECT_FALSE(loop_began);
}

TEST(dropped_guests, run_if_their_drop_was_forgotten) {
    one_rank r;
    r.work.drop(2, 7);
    r.work.forget_drop(2, 7);
    r.work.start(parcel_of({10}, 7));
    EXPECT_EQ(r.take_finished()[0].result.failed, 0);
}

TEST(dropped_guests, are_forgotten_with_the_result_of_a_branch) {
    one_rank r;
    hold left;
    r.start(offers{0});
    const auto parcels = r.take();
    r.work.drop(0, parcels[0].ticket); // as if it could come back
    r.work.complete({.ticket = parcels[0].ticket, .failed = 1});
    left.open();
    auto again = parcel_of({10}, parcels[0].ticket);
    again.origin = 0;
    r.work.start(std::move(again));
    EXPECT_EQ(r.take_finished()[0].result.failed, 0);
}

TEST(dropped_guests, end_if_the_run_has_been_given_up) {
    one_rank r;
    loop_began = false;
    r.work.give_up("no reason");
    r.work.start(guest_of(endless_guest{0}, 7));
    expect_stopped(r.take_finished()[0], 7);
    EXPECT_FALSE(loop_began);
}

TEST(dropped_guests, have_one_result_whenever_the_drop_comes) {
    one_rank r(2);
    constexpr std::uint64_t many = 300;
    std::vector<int> results(many + 1);
    const auto count = [&] {
        for (const auto& f : r.work.take_finished()) {
            ++results.at(f.result.ticket);
        }
    };
    for (std::uint64_t t = 1; t <= many; ++t) {
        r.work.start(guest_of(endless_guest{static_cast<int>(t % 2)}, t));
        for (std::uint64_t wait = 0; wait < t % 7 * 20; ++wait) {
            (void)r.work.available();
        }
        r.work.drop(2, t);
        count();
    }
    while (r.work.has_guests()) {
        count();
    }
    count();
    EXPECT_EQ(std::ranges::count(results, 1), static_cast<std::ptrdiff_t>(many));
    EXPECT_EQ(results[0], 0);
}

TEST(dropped_guests, drop_their_own_branches) {
    one_rank r;
    hold left;
    r.work.start(guest_of(offers{0}, 7));
    auto parcels = r.take();
    while (parcels[0].origin == 2) { // the guest itself, which had not begun
        r.work.start(std::move(parcels[0]));
        parcels = r.take();
    }
    left.open();
    r.work.drop(2, 7);
    EXPECT_EQ(r.take_unwanted(), parcels[0].ticket);
    EXPECT_TRUE(r.work.take_finished().empty()) << "it waits for its branch";
    r.work.complete({.ticket = parcels[0].ticket, .failed = 1});
    expect_stopped(r.take_finished()[0], 7);
}

TEST(guests, run_and_answer_their_origin) {
    one_rank r(2);
    constexpr std::uint64_t many = 200;
    for (std::uint64_t t = 1; t <= many; ++t) {
        r.work.start(parcel_of({10}, t));
    }
    std::uint64_t seen = 0;
    std::uint64_t tickets = 0;
    while (seen < many) {
        for (auto& f : r.work.take_finished()) {
            ++seen;
            tickets += f.result.ticket;
            EXPECT_EQ(f.origin, 2u);
            archive in(f.result.bytes);
            EXPECT_EQ(in.take<long>(), 55);
        }
    }
    EXPECT_EQ(tickets, many * (many + 1) / 2);
}

TEST(guests, travel_on_while_no_worker_has_begun_them) {
    one_rank r;
    std::atomic<bool> go_on{false};
    std::atomic<bool> busy{false};
    r.pool.submit([&] {
        busy = true;
        while (!go_on) { // without giving the worker away
        }
    });
    while (!busy) {
    }
    for (std::uint64_t t = 1; t <= 8; ++t) {
        r.work.start(parcel_of({1}, t));
    }
    const auto away = r.work.take_half();
    ASSERT_EQ(away.size(), 4u);
    for (const auto& p : away) {
        EXPECT_EQ(p.origin, 2u);
        EXPECT_LE(p.ticket, 4u) << "the oldest ones";
    }
    go_on = true;
    std::size_t here = 0;
    while (here < 4) {
        here += r.work.take_finished().size();
    }
}

TEST(guests, that_come_together_are_one_submission) { // others would make busy workers yield
    one_rank r;
    hold worker;
    std::atomic<bool> busy{false};
    r.pool.submit([&] {
        busy = true;
        beside();
    });
    while (!busy) {
    }
    constexpr std::size_t many = 100;
    for (std::uint64_t t = 1; t <= many; ++t) {
        r.work.start(parcel_of({1}, t));
    }
    worker.open();
    for (std::size_t here = 0; here < many;) {
        here += r.work.take_finished().size();
    }
    EXPECT_EQ(r.pool.counters().run_submitted, 2u);
}

std::atomic<int> met{0};
/// Waits for the other one by 0: keeping its worker, 1: yielding, 2: suspended.
struct meets {
    int way;
    int operator()() const {
        static pilfer::event both;
        if (met.fetch_add(1) == 1) {
            both.set();
        }
        while (way == 0 && met != 2) {
        }
        while (way == 1 && met != 2) {
            pilfer::yield();
        }
        if (way == 2) {
            both.wait();
        }
        return 0;
    }
};
PILFER_CLUSTER_TASK(meets);

TEST(guests, that_come_together_do_not_wait_for_each_other) {
    for (const int way : {0, 1, 2}) {
        const unsigned workers = way == 0 ? 2 : 1;
        one_rank r(workers);
        met = 0;
        hold both;
        std::atomic<unsigned> busy{0};
        for (unsigned i = 0; i < workers; ++i) {
            r.pool.submit([&] {
                ++busy;
                beside();
            });
        }
        while (busy < workers) {
        }
        r.work.start(guest_of(meets{way}, 1));
        r.work.start(guest_of(meets{way}, 2));
        both.open();
        for (std::size_t here = 0; here < 2;) {
            here += r.work.take_finished().size();
        }
    }
}

TEST(guests, description_that_is_none_is_an_error_of_the_task) {
    one_rank r;
    auto p = parcel_of({1}, 1);
    p.description.pop_back();
    r.work.start(std::move(p));
    std::vector<pilfer::detail::local_work::finished> ended;
    while (ended.empty()) {
        ended = r.work.take_finished();
    }
    EXPECT_EQ(ended[0].result.failed, 1);
}

TEST(bounds, travel_once_and_only_if_better) {
    (void)session().run(fib{1}); // begins with the worst value
    one_rank r;
    const std::uint64_t number = number_of(smallest);
    const auto news = [&](int value) {
        archive out;
        out.put(value);
        out.bytes().resize(8);
        return pilfer::detail::parcel_result{.ticket = number, .bytes = out.bytes()};
    };
    EXPECT_TRUE(r.work.take_bounds().empty());
    (void)smallest.improve(900);
    (void)smallest.improve(800);
    EXPECT_THAT(r.work.take_bounds(), testing::ElementsAre(news(800)));
    EXPECT_TRUE(r.work.take_bounds().empty());
    r.work.learn_bound(news(850));
    EXPECT_EQ(smallest.get(), 800);
    r.work.learn_bound(news(700));
    EXPECT_EQ(smallest.get(), 700);
    EXPECT_TRUE(r.work.take_bounds().empty()) << "its sender has told all others";
    (void)smallest.improve(600);
    r.work.learn_bound(news(650));
    EXPECT_THAT(r.work.take_bounds(), testing::ElementsAre(news(600)));
}

TEST(journal, part_of_another_rank_without_a_journal_is_refused) {
    one_rank r;
    EXPECT_TRUE(r.work.take_parts().empty());
    EXPECT_THROW(r.work.keep_part({.ticket = 0}), pilfer::detail::balance_error);
    pilfer::detail::journal collects(false, 3);
    const pilfer::detail::set_while<pilfer::detail::journal> here(pilfer::detail::journal::current,
                                                                  &collects);
    EXPECT_THROW(r.work.keep_part({.ticket = 0}), pilfer::detail::balance_error) << "no file";
    collects.keep({2, std::vector<std::byte>(5)});
    EXPECT_THAT(r.work.take_parts(), testing::ElementsAre(pilfer::detail::parcel_result{
                                         .ticket = 2, .bytes = std::vector<std::byte>(5)}));
    EXPECT_TRUE(r.work.take_parts().empty());
}

TEST(journal, part_beyond_the_range_is_refused) {
    one_rank r;
    const journal_files::temporary_file file;
    pilfer::detail::journal writes(true, 3);
    const pilfer::detail::set_while<pilfer::detail::journal> here(pilfer::detail::journal::current, &writes);
    (void)writes.open(file.path, {"t", 0, 3, 1}, [](archive& in) { (void)in.take<int>(); });
    EXPECT_THROW(r.work.keep_part({.ticket = 3}), pilfer::detail::balance_error);
    EXPECT_NO_THROW(r.work.keep_part({.ticket = 2, .bytes = std::vector<std::byte>(4)}));
}

TEST(hunger, is_there_once_a_worker_has_nothing_to_do) {
    one_rank r;
    std::atomic<bool> go_on{false};
    std::atomic<bool> busy{false};
    r.pool.submit([&] {
        busy = true;
        while (!go_on) {
        }
    });
    while (!busy) {
    }
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(r.work.hungry()) << "the only worker is busy";
    }
    go_on = true;
    while (!r.work.hungry()) {
        std::this_thread::yield();
    }
    r.work.start(parcel_of({1}, 1));
    while (r.work.take_finished().empty()) {
    }
    EXPECT_FALSE(r.work.hungry()) << "asks anew";
}

TEST(hunger, is_an_event_that_the_last_look_beside_work_has_prepared) {
    one_rank r;
    hold left;
    r.start(offers{0});
    while (r.work.available() == 0) {
        std::this_thread::yield();
    }
    EXPECT_FALSE(r.work.hungry());
    auto parcels = r.take();
    const std::uint32_t seen = r.work.events();
    left.open(); // now the only worker has nothing but a parent that waits
    while (r.work.events() == seen) {
        r.work.sleep(seen, 3'600'000'000'000);
    }
    EXPECT_TRUE(r.work.hungry());
    r.work.complete({.ticket = parcels.at(0).ticket, .failed = 1});
    while (!r.work.is_root_done()) {
    }
}

TEST(sleep, branch_ends_it_if_another_rank_waits_for_one) {
    one_rank r;
    hold left; // so that no other event comes
    const std::uint32_t seen = r.work.events();
    r.work.await_branch(true);
    r.start(offers{0});
    while (r.work.events() == seen) {
        r.work.sleep(seen, 3'600'000'000'000);
    }
    auto parcels = r.take();
    left.open();
    r.work.complete({.ticket = parcels.at(0).ticket, .failed = 1});
    while (!r.work.is_root_done()) {
    }
}

} // namespace
