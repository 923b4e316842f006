// The recorder's section from outside, while the worker is in it for long.
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <ostream>
#include <streambuf>
#include <string>
#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/recorder.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;
using pilfer::profile::recorder;

class section_of_the_worker : public guarded {};

/// A file whose writes end when they may.
class slow_file : public std::streambuf {
public:
    std::atomic<bool> is_slow{false};
    std::atomic<bool> is_inside{false};

private:
    int_type overflow(int_type c) override {
        wait();
        return c;
    }
    std::streamsize xsputn(const char*, std::streamsize n) override {
        wait();
        return n;
    }
    void wait() {
        while (is_slow) {
            is_inside = true;
            std::this_thread::sleep_for(1ms);
        }
    }
};

/// A recorder whose worker is in the middle of the end of a task.
class busy_worker {
public:
    busy_worker() {
        m_recorder->submitted_outside(8, nullptr, {});
        m_recorder->submitted_outside(16, nullptr, {});
        m_file.is_slow = true;
        m_thread = std::thread([this] {
            m_recorder->begun(8);
            m_recorder->root_ended();
        });
        while (!m_file.is_inside) {
            std::this_thread::yield();
        }
    }
    busy_worker(const busy_worker&) = delete;
    busy_worker& operator=(const busy_worker&) = delete;
    ~busy_worker() { end(); }
    void end() {
        m_file.is_slow = false;
        if (m_thread.joinable()) {
            m_thread.join();
        }
    }
    [[nodiscard]] recorder& all() { return *m_recorder; }

private:
    slow_file m_file;
    std::ostream m_stream{&m_file};
    std::shared_ptr<recorder> m_recorder = std::make_shared<recorder>(&m_stream);
    std::thread m_thread;
};

/// How often a thread of this process has slept.
[[nodiscard]] long sleeps(pid_t thread) {
    std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
    const std::string wanted = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(wanted)) {
            return std::stol(line.substr(wanted.size()));
        }
    }
    return -1;
}

TEST_F(section_of_the_worker, a_thread_that_asks_for_figures_sleeps_meanwhile) {
    busy_worker worker;
    std::atomic<pid_t> asks{0};
    std::atomic<bool> is_answered{false};
    std::thread asking([&] {
        asks = gettid();
        EXPECT_EQ(worker.all().figures().tasks, 2U);
        is_answered = true;
    });
    while (asks == 0) {
        std::this_thread::yield();
    }
    // A thread that yields does not sleep, however long this takes.
    const auto end = std::chrono::steady_clock::now() + 20s;
    const long before = sleeps(asks);
    while (sleeps(asks) < before + 3 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_GE(sleeps(asks), before + 3);
    EXPECT_FALSE(is_answered) << "the worker has not left";
    worker.end();
    asking.join();
}

/// The exit status of a child that runs `f` and is killed after 30 seconds. Workers block signals.
template <class F>
[[nodiscard]] int status_of_child(F f) {
    const pid_t child = fork();
    if (child == 0) {
        sigset_t none;
        (void)sigemptyset(&none);
        (void)pthread_sigmask(SIG_SETMASK, &none, nullptr);
        (void)signal(SIGALRM, SIG_DFL);
        (void)alarm(30);
        _exit(f() ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}

TEST_F(section_of_the_worker, a_child_process_waits_for_no_worker_that_is_not_there) {
    pilfer::pool pool; // from the first one on the library counts processes
    busy_worker worker;
    EXPECT_EQ(status_of_child([&] {
                  worker.all().submitted_outside(24, nullptr, {});
                  worker.all().synced_outside(32);
                  worker.all().finish();
                  const pilfer::work_span f = worker.all().figures();
                  return f.tasks == 2 && !f.complete;
              }),
              0);
    worker.end();
    const pilfer::work_span f = worker.all().figures();
    EXPECT_EQ(f.tasks, 2U);
    EXPECT_TRUE(f.complete);
}

TEST_F(section_of_the_worker, a_child_process_of_the_worker_has_the_figures) {
    pilfer::options o;
    o.debug.profile = true;
    pilfer::pool pool(o);
    int status = 0;
    std::atomic<bool> stop{false};
    std::thread asking([&] { // so that the child may begin with the section wanted, and its lock held
        while (!stop) {
            (void)pool.profile();
        }
    });
    pool.run([&] {
        pilfer::join([] {}, [] {}, [] {});
        for (int i = 0; i < 20 && status == 0; ++i) {
            status = status_of_child([&] {
                const pilfer::work_span f = pool.profile();
                return f.complete && f.tasks == 3;
            });
            EXPECT_EQ(status, 0);
        }
    });
    stop = true;
    asking.join();
}

TEST_F(section_of_the_worker, a_child_process_of_the_worker_goes_on_with_no_half_made_change) {
    pilfer::pool pool;
    slow_file file;
    std::ostream stream(&file);
    const auto all = std::make_shared<recorder>(&stream);
    all->submitted_outside(8, nullptr, {});
    all->begun(8); // so this thread is the worker
    all->root_ended();
    file.is_slow = true;
    std::thread changing([&] { all->finish(); });
    while (!file.is_inside) {
        std::this_thread::yield();
    }
    EXPECT_EQ(status_of_child([&] {
                  all->forget_threads();
                  all->submitted_outside(16, nullptr, {});
                  all->begun(16);
                  return !all->figures().complete;
              }),
              0);
    file.is_slow = false;
    changing.join();
    EXPECT_TRUE(all->figures().complete);
}

} // namespace
