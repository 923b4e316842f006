// Notes of a thread about what it does for a task that waits, until the thread has the turn.
#pragma once

#include <utility>

#include "race/detector.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

enum class did : std::uint8_t { reads, writes, enters, leaves, locks, unlocks, makes, gives };

struct note {
    std::uintptr_t at; ///< or where a call returns to
    std::uint64_t site;
    std::size_t size;
    did what;
};

inline constexpr unsigned most_notes = 32'768;
inline constexpr std::size_t most_kept = std::size_t{1} << 24; // bytes

/// Those of one call of `away`.
struct notes {
    fiber* task;
    frame* bottom;         ///< of the task, when it began to wait
    frame* top;            ///< of the calls that are noted; while they are entered, that of the task
    std::uintptr_t frames; ///< of the call begin below this address
    std::uint32_t unseen;
    unsigned count;
    std::size_t kept; ///< bytes that are freed when the notes are entered
    bool lost;        ///< another thread has kept the turn for too long: nothing more is noted
    note all[most_notes];
};
/// Null: this thread notes nothing.
extern constinit thread_local notes* noting __attribute__((tls_model("initial-exec")));

void add_note(notes& to, did what, std::uintptr_t at, std::size_t size, std::uint64_t site) noexcept;
inline void add_note(did what, const volatile void* at, std::size_t size, std::uint64_t site) noexcept {
    if (notes* const n = noting) [[unlikely]] {
        add_note(*n, what, reinterpret_cast<std::uintptr_t>(at), size, site);
    }
}

/// False: nothing that this thread does is looked at.
[[nodiscard]] inline bool looks() noexcept { return running_fiber != nullptr || noting != nullptr; }
/// From here on accesses are not looked at.
inline void look_away() noexcept {
    if (fiber* const f = running_fiber) {
        ++f->unseen;
    } else if (noting != nullptr) {
        ++noting->unseen;
    }
}
inline void look_again() noexcept {
    if (fiber* const f = running_fiber; f != nullptr && f->unseen != 0) {
        --f->unseen;
    } else if (f == nullptr && noting != nullptr && noting->unseen != 0) {
        --noting->unseen;
    }
}

/// While it lives, a thread that notes has the turn, and what it has noted is entered. It goes on as the
/// task.
class in_turn {
public:
    in_turn() noexcept {
        if (noting != nullptr && running_fiber == nullptr) [[unlikely]] {
            begin();
        }
    }
    in_turn(const in_turn&) = delete;
    in_turn& operator=(const in_turn&) = delete;
    ~in_turn() {
        if (m_notes != nullptr) [[unlikely]] {
            end();
        }
    }
    [[nodiscard]] bool is_away() const noexcept { return m_notes != nullptr; }

private:
    void begin() noexcept;
    void end() noexcept;
    notes* m_notes = nullptr;
    std::uintptr_t m_own = 0; ///< of the task, in its strand
    std::uint32_t m_strand = 0;
};

[[gnu::always_inline]] inline void seen(const volatile void* at, std::size_t size, bool writes,
                                        std::uint64_t site) noexcept {
    if (fiber* const f = running_fiber) {
        access(*f, reinterpret_cast<std::uintptr_t>(at), size, writes, site);
    } else {
        add_note(writes ? did::writes : did::reads, at, size, site);
    }
}

/// An access of `Size` bytes. The usual case is in line: the running call was the last one here.
template <unsigned Size>
[[gnu::always_inline]] inline void seen(const volatile void* at, bool write, std::uint64_t site) noexcept {
    fiber* const f = running_fiber;
    if (f == nullptr) {
        add_note(write ? did::writes : did::reads, at, Size, site);
        return;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    if (f->is_own(address)) {
        return;
    }
    const unsigned bytes = ((1U << Size) - 1) << (address & 7);
    const entry e = the.shadow.at(address).e[0];
    if (segment_of(e) == f->segment && (bytes & ~unsigned{bytes_of(e)}) == 0 && (writes(e) || !write)) {
        return;
    }
    if (!write && the.knows_read(address, bytes, *f)) {
        return;
    }
    if (bytes > 0xFF) [[unlikely]] {
        access(*f, address, Size, write, site);
        return;
    }
    access_cell(*f, address, static_cast<std::uint8_t>(bytes), write, site);
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
