// How what is submitted is taken: counted, given a place where the queue is bounded, queued, and told.
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

/// `s` is counted, and a visit lasts: once it is queued it may run, and with it the pool end.
void pool_core::queue(submission* s, priority level) noexcept {
    san::release(static_cast<spark*>(s));
    m_backend->queue(*s, level, origin::caller);
}

void pool_core::accept_bounded(submission* s, priority level) {
    const worker* w = this_worker();
    if ((w != nullptr && w->pool == this) || blocking_threads::is_helper_of(*this)) {
        // One of its own tasks waits for this thread: it must not wait for its own end.
        m_places.take_anyway();
    } else if (!m_places.try_take()) {
        if (m_options.when_full == when_full::fail) {
            if (is_closed()) {
                throw pool_closed();
            }
            throw queue_full();
        }
        wait_for_place();
        const pool_pin here(*this); // what was counted for us keeps the pool until then
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

/// Returns with a place, and counted as a submission: by the giver, for the pool might end before this frame
/// goes on. Throws pool_closed; then the pool may be gone.
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
    // Nothing runs on top of this frame: it would find the queue full, too, with a place that this frame has
    // been given and cannot use.
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
