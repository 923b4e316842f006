// The contexts of a pool. Its workers keep lists of their own and take 32 at a time from here.
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
    /// Takes one context, even beyond the limit. Null: memory is short.
    [[nodiscard]] context* take_beyond() noexcept;
    /// Makes sure that there is at least one context, which then stays alive. With none no task could start,
    /// and none would ever be given back. False: there is no room for a single one.
    [[nodiscard]] bool stock_one() noexcept;
    /// Takes a list back. The pages of contexts beyond a reserve of at least one go back to the system.
    void give(context* list) noexcept;
    /// The number of contexts that it holds with their pages: counted one by one, for checks.
    [[nodiscard]] std::size_t warm() noexcept { return m_stock.warm(); }
    /// True if no context is available at the moment.
    [[nodiscard]] bool exhausted() const noexcept { return m_stock.exhausted(); }
    /// The number of contexts that a worker may keep.
    [[nodiscard]] std::uint32_t keep() const noexcept { return m_keep; }
    [[nodiscard]] std::size_t live() const noexcept { return m_stock.live(); }
    [[nodiscard]] std::size_t peak() const noexcept { return m_stock.peak(); }
    [[nodiscard]] std::size_t stack_size() const noexcept { return m_stack_size; }

    /// While it is held, no context is built or discarded, and none moves between a worker and this pool.
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
    /// LeakSanitizer looks for pointers on the stacks of threads only. From here on it also looks on the
    /// contexts of this pool, including those that are taken later. It ignores free ones: their stale
    /// contents must not hide a leak. `is_free(c)`: neither in use nor in stock.
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
    /// Shows every context to LeakSanitizer. For a child of fork(), in which the mutex may be held for ever.
    void show_all_to_leak_sanitizer() noexcept {
        for_each_locked([](const context& c, unsigned) { show(c); });
    }
    static void show(const context& c) noexcept;
    /// True after show_to_leak_sanitizer(). A thread that takes a context from a list that is_free() counts
    /// marks it as taken before it asks.
    [[nodiscard]] bool shown() const noexcept { return m_shown.load(rlx); }
    /// The address of the list of slabs, for debuggers.
    [[nodiscard]] const slab* const* newest_slab() const noexcept { return &m_newest; }

    static constexpr unsigned most_in_slab = 64;
    /// Each guard has at least this: a large frame would jump over one page.
    static constexpr std::size_t guard_bytes = std::size_t{64} * 1024;
    /// The guards of about the first `with_wide_guard` stacks of a pool are wide, if the address space has no
    /// limit: see the README.
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
