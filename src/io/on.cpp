// Functions that run at each event. Stages and edges: README.md.
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/on.hpp>

#include <system_error>

#include "base/forks.hpp"
#include "io/descriptor.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

reaction::reaction() noexcept {
    run = &reaction::run_task;
    m_caller.tell = &reaction::is_called;
    m_caller.owner = this;
}

/// Called by the thread that has the reaction, when no other thread advances it. Runs user code.
void reaction::end() noexcept {
    m_wait.await_canceller();
    give_back();
    // Before the function ends: the end of the pool need not wait for the function's destructor, which may
    // even call it.
    m_pool->io->remove(*this);
    end_function();
    m_wait.finish();
    release();
}

void reaction::start(pool_core& p) {
    PILFER_TEST_CANNOT_REPEAT("pilfer::on");
    m_pool = &p;
    bool waits = false;
    try {
        waits = begin(p);
    } catch (...) {
        end_unbegun();
        throw;
    }
    if (!waits) {
        end_unbegun();
    }
}

/// Called without a pin_guard: the function's destructor is user code, which may end the pool.
void reaction::end_unbegun() noexcept {
    end_function();
    m_wait.finish();
    release(); // the reference of the wait
}

/// False: the object of the wait is closed.
bool reaction::begin(pool_core& p) {
    p.check_here();
    const team::pin_guard visit(p); // it may run and end at once, and the pool with it
    std_atom::fence_sc();           // io.O4
    if (p.gate.is_closed()) {
        throw pool_closed();
    }
    (void)m_wait.begin_round();
    const found how = enter(m_wait.entry, true);
    if (how == found::closed) {
        return false;
    }
    p.io->add(*this);
    arm(how);
    return true;
}

/// After enter(). The caller does not touch the reaction afterwards.
void reaction::arm(found how) noexcept {
    if (how == found::waits &&
        m_wait.settle(list(), reinterpret_cast<std::uintptr_t>(static_cast<callback_waiter*>(&m_caller)) |
                                  waiter_is_callback)) {
        return;
    }
    m_taken = how != found::waits;
    next();
}

void reaction::is_called(callback_waiter& self) noexcept { static_cast<caller&>(self).owner->next(); }

/// Its turn has come, or it was stopped. On any thread.
void reaction::next() noexcept {
    using turn = decltype(m_wait)::turn;
    // It stays in the pool's list until refuse(), or as a task until its end. So long the pool lives.
    if (m_pool->is_forked_child()) {
        return; // no worker would run it
    }
    if (m_wait.take_turn() == turn::nothing) {
        return;
    }
    {
        pool_core& p = *m_pool;
        const team::pin_guard here(p);
        if (p.gate.expect_again()) {
            p.queue_counted(this, priority::normal);
            return;
        }
    }
    m_wait.refuse(); // without a pin_guard: the pool may end
}

bool reaction::cancel() noexcept {
    using canceller = decltype(m_wait)::canceller;
    const canceller who =
        m_wait.cancel([this]() -> waiters& { return list(); }, [this] { return m_pool->is_forked_child(); });
    if (who == canceller::self) {
        end();
    } else if (who == canceller::alone) {
        // No lock of the pool is taken, whose list is never used here. If the reaction stays in the list of
        // its object, a notifier may still find it there, and it is never freed.
        const bool is_out = list().try_withdraw(m_wait.entry);
        end_function();
        m_wait.finish();
        if (is_out) {
            release();
        }
    }
    return who != canceller::no;
}

void reaction::pool_has_ended() noexcept {
    if (!m_taken && m_wait.entry.end == waiters::fate::notified) {
        (void)take(m_wait.entry); // to be given back
    }
    give_back();
    end_function();
    m_wait.finish();
    release();
}

suspension* reaction::run_task(spark* self, worker* w) noexcept {
    auto* const r = static_cast<reaction*>(static_cast<submission*>(self));
    const bool again = r->run_once(w);
    if (r->m_pool->is_forked_child()) {
        forks::no_way_back();
    }
    if (again && r->m_wait.begin_round()) {
        const found how = r->enter(r->m_wait.entry, false); // does not throw
        if (how == found::closed) {
            r->end(); // it is in no list, so no other thread takes its turn
        } else {
            r->arm(how);
        }
    } else {
        r->end();
    }
    end_outstanding(this_worker());
    return nullptr;
}

