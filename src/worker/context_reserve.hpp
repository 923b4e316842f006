// The contexts that a worker keeps in reserve, for its next tasks.
#pragma once

#include <cstdint>

#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class scheduler;
class team;

/// The list of free contexts of one worker, beyond its inline half in detail/task/free_lists.hpp.
class context_reserve {
public:
    context_reserve(scheduler& w, team& t) noexcept;

    /// True if a task can start.
    [[nodiscard]] bool has_context() noexcept;
    /// The body of refill_contexts().
    [[nodiscard]] std::uintptr_t refill_contexts() noexcept;
    /// Gets a context beyond the limit if the calling frame has used half of its stack. Then nothing may
    /// begin on top of it. False: it has not, or there is none.
    [[nodiscard]] bool takes_beyond() noexcept;
    /// Gives the free contexts back to the pool.
    void give_contexts() noexcept;
    /// For LeakSanitizer, on any thread: true if no task runs here and `c` is in the list of free contexts.
    [[nodiscard]] bool keeps_at_rest(const context& c) const noexcept;
    /// Called right before `a` is entered.
    void leaves_rest(activation* a) noexcept;

private:
    scheduler& m_worker;
    team& m_team;
    // See leaves_rest(); of AddressSanitizer only.
    [[maybe_unused]] bool m_list_is_shown = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
