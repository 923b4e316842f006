// Acceptance of submissions: they are counted, get a place if the queue is bounded, are queued and announced.
#include "pool/pool_core.hpp"

#include <pilfer/detail/worker/wait.hpp>
#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

void pool_core::accept(submission* s, priority level) {
    check_here();
    if (m_places.bounded()) {
        accept_bounded(s, level);
        return;
    }
    const pool_pin here(*this);
    if (!m_closing.accept()) {
        throw pool_closed();
    }
    queue(s, level);
}

void pool_core::accept_inside(submission* s, priority level) noexcept {
    m_closing.accept_inside();
    if (m_places.bounded()) {
        m_places.take_anyway();
    }
    queue(s, level);
}

bool pool_core::try_accept(submission* s) noexcept {
    if (is_forked_child()) {
        return false;
    }
    const pool_pin here(*this);
    if (!m_closing.accept()) {
        return false;
    }
    if (m_places.bounded()) {
        m_places.take_anyway();
    }
    queue(s, priority::normal);
    return true;
}

/// `s` is counted, and a pool_pin exists. As soon as `s` is queued it may run, and the pool may end.
void pool_core::queue(submission* s, priority level) noexcept {
    san::release(static_cast<spark*>(s));
    m_backend->queue(*s, level, origin::caller);
}

void pool_core::accept_bounded(submission* s, priority level) {
    const worker* w = this_worker();
    if ((w != nullptr && w->pool == this) || blocking_threads::is_helper_of(*this)) {
        // This thread runs a task of this pool, or a blocking() job that such a task waits for. If it waited
        // for a place here, the task might wait for its own end.
        m_places.take_anyway();
    } else if (!m_places.try_take()) {
        if (m_options.when_full == when_full::fail) {
            if (is_closed()) {
                throw pool_closed();
            }
            throw queue_full();
        }
        wait_for_place();
        const pool_pin here(*this); // until here the count keeps the pool alive
        queue(s, level);
        return;
    }
    if (!accept_with_place(s, level)) {
        throw pool_closed();
    }
}

bool pool_core::accept_with_place(submission* s, priority level) noexcept {
    const pool_pin here(*this);
    if (!m_closing.accept()) {
        left_queue();
        return false;
    }
    queue(s, level);
    return true;
}

namespace {

constexpr wait_kind place_kind{"room in a pool's queue", [](const suspension& self, wait_facts& f) noexcept {
                                   f.elsewhere = static_cast<const pool_core*>(self.object);
                               }};

} // namespace

/// Returns with a place, and counted as a submission. The thread that gives the place counts it, because the
/// pool might end before this frame resumes. Throws pool_closed; then the pool may no longer exist.
void pool_core::wait_for_place() {
    using places = queue_places<std_atom, futex_park>;
    places::entry self;
    switch (m_places.enter(self)) {
    case places::step::taken: {
        const pool_pin here(*this);
        if (m_closing.accept()) {
            return;
        }
        left_queue();
        throw pool_closed();
    }
    case places::step::closed:
        throw pool_closed();
    case places::step::wait:
        break;
    }
    // No task runs on top of this frame. Such a task might find the queue full, while this frame owns a place
    // that it cannot use yet.
    wait_in(m_places.waiting(), self, never, place_kind, this, awaited::a_holder);
    if (self.wants == places::refused) {
        throw pool_closed();
    }
}

void pool_core::give_place_back() noexcept {
    while (auto* e = m_places.give_back()) {
        const bool accepted = m_closing.accept();
        e->wants = accepted ? m_places.given : m_places.refused;
        go_on(*e);
        if (accepted) {
            return;
        }
    }
}

/// The pool is closed.
void pool_core::refuse_waiting() noexcept { go_on_all(m_places.close()); }

void pool_core::queue_begun(submission* s, bool late) noexcept {
    const pool_pin here(*this);
    if (late) {
        m_queued_late.fetch_add(1, rlx);
    }
    queue_expected(s);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
