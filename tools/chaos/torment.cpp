#include "torment.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "dice.hpp"

namespace tools {
namespace {

std::atomic<std::uint64_t> signals_taken{0};

[[nodiscard]] std::vector<int> cpus_of(cpu_set_t const& set) {
    std::vector<int> cpus;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(i, &set)) {
            cpus.push_back(i);
        }
    }
    return cpus;
}

void set_all(cpu_set_t const& set) {
    std::error_code gone;
    for (auto const& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
        (void)sched_setaffinity(std::atoi(task.path().filename().c_str()), sizeof set, &set);
    }
}

void rest(std::uint64_t milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

} // namespace

frequent_signals::frequent_signals() {
    struct sigaction action {};
    action.sa_handler = [](int) { signals_taken.fetch_add(1, std::memory_order_relaxed); };
    // Without SA_RESTART: a thread that waits in the kernel must see the interruption.
    sigaction(SIGALRM, &action, nullptr);
    itimerval const every{{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &every, nullptr);
}

frequent_signals::~frequent_signals() {
    itimerval const never{};
    setitimer(ITIMER_REAL, &never, nullptr);
}

std::uint64_t frequent_signals::count() noexcept { return signals_taken.load(std::memory_order_relaxed); }

changing_masks::changing_masks(std::uint64_t seed)
    : m_thread([this, seed] {
          dice random(seed);
          cpu_set_t all;
          CPU_ZERO(&all);
          if (sched_getaffinity(0, sizeof all, &all) != 0) {
              return; // more CPUs than a cpu_set_t holds
          }
          auto const cpus = cpus_of(all);
          while (!m_over.load()) {
              cpu_set_t some;
              CPU_ZERO(&some);
              for (std::uint64_t n = random.between(1, cpus.size()); n > 0; --n) {
                  CPU_SET(cpus[random.below(cpus.size())], &some);
              }
              set_all(some);
              rest(random.between(5, 60));
          }
          set_all(all);
      }) {}

changing_masks::~changing_masks() {
    m_over.store(true);
    m_thread.join();
}

int stop_and_continue(pid_t child, std::uint64_t seed, std::uint64_t& stops) {
    dice random(seed);
    int status = 0;
    for (;;) {
        rest(random.between(20, 300));
        if (waitpid(child, &status, WNOHANG) == child) {
            return status;
        }
        kill(child, SIGSTOP);
        ++stops;
        rest(random.between(1, 60));
        kill(child, SIGCONT);
    }
}

} // namespace tools
