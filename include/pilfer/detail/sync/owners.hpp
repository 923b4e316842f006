// Who waits for what whom holds: names a cycle of owners as it closes.
//
// A table by who waits. Each looks, behind its own entry, from the owner of what it wants to what that one
// waits for, and so on. Edges O1..O3 and why a cycle is certain: src/sync/README.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/raw_lock.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Buckets`, a power of two: each has a lock.
template <class Atom, class Park, std::size_t Buckets = 64>
class owner_table {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    /// Whose it is, null where nobody's: written by the holder, behind taking it, and cleared before it lets
    /// go (O1).
    using owner_word = typename Atom::template atomic<const void*>;

    /// One that waits without a time limit and is never taken out; in its frame. `who` is its name as an
    /// owner.
    struct waiting {
        const void* who;
        const owner_word* wanted;
        const void* object; ///< for texts
        plain<waiting*> next = nullptr;
        plain<bool> named = false;

        waiting(const void* w, const owner_word& o, const void* what) noexcept
            : who(w), wanted(&o), object(what) {}
    };

    /// Whose bucket: for tests.
    [[nodiscard]] static std::size_t place(const void* who) noexcept {
        // Fibonacci hashing: Knuth, The Art of Computer Programming, volume 3, section 6.4.
        const auto h = reinterpret_cast<std::uintptr_t>(who) * std::uint64_t{0x9e3779b97f4a7c15};
        return static_cast<std::size_t>(h >> 32) % Buckets;
    }
    /// Before it waits. What it wants lives until remove().
    void add(waiting& w) noexcept {
        bucket& b = of(w.who);
        b.lock.lock(); // O3
        w.next = b.first;
        b.first = &w;
        b.lock.unlock();
        Atom::fence_sc(); // O2
    }
    /// Before it says that what it has waited for is its own.
    void remove(waiting& w) noexcept {
        bucket& b = of(w.who);
        b.lock.lock(); // O3
        waiting* before = b.first;
        if (before == &w) {
            b.first = w.next;
        } else {
            while (before->next != &w) {
                before = before->next;
            }
            before->next = w.next;
        }
        b.lock.unlock();
    }
    /// Behind add(): does the chain of owners lead back to `w`, and has nobody named that cycle yet? Then
    /// calls name(member) for each, `w` first, while all of the table is locked, and returns true. Cost:
    /// without a cycle a short lock for each member of the chain.
    template <class Name>
    bool names_cycle(waiting& w, Name name) noexcept {
        if (!may_close(w)) {
            return false;
        }
        for (bucket& b : m_buckets) {
            b.lock.lock(); // O3
        }
        bool fresh = false;
        if (closes(w)) {
            fresh = true;
            waiting* at = &w;
            do {
                at->named = true;
                name(*at);
                at = found(at->wanted->load(rlx));
            } while (at != &w);
        }
        for (bucket& b : m_buckets) {
            b.lock.unlock();
        }
        return fresh;
    }

private:
    /// Longer ones are not followed: nor are cycles that others are in, whose last member has named them.
    static constexpr unsigned longest = 1000;

    struct alignas(line_bytes) bucket {
        raw_lock<Atom, Park> lock;
        plain<waiting*> first = nullptr;
    };

    [[nodiscard]] bucket& of(const void* who) noexcept { return m_buckets[place(who)]; }
    /// Its bucket is locked.
    [[nodiscard]] waiting* found(const void* owner) noexcept {
        if (owner == nullptr) {
            return nullptr;
        }
        waiting* at = of(owner).first;
        while (at != nullptr && at->who != owner) {
            at = at->next;
        }
        return at;
    }
    /// One bucket at a time: what is seen may never have held at one moment.
    [[nodiscard]] bool may_close(const waiting& w) noexcept {
        const void* owner = w.wanted->load(rlx);
        for (unsigned i = 0; i < longest && owner != nullptr; ++i) {
            if (owner == w.who) {
                return true;
            }
            bucket& b = of(owner);
            b.lock.lock(); // O3
            const waiting* const next = found(owner);
            // While it is in the table it has not got what it wants, so that lives.
            owner = next != nullptr ? next->wanted->load(rlx) : nullptr;
            b.lock.unlock();
        }
        return false;
    }
    /// All of the table is locked.
    [[nodiscard]] bool closes(waiting& w) noexcept {
        const waiting* at = &w;
        for (unsigned i = 0; i < longest; ++i) {
            if (at->named) {
                return false;
            }
            at = found(at->wanted->load(rlx));
            if (at == nullptr) {
                return false;
            }
            if (at == &w) {
                return true;
            }
        }
        return false;
    }

    std::array<bucket, Buckets> m_buckets{};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
