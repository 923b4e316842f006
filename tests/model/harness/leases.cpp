// Leases of instances: owners at their own lists without a read-modify-write, others that stop them.
#include <pilfer/detail/objects/leases.hpp>

#include "../harness.hpp"

namespace {

using namespace model;

/// N workers; an instance is counted before it is made, as in lease().
template <class Atom, unsigned Workers, unsigned Most>
struct lease_client {
    using protocol = pilfer::detail::leases<Atom, park>;
    using place = typename protocol::place;
    struct instance : protocol::node {
        plain<unsigned> uses;
        bool used = false; // of the checker itself
    };
    static constexpr bool fence = std::is_same_v<Atom, symmetric_atom>;

    protocol all;
    place places[Workers];
    instance made[Most];
    plain<unsigned> count; // under the lock
    unsigned leased = 0;   // of the checker itself: leases asked for
    unsigned peak = 0;

    /// As instances::take_cold().
    [[nodiscard]] instance* take_from_others(place* mine) {
        all.lock();
        auto* n = mine != nullptr ? all.take(*mine, fence) : nullptr;
        if (n == nullptr) {
            n = all.take_outside();
        }
        if (n == nullptr) {
            const auto each = [this](auto f) {
                for (place& p : places) {
                    f(p);
                }
            };
            all.stop_owners(each, [&] {
                each([&n](place& p) {
                    if (n == nullptr) {
                        n = p.free.load(pilfer::detail::rlx);
                        if (n != nullptr) {
                            p.free.store(n->next.load(pilfer::detail::rlx), pilfer::detail::rlx);
                        }
                    }
                });
            });
        }
        if (n == nullptr) {
            check(count < Most, "more instances than there ever were users");
            n = &made[count];
            count = count + 1;
        }
        all.unlock();
        return static_cast<instance*>(n);
    }
    [[nodiscard]] instance* lease(place* mine) {
        ++leased;
        peak = leased > peak ? leased : peak;
        auto* n = mine != nullptr ? all.take(*mine, fence) : nullptr;
        auto* i = n != nullptr ? static_cast<instance*>(n) : take_from_others(mine);
        check(!i->used, "an instance with two users");
        i->used = true;
        i->uses = i->uses + 1;
        return i;
    }
    void end(instance* i, place* mine) {
        i->uses = i->uses + 1;
        i->used = false;
        if (mine == nullptr || !all.give(*mine, i, fence)) {
            all.lock();
            if (mine == nullptr || !all.give(*mine, i, fence)) {
                all.give_outside(i);
            }
            all.unlock();
        }
        --leased;
    }
    void finish_with(unsigned leases) {
        check(leased == 0, "a lease that did not end");
        check(count <= peak, "more instances than there ever were users");
        unsigned uses = 0;
        unsigned found = 0;
        const auto walk = [&](const typename protocol::node* n) {
            for (; n != nullptr; n = n->next.load(pilfer::detail::rlx)) {
                ++found;
                uses += static_cast<const instance*>(n)->uses;
                check(found <= count, "a list that comes back to itself");
            }
        };
        walk(all.outside());
        for (const place& p : places) {
            walk(p.free.load(pilfer::detail::rlx));
        }
        check(found == count, "an instance was lost");
        check(uses == 2 * leases, "what somebody wrote into an instance was lost");
    }
};

/// Each worker uses a value twice; the second time it may be one that either worker has returned.
template <class Atom>
struct workers_in_turn : lease_client<Atom, 2, 2> {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        for (int k = 0; k < 2; ++k) {
            this->end(this->lease(&this->places[i]), &this->places[i]);
        }
    }
    void finish() { this->finish_with(4); }
};

/// A thread outside comes to a worker's, which is taking and giving.
template <class Atom>
struct one_from_outside : lease_client<Atom, 1, 2> {
    static constexpr unsigned threads = 2;
    one_from_outside() { this->end(this->lease(&this->places[0]), &this->places[0]); }
    void thread(unsigned i) {
        place* const mine = i == 0 ? &this->places[0] : nullptr;
        for (unsigned k = 0; k < 2 - i; ++k) {
            this->end(this->lease(mine), mine);
        }
    }
    void finish() { this->finish_with(4); }
    using place = typename lease_client<Atom, 1, 2>::place;
};

/// Two that take from others at once: one worker has both instances.
struct two_takers : lease_client<atom, 3, 4> {
    static constexpr unsigned threads = 3;
    two_takers() {
        instance* const a = lease(&places[0]);
        instance* const b = lease(&places[0]);
        end(a, &places[0]);
        end(b, &places[0]);
    }
    void thread(unsigned i) { end(lease(&places[i]), &places[i]); }
    void finish() { finish_with(5); }
};

/// A lease that begins on one worker ends on another, which has a value of its own. No third value is made.
struct lease_that_moves : lease_client<atom, 2, 2> {
    static constexpr unsigned threads = 2;
    instance* moving = lease(&places[0]);
    void thread(unsigned i) {
        if (i == 1) {
            end(moving, &places[1]);
        }
        end(lease(&places[i]), &places[i]);
    }
    void finish() { finish_with(3); }
};

const registered<workers_in_turn<atom>> r1("leases_workers", "two workers, each with its own list");
const registered<workers_in_turn<symmetric_atom>> r2("leases_workers_pinned", "the same without membarrier");
const registered<one_from_outside<atom>> r3("leases_outside", "a thread outside takes what a worker has");
const registered<one_from_outside<symmetric_atom>> r4("leases_outside_pinned", "the same without membarrier");
const registered<two_takers> r5("leases_two_takers", "two take what a third has, which uses it");
const registered<lease_that_moves> r6("leases_moves", "a lease ends on another worker");

} // namespace
