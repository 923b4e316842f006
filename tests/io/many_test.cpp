// Descriptors: very many, none left, threads outside of pools, reports.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <pilfer/io.hpp>
#include <pilfer/timer.hpp>

#include "io/support.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"
#include "waits/waits.hpp"

namespace {

using namespace support;
using namespace io_tests;
using namespace std::chrono_literals;
namespace io = pilfer::io;

class descriptors_of_a_pool : public guarded {};

/// As many pairs as there may be open files, up to `most`; the limit is raised as far as allowed.
[[nodiscard]] unsigned pairs_allowed(unsigned most) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 2 * most + 200);
    setrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_NOFILE, &files);
    return static_cast<unsigned>(std::min<rlim_t>(most, (files.rlim_cur - 100) / 2));
}

TEST_F(descriptors_of_a_pool, ten_thousand_wait_in_suspended_contexts) {
#if defined(PILFER_TEST_EMULATED)
    const unsigned n = pairs_allowed(300);
#else
    const unsigned n = pairs_allowed(sanitized ? 300 : 10'000);
#endif
    std::vector<ends> all;
    all.reserve(n);
    for (unsigned i = 0; i < n; ++i) {
        all.emplace_back(ends::sockets);
    }
    const std::size_t threads = thread_count(); // a sanitizer has its own
    pilfer::pool pool(workers(2));
    std::atomic<unsigned> heard{0};
    auto waits = pool.async([&] {
        pilfer::scope s;
        for (const ends& e : all) {
            s.fork([&] {
                char c = 0;
                if (io::read(e.in(), &c, 1).bytes == 1 && c == 'x') {
                    ++heard;
                }
            });
        }
        s.sync();
    });
    for (unsigned i = 0; i < n; ++i) {
        all[(i * 7919) % n].say();
        if (i == n / 2) {
            std::this_thread::sleep_for(2ms);
        }
    }
    waits.get();
    EXPECT_EQ(heard, n);
    EXPECT_EQ(thread_count() - threads_named("pilfer/time"), threads + 2) << "the workers, and nobody else";
}

TEST_F(descriptors_of_a_pool, a_pool_that_waits_for_no_descriptor_has_none) {
#if defined(PILFER_TEST_EMULATED)
    GTEST_SKIP() << "the emulator has some of its own, now and then";
#endif
    const auto files = [] {
        namespace fs = std::filesystem;
        return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
    };
    const auto before = files();
    {
        pilfer::pool pool(workers(2));
        pool.run([] { pilfer::sleep_for(1ms); });
        EXPECT_EQ(files(), before);
        const ends e;
        pool.run([&] { (void)io::wait_readable(e.in(), 20ms); });
        pool.run([&] { (void)io::wait_readable(e.in(), 20ms); });
        EXPECT_EQ(files(), before + 4) << "two of the test, an epoll, and an eventfd";
    }
    EXPECT_EQ(files(), before);
}

TEST_F(descriptors_of_a_pool, no_descriptors_left_is_an_error_and_no_end) {
    const ends e;
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    const rlimit few{static_cast<rlim_t>(std::max(e.in(), e.out())) + 1, files.rlim_max};
    pilfer::pool pool(workers(1));
    // UndefinedBehaviorSanitizer needs descriptors at the first virtual call to an object of each class, and
    // to look at an error's category. So another pool makes these calls before, and the error is checked
    // afterwards.
    const auto wait = [&](pilfer::pool& in) {
        return in.run([&] { return io::wait_readable(e.in(), 1ms); });
    };
    {
        pilfer::pool before(workers(1));
        EXPECT_TRUE(is(wait(before), std::errc::timed_out));
    }
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    const std::error_code error = wait(pool);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    EXPECT_TRUE(is(error, std::errc::too_many_files_open));
    e.say();
    EXPECT_FALSE(pool.run([&] { return io::wait_readable(e.in()); })) << "the next wait tries again";
}

TEST_F(descriptors_of_a_pool, other_threads_block) {
    const ends e;
    EXPECT_TRUE(is(io::wait_readable(e.in(), 2ms), std::errc::timed_out));
    EXPECT_FALSE(io::wait_writable(e.out()));
    std::thread writer([&] {
        std::this_thread::sleep_for(1ms);
        EXPECT_FALSE(io::write(e.out(), "ab", 2).error);
    });
    EXPECT_FALSE(io::wait_readable(e.in()));
    char both[2] = {};
    EXPECT_EQ(io::read(e.in(), both, 1).bytes, 1U);
    EXPECT_EQ(io::read(e.in(), both + 1, 1).bytes, 1U);
    EXPECT_EQ(both[1], 'b');
    writer.join();
}

TEST_F(descriptors_of_a_pool, a_report_names_the_descriptor_and_no_stall_is_reported) {
    const auto result = waits::in_child([] {
        waits::own_stderr err;
        ends e;
        e.fill();
        {
            pilfer::options o = workers(2);
            o.debug.stall_report = 50;
            pilfer::pool pool(o);
            auto reader = pool.async([&] { return io::wait_readable(e.out(), 1h); });
            auto writer = pool.async([&] { return io::wait_writable(e.out()); });
            const std::string fd = std::to_string(e.out());
            std::ostringstream text;
            const auto says = [&](const std::string& part) {
                return text.str().find(part) != std::string::npos;
            };
            while (!says("waits for descriptor " + fd + " to be readable") ||
                   !says("waits for descriptor " + fd + " to be writable")) {
                text.str("");
                pool.dump(text);
            }
            err.listen(300ms);
            EXPECT_EQ(io::forget(e.out()), 2U);
            (void)reader.get();
            (void)writer.get();
        }
        const bool silent = err.count("stall") == 0;
        err.give_back();
        return silent ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

} // namespace
