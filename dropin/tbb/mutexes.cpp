// The mutexes of TBB that are not in headers alone: the speculative ones, which never speculate here, and
// queuing_rw_mutex.
#include "scheduler.hpp"

namespace tbb::detail::r1 {

// --- speculative mutexes -----------------------------------------------------------------------------------
// Transactional memory is switched off on most processors, and so the real lock is taken each time.

struct rtm_mutex_impl {
    using state = d1::rtm_mutex::rtm_state;
    static void hold(d1::rtm_mutex& m, d1::rtm_mutex::scoped_lock& s) noexcept {
        s.m_mutex = &m;
        s.m_transaction_state = state::rtm_real;
    }
    static void acquire(d1::rtm_mutex& m, d1::rtm_mutex::scoped_lock& s) {
        m.lock();
        hold(m, s);
    }
    static bool try_acquire(d1::rtm_mutex& m, d1::rtm_mutex::scoped_lock& s) {
        if (!m.try_lock()) {
            return false;
        }
        hold(m, s);
        return true;
    }
    static void release(d1::rtm_mutex::scoped_lock& s) {
        d1::rtm_mutex& m = *s.m_mutex;
        s.m_mutex = nullptr;
        s.m_transaction_state = state::rtm_none;
        m.unlock();
    }
};

void acquire(d1::rtm_mutex& m, d1::rtm_mutex::scoped_lock& s, bool only_speculate) {
    if (!only_speculate) {
        rtm_mutex_impl::acquire(m, s);
    }
}
bool try_acquire(d1::rtm_mutex& m, d1::rtm_mutex::scoped_lock& s) {
    return rtm_mutex_impl::try_acquire(m, s);
}
void release(d1::rtm_mutex::scoped_lock& s) { rtm_mutex_impl::release(s); }

struct rtm_rw_mutex_impl {
    using type = d1::rtm_rw_mutex::rtm_type;
    static void hold(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& s, bool write) noexcept {
        s.m_mutex = &m;
        s.m_transaction_state = write ? type::rtm_real_writer : type::rtm_real_reader;
    }
    static void acquire(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& s, bool write) {
        if (write) {
            m.lock();
        } else {
            m.lock_shared();
        }
        hold(m, s, write);
    }
    static bool try_acquire(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& s, bool write) {
        if (!(write ? m.try_lock() : m.try_lock_shared())) {
            return false;
        }
        hold(m, s, write);
        return true;
    }
    static void release(d1::rtm_rw_mutex::scoped_lock& s) {
        d1::rtm_rw_mutex& m = *s.m_mutex;
        const bool write = s.m_transaction_state == type::rtm_real_writer;
        s.m_mutex = nullptr;
        s.m_transaction_state = type::rtm_not_in_mutex;
        if (write) {
            m.unlock();
        } else {
            m.unlock_shared();
        }
    }
    static bool upgrade(d1::rtm_rw_mutex::scoped_lock& s) {
        const bool kept = s.m_mutex->upgrade();
        s.m_transaction_state = type::rtm_real_writer;
        return kept;
    }
    static bool downgrade(d1::rtm_rw_mutex::scoped_lock& s) {
        s.m_mutex->downgrade();
        s.m_transaction_state = type::rtm_real_reader;
        return true;
    }
};

void acquire_writer(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& s, bool only_speculate) {
    if (!only_speculate) {
        rtm_rw_mutex_impl::acquire(m, s, true);
    }
}
void acquire_reader(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& s, bool only_speculate) {
    if (!only_speculate) {
        rtm_rw_mutex_impl::acquire(m, s, false);
    }
}
bool try_acquire_writer(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& s) {
    return rtm_rw_mutex_impl::try_acquire(m, s, true);
}
bool try_acquire_reader(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& s) {
    return rtm_rw_mutex_impl::try_acquire(m, s, false);
}
void release(d1::rtm_rw_mutex::scoped_lock& s) { rtm_rw_mutex_impl::release(s); }
bool upgrade(d1::rtm_rw_mutex::scoped_lock& s) { return rtm_rw_mutex_impl::upgrade(s); }
bool downgrade(d1::rtm_rw_mutex::scoped_lock& s) { return rtm_rw_mutex_impl::downgrade(s); }

// --- queuing_rw_mutex --------------------------------------------------------------------------------------

/// A queue of scoped_locks in the order of arrival. The word of the mutex points to the last one, and its
/// lowest bit is a lock of the queue, which is held for a few instructions. Those that hold the mutex are at
/// the front: one writer, or readers. If a reader waits to become a writer, it is the last of these.
struct queuing_rw_mutex_impl {
    using mutex = d1::queuing_rw_mutex;
    using node = mutex::scoped_lock;
    enum state : unsigned char { waiting_reader, waiting_writer, reader, writer, upgrading };

    class queue {
    public:
        explicit queue(mutex& m) noexcept : m_mutex(m) {
            for (unsigned round = 0;; ++round) {
                node* last = m.q_tail.load(std::memory_order_relaxed);
                if ((as_word(last) & 1) == 0 &&
                    m.q_tail.compare_exchange_strong(last, reinterpret_cast<node*>(as_word(last) | 1),
                                                     std::memory_order_acquire)) {
                    m_last = last;
                    return;
                }
                pilfer::detail::backoff(round);
            }
        }
        queue(const queue&) = delete;
        queue& operator=(const queue&) = delete;
        ~queue() { m_mutex.q_tail.store(m_last, std::memory_order_release); }

