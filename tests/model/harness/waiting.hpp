// Shared by the harnesses of lists of waiters: wait_in() and go_on() of src/sync, for threads that block.
#pragma once

#include <pilfer/detail/task/completion.hpp>
#include <pilfer/detail/wait/wait_list.hpp>

#include "frame.hpp"

namespace model {

/// To the engine relax() is a wait until another thread changes a value. A holder would always have finished
/// by then, and code after a few vain rounds would never run. The first three rounds therefore take no time
/// here. After them the caller has nothing else to wait by.
struct hasty_atom : atom {
    static void relax(unsigned round) {
        if (round >= 3) {
            atom::relax(round);
        }
    }
};

using waiters = pilfer::detail::wait_list<hasty_atom, park>;

/// `timed`: its time may be over at any moment.
inline void wait_in(waiters& list, waiters::entry& e, bool timed) {
    using latch = pilfer::detail::thread_latch<hasty_atom>;
    box<latch> self;
    self.make();
    if (e.done.publish(reinterpret_cast<std::uintptr_t>(self.get()))) {
        if (!timed || here().choose(2) == 0 || !list.withdraw(e)) {
            self->wait<park>();
        }
    }
    self.end();
}

inline void go_on(waiters::entry& e) {
    const std::uintptr_t who = e.done.complete();
    if (who != 0) {
        reinterpret_cast<pilfer::detail::thread_latch<hasty_atom>*>(who)->release<park>();
    }
}

} // namespace model
