// Signals that arrive on any thread, and handlers of faults: the user's settings stay unchanged.
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <latch>

#include "life/life.hpp"

namespace {

using namespace std::chrono_literals;
using life::fib;
using life::workers;
using support::in_child;

class signals_of_the_process : public ::testing::Test {
    support::watchdog m_end{240};
};

#if !defined(PILFER_ASAN) && !defined(PILFER_TSAN) && !defined(__SANITIZE_ADDRESS__) &&                      \
    !defined(__SANITIZE_THREAD__) // which have handlers and alternate stacks of their own

[[nodiscard]] bool handles_faults() {
    struct sigaction now {};
    sigaction(SIGSEGV, nullptr, &now);
    struct sigaction bus {};
    sigaction(SIGBUS, nullptr, &bus);
    return now.sa_handler != SIG_DFL || bus.sa_handler != SIG_DFL;
}

// The first one of this program: a handler that is there stays.
TEST_F(signals_of_the_process, no_handler_is_installed_without_overflow_message) {
    const auto r = in_child([] {
        pilfer::options o = workers(2);
        o.debug.overflow_message = false;
        {
            pilfer::pool p(o);
            (void)p.run([] { return fib(10); });
            if (handles_faults()) {
                return 1;
            }
        }
        pilfer::pool p(workers(1));
        return handles_faults() ? 0 : 2;
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
}

#endif

std::atomic<std::uint64_t> arrived{0};

/// While it lives each thread of the process gets SIGUSR1 again and again; its handler does not restart
/// calls.
class storm {
public:
    storm() {
        struct sigaction mine {};
        mine.sa_handler = [](int) { arrived.fetch_add(1, std::memory_order_relaxed); };
        sigaction(SIGUSR1, &mine, nullptr);
        m_thread = std::thread([this] {
            while (!m_end.load()) {
                for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
                    const auto id = std::stol(task.path().filename().string());
                    if (id != syscall(SYS_gettid)) {
                        syscall(SYS_tgkill, getpid(), id, SIGUSR1);
                    }
                }
                std::this_thread::sleep_for(50us);
            }
        });
    }
    storm(const storm&) = delete;
    storm& operator=(const storm&) = delete;
    ~storm() {
        m_end.store(true);
        m_thread.join();
        std::signal(SIGUSR1, SIG_IGN); // one may be on its way still, to a thread that waits for a CPU
    }

private:
    std::atomic<bool> m_end{false};
    std::thread m_thread;
};

/// Workers block nearly all signals; a task may take that back for its thread.
void let_signals_in(pilfer::pool& p) {
    const unsigned n = p.workers();
    const auto all = std::make_shared<std::latch>(n + 1);
    for (unsigned i = 0; i < n; ++i) {
        p.submit([all] {
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, SIGUSR1);
            pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
            all->arrive_and_wait(); // the threads, not the tasks: one on each
        });
    }
    all->arrive_and_wait();
}

TEST_F(signals_of_the_process, every_wait_continues_after_a_signal) {
    for (const auto b : {pilfer::backend::work_stealing, pilfer::backend::one_lock}) {
        pilfer::options o = workers(3);
        o.backend = b;
        pilfer::pool p(o);
        let_signals_in(p);
        const std::uint64_t before = arrived.load();
        const storm all;
        int ends[2];
        ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
        for (std::uint64_t i = 0; i < support::hundredth_of(2'000, 5); ++i) {
            // Threads and tasks: results, times, descriptors, locks, calls of the system.
            EXPECT_EQ(p.run([] { return fib(12); }), 144);
            EXPECT_EQ(p.async([] {
                           pilfer::sleep_for(1ms);
                           return 7;
                       }).get(),
                      7);
            auto got = p.async([&ends] {
                char c = 0;
                const auto r = pilfer::io::read(ends[0], &c, 1);
                return !r.error && r.bytes == 1 ? c : '?';
            });
            std::this_thread::sleep_for(1ms);
            ASSERT_EQ(write(ends[1], "x", 1), 1);
            EXPECT_EQ(got.get(), 'x');
            const auto start = std::chrono::steady_clock::now();
            EXPECT_EQ(pilfer::io::wait_readable(ends[0], 2ms), std::errc::timed_out);
            EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
            pilfer::event never;
            EXPECT_FALSE(never.wait_for(2ms));
            pilfer::mutex m;
            const std::lock_guard lock(m);
            auto locked = p.async([&m] { return m.try_lock_for(1ms); });
            EXPECT_FALSE(locked.get());
            (void)p.async([] { return pilfer::blocking([] { return usleep(500); }); }).get(); // may end early
        }
        EXPECT_GT(arrived.load(), before);
        close(ends[0]);
        close(ends[1]);
    }
}

// gprof and gperftools count where SIGPROF arrives.
TEST_F(signals_of_the_process, workers_take_the_signal_of_profilers_as_their_maker_does) {
    const auto worker_blocks = [](int signal) {
        pilfer::pool p(workers(1));
        return p.run([signal] {
            sigset_t now;
            pthread_sigmask(SIG_BLOCK, nullptr, &now);
            return sigismember(&now, signal) == 1;
        });
    };
    EXPECT_FALSE(worker_blocks(SIGPROF));
    EXPECT_TRUE(worker_blocks(SIGALRM));
    sigset_t prof;
    sigset_t before;
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &prof, &before);
    EXPECT_TRUE(worker_blocks(SIGPROF));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(signals_of_the_process, workers_leave_the_signals_of_the_process_to_its_own_threads) {
    static std::atomic<pthread_t> got{};
    struct sigaction mine {};
    struct sigaction before {};
    mine.sa_handler = [](int) { got.store(pthread_self()); };
    sigaction(SIGUSR2, &mine, &before);
    pilfer::pool p(workers(8));
    for (int i = 0; i < 100; ++i) {
        got.store(pthread_t{});
        kill(getpid(), SIGUSR2);
        while (got.load() == pthread_t{}) {
            std::this_thread::yield();
        }
        ASSERT_TRUE(pthread_equal(got.load(), pthread_self()) != 0);
    }
    sigaction(SIGUSR2, &before, nullptr);
}

#if !defined(PILFER_ASAN) && !defined(PILFER_TSAN) && !defined(__SANITIZE_ADDRESS__) &&                      \
    !defined(__SANITIZE_THREAD__) // which have handlers and alternate stacks of their own

TEST_F(signals_of_the_process, alternate_stacks_of_threads_are_left_alone) {
    static char mine[64 * 1024];
    stack_t s{};
    s.ss_sp = mine;
    s.ss_size = sizeof mine;
    stack_t before{};
    ASSERT_EQ(sigaltstack(&s, &before), 0);
    {
        pilfer::pool p(workers(2));
        (void)p.run([] { return fib(10); });
        (void)pilfer::join([] { return 1; }, [] { return 2; });
    }
    stack_t now{};
    ASSERT_EQ(sigaltstack(&before, &now), 0);
    EXPECT_EQ(now.ss_sp, static_cast<void*>(mine));
    EXPECT_EQ(now.ss_size, sizeof mine);
}

/// A task gives its worker's thread a stack for signals of its own: that one is not freed.
TEST_F(signals_of_the_process, an_alternate_stack_that_a_task_sets_is_its_own) {
    static char mine[64 * 1024];
    for (int i = 0; i < 10; ++i) {
        pilfer::pool p(workers(1));
        p.run([] {
            stack_t s{};
            s.ss_sp = mine;
            s.ss_size = sizeof mine;
            ASSERT_EQ(sigaltstack(&s, nullptr), 0);
        });
    }
}

TEST_F(signals_of_the_process, a_later_handler_stays_and_may_call_ours) {
    const auto r = in_child([] {
        static struct sigaction ours {};
        pilfer::pool p(workers(1));
        struct sigaction over {};
        over.sa_sigaction = [](int n, siginfo_t* info, void* machine) {
            (void)!write(2, "mine\n", 5);
            ours.sa_sigaction(n, info, machine); // then the default action, which ends the process
        };
        over.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigaction(SIGSEGV, &over, &ours);
        int* volatile nowhere = nullptr;
        p.run([&nowhere] { *nowhere = 1; });
        return 0;
    });
    EXPECT_TRUE(r.killed_by(SIGSEGV)) << r;
    EXPECT_TRUE(r.said("mine")) << r;
}

#endif

} // namespace
