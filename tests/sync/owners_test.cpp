// Misuse of locks that gets a message: cycles of owners, locking twice, and findings of the checked build.
#include <gtest/gtest.h>

#include <mutex>
#include <regex>
#include <string>
#include <thread>

#include <unistd.h>

#include "support/child.hpp"
#include "sync/support.hpp"

namespace {

using namespace sync_tests;
using support::workers;

class lock_owners : public support::guarded {};

/// In a child: the checked build stops it with this text. Returns what the child said.
template <class Body>
std::string expect_stopped(const char* text, Body body) {
    if (!pilfer::detail::checked_build) {
        return {}; // elsewhere it is undefined
    }
    const auto result = support::in_child([&] {
        body();
        return 0;
    });
    EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
    EXPECT_TRUE(result.said(text)) << result;
    return result.output;
}

/// `body` waits for ever; meanwhile standard error must contain `text`. Returns what the child said.
template <class Body>
std::string expect_named(const char* text, Body body) {
    if (pilfer::detail::checked_build) {
        return expect_stopped(text, body);
    }
    const auto result = support::in_child([&] {
        int ends[2];
        if (pipe(ends) != 0) {
            return 1;
        }
        const int out = dup(2);
        dup2(ends[1], 2);
        std::thread([&body] { body(); }).detach();
        std::string said;
        char buffer[256];
        while (said.find(text) == std::string::npos || said.back() != '\n') {
            const ssize_t n = read(ends[0], buffer, sizeof buffer);
            if (n <= 0) {
                return 2;
            }
            said.append(buffer, static_cast<std::size_t>(n));
        }
        dup2(out, 2);
        (void)!write(2, said.data(), said.size());
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_TRUE(result.said(text)) << result;
    EXPECT_EQ(result.output.find('\n') + 1, result.output.size()) << "said more than once: " << result;
    return result.output;
}

TEST_F(lock_owners, the_checked_build_names_misuse) {
    expect_stopped("a mutex is unlocked that nobody holds", [] {
        pilfer::mutex m;
        m.unlock();
    });
    expect_stopped("a mutex is unlocked by another one", [] {
        pilfer::mutex m;
        m.lock();
        std::thread([&] { m.unlock(); }).join();
    });
    expect_stopped("a mutex ends that is held", [] {
        pilfer::mutex m;
        m.lock();
    });
    static pilfer::mutex kept;
    expect_stopped("a task ended that holds a lock of the library", [] {
        pilfer::pool(workers(1)).run([] {
            pilfer::scope s;
            s.spawn([] { kept.lock(); });
            s.sync();
        });
    });
    expect_stopped("a task ended that holds a lock of the library",
                   [] { pilfer::pool(workers(1)).run([] { kept.lock(); }); });
    expect_stopped("a shared mutex is unlocked that nobody shares", [] {
        pilfer::shared_mutex m;
        m.unlock_shared();
    });
    expect_stopped("a shared mutex is unlocked that nobody holds for itself", [] {
        pilfer::shared_mutex m;
        m.lock_shared();
        m.unlock();
    });
    expect_stopped("more was released to a semaphore than its max()", [] {
        pilfer::binary_semaphore s(1);
        s.release();
    });
    expect_stopped("less than nothing was released", [] { pilfer::binary_semaphore(1).release(-1); });
    expect_stopped("more arrive at a latch", [] { pilfer::latch(1).count_down(2); });
    expect_stopped("more arrive at a barrier",
                   [] { pilfer::barrier<>(1).arrive_and_drop(), (void)pilfer::barrier<>(1).arrive(2); });
}

TEST_F(lock_owners, a_cycle_of_owners_is_named_at_once) {
    expect_named("a cycle of tasks or threads that wait for each other's mutexes", [] {
        pilfer::pool one(workers(2));
        pilfer::pool other(workers(1));
        pilfer::mutex m[3];
        pilfer::latch all(3);
        const auto member = [&](std::size_t i) {
            const std::lock_guard first(m[i]);
            all.arrive_and_wait();
            const std::lock_guard second(m[(i + 1) % 3]);
        };
        std::thread thread([&] { member(0); });
        auto a = one.async([&] { member(1); });
        auto b = other.async([&] { member(2); });
        a.get();
        b.get();
        thread.join();
    });
}

/// As dump(), `pilfer top` and gdb name them, so that a reader finds their stacks there.
TEST_F(lock_owners, members_of_a_cycle_have_their_contexts_and_names) {
    const std::string said =
        expect_named("a cycle of tasks or threads that wait for each other's mutexes", [] {
            pilfer::pool pool(workers(2));
            pilfer::mutex m[3];
            pilfer::latch all(3);
            const auto member = [&](std::size_t i) {
                const std::lock_guard first(m[i]);
                all.arrive_and_wait();
                const std::lock_guard second(m[(i + 1) % 3]);
            };
            pool.submit({.name = "transfer money"}, [&] { member(0); });
            pool.submit([&] { member(1); });
            member(2);
        });
    // Any member may be the last one, with which the text begins.
    const std::string step = R"( a mutex \(0x[0-9a-f]+\), held by )";
    const std::string which = ", which waits for" + step;
    const std::string names[] = {R"(context \d+ of pool \d+ "transfer money")", R"(context \d+ of pool \d+)",
                                 R"(thread \d+)"};
    bool found = false;
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string& first = names[i];
        found = found || std::regex_search(said, std::regex("mutexes: " + first + " waits for" + step +
                                                            names[(i + 1) % 3] + which + names[(i + 2) % 3] +
                                                            which + first + "\\n"));
    }
    EXPECT_TRUE(found) << said;
}

TEST_F(lock_owners, mutexes_with_names_are_shown_with_these) {
    const std::string said =
        expect_named("a cycle of tasks or threads that wait for each other's mutexes", [] {
            pilfer::pool pool(workers(2));
            pilfer::mutex m[2];
            const pilfer::object_name accounts(m[0], "accounts");
            const pilfer::object_name longest(m[1], std::string(255, 'n'));
            pilfer::latch all(2);
            const auto member = [&](std::size_t i) {
                const std::lock_guard first(m[i]);
                all.arrive_and_wait();
                const std::lock_guard second(m[1 - i]);
            };
            pool.submit([&] { member(0); });
            member(1);
        });
    EXPECT_TRUE(std::regex_search(said, std::regex(R"(waits for a mutex \("accounts", 0x[0-9a-f]+\), held)")))
        << said;
    EXPECT_NE(said.find("(\"" + std::string(64, 'n') + "\", 0x"), said.npos) << said; // cut
    expect_named("a mutex (\"accounts\") is locked twice by the same task or thread", [] {
        pilfer::mutex m;
        const pilfer::object_name name(m, "accounts");
        m.lock();
        m.lock();
    });
}

TEST_F(lock_owners, a_thread_that_locks_twice_is_named_at_once) {
    const char* const text = "a mutex is locked twice by the same task or thread";
    expect_named(text, [] {
        pilfer::pool pool(workers(2));
        pool.run([] {
            pilfer::mutex m;
            m.lock();
            m.lock();
        });
    });
    expect_named(text, [] {
        pilfer::mutex m;
        m.lock();
        m.lock();
    });
}

/// Each owner waits for the next one's mutex while that one may still let go: long chains, but no cycle.
TEST_F(lock_owners, chains_of_owners_are_no_cycles) {
    constexpr std::size_t length = 40;
    testing::internal::CaptureStderr();
    {
        pilfer::pool pool(workers(3));
        std::array<pilfer::mutex, length + 1> m;
        pilfer::latch all(length);
        m[length].lock();
        std::vector<pilfer::future<void>> tasks;
        for (std::size_t i = 0; i < length; ++i) {
            tasks.push_back(pool.async([&, i] {
                const std::lock_guard first(m[i]);
                all.arrive_and_wait();
                for (int round = 0; round < 3; ++round) {
                    const std::lock_guard second(m[i + 1]);
                }
            }));
        }
        all.wait();
        m[length].unlock();
        for (auto& f : tasks) {
            f.get();
        }
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

} // namespace
