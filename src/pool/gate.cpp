#include "pool/gate.hpp"

#include <pilfer/detail/wait/wait.hpp>
#include <pilfer/error.hpp>

#include "backend/helping.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

submission_gate::submission_gate(pool_core& p, const options& o) noexcept
    : m_pool(p), m_places(o.when_full == when_full::grow ? 0 : o.queue_capacity) {}

void submission_gate::accept(submission* s, priority level) {
    m_pool.check_here();
    if (m_places.bounded()) {
        accept_bounded(s, level);
        return;
    }
    const team::pin_guard here(m_pool);
    if (!m_pool.life.accept()) {
        throw pool_closed();
    }
    queue(s, level);
}

void submission_gate::accept_inside(submission* s, priority level) noexcept {
    m_pool.life.accept_inside();
    if (m_places.bounded()) {
        m_places.take_anyway();
    }
    queue(s, level);
}

bool submission_gate::try_accept(submission* s) noexcept {
    if (m_pool.is_forked_child()) {
        return false;
    }
    const team::pin_guard here(m_pool);
    if (!m_pool.life.accept()) {
        return false;
    }
    if (m_places.bounded()) {
        m_places.take_anyway();
    }
    queue(s, priority::normal);
    return true;
}

/// `s` is counted, and a pin_guard exists. As soon as `s` is queued it may run, and the pool may end.
void submission_gate::queue(submission* s, priority level) noexcept {
    san::release(static_cast<spark*>(s));
    m_pool.backend().queue(*s, level, origin::caller);
}

void submission_gate::accept_bounded(submission* s, priority level) {
    if (m_pool.here() != nullptr || helping::is_for(m_pool)) {
        // This thread runs a task of this pool, or a blocking() job that such a task waits for. If it waited
        // for a place here, the task might wait for its own end.
        m_places.take_anyway();
    } else if (!m_places.try_take()) {
        if (m_pool.settings().when_full == when_full::fail) {
            if (is_closed()) {
                throw pool_closed();
            }
            throw queue_full();
        }
        wait_for_place();
        const team::pin_guard here(m_pool); // until here the count keeps the pool alive
        queue(s, level);
        return;
    }
    const team::pin_guard here(m_pool);
    if (!m_pool.life.accept()) {
        give_back();
        throw pool_closed();
    }
    queue(s, level);
}

namespace {

constexpr wait_kind place_kind{"room in a pool's queue", [](const suspension& self, wait_facts& f) noexcept {
                                   f.elsewhere = static_cast<const pool_core*>(self.object);
                               }};

} // namespace

/// Returns with a place, and counted as a submission. The thread that gives the place counts it, because the
/// pool might end before this frame resumes. Throws pool_closed; then the pool may no longer exist.
void submission_gate::wait_for_place() {
    places_type::entry self;
    switch (m_places.enter(self)) {
    case places_type::step::taken: {
        const team::pin_guard here(m_pool);
        if (m_pool.life.accept()) {
            return;
        }
        give_back();
        throw pool_closed();
    }
    case places_type::step::closed:
        throw pool_closed();
    case places_type::step::wait:
        break;
    }
    // No task runs on top of this frame. Such a task might find the queue full, while this frame owns a place
    // that it cannot use yet.
    wait_in(m_places.waiting(), self, never, place_kind, &m_pool, awaited::a_holder);
    if (self.wants == places_type::refused) {
        throw pool_closed();
    }
}

void submission_gate::give_back() noexcept {
    while (auto* e = m_places.give_back()) {
        const bool accepted = m_pool.life.accept();
        e->wants = accepted ? m_places.given : m_places.refused;
        go_on(*e);
        if (accepted) {
            return;
        }
    }
}

void submission_gate::close() noexcept {
    m_pool.life.close();
    go_on_all(m_places.close());
}

bool submission_gate::is_closed() const noexcept { return m_pool.life.is_closed(); }

void submission_gate::wait_until_quiet() noexcept {
    m_pool.life.wait_until_quiet(
        m_pool.schedulers(), [this](unsigned i) -> auto& { return m_pool.at(i).outstanding; });
}

// ---- tasks that are counted before they are queued -----------------------------------------------

bool submission_gate::expect() noexcept {
    if (m_pool.here() != nullptr) {
        m_pool.life.accept_inside();
        return true;
    }
    return m_pool.life.accept();
}

bool submission_gate::expect_again() noexcept { return m_pool.life.accept(); }

void submission_gate::forget_expected() noexcept {
    const team::pin_guard here(m_pool); // once it is no longer counted the pool may end
    m_pool.life.withdraw();
}

void submission_gate::queue_begun(submission* s, bool late) noexcept {
    const team::pin_guard here(m_pool);
    if (late) {
        m_queued_late.fetch_add(1, rlx);
    }
    m_pool.queue_counted(s, priority::normal);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
