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
