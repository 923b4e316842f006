// <pilfer/pilfer_pipeline.h>: items flow through stages.
#include <pilfer/pilfer_pipeline.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

class c_pipelines : public over_workers {};
class c_pipelines_alone : public guarded {};

constexpr int own_code = -1000;

/// A stage of a callable that lives longer than the pipeline, and gets the item by reference.
template <class F>
[[nodiscard]] pilfer_stage stage(int order, F& f, void (*drop)(void*, void*) = nullptr) {
    return {order, [](void** item, void* arg) { return (*static_cast<F*>(arg))(*item); }, &f, drop};
}

/// Items that are counted: how many there are, and how often each was ended.
class ledger {
public:
    explicit ledger(int size) : m_ends(static_cast<std::size_t>(size)) {}
    [[nodiscard]] void* make() {
        ++m_alive;
        most = std::max(most, m_alive.load());
        return &m_ends[m_made++];
    }
    [[nodiscard]] bool has_more() const { return m_made < m_ends.size(); }
    [[nodiscard]] static int end(void* item) {
        ++*static_cast<std::atomic<int>*>(item);
        return 0;
    }
    void through(void* item) {
        (void)end(item);
        --m_alive;
    }
    [[nodiscard]] std::size_t number(const void* item) const {
        return static_cast<std::size_t>(static_cast<const std::atomic<int>*>(item) - m_ends.data());
    }
    [[nodiscard]] std::size_t made() const { return m_made; }
    /// True if each item that was made was ended once.
    [[nodiscard]] bool is_balanced() const {
        std::size_t n = 0;
        return std::ranges::all_of(m_ends, [&](const auto& ends) { return ends == (n++ < m_made ? 1 : 0); });
    }
    int most = 0; ///< items at once

private:
    std::vector<std::atomic<int>> m_ends;
    std::size_t m_made = 0;
    std::atomic<int> m_alive{0};
};
void drop_item(void* item, void*) { (void)ledger::end(item); }

TEST_P(c_pipelines, items_pass_all_stages_in_order) {
    const c_pool pool(GetParam());
    for (const std::size_t tokens : {1U, 3U, 64U}) {
        ledger items(500);
        std::size_t next = 0;
        std::atomic<int> halfway{0};
        int calls_out_of_order = 0;
        auto source = [&](void*& item) { return item = items.has_more() ? items.make() : nullptr, 0; };
        auto work = [&](void*& item) {
            if (items.number(item) % 16 == 0) {
                std::this_thread::yield();
            }
            return ++halfway, 0;
        };
        auto count = [&](void*&) { return ++calls_out_of_order, 0; }; // no lock: one at a time
        auto sink = [&](void*& item) {
            EXPECT_EQ(items.number(item), next);
            ++next;
            items.through(item);
            return 0;
        };
        const pilfer_stage stages[] = {stage(PILFER_SERIAL_OUT_OF_ORDER, source),
                                       stage(PILFER_PARALLEL, work), stage(PILFER_SERIAL_OUT_OF_ORDER, count),
                                       stage(PILFER_SERIAL_IN_ORDER, sink)};
        EXPECT_EQ(pilfer_pipeline(pool, tokens, stages, std::size(stages)), 0);
        EXPECT_EQ(next, 500U);
        EXPECT_EQ(halfway, 500);
        EXPECT_EQ(calls_out_of_order, 500);
        EXPECT_LE(items.most, static_cast<int>(tokens));
        EXPECT_TRUE(items.is_balanced());
    }
}

