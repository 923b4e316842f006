// The parallel algorithms of the standard library: std::for_each over the indices of the children. In
// libstdc++ oneTBB runs them, so that its limit of threads holds here too.
#pragma once

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <execution>
#include <numeric>
#include <optional>
#include <vector>

#include "executors.hpp"

namespace showcase {

class std_executor {
public:
    explicit std_executor(executor_settings settings)
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
        std::array<int, 2> const both{0, 1};
        std::for_each(std::execution::par, both.begin(), both.end(), [&](int i) {
            if (i == 0)
                f();
            else
                g();
        });
    }

    template <class Body>
    static void for_children(std::size_t n, Body const& body) {
        std::vector<std::size_t> index(n);
        std::iota(index.begin(), index.end(), std::size_t{0});
        std::for_each(std::execution::par, index.begin(), index.end(), body);
    }

private:
    tbb::global_control m_threads;
    std::optional<tbb::global_control> m_stacks;
    tbb::task_arena m_arena;
};

static_assert(executor<std_executor>);

} // namespace showcase
