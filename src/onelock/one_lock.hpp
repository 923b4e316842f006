// The one-lock back-end: all tasks and threads of a pool under one mutex, with one queue of idle threads.
//
// Nothing in here is clever: every word is read and written under the lock, but for one per thread that says
// whether it is worth looking again. The argument, and what runs how in such a pool: README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/base/raw_lock.hpp>
#include <pilfer/detail/deque/submissions.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Park` and `Spins` as for `raw_lock`.
template <class Atom, class Park, unsigned Spins = 3>
class one_lock_queue {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    using node = typename submission_queue<Atom>::node;

    /// What a look for work ended with.
    enum class found : std::uint32_t {
        nothing,   ///< the thread is idle: rest(), and look again
        own,       ///< its own newest
        submitted, ///< the oldest submission
        others,    ///< the oldest of another thread's list
        over,      ///< the thread ends: the pool does, or it was a temporary one and has nothing to do
    };
    enum class state : std::uint32_t { spare, running, idle, blocked };

    /// The place of one thread. As a node it lies in the queue of idle threads, or among the spare ones.
    struct seat : node {
        node tasks; // the end of its list, a ring: `next` is its newest task, `previous` its oldest
        plain<state> now = state::spare;
        plain<bool> released = false; // what it waits for, or is about to wait for, is there
        /// 0: nothing has happened since this thread looked last. Read without the lock in rest().
        typename Atom::template atomic<std::uint32_t> word{0};
    };

    /// `threads` from the beginning, then `spare` places for temporary ones.
    one_lock_queue(seat* seats, unsigned threads, unsigned spare) noexcept
        : m_seats(seats), m_permanent(threads), m_count(threads + spare), m_threads(threads) {
        make_empty(m_submitted);
        make_empty(m_idle);
        make_empty(m_spare);
        for (unsigned i = 0; i < m_count; ++i) {
            make_empty(m_seats[i].tasks);
            if (i < threads) {
                m_seats[i].now = state::running;
            } else {
                insert(m_spare, m_seats[i]);
            }
        }
    }
    one_lock_queue(const one_lock_queue&) = delete;
    one_lock_queue& operator=(const one_lock_queue&) = delete;

    /// Before any thread uses this: only so many could be made.
    void shrink(unsigned threads) noexcept {
        m_threads = threads;
        for (unsigned i = threads; i < m_permanent; ++i) {
            m_seats[i].now = state::spare; // for reports: it is none of those that can be had
        }
    }
    [[nodiscard]] unsigned number_of(const seat& s) const noexcept {
        return static_cast<unsigned>(&s - m_seats);
    }

    // ---- tasks. Where a seat comes back, the caller starts a thread for it, or says not_started().

    /// Anyone: behind all other submissions.
    [[nodiscard]] seat* submit(node& task) noexcept {
        m_lock.lock();
        return queue_and_unlock(m_submitted, task);
    }
    /// Thread `i`: in front of its own list.
    [[nodiscard]] seat* push(unsigned i, node& task) noexcept {
        m_lock.lock();
        node* const newest = m_seats[i].tasks.next;
        return queue_and_unlock(*newest, task);
    }
    /// Any thread of the pool, which has a right to `task`: takes it, wherever it lies. False: somebody else
    /// has.
    [[nodiscard]] bool take_back(node& task) noexcept {
        m_lock.lock();
        const bool mine = is_in_list(task);
        if (mine) {
            take_task(task);
        }
        m_lock.unlock();
        return mine;
    }
    /// Thread `i`, outside of any task: what it runs next. `nothing`: whoever queues a task calls it.
    [[nodiscard]] found look(unsigned i, node*& task) noexcept {
        m_lock.lock();
        seat& self = m_seats[i];
        self.word.store(0, rlx);
        if (self.now == state::idle) { // nobody has called it: it looks for other reasons
            take_out(self);
            self.now = state::running;
        }
        const found what = find(i, task);
        if (what == found::nothing) {
            const found end = end_of(self, i);
            m_lock.unlock();
            return end;
        }
        take_task(*task);
        m_lock.unlock();
        return what;
    }

    // ---- waits

    /// Thread `i`, inside a task, when others know what releases it: from here on it really blocks, unless it
    /// has been released already.
    [[nodiscard]] seat* block(unsigned i) noexcept {
        m_lock.lock();
        seat& self = m_seats[i];
        if (!self.released) {
            self.now = state::blocked;
            m_blocked = m_blocked + 1;
        }
        seat* const wanted = help_if_stuck();
        m_lock.unlock();
        return wanted;
    }
    /// Behind block(), until it is true; between two looks rest().
    [[nodiscard]] bool may_go_on(unsigned i) noexcept {
        m_lock.lock();
        seat& self = m_seats[i];
        self.word.store(0, rlx);
        const bool released = self.released;
        self.released = false;
        m_lock.unlock();
        return released;
    }
    /// Anyone, once for each wait: thread `i` goes on. It may do so, and its pool end, before this returns.
    void release(unsigned i) noexcept {
        m_lock.lock();
        seat& other = m_seats[i];
        other.released = true;
        if (other.now == state::blocked) {
            other.now = state::running;
            m_blocked = m_blocked - 1;
        }
        auto& word = other.word;
        word.store(1, rlx);
        m_lock.unlock();
        Park::wake(word);
    }
    /// Thread `i`, behind a look without success. `wait(word)` sleeps while the word is 0, or for as long as
    /// it likes.
    template <class Wait>
    void rest(unsigned i, Wait wait) noexcept {
        // Relaxed: it only says when to look, and a look is made under the lock.
        if (m_seats[i].word.load(rlx) == 0) {
            wait(m_seats[i].word);
        }
    }
    /// Everybody who rests looks again: an alarm was set, or this is the end.
    void tell_all() noexcept {
        m_lock.lock();
        for (unsigned i = 0; i < m_count; ++i) {
            m_seats[i].word.store(1, rlx);
        }
        m_lock.unlock();
        for (unsigned i = 0; i < m_count; ++i) {
            Park::wake(m_seats[i].word);
        }
    }

