#include "context/stack_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(low, high) 0U
#define VALGRIND_STACK_DEREGISTER(id) (void)(id)
#endif

#include <pilfer/detail/base/atom.hpp>

#include "context/sanitizer.hpp"
#include "platform/os.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr std::size_t slab_bytes = 4 << 20; // Address space; a smaller `ulimit -v` shrinks it.
// Stacks whose tops have the same offset in a page compete for the same cache sets. 16 offsets, 128 bytes
// apart, leave half of the topmost page to the task.
constexpr unsigned colours = 16;
constexpr std::size_t colour_step = 128;
#if defined(PILFER_TSAN)
constexpr std::size_t tsan_limit = 7'000; // g++ 12's runtime dies above 8,128 fibers
constexpr std::size_t tsan_beyond = 8'000;
#endif

[[nodiscard]] std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// In the checked build only: changes the state of a whole list.
void change_all([[maybe_unused]] context* list, [[maybe_unused]] context_state from,
                [[maybe_unused]] context_state to) noexcept {
    if constexpr (checked_build) {
        for (context* c = list; c != nullptr;) {
            san::acquire(c);
            c->change(from, to);
            context* const next = ranked<context>::node(c->next.load(rlx));
            san::release(c); // acquired by the thread that takes it from this list
            c = next;
        }
    }
}

} // namespace

stack_pool::stack_pool(pool_core* owner, std::size_t stack_size, std::size_t most, unsigned workers)
    : m_owner(owner), m_stack_size(rounded(stack_size, os::page_size())),
      m_per_slab(static_cast<unsigned>(
          std::clamp<std::size_t>(slab_bytes / (m_stack_size + guard_bytes), 1, most_in_slab))),
      m_keep(64) {
    std::size_t reserve = 64 + std::size_t{32} * workers;
#if defined(PILFER_TSAN)
    most = most == 0 ? tsan_limit : std::min(most, tsan_limit);
#endif
    if (most != 0) {
        // A worker must not hoard contexts that others need.
        m_keep =
            static_cast<std::uint32_t>(std::clamp<std::size_t>(most / (4 * std::size_t{workers}), 1, 64));
    }
    if (m_stack_size + guard_bytes > slab_bytes) {
        // Large stacks: cached ones hold address space that may be limited.
        m_keep = 2;
        reserve = 2 * std::size_t{workers};
    }
    m_stock.set_limits(most, std::max<std::size_t>(reserve, 1)); // 1: see stock_one()
}

stack_pool::~stack_pool() {
    while (context* c = m_stock.take_last()) {
        VALGRIND_STACK_DEREGISTER(c->valgrind_id);
#if defined(PILFER_TSAN)
        __tsan_destroy_fiber(c->view.fiber);
#endif
    }
    if (shown()) {
        return; // at the end of the program LeakSanitizer still reads the stacks
    }
    for (const auto& s : m_slabs) {
        san::unpoison(s->base, stride(*s) * s->count);
        os::unreserve(s->base, stride(*s) * s->count);
    }
}

context* stack_pool::take(unsigned n) noexcept {
    context* list = m_stock.take(n, m_keep, [this] { return one_locked(); });
    change_all(list, context_state::pooled, context_state::cached);
    if (shown()) [[unlikely]] {
        for (const context* c = list; c != nullptr; c = ranked<context>::node(c->next.load(rlx))) {
            show(*c);
        }
    }
    return list;
}

context* stack_pool::take_beyond() noexcept {
    context* c = m_stock.take_beyond(m_keep, [this] { return one_locked(); });
    change_all(c, context_state::pooled, context_state::cached);
    if (c != nullptr && shown()) [[unlikely]] {
        show(*c);
    }
    return c;
}

void stack_pool::show(const context& c) noexcept {
    if (c.low == nullptr) {
        return; // in a child of fork(): a thread of the parent was building it
    }
    const auto* const end = reinterpret_cast<const std::byte*>(&c + 1);
    san::is_root(c.low, static_cast<std::size_t>(end - c.low));
    san::fake_stack_is_root(c.view);
}

