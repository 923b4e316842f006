// The C++ runtime keeps its exception state per thread; it has to travel with a frame that moves.
#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>

#include "context/moved.hpp"

namespace {

class exceptions : public moved::with_pool {};

[[nodiscard]] std::string in_flight() {
    try {
        if (std::current_exception() == nullptr) {
            return "none";
        }
        throw;
    } catch (const std::exception& e) {
        return e.what();
    }
}

/// Makes the calling frame wait while others throw and catch.
void wait_amid_exceptions() {
    pilfer::scope s;
    moved::gate gate;
    std::atomic<int> started{0};
    for (int i = 0; i < 4; ++i) {
        s.fork([&] {
            ++started;
            EXPECT_EQ(std::uncaught_exceptions(), 0);
            try {
                throw std::logic_error("of another task");
            } catch (const std::logic_error&) {
                gate.wait();
                EXPECT_EQ(in_flight(), "of another task");
            }
        });
    }
    auto opener = pilfer::async([&] {
        while (started != 4) {
            pilfer::yield();
        }
        gate.open();
    });
    // Unlike wait() this never runs it here: the frame leaves its stack, and the others run on stacks of
    // their own. A sync would run them as calls of its own, amid the exception that is under way here.
    EXPECT_EQ(opener.wait_for(std::chrono::hours(1)), pilfer::future_status::ready);
    s.sync();
}

TEST_P(exceptions, a_catch_block_may_wait_and_move) {
    pilfer::pool pool(options());
    pool.run([] {
        for (int i = 0; i < 5; ++i) {
            try {
                throw std::runtime_error("mine");
            } catch (const std::runtime_error& e) {
                wait_amid_exceptions();
                EXPECT_EQ(in_flight(), "mine");
                EXPECT_STREQ(e.what(), "mine");
            }
            EXPECT_EQ(std::current_exception(), nullptr);
        }
    });
}

TEST_P(exceptions, rethrown_after_a_move_reach_their_handler) {
    pilfer::pool pool(options());
    const auto rethrow = [] {
        try {
            throw std::runtime_error("thrown again");
        } catch (...) {
            pilfer::join([] { wait_amid_exceptions(); }, [] { wait_amid_exceptions(); });
            throw;
        }
    };
    try {
        pool.run(rethrow);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "thrown again");
    }
}

struct waits_when_destroyed {
    int* uncaught_before;
    int* uncaught_after;
    ~waits_when_destroyed() {
        *uncaught_before = std::uncaught_exceptions();
        wait_amid_exceptions();
        *uncaught_after = std::uncaught_exceptions();
    }
};

TEST_P(exceptions, unwinding_may_wait_and_move) {
    pilfer::pool pool(options());
    pool.run([] {
        int before = -1;
        int after = -1;
        try {
            const waits_when_destroyed w{&before, &after};
            throw std::runtime_error("through a waiting destructor");
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "through a waiting destructor");
        }
        EXPECT_EQ(before, 1);
        EXPECT_EQ(after, 1);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
    });
}

TEST_P(exceptions, spawn_in_a_catch_block_runs_the_child_with_nothing_lost) {
    pilfer::pool pool(options());
    pool.run([] {
        int sum = 0;
        try {
            throw std::runtime_error("mine");
        } catch (const std::runtime_error&) {
            pilfer::scope s;
            for (int i = 1; i <= 10; ++i) {
                s.spawn([&sum, i] {
                    sum += i;
                    wait_amid_exceptions();
                });
            }
            s.sync();
            EXPECT_EQ(in_flight(), "mine");
        }
        EXPECT_EQ(sum, 55);
    });
}

TEST_P(exceptions, of_a_child_that_moved_reaches_sync) {
    pilfer::pool pool(options());
    pool.run([] {
        for (int i = 0; i < 20; ++i) {
            pilfer::scope s;
            s.spawn([] {
                wait_amid_exceptions();
                throw std::runtime_error("child");
            });
            try {
                s.sync();
                ADD_FAILURE() << "nothing was thrown";
            } catch (const std::runtime_error& e) {
                EXPECT_STREQ(e.what(), "child");
            }
        }
    });
}

TEST(exceptions_of_a_stolen_frame, are_separate_from_those_of_its_child) {
    pilfer::options o;
    o.workers = 2;
    pilfer::pool pool(o);
    pool.run([] {
        for (int i = 0; i < 100; ++i) {
            moved::flag stolen;
            moved::flag caught;
            pilfer::scope s;
            s.spawn([&] {
                try {
                    throw std::runtime_error("child");
                } catch (const std::runtime_error&) {
                    stolen.spin(); // until the rest of the parent runs elsewhere
                    caught.spin();
                    EXPECT_EQ(in_flight(), "child");
                }
            });
            EXPECT_EQ(std::current_exception(), nullptr);
            stolen.raise();
            try {
                throw std::runtime_error("parent");
            } catch (const std::runtime_error&) {
                caught.raise();
                s.sync();
                EXPECT_EQ(in_flight(), "parent");
            }
        }
    });
}

INSTANTIATE_TEST_SUITE_P(all, exceptions, testing::ValuesIn(moved::settings), moved::name_of);

} // namespace