    // ---- threads

    /// Whether all block beside a ready task once more: a thread may not have been had.
    [[nodiscard]] seat* help() noexcept {
        m_lock.lock();
        seat* const wanted = help_if_stuck();
        m_lock.unlock();
        return wanted;
    }
    /// No thread could be made for `s`: what it was wanted for waits for one of the others, or for help().
    void not_started(seat& s) noexcept {
        m_lock.lock();
        retire(s);
        m_lock.unlock();
    }
    /// Nothing is left and nothing comes: look() says `over` from now on.
    void end() noexcept {
        m_lock.lock();
        m_over = true;
        m_lock.unlock();
        tell_all();
    }

    /// For reports.
    struct figures {
        unsigned threads, blocked, ready;
    };
    [[nodiscard]] figures now() noexcept {
        m_lock.lock();
        const figures f{m_threads, m_blocked, m_ready};
        m_lock.unlock();
        return f;
    }
    [[nodiscard]] state state_of(unsigned i) noexcept {
        m_lock.lock();
        const state s = m_seats[i].now;
        m_lock.unlock();
        return s;
    }

private:
    // Lists are rings through a node that is no entry: what is in one has a `previous`.
    static void make_empty(node& end) noexcept {
        end.next = &end;
        end.previous = &end;
    }
    /// Null: the list is empty.
    [[nodiscard]] static node* first(node& end) noexcept {
        node* const n = end.next;
        return n != &end ? n : nullptr;
    }
    [[nodiscard]] static node* last(node& end) noexcept {
        node* const n = end.previous;
        return n != &end ? n : nullptr;
    }
    [[nodiscard]] static bool is_in_list(const node& n) noexcept { return n.previous != nullptr; }
    /// In front of `place`; of the end of a ring: behind all others.
    static void insert(node& place, node& n) noexcept {
        ensure([&n] { return !is_in_list(n); }, "something was put into two lists of a pool");
        node* const before = place.previous;
        n.previous = before;
        n.next = &place;
        before->next = &n;
        place.previous = &n;
    }
    static void take_out(node& n) noexcept {
        node* const before = n.previous;
        node* const after = n.next;
        before->next = after;
        after->previous = before;
        n.previous = nullptr;
        n.next = nullptr;
    }

    // The rest under the lock.

    void take_task(node& task) noexcept {
        take_out(task);
        m_ready = m_ready - 1;
    }
    [[nodiscard]] seat* queue_and_unlock(node& place, node& task) noexcept {
        insert(place, task);
        m_ready = m_ready + 1;
        auto* const called = static_cast<seat*>(first(m_idle));
        if (called == nullptr) {
            seat* const wanted = help_if_stuck();
            m_lock.unlock();
            return wanted;
        }
        // It is called for this task; whoever is faster at it leaves it to look, and be idle, again.
        take_out(*called);
        called->now = state::running;
        auto& word = called->word;
        word.store(1, rlx);
        m_lock.unlock();
        Park::wake(word);
        return nullptr;
    }
    [[nodiscard]] found find(unsigned i, node*& task) noexcept {
        if (node* const own = first(m_seats[i].tasks)) {
            task = own;
            return found::own;
        }
        if (node* const oldest = first(m_submitted)) {
            task = oldest;
            return found::submitted;
        }
        for (unsigned k = 1; k < m_count; ++k) {
            if (node* const oldest = last(m_seats[(i + k) % m_count].tasks)) {
                task = oldest;
                return found::others;
            }
        }
        return found::nothing;
    }
    /// Nothing is ready.
    [[nodiscard]] found end_of(seat& self, unsigned i) noexcept {
        if (i >= m_permanent) {
            retire(self);
            return found::over;
        }
        if (m_over) {
            return found::over;
        }
        self.now = state::idle;
        node* const newest = m_idle.next;
        insert(*newest, self); // the one that has slept for the shortest time is called first
        return found::nothing;
    }
    void retire(seat& s) noexcept {
        s.now = state::spare;
        insert(m_spare, s);
        m_threads = m_threads - 1;
    }
    /// All threads really block, and work is left that might release them: a temporary one, if there is a
    /// place. It counts from now on, so that nobody asks for another one in its stead.
    [[nodiscard]] seat* help_if_stuck() noexcept {
        if (m_ready == 0 || m_blocked != m_threads) {
            return nullptr;
        }
        auto* const s = static_cast<seat*>(first(m_spare));
        if (s != nullptr) {
            take_out(*s);
            s->now = state::running;
            m_threads = m_threads + 1;
        }
        return s;
    }

    raw_lock<Atom, Park, Spins> m_lock;
    seat* const m_seats;
    const unsigned m_permanent;
    const unsigned m_count;
    // Under the lock:
    node m_submitted; // `next` is the oldest
    node m_idle;      // `next` has slept for the shortest time
    node m_spare;
    plain<unsigned> m_threads;
    plain<unsigned> m_blocked = 0;
    plain<unsigned> m_ready = 0;
    plain<bool> m_over = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
