// Waits for descriptors, and functions that run each time, through <pilfer/pilfer.h>.
#include <pilfer/pilfer.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

constexpr std::uint64_t millisecond = 1'000'000;

template <class Condition>
void await(Condition so) {
    while (!so()) {
        std::this_thread::yield();
    }
}

/// A pair of sockets or the ends of a pipe; they do not block.
class two_ends {
public:
    explicit two_ends(bool sockets = true) {
        const int error =
            sockets ? ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) : ::pipe2(fd, O_CLOEXEC);
        EXPECT_EQ(error, 0);
        for (const int one : fd) {
            EXPECT_EQ(pilfer_io_make_nonblocking(one), 0);
            EXPECT_NE(::fcntl(one, F_GETFL) & O_NONBLOCK, 0);
        }
    }
    two_ends(const two_ends&) = delete;
    two_ends& operator=(const two_ends&) = delete;
    ~two_ends() {
        for (const int one : fd) {
            if (one >= 0) {
                ::close(one);
            }
        }
    }
    int fd[2] = {-1, -1};
};

/// f() as a task of `pool` that is awaited at the end.
template <class F>
class background {
public:
    background(pilfer_pool* pool, F f) : m_function(f) {
        EXPECT_EQ(pilfer_async(
                      pool,
                      [](void* self) -> void* {
                          static_cast<background*>(self)->m_function();
                          return nullptr;
                      },
                      this, &m_future),
                  0);
    }
    background(const background&) = delete;
    background& operator=(const background&) = delete;
    ~background() {
        EXPECT_EQ(pilfer_future_wait(m_future), 0);
        pilfer_future_free(m_future);
    }

private:
    F m_function;
    pilfer_future* m_future = nullptr;
};

class c_io_over_workers : public over_workers {};
INSTANTIATE_TEST_SUITE_P(workers, c_io_over_workers, testing::Values(1U, 2U, 3U, 8U),
                         testing::PrintToStringParamName());

