// Cycles of waits for owners: a cycle is named as it closes.
//
// A table of waits, by the waiting task or thread. After its own entry each waiter follows the chain: from
// the owner of what it wants to what that owner waits for, and so on. Edges O1..O3 and why a found cycle is
// certain: src/sync/README.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/raw_lock.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Buckets`: a power of two. Each bucket has a lock.
template <class Atom, class Park, std::size_t Buckets = 64>
class owner_table {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    /// The owner of an object, null if it is free. The holder writes it after it takes the object, and clears
    /// it before it releases the object (sync.O1).
    using owner_word = typename Atom::template atomic<const void*>;

    /// A wait without a time limit, which is never taken out; in the waiter's frame. `who`: the waiter's name
    /// as an owner.
    struct waiting {
        const void* who;
        const owner_word* wanted;
        const void* object; ///< for texts
        plain<waiting*> next = nullptr;
        plain<bool> named = false;

        waiting(const void* w, const owner_word& o, const void* what) noexcept
            : who(w), wanted(&o), object(what) {}
    };

    /// The index of the bucket of `who`: for tests.
    [[nodiscard]] static std::size_t place(const void* who) noexcept {
        // Fibonacci hashing: Knuth, The Art of Computer Programming, volume 3, section 6.4.
        const auto h = reinterpret_cast<std::uintptr_t>(who) * std::uint64_t{0x9e3779b97f4a7c15};
        return static_cast<std::size_t>(h >> 32) % Buckets;
    }
    /// Adds a wait, before it begins. The wanted object lives until remove().
    void add(waiting& w) noexcept {
        bucket& b = of(w.who);
        b.lock.lock(); // sync.O3
        w.next = b.first;
        b.first = &w;
        b.lock.unlock();
        Atom::fence_sc(); // sync.O2
    }
    /// Removes a wait, before the waiter becomes the owner of what it wanted.
    void remove(waiting& w) noexcept {
        bucket& b = of(w.who);
        b.lock.lock(); // sync.O3
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
    /// After add(): true if the chain of owners leads back to `w`, and the cycle has not been named yet. Then
    /// calls name(member) for each member, `w` first, while all of the table is locked. Cost without a cycle:
    /// a short lock for each member of the chain.
    template <class Name>
    bool names_cycle(waiting& w, Name name) noexcept {
        if (!may_close(w)) {
            return false;
        }
        for (bucket& b : m_buckets) {
            b.lock.lock(); // sync.O3
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
    /// Longer chains are not followed. Nor are cycles of other waiters, whose last member has named them.
    static constexpr unsigned longest = 1000;

    struct alignas(line_bytes) bucket {
        raw_lock<Atom, Park> lock;
        plain<waiting*> first = nullptr;
    };

    [[nodiscard]] bucket& of(const void* who) noexcept { return m_buckets[place(who)]; }
    /// The caller has locked the bucket of `owner`.
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
    /// Locks one bucket at a time, so the chain that it sees may never have existed at one moment.
    [[nodiscard]] bool may_close(const waiting& w) noexcept {
        const void* owner = w.wanted->load(rlx);
        for (unsigned i = 0; i < longest && owner != nullptr; ++i) {
            if (owner == w.who) {
                return true;
            }
            bucket& b = of(owner);
            b.lock.lock(); // sync.O3
            const waiting* const next = found(owner);
            // While the entry is in the table, its waiter has not got what it wants, so that object lives.
            owner = next != nullptr ? next->wanted->load(rlx) : nullptr;
            b.lock.unlock();
        }
        return false;
    }
    /// The caller has locked all of the table.
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
