// A branch of a join that a thief runs is stopped if the frame that joins throws, or another stolen branch.
//
// Both meet in the word of the branch that says how it is run. States, edges B1, B2: src/scope/README.md.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/worker/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// In the frame of whoever runs the branch. `Word` is an atomic pointer, or a reference to one: it says
/// "lies there" first, of which only the exchange here must not know more than that it is neither `given_up`
/// nor null.
template <class Atom>
class branch_protocol {
public:
    /// Whoever runs it, before it does. `here`: where it can be told to stop; null if it cannot. False: it
    /// was given up, and does not begin.
    template <class Word, class Value>
    [[nodiscard]] static bool begins(Word&& word, Value here, Value given_up) noexcept {
        return word.exchange(here, rel) != given_up; // B1
    }
    /// The frame that joins, once. Null: nobody is to be told, because it lies there yet, has ended, or
    /// cannot be stopped. Otherwise `here` of begins(), which stays until is_told().
    template <class Word, class Value>
    [[nodiscard]] static Value give_up(Word&& word, Value lies_there, Value given_up) noexcept {
        const Value was = word.exchange(given_up, acq); // B1
        return was != lies_there ? was : nullptr;
    }
    /// Who has given it up, behind the last access but this one.
    void is_told() noexcept { m_told.store(true, rel); } // B2
    /// Whoever has run it. True: it was told. Behind it nobody touches this. `gone()`: who has given it up is
    /// in the parent process, and this in a child of fork().
    template <class Word, class Value, class Gone>
    [[nodiscard]] bool ends(Word&& word, Value given_up, Gone gone) noexcept {
        if (word.exchange(nullptr, rlx) != given_up) {
            return false;
        }
        for (unsigned round = 0; !m_told.load(acq); ++round) { // B2
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

/// One that runs, on whatever stack: what it does is below of a place of its own, which is cancelled where
/// the frame that joins throws. Not where the branch is a holder's: that finishes first.
class PILFER_API stolen_branch {
public:
    using word = spark::run_function;

    /// By whoever is about to run it, standing where it was announced. `join`: an address that the branches
    /// of one join of several functions, or of one loop, share; null for a join of two.
    stolen_branch(spark& s, word given_up, const void* join) noexcept;
    stolen_branch(const stolen_branch&) = delete;
    stolen_branch& operator=(const stolen_branch&) = delete;
    ~stolen_branch();
    /// False: it was given up before.
    [[nodiscard]] bool begins() const noexcept { return m_begins; }

    /// By the frame that joins: `s` could not be taken back, and its result is not wanted any more.
    PILFER_COLD static void give_up(spark& s, word lies_there, word given_up) noexcept;
    /// By the worker that has run `s`, which threw `error`, before `s` is done: cancels the branches of
    /// `join` that are not on the stack of the frame that called it, and that wait for `s`.
    PILFER_COLD static void fails(spark& s, const void* join, const std::exception_ptr& error) noexcept;

private:
    spark& m_spark;
    word m_given_up;
    activation* m_self = nullptr; ///< null: it cannot be stopped
    scope_place* m_within = nullptr;
    std::optional<scope_place> m_place;
    branch_protocol<std_atom> m_protocol;
    std::uint64_t m_process;
    bool m_begins;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
