// Every exposure policy on one script of pushes, pops and visits, and the tasks that an owner exposes on
// request.
#include "balance/exposure.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/harness.hpp"

namespace {

using namespace support;
using pilfer::exposure;
using pilfer::steal_amount;
using pilfer::balance::exposer;
using pilfer::balance::load;
using pilfer::balance::steal_batch;

class exposure_policies : public guarded {};

/// p: the owner announces, o: it takes its newest back, v: a thief comes for one.
constexpr std::string_view script = "vpoppvppvpvvpppoovpppppvvvoppvppovvvpppo";
static_assert(script.size() == 40);

/// Counts instead of tasks. The trace has one character for each step of the script:
/// * a digit: a push, which exposed so many tasks;
/// * o, b, -: a pop from the private part, from the shared part, from nowhere;
/// * v: a theft; ?: nothing is shared, so the thief asks and waits until it gets something.
class model {
public:
    explicit model(exposure policy, pilfer::exposure_threshold threshold = {}, std::uint64_t eager = 4)
        : m_exposer(policy, threshold, eager) {}
    [[nodiscard]] std::string trace() {
        std::string all;
        for (const char step : script) {
            all.push_back(step == 'p' ? push() : step == 'o' ? pop() : visit());
        }
        return all;
    }

private:
    [[nodiscard]] char push() {
        ++m_now.own;
        const auto by_policy = move(m_exposer.after_push(m_now, m_waiting));
        const auto asked_for =
            m_asked ? move(exposer::for_thief(steal_batch{}, steal_amount::one(), m_now)) : 0;
        m_asked = false;
        return static_cast<char>('0' + by_policy + asked_for);
    }
    std::uint64_t move(std::uint64_t n) {
        EXPECT_LE(n, m_now.own);
        m_now.own -= n;
        m_now.shared += n;
        return n;
    }
    [[nodiscard]] char pop() {
        if (m_now.own > 0) {
            --m_now.own;
            return 'o';
        }
        if (m_now.shared > 0) {
            --m_now.shared;
            return 'b';
        }
        return '-';
    }
    [[nodiscard]] char visit() {
        m_asked = m_waiting = m_now.shared == 0;
        if (m_waiting) {
            return '?';
        }
        --m_now.shared;
        return 'v';
    }

