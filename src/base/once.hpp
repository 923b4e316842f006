// Answers of the system that are requested once.
#pragma once

#include <atomic>
#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace os {

/// An answer that is requested at first use and kept. Not a static local: its guard stays taken for ever in a
/// child of fork() if another thread was initialising it at that moment. Two threads may request it at once;
/// the first answer counts.
class asked_once {
public:
    /// Returns the answer. ask() returns a number below 2^64 - 1; undo(number) is called for an answer that
    /// came too late.
    template <class Ask, class Undo>
    [[nodiscard]] std::uint64_t get(Ask ask, Undo undo) noexcept {
        std::uint64_t known = m_known.load(std::memory_order_acquire);
        if (known == 0) {
            const std::uint64_t mine = ask() + 1;
            if (m_known.compare_exchange_strong(known, mine, std::memory_order_acq_rel,
                                                std::memory_order_acquire)) {
                known = mine;
            } else {
                undo(mine - 1);
            }
        }
        return known - 1;
    }
    template <class Ask>
    [[nodiscard]] std::uint64_t get(Ask ask) noexcept {
        return get(ask, [](std::uint64_t) noexcept {});
    }

private:
    std::atomic<std::uint64_t> m_known{0};
};

} // namespace os
} // namespace v0
} // namespace pilfer
