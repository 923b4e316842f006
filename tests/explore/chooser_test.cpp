// Choices, their texts, and the search of all of them: values only.
#include "search/chooser.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using pilfer::detail::chooser;
using pilfer::detail::deviation;
using pilfer::detail::plan;
using pilfer::detail::plan_of;
using pilfer::detail::search_tree;
using pilfer::detail::text_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

[[nodiscard]] std::string refusal(const std::string& text) {
    try {
        (void)plan_of(text);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "taken";
}

TEST(schedule_text, comes_back) {
    for (const char* const text :
         {"d1:", "d1:0", "d1:12.2-28", "d1:5-1.7-1", "r1:17", "r1:17:2", "c1:9:3:250", "c1:9:3:250:1",
          "d1:@0:7", "d1:4-2@9:4294967295", "r1:17@3:4", "r1:17:2@3:4", "c1:9:3:250:1@3:4"}) {
        EXPECT_EQ(text_of(plan_of(text)), text);
    }
    EXPECT_THAT(plan_of("d1:12.2-28").script, ElementsAre(deviation{12, 2}, deviation{40, 1}));
}

TEST(schedule_text, says_what_is_wrong) {
    EXPECT_THAT(refusal(""), HasSubstr("begins with none of"));
    EXPECT_THAT(refusal("d2:1"), HasSubstr("begins with none of"));
    EXPECT_THAT(refusal("d1:x"), HasSubstr("a number is missing"));
    EXPECT_THAT(refusal("d1:3-"), HasSubstr("a number is missing"));
    EXPECT_THAT(refusal("d1:3 4"), HasSubstr("not separated by -"));
    EXPECT_THAT(refusal("d1:3.0"), HasSubstr("a choice is 0"));
    EXPECT_THAT(refusal("d1:3-0"), HasSubstr("two choices at one place"));
    EXPECT_THAT(refusal("d1:99999999999999999999"), HasSubstr("too large"));
    EXPECT_THAT(refusal("d1:3.4294967296"), HasSubstr("too large"));
    EXPECT_THAT(refusal("r1:"), HasSubstr("a number is missing"));
    EXPECT_THAT(refusal("r1:1:2:3"), HasSubstr("after its end"));
    EXPECT_THAT(refusal("r1:1x"), HasSubstr("after its end"));
    EXPECT_THAT(refusal("c1:1"), HasSubstr("depth is missing"));
    EXPECT_THAT(refusal("c1:1:2"), HasSubstr("length is missing"));
    EXPECT_THAT(refusal("c1:1:1001:5"), HasSubstr("too large"));
    EXPECT_THAT(refusal("d1:4@"), HasSubstr("a number is missing"));
    EXPECT_THAT(refusal("d1:4@9"), HasSubstr("fingerprint has no end"));
    EXPECT_THAT(refusal("d1:4@9:"), HasSubstr("a number is missing"));
    EXPECT_THAT(refusal("d1:4@9:4294967296"), HasSubstr("too large"));
    EXPECT_THAT(refusal("r1:4@9:1@"), HasSubstr("after its end"));
    EXPECT_THAT(refusal(std::string(5000, '1')), HasSubstr("4,096"));
}

TEST(text, has_faults_and_whose_it_is) {
    const plan p = plan_of("main:d1:3!2mi@6:1");
    EXPECT_TRUE(p.of_main);
    EXPECT_EQ(p.faults, (pilfer::detail::chosen_faults{2, true, true}));
    for (const char* const text : {"main:d1:3!2mi@6:1", "d1:3!7", "r1:5:2!1m@6:1", "main:c1:5:3:9!1i"}) {
        EXPECT_EQ(text_of(plan_of(text)), text);
    }
    EXPECT_THAT(refusal("d1:3!"), HasSubstr("a number is missing"));
    EXPECT_THAT(refusal("d1:3!1im"), HasSubstr("after its end"));
}

/// Two tasks of three steps each, in the order in which the chooser wants them.
[[nodiscard]] std::string interleaved(chooser& c, const plan& p) {
    c.begin(p);
    std::vector<std::uint32_t> left{3, 3};
    std::string order;
    std::uint32_t now = 0; // the running task, 1 or 2; 0: none
    while (left[0] + left[1] != 0) {
        std::vector<std::uint32_t> tasks;
        if (now != 0 && left[now - 1] != 0) {
            tasks.push_back(now);
        }
        for (std::uint32_t i = 1; i <= 2; ++i) {
            if (left[i - 1] != 0 && i != now) {
                tasks.push_back(i);
            }
        }
        const bool runs = now != 0 && left[now - 1] != 0;
        now = tasks[c.choose(tasks, runs)];
        --left[now - 1];
        order += static_cast<char>('0' + now);
    }
    return order;
}

TEST(chooser, usual_choices_preempt_nothing) {
    chooser c;
    EXPECT_EQ(interleaved(c, {}), "111222");
    EXPECT_TRUE(deviations(c.taken()).empty());
}

TEST(chooser, equal_seeds_choose_alike) {
    for (const auto how : {plan::kind::random, plan::kind::pct}) {
        std::set<std::string> orders;
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            plan p;
            p.how = how;
            p.seed = seed;
            p.depth = 3;
            p.length = 6;
            chooser one;
            chooser other;
            const std::string order = interleaved(one, p);
            EXPECT_EQ(order, interleaved(other, p));
            EXPECT_EQ(order, interleaved(other, plan_of(text_of(p))));
            plan script;
            script.script = deviations(one.taken());
            EXPECT_EQ(order, interleaved(other, script)) << "the choices themselves lead there, too";
            orders.insert(order);
        }
        EXPECT_GT(orders.size(), how == plan::kind::random ? 15U : 5U);
    }
}

