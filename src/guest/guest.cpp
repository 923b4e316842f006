// Threads outside that run tasks of a pool while they wait: attach(), run_until(). Protocol:
// src/pool/README.md, "Guests".
#include "guest/guest.hpp"

#include <bit>
#include <exception>
#include <memory>

#include <pilfer/attachment.hpp>
#include <pilfer/error.hpp>
#include <pilfer/pool.hpp>

#include "backend/helping.hpp"
#include "backend/make.hpp"
#include "base/write.hpp"
#include "context/overflow.hpp"
#include "guest/guest_slots.hpp"
#include "platform/os.hpp"
#include "pool/pool_core.hpp"
#include "wait/host.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

struct attached_thread final : host {
    explicit attached_thread(pool_core& p) : pool(p) {}
    void work_until_released(foreign_waiter& waiter) noexcept override;
    pool_core& pool;
    overflow::thread_stack alternate;
};

namespace {

/// True while a guest runs tasks or its condition. Between two tasks it may call user code. If that code
/// waits, it blocks.
thread_local bool visiting = false;

struct latch_guest : guest {
    foreign_waiter* latch;
};

} // namespace

PILFER_NOINLINE void attached_thread::work_until_released(foreign_waiter& waiter) noexcept {
    if (visiting || waiter.is_released()) {
        return;
    }
    latch_guest v;
    v.over = [](guest& self) noexcept { return static_cast<latch_guest&>(self).latch->is_released(); };
    v.stirred = v.over;
    v.word = &waiter.word();
    v.latch = &waiter;
    (void)pool.guests->admit(v); // if no slot is free, it blocks as if it were not attached
}

guest_slots::guest_slots(pool_core& p) : m_pool(p) {
    if (p.settings().attachable != 0) {
        p.add(*this);
    }
    for (unsigned i = p.first_spare(); i < p.size(); ++i) {
        m_slots.push_back(std::make_unique<guest_slot>(p));
    }
}

void guest_slots::threads_are_made() noexcept {
    const auto n = static_cast<unsigned>(m_slots.size());
    for (unsigned i = 0; i < n; ++i) {
        m_slots[i]->open(m_pool.at(m_pool.first_spare() + i));
    }
    m_free.store(n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1, rel);
}

void guest_slots::pool_stops() noexcept {
    if (are_lacking()) {
        notify();
    }
}

bool guest_slots::are_lacking() const noexcept {
    return places_of(m_pool.settings()).seats < m_pool.settings().attachable;
}

bool guest_slots::admit(guest& v) noexcept {
    if (m_pool.is_forked_child()) {
        return false; // the queued tasks belong to the parent process
    }
    std::uint64_t free = m_free.load(rlx);
    unsigned slot = 0;
    do {
        if (free == 0) {
            return false;
        }
        slot = static_cast<unsigned>(std::countr_zero(free));
    } while (!m_free.compare_exchange_weak(free, free & ~(std::uint64_t{1} << slot), acq, rlx)); // pool.V1
    const team::pin_guard here(m_pool); // a shutdown waits until it has left
    std_atom::fence_sc();               // said before the look whether there is one
    visiting = true;
    m_slots[slot]->work_until(v);
    visiting = false;
    m_free.fetch_or(std::uint64_t{1} << slot, rel); // pool.V1
    return true;
}

void guest_slots::notify() noexcept {
    const team::pin_guard here(m_pool);
    m_notices.fetch_add(1, rel); // pool.V3: after the changes that a condition depends on
    std_atom::fence_sc();        // idle.S2: before the sleepers are read
    for (unsigned i = m_pool.first_spare(); i < m_pool.size(); ++i) {
        (void)m_pool.idle().wake(i, i);
    }
    if (are_lacking()) {
        os::futex_wake(&m_notices, UINT32_MAX);
    }
}

bool guest_slots::ask_when_notified(bool (*ask)(void*), void* self) noexcept {
    const team::pin_guard here(m_pool); // a shutdown waits until it has left
    std_atom::fence_sc();               // said before the look whether there is one
    const helping asks(m_pool);
    for (;;) {
        const std::uint32_t seen = m_notices.load(acq); // pool.V3
        visiting = true;
        const bool holds = ask(self);
        visiting = false;
        if (holds) {
            return true;
        }
        if (m_pool.is_forked_child() || m_pool.stopping()) {
            return false;
        }
        os::futex_wait(m_notices, seen); // returns at once if notify() was called since: the kernel compares
    }
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
    if (p.guests->are_lacking()) {
        if (!p.guests->ask_when_notified(ask, self)) {
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
        occupant* const here = scheduler::of(this_worker()).guest;
        asks.done = static_cast<guest_slot*>(here)->ask_outside(asks.ask, asks.self);
        return asks.done;
    };
    v.stirred = [](guest& base) noexcept {
        auto& asks = static_cast<asking_guest&>(base);
        return asks.notices->load(acq) != asks.seen; // pool.V3
    };
    v.notices = &p.guests->notices();
    const overflow::thread_stack alternate;
    if (!p.guests->admit(v)) {
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
    if (detail::host::here() != nullptr) {
        throw usage_error("pilfer: this thread is attached already");
    }
    if (m_core->settings().attachable == 0) {
        throw usage_error("pilfer: attach() needs options.attachable");
    }
    auto made = std::make_unique<detail::attached_thread>(*m_core);
    detail::host::set_here(made.get());
    return attachment(made.release());
}

attachment::~attachment() {
    if (m_thread == nullptr) {
        return;
    }
    if (m_thread != detail::host::here()) {
        os::write_error("pilfer: an attachment ended on another thread than it began\n");
        std::terminate();
    }
    detail::host::set_here(nullptr);
    delete m_thread;
}

void pool::notify() noexcept { m_core->guests->notify(); }

} // namespace v0
} // namespace pilfer
