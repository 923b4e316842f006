// Functions that run on another thread while their task waits.
#include "race/notes.hpp"

extern "C" void __libc_free(void*) noexcept;

namespace pilfer {
inline namespace v0 {
namespace detail::race {

constinit thread_local notes* noting = nullptr;

namespace {

/// Frames of the task that began in its strand are not looked at, as in fiber::is_own().
void enter_access(fiber& f, const note& n, std::uintptr_t own) noexcept {
    if (n.at < f.lowest || n.at >= own) {
        access(f, n.at, n.size, n.what == did::writes, n.site);
    }
}

void enter(fiber& f, const note& n, std::uintptr_t own, const frame* bottom) noexcept {
    const auto* const object = reinterpret_cast<const void*>(n.at);
    switch (n.what) {
    case did::reads:
    case did::writes:
        enter_access(f, n, own);
        break;
    case did::enters:
        ++f.top;
        f.top->returns_to = n.at;
        f.top->calls = f.top->segment = f.segment = 0;
        break;
    case did::leaves:
        f.top -= f.top != bottom ? 1 : 0;
        f.segment = 0;
        break;
    case did::locks:
        locks(object);
        break;
    case did::unlocks:
        unlocks(object);
        break;
    case did::makes:
        fresh(object, n.size);
        break;
    case did::gives:
        deleted(f, n.at, n.size, n.site);
        __libc_free(const_cast<void*>(object));
        break;
    }
}

} // namespace

void add_note(notes& to, did what, std::uintptr_t at, std::size_t size, std::uint64_t site) noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const bool is_access = what == did::reads || what == did::writes;
    if (is_access && (size == 0 || to.unseen != 0 || (at < to.frames && at >= here))) {
        return;
    }
    to.all[to.count++] = {at, site, size, what};
    to.kept += what == did::gives ? size : 0;
    if (to.count == most_notes || to.kept > most_kept) {
        const in_turn now;
    }
}

void in_turn::begin() noexcept {
    m_notes = std::exchange(noting, nullptr);
    fiber& f = *m_notes->task;
    std::swap(f.top, m_notes->top);
    m_own = std::exchange(f.own, 0);
    m_strand = f.strand;
    const bool looks = goes_on(); // else another thread has kept the turn for too long
    running_fiber = looks ? &f : nullptr;
    f.forget_answers();
    for (unsigned i = 0; i < m_notes->count; ++i) {
        const note& n = m_notes->all[i];
        if (looks) {
            enter(f, n, m_own, m_notes->bottom);
        } else if (n.what == did::gives) {
            __libc_free(reinterpret_cast<void*>(n.at));
        }
    }
    m_notes->count = 0;
    m_notes->kept = 0;
    m_notes->lost = !looks;
}
void in_turn::end() noexcept {
    fiber& f = *m_notes->task;
    f.own = f.strand == m_strand ? m_own : 0;
    f.changed();
    std::swap(f.top, m_notes->top);
    (void)rests();
    noting = m_notes->lost ? nullptr : m_notes;
}

away::away() noexcept : m_notes(nullptr) {
    const inside inner;
    fiber* const f = inner.checked();
    if (f == nullptr || f->unseen != 0) {
        return;
    }
    the.make_strand(*f);
    the.depth_first = false; // other tasks go on before this one ends
    f->changed();
    m_notes = static_cast<notes*>(reserve(sizeof(notes)));
    m_notes->task = f;
    m_notes->bottom = m_notes->top = f->top;
}
away::~away() {
    if (m_notes != nullptr) {
        munmap(m_notes, sizeof(notes));
    }
}
away::call::call(const away& a) noexcept : m_notes(nullptr), m_had_turn(false) {
    const bool in_place = has_fiber();
    if (in_place && a.m_notes != nullptr) {
        cannot_follow("functions of blocking() that run in place, which are not looked at");
    }
    m_had_turn = rests();
    if (in_place || a.m_notes == nullptr) {
        return;
    }
    note_thread_here();
    m_notes = a.m_notes;
    m_notes->frames = fiber::stack_above(__builtin_frame_address(0));
    noting = m_notes;
}
away::call::~call() {
    if (m_notes != nullptr) {
        { const in_turn now; }
        noting = nullptr;
    }
    if (m_had_turn) {
        goes_on();
    }
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
