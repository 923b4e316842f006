// bound: the best value that any rank has found, for branch and bound.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <typeinfo>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/cluster/bound_word.hpp>
#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {
namespace cluster {

/// The best value that any rank has found in this run, so that all ranks can cut branches that cannot beat
/// it.
///
/// `T` is a number of at most 8 bytes. `Better(a, b)` is true if a is better than b: std::less looks for the
/// smallest value, std::greater for the largest. It has no state and is a strict weak order. A bound lives
/// longer than the session: it is a global variable, the same one on all ranks. Each run begins with the
/// worst value.
///
/// A bound is a hint. While a run goes on, a rank may know an older value than another one, so that it cuts
/// less. The value never gets worse. At the end of a run all ranks have the same bits: a value that a task of
/// the run has offered, and than which none is better.
template <class T, class Better = std::less<T>>
requires std::is_arithmetic_v<T> &&(sizeof(T) <= sizeof(std::uint64_t)) class bound final
    : private detail::bound_word {
public:
    /// Makes a bound with the value that every run begins with. Throws usage_error if the process has a
    /// session, or if Better calls a value better than itself, and std::bad_alloc.
    explicit bound(T worst) : bound_word(typeid(bound).name(), bits_of(worst)) {
        if (Better{}(worst, worst)) {
            PILFER_THROW(
                usage_error("pilfer::cluster: the order of a bound calls a value better than itself: "
                            "use std::less, not std::less_equal"));
        }
    }

    /// The best value that this rank knows. Costs a load.
    [[nodiscard]] T get() const noexcept { return value_of(bits()); }
    /// Offers a value, from a task of the run. Other ranks have it about 1 ms later, or up to 4 ms later
    /// where a rank waits for work. True if it is better than what this rank knew; a NaN never is. Costs a
    /// load if it is not. An improvement costs one small message to each other rank; several between two
    /// looks of the communicating thread are one.
    bool improve(T value) noexcept { return offer(bits_of(value)); }

private:
    [[nodiscard]] static std::uint64_t bits_of(T value) noexcept {
        std::uint64_t bits = 0;
        std::memcpy(&bits, std::addressof(value), sizeof value);
        return bits;
    }
    [[nodiscard]] static T value_of(std::uint64_t bits) noexcept {
        T value;
        std::memcpy(std::addressof(value), &bits, sizeof value);
        return value;
    }
    [[nodiscard]] bool is_better(std::uint64_t a, std::uint64_t b) const noexcept override {
        return Better{}(value_of(a), value_of(b));
    }
};

} // namespace cluster
} // namespace v0
} // namespace pilfer
