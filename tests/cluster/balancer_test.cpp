// The balancing between ranks, in one process: exact results for every order of messages, silence without
// work, and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cluster/pace.hpp"
#include "cluster/simulated.hpp"
#include "support/harness.hpp"

namespace {

using namespace simulated;

constexpr std::uint64_t most_steps = 2'000'000;

TEST(balancing, result_is_exact_for_every_order_of_messages) {
    constexpr unsigned rounds = 40;
    std::uint64_t moved = 0;
    for (const unsigned ranks : {2u, 3u, 4u, 7u, 8u, 16u}) {
        for (unsigned round = 0; round < rounds; ++round) {
            const node root{.depth = 7, .state = (round + 3) * 0x1234'5678'9abcu};
            const std::uint64_t longest_delay = round % 3 == 0 ? 0 : (round % 3 == 1 ? 5 : 100);
            simulated::cluster all(ranks, round * 100 + ranks, longest_delay);
            all.works[0]->start_root(root);
            std::uint64_t steps = 0;
            while (!all.is_over() && ++steps < most_steps) {
                all.step();
            }
            ASSERT_TRUE(all.is_over()) << ranks << " ranks, round " << round;
            EXPECT_TRUE(all.net.is_empty()) << "a message would be received in the next run";
            std::uint64_t run = 0;
            for (unsigned r = 0; r < ranks; ++r) {
                archive in(all.balancers[r]->end().bytes);
                EXPECT_EQ(in.take<std::uint64_t>(), root.count()) << "rank " << r;
                EXPECT_TRUE(all.works[r]->is_empty()) << "rank " << r;
                EXPECT_EQ(all.works[r]->best, all.offers) << "rank " << r << " has not heard the last offer";
                run += all.works[r]->nodes_run;
                moved += all.balancers[0]->tallies()[r].stats.tasks_in;
            }
            EXPECT_EQ(all.works[0]->parts_kept(), root.count()) << "a part is missing in the journal";
            EXPECT_EQ(run, root.count()) << "a node ran twice, or never";
            EXPECT_EQ(all.balancers[0]->tallies().size(), ranks);
        }
    }
    EXPECT_GT(moved, 1000u) << "nothing was balanced";
}

TEST(balancing, endless_work_ends_when_its_parent_wants_it_no_longer) {
    std::uint64_t moved = 0;
    for (const unsigned ranks : {2u, 3u, 5u, 8u}) {
        for (unsigned round = 0; round < 12; ++round) {
            simulated::cluster all(ranks, round * 100 + ranks,
                                   round % 3 == 0 ? 0 : (round % 3 == 1 ? 5 : 100));
            all.works[0]->start_root({.depth = 4, .state = round, .is_endless = true});
            for (unsigned n = 0; n < 20 + round * 50; ++n) {
                all.step();
            }
            ASSERT_FALSE(all.is_over());
            all.works[0]->cancel_root();
            std::uint64_t steps = 0;
            while (!all.is_over() && ++steps < 20'000) {
                all.step();
            }
            ASSERT_TRUE(all.is_over()) << ranks << " ranks, round " << round;
            EXPECT_TRUE(all.net.is_empty()) << "a message would be received in the next run";
            for (unsigned r = 0; r < ranks; ++r) {
                EXPECT_TRUE(all.works[r]->is_empty()) << "rank " << r;
                moved += all.balancers[0]->tallies()[r].stats.tasks_in;
            }
        }
    }
    EXPECT_GT(moved, 1000u) << "nothing was elsewhere";
}

TEST(pace, sleeps_are_a_part_of_the_time_without_motion) {
    using pilfer::detail::looks_for;
    for (const looks_for what : {looks_for::work, looks_for::transfer}) {
        pilfer::detail::pace looks;
        std::uint64_t slept = 0;
        std::uint64_t before = 0;
        for (int i = 0; i < 2000; ++i) {
            const std::uint64_t pause = looks.pause(what);
            EXPECT_GE(pause, before);
            EXPECT_LE(pause, std::max<std::uint64_t>(20'000, slept / 16))
                << "a message waits longer than that";
            before = pause;
            slept += pause;
            looks.slept(what);
        }
        EXPECT_EQ(looks.pause(what), what == looks_for::transfer ? 100'000u : 2'000'000u);
        looks.moved();
        EXPECT_EQ(looks.pause(what), 20'000u);
        looks.slept(what);
        EXPECT_EQ(looks.pause(what), 20'000u) << "begins anew";
    }
}

TEST(pace, looks_are_rare_beside_work_unless_a_rank_has_rung) {
    using pilfer::detail::looks_for;
    pilfer::detail::pace looks;
    constexpr std::uint64_t longest = 500'000;
    EXPECT_EQ(looks.pause(looks_for::asks), longest);
    looks.rung();
    for (std::uint64_t pause = 20'000; pause < longest; pause *= 2) {
        EXPECT_EQ(looks.pause(looks_for::asks), pause);
        looks.slept(looks_for::asks);
    }
    EXPECT_EQ(looks.pause(looks_for::asks), longest);
    looks.rung();
    looks.moved();
    EXPECT_EQ(looks.pause(looks_for::asks), longest) << "the message was there";
}

TEST(balancing, every_rank_gets_work) {
    simulated::cluster all(8, 5, 3);
    const node root{.depth = 13, .state = 0x7777'1234'5678u};
    ASSERT_GT(root.count(), 2000u);
    all.works[0]->start_root(root);
    for (std::uint64_t steps = 0; !all.is_over() && steps < most_steps; ++steps) {
        all.step();
    }
    ASSERT_TRUE(all.is_over());
    for (const auto& work : all.works) {
        EXPECT_GT(work->nodes_run, root.count() / 100);
    }
}

TEST(balancing, ranks_without_work_are_silent) {
    simulated::cluster all(8, 1, 3);
    for (auto& b : all.balancers) {
        EXPECT_FALSE(b->is_awaited());
    }
    for (int i = 0; i < 500; ++i) {
        all.step();
    }
    const auto asks = [&] { return all.net.sent; };
    const std::uint64_t before = asks();
    for (int i = 0; i < 100'000; ++i) {
        all.step();
    }
    // The beats: one per rank and thousand steps.
    EXPECT_LE(asks() - before, 8u * 101);
    for (auto& b : all.balancers) {
        EXPECT_TRUE(b->is_awaited()) << "each end of a lifeline has promised";
    }
}

TEST(balancing, sleeping_ranks_are_sent_work_that_comes_later) {
    simulated::cluster all(5, 3, 3);
    for (int i = 0; i < 500; ++i) {
        all.step();
    }
    const std::uint64_t asks = all.net.wakes;
    const node root{.depth = 12, .state = 0x7777'1234'5678u};
    all.works[0]->start_root(root);
    for (std::uint64_t steps = 0; !all.is_over() && steps < most_steps; ++steps) {
        all.step();
    }
    ASSERT_TRUE(all.is_over());
    EXPECT_GT(all.net.wakes, asks);
    for (const auto& work : all.works) {
        EXPECT_GT(work->nodes_run, 0u);
    }
}

TEST(balancing, rank_without_an_answer_asks_another_one) {
    simulated::cluster all(8, 2, 0);
    const std::uint64_t patience = simulated::cluster::short_patience;
    const auto asks_at = [&](std::uint64_t time) {
        all.net.now = time;
        while (all.balancers[5]->step(time)) {
        }
        return all.net.wakes; // each ask rings
    };
    EXPECT_EQ(asks_at(1), 1u);
    EXPECT_EQ(asks_at(patience), 1u) << "the answer may still come";
    EXPECT_EQ(asks_at(1 + patience), 2u);
    EXPECT_EQ(asks_at(1 + 2 * patience), 3u);
    for (std::uint64_t i = 3; i < 20; ++i) {
        EXPECT_LE(asks_at(1 + i * patience), 4u) << "a random rank and three lifelines, each once";
    }
    const node root{.depth = 9, .state = 0x7777'1234'5678u};
    all.works[0]->start_root(root);
    for (std::uint64_t steps = 0; !all.is_over() && steps < most_steps; ++steps) {
        all.step();
    }
    ASSERT_TRUE(all.is_over());
    EXPECT_EQ(all.works[0]->total, root.count());
}

/// The asks of rank 0 in its steps at this time, with all that ranks 1 and 2 have sent: each rings.
std::uint64_t asks_at(simulated::cluster& all, std::uint64_t time) {
    const std::uint64_t before = all.net.wakes;
    all.net.now = time;
    while (all.balancers[0]->step(time) || all.net.is_under_way(1, 0) || all.net.is_under_way(2, 0)) {
    }
    return all.net.wakes - before;
}

TEST(balancing, late_rank_does_not_delay_asks_of_those_that_answer) {
    const std::uint64_t late = 1 + simulated::cluster::short_patience;
    for (std::uint64_t seed = 2;; seed += 2) {
        simulated::cluster all(4, seed, 0);
        EXPECT_EQ(asks_at(all, 1), 1u);
        if (!all.net.is_under_way(0, 3)) {
            continue; // the random rank was a lifeline
        }
        EXPECT_EQ(asks_at(all, late), 1u);
        EXPECT_EQ(asks_at(all, late), 0u);
        while (all.net.is_under_way(0, 1)) {
            (void)all.balancers[1]->step(late); // has nothing
        }
        EXPECT_EQ(asks_at(all, late), 1u);
        return;
    }
}

TEST(balancing, large_answer_that_is_arriving_is_not_late) {
    simulated::cluster all(4, 2, 0);
    const std::uint64_t late = 1 + simulated::cluster::short_patience;
    EXPECT_EQ(asks_at(all, 1), 1u);
    all.net.is_receiving = true;
    EXPECT_EQ(asks_at(all, late), 0u);
    all.net.is_receiving = false;
    EXPECT_EQ(asks_at(all, late), 1u);
}

TEST(balancing, silent_rank_is_named) {
    simulated::cluster all(3, 1, 3, 50'000);
    for (int i = 0; i < 3000; ++i) {
        all.step();
    }
    // Rank 1 is dead from here on: rank 2 hears nothing from it.
    testing::internal::CaptureStderr();
    try {
        for (int i = 0; i < 100'000; ++i) {
            ++all.net.now;
            (void)all.balancers[0]->step(all.net.now);
            (void)all.balancers[2]->step(all.net.now);
        }
        ADD_FAILURE() << "nobody has noticed";
    } catch (const detail::balance_error& e) {
        EXPECT_THAT(e.what(), testing::HasSubstr("rank 1 has been silent"));
    }
    const std::string warning = testing::internal::GetCapturedStderr(); // once, before the end
    EXPECT_THAT(warning, testing::StartsWith("pilfer::cluster: nothing from rank 1 for"));
    EXPECT_EQ(std::count(warning.begin(), warning.end(), '\n'), 1);
}

TEST(balancing, rank_that_was_stopped_itself_accuses_nobody) {
    simulated::cluster all(2, 1, 3, 50'000);
    for (int i = 0; i < 3000; ++i) {
        all.step();
    }
    // Messages are in the system, but have not reached this process yet.
    all.net.now += 1'000'000;
    EXPECT_NO_THROW((void)all.balancers[0]->step(all.net.now));
    EXPECT_NO_THROW((void)all.balancers[0]->step(all.net.now + 1));
}

TEST(balancing, idle_time_lasts_to_the_end) {
    simulated::cluster all(2, 1, 3);
    for (int i = 0; i < 1000; ++i) {
        all.step();
    }
    all.works[0]->start_root({.depth = 0, .state = 0});
    for (std::uint64_t steps = 0; !all.is_over() && steps < most_steps; ++steps) {
        all.step();
    }
    ASSERT_TRUE(all.is_over());
    EXPECT_GT(all.balancers[0]->tallies()[1].stats.idle_ns, 900u) << "this rank never had work";
}

TEST(balancing, rank_that_has_not_come_yet_is_waited_for) {
    simulated::cluster all(2, 1, 3, 50'000);
    for (int i = 0; i < 200'000; ++i) {
        ++all.net.now;
        EXPECT_NO_THROW((void)all.balancers[0]->step(all.net.now));
    }
}

struct lone_rank {
    lone_rank() : all(3, 1, 0) {}
    /// The error of rank 0 about a message of rank 1.
    std::string refusal(std::vector<std::byte> bytes) {
        all.net.send(1, 0, std::move(bytes));
        ++all.net.now;
        try {
            (void)all.balancers[0]->step(all.net.now);
        } catch (const detail::balance_error& e) {
            return e.what();
        }
        return "";
    }
    simulated::cluster all;
};

TEST(balancing, wrong_messages_are_refused_with_the_name_of_their_sender) {
    using detail::message_kind;
    const auto refused = [](const detail::message& m) { return lone_rank().refusal(detail::encode(m)); };
    EXPECT_THAT(lone_rank().refusal(std::vector<std::byte>(3)), testing::StartsWith("rank 1 sent"));
    EXPECT_THAT(refused({.kind = message_kind::done, .results = {{}}}),
                testing::HasSubstr("rank 1 sent an end that is not its to say"));
    EXPECT_THAT(refused({.kind = message_kind::results, .results = {{.ticket = 9}}}),
                testing::HasSubstr("an unknown ticket"));
    EXPECT_THAT(refused({.kind = message_kind::give, .parcels = {{.task = 1}}}),
                testing::HasSubstr("a task that this program does not have"));
    EXPECT_EQ(refused({.kind = message_kind::beat}), "");
}

TEST(balancing, other_call_on_another_rank_is_named) {
    simulated::network net(2, 1, 0);
    simulated::end_point end(net, 1);
    simulated::tree_work work(1);
    detail::balancer::settings s;
    s.tasks = 2;
    s.root = 1;
    detail::balancer b(end, work, s);
    net.send(0, 1, detail::encode({.kind = detail::message_kind::done, .task = 0, .results = {{}}}));
    ++net.now;
    try {
        (void)b.step(net.now);
        ADD_FAILURE() << "accepted";
    } catch (const detail::balance_error& e) {
        EXPECT_THAT(e.what(), testing::HasSubstr("not in the same call"));
    }
}

} // namespace
