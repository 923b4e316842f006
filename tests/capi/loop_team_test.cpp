// <pilfer/pilfer_algorithm.h>: loops that follow each other.
#include <pilfer/pilfer_algorithm.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

class c_loop_teams : public over_workers {};
PILFER_OVER_WORKERS(c_loop_teams);

struct visits {
    std::vector<std::atomic<unsigned>> of = std::vector<std::atomic<unsigned>>(1000);
    std::atomic<std::uint64_t> late{0};
    pilfer_loop_team* team = nullptr;
    std::atomic<int> code{0};
};
void visit_once(std::uint64_t, std::size_t begin, std::size_t end, void* arg) {
    for (std::size_t i = begin; i < end; ++i) {
        ++static_cast<visits*>(arg)->of[i];
    }
}

TEST_P(c_loop_teams, a_team_runs_loops_that_follow_each_other) {
    const c_pool pool(GetParam());
    pool.run([] {
        pilfer_loop_team* team = nullptr;
        ASSERT_EQ(pilfer_loop_team_new(&team, 0, 0), 0);
        EXPECT_EQ(pilfer_loop_team_members(team), GetParam());
        for (std::size_t n = 0; n <= 300; ++n) {
            visits seen;
            EXPECT_EQ(pilfer_loop_team_run(team, 3, 5, 5 + n, visit_once, &seen), 0);
            for (std::size_t i = 0; i < 1000; ++i) {
                ASSERT_EQ(seen.of[i], i >= 5 && i < 5 + n ? 3U : 0U) << n;
            }
        }
        EXPECT_EQ(pilfer_loop_team_free(team), 0);
    });
}

TEST_P(c_loop_teams, a_phase_of_a_team_begins_after_the_phase_before_it) {
    const c_pool pool(GetParam());
    pool.run([] {
        pilfer_loop_team* team = nullptr;
        ASSERT_EQ(pilfer_loop_team_new(&team, 0, 16), 0);
        visits seen;
        const auto look = [](std::uint64_t phase, std::size_t begin, std::size_t end, void* arg) {
            auto& all = *static_cast<visits*>(arg);
            for (std::size_t i = begin; i < end; ++i) {
                // The mirror image was counted by another part of the phase before.
                all.late += all.of[999 - i].load() < phase ? 1 : 0;
                ++all.of[i];
            }
        };
        EXPECT_EQ(pilfer_loop_team_run(team, 200, 0, 1000, look, &seen), 0);
        EXPECT_EQ(seen.late, 0);
        EXPECT_TRUE(std::ranges::all_of(seen.of, [](const auto& one) { return one == 200; }));
        EXPECT_EQ(pilfer_loop_team_free(team), 0);
    });
}

