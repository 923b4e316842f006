// The queue of an object whose calls have conditions: who changes the object serves those that can go now.
//
// All but a withdrawal happens inside the object's lock. States, edges Q1..Q3 and the argument:
// src/objects/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/worker/wait_list.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Park` as for `sleepers`.
template <class Atom, class Park>
class call_queue {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    using list_type = wait_list<Atom, Park>;
    using entry = typename list_type::entry;
    using fate = typename list_type::fate;
    /// What a look at a monitor call has come to.
    enum class verdict {
        waits,  ///< its condition does not hold
        served, ///< it was run, or its condition threw
        given,  ///< its condition holds, and it has to run itself: it gets the object's lock
    };
    /// Why a monitor call goes on.
    enum class ending { served, given, over };

    /// Inside: nobody waits, which may be found out late.
    [[nodiscard]] PILFER_ALWAYS_INLINE bool nobody() const noexcept { return !m_queued; }
    /// Inside, where the condition of `e` does not hold. Leave the object's lock, then wait.
    void enter(entry& e) noexcept {
        m_waiting.lock();
        m_waiting.add(e);
        m_waiting.unlock();
        m_queued = true;
    }
    /// Behind the wait.
    [[nodiscard]] static ending ended(const entry& e) noexcept {
        if (e.end == fate::withdrawn) {
            return ending::over;
        }
        return e.wants == gets_the_lock ? ending::given : ending::served;
    }
    /// What is left to do behind serve().
    struct rest {
        bool is_given; ///< the object's lock is another call's: nothing of the object may be touched
        entry* last;   ///< to be completed once the object's lock is free; null: none
    };
    /// Inside, before the lock is left. Looks at the monitor calls, the oldest first, and from the beginning
    /// again once one was served, until none of them can go. `look(entry)` decides about one; it may take as
    /// long as it likes. Before it returns `given` it gets the object's lock ready for its next holder.
    /// `go_on(entry)` completes one.
    template <class Look, class GoOn>
    [[nodiscard]] rest serve(Look look, GoOn go_on) noexcept {
        entry* last = nullptr;
        entry* gone = nullptr; // goes on as soon as the list is unlocked
        m_waiting.lock();
        entry* e = m_waiting.first();
        while (e != nullptr) {
            m_waiting.claim(*e); // Q2
            m_waiting.unlock();
            if (gone != nullptr) {
                go_on(*gone);
                gone = nullptr;
            }
            const verdict v = look(*e);
            m_waiting.lock();
            if (v == verdict::waits) {
                entry* const next = e->next;
                if (!m_waiting.disclaim(*e)) {
                    gone = e;
                }
                e = next;
                continue;
            }
            m_waiting.take(*e);
            gone = last; // the object has another user now, whose call has not returned
            last = e;
            if (v == verdict::given) {
                e->wants = gets_the_lock;
                break;
            }
            e = m_waiting.first();
        }
        m_queued = !m_waiting.empty();
        m_waiting.unlock();
        if (gone != nullptr) {
            go_on(*gone);
        }
        if (e == nullptr) {
            return {false, last};
        }
        go_on(*e); // Q1
        return {true, nullptr};
    }

    [[nodiscard]] list_type& list() noexcept { return m_waiting; }

private:
    // In entry::wants.
    static constexpr std::uintptr_t gets_the_lock = 1;

    list_type m_waiting;
    plain<bool> m_queued = false; // belongs to the object's lock; true: look into the list
};

} // namespace detail
} // namespace v0
} // namespace pilfer
