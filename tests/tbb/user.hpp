// What the programs in the style of users of oneTBB share. They run on libpilfer-tbb, and the test tbb.debian
// runs them on Debian's libtbb, so what they ask for is what oneTBB does, but for the cases that
// CMakeLists.txt names.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <deque>
#include <fstream>
#include <functional>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define TBB_PREVIEW_GLOBAL_CONTROL 1
#define TBB_PREVIEW_ISOLATED_TASK_GROUP 1
#define TBB_PREVIEW_TASK_GROUP_EXTENSIONS 1
#define TBB_PREVIEW_FLOW_GRAPH_FEATURES 1
#define TBB_PREVIEW_MUTEXES 1
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <tbb/tbb.h>

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comes.hpp"
#include "sanitized.hpp"

using namespace std::chrono_literals;

inline long fib(int n) {
    if (n < 2) {
        return n;
    }
    long a = 0;
    long b = 0;
    tbb::task_group children;
    children.run([&] { a = fib(n - 1); });
    children.run([&] { b = fib(n - 2); });
    children.wait();
    return a + b;
}

/// What the kernel says about a thread of this process in a file of /proc, after `name`.
inline std::string fact_of(pid_t thread, const char* file, const std::string& name) {
    std::ifstream in("/proc/self/task/" + std::to_string(thread) + "/" + file);
    std::string line;
    while (std::getline(in, line)) {
        if (const std::size_t at = line.rfind(name); at != std::string::npos) {
            return line.substr(at + name.size());
        }
    }
    return {};
}

/// `thread`: 0 for none.
inline bool sleeps_in_the_kernel(pid_t thread) { return fact_of(thread, "stat", ") ").starts_with('S'); }
