// Waits for descriptors: a list of waiters for each, and the kernel is asked for one event at a time.
//
// Every waiter asks the kernel anew. An event answers the last question only. States, edges N1..N6 and the
// argument: src/io/README.md.
#pragma once

#include <bit>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/wait/wait_list.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Kernel`: `int arm(int fd, uint32_t what, uint64_t tag, bool known) noexcept` asks for one event, see
/// os::poller. `Park`: as for `sleepers`. `First`: number of slots of the first segment, a power of two.
template <class Atom, class Park, class Kernel, unsigned First = 64>
class descriptor_waits {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    using list_type = wait_list<Atom, Park>;
    using entry = typename list_type::entry;
    /// In entry::wants: the awaited events (bits of `Kernel`'s `what`). After the descriptor was forgotten:
    /// this value.
    static constexpr std::uintptr_t forgotten = 0;

    /// The waits for one descriptor number, for whatever file it refers to. Slots live as long as the pool,
    /// because an event may come late.
    struct slot {
        list_type list;
        // Under the list's lock:
        plain<std::uint32_t> question{0}; ///< the last one that the kernel was asked
        /// How often the number was forgotten. Changed under the list's lock, read also without it.
        typename Atom::template atomic<std::uint32_t> forgets{0};
        plain<slot*> held_too{nullptr}; ///< next slot that a forgetting thread has locked, of another pool
    };

    explicit descriptor_waits(Kernel& kernel) noexcept : m_kernel(kernel) {}
    descriptor_waits(const descriptor_waits&) = delete;
    descriptor_waits& operator=(const descriptor_waits&) = delete;
    ~descriptor_waits() {
        for (auto& s : m_segments) {
            delete[] s.load(rlx);
        }
    }

    /// The slot of `fd`, made if need be. Null: no memory.
    [[nodiscard]] slot* slot_for(int fd) noexcept {
        const unsigned k = segment_of(fd);
        if (slot* const there = m_segments[k].load(acq)) { // io.N3
            return there + place_in(fd, k);
        }
        slot* const made = new (std::nothrow) slot[k == 0 ? first_slots : first_slots << (k - 1)];
        slot* expected = nullptr;
        if (made != nullptr &&
            !m_segments[k].compare_exchange_strong(expected, made, acq_rel, acq)) { // io.N3
            delete[] made;
            return expected + place_in(fd, k);
        }
        return made == nullptr ? nullptr : made + place_in(fd, k);
    }
    /// The slot of `fd`. Null: no task has ever waited for such a number.
    [[nodiscard]] slot* slot_if_made(int fd) const noexcept {
        const unsigned k = segment_of(fd);
        slot* const there = m_segments[k].load(acq); // io.N3
        return there == nullptr ? nullptr : there + place_in(fd, k);
    }