/// Runs the function once. False: the reaction ends.
bool reaction::run_once(worker* w) noexcept {
    const bool there = m_taken || (m_wait.entry.end == waiters::fate::notified && take(m_wait.entry));
    m_taken = false;
    if (!there || m_wait.is_stopping() || dropping(w)) {
        return false;
    }
    note_suppressed(0); // of an earlier task on this thread
    try {
        return execute();
    } catch (...) {
        nobody_waits_for(this_worker(), caught_error());
        return true;
    }
}

// ---- events -----------------------------------------------------------------------------------

event_reaction::event_reaction(event& e) noexcept : m_event(e) {}

waiters& event_reaction::list() noexcept { return m_event.m_waiting; }

reaction::found event_reaction::enter(waiters::entry& e, bool first) {
    m_event.m_waiting.lock();
    const bool news = first ? m_event.m_set.load(rlx) : m_event.m_times != m_seen;
    m_seen = m_event.m_times;
    if (!news) {
        m_event.m_waiting.add(e);
    }
    m_event.m_waiting.unlock();
    return news ? found::ready : found::waits;
}

bool event_reaction::take(waiters::entry&) noexcept {
    m_event.m_waiting.lock();
    m_seen = m_event.m_times; // the run that begins now answers all settings so far
    m_event.m_waiting.unlock();
    return true;
}

// ---- descriptors ------------------------------------------------------------------------------

waiters& descriptor_reaction::list() noexcept { return *m_list; }

reaction::found descriptor_reaction::enter(waiters::entry& e, bool first) {
    int error = m_when.fd < 0 ? EBADF : 0;
    readiness* const io = error == 0 ? pool().io->get(error) : nullptr;
    descriptors::slot* s = nullptr;
    if (io != nullptr) {
        error = slot_of(*io, m_when.fd, s);
    }
    if (error == 0) {
        if (first) {
            io->one_more(); // until it ends: the watch is notified once
        }
        error = io->waits.enter_again(*s, m_when.fd, e, m_when.writable ? os::can_write : os::can_read,
                                      m_forgets, first);
        if (error != 0 && first) {
            io->one_less();
        }
    }
    if (error != 0 && !first) {
        return found::closed; // it was forgotten during the run, or it is bad by now
    }
    if (error != 0) {
        throw std::system_error(error, std::generic_category(), "pilfer: on() of a descriptor");
    }
    if (first) {
        m_list = &s->list; // once: a canceller may read it while it enters again
        pool().alarms->expect(any_time);
    }
    return found::waits;
}

/// False also if the descriptor was forgotten after its event: the number may belong to another file by now.
bool descriptor_reaction::take(waiters::entry& e) noexcept {
    return e.wants != descriptors::forgotten &&
           pool().io->if_made()->waits.slot_if_made(m_when.fd)->forgets.load(rlx) == m_forgets; // io.N6
}

void descriptor_reaction::give_back() noexcept {
    pool().io->if_made()->one_less(); // it was made by enter()
}

// ---- the end of a pool ------------------------------------------------------------------------

void descriptor_watch::add(reaction& r) noexcept {
    m_reactions_lock.lock();
    r.m_next_in_pool = m_reactions;
    if (m_reactions != nullptr) {
        m_reactions->m_previous_in_pool = &r;
    }
    m_reactions = &r;
    m_reactions_lock.unlock();
}

void descriptor_watch::remove(reaction& r) noexcept {
    m_reactions_lock.lock();
    unlink(r);
    m_reactions_lock.unlock();
}

void descriptor_watch::unlink(reaction& r) noexcept {
    if (r.m_previous_in_pool != nullptr) {
        r.m_previous_in_pool->m_next_in_pool = r.m_next_in_pool;
    } else {
        m_reactions = r.m_next_in_pool;
    }
    if (r.m_next_in_pool != nullptr) {
        r.m_next_in_pool->m_previous_in_pool = r.m_previous_in_pool;
    }
}

void descriptor_watch::sweep() noexcept {
    for (unsigned round = 0;;) {
        m_reactions_lock.lock();
        reaction* const r = m_reactions;
        const bool mine =
            r != nullptr && r->sweep(); // under the lock: a canceller takes it out of the list, and ends it
        if (mine) {
            unlink(*r);
        }
        m_reactions_lock.unlock();
        if (r == nullptr) {
            return;
        }
        if (mine) {
            m_swept.push(r);
        } else {
            std_atom::relax(round++);
        }
    }
}

void descriptor_watch::end_swept() noexcept {
    while (!m_swept.empty()) {
        if (auto* n = m_swept.pop()) {
            static_cast<reaction*>(static_cast<submission*>(n))->pool_has_ended();
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
