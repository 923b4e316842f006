// Threads that work for a pool while they wait, through <pilfer/pilfer.h>.
#include <pilfer/pilfer.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <utility>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

class c_attach : public guarded {};

struct shared {
    pilfer_pool* pool = nullptr;
    std::atomic<bool> there{false};
    std::atomic<bool> go_on{false};
    long thread = 0;
    std::atomic<int> ran{0};
};
void stay(void* arg) {
    auto* all = static_cast<shared*>(arg);
    all->there = true;
    while (!all->go_on) {
        std::this_thread::yield();
    }
}
void who(void* arg) {
    static_cast<shared*>(arg)->thread = syscall(SYS_gettid);
    static_cast<shared*>(arg)->ran.fetch_add(1);
}
int has_run(void* arg) { return static_cast<shared*>(arg)->ran.load(); }
int nonzero(void*) { return -7; }
void nothing(void*) {}
void in_a_task(void* arg) {
    auto* all = static_cast<shared*>(arg);
    pilfer_attachment* here = nullptr;
    EXPECT_EQ(pilfer_attach(all->pool, &here), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_pool_run_until(all->pool, nonzero, nullptr), PILFER_EUSAGE);
    pilfer_pool_notify(all->pool);
}

TEST_F(c_attach, an_attached_thread_runs_tasks_while_it_waits) {
    c_options options(1);
    options.set("attachable", "1");
    EXPECT_EQ(options.get("attachable"), "1");
    shared all;
    ASSERT_EQ(pilfer_pool_new(&all.pool, options.handle()), 0);
    ASSERT_EQ(pilfer_submit(all.pool, stay, &all), 0);
    while (!all.there) {
        std::this_thread::yield();
    }
    const long me = syscall(SYS_gettid);
    pilfer_attachment* here = nullptr;
    ASSERT_EQ(pilfer_attach(all.pool, &here), 0);
    EXPECT_EQ(pilfer_pool_run(all.pool, who, &all), 0);
    EXPECT_EQ(all.thread, me);
    pilfer_attachment* twice = nullptr;
    EXPECT_EQ(pilfer_attach(all.pool, &twice), PILFER_EUSAGE);
    EXPECT_EQ(twice, nullptr);
    pilfer_detach(here);
    all.thread = 0;
    all.ran = 0;
    ASSERT_EQ(pilfer_submit(all.pool, who, &all), 0);
    EXPECT_EQ(pilfer_pool_run_until(all.pool, has_run, &all), 0);
    EXPECT_EQ(all.thread, me);
    EXPECT_EQ(pilfer_pool_run_until(all.pool, nonzero, nullptr), 0);
    all.go_on = true;
    EXPECT_EQ(pilfer_pool_run(all.pool, in_a_task, &all), 0);
    EXPECT_EQ(pilfer_pool_destroy(all.pool), 0);
}

struct main_loop {
    pilfer_pool* pool = nullptr;
    std::atomic<int> ran{0};
};
void counts(void* arg) {
    auto* loop = static_cast<main_loop*>(arg);
    loop->ran.fetch_add(1);
    pilfer_pool_notify(loop->pool);
}
int three_have_run(void* arg) { return static_cast<main_loop*>(arg)->ran == 3 ? 1 : 0; }

/// The environment selects a pool without seats, so the attached thread blocks.
TEST_F(c_attach, blocks_in_a_pool_without_slots) {
    for (const auto& [variable, text] :
         {std::pair{"PILFER_PROFILE", "/dev/null"}, std::pair{"PILFER_BACKEND", "one_lock"}}) {
        const auto result = in_child([&] {
            setenv(variable, text, 1);
            c_options options(1);
            options.set("attachable", "1");
            main_loop loop;
            EXPECT_EQ(pilfer_pool_new(&loop.pool, options.handle()), 0) << options.error();
            pilfer_attachment* here = nullptr;
            EXPECT_EQ(pilfer_attach(loop.pool, &here), 0);
            pilfer_attachment* twice = nullptr;
            EXPECT_EQ(pilfer_attach(loop.pool, &twice), PILFER_EUSAGE);
            shared all;
            EXPECT_EQ(pilfer_pool_run(loop.pool, who, &all), 0);
            EXPECT_NE(all.thread, syscall(SYS_gettid));
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(pilfer_submit(loop.pool, counts, &loop), 0);
            }
            EXPECT_EQ(pilfer_pool_run_until(loop.pool, three_have_run, &loop), 0);
            pilfer_detach(here);
            EXPECT_EQ(pilfer_pool_destroy(loop.pool), 0);
            return testing::Test::HasFailure() ? 1 : 0;
        });
        EXPECT_TRUE(result.exited_with(0)) << variable << ": " << result;
    }
}

TEST_F(c_attach, wrong_calls) {
    const c_pool pool(1);
    pilfer_attachment* here = nullptr;
    EXPECT_EQ(pilfer_attach(nullptr, &here), PILFER_EINVAL);
    EXPECT_EQ(pilfer_attach(pool, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_attach(pool, &here), PILFER_EUSAGE) << "nobody may, by default";
    EXPECT_EQ(here, nullptr);
    pilfer_detach(nullptr);
    EXPECT_EQ(pilfer_pool_run_until(nullptr, nonzero, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_pool_run_until(pool, nullptr, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_pool_run_until(pool, nonzero, nullptr), PILFER_EUSAGE);
    pilfer_pool_notify(nullptr);
    pilfer_pool_notify(pool);
    EXPECT_EQ(pilfer_pool_run(pool, nothing, nullptr), 0);
}

} // namespace