TEST_P(c_io_over_workers, two_tasks_talk_over_a_socket) {
    const c_pool pool(GetParam());
    const two_ends ends;
    const auto rounds = static_cast<unsigned>(hundredth_of(10'000, 20));
    unsigned right = 0;
    {
        const background echo(pool, [&] {
            unsigned n = 0;
            std::size_t bytes = 0;
            while (pilfer_io_read(ends.fd[1], &n, sizeof n, PILFER_FOREVER, &bytes) == 0 &&
                   bytes == sizeof n) {
                EXPECT_EQ(pilfer_io_write(ends.fd[1], &n, sizeof n, PILFER_FOREVER, nullptr), 0);
            }
            EXPECT_EQ(bytes, 0U) << "the end of the file";
        });
        pool.run([&] {
            for (unsigned i = 0; i < rounds; ++i) {
                unsigned answer = ~i;
                std::size_t written = 0;
                std::size_t got = 0;
                EXPECT_EQ(pilfer_io_write(ends.fd[0], &i, sizeof i, 3'600'000 * millisecond, &written), 0);
                EXPECT_EQ(written, sizeof i);
                EXPECT_EQ(pilfer_io_wait_readable(ends.fd[0], PILFER_FOREVER), 0);
                EXPECT_EQ(pilfer_io_read(ends.fd[0], &answer, sizeof answer, 0, &got), 0);
                right += got == sizeof answer && answer == i ? 1 : 0;
            }
            EXPECT_EQ(::shutdown(ends.fd[0], SHUT_WR), 0);
        });
    }
    EXPECT_EQ(right, rounds);
}

TEST_P(c_io_over_workers, a_connection_is_accepted_and_both_sides_speak) {
    const c_pool pool(GetParam());
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    ASSERT_EQ(::bind(listener, address, size), 0);
    ASSERT_EQ(::listen(listener, 16), 0);
    ASSERT_EQ(::getsockname(listener, address, &size), 0);
    int fd = 7;
    EXPECT_EQ(pilfer_io_accept(listener, 0, &fd), PILFER_ETIMEDOUT);
    EXPECT_EQ(fd, -1);

    const std::string much(1 << 20, 'm'); // more than the socket holds
    std::string heard;
    {
        const background server(pool, [&] {
            int peer = -1;
            EXPECT_EQ(pilfer_io_accept(listener, PILFER_FOREVER, &peer), 0);
            EXPECT_NE(::fcntl(peer, F_GETFL) & O_NONBLOCK, 0);
            std::size_t written = 0;
            EXPECT_EQ(pilfer_io_write(peer, much.data(), much.size(), PILFER_FOREVER, &written), 0);
            EXPECT_EQ(written, much.size());
            EXPECT_EQ(pilfer_io_close(peer), 0);
        });
        pool.run([&] {
            const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            EXPECT_EQ(pilfer_io_connect(client, &at, sizeof at, PILFER_FOREVER), 0);
            EXPECT_EQ(pilfer_io_wait_writable(client, PILFER_FOREVER), 0);
            std::array<char, 4096> buffer{};
            std::size_t got = 0;
            int code = 0;
            while ((code = pilfer_io_read(client, buffer.data(), buffer.size(), PILFER_FOREVER, &got)) == 0 &&
                   got != 0) {
                heard.append(buffer.data(), got);
            }
            EXPECT_EQ(code, 0) << pilfer_strerror(code);
            EXPECT_EQ(pilfer_io_close(client), 0);
        });
    }
    EXPECT_EQ(heard, much);
    EXPECT_EQ(pilfer_io_close(listener), 0);
    // The listening socket is closed by now.
    const int late = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    EXPECT_EQ(pilfer_io_connect(late, &at, sizeof at, PILFER_FOREVER), PILFER_EERRNO - ECONNREFUSED);
    EXPECT_EQ(pilfer_io_close(late), 0);
}

TEST_P(c_io_over_workers, time_limits_and_errors_of_the_system) {
    const c_pool pool(GetParam());
    two_ends ends;
    const auto both = [&] { // in a task and in a thread
        char c = 'x';
        std::size_t n = 7;
        EXPECT_EQ(pilfer_io_wait_readable(ends.fd[0], 0), PILFER_ETIMEDOUT);
        EXPECT_EQ(pilfer_io_wait_readable(ends.fd[0], millisecond), PILFER_ETIMEDOUT);
        EXPECT_EQ(pilfer_io_wait_writable(ends.fd[0], 0), 0);
        EXPECT_EQ(pilfer_io_read(ends.fd[0], &c, 1, millisecond, &n), PILFER_ETIMEDOUT);
        EXPECT_EQ(n, 0U);
        EXPECT_EQ(pilfer_io_wait_readable(-1, 0), PILFER_EERRNO - EBADF);
        EXPECT_EQ(pilfer_io_wait_writable(1 << 20, PILFER_FOREVER), PILFER_EERRNO - EBADF);
        EXPECT_EQ(pilfer_io_read(-1, &c, 1, PILFER_FOREVER, &n), PILFER_EERRNO - EBADF);
        EXPECT_EQ(pilfer_io_write(-1, &c, 1, PILFER_FOREVER, &n), PILFER_EERRNO - EBADF);
        EXPECT_EQ(pilfer_io_make_nonblocking(-1), PILFER_EERRNO - EBADF);
        EXPECT_EQ(pilfer_io_close(-1), PILFER_EERRNO - EBADF);
        EXPECT_EQ(pilfer_io_forget(-1), 0U);
        EXPECT_EQ(pilfer_io_forget(ends.fd[0]), 0U) << "nobody waits";
        int fd = 0;
        EXPECT_EQ(pilfer_io_accept(ends.fd[0], PILFER_FOREVER, &fd), PILFER_EERRNO - EINVAL);
    };
    both();
    pool.run(both);
    // A write that stops half way returns its position.
    const std::string much(1 << 22, 'w');
    std::size_t written = 0;
    EXPECT_EQ(pilfer_io_write(ends.fd[0], much.data(), much.size(), millisecond, &written), PILFER_ETIMEDOUT);
    EXPECT_GT(written, 0U);
    EXPECT_LT(written, much.size());
    EXPECT_EQ(pilfer_io_wait_writable(ends.fd[0], 0), PILFER_ETIMEDOUT);
    ::close(std::exchange(ends.fd[1], -1));
    pool.run([&] {
        EXPECT_EQ(pilfer_io_write(ends.fd[0], "x", 1, PILFER_FOREVER, &written), PILFER_EERRNO - EPIPE);
        EXPECT_EQ(written, 0U);
    });
}

TEST_P(c_io_over_workers, forget_and_close_wake_waiting_tasks) {
    const c_pool pool(GetParam());
    two_ends ends;
    const int fd = ends.fd[0];
    int code = 7;
    {
        const background waiter(pool, [&] { code = pilfer_io_wait_readable(fd, PILFER_FOREVER); });
        await([&] { return pilfer_io_forget(fd) == 1; });
    }
    EXPECT_EQ(code, PILFER_ECANCELED);
    code = 7;
    {
        const background waiter(pool, [&] { code = pilfer_io_wait_readable(fd, PILFER_FOREVER); });
        await([&] {
            pilfer_counters c{};
            pilfer_pool_counters(pool, &c);
            return c.suspends - c.resumes >= 1;
        });
        EXPECT_EQ(pilfer_io_close(fd), 0);
    }
    ends.fd[0] = -1;
    EXPECT_EQ(code, PILFER_ECANCELED) << pilfer_strerror(code);
}

class c_on : public over_workers {};
INSTANTIATE_TEST_SUITE_P(workers, c_on, testing::Values(1U, 2U, 3U, 8U), testing::PrintToStringParamName());

/// The handle, freed at the end.
class subscribed {
public:
    subscribed() = default;
    subscribed(const subscribed&) = delete;
    subscribed& operator=(const subscribed&) = delete;
    ~subscribed() { pilfer_subscription_free(m_handle); }
    [[nodiscard]] pilfer_subscription** out() { return &m_handle; }
    [[nodiscard]] bool over() const { return pilfer_subscription_over(m_handle) == 1; }
    [[nodiscard]] int cancel() { return pilfer_subscription_cancel(m_handle); }

private:
    pilfer_subscription* m_handle = nullptr;
};

TEST_P(c_on, an_event_runs_it_once_for_each_setting) {
    struct shared {
        pilfer_event event;
        std::atomic<int> runs{0};
    } s;
    ASSERT_EQ(pilfer_event_init(&s.event, 0), 0);
    {
        const c_pool pool(GetParam());
        subscribed three;
        const auto count = [](void* p) { return ++static_cast<shared*>(p)->runs < 3 ? 1 : 0; };
        ASSERT_EQ(pilfer_on_event(pool, &s.event, count, &s, three.out()), 0);
        for (int i = 1; i <= 3; ++i) {
            EXPECT_FALSE(three.over());
            EXPECT_EQ(pilfer_event_set(&s.event), 0);
            await([&] { return s.runs == i; });
        }
        await([&] { return three.over(); });
        EXPECT_EQ(three.cancel(), 0) << "it has said 0";
        EXPECT_EQ(pilfer_event_set(&s.event), 0);

        // Of the caller's pool, without a handle; it is set already.
        pool.run([&] {
            EXPECT_EQ(pilfer_on_event(
                          nullptr, &s.event,
                          [](void* p) {
                              static_cast<shared*>(p)->runs += 10;
                              return 0;
                          },
                          &s, nullptr),
                      0);
        });
        await([&] { return s.runs == 13; });

        EXPECT_EQ(pilfer_event_reset(&s.event), 0);
        subscribed never;
        ASSERT_EQ(pilfer_on_event(pool, &s.event, count, &s, never.out()), 0);
        EXPECT_EQ(never.cancel(), 1);
        EXPECT_EQ(never.cancel(), 0);
        await([&] { return never.over(); });
        EXPECT_EQ(pilfer_event_set(&s.event), 0);
        EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), 0);
    }
    EXPECT_EQ(s.runs, 13);
    pilfer_event_destroy(&s.event);
}

