// OpenMP tasks. This file is built twice: by g++ with libgomp and by clang++ with libomp.
#pragma once

#include <omp.h>

#include <cstddef>
#include <cstdint>
#include <utility>

// How loops are divided; both compilers' own choice is static.
#if !defined(BENCH_OPENMP_SCHEDULE)
#define BENCH_OPENMP_SCHEDULE static
#define BENCH_OPENMP_SUFFIX ""
#endif

namespace bench {

struct runtime {
#if defined(__clang__)
    static constexpr const char* name = "libomp" BENCH_OPENMP_SUFFIX;
#else
    static constexpr const char* name = "libgomp" BENCH_OPENMP_SUFFIX;
#endif

    class session {
    public:
        session(unsigned workers, std::size_t /*stack_bytes*/) {
            omp_set_dynamic(0);
            omp_set_num_threads(static_cast<int>(workers));
        }
        template <class F>
        void run(F&& f) {
#if !defined(BENCH_OPENMP_REGIONS)
#pragma omp parallel default(shared)
#pragma omp single
#endif
            f();
        }
        template <class F>
        void run_flat(F&& f) {
            f();
        }
    };

    template <class F, class G>
    static auto fork2(F&& f, G&& g) {
        decltype(f()) first{};
#pragma omp task default(shared)
        first = f();
        auto second = g();
#pragma omp taskwait
        return std::pair(first, second);
    }

    template <class... F>
    static void fork_all(F&&... f) {
        (start(&f), ...);
#pragma omp taskwait
    }

    template <class F>
    static std::uint64_t fork_sum(unsigned n, const F& f) {
        if (n == 0)
            return 0;
        auto* results = static_cast<std::uint64_t*>(__builtin_alloca(n * sizeof(std::uint64_t)));
        for (unsigned i = 0; i + 1 < n; ++i) {
#pragma omp task default(shared) firstprivate(i, results)
            results[i] = f(i);
        }
        results[n - 1] = f(n - 1);
#pragma omp taskwait
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < n; ++i)
            sum += results[i];
        return sum;
    }

    template <class Body>
    static void tasks(std::size_t n, const Body& body) {
        for (std::size_t i = 0; i < n; ++i) {
#pragma omp task default(shared) firstprivate(i)
            body(i);
        }
#pragma omp taskwait
    }

    template <class Body>
    static void loop(std::size_t n, const Body& body) {
#pragma omp parallel for default(shared) schedule(BENCH_OPENMP_SCHEDULE)
        for (std::size_t i = 0; i < n; ++i)
            body(i);
    }

#if defined(BENCH_OPENMP_REGIONS)
    /// body(begin, end) for parts of [first, last): one for each thread, as a static schedule has them.
    template <class Body>
    static void parts(std::size_t first, std::size_t last, const Body& body) {
#pragma omp parallel default(shared)
        {
            const auto threads = static_cast<std::size_t>(omp_get_num_threads());
            const auto mine = static_cast<std::size_t>(omp_get_thread_num());
            const std::size_t n = last - first;
            body(first + n * mine / threads, first + n * (mine + 1) / threads);
        }
    }
#endif

private:
    template <class F>
    static void start(F* f) {
#pragma omp task default(shared) firstprivate(f)
        (*f)();
    }
};

} // namespace bench
