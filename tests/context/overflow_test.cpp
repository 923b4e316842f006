// A task that runs off its stack ends the process with a message that helps.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "context/moved.hpp"
#include "platform/os.hpp"

namespace {

[[nodiscard]] PILFER_NOINLINE int deeper(int n) {
    volatile char frame[1'000];
    frame[n % 1'000] = static_cast<char>(n);
    return n == 0 ? 0 : deeper(n - 1) + frame[(n + 1) % 1'000];
}

/// One frame of 40 KiB that touches only its far end: a guard of one page would be jumped over.
[[nodiscard]] PILFER_NOINLINE int leaps(int n) {
    volatile char frame[40 * 1'024];
    frame[0] = static_cast<char>(n);
    return n == 0 ? 0 : leaps(n - 1) + frame[0];
}

/// A local buffer larger than stack and guard, for a system call.
[[nodiscard]] PILFER_NOINLINE int reads(int from) {
    char buffer[512 * 1'024];
    return ::read(from, buffer, 4'096) == 4'096 ? buffer[0] : 1;
}

/// A frame of 512 KiB as in code that was compiled without -fstack-clash-protection: only its far end is
/// touched.
[[nodiscard]] PILFER_NOINLINE int jumps() {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    auto* const far = reinterpret_cast<volatile char*>(here - 512 * 1'024);
    *far = 1;
    return *far;
}

enum class way { run, spawn, stolen_fork, leap, read, jump };

[[noreturn]] void overflow_by(way how, std::size_t stack_size, bool message) {
    pilfer::options o;
    o.workers = 2;
    o.stack_size = stack_size;
    o.debug.overflow_message = message;
    pilfer::pool pool(o);
    const int n = 10'000'000;
    int sum = 0;
    pool.run([&] {
        pilfer::scope s;
        switch (how) {
        case way::run:
            sum = deeper(n);
            break;
        case way::spawn:
            s.spawn([&] { sum = deeper(n); });
            break;
        case way::stolen_fork: {
            s.fork([&] { sum = deeper(n); });
            moved::flag never;
            never.spin();
            break;
        }
        case way::leap:
            sum = leaps(n);
            break;
        case way::read:
            sum = reads(::open("/dev/zero", O_RDONLY));
            break;
        case way::jump:
            sum = jumps();
            break;
        }
        s.sync();
    });
    std::exit(sum == 0 ? 0 : 1);
}

class overflow : public testing::Test {
protected:
    void SetUp() override {
        // Each case is the first in its process, so that no thread exists when it forks.
        GTEST_FLAG_SET(death_test_style, "fast");
    }
};

const char* const usual = "a task overflowed its stack of 262144 bytes; options.stack_size makes it larger";

TEST_F(overflow, of_a_root_task_names_size_and_option) {
    EXPECT_EXIT(overflow_by(way::run, 256 * 1024, true), testing::KilledBySignal(SIGABRT), usual);
}

TEST_F(overflow, of_a_spawned_child_names_size_and_option) {
    EXPECT_EXIT(overflow_by(way::spawn, 256 * 1024, true), testing::KilledBySignal(SIGABRT), usual);
}

TEST_F(overflow, of_a_stolen_child_names_size_and_option) {
    EXPECT_EXIT(overflow_by(way::stolen_fork, 256 * 1024, true), testing::KilledBySignal(SIGABRT), usual);
}

TEST_F(overflow, by_a_large_frame_does_not_jump_over_the_guard) {
    EXPECT_EXIT(overflow_by(way::leap, 1024 * 1024, true), testing::KilledBySignal(SIGABRT),
                "overflowed its stack of 1048576 bytes");
}

TEST_F(overflow, by_a_buffer_beyond_stack_and_guard_writes_into_no_other_stack) {
    EXPECT_EXIT(overflow_by(way::read, 256 * 1024, true), testing::KilledBySignal(SIGABRT), usual);
}

TEST_F(overflow, by_a_frame_without_stack_clash_protection_is_caught_by_the_wide_guard) {
    if (pilfer::os::address_space_is_limited()) {
        GTEST_SKIP() << "guards are narrow where the address space is limited";
    }
    EXPECT_EXIT(overflow_by(way::jump, 256 * 1024, true), testing::KilledBySignal(SIGABRT), usual);
}

TEST_F(overflow, names_the_size_that_was_asked_for) {
    EXPECT_EXIT(overflow_by(way::spawn, 64 * 1024, true), testing::KilledBySignal(SIGABRT),
                "overflowed its stack of 65536 bytes");
}

#if !defined(PILFER_SANITIZED) // sanitizers see these faults before or instead of the handler

// An emulator may have something to say about the signal.
const auto silent = testing::Not(testing::HasSubstr("pilfer"));

TEST_F(overflow, message_can_be_switched_off) {
    EXPECT_EXIT(overflow_by(way::spawn, 64 * 1024, false), testing::KilledBySignal(SIGSEGV), silent);
}

TEST_F(overflow, other_faults_are_left_alone) {
    EXPECT_EXIT(
        {
            pilfer::pool pool;
            pool.run([] { raise(SIGSEGV); });
        },
        testing::KilledBySignal(SIGSEGV), silent);
    EXPECT_EXIT(
        {
            pilfer::pool pool;
            int* volatile nowhere = nullptr;
            pool.run([&] { *nowhere = 1; });
        },
        testing::KilledBySignal(SIGSEGV), silent);
}

TEST_F(overflow, faults_reach_the_previous_handler) {
    EXPECT_EXIT(
        {
            struct sigaction mine {};
            mine.sa_handler = [](int) { _exit(42); };
            sigaction(SIGSEGV, &mine, nullptr);
            pilfer::pool pool;
            int* volatile nowhere = nullptr;
            pool.run([&] { *nowhere = 1; });
        },
        testing::ExitedWithCode(42), "");
}

#endif

} // namespace
