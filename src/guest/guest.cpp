// Threads outside that run tasks of a pool while they wait: attach(), run_until(). Protocol:
// src/pool/README.md, "Guests".
#include "guest/guest.hpp"

#include <bit>
#include <exception>
#include <memory>

#include <pilfer/attachment.hpp>
#include <pilfer/error.hpp>
#include <pilfer/pool.hpp>

#include "context/overflow.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

struct attached_thread {
    pool_core* pool;
    overflow::thread_stack alternate;
};

namespace {

// Used by threads outside only, whose code never moves to another thread.
thread_local attached_thread* attached = nullptr;
/// True while a guest runs tasks or its condition. Between two tasks it may call user code. If that code
/// waits, it blocks.
thread_local bool visiting = false;

struct latch_guest : guest {
    foreign_waiter* latch;
};

} // namespace

PILFER_NOINLINE void work_while_waiting(foreign_waiter& waiter) noexcept {
    if (attached == nullptr || visiting || waiter.is_released()) {
        return;
    }
    latch_guest v;
    v.over = [](guest& self) noexcept { return static_cast<latch_guest&>(self).latch->is_released(); };
    v.stirred = v.over;
    v.word = &waiter.word();
    v.latch = &waiter;
    (void)attached->pool->receive(v); // if no slot is free, it blocks as if it were not attached
}

bool pool_core::receive(guest& v) noexcept {
    if (is_forked_child()) {
        return false; // the queued tasks belong to the parent process
    }
    std::uint64_t free = m_free_slots.load(rlx);
    unsigned seat = 0;
    do {
        if (free == 0) {
            return false;
        }
        seat = static_cast<unsigned>(std::countr_zero(free));
    } while (
        !m_free_slots.compare_exchange_weak(free, free & ~(std::uint64_t{1} << seat), acq, rlx)); // pool.V1
    const pool_pin here(*this); // a shutdown waits until it has left
    std_atom::fence_sc();       // said before the look whether there is one
    visiting = true;
    at(m_first_spare + seat).guest.work_until(v);
    visiting = false;
    m_free_slots.fetch_or(std::uint64_t{1} << seat, rel); // pool.V1
    return true;
}

void pool_core::notify_guests() noexcept {
    const pool_pin here(*this);
    m_notices.fetch_add(1, rel); // pool.V3: after the changes that a condition depends on
    std_atom::fence_sc();        // idle.S2: before the sleepers are read
    for (unsigned i = m_first_spare; i < m_size; ++i) {
        (void)m_idle->wake(i, i);
    }
    if (lacks_guest_slots()) {
        os::futex_wake(&m_notices, UINT32_MAX);
    }
}

bool pool_core::ask_when_notified(bool (*ask)(void*), void* self) noexcept {
    const pool_pin here(*this); // a shutdown waits until it has left
    std_atom::fence_sc();       // said before the look whether there is one
    const blocking_threads::helping asks(*this);
    for (;;) {
        const std::uint32_t seen = m_notices.load(acq); // pool.V3
        visiting = true;
        const bool holds = ask(self);
        visiting = false;
        if (holds) {
            return true;
        }
        if (is_forked_child() || stopping()) {
            return false;
        }
        os::futex_wait(m_notices, seen); // returns at once if notify() was called since: the kernel compares
    }
}

bool pool_core::everybody_rests() noexcept {
    if (m_first_spare == m_size) {
        return m_idle->everybody_asleep();
    }
    for (unsigned i = 0; i < m_size; ++i) {
        if (at(i).guest.is_there() && !m_idle->is_left_asleep(i)) {
            return false;
        }
    }
    return true;
}

namespace {

struct asking_guest : guest {
    bool (*ask)(void*) = nullptr;
    void* self = nullptr;
    std::atomic<std::uint32_t>* notices = nullptr;
    std::uint32_t seen = 0; // `notices` before the last call of `ask`
    bool done = false;
};

} // namespace

void run_until(pool_core& p, bool (*ask)(void*), void* self) {
    p.check_here();
    if (this_worker() != nullptr || visiting) {
        throw usage_error("pilfer: run_until() was called by a task");
    }
    if (p.lacks_guest_slots()) {
        if (!p.ask_when_notified(ask, self)) {
            p.check_here(); // the condition has forked
        }
        return;
    }
    asking_guest v;
    v.word = nullptr;
    v.ask = ask;
    v.self = self;
    v.over = [](guest& base) noexcept {
        auto& asks = static_cast<asking_guest&>(base);
        asks.seen = asks.notices->load(acq); // pool.V3
        asks.done = static_cast<scheduler*>(this_worker())->guest.ask_outside(asks.ask, asks.self);
        return asks.done;
    };
    v.stirred = [](guest& base) noexcept {
        auto& asks = static_cast<asking_guest&>(base);
        return asks.notices->load(acq) != asks.seen; // pool.V3
    };
    v.notices = &p.notices();
    const overflow::thread_stack alternate;
    if (!p.receive(v)) {
        throw usage_error("pilfer: run_until() needs a free seat: see options.attachable");
    }
    if (!v.done) {
        p.check_here(); // the condition has forked
    }
}

} // namespace detail

attachment pool::attach() {
    m_core->check_here();
    if (detail::this_worker() != nullptr || detail::visiting) {
        throw usage_error("pilfer: attach() was called by a task");
    }
    if (detail::attached != nullptr) {
        throw usage_error("pilfer: this thread is attached already");
    }
    if (m_core->settings().attachable == 0) {
        throw usage_error("pilfer: attach() needs options.attachable");
    }
    detail::attached = new detail::attached_thread{m_core, {}};
    return attachment(detail::attached);
}

attachment::~attachment() {
    if (m_thread == nullptr) {
        return;
    }
    if (m_thread != detail::attached) {
        os::write_error("pilfer: an attachment ended on another thread than it began\n");
        std::terminate();
    }
    detail::attached = nullptr;
    delete m_thread;
}

void pool::notify() noexcept { m_core->notify_guests(); }

} // namespace v0
} // namespace pilfer
