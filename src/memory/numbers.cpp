// One bit for each number.
#include "memory/numbers.hpp"

#include <atomic>
#include <bit>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constinit std::atomic<std::uint64_t> numbers_in_use[numbers::most / 64]{};

} // namespace

std::uint32_t numbers::take() noexcept {
    for (std::uint32_t word = 0; word < numbers::most / 64; ++word) {
        std::uint64_t seen = numbers_in_use[word].load(rlx);
        while (~seen != 0) {
            const auto bit = static_cast<std::uint32_t>(std::countr_one(seen));
            if (numbers_in_use[word].compare_exchange_weak(seen, seen | std::uint64_t{1} << bit, acq, rlx)) {
                return word * 64 + bit;
            }
        }
    }
    return numbers::none;
}

void numbers::give(std::uint32_t number) noexcept {
    if (number != numbers::none) {
        numbers_in_use[number / 64].fetch_and(~(std::uint64_t{1} << number % 64), rel);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