TEST_P(c_pipelines, a_stage_may_replace_an_item_also_by_null) {
    const c_pool pool(GetParam());
    std::uintptr_t given = 0;
    std::uintptr_t sum = 0;
    int nulls = 0;
    auto source = [&](void*& item) {
        item = given < 100 ? reinterpret_cast<void*>(++given) : nullptr;
        return 0;
    };
    auto drop_odd = [](void*& item) {
        const auto n = reinterpret_cast<std::uintptr_t>(item);
        item = n % 2 == 0 ? reinterpret_cast<void*>(1000 * n) : nullptr;
        return 0;
    };
    auto add = [&](void*& item) {
        sum += reinterpret_cast<std::uintptr_t>(item);
        nulls += item == nullptr ? 1 : 0;
        return 0;
    };
    const pilfer_stage stages[] = {stage(PILFER_SERIAL_IN_ORDER, source), stage(PILFER_PARALLEL, drop_odd),
                                   stage(PILFER_SERIAL_IN_ORDER, add)};
    pool.run([&] { EXPECT_EQ(pilfer_pipeline(nullptr, 4, stages, std::size(stages)), 0); });
    EXPECT_EQ(sum, 2550U * 1000);
    EXPECT_EQ(nulls, 50);
}

TEST_P(c_pipelines, more_items_than_workers_may_wait) {
    const c_pool pool(GetParam());
    pilfer_event all_there;
    EXPECT_EQ(pilfer_event_init(&all_there, 0), 0);
    ledger items(100);
    std::atomic<int> waiting{0};
    auto source = [&](void*& item) { return item = items.has_more() ? items.make() : nullptr, 0; };
    auto wait = [&](void*& item) {
        const int code = ++waiting == 100 ? pilfer_event_set(&all_there) : pilfer_event_wait(&all_there);
        (void)ledger::end(item);
        return code;
    };
    const pilfer_stage stages[] = {stage(PILFER_SERIAL_IN_ORDER, source), stage(PILFER_PARALLEL, wait)};
    EXPECT_EQ(pilfer_pipeline(pool, 100, stages, std::size(stages)), 0);
    EXPECT_TRUE(items.is_balanced());
    pilfer_event_destroy(&all_there);
}

// ---- failures ---------------------------------------------------------------------------------------