bool stack_pool::stock_one() noexcept {
    context* c = take(1);
    if (c == nullptr) {
        return false;
    }
    give(c);
    return true;
}

context* stack_pool::one_locked() noexcept {
#if defined(PILFER_TSAN)
    if (m_stock.live() >= tsan_beyond) {
        return nullptr;
    }
#endif
    if (m_with_discarded.empty() && !new_slab_locked()) {
        return nullptr;
    }
    slab& s = *m_with_discarded.back();
    const auto index = static_cast<unsigned>(std::countr_zero(s.discarded));
    s.discarded &= s.discarded - 1;
    if (s.discarded == 0) {
        m_with_discarded.pop_back();
    }
    return build_locked(s, index);
}

bool stack_pool::reserve_locked(slab& s, std::size_t guard) const noexcept {
    s.guard = guard;
    for (s.count = m_per_slab; s.count > 0; s.count /= 2) {
        s.base = static_cast<std::byte*>(os::reserve(s.count * stride(s)));
        if (s.base != nullptr) {
            return true;
        }
    }
    return false;
}

bool stack_pool::new_slab_locked() noexcept {
    try {
        if (m_slabs.size() == m_slabs.capacity()) {
            m_slabs.reserve(2 * m_slabs.size() + 16); // one by one, a million stacks would copy for seconds
        }
        m_with_discarded.reserve(m_slabs.capacity());
        auto s = std::make_unique<slab>();
        const bool wide = m_slabs.size() * m_per_slab < with_wide_guard && !os::address_space_is_limited();
        if (!(wide && reserve_locked(*s, wide_guard_bytes)) && !reserve_locked(*s, guard_bytes)) {
            return false;
        }
        s->discarded = s->count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << s->count) - 1;
        s->number = static_cast<unsigned>(m_slabs.size());
        s->next = m_newest;
        m_newest = s.get();
        m_with_discarded.push_back(s.get());
        m_slabs.push_back(std::move(s));
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

context* stack_pool::build_locked(slab& s, unsigned index) noexcept {
    std::byte* low = low_of(s, index);
    if (const std::uint64_t bit = std::uint64_t{1} << index; (s.guarded & bit) == 0) {
        os::guard(low - s.guard, s.guard); // not of the whole slab at once: a small pool begins sooner
        s.guarded |= bit;
    }
    m_colour = (m_colour + 1) % colours;
    std::byte* at = low + m_stack_size - sizeof(context) - m_colour * colour_step;
    auto* c = ::new (at) context;
    c->self.ctx = c;
    c->index = index;
    c->home = &s;
    s.contexts[index] = c;
    c->pool = m_owner;
    c->low = low;
    c->view.low = low;
    c->view.size = static_cast<std::size_t>(at - low);
    c->valgrind_id = VALGRIND_STACK_REGISTER(low, at);
#if defined(PILFER_TSAN)
    c->view.fiber = __tsan_create_fiber(0);
#endif
    san::release(c); // with the walks along lists of contexts
    return c;
}

void stack_pool::discard_locked(context* c) noexcept {
    slab& s = *c->home;
    const unsigned index = c->index;
    VALGRIND_STACK_DEREGISTER(c->valgrind_id);
#if defined(PILFER_TSAN)
    __tsan_destroy_fiber(c->view.fiber);
#endif
    san::unpoison(c->low, m_stack_size);
    s.contexts[index] = nullptr;
    os::discard(low_of(s, index), m_stack_size);
    if (s.discarded == 0) {
        m_with_discarded.push_back(&s);
    }
    s.discarded |= std::uint64_t{1} << index;
}

void stack_pool::give(context* list) noexcept {
    change_all(list, context_state::cached, context_state::pooled);
    m_stock.give(list, [this](context* c) { discard_locked(c); });
}

} // namespace detail
} // namespace v0
} // namespace pilfer
