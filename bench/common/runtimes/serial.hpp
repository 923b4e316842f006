// The serial twin: the algorithm's text with plain calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace bench {

struct runtime {
    static constexpr const char* name = "serial";

    class session {
    public:
        session(unsigned /*workers*/, std::size_t /*stack_bytes*/) {}
        template <class F>
        void run(F&& f) {
            f();
        }
        template <class F>
        void run_flat(F&& f) {
            f();
        }
    };

    template <class F, class G>
    static auto fork2(F&& f, G&& g) {
        auto first = f();
        auto second = g();
        return std::pair(first, second);
    }

    template <class... F>
    static void fork_all(F&&... f) {
        (f(), ...);
    }

    template <class F>
    static std::uint64_t fork_sum(unsigned n, const F& f) {
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < n; ++i)
            sum += f(i);
        return sum;
    }

    template <class Body>
    static void tasks(std::size_t n, const Body& body) {
        loop(n, body);
    }

    template <class Body>
    static void loop(std::size_t n, const Body& body) {
        for (std::size_t i = 0; i < n; ++i)
            body(i);
    }
};

} // namespace bench
