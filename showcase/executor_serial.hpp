// The yardstick: plain calls, no threads.
#pragma once

#include "executors.hpp"

namespace showcase {

class serial_executor {
public:
    explicit serial_executor(executor_settings) {}

    template <class F>
    void run(F&& f) {
        f();
    }

    template <class F, class G>
    static void fork2(F&& f, G&& g) {
        f();
        g();
    }

    template <class Body>
    static void for_children(std::size_t n, Body const& body) {
        for (std::size_t i = 0; i < n; ++i)
            body(i);
    }
};

static_assert(executor<serial_executor>);

} // namespace showcase
