// Programs that know nothing of schedules: `check_programs NAME`. tests/check/run.py checks them.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <pilfer/io.hpp>
#include <pilfer/pilfer.hpp>
#define PILFER_TEST_NEW
#include <pilfer/test_new.hpp>

namespace {

/// A static object whose constructor has tasks, as libraries have.
struct early {
    early() {
        try {
            pilfer::pool::common().run([this] { pilfer::join([this] { ++n; }, [] {}); });
        } catch (const std::bad_alloc&) {
            n = 1;
        }
    }
    int n = 0;
} const before_main;

/// After main() one way or another.
struct late {
    enum : int { ends, sleeps, computes, asks } how = ends;
    ~late() {
        if (how == asks) {
            sigset_t blocked;
            (void)::sigprocmask(SIG_BLOCK, nullptr, &blocked);
            if (::sigismember(&blocked, SIGCHLD) == 1) {
                ::_exit(8);
            }
            return;
        }
        volatile bool goes_on = true;
        while (how != ends && goes_on) {
            if (how == sleeps) {
                (void)::pause();
            }
        }
    }
} after_main;

/// Adds to a plain variable around a wait. Returns the sum.
int lost(bool right) {
    pilfer::pool pool({.workers = 4});
    pilfer::mutex m;
    int sum = 0;
    pool.run([&] {
        const auto add = [&] {
            std::unique_lock lock(m);
            const int was = sum;
            if (!right) {
                lock.unlock();
                lock.lock();
            }
            sum = was + 1;
        };
        pilfer::join(add, add);
    });
    return sum;
}

/// Real time passes, so that a thief comes, or another task is faster.
void linger() { std::this_thread::sleep_for(std::chrono::microseconds(300)); }

/// Which of two tasks is first decides what the program does.
template <class Fails>
int by_race(Fails fails) {
    pilfer::pool pool({.workers = 4});
    pilfer::mutex m;
    std::string order;
    pool.run([&] {
        pilfer::for_each(0, 40, [&](int i) {
            if (i % 8 == 0) {
                linger();
            }
            const std::lock_guard lock(m);
            order += static_cast<char>('0' + i);
        });
    });
    if (order.find('D') < order.find('4')) { // a thief has begun the upper half: '0' + 20 is 'D'
        std::printf("%s\n", order.c_str());
        (void)std::fflush(stdout);
        return fails();
    }
    return 0;
}

int two_locks() {
    pilfer::mutex first;
    pilfer::mutex second;
    auto other = pilfer::async([&] {
        const std::lock_guard a(second);
        const std::lock_guard b(first);
    });
    {
        const std::lock_guard a(first);
        const std::lock_guard b(second);
    }
    other.get();
    return 0;
}

/// A deadlock in some runs.
int race_of_locks() {
    pilfer::mutex first;
    pilfer::mutex second;
    const auto lock_both = [](pilfer::mutex& a, pilfer::mutex& b) {
        const std::lock_guard one(a);
        linger();
        const std::lock_guard other(b);
    };
    pilfer::pool::common().run(
        [&] { pilfer::join([&] { lock_both(first, second); }, [&] { lock_both(second, first); }); });
    return 0;
}

/// The child does what is recorded in the parent, and changes nothing of the recording.
int forks_a_child() {
    pilfer::mutex m;
    const auto use = [&] { const std::lock_guard lock(m); };
    use();
    const pid_t child = ::fork();
    if (child == 0) {
        for (int i = 0; i < 100; ++i) {
            use();
        }
        ::_exit(0);
    }
    int status = 0;
    (void)::waitpid(child, &status, 0);
    use();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 3;
}

/// The child returns from main(), as forked servers do.
int forks_and_returns() {
    const pid_t child = ::fork();
    if (child == 0) {
        return 5;
    }
    int status = 0;
    (void)::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 5 ? 0 : 3;
}

/// Tasks of three pools, of which the inner one ends inside a task of the outer one.
int pools(std::chrono::nanoseconds sleep) {
    std::atomic<int> done{0};
    {
        pilfer::pool outer;
        outer.submit([&, sleep] {
            pilfer::pool inner({.workers = 2});
            inner.submit([&, sleep] {
                pilfer::sleep_for(sleep);
                ++done;
            });
        });
        outer.submit([&] { ++done; });
    }
    return done == 2 ? 0 : 3;
}

/// The second waits for what comes only after its end.
int waits_for_older() {
    pilfer::channel<int> c(1);
    pilfer::pool outer;
    outer.submit([&] { (void)c.receive(); });
    {
        pilfer::pool inner;
        inner.submit([] {});
    }
    (void)c.send(1);
    return 0;
}

int leaves_a_task() {
    static pilfer::channel<int> nobody_sends(1);
    pilfer::pool::common().submit([] { (void)nobody_sends.receive(); });
    return 0;
}

/// Fails on the schedules that run the second branch first.
template <class Fails>
int in_one_order(Fails fails) {
    bool first_is_over = false;
    pilfer::pool::common().run([&] {
        pilfer::join([&] { first_is_over = true; },
                     [&] {
                         if (!first_is_over) {
                             fails();
                         }
                     });
    });
    return 0;
}

/// Its pool ends it, if the program is not recorded.
int leaves_a_timer() {
    pilfer::pool pool({.workers = 2});
    (void)pilfer::every(pool, std::chrono::milliseconds(1), [] {});
    return 0;
}

int handled() {
    int errors = 0;
    {
        pilfer::options o;
        o.on_error = [&](const std::exception_ptr&) { ++errors; };
        pilfer::pool pool(o);
        pool.submit([] { throw std::runtime_error("the program expects it"); });
    }
    return errors == 1 ? 0 : 1;
}

int thrown() {
    pilfer::pool pool;
    pool.submit([] { throw std::runtime_error("nobody expects it"); });
    return 0;
}

/// Two days of alarms.
int days() {
    pilfer::pool pool;
    pool.run([] {
        for (int i = 0; i < 48; ++i) {
            pilfer::sleep_for(std::chrono::hours(1));
        }
    });
    return 0;
}

/// The program takes lost memory as the end of the world, and loses no task.
int memory(bool right) {
    int n = 0;
    try {
        auto f = pilfer::async([&] { ++n; });
        f.get();
    } catch (const std::bad_alloc&) {
        return right ? 0 : 3;
    }
    return n == 1 ? 0 : 4;
}

/// Sends eight bytes to itself.
int bytes(bool right) {
    int ends[2];
    if (::pipe(ends) != 0) {
        return 5;
    }
    const char sent[] = "1234567";
    char got[sizeof sent] = {};
    int code = 0;
    if (const auto t = pilfer::io::write(ends[1], sent, sizeof sent); t.error) {
        code = right ? 0 : 6;
    } else {
        std::size_t n = 0;
        do {
            const auto r = pilfer::io::read(ends[0], got + n, sizeof got - n);
            if (r.error) {
                return right ? 0 : 7;
            }
            n += r.bytes;
        } while (right && n < sizeof got);
        code = std::memcmp(sent, got, sizeof sent) == 0 ? 0 : 8;
    }
    (void)pilfer::io::close(ends[0]);
    (void)pilfer::io::close(ends[1]);
    return code;
}

} // namespace

