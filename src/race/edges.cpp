// Orders and exclusions beside those of forks: edges and locks.
#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "race/notes.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {
namespace {

constexpr unsigned most_relaxed = 4096;
atomic_change relaxed_sites[most_relaxed];
address_map relaxed_known;

} // namespace

namespace {
void release(const void* object, bool first, bool of_guard) noexcept {
    const in_turn now;
    const inside here;
    fiber* const f = here.checked();
    if (f == nullptr || f->unseen != 0) {
        return;
    }
    if (!of_guard) {
        the.uses_edges();
    }
    the.order.note_other_edges();
    the.make_strand(*f);
    std::uint32_t& known = the.edges[reinterpret_cast<std::uintptr_t>(object)];
    if (first) {
        known = 0;
    }
    the.order.note_edge(f->strand);
    known = the.order.edge_from(f->strand, known, f->edges);
    const std::uint32_t next = the.order.after(f->strand, f->edges, how::call);
    f->begin_strand(next, __builtin_frame_address(0));
}
} // namespace

void release(const void* object) noexcept { release(object, false, false); }
void release_first(const void* object) noexcept { release(object, true, false); }
void release_guard(const void* guard) noexcept { release(guard, true, true); }

void acquire(const void* object) noexcept {
    const in_turn now;
    const inside here;
    fiber* const f = here.checked();
    if (f == nullptr || f->unseen != 0) {
        return;
    }
    const std::uint32_t known = the.edges[reinterpret_cast<std::uintptr_t>(object)];
    if (known == 0 || known == f->acquired || the.order.in_series(the.order.from(known), f->strand)) {
        return; // what follows one strand alone, or what an order by forks holds already
    }
    the.uses_edges();
    the.make_strand(*f);
    f->edges = the.order.both(f->edges, known);
    f->acquired = known;
    f->changed();
}

void relaxed_change(std::uint64_t site) noexcept {
    static atomic_change seen[256];
    const fiber* const f = running_fiber;
    if (the.found.edges || f == nullptr || f->strand == 0) {
        return;
    }
    const atomic_change now{site, f->top->returns_to};
    atomic_change& last = seen[(site ^ site >> 8 ^ now.returns_to) % 256];
    if (last.site == now.site && last.returns_to == now.returns_to) {
        return;
    }
    const inside here;
    last = now;
    std::uint32_t& known = relaxed_known[(site * 0x9E3779B97F4A7C15U ^ now.returns_to) | 1];
    if (known == 0 && the.found.relaxed_count < most_relaxed) {
        known = 1;
        the.found.relaxed = relaxed_sites;
        relaxed_sites[the.found.relaxed_count++] = now;
    } else if (known == 0) {
        the.uses_edges();
    }
}

void reads_atomic(const fiber& f, const volatile void* at, std::uint64_t site) noexcept {
    static const volatile void* last = nullptr;
    static std::uint32_t epoch = 0;
    static unsigned times = 0;
    static timespec begin{};
    static bool others = false; // they get ten times as long
    if (at != last || f.epoch != epoch) {
        last = at;
        epoch = f.epoch;
        times = 0;
        return;
    }
    if (++times % 65'536 != 0) {
        return;
    }
    others = lets_others_run() || (others && times > 65'536);
    epoch = f.epoch;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (times == 65'536) {
        begin = now;
    }
    const char* const asked = std::getenv("PILFER_RACE_PATIENCE");
    if (const long most = asked != nullptr ? std::atol(asked) : 20;
        now.tv_sec - begin.tv_sec < most * (others ? 10 : 1) || the.outside.load() != 0) {
        return;
    }
    const inside here;
    the.found.waits = the.calls.stack(site, the.calls.record(*here.fiber_here));
    stop();
    (void)write_report(the.found);
    std::fflush(nullptr);
    std::_Exit(70);
}

void locks(const void* lock) noexcept {
    add_note(did::locks, lock, 0, 0);
    const inside inner;
    if (fiber* const f = inner.checked()) {
        if (!the.locks.add(f->locks, reinterpret_cast<std::uintptr_t>(lock))) {
            cannot_follow("more than 7 locks at once");
        }
        f->changed();
    }
}

void unlocks(const void* lock) noexcept {
    add_note(did::unlocks, lock, 0, 0);
    const inside inner;
    if (fiber* const f = inner.fiber_here) {
        the.locks.remove(f->locks, reinterpret_cast<std::uintptr_t>(lock));
        f->changed();
    }
}

void fence(bool acquires, bool releases) noexcept {
    const in_turn now;
    static const char order = 0;
    if (running_fiber != nullptr) {
        cannot_follow("fences, each of which counts as an edge to all later ones");
        if (releases) {
            release(&order);
        }
        if (acquires) {
            acquire(&order);
        }
    }
}

void cannot_follow(const char* what) noexcept {
    for (unsigned i = 0; i < the.found.not_followed_count; ++i) {
        if (the.found.not_followed[i] == what) {
            return;
        }
    }
    if (the.found.not_followed_count < most_not_followed) {
        the.found.not_followed[the.found.not_followed_count++] = what;
    }
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
