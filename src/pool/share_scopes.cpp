// Marks scopes as shared before a task is given to a pool (scope.M5: ../scope).
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

scope_node* share_scopes(pool_core& p) noexcept {
    auto* const inside = this_activation()->node.load(rlx);
    // A scope that is not settled belongs to the caller's pool, not to `p`. A thread outside ends its scopes
    // itself.
    if (worker* w = this_worker()) {
        share_scopes(*w->pool, inside);
    } else if (!scope_node::is_settled(inside)) {
        p.outside.scopes_shared.fetch_add(scope_node::share(inside), rlx);
    }
    return inside;
}

void share_scopes(pool_core& p, scope_node* inside) noexcept {
    if (scope_node::is_settled(inside)) {
        return;
    }
    auto* const w = static_cast<scheduler*>(this_worker());
    scheduler* const own = p.here();
    scheduler& at = own != nullptr ? *own : p.at(0); // any of them will do (scope.M5)
    const std::uint64_t fresh =
        at.deque.thief().locked([inside]() noexcept { return scope_node::share(inside); });
    if (w != nullptr) {
        w->count.scopes_shared.add(fresh);
    } else {
        p.outside.scopes_shared.fetch_add(fresh, rlx);
    }
}

void share_from_below(worker* w, scope_node* node) noexcept {
    if (w->pool->schedulers() > 1) {
        share_scopes(*w->pool, node);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
