// Coroutines that wait for locks. Argument: README.md.
#include <pilfer/detail/coroutine/mutex_resumption.hpp>

#include <new>

namespace pilfer {
inline namespace v0 {
namespace detail {

namespace {

constexpr parked_kind parked_for_mutex{
    "a mutex", [](const void* object, wait_facts& f) noexcept { static_cast<const mutex*>(object)->look(f); },
    true};

} // namespace

bool mutex_resumption::wait_for(mutex& m) {
    begin();
    m_mutex = &m;
    if (m.m_core.enter(m_entry) == protocol::step::owned) {
        withdraw();
        return false;
    }
    waits_as(m.m_core.waiting(), m_entry);
    if (!may_be_stopped()) {
        name_cycles();
    }
    if (!is_stopped_at_once(&mutex_resumption::run_called) && suspend()) {
        return true;
    }
    leaves_table();
    stay();
    return false;
}

/// The entry is in the list, or was a moment ago. True: the coroutine is suspended. False: as wait_for().
bool mutex_resumption::suspend() noexcept {
    do {
        park(parked_for_mutex, m_mutex);
        if (publish()) {
            return true;
        }
        unpark();
    } while (look() == protocol::step::wait);
    return false;
}

/// After the entry was taken out or called. A called coroutine may find that another one has the mutex.
mutex_resumption::protocol::step mutex_resumption::look() noexcept {
    const auto s = m_mutex->m_core.look(m_entry, [this] { return m_listens && is_stopped(); });
    if (s == protocol::step::over) {
        m_taken_out = true;
    }
    return s;
}

/// The outstanding task that begin() has counted lasts until the coroutine runs.
suspension* mutex_resumption::run_called(spark* self, worker* /*w*/) noexcept {
    auto* r = static_cast<mutex_resumption*>(static_cast<submission*>(self));
    r->m_of_worker = true; // from now on, also if it began outside
    if (r->look() == protocol::step::wait && r->suspend()) {
        return nullptr;
    }
    r->leaves_table();
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

} // namespace detail
} // namespace v0
} // namespace pilfer
