// pilfer: `join` for pairs, and a halving of the index range by `join` for children. Every frame stays on the
// stack of its parent, so a deep tree needs stack (options::stack_size) but no allocation.
#pragma once

#include <pilfer/pilfer.hpp>
#include <pilfer/sort.hpp>

#include "executors.hpp"

namespace showcase {

class pilfer_executor {
public:
    explicit pilfer_executor(executor_settings settings) : m_pool(to_options(settings)) {}

    template <class F>
    void run(F&& f) {
        m_pool.run([&f] { f(); });
    }

    template <class F, class G>
    static void fork2(F&& f, G&& g) {
        pilfer::join([&f] { f(); }, [&g] { g(); });
    }

    template <class Body>
    static void for_children(std::size_t n, Body const& body) {
        if (n > 0)
            halve(0, n, body);
    }

    template <class T>
    static void sort(T* first, T* last) {
        pilfer::sort(first, last);
    }

private:
    static pilfer::options to_options(executor_settings settings) {
        pilfer::options o;
        o.workers = settings.workers;
        if (settings.stack_size != 0)
            o.stack_size = settings.stack_size;
        return o;
    }

    template <class Body>
    static void halve(std::size_t first, std::size_t last, Body const& body) {
        if (last - first == 1) {
            body(first);
            return;
        }
        std::size_t const middle = first + (last - first) / 2;
        pilfer::join([&] { halve(first, middle, body); }, [&] { halve(middle, last, body); });
    }

    pilfer::pool m_pool;
};

static_assert(executor<pilfer_executor>);

} // namespace showcase