int main(int count, char** words) {
    const std::string_view name = count > 1 ? words[1] : "";
    std::printf("began %s\n", words[1]);
    (void)std::fflush(stdout); // it may crash
    if (before_main.n != 1) {
        return 9;
    }
    if (name == "lost") {
        return lost(false) == 2 ? 0 : 3;
    }
    if (name == "race_returns") {
        return by_race([] { return 3; });
    }
    if (name == "race_crashes") {
        return by_race([] {
            (void)std::raise(SIGSEGV);
            return 0;
        });
    }
    if (name == "race_exits") {
        return by_race([]() -> int { std::exit(4); });
    }
    if (name == "race_throws") {
        return by_race([]() -> int { throw std::runtime_error("the wrong order"); });
    }
    if (name == "race_of_locks") {
        return race_of_locks();
    }
    if (name == "forks_a_child") {
        return forks_a_child();
    }
    if (name == "forks_and_returns") {
        return forks_and_returns();
    }
    if (name == "asks") {
        after_main.how = late::asks;
        return 0;
    }
    if (name == "never_ends" || name == "never_ends_busily") {
        after_main.how = name == "never_ends" ? late::sleeps : late::computes;
        return in_one_order([] { after_main.how = late::ends; });
    }
    if (name == "right") {
        return lost(true) == 2 ? 0 : 3;
    }
    if (name == "two_locks") {
        return two_locks();
    }
    if (name == "pools") {
        return pools(std::chrono::hours(1));
    }
    if (name == "pools_for_short") {
        return pools(std::chrono::milliseconds(3));
    }
    if (name == "waits_for_older") {
        return waits_for_older();
    }
    if (name == "leaves_a_task") {
        return leaves_a_task();
    }
    if (name == "leaves_a_timer") {
        return leaves_a_timer();
    }
    if (name == "crashes") {
        return in_one_order([] { (void)std::raise(SIGSEGV); });
    }
    if (name == "aborts") {
        return in_one_order([] { std::abort(); });
    }
    if (name == "exits") {
        return in_one_order([] { std::exit(4); });
    }
    if (name == "throws") {
        return in_one_order([] { throw std::runtime_error("the wrong order"); });
    }
    if (name == "handled") {
        return handled();
    }
    if (name == "thrown") {
        return thrown();
    }
    if (name == "days") {
        return days();
    }
    if (name == "memory" || name == "memory_wrong") {
        return memory(name == "memory");
    }
    if (name == "bytes" || name == "bytes_wrong") {
        return bytes(name == "bytes");
    }
    if (name == "reads") {
        return std::getchar() == '#' ? 0 : 3;
    }
    return 10;
}
