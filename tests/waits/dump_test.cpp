// pool::dump: its text, at any moment, and upon a signal.
#include <gmock/gmock.h>
#include <sys/syscall.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "pool/pool_core.hpp"
#include "waits/waits.hpp"

namespace {

using namespace waits;
using testing::HasSubstr;
using testing::Not;

class pool_dump : public guarded {};

[[nodiscard]] std::string dump_of(const pilfer::pool& p) {
    std::ostringstream out;
    p.dump(out);
    return out.str();
}

TEST_F(pool_dump, lists_each_worker_and_its_deque) {
    pilfer::options o = workers(3);
    o.stack_size = 1 << 20;
    pilfer::pool p(o);
    std::string text;
    long id = 0;
    p.run([&] {
        pilfer::pool alone(workers(1)); // no other worker takes a task there
        alone.run([&] {
            pilfer::scope s;
            for (int i = 0; i < 5; ++i) {
                s.fork([] {});
            }
            text = dump_of(alone);
            s.sync();
        });
        id = thread_id(); // only now: the wait for the other pool may have moved this frame
        text += dump_of(p);
    });
    EXPECT_THAT(text, HasSubstr("runs a task; deque: 0 shared, 5 private; inbox: empty"));
    for (int i = 0; i < 3; ++i) {
        EXPECT_THAT(text, HasSubstr("\n  worker " + std::to_string(i) + " (thread "));
    }
    EXPECT_THAT(text, HasSubstr(": 3 workers; "));
    EXPECT_THAT(text, HasSubstr("(thread " + std::to_string(id) + "): runs a task"));
}

TEST_F(pool_dump, names_each_waiter_and_the_functions_on_its_stack) {
    const auto result = in_child([] {
        pilfer::pool& p = lasting(reporting_after(0, 3));
        static ring<3> r;
        r.start(p, {&first_waits, &second_waits, &third_waits});
        while (suspended(p) < 3) {
            std::this_thread::sleep_for(100us);
        }
        p.dump();
        p.dump(-1); // nowhere: no error
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, HasSubstr("; 3 suspended contexts of "));
    EXPECT_THAT(result.output, HasSubstr("a cycle of waits:"));
    if (has_stacks) {
        for (const char* name : {" in first_waits", " in second_waits", " in third_waits"}) {
            EXPECT_THAT(result.output, HasSubstr(name));
        }
    }
}

/// The promise that lets a stack be read in place.
TEST_F(pool_dump, names_the_pool_and_gives_a_time_no_address) {
    pilfer::options o = workers(2);
    o.name = "bank";
    pilfer::pool p(o);
    EXPECT_THAT(dump_of(p), testing::ContainsRegex("^pilfer: pool [0-9]+ \"bank\": 2 workers; "));
    std::atomic<bool> seen{false};
    auto nap = p.async([&] {
        while (!seen) {
            pilfer::sleep_for(20ms);
        }
    });
    std::string text;
    while (text.find("waits for a time") == std::string::npos) {
        text = dump_of(p);
    }
    seen = true;
    nap.get();
    EXPECT_THAT(text, HasSubstr("waits for a time\n"));
}

TEST_F(pool_dump, delays_a_resumption_of_a_context_whose_stack_is_read) {
    using namespace pilfer::detail;
    for (const unsigned n : {1U, 2U}) {
        pilfer::pool p(workers(n));
        completion<std_atom> end;
        std::atomic<bool> gone_on{false};
        const auto waiting = p.async([&] {
            wait_for(end, nullptr);
            gone_on = true;
        });
        context* held = nullptr;
        ASSERT_TRUE(eventually([&] {
            const std::lock_guard lock(p.core().stacks.mutex());
            p.core().stacks.for_each_locked(
                [&](context& c, unsigned) { held = c.waiting.load() != nullptr ? &c : held; });
            return held != nullptr;
        }));
        held->walked = 1;
        heavy_fence();
        make_runnable(reinterpret_cast<suspension*>(end.complete()));
        EXPECT_TRUE(eventually([&] { return held->waiting.load() == nullptr; }));
        std::this_thread::sleep_for(100ms);
        EXPECT_FALSE(gone_on);
        held->walked = 0;
        waiting.get();
        EXPECT_TRUE(gone_on);
    }
}

/// Stacks are read while their owners come and go: neither is harmed.
TEST_F(pool_dump, may_be_made_while_everything_runs) {
    for (const auto resume :
         {pilfer::resume::anywhere, pilfer::resume::own_thread, pilfer::resume::elsewhere}) {
        pilfer::options o = workers(3);
        o.resume = resume;
        o.stack_size = 1 << 20; // one task dumps, too
        pilfer::pool p(o);
        pilfer::pool other(workers(1));
        std::atomic<bool> over{false};
        std::atomic<std::uint64_t> waiters{0};
        std::thread outside([&] {
            while (!over.load()) {
                waiters += dump_of(p).find("waits for") != std::string::npos ? 1 : 0;
            }
        });
        std::uint64_t wrong = 0;
        for (std::uint64_t i = 0; i < hundredth_of(2'000, 2); ++i) {
            wrong +=
                p.run([&] { return fib_spawn(12) + fib_fork(12) + fib_join(12); }) == 3 * fib(12) ? 0 : 1;
            wrong += p.run([&] { return other.run([] { return fib_join(8); }); }) == fib(8) ? 0 : 1;
            std::vector<pilfer::future<std::uint64_t>> some;
            for (unsigned k = 0; k < 20; ++k) {
                some.push_back(p.async([k] { return fib_fork(k % 10); }));
            }
            for (unsigned k = 0; k < 20; ++k) {
                wrong += p.run([&] { return some[k].get(); }) == fib(k % 10) ? 0 : 1;
            }
            wrong += p.run([&] { return dump_of(p).empty(); }) ? 1 : 0;
        }
        // Until a dump has met a waiting task.
        while (waiters.load() == 0) {
            wrong += p.run([&] {
                return other.run([] {
                    std::this_thread::sleep_for(1ms);
                    return 7;
                });
            }) == 7
                         ? 0
                         : 1;
        }
        over = true;
        outside.join();
        EXPECT_EQ(wrong, 0U);
    }
}

TEST_F(pool_dump, of_a_pool_that_was_shut_down) {
    pilfer::pool p(workers(2));
    p.shutdown();
    EXPECT_THAT(dump_of(p), HasSubstr(": 2 workers, shut down; 0 suspended contexts"));
    EXPECT_THAT(dump_of(p), HasSubstr("): ended; deque"));
    EXPECT_THAT(dump_of(p), Not(HasSubstr("asleep")));
}

class signal_dump : public guarded {};

volatile std::sig_atomic_t came_before = 0;

TEST_F(signal_dump, works_while_every_worker_is_blocked_and_calls_the_previous_handler) {
    const auto result = in_child([] {
        own_stderr err;
        std::signal(SIGUSR1, [](int) { came_before = came_before + 1; });
        pilfer::options o = workers(2);
        o.debug.dump_signal = SIGUSR1;
        pilfer::pool one(o);
        std::atomic<bool> enough{false};
        const auto block = [&] {
            while (!enough.load()) {
                std::this_thread::sleep_for(10ms);
            }
        };
        const auto a = one.async(block);
        const auto b = one.async(block);
        const std::string both = "runs a task; ";
        while (err.count(both) < 2) { // in one dump
            err.text.clear();
            const auto dumps = came_before + 1;
            raise(SIGUSR1);
            err.await("  worker 1 (");
            if (came_before != dumps) {
                return 3;
            }
        }
        {
            const pilfer::pool two(o); // one signal, two pools
            err.text.clear();
            raise(SIGUSR1);
            err.await("  worker 1 (", 2);
        }
        enough = true;
        a.get();
        b.get();
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

TEST_F(signal_dump, restores_the_previous_action) {
    struct sigaction before {};
    struct sigaction during {};
    struct sigaction after {};
    sigaction(SIGUSR2, nullptr, &before);
    {
        pilfer::options o = workers(1);
        o.debug.dump_signal = SIGUSR2;
        const auto threads = thread_count();
        const pilfer::pool one(o);
        EXPECT_EQ(thread_count(), threads + 2);
        { const pilfer::pool two(o); }
        sigaction(SIGUSR2, nullptr, &during);
        EXPECT_NE(during.sa_handler, before.sa_handler);
    }
    sigaction(SIGUSR2, nullptr, &after);
    EXPECT_EQ(after.sa_handler, before.sa_handler);
}

struct sigaction earlier {};
std::atomic<int> calls{0};
void chains(int signal, siginfo_t* info, void* machine) {
    ++calls;
    earlier.sa_sigaction(signal, info, machine);
}

/// A handler that stays after its pool has ended becomes the earlier one of the next pool's.
TEST_F(signal_dump, a_handler_that_calls_an_older_one_is_called_once) {
    const auto result = in_child([] {
        pilfer::options o = workers(1);
        o.debug.dump_signal = SIGUSR1;
        auto first = std::make_unique<pilfer::pool>(o);
        struct sigaction mine {};
        mine.sa_sigaction = &chains;
        mine.sa_flags = SA_SIGINFO;
        sigaction(SIGUSR1, &mine, &earlier);
        first.reset();
        const pilfer::pool second(o);
        raise(SIGUSR1);
        raise(SIGUSR1);
        return calls == 2 ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

class bad_input_waits : public guarded {};

TEST_F(bad_input_waits, unusable_signals) {
    std::vector<int> wrong{-1,     SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGILL,
                           SIGFPE, SIGTRAP, SIGABRT, SIGSYS,  65,     1 << 20};
    for (const int signal : wrong) {
        pilfer::options o = workers(1);
        o.debug.dump_signal = signal;
        try {
            const pilfer::pool p(o);
            ADD_FAILURE() << signal << " was accepted";
        } catch (const std::invalid_argument& e) {
            EXPECT_THAT(e.what(), HasSubstr("options.debug.dump_signal must be 0 or"));
            EXPECT_THAT(e.what(), HasSubstr("not " + std::to_string(signal)));
        }
    }
}

TEST_F(bad_input_waits, the_interval_of_the_stall_report) {
    pilfer::options o = workers(1);
    o.debug.stall_report = 86'400'001;
    try {
        const pilfer::pool p(o);
        ADD_FAILURE() << "was accepted";
    } catch (const std::invalid_argument& e) {
        EXPECT_THAT(e.what(),
                    HasSubstr("options.debug.stall_report must be from 0 to 86400000, not 86400001"));
    }
    o.debug.stall_report = 86'400'000;
    pilfer::pool p(o);
    EXPECT_EQ(p.run([] { return 5; }), 5);
}

} // namespace
