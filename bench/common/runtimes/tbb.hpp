// oneTBB: parallel_invoke for a fixed number of parts, task_group for a number known at run time; loops by
// the automatic partitioner, or by the one that remembers.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace bench {

struct runtime {
#if defined(BENCH_TBB_AFFINITY)
    static constexpr const char* name = "tbb_affinity";
#else
    static constexpr const char* name = "tbb";
#endif

    class session {
    public:
        session(unsigned workers, std::size_t stack_bytes)
            : m_parallelism(tbb::global_control::max_allowed_parallelism, workers),
              m_stack(tbb::global_control::thread_stack_size, std::max(stack_bytes, default_stack())),
              m_arena(static_cast<int>(workers)) {}
        template <class F>
        void run(F&& f) {
            m_arena.execute(f);
        }
        template <class F>
        void run_flat(F&& f) {
            m_arena.execute(f);
        }

    private:
        static std::size_t default_stack() {
            return tbb::global_control::active_value(tbb::global_control::thread_stack_size);
        }
        tbb::global_control m_parallelism;
        tbb::global_control m_stack;
        tbb::task_arena m_arena;
    };

    template <class F, class G>
    static auto fork2(F&& f, G&& g) {
        decltype(f()) first{};
        decltype(g()) second{};
        tbb::parallel_invoke([&] { first = f(); }, [&] { second = g(); });
        return std::pair(first, second);
    }

    template <class... F>
    static void fork_all(F&&... f) {
        tbb::parallel_invoke(f...);
    }

    template <class F>
    static std::uint64_t fork_sum(unsigned n, const F& f) {
        if (n == 0)
            return 0;
        auto* results = static_cast<std::uint64_t*>(__builtin_alloca(n * sizeof(std::uint64_t)));
        tbb::task_group group;
        for (unsigned i = 0; i + 1 < n; ++i) {
            group.run([results, i, &f] { results[i] = f(i); });
        }
        results[n - 1] = f(n - 1);
        group.wait();
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < n; ++i)
            sum += results[i];
        return sum;
    }

    template <class Body>
    static void tasks(std::size_t n, const Body& body) {
        tbb::task_group group;
        for (std::size_t i = 0; i < n; ++i) {
            group.run([i, &body] { body(i); });
        }
        group.wait();
    }

    template <class Body>
    static void loop(std::size_t n, const Body& body) {
#if defined(BENCH_TBB_AFFINITY)
        static tbb::affinity_partitioner partitioner; // remembers the threads' parts of the loop before
        tbb::parallel_for(std::size_t{0}, n, body, partitioner);
#else
        tbb::parallel_for(std::size_t{0}, n, body);
#endif
    }
};

} // namespace bench