TEST_P(c_on, a_channel_hands_over_each_pointer_in_order) {
    const c_pool pool(GetParam());
    const auto n = static_cast<std::uintptr_t>(hundredth_of(20'000, 50));
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{3}}) {
        pilfer_channel* channel = nullptr;
        ASSERT_EQ(pilfer_channel_new(&channel, capacity), 0);
        std::vector<std::uintptr_t> got;
        const auto keep = [](void* value, void* to) {
            static_cast<std::vector<std::uintptr_t>*>(to)->push_back(reinterpret_cast<std::uintptr_t>(value));
            return 1;
        };
        subscribed all;
        ASSERT_EQ(pilfer_on_channel(pool, channel, keep, &got, all.out()), 0);
        for (std::uintptr_t i = 0; i < n; ++i) {
            ASSERT_EQ(pilfer_channel_send(channel, reinterpret_cast<void*>(i)), 0);
        }
        EXPECT_EQ(pilfer_channel_close(channel), 0);
        await([&] { return all.over(); });
        std::vector<std::uintptr_t> wanted(n);
        std::iota(wanted.begin(), wanted.end(), std::uintptr_t{0});
        EXPECT_EQ(got, wanted);
        subscribed late;
        EXPECT_EQ(pilfer_on_channel(pool, channel, keep, &got, late.out()), 0);
        EXPECT_TRUE(late.over()) << "closed and empty";
        pilfer_channel_free(channel);
    }
}

