// Where contexts come from and go to: one per pool, shared by its workers, which keep lists of their own
// and come here for 32 at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/context/context.hpp>

#include "context/context_lists.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Several stacks in one mapping: each has a guard at its low end.
struct slab {
    std::byte* base = nullptr;
    unsigned count = 0;
    std::size_t guard = 0;       // bytes of each guard
    std::uint64_t discarded = 0; // bit i: stack i is free and its pages were given back
    std::uint64_t guarded = 0;   // bit i: the guard of stack i is in place, which it stays
    unsigned number = 0;         // in its pool
    slab* next = nullptr;        // all slabs of the pool, the newest first
    context* contexts[64] = {};  // their records, null where discarded
};

class stack_pool {
public:
    /// `stack_size`: usable bytes per stack. `most`: contexts alive at once, 0: no limit.
    stack_pool(pool_core* owner, std::size_t stack_size, std::size_t most, unsigned workers);
    ~stack_pool();
    stack_pool(const stack_pool&) = delete;
    stack_pool& operator=(const stack_pool&) = delete;

    /// A list of up to `n` contexts linked by next, or null: the limit is reached or memory is short.
    [[nodiscard]] context* take(unsigned n) noexcept;
    /// One, also beyond the limit, or null: memory is short.
    [[nodiscard]] context* take_beyond() noexcept;
    /// Makes sure that there is a context at all, which then stays alive: with none no task could start,
    /// and nobody would ever give one back. False: there is no room for a single one.
    [[nodiscard]] bool stock_one() noexcept;
    /// Takes a list back. Beyond a reserve of at least one their pages are given back to the system.
    void give(context* list) noexcept;
    /// How many it holds with their pages: counted one by one, for checks.
    [[nodiscard]] std::size_t warm() noexcept { return m_stock.warm(); }
    /// No context can be had at the moment.
    [[nodiscard]] bool exhausted() const noexcept { return m_stock.exhausted(); }
    /// How many a worker may keep to itself.
    [[nodiscard]] std::uint32_t keep() const noexcept { return m_keep; }
    [[nodiscard]] std::size_t live() const noexcept { return m_stock.live(); }
    [[nodiscard]] std::size_t peak() const noexcept { return m_stock.peak(); }
    [[nodiscard]] std::size_t stack_size() const noexcept { return m_stack_size; }

    /// Held: no context is built or discarded, none changes hands between a worker and this pool.
    [[nodiscard]] std::mutex& mutex() noexcept { return m_mutex; }
    /// Calls visit(context&, number) for each context that is alive, under mutex().
    template <class Visit>
    void for_each_locked(Visit visit) {
        for (slab* s = m_newest; s != nullptr; s = s->next) {
            for (unsigned i = 0; i < s->count; ++i) {
                if (s->contexts[i] != nullptr) {
                    visit(*s->contexts[i], number_of(*s->contexts[i]));
                }
            }
        }
    }
    /// The name of a context in reports: unique in its pool, and kept for its life.
    [[nodiscard]] static unsigned number_of(const context& c) noexcept {
        return c.home->number * most_in_slab + c.index;
    }
    /// LeakSanitizer looks for pointers on the stacks of threads only. From here on it looks on the contexts
    /// of this pool, too, also on those that are taken later, but not on free ones: what they still hold is
    /// no reason to keep silent. `is_free(c)`: neither in use nor in stock.
    template <class IsFree>
    void show_to_leak_sanitizer(IsFree is_free) noexcept {
        const std::lock_guard hold(m_mutex);
        m_shown.store(true, rlx);
        std_atom::fence_sc(); // this store, then the look at who is free; see shown()
        for_each_locked([&](const context& c, unsigned) {
            if (!m_stock.keeps_locked(&c) && !is_free(c)) {
                show(c);
            }
        });
    }
    /// The same in a child of fork(), where the mutex may be held for ever: every context.
    void show_all_to_leak_sanitizer() noexcept {
        for_each_locked([](const context& c, unsigned) { show(c); });
    }
    static void show(const context& c) noexcept;
    /// Whoever takes a context from a list that is_free() counts says so before it asks.
    [[nodiscard]] bool shown() const noexcept { return m_shown.load(rlx); }
    /// Where a debugger finds the list of slabs.
    [[nodiscard]] const slab* const* newest_slab() const noexcept { return &m_newest; }

    static constexpr unsigned most_in_slab = 64;
    /// Each guard has at least this: a large frame would jump over one page.
    static constexpr std::size_t guard_bytes = std::size_t{64} * 1024;
    /// The guards of about so many stacks of a pool are wide, if the address space has no limit: see the
    /// README.
    static constexpr std::size_t wide_guard_bytes = std::size_t{1} << 20;
    static constexpr std::size_t with_wide_guard = 1'024;

private:
    [[nodiscard]] context* one_locked() noexcept;
    [[nodiscard]] bool new_slab_locked() noexcept;
    [[nodiscard]] context* build_locked(slab& s, unsigned index) noexcept;
    void discard_locked(context* c) noexcept;
    /// False: there is no address space for a slab with such guards.
    [[nodiscard]] bool reserve_locked(slab& s, std::size_t guard) const noexcept;
    [[nodiscard]] std::size_t stride(const slab& s) const noexcept { return s.guard + m_stack_size; }
    [[nodiscard]] std::byte* low_of(const slab& s, unsigned index) const noexcept {
        return s.base + index * stride(s) + s.guard;
    }

    pool_core* m_owner;
    std::size_t m_stack_size;
    unsigned m_per_slab;
    std::uint32_t m_keep;

    std::mutex m_mutex;
    context_stock<std_atom, context, std::mutex> m_stock{m_mutex};
    std::vector<std::unique_ptr<slab>> m_slabs;
    slab* m_newest = nullptr;
    std::vector<slab*> m_with_discarded; // room is kept for every slab, so that giving never allocates
    unsigned m_colour = 0;
    std::atomic<bool> m_shown{false}; // to LeakSanitizer; changes under the mutex
};

} // namespace detail
} // namespace v0
} // namespace pilfer
