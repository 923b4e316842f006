// A worker that runs a task holds no token. Otherwise publishers would take it for a searching worker and
// would wake no other: a sleeper would stay beside ready tasks for as long as the task lasts.
#include <gtest/gtest.h>

#include <pilfer/pilfer.hpp>

#include "pool/pool_core.hpp"
#include "support/protocol_support.hpp"

namespace {

using namespace pilfer_test;

/// Asked inside a task.
bool counted_as_searching() {
    auto* self = static_cast<pilfer::detail::scheduler*>(pilfer::detail::this_worker());
    return self->core().idle().is_searching(self->index);
}

struct tree {
    std::atomic<std::int64_t> leaves{0};
    std::atomic<std::int64_t> wrong{0};

    void grow(int depth) {
        wrong.fetch_add(counted_as_searching() ? 1 : 0);
        if (depth == 0) {
            leaves.fetch_add(1);
            for (int i = 0; i < 200; ++i) {
                pilfer::detail::cpu_relax();
            }
            return;
        }
        pilfer::join([&] { grow(depth - 1); }, [&] { grow(depth - 1); });
    }
};

class Token : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(MaxContexts, Token, testing::Values(std::size_t{0}, std::size_t{2}, std::size_t{4}));

TEST_P(Token, IsNotHeldByAWorkerThatRunsATask) {
    const watchdog dog("trees with few contexts");
    pilfer::options o;
    o.workers = 4;
    o.max_contexts = GetParam();
    pilfer::pool pool(o);
    const std::int64_t rounds = scaled(1'500);
    tree t;
    for (std::int64_t r = 0; r < rounds; ++r) {
        pool.run([&] { t.grow(6); });
        if (r % 8 == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(200)); // all fall asleep
        }
    }
    EXPECT_EQ(t.leaves.load(), rounds * 64);
    EXPECT_EQ(t.wrong.load(), 0);
}

} // namespace
