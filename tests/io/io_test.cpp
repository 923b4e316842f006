// Tasks that wait for descriptors: who is woken and by what, times, closing, many of them, and what a pool
// that has them still owes to everybody else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pilfer/io.hpp>
#include <pilfer/timer.hpp>
#include <pilfer/yield.hpp>

#include "base/os.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"
#include "waits/waits.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;
namespace io = pilfer::io;

/// Both ends of a pipe or of a pair of sockets; non-blocking.
class ends {
public:
    enum kind { pipes, sockets };
    explicit ends(kind k = pipes) {
        const int error = k == pipes
                              ? ::pipe2(m_fd, O_NONBLOCK | O_CLOEXEC)
                              : ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, m_fd);
        if (error != 0) {
            std::abort();
        }
    }
    ends(ends&& other) noexcept : m_fd{std::exchange(other.m_fd[0], -1), std::exchange(other.m_fd[1], -1)} {}
    ~ends() {
        close(0);
        close(1);
    }
    [[nodiscard]] int in() const { return m_fd[0]; }
    [[nodiscard]] int out() const { return m_fd[1]; }
    void close(int which) {
        if (m_fd[which] >= 0) {
            ::close(std::exchange(m_fd[which], -1));
        }
    }
    void say(char c = 'x') const { EXPECT_EQ(::write(m_fd[1], &c, 1), 1); }
    /// What is there; 0: nothing.
    [[nodiscard]] char hear() const {
        char c = 0;
        return ::read(m_fd[0], &c, 1) == 1 ? c : '\0';
    }
    void fill() const {
        const std::string much(1 << 16, 'f');
        while (::write(m_fd[1], much.data(), much.size()) > 0) {
        }
    }

private:
    int m_fd[2];
};

[[nodiscard]] bool is(std::error_code e, std::errc what) { return e == std::make_error_code(what); }

class row_C9_io : public over_workers {};
PILFER_OVER_WORKERS(row_C9_io);

TEST_P(row_C9_io, a_task_is_woken_by_what_a_thread_writes) {
    pilfer::pool pool(with_workers());
    const ends e;
    for (unsigned round = 0; round < 20; ++round) {
        auto reader = pool.async([&] {
            EXPECT_FALSE(io::wait_readable(e.in()));
            return e.hear();
        });
        if (round % 2 != 0) {
            std::this_thread::sleep_for(1ms); // it waits by now, or not
        }
        e.say('q');
        EXPECT_EQ(reader.get(), 'q');
    }
}