TEST_P(c_pipelines, the_code_of_a_stage_ends_the_pipeline_and_each_item_once) {
    const c_pool pool(GetParam());
    for (const bool takes_item : {false, true}) {
        for (std::size_t failing = 1; failing <= 3; ++failing) {
            ledger items(100'000);
            auto source = [&](void*& item) { return item = items.has_more() ? items.make() : nullptr, 0; };
            const auto fails_as = [&](std::size_t number, void*& item) {
                if (number != failing || items.number(item) != 50) {
                    return 0;
                }
                if (takes_item) {
                    (void)ledger::end(item);
                    item = nullptr;
                }
                return own_code;
            };
            auto parallel = [&](void*& item) { return fails_as(1, item); };
            auto serial = [&](void*& item) { return fails_as(2, item); };
            auto sink = [&](void*& item) {
                const int code = fails_as(3, item);
                return code == 0 ? ledger::end(item) : code;
            };
            const pilfer_stage stages[] = {
                stage(PILFER_SERIAL_IN_ORDER, source, drop_item), stage(PILFER_PARALLEL, parallel, drop_item),
                stage(PILFER_SERIAL_IN_ORDER, serial, drop_item), stage(PILFER_SERIAL_IN_ORDER, sink)};
            EXPECT_EQ(pilfer_pipeline(pool, 8, stages, std::size(stages)), own_code);
            EXPECT_LT(items.made(), 100'000U);
            EXPECT_TRUE(items.is_balanced()) << "stage " << failing;
        }
    }
}

TEST_P(c_pipelines, an_item_is_dropped_by_the_stage_that_passed_it_on_last) {
    const c_pool pool(GetParam());
    const auto count = [](void*, void* drops) { ++*static_cast<int*>(drops); };
    for (const bool has_drop : {false, true}) {
        int of_source = 0;
        int of_middle = 0;
        const auto give = [](void** item, void* drops) { return *item = drops, 0; };
        const auto leave = [](void**, void*) { return 0; };
        const auto fail = [](void** item, void*) { return *item != nullptr ? own_code : 0; };
        const pilfer_stage stages[] = {{PILFER_SERIAL_IN_ORDER, give, &of_source, count},
                                       {PILFER_PARALLEL, leave, &of_middle, has_drop ? +count : nullptr},
                                       {PILFER_PARALLEL, fail, nullptr, nullptr}};
        EXPECT_EQ(pilfer_pipeline(pool, 1, stages, std::size(stages)), own_code);
        EXPECT_EQ(of_source, 0);
        EXPECT_EQ(of_middle, has_drop ? 1 : 0);
    }
}

TEST_P(c_pipelines, a_source_may_fail) {
    const c_pool pool(GetParam());
    ledger items(30);
    auto source = [&](void*& item) {
        if (!items.has_more()) {
            return own_code;
        }
        item = items.make();
        return 0;
    };
    auto sink = [&](void*& item) { return ledger::end(item); };
    const pilfer_stage stages[] = {stage(PILFER_SERIAL_IN_ORDER, source, drop_item),
                                   stage(PILFER_SERIAL_IN_ORDER, sink)};
    EXPECT_EQ(pilfer_pipeline(pool, 4, stages, std::size(stages)), own_code);
    EXPECT_EQ(items.made(), 30U);
    EXPECT_TRUE(items.is_balanced());
}

TEST_P(c_pipelines, a_positive_result_is_refused) {
    const c_pool pool(GetParam());
    ledger items(1000);
    auto source = [&](void*& item) { return item = items.has_more() ? items.make() : nullptr, 0; };
    auto one = [](void*&) { return 1; };
    const pilfer_stage stages[] = {stage(PILFER_SERIAL_IN_ORDER, source, drop_item),
                                   stage(PILFER_PARALLEL, one)};
    EXPECT_EQ(pilfer_pipeline(pool, 4, stages, std::size(stages)), PILFER_EINVAL);
    EXPECT_TRUE(items.is_balanced());
}

TEST_P(c_pipelines, the_code_of_a_cancelled_call_hides_no_other_code) {
    const c_pool pool(GetParam());
    for (const int other : {int{PILFER_ECANCELED}, own_code}) {
        ledger items(2);
        std::atomic<bool> first_ends{false};
        auto source = [&](void*& item) { return item = items.has_more() ? items.make() : nullptr, 0; };
        std::atomic<int> there{0};
        auto fail = [&](void*& item) {
            for (++there; there < 2;) { // a failure ends the source
                pilfer_sleep_for(100'000);
            }
            if (items.number(item) == 0) {
                first_ends = true;
                return int{PILFER_ECANCELED};
            }
            while (!first_ends) {
                pilfer_sleep_for(100'000);
            }
            pilfer_sleep_for(1'000'000);
            return other;
        };
        const pilfer_stage stages[] = {stage(PILFER_SERIAL_IN_ORDER, source, drop_item),
                                       stage(PILFER_PARALLEL, fail)};
        EXPECT_EQ(pilfer_pipeline(pool, 2, stages, std::size(stages)), other);
        EXPECT_TRUE(items.is_balanced());
    }
}

TEST_P(c_pipelines, a_cancelled_scope_ends_the_pipeline) {
    const c_pool pool(GetParam());
    pilfer_scope scope;
    ledger items(100'000);
    auto source = [&](void*& item) { return item = items.has_more() ? items.make() : nullptr, 0; };
    auto sink = [&](void*& item) {
        if (items.number(item) == 20) {
            EXPECT_EQ(pilfer_scope_cancel(&scope), 0);
        }
        return ledger::end(item);
    };
    const pilfer_stage stages[] = {stage(PILFER_SERIAL_IN_ORDER, source, drop_item),
                                   stage(PILFER_SERIAL_IN_ORDER, sink)};
    pool.run([&] {
        EXPECT_EQ(pilfer_scope_begin(&scope), 0);
        int code = 0;
        auto run = [&] { code = pilfer_pipeline(nullptr, 8, stages, std::size(stages)); };
        EXPECT_EQ(pilfer_scope_fork(&scope, call_of<decltype(run)>, &run), 0);
        EXPECT_EQ(pilfer_scope_end(&scope), 0);
        EXPECT_EQ(code, PILFER_ECANCELED);
    });
    EXPECT_LT(items.made(), 100'000U);
    EXPECT_TRUE(items.is_balanced());
}

TEST_P(c_pipelines, a_drop_may_wait) {
    const c_pool pool(GetParam());
    ledger items(100'000);
    auto source = [&](void*& item) { return item = items.has_more() ? items.make() : nullptr, 0; };
    auto pass = [](void*&) { return pilfer_yield(), 0; };
    auto sink = [&](void*& item) { return items.number(item) == 50 ? own_code : ledger::end(item); };
    const auto wait = [](void* item, void*) {
        pilfer_sleep_for(100'000);
        (void)ledger::end(item);
    };
    const pilfer_stage stages[] = {stage(PILFER_SERIAL_IN_ORDER, source, wait),
                                   stage(PILFER_PARALLEL, pass, wait), stage(PILFER_SERIAL_IN_ORDER, sink)};
    EXPECT_EQ(pilfer_pipeline(pool, 8, stages, std::size(stages)), own_code);
    EXPECT_TRUE(items.is_balanced());
}

// ---- misuse -----------------------------------------------------------------------------------------

TEST_F(c_pipelines_alone, bad_input_is_refused_and_nothing_is_called) {
    const c_pool pool(2U);
    auto never = [](void*&) {
        ADD_FAILURE() << "was called";
        return 0;
    };
    const pilfer_stage good = stage(PILFER_SERIAL_IN_ORDER, never);
    const pilfer_stage parallel = stage(PILFER_PARALLEL, never);
    const pilfer_stage empty{};
    const auto refused = [&](std::size_t tokens, const pilfer_stage& first, const pilfer_stage& second) {
        const pilfer_stage stages[] = {first, second};
        return pilfer_pipeline(pool, tokens, stages, 2) == PILFER_EINVAL;
    };
    EXPECT_TRUE(refused(0, good, good));
    EXPECT_TRUE(refused(1, parallel, good));
    EXPECT_TRUE(refused(1, empty, good));
    EXPECT_TRUE(refused(1, good, empty));
    EXPECT_TRUE(refused(1, stage(-1, never), good));
    EXPECT_TRUE(refused(1, good, stage(3, never)));
    const pilfer_stage both[] = {good, good};
    EXPECT_EQ(pilfer_pipeline(pool, 1, nullptr, 2), PILFER_EINVAL);
    EXPECT_EQ(pilfer_pipeline(pool, 1, both, 0), PILFER_EINVAL);
    EXPECT_EQ(pilfer_pipeline(pool, 1, both, 1), PILFER_EINVAL);
    EXPECT_EQ(pilfer_pipeline(pool, SIZE_MAX, both, 2), PILFER_ENOMEM);
    EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), 0);
    EXPECT_EQ(pilfer_pipeline(pool, 1, both, 2), PILFER_ECLOSED);
}

TEST_F(c_pipelines_alone, an_exception_of_a_stage_ends_the_process) {
    for (const std::size_t throwing : {0U, 1U}) {
        const auto result = in_child([throwing] {
            const c_pool pool(2U);
            int number = 0;
            auto fail = [](void*&) -> int { throw 1; };
            auto give = [&](void*& item) { return item = &number, 0; };
            pilfer_stage stages[] = {stage(PILFER_SERIAL_IN_ORDER, give), stage(PILFER_PARALLEL, give)};
            stages[throwing] = stage(PILFER_SERIAL_OUT_OF_ORDER, fail);
            return pilfer_pipeline(pool, 2, stages, std::size(stages));
        });
        EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
        EXPECT_TRUE(result.said("left a function that was given to the C interface")) << result;
    }
}

TEST_F(c_pipelines_alone, a_pipeline_outside_a_pool_runs_in_the_common_one) {
    with_a_common_pool([] {
        ledger items(50);
        auto source = [&](void*& item) { return item = items.has_more() ? items.make() : nullptr, 0; };
        auto sink = [&](void*& item) { return ledger::end(item); };
        const pilfer_stage stages[] = {stage(PILFER_SERIAL_IN_ORDER, source), stage(PILFER_PARALLEL, sink)};
        EXPECT_EQ(pilfer_pipeline(nullptr, 4, stages, std::size(stages)), 0);
        EXPECT_TRUE(items.is_balanced());
    });
}

PILFER_OVER_WORKERS(c_pipelines);

} // namespace
