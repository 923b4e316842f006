// Owners that wait for each other: a cycle is named once, by one of its members, and nothing else is.
#include <pilfer/detail/sync/owners.hpp>

#include "../harness.hpp"
#include "frame.hpp"

namespace {

using namespace model;
using pilfer::detail::rlx;

struct owners_client {
    using table = pilfer::detail::owner_table<atom, park, 2>;
    using waiting = typename table::waiting;

    table all;
    typename table::owner_word holder[3]; // of three mutexes; 0: unlocked
    char names[64] = {};
    unsigned cycles = 0; // of the checker itself
    unsigned members = 0;

    /// In another bucket than the one before: accesses under a common lock need no fence.
    [[nodiscard]] const void* name(unsigned who) const noexcept {
        const char* at = names;
        for (unsigned i = 0;; ++at) {
            if (table::place(at) == i % 2 && i++ == who) {
                return at;
            }
        }
    }
    void take(unsigned who, unsigned what) { holder[what].store(name(who), rlx); }
    void leave(unsigned what) { holder[what].store(nullptr, rlx); }
    /// Enters the table and looks; false: it is to wait.
    void look(waiting& w) {
        if (all.names_cycle(w, [this](const waiting&) { ++members; })) {
            ++cycles;
        }
    }
};

/// N threads hold one each and want the next one's, for good.
template <unsigned N>
struct owners_cycle : owners_client {
    static constexpr unsigned threads = N;
    box<waiting> frames[N];

    void thread(unsigned i) {
        take(i, i);
        frames[i].make(name(i), holder[(i + 1) % N], nullptr);
        all.add(*frames[i].get());
        look(*frames[i].get());
    }
    void finish() {
        check(cycles == 1, cycles == 0 ? "a cycle that nobody named" : "a cycle that was named twice");
        check(members == N, "a cycle with other members");
        for (auto& f : frames) {
            all.remove(*f.get());
            f.end();
        }
    }
};

/// A ring of lock calls, but each thread unlocks its own mutex before it waits: there never is a cycle.
struct owners_innocent : owners_client {
    static constexpr unsigned threads = 3;
    box<waiting> frames[3];

    void thread(unsigned i) {
        take(i, i);
        if (i != 0) {
            leave(i);
        }
        frames[i].make(name(i), holder[(i + 1) % 3], nullptr);
        all.add(*frames[i].get());
        look(*frames[i].get());
        all.remove(*frames[i].get());
        frames[i].end();
        if (i == 1) {
            take(i, 2); // the mutex that it has waited for
        }
    }
    void finish() { check(cycles == 0, "a cycle that never was"); }
};

const registered<owners_cycle<2>> r1("owners_two", "two that wait for each other");
const registered<owners_cycle<3>> r2("owners_three", "three in a circle");
const registered<owners_innocent> r3("owners_innocent", "one after the other, but never all at once");

} // namespace