    /// Adds `e` as a waiter for `what` and returns 0. Otherwise returns the kernel's errno, and `e` does not
    /// wait.
    [[nodiscard]] int enter(slot& s, int fd, entry& e, std::uint32_t what) noexcept {
        s.list.lock();
        const int error = enter_locked(s, fd, e, what);
        s.list.unlock();
        return error;
    }
    /// As enter(), for a waiter that waits again and again. Its first wait sets `seen`. A later one returns
    /// ECANCELED if the descriptor was forgotten after the first one, also between two waits.
    [[nodiscard]] int enter_again(slot& s, int fd, entry& e, std::uint32_t what, std::uint32_t& seen,
                                  bool first) noexcept {
        int error = ECANCELED;
        s.list.lock();
        if (first) {
            seen = s.forgets.load(rlx);
        }
        if (s.forgets.load(rlx) == seen) { // io.N6
            error = enter_locked(s, fd, e, what);
        }
        s.list.unlock();
        return error;
    }
    /// An event has come: takes out its waiters, as a chain for go_on_all().
    [[nodiscard]] entry* happened(std::uint64_t tag, std::uint32_t what) noexcept {
        const auto fd = static_cast<int>(tag & UINT32_MAX);
        slot& s = *slot_if_made(fd);
        entry* chain = nullptr;
        s.list.lock();
        // An answer to an older question is ignored. What is awaited now was asked for after it, and the
        // kernel looked then whether it is so. The old answer may even be about a file that had this number
        // before.
        if (s.question == static_cast<std::uint32_t>(tag >> 32)) {
            chain = take(s, what);
            if (const std::uint32_t left = awaited_by_others(s); left != 0 && ask(s, fd, left) != 0) {
                chain = append(chain, take(s, ~std::uint32_t{0})); // closed: their next call reports it
            }
        }
        s.list.unlock();
        return chain;
    }
    /// Under the lock of the slot: takes out all waiters, as a chain. Each finds `forgotten`.
    [[nodiscard]] static entry* forget_locked(slot& s) noexcept {
        s.forgets.store(s.forgets.load(rlx) + 1, rlx); // io.N6
        for (entry* e = s.list.first(); e != nullptr; e = e->next) {
            e->wants = forgotten;
        }
        return s.list.take_all();
    }
    [[nodiscard]] static entry* append(entry* chain, entry* more) noexcept {
        if (chain == nullptr) {
            return more;
        }
        entry* last = chain;
        while (entry* const next = last->next) {
            last = next;
        }
        last->next = more;
        return chain;
    }

private:
    // Segments of 64, 64, 128, 256 ... slots. Existing ones never move.
    static constexpr std::uint32_t first_slots = First;
    static constexpr unsigned segments = 32 - static_cast<unsigned>(std::bit_width(First - 1));
    [[nodiscard]] static unsigned segment_of(int fd) noexcept {
        return static_cast<unsigned>(std::bit_width(static_cast<std::uint32_t>(fd) / first_slots));
    }
    /// Segment k > 0 begins at First * 2^(k-1), and is as long as all before it.
    [[nodiscard]] static std::uint32_t place_in(int fd, unsigned k) noexcept {
        return static_cast<std::uint32_t>(fd) - (k == 0 ? 0 : first_slots << (k - 1));
    }

    [[nodiscard]] int enter_locked(slot& s, int fd, entry& e, std::uint32_t what) noexcept {
        const int error = ask(s, fd, what | awaited_by_others(s));
        if (error == 0) {
            e.wants = what;
            s.list.add(e);
        }
        return error;
    }
    [[nodiscard]] static std::uint32_t awaited_by_others(slot& s) noexcept {
        std::uint32_t all = 0;
        for (entry* e = s.list.first(); e != nullptr; e = e->next) {
            all |= static_cast<std::uint32_t>(e->wants);
        }
        return all;
    }
    [[nodiscard]] static entry* take(slot& s, std::uint32_t what) noexcept {
        entry* chain = nullptr;
        entry* last = nullptr;
        for (entry* e = s.list.first(); e != nullptr;) {
            entry* const next = e->next;
            if ((e->wants & what) != 0) {
                s.list.take(*e);
                if (last == nullptr) {
                    chain = e;
                } else {
                    last->next = e;
                }
                last = e;
            }
            e = next;
        }
        return chain;
    }
    [[nodiscard]] int ask(slot& s, int fd, std::uint32_t what) noexcept {
        const std::uint32_t question = s.question + 1;
        const bool known = s.question != 0; // the kernel was asked about this number before: a hint
        s.question = question;
        const std::uint64_t tag = static_cast<std::uint64_t>(question) << 32 | static_cast<std::uint32_t>(fd);
        const int error = m_kernel.arm(fd, what, tag, known); // io.N4
        if (error != 0) {
            s.question = question - 1; // the former question stays valid
        }
        return error;
    }

    Kernel& m_kernel;
    typename Atom::template atomic<slot*> m_segments[segments]{};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
