// The one-lock back-end: all tasks and threads of a pool under one mutex, with one queue of idle threads.
//
// The design is simple: every word is read and written under the lock. The exception is one word per thread,
// which says whether it is worth looking again. README.md has the argument, and says how each operation runs
// in such a pool.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/base/raw_lock.hpp>
#include <pilfer/detail/deque/submissions.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Park` and `Spins`: as for `raw_lock`.
template <class Atom, class Park, unsigned Spins = 3>
class one_lock_queue {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    using node = typename submission_queue<Atom>::node;

    /// The result of a look for work.
    enum class found : std::uint32_t {
        nothing,   ///< The thread is idle: it calls rest(), and looks again.
        own,       ///< Its own newest.
        submitted, ///< The oldest submission.
        others,    ///< The oldest of another thread's list.
        over,      ///< The thread ends: the pool ends, or a temporary thread has nothing to do.
    };
    enum class state : std::uint32_t { spare, running, idle, blocked };

    /// The place of one thread. It is a node of the queue of idle threads, or of the spare ones.
    struct seat : node {
        node tasks; // the end of its list, a ring: `next` is its newest task, `previous` its oldest
        plain<state> now = state::spare;
        plain<bool> released = false; // the event that it waits for, or soon will, has happened.
        /// Is 0 if nothing has happened since this thread looked last. rest() reads it without the lock.
        typename Atom::template atomic<std::uint32_t> word{0};
    };

    /// `threads` permanent places, followed by `spare` places for temporary threads.
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

    /// Before any thread uses this: only `threads` threads could be made.
    void shrink(unsigned threads) noexcept {
        m_threads = threads;
        for (unsigned i = threads; i < m_permanent; ++i) {
            m_seats[i].now = state::spare; // for reports: it is not available
        }
    }
    [[nodiscard]] unsigned number_of(const seat& s) const noexcept {
        return static_cast<unsigned>(&s - m_seats);
    }

    // ---- tasks. If a seat is returned, the caller starts a thread for it, or calls not_started().

    /// Any thread: adds a task after all other submissions.
    [[nodiscard]] seat* submit(node& task) noexcept {
        m_lock.lock();
        return queue_and_unlock(m_submitted, task);
    }
    /// Thread `i`: adds a task in front of its own list.
    [[nodiscard]] seat* push(unsigned i, node& task) noexcept {
        m_lock.lock();
        node* const newest = m_seats[i].tasks.next;
        return queue_and_unlock(*newest, task);
    }
    /// Any thread of the pool that may run `task`: takes it out of whatever list it is in. False: another
    /// thread has taken it.
    [[nodiscard]] bool dequeue(node& task) noexcept {
        m_lock.lock();
        const bool mine = is_in_list(task);
        if (mine) {
            take_task(task);
        }
        m_lock.unlock();
        return mine;
    }
    /// Thread `i`, outside of any task: the next task to run. If the result is `nothing`, a thread that
    /// queues a task calls this one.
    [[nodiscard]] found look(unsigned i, node*& task) noexcept {
        m_lock.lock();
        seat& self = m_seats[i];
        self.word.store(0, rlx);
        if (self.now == state::idle) { // not called: it looks for other reasons
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

    /// Thread `i`, inside a task, once other threads can release it. From here on it really blocks, unless it
    /// has already been released.
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
    /// After block(): called until it is true, with rest() between two looks.
    [[nodiscard]] bool may_go_on(unsigned i) noexcept {
        m_lock.lock();
        seat& self = m_seats[i];
        self.word.store(0, rlx);
        const bool released = self.released;
        self.released = false;
        m_lock.unlock();
        return released;
    }
    /// Any thread, once for each wait: thread `i` may continue. It may do so, and its pool end, before this
    /// returns.
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
    /// Thread `i`, after a look without success. `wait(word)` sleeps while the word is 0; it may return at
    /// any time.
    template <class Wait>
    void rest(unsigned i, Wait wait) noexcept {
        // Relaxed: it only says when to look, and a look is made under the lock.
        if (m_seats[i].word.load(rlx) == 0) {
            wait(m_seats[i].word);
        }
    }
    /// Lets every resting thread look again: an alarm was set, or this is the end.
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

    /// Checks once more whether all threads block beside a ready task: earlier there may have been no thread.
    [[nodiscard]] seat* help() noexcept {
        m_lock.lock();
        seat* const wanted = help_if_stuck();
        m_lock.unlock();
        return wanted;
    }
    /// No thread could be made for `s`. The task that needed it waits for another thread, or for help().
    void not_started(seat& s) noexcept {
        m_lock.lock();
        retire(s);
        m_lock.unlock();
    }
    /// Nothing is left and nothing comes: look() returns `over` from now on.
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
    // Lists are rings through a node that is no entry. A node that is in a list has a `previous`.
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
    /// Inserts `n` in front of `place`. In front of the end of a ring: after all others.
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

    // The other functions are called under the lock.

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
        // The thread is called for this task. If another thread is faster, the called one looks, and becomes
        // idle, again.
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
        insert(*newest, self); // the thread that has slept for the shortest time is called first
        return found::nothing;
    }
    void retire(seat& s) noexcept {
        s.now = state::spare;
        insert(m_spare, s);
        m_threads = m_threads - 1;
    }
    /// If all threads really block, and work is left that might release them, returns a place for a temporary
    /// thread, if there is one. The thread counts from now on, so that no second one is requested for the
    /// same reason.
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
