// Threads that wait for a word in memory, and the monitors of concurrent_bounded_queue.
#include "scheduler.hpp"

#include <array>
#include <new>

namespace tbb::detail::r1 {

namespace {

struct waiter {
    waiter(std::uintptr_t k, std::uintptr_t s) : key(k), selector(s) {}
    const std::uintptr_t key;
    const std::uintptr_t selector;
    nap rest;
    waiter* previous = nullptr;
    waiter* next = nullptr;
    bool listed = true;
};

class alignas(128) waiting_list {
public:
    /// Sleeps until wake() selects this thread, or returns at once if `done()` is true after it was entered.
    /// Passes on what `done` throws.
    template <class Done>
    void wait(std::uintptr_t key, std::uintptr_t selector, Done done) {
        while (!done()) {
            waiter w(key, selector);
            {
                const guard held(m_lock);
                m_waiters.push_back(w);
                m_count.fetch_add(1, std::memory_order_seq_cst);
            }
            // Dekker with wake(): it sees the count, or its caller's change is seen here.
            std::atomic_thread_fence(std::memory_order_seq_cst);
            bool over = false;
            try {
                over = done();
            } catch (...) {
                leave(w);
                throw;
            }
            if (!over) {
                sleep(w.rest);
            }
            leave(w);
        }
    }

    template <class Selected>
    void wake(Selected selected, bool one) noexcept {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (m_count.load(std::memory_order_seq_cst) == 0) {
            return;
        }
        const guard held(m_lock);
        for (waiter* w = m_waiters.first(); w != nullptr;) {
            waiter* const after = w->next;
            if (selected(*w)) {
                m_waiters.remove(*w);
                m_count.fetch_sub(1, std::memory_order_relaxed);
                w->listed = false;
                w->rest.wake();
                if (one) {
                    return;
                }
            }
            w = after;
        }
    }

    void forget_threads() noexcept {
        (void)m_lock.open_for_good();
        m_waiters = {};
        m_count.store(0, std::memory_order_relaxed);
    }

private:
    /// May end without a wake-up.
    static void sleep(nap& n) noexcept {
        thread_data* const t = thread_data::if_there();
        if (t != nullptr && t->place != nullptr && t->waits_without_slot()) {
            t->step_out_until(n);
        } else {
            t != nullptr && t->waits_as_thread() ? suspended::block_until_any(n) : n.sleep();
        }
    }

    void leave(waiter& w) noexcept {
        const guard held(m_lock); // also after a wake-up: the waker uses the object until it unlocks
        if (w.listed) {
            m_waiters.remove(w);
            m_count.fetch_sub(1, std::memory_order_relaxed);
        }
    }

    short_lock m_lock;
    chain<waiter> m_waiters;
    std::atomic<int> m_count{0};
};

constexpr std::size_t lists = 256;
std::array<waiting_list, lists> waiting;

waiting_list& list_of(const void* address) noexcept {
    const auto a = reinterpret_cast<std::uintptr_t>(address);
    return waiting[((a >> 4) ^ (a >> 12)) % lists];
}

} // namespace

void forget_waiters() noexcept {
    for (waiting_list& l : waiting) {
        l.forget_threads();
    }
}

void wait_on_address(void* address, d1::delegate_base& woken, std::uintptr_t context) {
    list_of(address).wait(reinterpret_cast<std::uintptr_t>(address), context, [&] { return woken(); });
}

void notify_by_address(void* address, std::uintptr_t context) {
    const auto key = reinterpret_cast<std::uintptr_t>(address);
    list_of(address).wake([=](const waiter& w) { return w.key == key && w.selector == context; }, false);
}

void notify_by_address_one(void* address) {
    const auto key = reinterpret_cast<std::uintptr_t>(address);
    list_of(address).wake([=](const waiter& w) { return w.key == key; }, true);
}

void notify_by_address_all(void* address) {
    const auto key = reinterpret_cast<std::uintptr_t>(address);
    list_of(address).wake([=](const waiter& w) { return w.key == key; }, false);
}

// --- concurrent_bounded_queue ------------------------------------------------------------------------------

/// Of a queue: one for threads that wait for room, one for those that wait for items.
class concurrent_monitor {
public:
    waiting_list waiters;
};

namespace {
constexpr std::size_t monitors_of_queue = 2;

concurrent_monitor* monitors_behind(std::uint8_t* rep, std::size_t bytes) noexcept {
    return reinterpret_cast<concurrent_monitor*>(rep + bytes);
}
} // namespace

std::uint8_t* allocate_bounded_queue_rep(std::size_t bytes) {
    // The header takes what follows the representation for the monitors.
    auto* rep = static_cast<std::uint8_t*>(
        cache_aligned_allocate(bytes + monitors_of_queue * sizeof(concurrent_monitor)));
    for (std::size_t i = 0; i < monitors_of_queue; ++i) {
        new (monitors_behind(rep, bytes) + i) concurrent_monitor;
    }
    return rep;
}

void deallocate_bounded_queue_rep(std::uint8_t* rep, std::size_t bytes) {
    for (std::size_t i = 0; i < monitors_of_queue; ++i) {
        (monitors_behind(rep, bytes) + i)->~concurrent_monitor();
    }
    cache_aligned_deallocate(rep);
}

void wait_bounded_queue_monitor(concurrent_monitor* monitors, std::size_t tag, std::ptrdiff_t target,
                                d1::delegate_base& must_wait) {
    monitors[tag].waiters.wait(0, static_cast<std::uintptr_t>(target), [&] { return !must_wait(); });
}

void notify_bounded_queue_monitor(concurrent_monitor* monitors, std::size_t tag, std::size_t ticket) {
    const auto reached = static_cast<std::ptrdiff_t>(ticket);
    monitors[tag].waiters.wake(
        [=](const waiter& w) { return static_cast<std::ptrdiff_t>(w.selector) <= reached; }, false);
}

void abort_bounded_queue_monitors(concurrent_monitor* monitors) {
    // The counter that the queue has raised before makes each waiter's condition throw.
    for (std::size_t i = 0; i < monitors_of_queue; ++i) {
        monitors[i].waiters.wake([](const waiter&) { return true; }, false);
    }
}

} // namespace tbb::detail::r1
