// A bound without its type: 64 bits that ranks exchange.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Is in the list of all bounds while it lives. The list is changed only before there is a session and after
/// it has ended, by one thread.
class bound_word {
public:
    /// Throws usage_error if the process has a session.
    bound_word(const char* type, std::uint64_t worst);
    bound_word(const bound_word&) = delete;
    bound_word& operator=(const bound_word&) = delete;
    virtual ~bound_word();

    [[nodiscard]] std::uint64_t bits() const noexcept {
        return m_bits.load(rlx); // a hint: nothing else is read after it
    }
    [[nodiscard]] const char* type() const noexcept { return m_type; }
    /// Takes the value if it is better. True if it was.
    bool offer(std::uint64_t value) noexcept {
        std::uint64_t now = m_bits.load(rlx);
        while (is_better(value, now)) {
            if (m_bits.compare_exchange_weak(now, value, rlx, rlx)) {
                return true;
            }
        }
        return false;
    }
    /// Takes the value of another rank if it is better. If neither is, as for 0.0 and -0.0, all ranks keep
    /// the one whose bits are the smaller number. True if it was taken.
    bool learn(std::uint64_t value) noexcept {
        std::uint64_t now = m_bits.load(rlx);
        while (is_better(value, now) || (value < now && !is_better(now, value))) {
            if (m_bits.compare_exchange_weak(now, value, rlx, rlx)) {
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] std::uint64_t worst() const noexcept { return m_worst; }
    /// At the start of a run.
    void reset() noexcept { m_bits.store(m_worst, rlx); }

protected:
    [[nodiscard]] virtual bool is_better(std::uint64_t a, std::uint64_t b) const noexcept = 0;

private:
    const char* m_type;
    const std::uint64_t m_worst;
    std::atomic<std::uint64_t> m_bits;
};

/// All bounds of the program, in the order in which they were made.
[[nodiscard]] std::vector<bound_word*>& cluster_bounds();

} // namespace detail
} // namespace v0
} // namespace pilfer
