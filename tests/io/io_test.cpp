// Tasks that wait for descriptors: their wake-ups, time limits, closing, many of them, and the duties of
// their pool to other tasks.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <pilfer/io.hpp>
#include <pilfer/timer.hpp>
#include <pilfer/yield.hpp>

#include "io/support.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace io_tests;
using namespace std::chrono_literals;
namespace io = pilfer::io;

class descriptor_waits : public over_workers {};
PILFER_OVER_WORKERS(descriptor_waits);

TEST_P(descriptor_waits, a_task_is_woken_by_bytes_of_a_thread) {
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

TEST_P(descriptor_waits, two_tasks_talk) {
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
                                // Answers each message.
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

TEST_P(descriptor_waits, a_reader_and_a_writer_of_one_descriptor) {
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

TEST_P(descriptor_waits, a_hang_up_ends_waits_of_both_kinds) {
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

    ends p; // the writer gets an error for a pipe without a reader
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

TEST_P(descriptor_waits, time_limits) {
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

TEST_P(descriptor_waits, a_time_limit_races_an_event) {
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

TEST_P(descriptor_waits, forget_and_close_wake_all_waiters) {
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
        while (!closes && woken < 3) { // a task that begins to wait only now is woken in the next round
            woken += io::forget(e.in());
            std::this_thread::yield();
        }
        if (closes) {
            while (here < 3) {
                std::this_thread::yield();
            }
            const int fd = dup(e.out()); // keeps the number from being reused meanwhile
            EXPECT_FALSE(io::close(e.in()));
            EXPECT_TRUE(is(io::close(e.in()), std::errc::bad_file_descriptor));
            ::close(fd);
        }
        for (auto* f : {&a, &b, &c}) {
            const auto error = f->get();
            EXPECT_TRUE(is(error, std::errc::operation_canceled) ||
                        (closes && is(error, std::errc::bad_file_descriptor))) // it came after the close
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

TEST_P(descriptor_waits, a_number_that_is_reused_for_another_file) {
    pilfer::pool pool(with_workers());
    for (unsigned round = 0; round < 5; ++round) {
        ends first;
        ends second;
        const int kept = dup(first.in()); // so the kernel keeps watching the first file
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

TEST_P(descriptor_waits, files_that_are_always_ready_and_numbers_without_a_file) {
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
    look(); // a thread gets this error, too
    ::close(file);
}

TEST_P(descriptor_waits, busy_workers_see_it_too) {
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
            s.fork([&] {
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

TEST_P(descriptor_waits, a_worker_that_sleeps_in_poll_is_woken_for_other_work) {
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

TEST_P(descriptor_waits, a_pool_ends_after_its_waiting_tasks) {
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

TEST_P(descriptor_waits, accept_and_connect) {
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
        s.fork([&] {
            pilfer::scope sessions;
            for (int i = 0; i < clients; ++i) {
                const auto a = io::accept(listener);
                ASSERT_FALSE(a.error);
                EXPECT_NE(fcntl(a.fd, F_GETFL) & O_NONBLOCK, 0);
                sessions.fork([fd = a.fd] { // echo
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
            s.fork([&] {
                const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
                EXPECT_FALSE(io::connect(fd, any, sizeof at, 60s));
                pilfer::scope both;
                both.fork([&] { EXPECT_EQ(io::write(fd, text.data(), text.size()).bytes, text.size()); });
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

} // namespace
