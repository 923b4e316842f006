// oneTBB: parallel_invoke for pairs, a task_group for children, as its documentation advises for recursion.
#pragma once

#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <optional>

#include "executors.hpp"

namespace showcase {

class tbb_executor {
public:
    explicit tbb_executor(executor_settings settings)
        : m_threads(tbb::global_control::max_allowed_parallelism, settings.workers),
          m_arena(static_cast<int>(settings.workers)) {
        if (settings.stack_size != 0)
            m_stacks.emplace(tbb::global_control::thread_stack_size, settings.stack_size);
    }

    template <class F>
    void run(F&& f) {
        m_arena.execute([&f] { f(); });
    }

    template <class F, class G>
    static void fork2(F&& f, G&& g) {
        tbb::parallel_invoke([&f] { f(); }, [&g] { g(); });
    }

    template <class Body>
    static void for_children(std::size_t n, Body const& body) {
        if (n == 0)
            return;
        if (n == 1) {
            body(0);
            return;
        }
        tbb::task_group group;
        for (std::size_t i = 0; i + 1 < n; ++i)
            group.run([&body, i] { body(i); });
        group.run_and_wait([&body, n] { body(n - 1); });
    }

private:
    tbb::global_control m_threads;
    std::optional<tbb::global_control> m_stacks;
    tbb::task_arena m_arena;
};

static_assert(executor<tbb_executor>);

} // namespace showcase
