// A task that ends its thread ends the program, with a message.
#include <pthread.h>

#include <functional>
#include <string>
#include <tuple>

#include <pilfer/pilfer.h>

#include "life/life.hpp"
#include "support/process.hpp"

namespace {

void leave() { pthread_exit(nullptr); }

using start = void (*)(pilfer::pool&);
struct kind {
    const char* name;
    start begin;
};

class thread_exit : public ::testing::TestWithParam<kind> {
    support::watchdog m_end{60};
};

TEST_P(thread_exit, by_a_task_ends_the_program_with_a_message) {
    if (support::sanitized) {
        GTEST_SKIP() << "the sanitizers' own threads and interceptors are in the way";
    }
    const auto r = support::in_child([] {
        pilfer::pool p(life::workers(2));
        GetParam().begin(p);
        return 0;
    });
    EXPECT_TRUE(r.killed_by(SIGABRT)) << r;
    EXPECT_TRUE(r.said("pthread_exit")) << r;
}

INSTANTIATE_TEST_SUITE_P(
    kinds, thread_exit,
    ::testing::Values(
        kind{"run", [](pilfer::pool& p) { p.run(leave); }},
        kind{"value",
             [](pilfer::pool& p) {
                 (void)p.run([]() -> int {
                     leave();
                     return 1;
                 });
             }},
        kind{"async", [](pilfer::pool& p) { p.async(leave).get(); }},
        kind{"submit",
             [](pilfer::pool& p) {
                 p.submit(leave);
                 p.shutdown();
             }},
        kind{"fork",
             [](pilfer::pool& p) {
                 p.run([] {
                     pilfer::scope s;
                     s.fork(leave);
                     s.sync();
                 });
             }},
        kind{"spawn",
             [](pilfer::pool& p) {
                 p.run([] {
                     pilfer::scope s;
                     s.spawn(leave);
                     s.sync();
                 });
             }},
        kind{"first_branch", [](pilfer::pool& p) { p.run([] { (void)pilfer::join(leave, [] {}); }); }},
        kind{"last_branch", [](pilfer::pool& p) { p.run([] { (void)pilfer::join([] {}, leave); }); }},
        kind{"loop", [](pilfer::pool& p) { p.run([] { pilfer::for_each(0, 8, [](int) { leave(); }); }); }},
        kind{"timer",
             [](pilfer::pool& p) {
                 (void)pilfer::after(p, std::chrono::milliseconds(1), leave);
                 p.shutdown();
             }},
        kind{"blocking", [](pilfer::pool& p) { p.run([] { pilfer::blocking(leave); }); }},
        kind{"coroutine",
             [](pilfer::pool& p) {
                 p.run([]() -> pilfer::task<> {
                     leave();
                     co_return;
                 }());
             }}),
    [](const auto& i) { return std::string(i.param.name); });

} // namespace
