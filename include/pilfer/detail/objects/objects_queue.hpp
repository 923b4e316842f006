// The queue of an object whose calls have conditions: a call that changes the object serves the calls that
// can run now.
//
// All but a withdrawal happens inside the object's lock. States, edges Q1..Q3 and the argument:
// src/objects/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/wait/wait_list.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Park`: as for `sleepers`.
template <class Atom, class Park>
class call_queue {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    using list_type = wait_list<Atom, Park>;
    using entry = typename list_type::entry;
    using fate = typename list_type::fate;
    /// The result of a look at a waiting monitor call.
    enum class verdict {
        waits,  ///< its condition does not hold
        served, ///< it was run, or its condition threw
        given,  ///< its condition holds, and it must run itself: it gets the object's lock
    };
    /// The reason why a monitor call stops waiting.
    enum class ending { served, given, over };

    /// Inside: true if no call waits. It may become true late.
    [[nodiscard]] PILFER_ALWAYS_INLINE bool nobody() const noexcept { return !m_queued; }
    /// Inside, if the condition of `e` does not hold. The caller then leaves the object's lock and waits.
    void enter(entry& e) noexcept {
        m_waiting.lock();
        m_waiting.add(e);
        m_waiting.unlock();
        m_queued = true;
    }
    /// After the wait: the reason for its end.
    [[nodiscard]] static ending ended(const entry& e) noexcept {
        if (e.end == fate::withdrawn) {
            return ending::over;
        }
        return e.wants == gets_the_lock ? ending::given : ending::served;
    }
    /// The caller's duties after serve().
    struct rest {
        bool is_given; ///< the object's lock belongs to another call: touch nothing of the object
        entry* last;   ///< to be completed once the object's lock is free; null: none
    };
    /// Inside, before the lock is left. Looks at the waiting monitor calls, the oldest first, and starts
    /// again after each one that was served. It ends when none of them can run.
    ///
    /// `look(entry)` decides about one call, and may take long. Before it returns `given` it gets the
    /// object's lock ready for its next holder. `go_on(entry)` completes one call.
    template <class Look, class GoOn>
    [[nodiscard]] rest serve(Look look, GoOn go_on) noexcept {
        entry* last = nullptr;
        entry* gone = nullptr; // completed as soon as the list is unlocked
        m_waiting.lock();
        entry* e = m_waiting.first();
        while (e != nullptr) {
            m_waiting.claim(*e); // objects.Q2
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
            gone = last; // `e` is another user of the object, whose call has not returned
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
        go_on(*e); // objects.Q1
        return {true, nullptr};
    }

    [[nodiscard]] list_type& list() noexcept { return m_waiting; }

private:
    // In entry::wants.
    static constexpr std::uintptr_t gets_the_lock = 1;

    list_type m_waiting;
    plain<bool> m_queued = false; // under the object's lock; true: look into the list
};

} // namespace detail
} // namespace v0
} // namespace pilfer
