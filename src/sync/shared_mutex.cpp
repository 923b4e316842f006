#include <pilfer/shared_mutex.hpp>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/cancel/holding.hpp>
#include <pilfer/detail/cancel/points.hpp>

#include "sync/kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace {

void look_at(const detail::suspension& s, detail::wait_facts& f) noexcept {
    static_cast<const shared_mutex*>(s.object)->look(f);
}

constexpr detail::wait_kind write_kind{"a shared mutex, for itself", &look_at};
constexpr detail::wait_kind read_kind{"a shared mutex, with others", &look_at};

/// The name of a shared lock among those that a task holds.
[[nodiscard]] [[maybe_unused]] const void* as_reader(const shared_mutex* m) noexcept {
    return reinterpret_cast<const char*>(m) + 1;
}

} // namespace

shared_mutex::~shared_mutex() {
    detail::ensure([this] { return !m_writer && m_readers == 0; }, "a shared mutex ends that is held");
    detail::ensure([this] { return m_waiting.empty(); }, "a shared mutex ends that somebody waits for");
}

void shared_mutex::unlock() noexcept {
    release();
    detail::gives_lock(detail::running_task(), this); // last: see mutex::unlock()
}

void shared_mutex::unlock_shared() noexcept {
    release_shared();
    detail::gives_lock(detail::running_task(), nullptr);
}

void shared_mutex::adopt() noexcept {
    detail::activation* const task = detail::running_task();
    m_owner.store(task, detail::rlx);
    detail::takes_lock(task, this);
    detail::race::locks(this);
}

void shared_mutex::adopt_shared() noexcept {
    detail::takes_lock(detail::running_task(), nullptr);
    detail::race::locks(as_reader(this));
}

void shared_mutex::release() noexcept {
    PILFER_TEST_POINT("unlocks a shared mutex", this);
    detail::race::unlocks(this);
    m_waiting.lock();
    detail::ensure([this] { return m_writer; }, "a shared mutex is unlocked that nobody holds for itself");
    m_writer = false;
    m_owner.store(nullptr, detail::rlx); // before a waiter has it
    entry* const chain = grant();
    m_waiting.unlock();
    detail::go_on_all(chain);
}

void shared_mutex::release_shared() noexcept {
    PILFER_TEST_POINT("unlocks a shared mutex that others share", this);
    detail::race::unlocks(as_reader(this));
    m_waiting.lock();
    detail::ensure([this] { return m_readers > 0; }, "a shared mutex is unlocked that nobody shares");
    --m_readers;
    entry* const chain = grant();
    m_waiting.unlock();
    detail::go_on_all(chain);
}

/// Under the lock: gives it to the first waiters of the queue that can have it, and returns them as a chain.
shared_mutex::entry* shared_mutex::grant() noexcept {
    entry* chain = nullptr;
    entry** end = &chain;
    for (entry* first = m_waiting.first(); first != nullptr && !m_writer; first = m_waiting.first()) {
        if (first->wants == reads) {
            ++m_readers;
        } else if (m_readers == 0) {
            m_writer = true;
        } else {
            break;
        }
        m_waiting.take(*first);
        *end = first;
        end = &first->next;
    }
    return chain;
}

/// A task that shares the mutex holds a lock, too.
bool shared_mutex::lock_within(detail::instant until) noexcept {
    PILFER_TEST_POINT("locks a shared mutex for itself", this);
    const bool owned = try_lock_within(until);
    if (owned) {
        adopt();
    }
    return owned;
}

void shared_mutex::look(detail::wait_facts& f) const noexcept {
    f.holder = m_owner.load(detail::rlx);
    f.state = f.holder != nullptr ? "held alone" : nullptr;
}

void shared_mutex::look_at_copy(detail::wait_facts& f) const noexcept {
    look(f);
    f.state = m_readers > 0 ? "shared" : m_writer ? "held alone" : nullptr;
}

bool shared_mutex::share_within(detail::instant until) noexcept {
    PILFER_TEST_POINT("locks a shared mutex with others", this);
    const bool shares = try_share_within(until);
    if (shares) {
        adopt_shared();
    }
    return shares;
}

void shared_mutex::lock_cancellable() {
    PILFER_TEST_POINT("locks a shared mutex for itself", this);
    while (!try_lock_within(detail::never, detail::leaves::when_stopped)) {
        detail::leave_if_stopped();
    }
    adopt();
}

void shared_mutex::lock_shared_cancellable() {
    PILFER_TEST_POINT("locks a shared mutex with others", this);
    while (!try_share_within(detail::never, detail::leaves::when_stopped)) {
        detail::leave_if_stopped();
    }
    adopt_shared();
}

bool shared_mutex::try_lock_within(detail::instant until, detail::leaves when) noexcept {
    m_waiting.lock();
    if (!m_writer && m_readers == 0) { // then no entry waits
        m_writer = true;
        m_waiting.unlock();
        return true;
    }
    return enter_and_wait(writes, until, when);
}

bool shared_mutex::try_share_within(detail::instant until, detail::leaves when) noexcept {
    m_waiting.lock();
    if (!m_writer && m_waiting.empty()) {
        ++m_readers;
        m_waiting.unlock();
        return true;
    }
    return enter_and_wait(reads, until, when);
}

/// Called with the list's lock, which is free on return.
bool shared_mutex::enter_and_wait(std::uintptr_t as, detail::instant until, detail::leaves when) noexcept {
    if (until == 0) {
        m_waiting.unlock();
        return false;
    }
    if (until != detail::never && until <= detail::now()) {
        // Not in the list meanwhile: newcomers would queue after it.
        m_waiting.unlock();
        detail::give_way(detail::awaited::a_holder);
        return as == writes ? try_lock_within(0) : try_share_within(0);
    }
    entry self;
    self.wants = as;
    m_waiting.add(self);
    m_waiting.unlock();
    detail::wait_in(m_waiting, self, until, as == reads ? read_kind : write_kind, this,
                    detail::awaited::a_holder, when);
    if (self.end == detail::waiters::fate::notified) {
        return true;
    }
    leaves_queue(as);
    return false;
}

/// After a waiter has given up: readers after a writer may have waited only for it.
void shared_mutex::leaves_queue(std::uintptr_t as) noexcept {
    if (as == writes) {
        m_waiting.lock();
        entry* const chain = grant();
        m_waiting.unlock();
        detail::go_on_all(chain);
    }
}

} // namespace v0
} // namespace pilfer