        [[nodiscard]] node* last() const noexcept { return m_last; }
        void append(node& n) noexcept { insert_after(m_last, n); }
        void insert_after(node* p, node& n) noexcept {
            node* const after = p != nullptr ? next(*p) : nullptr;
            link(p, &n);
            link(&n, after);
            if (after == nullptr) {
                m_last = &n;
            }
        }
        void remove(node& n) noexcept {
            node* const p = previous(n);
            node* const after = next(n);
            if (after == nullptr) {
                m_last = p;
            }
            link(p, after);
        }

    private:
        static std::uintptr_t as_word(node* n) noexcept { return reinterpret_cast<std::uintptr_t>(n); }
        static void link(node* a, node* b) noexcept {
            if (a != nullptr) {
                a->my_next.store(as_word(b), std::memory_order_relaxed);
            }
            if (b != nullptr) {
                b->my_prev.store(as_word(a), std::memory_order_relaxed);
            }
        }
        mutex& m_mutex;
        node* m_last = nullptr;
    };

    static node* previous(const node& n) noexcept {
        return reinterpret_cast<node*>(n.my_prev.load(std::memory_order_relaxed));
    }
    static node* next(const node& n) noexcept {
        return reinterpret_cast<node*>(n.my_next.load(std::memory_order_relaxed));
    }
    static unsigned char state_of(const node& n) noexcept {
        return n.my_state.load(std::memory_order_relaxed);
    }

    /// The waiter may go on, and destroy its object, from the store of my_going.
    static void grant(node& n, state s) noexcept {
        n.my_state.store(s, std::memory_order_relaxed);
        n.my_going.store(1, std::memory_order_release);
    }
    /// Lets readers in from `n` on, up to the first writer.
    static void grant_readers(node* n) noexcept {
        while (n != nullptr && state_of(*n) == waiting_reader) {
            node* const after = next(*n);
            grant(*n, reader);
            n = after;
        }
    }
    static void await(node& n) noexcept {
        for (unsigned round = 0; n.my_going.load(std::memory_order_acquire) == 0; ++round) {
            pilfer::detail::backoff(round);
        }
    }

    static bool enter(mutex& m, node& n, bool write, bool wait) {
        {
            queue q(m);
            node* const last = q.last();
            const bool at_once = last == nullptr || (!write && state_of(*last) == reader);
            if (!at_once && !wait) {
                return false;
            }
            n.my_mutex = &m;
            n.my_prev.store(0, std::memory_order_relaxed);
            n.my_next.store(0, std::memory_order_relaxed);
            n.my_going.store(at_once ? 1 : 0, std::memory_order_relaxed);
            n.my_state.store(at_once ? (write ? writer : reader) : (write ? waiting_writer : waiting_reader),
                             std::memory_order_relaxed);
            q.append(n);
            if (at_once) {
                return true;
            }
        }
        await(n);
        return true;
    }

    static void leave(node& n) {
        mutex& m = *n.my_mutex;
        n.my_mutex = nullptr;
        queue q(m);
        node* const p = previous(n);
        node* const after = next(n);
        q.remove(n);
        if (p != nullptr || after == nullptr) {
            return; // other readers hold it, or no thread waits
        }
        if (state_of(*after) == waiting_reader) {
            grant_readers(after);
        } else if (state_of(*after) != reader) {
            grant(*after, writer); // it waited for this, or to be the only one
        }
    }

    static bool upgrade(node& n) {
        mutex& m = *n.my_mutex;
        bool again = false;
        {
            queue q(m);
            if (state_of(n) == writer) {
                return true;
            }
            node* end = &n; // the last one of those that hold the mutex
            for (node* x = next(n); x != nullptr && (state_of(*x) == reader || state_of(*x) == upgrading);
                 x = next(*x)) {
                end = x;
            }
            if (state_of(*end) == upgrading) {
                again = true;
            } else if (end == &n && previous(n) == nullptr) {
                n.my_state.store(writer, std::memory_order_relaxed);
                return true;
            } else {
                if (end != &n) {
                    q.remove(n);
                    q.insert_after(end, n);
                }
                n.my_going.store(0, std::memory_order_relaxed);
                n.my_state.store(upgrading, std::memory_order_relaxed);
            }
        }
        if (again) {
            // Two readers that each wait for the other's end would wait for ever.
            leave(n);
            (void)enter(m, n, true, true);
            return false;
        }
        await(n);
        return true;
    }

    static bool downgrade(node& n) {
        queue q(*n.my_mutex);
        if (state_of(n) == writer) {
            n.my_state.store(reader, std::memory_order_relaxed);
            grant_readers(next(n));
        }
        return true;
    }
};

void acquire(d1::queuing_rw_mutex& m, d1::queuing_rw_mutex::scoped_lock& s, bool write) {
    (void)queuing_rw_mutex_impl::enter(m, s, write, true);
}
bool try_acquire(d1::queuing_rw_mutex& m, d1::queuing_rw_mutex::scoped_lock& s, bool write) {
    return queuing_rw_mutex_impl::enter(m, s, write, false);
}
void release(d1::queuing_rw_mutex::scoped_lock& s) { queuing_rw_mutex_impl::leave(s); }
bool upgrade_to_writer(d1::queuing_rw_mutex::scoped_lock& s) { return queuing_rw_mutex_impl::upgrade(s); }
bool downgrade_to_reader(d1::queuing_rw_mutex::scoped_lock& s) { return queuing_rw_mutex_impl::downgrade(s); }
bool is_writer(const d1::queuing_rw_mutex::scoped_lock& s) {
    return queuing_rw_mutex_impl::state_of(s) == queuing_rw_mutex_impl::writer;
}

/// Only names the mutex for a profiler. Older headers call it.
__attribute__((visibility("default"))) void construct(d1::queuing_rw_mutex& m);
void construct(d1::queuing_rw_mutex&) {}

} // namespace tbb::detail::r1
