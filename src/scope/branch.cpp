// A branch of a join that runs on a thief is stopped if the frame that joins throws, or another stolen
// branch.
#include <pilfer/detail/task/branch.hpp>

#include "base/forks.hpp"
#include "cancel/cancellation.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

[[nodiscard]] stolen_branch::word as_word(stolen_branch* b) noexcept {
    return reinterpret_cast<stolen_branch::word>(b);
}

} // namespace

stolen_branch::stolen_branch(spark& s, word given_up, const void* join) noexcept
    : m_spark(s), m_given_up(given_up), m_process(forks::this_process()) {
    activation* const self = this_worker()->current.load(rlx);
    scope_node* const parent = self->node.load(rlx);
    if (!scope_node::holds(parent)) {
        m_self = self;
        m_parent = parent;
        m_node.emplace(parent);
        m_node->head().cancel_state.store(cancel_flag::branch, rlx);
        m_node->head().rest.ip = const_cast<void*>(join);
        if (scope_node::is_settled(parent)) {
            m_node->seal(); // nothing above is left to mark: no walk has to continue
        }
        self->node.store(&*m_node, rlx);
    }
    m_begins = branch_protocol<std_atom>::begins(std::atomic_ref(s.run),
                                                 m_self != nullptr ? as_word(this) : nullptr, given_up);
}

stolen_branch::~stolen_branch() {
    if (m_self == nullptr) {
        return;
    }
    const auto gone = [this] { return forks::this_process() != m_process; };
    if (m_begins) {
        (void)m_protocol.ends(std::atomic_ref(m_spark.run), m_given_up, gone);
        if ((m_node->head().cancel_state.load(rlx) & cancel_flag::cancelled) != 0) { // join.B2, or worker.J1
            cancellation::over();
        }
    }
    m_self->node.store(m_parent, rlx);
}

void stolen_branch::give_up(spark& s, word initial, word given_up) noexcept {
    const word was = branch_protocol<std_atom>::give_up(std::atomic_ref(s.run), initial, given_up);
    if (was == nullptr) {
        return;
    }
    auto* const b = reinterpret_cast<stolen_branch*>(was);
    cancellation::request(*b->m_node, &b->m_protocol);
}

/// The other branches of this join that run on other workers are below the node of the outermost branch
/// around `s`. The worker that takes the rest of a join of several runs the next function, and announces the
/// others there.
void stolen_branch::fails(spark& s, const void* join, const std::exception_ptr& error) noexcept {
    if (says_stopped(error)) {
        return;
    }
    scope_node* outermost = nullptr;
    for (scope_node* at = s.parent(); !scope_node::holds(at); at = outermost->parent()) {
        scope_node* const node = scope_node::strip(at);
        if (node == nullptr) {
            break;
        }
        node->seen_here();
        if ((node->head().cancel_state.load(rlx) & cancel_flag::branch) == 0 || node->head().join() != join) {
            break;
        }
        outermost = node;
    }
    // Of many branches that throw at once only the first one needs the lock of all cancellations.
    if (outermost != nullptr && (outermost->head().cancel_state.load(rlx) & cancel_flag::cancelled) == 0) {
        cancellation::request(*outermost);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
