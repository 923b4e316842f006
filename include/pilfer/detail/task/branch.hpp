// A branch of a join that a thief runs is stopped if the joining frame throws, or another stolen branch.
//
// The joining frame and the thief meet in the word of the branch that says how it is run. States, edges
// join.B1, join.B2: src/scope/README.md.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The protocol of a branch that may be given up. The object is in the frame of the worker that runs the
/// branch.
///
/// `Word` is an atomic pointer, or a reference to one. Its first value is `initial`: no worker has
/// begun the branch. The exchanges of begins() and ends() rely on one fact: that value is neither
/// `given_up` nor null.
template <class Atom>
class branch_protocol {
public:
    /// Called by the worker that runs the branch, before it does. `here`: the address at which the branch
    /// can be stopped; null if it cannot. False: the branch was given up, and does not begin.
    template <class Word, class Value>
    [[nodiscard]] static bool begins(Word&& word, Value here, Value given_up) noexcept {
        return word.exchange(here, rel) != given_up; // join.B1
    }
    /// Called by the joining frame, once. Null: there is no worker to notify. The branch has not been
    /// begun, has ended, or cannot be stopped. Otherwise the result is `here` of begins(), which stays
    /// until is_told().
    template <class Word, class Value>
    [[nodiscard]] static Value give_up(Word&& word, Value initial, Value given_up) noexcept {
        const Value was = word.exchange(given_up, acq); // join.B1
        return was != initial ? was : nullptr;
    }
    /// Called for the joining frame that has given the branch up, as its last access to this object.
    void is_told() noexcept { m_told.store(true, rel); } // join.B2
    /// Called by the worker that has run the branch. True: the branch was given up, and the joining frame
    /// has made its last access. Afterwards no thread touches this object. `gone()`: true if the joining
    /// frame is in the parent process, and this is a child of fork().
    template <class Word, class Value, class Gone>
    [[nodiscard]] bool ends(Word&& word, Value given_up, Gone gone) noexcept {
        if (word.exchange(nullptr, rlx) != given_up) {
            return false;
        }
        for (unsigned round = 0; !m_told.load(acq); ++round) { // join.B2
            if (gone()) {
                return false;
            }
            Atom::relax(round);
        }
        return true;
    }

private:
    typename Atom::template atomic<bool> m_told{false};
};

/// A branch that runs, on any stack. Its work is below a place of its own, which is cancelled if the
/// joining frame throws. The branch of a holder of a lock has no such place: it finishes first.
class PILFER_API stolen_branch {
public:
    using word = spark::run_function;

    /// Called by the worker that is about to run `s`, in the scope where `s` was announced. `join`: an
    /// address that the branches of one join of several functions, or of one loop, share; null for a join
    /// of two.
    stolen_branch(spark& s, word given_up, const void* join) noexcept;
    stolen_branch(const stolen_branch&) = delete;
    stolen_branch& operator=(const stolen_branch&) = delete;
    ~stolen_branch();
    /// False: the branch was given up before.
    [[nodiscard]] bool begins() const noexcept { return m_begins; }

    /// Called by the joining frame: `s` could not be reclaimed, and its result is not wanted any more.
    PILFER_COLD static void give_up(spark& s, word initial, word given_up) noexcept;
    /// Called by the worker that has run `s`, which threw `error`, before `s` is done. Cancels the
    /// branches of `join` that wait for `s`, and all that is below them. The function on the stack of the
    /// frame that called `join` goes on.
    PILFER_COLD static void fails(spark& s, const void* join, const std::exception_ptr& error) noexcept;

private:
    spark& m_spark;
    word m_given_up;
    activation* m_self = nullptr; ///< null: the branch cannot be stopped
    scope_node* m_parent = nullptr;
    std::optional<scope_node> m_node;
    branch_protocol<std_atom> m_protocol;
    std::uint64_t m_process;
    bool m_begins;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
