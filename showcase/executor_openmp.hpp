// OpenMP tasks: the pair and the children as `task` with `taskwait`; the last one runs in place, as its users
// write it. Threads take their stack size from OMP_STACKSIZE, which has to be set before the process starts
// (see process.cpp).
#pragma once

#include <omp.h>

#include "executors.hpp"

namespace showcase {

class openmp_executor {
public:
    explicit openmp_executor(executor_settings settings) : m_workers(static_cast<int>(settings.workers)) {}

    template <class F>
    void run(F&& f) {
#pragma omp parallel num_threads(m_workers) default(shared)
#pragma omp single
        f();
    }

    template <class F, class G>
    static void fork2(F&& f, G&& g) {
#pragma omp task default(shared)
        f();
        g();
#pragma omp taskwait
    }

    template <class Body>
    static void for_children(std::size_t n, Body const& body) {
        if (n == 0)
            return;
        for (std::size_t i = 0; i + 1 < n; ++i) {
#pragma omp task default(shared) firstprivate(i)
            body(i);
        }
        body(n - 1);
#pragma omp taskwait
    }

private:
    int m_workers;
};

static_assert(executor<openmp_executor>);

} // namespace showcase
