// A branch of a join that runs on a thief is stopped if the frame that joins throws, or another stolen
// branch.
#include <pilfer/detail/worker/branch.hpp>

#include "worker/forked.hpp"
#include "worker/pool_core.hpp"
#include "worker/stops.hpp"

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
    scope_place* const within = self->innermost.load(rlx);
    if (!scope_place::holds(within)) {
        m_self = self;
        m_within = within;
        m_place.emplace(within);
        m_place->head().disturbed.store(disturb::branch, rlx);
        m_place->head().rest.ip = const_cast<void*>(join);
        if (scope_place::is_settled(within)) {
            m_place->seal(); // nothing above is left to mark: no walk has to go on
        }
        self->innermost.store(&*m_place, rlx);
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
        if ((m_place->head().disturbed.load(rlx) & disturb::requested) !=
            0) { // scope.B2, or worker.J1 of who fails
            stops::over();
        }
    }
    m_self->innermost.store(m_within, rlx);
}

void stolen_branch::give_up(spark& s, word lies_there, word given_up) noexcept {
    const word was = branch_protocol<std_atom>::give_up(std::atomic_ref(s.run), lies_there, given_up);
    if (was == nullptr) {
        return;
    }
    auto* const b = reinterpret_cast<stolen_branch*>(was);
    stops::request(b->m_place->head().disturbed, b->m_protocol);
}

/// The other branches of this join that run elsewhere are below of the place of the outermost one around
/// `s`: who takes the rest of a join of several runs the next function and announces the others from there.
void stolen_branch::fails(spark& s, const void* join, const std::exception_ptr& error) noexcept {
    if (says_stopped(error)) {
        return;
    }
    scope_place* outermost = nullptr;
    for (scope_place* at = s.within(); !scope_place::holds(at); at = outermost->above()) {
        scope_place* const place = scope_place::strip(at);
        if (place == nullptr) {
            break;
        }
        place->seen_here();
        if ((place->head().disturbed.load(rlx) & disturb::branch) == 0 || place->head().join() != join) {
            break;
        }
        outermost = place;
    }
    if (outermost != nullptr) {
        stops::request(outermost->head().disturbed);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