TEST_P(c_on, no_pointer_is_lost_when_it_is_cancelled) {
    const c_pool pool(GetParam());
    pilfer_channel* channel = nullptr;
    ASSERT_EQ(pilfer_channel_new(&channel, 100), 0);
    std::uintptr_t next = 0; // of the functions in turn, then of the loop below
    const auto follow = [](void* value, void* p) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(value), (*static_cast<std::uintptr_t*>(p))++);
        return 1;
    };
    std::uintptr_t sent = 0;
    for (unsigned round = 0; round < 20; ++round) {
        subscribed some;
        ASSERT_EQ(pilfer_on_channel(pool, channel, follow, &next, some.out()), 0);
        for (unsigned i = 0; i < 3; ++i) {
            ASSERT_EQ(pilfer_channel_send(channel, reinterpret_cast<void*>(sent++)), 0);
        }
        (void)some.cancel();
        await([&] { return some.over(); });
    }
    void* value = nullptr;
    while (pilfer_channel_try_receive(channel, &value) == 0) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(value), next++);
    }
    EXPECT_EQ(next, sent);

    // One that has enough leaves the rest.
    for (std::uintptr_t i = 0; i < 3; ++i) {
        ASSERT_EQ(pilfer_channel_send(channel, reinterpret_cast<void*>(i)), 0);
    }
    subscribed two;
    const auto until_one = [](void* one, void*) { return one == nullptr ? 1 : 0; };
    ASSERT_EQ(pilfer_on_channel(pool, channel, until_one, nullptr, two.out()), 0);
    await([&] { return two.over(); });
    EXPECT_EQ(pilfer_channel_try_receive(channel, &value), 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(value), 2U);
    EXPECT_EQ(pilfer_channel_size(channel), 0U);
    pilfer_channel_free(channel);
}

TEST_P(c_on, a_descriptor_runs_it_as_long_as_it_is_ready) {
    const c_pool pool(GetParam());
    struct shared {
        two_ends pipe{false};
        std::atomic<unsigned> heard{0};
        std::atomic<unsigned> writes{0};
    } s;
    subscribed reader;
    const auto hear = [](void* p) {
        auto* const all = static_cast<shared*>(p);
        char c = 0;
        std::size_t got = 0;
        EXPECT_EQ(pilfer_io_read(all->pipe.fd[0], &c, 1, 0, &got), 0); // the next run takes the next one
        all->heard += c == 'h' && got == 1 ? 1U : 0U;
        return 1;
    };
    ASSERT_EQ(pilfer_on_readable(pool, s.pipe.fd[0], hear, &s, reader.out()), 0);
    for (unsigned i = 0; i < 20; ++i) {
        EXPECT_EQ(pilfer_io_write(s.pipe.fd[1], "hhh", 3, PILFER_FOREVER, nullptr), 0);
        if (i % 4 == 0) {
            await([&] { return s.heard == 3 * (i + 1); });
        }
    }
    await([&] { return s.heard == 60; });
    EXPECT_FALSE(reader.over());

    subscribed writer;
    const auto write = [](void* p) { return ++static_cast<shared*>(p)->writes < 5 ? 1 : 0; };
    ASSERT_EQ(pilfer_on_writable(pool, s.pipe.fd[1], write, &s, writer.out()), 0);
    await([&] { return writer.over(); });
    EXPECT_EQ(s.writes, 5U);

    EXPECT_EQ(pilfer_io_close(std::exchange(s.pipe.fd[0], -1)), 0);
    await([&] { return reader.over(); });
    EXPECT_EQ(s.heard, 60U);

    pilfer_subscription* none = nullptr;
    EXPECT_EQ(pilfer_on_readable(pool, -1, hear, &s, &none), PILFER_EERRNO - EBADF);
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(pilfer_on_readable(pool, file, hear, &s, &none), PILFER_EERRNO - EPERM) << "always ready";
    EXPECT_EQ(none, nullptr);
    ::close(file);
}

