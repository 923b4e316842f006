// Whose a scope is: the word that spawn, fork and sync compare with who runs.
//
// While the owner holds a lock that it took since the scope began, something stands there that nobody is
// called, so that what the owner announces goes the long way. Why, and edge C7: src/scope/README.md, "Holders
// of locks".
#pragma once

#include <new>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Activation` is derived from `Standing`, which has `innermost`: a null is nobody's place.
template <class Atom, class Standing, class Activation>
class scope_owner {
public:
    explicit scope_owner(Activation* owner) noexcept : m_word(owner) {}
    ~scope_owner() {} // the diversion needs no end
    scope_owner(const scope_owner&) = delete;
    scope_owner& operator=(const scope_owner&) = delete;

    /// For the short ways: the caller is the owner, which is not diverted.
    [[nodiscard]] bool is(const Activation* caller) const noexcept {
        return Atom::is(m_word, static_cast<const Standing*>(caller));
    }
    /// The owner where it is not diverted. `innermost` may be read through it, and is null where it is.
    [[nodiscard]] Standing* word() const noexcept { return m_word.load(rlx); }
    /// While its rest is offered, or by whoever it then has handed its part to: it is not diverted.
    [[nodiscard]] Activation* of_offered() const noexcept {
        return static_cast<Activation*>(m_word.load(rlx));
    }

    /// By anybody below, too: to ask whether it is the caller, or what it runs on.
    [[nodiscard]] Activation* get() const noexcept {
        Standing* const found = m_word.load(acq); // C7
        if (found == &m_diversion) {
            return m_diversion.owner;
        }
        return static_cast<Activation*>(found);
    }

    [[nodiscard]] bool is_diverted() const noexcept { return m_word.load(rlx) == &m_diversion; }
    /// By `owner`, from a lock on that is younger. `first`: no call has made the diversion before. That
    /// stays, because tasks below may be reading it from then on.
    void divert(Activation* owner, bool first) noexcept {
        if (first) {
            ::new (static_cast<void*>(&m_diversion)) diversion{{nullptr}, owner};
        }
        divert_again();
    }
    void divert_again() noexcept { m_word.store(&m_diversion, rel); } // C7
    /// By the owner, behind that lock; and around what it must not be diverted for.
    void end_diversion() noexcept { m_word.store(m_diversion.owner, rlx); }
    /// While there are no children.
    void hand_to(Activation* owner) noexcept { m_word.store(owner, rlx); }

private:
    struct diversion : Standing {
        typename Atom::template plain<Activation*> owner;
    };

    typename Atom::template atomic<Standing*> m_word;
    union {
        diversion m_diversion; // not initialised: the usual scope never uses it
    };
};

} // namespace detail
} // namespace v0
} // namespace pilfer
