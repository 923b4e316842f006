// The tasks that one slot of an arena has spawned.
//
// The owner pushes and pops at the tail. Thieves take from the head, under a lock, which the owner takes only
// after a conflict. This is the THE protocol of Frigo, Leiserson and Randall, "The implementation of the
// Cilk-5 multithreaded language" (1998). Each entry carries the isolation of its task, and a search for one
// isolation may take a task from the middle. Such an entry becomes a hole.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lock.hpp"

namespace tbb::detail::r1 {

class slot_deque {
public:
    slot_deque() = default;
    slot_deque(const slot_deque&) = delete;
    slot_deque& operator=(const slot_deque&) = delete;
    ~slot_deque() { delete m_ring.load(std::memory_order_relaxed); }

    /// By the owner. Throws std::bad_alloc, and then the deque is as before.
    void push(d1::task& t, std::intptr_t isolation) {
        const std::int64_t tail = m_tail.load(std::memory_order_relaxed);
        ring* r = m_ring.load(std::memory_order_relaxed);
        if (tail - m_known_head >= m_room) {
            r = make_room(tail);
        }
        entry& e = r->at(tail);
        e.isolation.store(isolation, std::memory_order_relaxed);
        e.task.store(&t, std::memory_order_relaxed);
        m_fruitless = 0;
        m_first_own = std::min(m_first_own, tail);
        m_tail.store(tail + 1, std::memory_order_release); // to steal()'s load of m_tail
    }

    /// By the owner: the newest task, or null. With an isolation other than 0 the newest one that has it.
    /// Unless `exact`, a thief that only looks may hide a task for a moment.
    d1::task* pop(std::intptr_t isolation, bool exact) {
        if (isolation != 0 && isolation == m_fruitless) {
            return nullptr;
        }
        if (exact) {
            return search(isolation);
        }
        for (;;) {
            const std::int64_t tail = m_tail.load(std::memory_order_relaxed);
            if (m_head.load(std::memory_order_relaxed) >= tail) {
                return nullptr;
            }
            // A task that stays is not hidden from thieves: they might sleep.
            if (isolation != 0 && m_ring.load(std::memory_order_relaxed)
                                          ->at(tail - 1)
                                          .isolation.load(std::memory_order_relaxed) != isolation) {
                return search(isolation);
            }
            // Dekker with steal(): at least one of the two sees the other's store.
            m_tail.store(tail - 1, std::memory_order_seq_cst);
            if (m_head.load(std::memory_order_seq_cst) <= tail - 1) {
                const ring* r = m_ring.load(std::memory_order_relaxed);
                if (d1::task* t = r->at(tail - 1).task.load(std::memory_order_relaxed)) {
                    return t;
                }
                continue; // a hole
            }
            // A thief claims this entry, or has taken it. Under its lock that is decided.
            m_tail.store(tail, std::memory_order_seq_cst);
            const guard held(m_lock);
            if (m_head.load(std::memory_order_relaxed) >= tail) {
                return nullptr;
            }
        }
    }

    /// By a thread that becomes the owner: the tasks that are here are those of others.
    void begin_own() noexcept { m_first_own = m_tail.load(std::memory_order_relaxed); }
    /// By the owner, before it leaves and when it is back: the tasks from here on are its own.
    [[nodiscard]] std::int64_t first_own() const noexcept { return m_first_own; }
    void own_from(std::int64_t first) noexcept { m_first_own = first; }
    /// By the owner: true if the newest task is its own.
    [[nodiscard]] bool has_own() const noexcept {
        return m_tail.load(std::memory_order_relaxed) > m_first_own;
    }

    /// The answer of a thief about a task.
    enum class choice { leave, take_if_no_other, take };

