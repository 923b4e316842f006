// Races beside pipes and sockets, and with functions of blocking().
#include <malloc.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <pilfer/blocking.hpp>
#include <pilfer/event.hpp>

#include "cases.hpp"

using cases::keep;

namespace {

struct pipe_ends {
    int of[2] = {-1, -1};
    pipe_ends() { (void)!pipe(of); }
    pipe_ends(const pipe_ends&) = delete;
    pipe_ends& operator=(const pipe_ends&) = delete;
    ~pipe_ends() {
        close(of[0]);
        close(of[1]);
    }
};

} // namespace

PLANTED(written_after_a_message, "a word that is written after the message about it") {
    pipe_ends ends;
    int word = 0;
    pilfer::join(
        [&] {
            (void)!write(ends.of[1], "x", 1);
            word = 1; // races
        },
        [&] {
            char message = 0;
            (void)!read(ends.of[0], &message, 1);
            keep(word + message); // races
        });
}
REPAIRED(written_after_a_message) {
    pipe_ends ends;
    int word = 0;
    pilfer::join(
        [&] {
            word = 1;
            (void)!write(ends.of[1], "x", 1);
        },
        [&] {
            char message = 0;
            (void)!read(ends.of[0], &message, 1);
            keep(word + message);
        });
}

PLANTED(written_elsewhere, "a function of blocking() writes what another task reads") {
    std::vector<int> words(4);
    int seen = 0;
    pilfer::scope both;
    both.fork([&] {
        pilfer::blocking([&] {
            const int value = int(words.size());
            words[1] = value; // races
        });
    });
    both.fork([&] { seen = words[1]; }); // races
    both.sync();
    keep(seen);
}
REPAIRED(written_elsewhere) {
    std::vector<int> words(4);
    int seen = 0;
    pilfer::scope both;
    both.fork([&] {
        int before = 0;
        words[2] = 1;
        before = pilfer::blocking([&] {
            words[1] = words[2];
            const std::string text(100, 'x');
            const auto copy = std::make_unique<std::string>(text + "y"); // ends here
            return int(copy->size());
        });
        words[2] = words[1] + before;
    });
    both.fork([&] { seen = words[0]; });
    both.sync();
    keep(seen + words[1]);
}

PLANTED(lock_left_elsewhere, "a function of blocking() without the lock of the others") {
    std::mutex lock;
    long sum = 0;
    pilfer::for_each(0, 4, [&](int i) {
        if (i % 2 == 0) {
            const std::lock_guard hold(lock);
            sum += i; // races
        } else {
            pilfer::blocking([&] { sum += i; }); // races
        }
    });
    keep(sum);
}
REPAIRED(lock_left_elsewhere) {
    std::mutex lock;
    long sum = 0;
    std::vector<std::shared_ptr<int>> all;
    pilfer::for_each(0, 40, [&](int i) {
        if (i % 2 == 0) {
            const std::lock_guard hold(lock);
            sum += i;
            all.push_back(std::make_shared<int>(i));
        } else {
            pilfer::blocking([&] {
                const std::lock_guard hold(lock);
                sum += i;
                all.push_back(std::make_shared<int>(i));
            });
        }
    });
    keep(sum);
}

PLANTED(set_elsewhere_before_write, "a function of blocking() sets an event too early") {
    int data = 0;
    pilfer::event ready;
    pilfer::scope both;
    both.fork([&] {
        pilfer::blocking([&] {
            ready.set();
            data = 1; // races
        });
    });
    ready.wait();
    const int seen = data; // races
    both.sync();
    keep(seen);
}
REPAIRED(set_elsewhere_before_write) {
    pipe_ends ends;
    int data = 0;
    int sent = 0;
    auto item = std::make_unique<int>(0);
    pilfer::event ready;
    pilfer::scope both;
    both.fork([&] {
        pilfer::blocking([&] {
            char message = 0;
            (void)!read(ends.of[0], &message, 1);
            data = sent + message;
            item = std::make_unique<int>(2);
            ready.set();
        });
    });
    both.fork([&] {
        sent = 1;
        (void)!write(ends.of[1], "x", 1);
    });
    ready.wait();
    const int seen = data + *item;
    item.reset();
    both.sync();
    keep(seen);
}

namespace {

void must(bool holds) {
    if (!holds) {
        std::abort();
    }
}

/// A task writes a word, sends, and ends; another one receives, and reads the word.
template <class Send, class Receive>
void hand_over(Send send, Receive receive) {
    int word = 0;
    pilfer::join(
        [&] {
            word = 1;
            send();
        },
        [&] {
            receive();
            keep(word);
        });
}

} // namespace

PROMISES(messages, "no race in the order of this run") {
    const int event = eventfd(0, 0);
    eventfd_t value = 1;
    hand_over([&] { (void)!write(event, &value, sizeof value); },
              [&] { (void)!read(event, &value, sizeof value); });
    hand_over([&] { must(eventfd_write(event, 2) == 0); },
              [&] {
                  eventfd_t got = 0;
                  must(eventfd_read(event, &got) == 0 && got == 2);
              });
    close(event);
    int sockets[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    char byte = 'x';
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    hand_over([&] { must(sendmsg(sockets[0], &message, 0) == 1); },
              [&] { must(recvmsg(sockets[1], &message, 0) == 1); });
    close(sockets[0]);
    close(sockets[1]);
    pipe_ends ends;
    hand_over(
        [&] {
            close(ends.of[1]);
            ends.of[1] = -1;
        },
        [&] { must(readv(ends.of[0], &part, 1) == 0); });
}

PROMISES(ends_that_nobody_reads, "no race of this input in any schedule") {
    pilfer::for_each(0, 4, [](int) { const pipe_ends ends; });
}

// The reader has the turn, and the writer needs it.
PROMISES(read_until_written, "(futures, waits or atomic operations order tasks)") {
    pipe_ends ends;
    int word = 0;
    pilfer::join(
        [&] {
            pilfer::blocking([&] {
                word = 1;
                (void)!write(ends.of[1], "x", 1);
            });
        },
        [&] {
            char message = 0;
            must(read(ends.of[0], &message, 1) == 1);
            keep(word);
        });
}

// Memory that a function of blocking() frees is kept for a while, but not all of it.
PROMISES(frees_elsewhere, "no race of this input in any schedule") {
    pilfer::blocking([] {
        for (int i = 0; i < 1000; ++i) {
            void* const p = std::malloc(std::size_t{1} << 20);
            keep(p);
            std::free(p);
        }
        const struct mallinfo2 now = mallinfo2();
        must(now.uordblks + now.hblkhd < std::size_t{200} << 20);
    });
}

// A task that spins lets the other thread run.
PROMISES(errno_of_a_wait, "no race in the order of this run") {
    std::atomic<bool> set{false};
    pilfer::join([&] { pilfer::blocking([&] { set.store(true); }); },
                 [&] {
                     errno = 0;
                     while (!set.load()) {
                     }
                     must(errno == 0);
                 });
}