TEST_P(c_loop_teams, a_team_refuses_misuse) {
    const c_pool pool(GetParam());
    EXPECT_EQ(pilfer_loop_team_new(nullptr, 1, 1), PILFER_EINVAL);
    pilfer_loop_team* none = reinterpret_cast<pilfer_loop_team*>(&none);
    EXPECT_EQ(pilfer_loop_team_new(&none, 4097, 1), PILFER_EINVAL);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(pilfer_loop_team_new(&none, 1, 17), PILFER_EINVAL);
    EXPECT_EQ(pilfer_loop_team_members(nullptr), 0U);
    EXPECT_EQ(pilfer_loop_team_run(nullptr, 1, 0, 1, visit_once, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_loop_team_free(nullptr), 0);
    pool.run([] {
        visits seen;
        ASSERT_EQ(pilfer_loop_team_new(&seen.team, 0, 0), 0);
        EXPECT_EQ(pilfer_loop_team_run(seen.team, 1, 0, 1, nullptr, nullptr), PILFER_EINVAL);
        EXPECT_EQ(pilfer_loop_team_run(seen.team, 5, 7, 3, visit_once, &seen), 0); // an empty range
        // In a body of the team, and in another task.
        const auto in_body = [](std::uint64_t, std::size_t, std::size_t, void* arg) {
            auto& all = *static_cast<visits*>(arg);
            EXPECT_EQ(pilfer_loop_team_run(all.team, 1, 0, 1, visit_once, &all), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_loop_team_free(all.team), PILFER_EUSAGE);
            ++all.code;
        };
        EXPECT_EQ(pilfer_loop_team_run(seen.team, 1, 0, 10, in_body, &seen), 0);
        EXPECT_GT(seen.code, 0);
        pilfer_scope scope;
        EXPECT_EQ(pilfer_scope_begin(&scope), 0);
        const auto in_child = [](void* arg) {
            auto& all = *static_cast<visits*>(arg);
            EXPECT_EQ(pilfer_loop_team_run(all.team, 1, 0, 1, visit_once, &all), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_loop_team_free(all.team), PILFER_EUSAGE);
        };
        EXPECT_EQ(pilfer_scope_fork(&scope, in_child, &seen), 0);
        EXPECT_EQ(pilfer_scope_end(&scope), 0);
        EXPECT_EQ(pilfer_loop_team_run(seen.team, 1, 0, 1000, visit_once, &seen), 0);
        EXPECT_TRUE(std::ranges::all_of(seen.of, [](const auto& one) { return one == 1; }));
        EXPECT_EQ(pilfer_loop_team_free(seen.team), 0);
    });
}

TEST_P(c_loop_teams, a_cancelled_task_runs_no_loop_of_its_team_and_frees_it) {
    const c_pool pool(GetParam());
    pool.run([] {
        pilfer_scope scope;
        EXPECT_EQ(pilfer_scope_begin(&scope), 0);
        std::atomic<int> freed{1};
        struct both {
            pilfer_scope* scope;
            std::atomic<int>* freed;
        };
        both arg{&scope, &freed};
        const auto child = [](void* data) {
            const auto& b = *static_cast<both*>(data);
            visits seen;
            pilfer_loop_team* team = nullptr;
            EXPECT_EQ(pilfer_loop_team_new(&team, 0, 0), 0);
            EXPECT_EQ(pilfer_loop_team_run(team, 1, 0, 1000, visit_once, &seen), 0);
            EXPECT_EQ(pilfer_scope_cancel(b.scope), 0);
            EXPECT_EQ(pilfer_loop_team_run(team, 1, 0, 1000, visit_once, &seen), PILFER_ECANCELED);
            EXPECT_TRUE(std::ranges::all_of(seen.of, [](const auto& one) { return one == 1; }));
            *b.freed = pilfer_loop_team_free(team);
        };
        EXPECT_EQ(pilfer_scope_fork(&scope, child, &arg), 0);
        EXPECT_EQ(pilfer_scope_end(&scope), 0);
        EXPECT_EQ(freed, 0);
    });
}

TEST_P(c_loop_teams, a_cancellation_ends_the_phases_of_a_team) {
    const c_pool pool(GetParam());
    pool.run([] {
        struct state {
            pilfer_scope* scope;
            std::atomic<std::uint64_t> last{0};
            std::atomic<int> code{0};
        };
        constexpr std::uint64_t phases = 1'000'000'000;
        pilfer_scope scope;
        EXPECT_EQ(pilfer_scope_begin(&scope), 0);
        state arg{&scope};
        const auto child = [](void* data) {
            auto& a = *static_cast<state*>(data);
            pilfer_loop_team* team = nullptr;
            EXPECT_EQ(pilfer_loop_team_new(&team, 0, 0), 0);
            const auto body = [](std::uint64_t phase, std::size_t, std::size_t, void* to) {
                auto& all = *static_cast<state*>(to);
                all.last = phase;
                if (phase == 10) {
                    EXPECT_EQ(pilfer_scope_cancel(all.scope), 0);
                }
            };
            a.code = pilfer_loop_team_run(team, phases, 0, 64, body, data);
            EXPECT_EQ(pilfer_loop_team_free(team), 0);
        };
        EXPECT_EQ(pilfer_scope_fork(&scope, child, &arg), 0);
        EXPECT_EQ(pilfer_scope_end(&scope), 0);
        EXPECT_EQ(arg.code, PILFER_ECANCELED);
        EXPECT_LT(arg.last, phases - 1);
    });
}

} // namespace
