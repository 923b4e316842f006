// Waits that are no stall, and are not reported.
#include <gmock/gmock.h>

#include <fstream>

#include "waits/stalls.hpp"

namespace {

using namespace waits;
using testing::HasSubstr;
using testing::Not;

TEST_F(reported_stall, is_not_reported_when_switched_off) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool& p = lasting(reporting_after(0, 2));
        static ring<2> r;
        r.start(p, {&first_waits, &second_waits});
        while (suspended(p) < 1) {
            std::this_thread::sleep_for(100us);
        }
        err.listen(500ms);
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, Not(HasSubstr("stall")));
}

/// While the frame waits for it, the other branch blocks its worker, or keeps it busy.
TEST_F(reported_stall, is_not_a_task_that_blocks_or_computes) {
    for (const bool blocks : {true, false}) {
        const auto result = in_child([blocks] {
            own_stderr err;
            pilfer::pool p(reporting_after(30, 2));
            std::atomic<bool> stolen{false};
            std::atomic<bool> enough{false};
            auto all = p.async([&] {
                pilfer::join(
                    [&] {
                        while (!stolen.load()) {
                            std::this_thread::sleep_for(100us);
                        }
                    },
                    [&] {
                        stolen = true;
                        while (!enough.load()) {
                            if (blocks) {
                                std::this_thread::sleep_for(20ms);
                            }
                        }
                    });
            });
            while (suspended(p) < 1) {
                std::this_thread::sleep_for(100us);
            }
            err.listen(600ms);
            enough = true;
            all.get();
            err.give_back();
            return 0;
        });
        EXPECT_TRUE(result.exited_with(0)) << result;
        EXPECT_THAT(result.output, Not(HasSubstr("stall")));
    }
}

TEST_F(reported_stall, is_not_a_wait_for_a_pool_that_works) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool one(reporting_after(30, 1));
        pilfer::pool two(reporting_after(30, 1));
        std::atomic<bool> enough{false};
        auto all = one.async([&] {
            two.run([&] {
                while (!enough.load()) {
                    std::this_thread::sleep_for(20ms);
                }
            });
        });
        while (suspended(one) < 1) {
            std::this_thread::sleep_for(100us);
        }
        err.listen(600ms);
        enough = true;
        all.get();
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, Not(HasSubstr("stall")));
}

/// `expects`: how a task of the other pool waits for something from outside, until a pipe is written to.
void expect_no_stall_while(void (*expects)(int fd, std::atomic<bool>& over)) {
    const auto result = in_child([&] {
        own_stderr err;
        int ends[2];
        if (pipe(ends) != 0) {
            return 1;
        }
        pilfer::pool one(reporting_after(30, 1));
        pilfer::pool two(reporting_after(0, 1));
        std::atomic<bool> over{false};
        auto all = one.async([&] { two.run([&] { expects(ends[0], over); }); });
        while (suspended(one) < 1) {
            std::this_thread::sleep_for(100us);
        }
        err.listen(600ms);
        over = true;
        if (write(ends[1], "x", 1) != 1) {
            return 1;
        }
        all.get();
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, Not(HasSubstr("stall")));
}

TEST_F(reported_stall, is_not_a_wait_for_a_pool_with_a_pending_event) {
    expect_no_stall_while([](int fd, std::atomic<bool>&) { (void)pilfer::io::wait_readable(fd); });
    expect_no_stall_while([](int, std::atomic<bool>& over) {
        while (!over) {
            pilfer::sleep_for(150ms);
        }
    });
    expect_no_stall_while([](int fd, std::atomic<bool>&) {
        pilfer::blocking([fd] {
            char c = 0;
            EXPECT_EQ(read(fd, &c, 1), 1);
        });
    });
}

/// How often the threads of this process but the calling one have gone to sleep.
std::uint64_t switches_of_others() {
    std::uint64_t sum = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        if (task.path().filename() == std::to_string(thread_id())) {
            continue;
        }
        std::ifstream file(task.path() / "status");
        for (std::string line; std::getline(file, line);) {
            if (line.rfind("voluntary_ctxt_switches:", 0) == 0) {
                sum += std::stoull(line.substr(line.find(':') + 1));
            }
        }
    }
    return sum;
}

TEST_F(reported_stall, does_not_wake_an_idle_pool_without_waiting_tasks) {
#if defined(PILFER_TSAN)
    GTEST_SKIP() << "ThreadSanitizer has a thread of its own that wakes up";
#endif
    if (emulated) {
        GTEST_SKIP() << "the emulator has threads of its own";
    }
    if (pilfer::detail::checked_build) {
        GTEST_SKIP() << "sleepers of a checked pool look for forgotten tasks, once a second at the end";
    }
    const auto result = in_child([] {
        pilfer::pool p(reporting_after(20, 4));
        const bool right = p.run([] { return fib_join(15); }) == fib(15);
        const bool rested = eventually([] { // asleep once none of them has moved for a while
            const auto before = switches_of_others();
            std::this_thread::sleep_for(100ms);
            return switches_of_others() == before;
        });
        const auto before = switches_of_others();
        std::this_thread::sleep_for(500ms);
        return right && rested && switches_of_others() == before ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, Not(HasSubstr("stall")));
}

} // namespace