    /// By any thread: the oldest task that `choose` takes, else the oldest one that it takes for lack of
    /// others, or null. With an isolation other than 0 only tasks that have it. `exact`: as for pop().
    template <class Choose>
    d1::task* steal(std::intptr_t isolation, bool exact, Choose choose) {
        if (!exact && m_head.load(std::memory_order_relaxed) >= m_tail.load(std::memory_order_relaxed)) {
            return nullptr;
        }
        const guard held(m_lock);
        const ring* const r = m_ring.load(std::memory_order_relaxed);
        std::int64_t head = m_head.load(std::memory_order_relaxed);
        std::int64_t chosen = -1;
        std::int64_t claimed = head;
        for (;; ++claimed) {
            // Dekker with pop(). The tasks before this one stay claimed.
            m_head.store(claimed + 1, std::memory_order_seq_cst);
            if (claimed + 1 > m_tail.load(std::memory_order_seq_cst)) {
                break;
            }
            const entry& e = r->at(claimed);
            const d1::task* const t = e.task.load(std::memory_order_relaxed);
            if (t == nullptr) {
                head += claimed == head ? 1 : 0; // a hole at the end
                continue;
            }
            const bool is_allowed =
                isolation == 0 || e.isolation.load(std::memory_order_relaxed) == isolation;
            const choice c = is_allowed ? choose(*t) : choice::leave;
            if (c == choice::take || (c == choice::take_if_no_other && chosen < 0)) {
                chosen = claimed;
            }
            if (c == choice::take) {
                break;
            }
        }
        d1::task* const t = chosen < 0 ? nullptr : r->at(chosen).task.load(std::memory_order_relaxed);
        if (chosen == head) {
            ++head;
        } else if (t != nullptr) {
            r->at(chosen).task.store(nullptr, std::memory_order_relaxed);
        }
        if (head != claimed + 1) {
            m_head.store(head, std::memory_order_seq_cst);
        }
        return t;
    }

    /// True if tasks are there, by any thread. Exact, unless the owner works on the deque meanwhile.
    [[nodiscard]] bool has_tasks() {
        const guard held(m_lock);
        const ring* r = m_ring.load(std::memory_order_relaxed);
        const std::int64_t tail = m_tail.load(std::memory_order_acquire);
        for (std::int64_t i = m_head.load(std::memory_order_relaxed); i < tail; ++i) {
            if (r->at(i).task.load(std::memory_order_relaxed) != nullptr) {
                return true;
            }
        }
        return false;
    }

    /// In the child of fork(): a thief that is gone may have held the lock, and shown an end that was not so.
    void forget_threads() noexcept {
        (void)m_lock.open_for_good();
        const std::int64_t tail = m_tail.load(std::memory_order_relaxed);
        if (m_head.load(std::memory_order_relaxed) > tail) {
            m_head.store(tail, std::memory_order_relaxed);
        }
    }

private:
    struct entry {
        std::atomic<d1::task*> task{nullptr};
        std::atomic<std::intptr_t> isolation{0};
    };
    struct ring {
        explicit ring(std::int64_t n) : size(n), entries(new entry[static_cast<std::size_t>(n)]) {}
        [[nodiscard]] entry& at(std::int64_t i) const noexcept {
            return entries[static_cast<std::size_t>(i & (size - 1))];
        }
        const std::int64_t size; // a power of two
        const std::unique_ptr<entry[]> entries;
    };

    // Outside of the lock m_head may be ahead for a moment, so the owner counts from what it saw inside.
    ring* make_room(std::int64_t tail) {
        const guard held(m_lock);
        m_known_head = m_head.load(std::memory_order_relaxed);
        ring* const old = m_ring.load(std::memory_order_relaxed);
        if (tail - m_known_head < m_room) {
            return old;
        }
        auto larger = std::make_unique<ring>(old == nullptr ? 64 : 2 * old->size);
        for (std::int64_t i = m_head.load(std::memory_order_relaxed); i < tail; ++i) {
            larger->at(i).task.store(old->at(i).task.load(std::memory_order_relaxed),
                                     std::memory_order_relaxed);
            larger->at(i).isolation.store(old->at(i).isolation.load(std::memory_order_relaxed),
                                          std::memory_order_relaxed);
        }
        m_ring.store(larger.get(), std::memory_order_relaxed); // thieves read it under the lock
        m_room = larger->size;
        delete old;
        return larger.release();
    }

    d1::task* search(std::intptr_t isolation) {
        const guard held(m_lock);
        const std::int64_t head = m_head.load(std::memory_order_relaxed);
        const ring* r = m_ring.load(std::memory_order_relaxed);
        for (std::int64_t i = m_tail.load(std::memory_order_relaxed) - 1; i >= head; --i) {
            entry& e = r->at(i);
            d1::task* t = e.task.load(std::memory_order_relaxed);
            if (t != nullptr &&
                (isolation == 0 || e.isolation.load(std::memory_order_relaxed) == isolation)) {
                e.task.store(nullptr, std::memory_order_relaxed);
                return t;
            }
        }
        m_fruitless = isolation; // only the owner adds
        return nullptr;
    }

    alignas(64) std::atomic<std::int64_t> m_head{0};
    short_lock m_lock;
    alignas(64) std::atomic<std::int64_t> m_tail{0};
    std::atomic<ring*> m_ring{nullptr};
    std::int64_t m_known_head = 0;
    std::int64_t m_room = 0;
    std::int64_t m_first_own = 0;
    std::intptr_t m_fruitless = 0; // the isolation that the last search did not find, since the last push
};

} // namespace tbb::detail::r1
