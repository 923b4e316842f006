// The content of a channel and its waiters: see src/sync/README.md.
//
// Everything is under one lock, and no code of the user runs under it. The values travel in cells. Each cell
// is made and emptied by one task or thread, which owns it meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/wait/wait_list.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Park`: as for `sleepers`.
template <class Atom, class Park>
class channel_protocol {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    using list_type = wait_list<Atom, Park>;
    using entry = typename list_type::entry;
    /// One value under way. It belongs to its maker until offer() has taken it. Afterwards it belongs to the
    /// receiver.
    struct cell {
        plain<cell*> next = nullptr;
    };
    enum class step {
        done,
        closed,
        busy, ///< full or empty, and the caller does not wait
        wait, ///< the caller's entry is in the list
    };
    /// The result of a step. If `next` is not null the caller must complete it. The channel may be gone by
    /// then.
    struct outcome {
        step what;
        cell* got = nullptr;
        entry* next = nullptr;
    };

    constexpr explicit channel_protocol(std::size_t capacity) noexcept : m_capacity(capacity) {}

    /// Sends a cell. done: the cell is the channel's, or a receiver's. `e`: the entry to wait with; null: do
    /// not wait.
    [[nodiscard]] outcome offer(cell& c, entry* e) noexcept {
        m_waiting.lock();
        outcome o{step::done};
        if (m_closed) {
            o.what = step::closed;
        } else if (entry* const receiver = first_receiver()) {
            give(*receiver, c);
            o.next = receiver;
        } else if (m_count < m_capacity) {
            push(c);
        } else if (e != nullptr) {
            e->wants = reinterpret_cast<std::uintptr_t>(&c);
            m_waiting.add(*e);
            o.what = step::wait;
        } else {
            o.what = step::busy;
        }
        m_waiting.unlock();
        return o;
    }
    /// The result of a sender's wait: done, closed, or busy (its time is over). Unless it is done, the cell
    /// is the sender's again.
    [[nodiscard]] static step offered(const entry& e) noexcept {
        if (e.end == list_type::fate::withdrawn) {
            return step::busy;
        }
        return e.wants == 0 ? step::done : step::closed;
    }

    /// Receives the oldest cell. done: `got` is the caller's. `e`: the entry to wait with; null: do not wait.
    [[nodiscard]] outcome take(entry* e) noexcept {
        m_waiting.lock();
        outcome o{step::done};
        entry* const sender = first_sender();
        if (m_first != nullptr) {
            o.got = pop();
            if (sender != nullptr && m_count < m_capacity) {
                push(accept(*sender));
                o.next = sender;
            }
        } else if (sender != nullptr) {
            o.got = &accept(*sender); // they meet
            o.next = sender;
        } else if (m_closed) {
            o.what = step::closed;
        } else if (e != nullptr) {
            e->wants = receives;
            m_waiting.add(*e);
            o.what = step::wait;
        } else {
            o.what = step::busy;
        }
        m_waiting.unlock();
        return o;
    }
    /// The result of a receiver's wait. Null: the channel is closed, or the time is over.
    [[nodiscard]] static cell* taken(const entry& e) noexcept {
        if (e.end == list_type::fate::withdrawn) {
            return nullptr;
        }
        const std::uintptr_t got = e.wants;
        return got == receives ? nullptr : reinterpret_cast<cell*>(got);
    }
    /// Receiver: returns a cell whose value could not be received. The cell is the first again, even if the
    /// channel is closed.
    [[nodiscard]] entry* put_back(cell& c) noexcept {
        m_waiting.lock();
        entry* const receiver = first_receiver();
        if (receiver != nullptr) {
            give(*receiver, c);
        } else {
            cell* const first = m_first;
            c.next = first;
            m_first = &c;
            if (first == nullptr) {
                m_last = &c;
            }
            m_count = m_count + 1;
        }
        m_waiting.unlock();
        return receiver;
    }
    /// Closes the channel. Returns its waiters, receivers and waiting senders, as a chain by `next`.
    [[nodiscard]] entry* close() noexcept {
        m_waiting.lock();
        m_closed = true;
        entry* const all = m_waiting.take_all();
        m_waiting.unlock();
        return all;
    }

    [[nodiscard]] bool closed() noexcept {
        m_waiting.lock();
        const bool is = m_closed;
        m_waiting.unlock();
        return is;
    }
    [[nodiscard]] std::size_t size() noexcept {
        m_waiting.lock();
        const std::size_t n = m_count;
        m_waiting.unlock();
        return n;
    }
    /// True if an offer would not have waited at a moment of this call.
    [[nodiscard]] bool accepts() noexcept {
        m_waiting.lock();
        const bool would = !m_closed && (m_count < m_capacity || first_receiver() != nullptr);
        m_waiting.unlock();
        return would;
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return m_capacity; }
    [[nodiscard]] list_type& list() noexcept { return m_waiting; }

private:
    // In entry::wants: a receiver waits with 0 and ends with a cell or 0; a sender the other way round.
    static constexpr std::uintptr_t receives = 0;

    // The two kinds never wait at the same time: a newcomer meets a waiter of the other kind.
    [[nodiscard]] entry* first_receiver() noexcept {
        entry* const first = m_waiting.first();
        return first != nullptr && first->wants == receives ? first : nullptr;
    }
    [[nodiscard]] entry* first_sender() noexcept {
        entry* const first = m_waiting.first();
        return first != nullptr && first->wants != receives ? first : nullptr;
    }
    void give(entry& receiver, cell& c) noexcept {
        m_waiting.take(receiver);
        receiver.wants = reinterpret_cast<std::uintptr_t>(&c);
    }
    [[nodiscard]] cell& accept(entry& sender) noexcept {
        m_waiting.take(sender);
        const std::uintptr_t offered = sender.wants;
        sender.wants = 0;
        return *reinterpret_cast<cell*>(offered);
    }
    void push(cell& c) noexcept {
        c.next = nullptr;
        cell* const last = m_last;
        if (last == nullptr) {
            m_first = &c;
        } else {
            last->next = &c;
        }
        m_last = &c;
        m_count = m_count + 1;
    }
    [[nodiscard]] cell* pop() noexcept {
        cell* const first = m_first;
        cell* const next = first->next;
        m_first = next;
        if (next == nullptr) {
            m_last = nullptr;
        }
        m_count = m_count - 1;
        return first;
    }

    list_type m_waiting;
    // Under the list's lock.
    plain<cell*> m_first = nullptr;
    plain<cell*> m_last = nullptr;
    plain<std::size_t> m_count = 0;
    plain<bool> m_closed = false;
    const std::size_t m_capacity;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
