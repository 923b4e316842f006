// pilfer by join. A number of parts known at run time is halved until one part is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pilfer/pilfer.hpp>

#include "common/runtimes/pilfer_session.hpp"

namespace bench {

#if defined(BENCH_CLASSIC_DEQUE)
inline constexpr auto join_exposure = pilfer::exposure::always_public;
inline constexpr const char* join_name = "pilfer_classic";
#else
inline constexpr auto join_exposure = pilfer::exposure::on_demand;
#if defined(BENCH_TRACED)
inline constexpr const char* join_name = "pilfer_join_traced";
#else
inline constexpr const char* join_name = "pilfer_join";
#endif
#endif

struct runtime {
    static constexpr const char* name = join_name;
    using session = pilfer_session<join_exposure>;

    template <class F, class G>
    static auto fork2(F&& f, G&& g) {
        return pilfer::join(f, g);
    }

    template <class... F>
    static void fork_all(F&&... f) {
        pilfer::join(f...);
    }

    template <class F>
    static std::uint64_t fork_sum(unsigned n, const F& f) {
        return n == 0 ? 0 : sum_range(0, n, f);
    }

    template <class Body>
    static void loop(std::size_t n, const Body& body) {
        pilfer::for_each(std::size_t{0}, n, body);
    }

private:
    template <class F>
    static std::uint64_t sum_range(unsigned first, unsigned last, const F& f) {
        if (last - first == 1)
            return f(first);
        const unsigned middle = first + (last - first) / 2;
        const auto [left, right] = pilfer::join([&] { return sum_range(first, middle, f); },
                                                [&] { return sum_range(middle, last, f); });
        return left + right;
    }
};

} // namespace bench