/// Three tasks of two steps. An error of depth 3 may need either order of the two that were lowered.
TEST(chooser, pct_lowers_two_tasks_in_either_order) {
    std::set<std::string> orders;
    for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
        plan p;
        p.how = plan::kind::pct;
        p.seed = seed;
        p.depth = 3;
        p.length = 6;
        chooser c;
        c.begin(p);
        std::vector<unsigned> left{2, 2, 2};
        std::string order;
        for (std::uint32_t now = 0; order.size() < 6;) {
            std::vector<std::uint32_t> tasks;
            const bool runs = now != 0 && left[now - 1] != 0;
            if (runs) {
                tasks.push_back(now);
            }
            for (std::uint32_t i = 1; i <= 3; ++i) {
                if (left[i - 1] != 0 && i != now) {
                    tasks.push_back(i);
                }
            }
            now = tasks[c.choose(tasks, runs)];
            --left[now - 1];
            order += static_cast<char>('0' + now);
        }
        orders.insert(order);
    }
    EXPECT_EQ(orders.count("123312"), 1U);
    EXPECT_EQ(orders.count("123321"), 1U);
    EXPECT_EQ(orders.count("121323"), 0U) << "needs three changes";
}

TEST(chooser, bounds_preemptions) {
    plan p;
    p.how = plan::kind::random;
    p.preemptions = 1;
    for (p.seed = 0; p.seed < 100; ++p.seed) {
        chooser c;
        const std::string order = interleaved(c, p);
        int changes = 0;
        for (std::size_t i = 1; i < order.size(); ++i) {
            changes += order[i] != order[i - 1] ? 1 : 0;
        }
        EXPECT_LE(changes, 2) << order; // one of them where a task ends
        plan script;
        script.script = deviations(c.taken());
        chooser other;
        EXPECT_EQ(order, interleaved(other, script)) << "without a bound, too";
    }
}

TEST(search_tree, visits_each_order_once) {
    search_tree tree(UINT64_MAX);
    std::set<std::string> orders;
    chooser c;
    unsigned runs = 0;
    do {
        orders.insert(interleaved(c, tree.next()));
        ++runs;
    } while (tree.advance(c.taken()));
    EXPECT_EQ(orders.size(), 20U); // 6 over 3
    EXPECT_EQ(runs, 20U);
}

TEST(search_tree, estimates_its_size) {
    search_tree tree(UINT64_MAX);
    EXPECT_EQ(tree.estimate(), 0);
    chooser c;
    plan p;
    p.how = plan::kind::random;
    for (p.seed = 0; p.seed < 4000; ++p.seed) {
        (void)interleaved(c, p);
        tree.probe(c.taken());
    }
    EXPECT_NEAR(tree.estimate(), 20, 1);
}

} // namespace
