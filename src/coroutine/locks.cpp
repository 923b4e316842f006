// Coroutines that wait for locks, permits and conditions. Argument: README.md.
#include <pilfer/detail/coroutine/lock_resumptions.hpp>

#include <new>

#include <pilfer/detail/base/test_point.hpp>

#include "coroutine/parked_kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

namespace {

constexpr waits_in_list for_mutex("a mutex", [](const void* object, wait_facts& f) noexcept {
    static_cast<const mutex*>(object)->look(f);
});
constexpr waits_in_list for_itself("a shared mutex, for itself");
constexpr waits_in_list with_others("a shared mutex, with others");
constexpr waits_in_list for_permit("a semaphore");
constexpr waits_in_list for_condition("a condition variable");

} // namespace

bool mutex_resumption::wait_for(mutex& m) {
    PILFER_TEST_ORDER("waits for a mutex", &m);
    begin();
    m_mutex = &m;
    if (m.m_core.enter(m_entry) == protocol::step::owned) {
        withdraw();
        return false;
    }
    waits_as(m.m_core.waiting(), m_entry);
    if (!may_be_stopped() && !has_limit()) {
        name_cycles();
    }
    if (!is_stopped_at_once(&mutex_resumption::run_called)) {
        begins_limit(&mutex_resumption::run_called);
        if (suspend()) {
            return true;
        }
    }
    leaves_table();
    ends_limit();
    stay();
    return false;
}

/// The entry is in the list, or was a moment ago. True: the coroutine is suspended. False: as wait_for().
bool mutex_resumption::suspend() noexcept {
    do {
        park(for_mutex.kind(has_limit()), m_mutex);
        if (publish()) {
            return true;
        }
        unpark();
    } while (look() == protocol::step::wait);
    return false;
}

/// After the entry was taken out or called. A called coroutine may find that another one has the mutex.
mutex_resumption::protocol::step mutex_resumption::look() noexcept {
    return m_mutex->m_core.look(m_entry, [this] { return must_end(); });
}

/// True: it is suspended again.
bool mutex_resumption::waits_again() noexcept {
    PILFER_TEST_ORDER("looks again at a mutex", m_mutex);
    return look() == protocol::step::wait && suspend();
}

/// The outstanding task that begin() has counted lasts until the coroutine runs.
suspension* mutex_resumption::run_called(spark* self, worker* /*w*/) noexcept {
    auto* r = static_cast<mutex_resumption*>(static_cast<submission*>(self));
    r->m_of_worker = true; // from now on, also if it began outside
    if (r->waits_again()) {
        return nullptr;
    }
    r->leaves_table();
    r->ends_limit();
    r->listens_no_more();
    return r->drive_on();
}

void mutex_resumption::name_cycles() noexcept {
    if (root() == nullptr || !reports_cycles()) {
        return;
    }
    named_wait& n = *new (&m_named) named_wait(coroutine_owner(root()), m_mutex->m_owner, m_mutex);
    n.pool = &pool();
    n.coroutine = frame();
    m_is_named = true;
    begins_to_wait(n);
}

void mutex_resumption::leaves_table() noexcept {
    if (m_is_named) {
        waits_no_more(m_named);
        m_is_named = false;
    }
}

bool mutex_resumption::lock_again(mutex& m) noexcept {
    PILFER_TEST_ORDER("waits for a mutex", &m);
    run = &mutex_resumption::run_called;
    m_mutex = &m;
    if (m.m_core.enter(m_entry) == protocol::step::owned) {
        return false;
    }
    waits_as(m.m_core.waiting(), m_entry);
    name_cycles();
    if (suspend()) {
        return true;
    }
    leaves_table();
    return false;
}

// ---- shared mutexes and semaphores ------------------------------------------------------------

bool shared_mutex_resumption::wait_for(shared_mutex& m, bool shared) {
    PILFER_TEST_ORDER("waits for a shared mutex", &m);
    if (is_over_before()) { // not in the list meanwhile: newcomers would queue after it
        leave_if_stopped();
        begin();
        gives_way();
        return true;
    }
    begin();
    park((shared ? with_others : for_itself).kind(has_limit()), &m);
    m.m_waiting.lock();
    const bool free = !m.m_writer && (shared ? m.m_waiting.empty() : m.m_readers == 0);
    if (!free) {
        m_entry.wants = shared ? shared_mutex::reads : shared_mutex::writes;
        m.m_waiting.add(m_entry);
    } else if (shared) {
        ++m.m_readers;
    } else {
        m.m_writer = true;
    }
    m.m_waiting.unlock();
    if (!free) {
        return suspend_in(m.m_waiting, m_entry);
    }
    withdraw();
    return false;
}

void shared_mutex_resumption::leaves_queue(shared_mutex& m) const noexcept { m.leaves_queue(m_entry.wants); }

void shared_mutex_resumption::leave_if_taken_out(shared_mutex& m) const {
    if (m_taken_out) {
        leaves_queue(m);
        throw stopped();
    }
}

bool semaphore_resumption::wait_for(semaphore_core& s) {
    PILFER_TEST_ORDER("waits for a semaphore", &s);
    begin();
    park(for_permit.kind(has_limit()), &s);
    s.m_waiting.lock();
    const bool has = s.m_count > 0;
    if (has) {
        --s.m_count;
    } else {
        s.m_waiting.add(m_entry);
    }
    s.m_waiting.unlock();
    if (!has) {
        return suspend_in(s.m_waiting, m_entry);
    }
    withdraw();
    return false;
}

// ---- conditions -------------------------------------------------------------------------------

bool condition_resumption::wait_for(condition_variable& c, mutex& m, coroutine_root* of) {
    PILFER_TEST_ORDER("waits for a condition variable", &c);
    check_held(); // begin() throws only for a coroutine of another library from here on
    if (of == nullptr) {
        begin();
    }
    m_again = &m;
    c.enter(m_place); // a notification under the lock finds it
    coroutine_locks::release(m, of);
    coroutine_locks::gives(of);
    if (of != nullptr) {
        begin(); // without the lock, which would keep a cancellation off
    }
    waits_as(c.m_waiting, m_place);
    if (!is_stopped_at_once(&condition_resumption::run_notified)) {
        run = &condition_resumption::run_notified;
        park(for_condition.kind(has_limit()), &c);
        begins_limit(&condition_resumption::run_notified);
        if (publish()) {
            return true;
        }
        unpark();
    }
    ends_limit();
    listens_no_more();
    if (lock_again(m)) {
        return true;
    }
    withdraw();
    return false;
}

/// Notified or taken out. In both cases the coroutine needs the mutex.
suspension* condition_resumption::run_notified(spark* self, worker* /*w*/) noexcept {
    auto* r = static_cast<condition_resumption*>(static_cast<submission*>(self));
    r->m_of_worker = true;
    r->ends_limit();
    r->listens_no_more();
    return r->lock_again(*r->m_again) ? nullptr : r->drive_on();
}

} // namespace detail
} // namespace v0
} // namespace pilfer
