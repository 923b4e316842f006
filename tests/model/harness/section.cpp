// The recorder's section: the worker enters without a lock, other threads by a heavy fence.
#include "profile/section.hpp"

#include "../harness.hpp"

namespace {

using namespace model;

/// The worker enters several times, each other thread once.
template <class Atom, unsigned Others, unsigned Times>
struct section_client {
    static constexpr unsigned threads = 1 + Others;
    static constexpr bool fence = std::is_same_v<Atom, symmetric_atom>;

    pilfer::profile::section<Atom, park> section{fence};
    plain<unsigned> events;
    bool taken = false; // of the checker itself

    void event() {
        check(!taken, "two threads in the section");
        taken = true;
        events = events + 1;
        check(taken, "two threads in the section");
        taken = false;
    }
    void thread(unsigned i) {
        if (i != 0) {
            section.lock();
            event();
            section.unlock();
            return;
        }
        for (unsigned k = 0; k < Times; ++k) {
            section.enter();
            event();
            section.leave();
        }
    }
    void finish() { check(events == Others + Times, "an event was lost"); }
};

const registered<section_client<atom, 1, 2>> r1("section_worker", "the worker and a thread outside");
const registered<section_client<symmetric_atom, 1, 2>> r2("section_worker_pinned",
                                                          "the same without membarrier");
const registered<section_client<atom, 2, 2>> r3("section_two_outside", "two threads outside at once");

} // namespace
