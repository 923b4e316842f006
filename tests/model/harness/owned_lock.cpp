// The lock of a shelf of the cluster's bag: its owner takes it without a locked instruction.
#include "cluster/owned_lock.hpp"

#include "../harness.hpp"

namespace {

using namespace model;

/// The owner takes it several times, each other thread `Each` times. The owner has it for itself again after
/// once.
template <class Atom, unsigned Others, unsigned Times, unsigned Each>
struct owned_lock_client {
    static constexpr unsigned threads = 1 + Others;
    static constexpr bool reaches = !std::is_same_v<Atom, symmetric_atom>;

    pilfer::detail::owned_lock<Atom, park, 1> lock{reaches};
    plain<unsigned> uses;
    bool taken = false; // of the checker itself

    void use() {
        check(!taken, "two threads have the lock");
        taken = true;
        uses = uses + 1;
        check(taken, "two threads have the lock");
        taken = false;
    }
    void thread(unsigned i) {
        for (unsigned k = 0; k < (i == 0 ? Times : Each); ++k) {
            i == 0 ? lock.lock_as_owner() : lock.lock();
            use();
            i == 0 ? lock.unlock_as_owner() : lock.unlock();
        }
    }
    void finish() { check(uses == Others * Each + Times, "a use was lost"); }
};

const registered<owned_lock_client<atom, 1, 3, 2>> r1("owned_lock_again", "another thread comes twice");
const registered<owned_lock_client<symmetric_atom, 1, 2, 1>> r2("owned_lock_pinned",
                                                                "the same without membarrier");
const registered<owned_lock_client<atom, 2, 2, 1>> r3("owned_lock_two_others", "two other threads at once");

} // namespace
