// A branch of a join that runs on a thief is stopped where the frame that joins throws.
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

stolen_branch::stolen_branch(spark& s, word given_up) noexcept
    : m_spark(s), m_given_up(given_up), m_process(forks::this_process()) {
    activation* const self = this_worker()->current.load(rlx);
    scope_place* const within = self->innermost.load(rlx);
    if (!scope_place::holds(within)) {
        m_self = self;
        m_within = within;
        m_place.emplace(within);
        m_place->head().disturbed.store(disturb::bare, rlx);
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
    if (m_begins && m_protocol.ends(std::atomic_ref(m_spark.run), m_given_up, gone)) {
        stops::over();
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

stolen_branch* stolen_branch::give_up_to(spark& s, word lies_there, word given_up) noexcept {
    return reinterpret_cast<stolen_branch*>(
        branch_protocol<std_atom>::give_up(std::atomic_ref(s.run), lies_there, given_up));
}

bool stolen_branch::tell_joining_frame(spark& s, const std::exception_ptr& error) noexcept {
    // A holder finishes first.
    return !says_stopped(error) && !scope_place::holds(s.within()) && stops::fail(s);
}

void stolen_branch::collect(spark& s) noexcept { stops::collected(s); }

} // namespace detail
} // namespace v0
} // namespace pilfer
