// pilfer by scope: shared by its two verbs, spawn and fork.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pilfer/pilfer.hpp>
#include <utility>

#include "common/runtimes/pilfer_session.hpp"

namespace bench {

/// Verb::start(scope, f) makes f a child of the scope. The last part is always a plain call.
template <class Verb>
struct scope_runtime {
    static constexpr const char* name = Verb::name;

    /// A deep chain of spawns needs many stacks, not large ones.
    class session : public pilfer_session<pilfer::exposure::on_demand> {
    public:
        session(unsigned workers, std::size_t stack_bytes)
            : pilfer_session(workers, Verb::children_have_own_stacks ? 0 : stack_bytes) {}
    };

    template <class F, class G>
    static auto fork2(F&& f, G&& g) {
        decltype(f()) first{};
        pilfer::scope scope;
        Verb::start(scope, [&] { first = f(); });
        auto second = g();
        scope.sync();
        return std::pair(first, second);
    }

    template <class... F>
    static void fork_all(F&&... f) {
        pilfer::scope scope;
        (Verb::start(scope, [&f] { f(); }), ...);
        scope.sync();
    }

    template <class F>
    static std::uint64_t fork_sum(unsigned n, const F& f) {
        if (n == 0)
            return 0;
        auto* results = static_cast<std::uint64_t*>(__builtin_alloca(n * sizeof(std::uint64_t)));
        pilfer::scope scope;
        for (unsigned i = 0; i + 1 < n; ++i) {
            Verb::start(scope, [results, i, &f] { results[i] = f(i); });
        }
        results[n - 1] = f(n - 1);
        scope.sync();
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < n; ++i)
            sum += results[i];
        return sum;
    }

    template <class Body>
    static void tasks(std::size_t n, const Body& body) {
        pilfer::scope scope;
        for (std::size_t i = 0; i < n; ++i) {
            Verb::start(scope, [i, &body] { body(i); });
        }
        scope.sync();
    }

    template <class Body>
    static void loop(std::size_t n, const Body& body) {
        pilfer::for_each(std::size_t{0}, n, body);
    }
};

} // namespace bench
