#include "worker/context_reserve.hpp"

#include <pilfer/detail/task/free_lists.hpp>

#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

context_reserve::context_reserve(scheduler& w, team& t) noexcept : m_worker(w), m_team(t) {}

bool context_reserve::has_context() noexcept {
    return m_worker.free_contexts.load(rlx) != 0 || m_worker.backend().refill_contexts(m_worker) != 0;
}

void context_reserve::give_contexts() noexcept {
    if (context* const mine = ranked<context>::node(m_worker.free_contexts.exchange(0, rlx))) {
        m_team.stacks.give(mine);
    }
}

bool context_reserve::keeps_at_rest(const context& c) const noexcept {
    if (m_worker.current.load(rlx) != nullptr) {
        return false;
    }
    const context* at = ranked<context>::node(m_worker.free_contexts.load(rlx));
    while (at != nullptr && at != &c) {
        at = ranked<context>::node(at->next.load(rlx));
    }
    return at != nullptr;
}

/// Called right before `a` is entered. From the end of the program on, LeakSanitizer also has to see the
/// stacks that later tasks take from this list.
void context_reserve::leaves_rest([[maybe_unused]] activation* a) noexcept {
#if defined(PILFER_ASAN)
    m_worker.current.store(a, rlx);
    std_atom::fence_sc(); // this store, then the look; on the other side keeps_at_rest()
    if (m_team.stacks.shown() && !m_list_is_shown) [[unlikely]] {
        m_list_is_shown = true; // what joins the list later was in use, or came by take()
        stack_pool::show(*a->ctx);
        for (const context* c = ranked<context>::node(m_worker.free_contexts.load(rlx)); c != nullptr;
             c = ranked<context>::node(c->next.load(rlx))) {
            stack_pool::show(*c);
        }
    }
#endif
}

bool context_reserve::takes_beyond() noexcept {
    const context* const here = m_worker.current.load(rlx)->ctx;
    const auto at = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (here == nullptr ||
        at - reinterpret_cast<std::uintptr_t>(here->low) >= m_team.stacks.stack_size() / 2) {
        return false;
    }
    const context* const one = m_team.stacks.take_beyond();
    if (one == nullptr) {
        return false;
    }
    m_worker.free_contexts.store(one->link.load(rlx), rlx);
    return true;
}

std::uintptr_t context_reserve::refill_contexts() noexcept {
    if (m_team.is_forked_child()) {
        return 0; // in a child of fork(): another thread may have held the lock of the stacks
    }
    // Only a pool with a limit refuses. The promises of other pools hold while stacks are available.
    if (m_team.settings().max_contexts != 0 && PILFER_CHAOS_MAYBE(refuse_context)) {
        return 0;
    }
    PILFER_CHAOS_POINT(contexts);
    const context* const first = m_team.stacks.take(32);
    const std::uintptr_t list = first != nullptr ? first->link.load(rlx) : 0;
    m_worker.free_contexts.store(list, rlx);
    return list;
}

std::uintptr_t refill_contexts(worker* w) noexcept {
    return backend_of(w).refill_contexts(*static_cast<scheduler*>(w));
}

void put_context_cold(worker* w, context* c) noexcept {
    auto& stacks = static_cast<scheduler*>(w)->crew().stacks;
    if (context* rest = put_and_cut(w->free_contexts, c, stacks.keep())) {
        if (!static_cast<scheduler*>(w)->crew().is_forked_child()) { // else its lock may be held for ever
            stacks.give(rest);
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