TEST_P(row_C9_io, two_tasks_talk) {
    pilfer::pool pool(with_workers());
    const ends e(ends::sockets);
    const auto rounds = static_cast<int>(hundredth_of(20'000, 50));
    const auto talk = [rounds](int fd, bool begins) {
        int heard = 0;
        for (int i = 0; i < rounds; ++i) {
            if (begins || i > 0) {
                EXPECT_FALSE(io::write(fd, &i, sizeof i).error);
            }
            int got = -1;
            EXPECT_EQ(io::read(fd, &got, sizeof got).bytes, sizeof got);
            heard += got == i ? 1 : 0;
            if (!begins && i + 1 == rounds) {
                EXPECT_FALSE(io::write(fd, &i, sizeof i).error);
            }
        }
        return heard;
    };
    auto [a, b] = pool.run([&] {
        return pilfer::join([&] { return talk(e.in(), true); },
                            [&] {
                                // Answers what it hears.
                                int heard = 0;
                                for (int i = 0; i < rounds; ++i) {
                                    int got = -1;
                                    EXPECT_EQ(io::read(e.out(), &got, sizeof got).bytes, sizeof got);
                                    heard += got == i ? 1 : 0;
                                    EXPECT_FALSE(io::write(e.out(), &got, sizeof got).error);
                                }
                                return heard;
                            });
    });
    EXPECT_EQ(a, rounds);
    EXPECT_EQ(b, rounds);
}

TEST_P(row_C9_io, a_reader_and_a_writer_of_one_descriptor) {
    pilfer::pool pool(with_workers());
    const ends e(ends::sockets);
    e.fill(); // of e.out(): nothing more goes in
    std::atomic<int> over{0};
    auto writer = pool.async([&] {
        const auto error = io::wait_writable(e.out());
        ++over;
        return error;
    });
    auto readers = std::vector<pilfer::future<std::error_code>>();
    for (int i = 0; i < 3; ++i) {
        readers.push_back(pool.async([&] {
            const auto error = io::wait_readable(e.out());
            ++over;
            return error;
        }));
    }
    EXPECT_EQ(::write(e.in(), "r", 1), 1);
    for (auto& r : readers) {
        EXPECT_FALSE(r.get()) << "all who wait for the same go on";
    }
    EXPECT_EQ(over, 3) << "the other direction is not ready";
    std::vector<char> all(1 << 20);
    while (::read(e.in(), all.data(), all.size()) > 0) {
    }
    EXPECT_FALSE(writer.get());
}

TEST_P(row_C9_io, a_hang_up_ends_waits_of_both_kinds) {
    pilfer::pool pool(with_workers());
    ends e(ends::sockets);
    e.fill();
    auto writer = pool.async([&] { return io::wait_writable(e.out()); });
    auto reader = pool.async([&] { return io::wait_readable(e.out()); });
    e.close(0);
    EXPECT_FALSE(writer.get());
    EXPECT_FALSE(reader.get());
    EXPECT_TRUE(is(pool.run([&] { return io::write(e.out(), "x", 1).error; }), std::errc::broken_pipe))
        << "and no signal ends the program";

    ends p; // of a pipe that nobody reads any more the writer hears
    p.fill();
    auto blocked = pool.async([&] { return io::write(p.out(), "x", 1).error; });
    p.close(0);
    EXPECT_TRUE(is(blocked.get(), std::errc::broken_pipe));
    ends q;
    auto end = pool.async([&] {
        char c = 0;
        return io::read(q.in(), &c, 1);
    });
    q.close(1);
    const auto t = end.get();
    EXPECT_EQ(t.bytes, 0U);
    EXPECT_FALSE(t.error) << "the end of the file";
}

TEST_P(row_C9_io, time_limits) {
    pilfer::pool pool(with_workers());
    const ends e;
    pool.run([&] {
        const auto start = std::chrono::steady_clock::now();
        EXPECT_TRUE(is(io::wait_readable(e.in(), 3ms), std::errc::timed_out));
        EXPECT_GE(std::chrono::steady_clock::now() - start, 3ms);
        EXPECT_TRUE(is(io::wait_readable(e.in(), 0ms), std::errc::timed_out));
        EXPECT_TRUE(is(io::wait_readable(e.in(), start), std::errc::timed_out)) << "long ago";
        char c = 0;
        EXPECT_TRUE(is(io::read(e.in(), &c, 1, 1ms).error, std::errc::timed_out));
        EXPECT_FALSE(io::wait_writable(e.out(), 0ms)) << "ready, though the time is over";
        e.fill();
        const auto t = io::write(e.out(), "much", 4, 1ms);
        EXPECT_TRUE(is(t.error, std::errc::timed_out));
        EXPECT_EQ(t.bytes, 0U);
        EXPECT_FALSE(io::wait_readable(e.in(), 1h));
        EXPECT_FALSE(io::wait_readable(e.in(), std::chrono::hours::max()));
    });
}

TEST_P(row_C9_io, a_time_limit_against_what_comes) {
    pilfer::pool pool(with_workers());
    const ends e;
    const auto rounds = static_cast<unsigned>(hundredth_of(30'000, 30));
    std::atomic<unsigned> asked{0};
    std::thread writer([&] {
        for (unsigned i = 0; i < rounds; ++i) {
            while (asked < i + 1) {
                std::this_thread::yield();
            }
            std::this_thread::sleep_for(std::chrono::microseconds(i % 120));
            e.say();
        }
    });
    const unsigned late = pool.run([&] {
        unsigned n = 0;
        for (unsigned i = 0; i < rounds; ++i) {
            asked = i + 1;
            const auto error = io::wait_readable(e.in(), std::chrono::microseconds(60 + i % 40));
            n += is(error, std::errc::timed_out) ? 1 : 0;
            EXPECT_TRUE(!error || is(error, std::errc::timed_out));
            EXPECT_FALSE(io::wait_readable(e.in())); // it comes, late or not, once
            EXPECT_EQ(e.hear(), 'x');
        }
        return n;
    });
    writer.join();
    EXPECT_LE(late, rounds);
    EXPECT_EQ(e.hear(), '\0');
}

TEST_P(row_C9_io, forget_and_close_wake_whoever_waits) {
    pilfer::pool pool(with_workers());
    pilfer::pool other(workers(1));
    for (const bool closes : {false, true}) {
        ends e;
        std::atomic<int> here{0};
        const auto wait = [&] {
            ++here;
            return io::wait_readable(e.in());
        };
        auto a = pool.async(wait);
        auto b = other.async(wait);
        auto c = pool.async([&] {
            ++here;
            return io::wait_readable(e.in(), 1h);
        });
        std::size_t woken = 0;
        while (!closes && woken < 3) { // who comes to wait only now is woken in the next round
            woken += io::forget(e.in());
            std::this_thread::yield();
        }
        if (closes) {
            while (here < 3) {
                std::this_thread::yield();
            }
            const int fd = dup(e.out()); // the number is not given to anybody else meanwhile
            EXPECT_FALSE(io::close(e.in()));
            EXPECT_TRUE(is(io::close(e.in()), std::errc::bad_file_descriptor));
            ::close(fd);
        }
        for (auto* f : {&a, &b, &c}) {
            const auto error = f->get();
            EXPECT_TRUE(is(error, std::errc::operation_canceled) ||
                        (closes && is(error, std::errc::bad_file_descriptor))) // it came behind the close
                << error.message();
        }
        EXPECT_EQ(io::forget(e.in()), 0U);
        if (closes) {
            (void)dup2(e.out(), e.in()); // for the destructor
        }
    }
    EXPECT_EQ(io::forget(-1), 0U);
    EXPECT_EQ(io::forget(1'000'000), 0U);
}

TEST_P(row_C9_io, a_number_that_comes_back_with_another_file) {
    pilfer::pool pool(with_workers());
    for (unsigned round = 0; round < 5; ++round) {
        ends first;
        ends second;
        const int kept = dup(first.in()); // so the kernel goes on watching the first file
        pool.run([&] {
            EXPECT_TRUE(is(io::wait_readable(first.in(), 1us), std::errc::timed_out));
            EXPECT_EQ(dup2(second.in(), first.in()), first.in()); // closes it and takes its number
            first.say();
            EXPECT_TRUE(is(io::wait_readable(first.in(), 1ms), std::errc::timed_out))
                << "what is said to the first file is nothing to the second one";
            second.say('2');
            EXPECT_FALSE(io::wait_readable(first.in()));
            EXPECT_EQ(first.hear(), '2');
        });
        ::close(kept);
    }
}

TEST_P(row_C9_io, what_is_always_ready_and_what_is_none) {
    pilfer::pool pool(with_workers());
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    sockaddr_in nobody{};
    nobody.sin_family = AF_INET;
    const auto look = [file, nobody] {
        EXPECT_FALSE(io::wait_readable(file)) << "files are always ready";
        EXPECT_FALSE(io::wait_writable(file));
        char magic[4];
        EXPECT_EQ(io::read(file, magic, 4).bytes, 4U);
        for (const int bad : {-1, -1'000'000, 999'999, INT_MAX}) {
            EXPECT_TRUE(is(io::wait_readable(bad), std::errc::bad_file_descriptor)) << bad;
            EXPECT_TRUE(is(io::wait_writable(bad, 1ms), std::errc::bad_file_descriptor)) << bad;
            EXPECT_TRUE(is(io::read(bad, magic, 4).error, std::errc::bad_file_descriptor)) << bad;
            EXPECT_TRUE(is(io::write(bad, magic, 4).error, std::errc::bad_file_descriptor)) << bad;
            EXPECT_TRUE(is(io::accept(bad).error, std::errc::bad_file_descriptor)) << bad;
            EXPECT_TRUE(is(io::connect(bad, reinterpret_cast<const sockaddr*>(&nobody), sizeof nobody),
                           std::errc::bad_file_descriptor))
                << bad;
            EXPECT_TRUE(is(io::make_nonblocking(bad), std::errc::bad_file_descriptor)) << bad;
            EXPECT_TRUE(is(io::close(bad), std::errc::bad_file_descriptor)) << bad;
        }
        EXPECT_TRUE(is(io::accept(file).error, std::errc::not_a_socket));
    };
    pool.run(look);
    look(); // a thread is told the same
    ::close(file);
}

TEST_P(row_C9_io, busy_workers_see_it_too) {
    pilfer::pool pool(with_workers());
    const ends e;
    std::atomic<bool> heard{false};
    auto reader = pool.async([&] {
        EXPECT_FALSE(io::wait_readable(e.in()));
        heard = true;
    });
    auto busy = pool.async([&] { // all workers, until it is heard
        pilfer::scope s;
        for (unsigned i = 0; i < 2 * GetParam(); ++i) {
            s.defer([&] {
                while (!heard) {
                    pilfer::yield();
                }
            });
        }
        s.sync();
    });
    std::this_thread::sleep_for(1ms);
    e.say();
    busy.get();
    reader.get();
}

TEST_P(row_C9_io, whoever_sleeps_there_is_woken_for_everything_else) {
    pilfer::pool pool(with_workers());
    const ends e;
    auto reader = pool.async([&] { return io::wait_readable(e.in()); });
    const auto rounds = static_cast<int>(hundredth_of(40'000, 40));
    for (int i = 0; i < rounds; ++i) {
        EXPECT_EQ(pool.run([i] { return i; }), i);
    }
    pool.run([] {
        for (int i = 0; i < 10; ++i) {
            pilfer::sleep_for(100us); // armed while it sleeps for good
        }
        pilfer::scope s;
        for (int i = 0; i < 10; ++i) {
            s.spawn([] { pilfer::sleep_for(200us); });
        }
        s.sync();
    });
    e.say();
    EXPECT_FALSE(reader.get());
}

TEST_P(row_C9_io, a_pool_ends_behind_those_who_wait) {
    ends e;
    std::atomic<bool> over{false};
    std::atomic<bool> begun{false};
    {
        pilfer::pool pool(with_workers());
        pool.submit([&] {
            begun = true;
            EXPECT_FALSE(io::wait_readable(e.in()));
            over = true;
        });
        while (!begun) {
            std::this_thread::yield();
        }
        std::thread later([&] {
            std::this_thread::sleep_for(2ms);
            e.say();
        });
        pool.shutdown(GetParam() % 2 != 0 ? pilfer::shutdown_mode::drain : pilfer::shutdown_mode::drop);
        later.join();
        EXPECT_TRUE(over) << "what has begun is not dropped";
    }
}

TEST_P(row_C9_io, accept_and_connect) {
    pilfer::pool pool(with_workers());
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&at);
    socklen_t size = sizeof at;
    ASSERT_EQ(bind(listener, any, size), 0);
    ASSERT_EQ(listen(listener, 64), 0);
    ASSERT_EQ(getsockname(listener, any, &size), 0);
    constexpr int clients = 20;
    const std::string text(100'000, 't');
    std::atomic<int> right{0};
    pool.run([&] {
        pilfer::scope s;
        s.defer([&] {
            pilfer::scope sessions;
            for (int i = 0; i < clients; ++i) {
                const auto a = io::accept(listener);
                ASSERT_FALSE(a.error);
                EXPECT_NE(fcntl(a.fd, F_GETFL) & O_NONBLOCK, 0);
                sessions.defer([fd = a.fd] { // echo
                    char buffer[4096];
                    for (;;) {
                        const auto got = io::read(fd, buffer, sizeof buffer);
                        if (got.bytes == 0 || io::write(fd, buffer, got.bytes).error) {
                            break;
                        }
                    }
                    EXPECT_FALSE(io::close(fd));
                });
            }
            sessions.sync();
        });
        for (int i = 0; i < clients; ++i) {
            s.defer([&] {
                const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
                EXPECT_FALSE(io::connect(fd, any, sizeof at, 60s));
                pilfer::scope both;
                both.defer([&] { EXPECT_EQ(io::write(fd, text.data(), text.size()).bytes, text.size()); });
                std::string back(text.size(), ' ');
                std::size_t have = 0;
                while (have < back.size()) {
                    const auto got = io::read(fd, back.data() + have, back.size() - have);
                    if (got.bytes == 0) {
                        break;
                    }
                    have += got.bytes;
                }
                both.sync();
                right += back == text ? 1 : 0;
                ::close(fd);
            });
        }
        s.sync();
        EXPECT_TRUE(is(io::accept(listener, 1ms).error, std::errc::timed_out));
    });
    EXPECT_EQ(right, clients);
    ::close(listener);
    const int late = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    EXPECT_TRUE(
        is(pool.run([&] { return io::connect(late, any, sizeof at); }), std::errc::connection_refused));
    ::close(late);
}

class io_alone : public guarded {};

/// As many pairs as there may be open files, up to `most`; the limit is raised as far as allowed.
[[nodiscard]] unsigned pairs_allowed(unsigned most) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 2 * most + 200);
    setrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_NOFILE, &files);
    return static_cast<unsigned>(std::min<rlim_t>(most, (files.rlim_cur - 100) / 2));
}

TEST_F(io_alone, row_C9_ten_thousand_wait_in_suspended_contexts) {
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
            s.defer([&] {
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
    EXPECT_EQ(thread_count(), threads + 2) << "the workers, and nobody else";
}

TEST_F(io_alone, a_pool_that_waits_for_no_descriptor_has_none) {
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

TEST_F(io_alone, no_descriptors_left_is_an_error_and_no_end) {
    const ends e;
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    const rlimit few{static_cast<rlim_t>(std::max(e.in(), e.out())) + 1, files.rlim_max};
    pilfer::pool pool(workers(1));
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    // Looked at behind it: UndefinedBehaviorSanitizer needs descriptors to look at an error's category.
    const std::error_code error = pool.run([&] { return io::wait_readable(e.in()); });
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    EXPECT_TRUE(is(error, std::errc::too_many_files_open));
    e.say();
    EXPECT_FALSE(pool.run([&] { return io::wait_readable(e.in()); })) << "the next wait tries again";
}

TEST_F(io_alone, other_threads_block) {
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

TEST_F(io_alone, a_report_names_the_descriptor_and_no_stall_is_reported) {
    const auto result = waits::in_child([] {
        waits::own_stderr err;
        ends e;
        e.fill();
        {
            pilfer::options o = workers(2);
            o.stall_report = 50;
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