TEST_P(c_on, ends_with_its_pool) {
    for (const int mode : {PILFER_DRAIN, PILFER_DROP}) {
        const two_ends pipe(false);
        pilfer_event event;
        ASSERT_EQ(pilfer_event_init(&event, 0), 0);
        pilfer_channel* channel = nullptr;
        ASSERT_EQ(pilfer_channel_new(&channel, 10), 0);
        const auto no = [](void*) {
            ADD_FAILURE() << "nothing has happened";
            return 1;
        };
        const auto no_value = [](void*, void*) {
            ADD_FAILURE() << "nothing was sent";
            return 1;
        };
        std::array<subscribed, 3> all;
        const c_pool pool(GetParam());
        EXPECT_EQ(pilfer_on_event(pool, &event, no, nullptr, all[0].out()), 0);
        EXPECT_EQ(pilfer_on_channel(pool, channel, no_value, nullptr, all[1].out()), 0);
        EXPECT_EQ(pilfer_on_readable(pool, pipe.fd[0], no, nullptr, all[2].out()), 0);
        EXPECT_EQ(pilfer_pool_shutdown(pool, mode), 0);
        for (subscribed& one : all) {
            EXPECT_TRUE(one.over());
            EXPECT_EQ(one.cancel(), 0);
        }
        pilfer_subscription* late = nullptr;
        EXPECT_EQ(pilfer_on_event(pool, &event, no, nullptr, &late), PILFER_ECLOSED);
        EXPECT_EQ(pilfer_on_channel(pool, channel, no_value, nullptr, &late), PILFER_ECLOSED);
        EXPECT_EQ(pilfer_on_readable(pool, pipe.fd[0], no, nullptr, &late), PILFER_ECLOSED);
        EXPECT_EQ(late, nullptr);
        EXPECT_EQ(pilfer_event_set(&event), 0);
        EXPECT_EQ(pilfer_channel_send(channel, nullptr), 0);
        EXPECT_EQ(pilfer_channel_size(channel), 1U);
        pilfer_channel_free(channel);
        pilfer_event_destroy(&event);
    }
}

class c_io : public guarded {};

TEST_F(c_io, on_one_lock_calls_wait_and_on_refuses) {
    c_options o(2);
    o.set("backend", "one_lock");
    const c_pool pool(o);
    const two_ends ends;
    {
        const background reader(pool, [&] {
            char c = 0;
            std::size_t got = 0;
            EXPECT_EQ(pilfer_io_read(ends.fd[0], &c, 1, PILFER_FOREVER, &got), 0);
            EXPECT_EQ(c, 'q');
        });
        EXPECT_EQ(pilfer_io_write(ends.fd[1], "q", 1, PILFER_FOREVER, nullptr), 0);
    }
    EXPECT_EQ(pilfer_on_readable(
                  pool, ends.fd[0], [](void*) { return 0; }, nullptr, nullptr),
              PILFER_EERRNO - ENOTSUP);
}

TEST_F(c_io, codes_of_the_system) {
    EXPECT_EQ(pilfer_errno(PILFER_EERRNO - EBADF), EBADF);
    EXPECT_STREQ(pilfer_strerror(PILFER_EERRNO - EBADF), "Bad file descriptor");
    EXPECT_EQ(pilfer_errno(-999), 899);
    EXPECT_STREQ(pilfer_strerror(-999), "an error of the operating system");
    for (const int code :
         {0, 1, int{PILFER_EINVAL}, int{PILFER_ECANCELED}, int{PILFER_EERRNO}, -1000, INT_MIN, INT_MAX}) {
        EXPECT_EQ(pilfer_errno(code), 0) << code;
    }
    EXPECT_STREQ(pilfer_strerror(PILFER_EERRNO), pilfer_strerror(-1000)) << "no codes";
}

} // namespace