    exposer m_exposer;
    load m_now;
    bool m_asked = false;
    bool m_waiting = false;
};

TEST_F(exposure_policies, each_policy_on_one_script) {
    using pilfer::exposure_threshold;
    const exposure_threshold half_of_four{.at_least = 4, .below = 2};
    const exposure_threshold two_of_three{.at_least = 3, .below = 1, .count = 2};
    const struct {
        exposure policy;
        exposure_threshold threshold;
        const char* trace;
    } rows[] = {
        //                                    vpoppvppvpvvpppoovpppppvvvoppvppovvvpppo
        {exposure::on_demand, {}, /*       */ "?1b00?10v0??100oov00000???o10v00o???100o"},
        {exposure::always_public, {}, /*   */ "?1b11v11v1vv111bbv11111vvvb11v11bvvv111b"},
        {exposure::threshold, half_of_four, "?1b00?10v2vv020oov00200vvvo20v20ovvv020o"},
        {exposure::threshold, two_of_three, "?1b00?20v0v?200oov00000v??o20v00ov??200o"},
        {exposure::doubling, {}, /*        */ "?1b10v10v1v?200oov00000v??o10v10ov??100o"},
        {exposure::short_eager, {}, /*     */ "?1b11v10v1vv200oov10000vv?o20v10ovv?200o"},
        {exposure::waiter_first, {}, /*    */ "?1b10v00?1v?100oov00000???o10v00o???100o"},
    };
    for (const auto& r : rows) {
        EXPECT_EQ(model(r.policy, r.threshold, 2).trace(), r.trace) << static_cast<int>(r.policy);
    }
}

TEST_F(exposure_policies, doubling_doubles_while_all_of_it_is_found_gone) {
    exposer e(exposure::doubling, {}, 4);
    for (const std::uint64_t n : {1U, 2U, 4U, 8U, 16U}) {
        EXPECT_EQ(e.after_push({.shared = 0, .own = 100}, false), n);
    }
    EXPECT_EQ(e.after_push({.shared = 1, .own = 100}, false), 0U);
    EXPECT_EQ(e.after_push({.shared = 0, .own = 100}, false), 1U);
    EXPECT_EQ(e.after_push({.shared = 0, .own = 1}, false), 1U) << "never more than there is";
    for (int i = 0; i < 100; ++i) {
        (void)e.after_push({.shared = 0, .own = 1}, false);
    }
    EXPECT_EQ(e.after_push({.shared = 0, .own = UINT64_MAX}, false), std::uint64_t{1} << 32);
}

TEST_F(exposure_policies, waiter_first_exposes_only_for_a_waiting_thief) {
    exposer e(exposure::waiter_first, {}, 4);
    EXPECT_EQ(e.after_push({.shared = 0, .own = 5}, false), 0U);
    EXPECT_EQ(e.after_push({.shared = 0, .own = 5}, true), 1U);
    EXPECT_EQ(e.after_push({.shared = 1, .own = 5}, true), 0U);
}

TEST_F(exposure_policies, a_threshold_moves_a_count_or_a_part_and_never_more_than_there_is) {
    exposer count(exposure::threshold, {.at_least = 4, .below = 3, .count = 10}, 4);
    EXPECT_EQ(count.after_push({.shared = 0, .own = 3}, true), 0U);
    EXPECT_EQ(count.after_push({.shared = 0, .own = 4}, false), 4U);
    EXPECT_EQ(count.after_push({.shared = 2, .own = 40}, false), 10U);
    EXPECT_EQ(count.after_push({.shared = 3, .own = 40}, false), 0U);
    exposer part(exposure::threshold,
                 {.at_least = 1, .below = 1, .count = 0, .numerator = 2, .denominator = 3}, 4);
    EXPECT_EQ(part.after_push({.shared = 0, .own = 1}, false), 1U);
    EXPECT_EQ(part.after_push({.shared = 0, .own = 4}, false), 3U);
}

class requested_exposure : public guarded {};

TEST_F(requested_exposure, the_owner_exposes_the_tasks_that_the_amount_lacks) {
    const steal_batch first;
    struct {
        steal_amount amount;
        load now;
        std::uint64_t moved;
    } const rows[] = {
        {steal_amount::half(), {.shared = 0, .own = 8}, 4},
        {steal_amount::half(), {.shared = 3, .own = 5}, 1},
        {steal_amount::half(), {.shared = 4, .own = 4}, 0},
        {steal_amount::half(), {.shared = 8, .own = 0}, 0},
        {steal_amount::half(), {.shared = 0, .own = 0}, 0},
        {steal_amount::half(), {.shared = 0, .own = 1}, 1},
        {steal_amount::one(), {.shared = 0, .own = 8}, 1},
        {steal_amount::one(), {.shared = 1, .own = 8}, 0},
        {steal_amount::all_but_one(), {.shared = 2, .own = 6}, 5},
        {steal_amount::part(1, 1), {.shared = 2, .own = 6}, 6},
        {steal_amount::adaptive(), {.shared = 0, .own = 8}, 1},
    };
    for (const auto& r : rows) {
        EXPECT_EQ(exposer::for_thief(first, r.amount, r.now), r.moved)
            << r.now.shared << " and " << r.now.own;
    }
    EXPECT_EQ(exposer::for_thief(steal_batch(4), steal_amount::adaptive(), {.shared = 0, .own = 8}), 4U);
    EXPECT_EQ(exposer::for_thief(steal_batch(8), steal_amount::adaptive(), {.shared = 0, .own = 8}), 4U);
}

TEST_F(requested_exposure, how_much_a_thief_takes) {
    using numbers = std::vector<std::uint64_t>;
    steal_batch h;
    const auto sizes = [&h](steal_amount amount) {
        numbers all;
        for (const std::uint64_t whole : {0U, 1U, 2U, 3U, 4U, 7U, 8U, 9U}) {
            all.push_back(h.size(amount, whole));
        }
        return all;
    };
    EXPECT_EQ(sizes(steal_amount::one()), (numbers{1, 1, 1, 1, 1, 1, 1, 1}));
    EXPECT_EQ(sizes(steal_amount::half()), (numbers{1, 1, 1, 2, 2, 4, 4, 5}));
    EXPECT_EQ(sizes(steal_amount::part(1, 4)), (numbers{1, 1, 1, 1, 1, 2, 2, 3}));
    EXPECT_EQ(sizes(steal_amount::part(3, 4)), (numbers{1, 1, 2, 3, 3, 6, 6, 7}));
    EXPECT_EQ(sizes(steal_amount::part(1, 1)), (numbers{1, 1, 2, 3, 4, 7, 8, 9}));
    EXPECT_EQ(sizes(steal_amount::all_but_one()), (numbers{1, 1, 1, 2, 3, 6, 7, 8}));
    EXPECT_EQ(sizes(steal_amount::adaptive()), (numbers{1, 1, 1, 1, 1, 1, 1, 1}));
    h.spent(false);
    h.spent(false);
    EXPECT_EQ(sizes(steal_amount::adaptive()), (numbers{1, 1, 1, 2, 2, 4, 4, 4}));
    h.spent(true);
    EXPECT_EQ(sizes(steal_amount::adaptive()), (numbers{1, 1, 1, 1, 1, 1, 1, 1}));
    for (int i = 0; i < 100; ++i) {
        h.spent(false);
    }
    EXPECT_EQ(h.next(), std::uint64_t{1} << 20);
    // No overflow on the way.
    EXPECT_EQ(h.size(steal_amount::part(65'535, 65'536), UINT64_MAX), UINT64_MAX - (UINT64_MAX >> 16));
}

} // namespace
