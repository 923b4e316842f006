// Free contexts: the workers' lists, the pool's stock, its limit, and workers that lack a stack.
#include "context/context_lists.hpp"

#include "frame.hpp"

namespace {

using namespace model;
using pilfer::detail::context_stock;
using pilfer::detail::put_and_cut;
using pilfer::detail::ranked;
using pilfer::detail::rlx;

struct alignas(64) context {
    model::atomic<std::uintptr_t> next{0};
    model::atomic<std::uintptr_t> link{0};
    stack on;
    int owner = -1; // Of the checker itself: the worker that runs on it.
};

/// A model of std::mutex.
class lock_word {
public:
    void lock() {
        for (unsigned round = 0; m_word.exchange(1, std::memory_order_acquire) != 0; ++round) {
            atom::relax(round);
        }
    }
    void unlock() { m_word.store(0, std::memory_order_release); }

private:
    model::atomic<int> m_word{0};
};

/// `Most` contexts for `Workers` workers that keep up to `Keep` each; the pool keeps `Reserve`.
template <unsigned Workers, unsigned Most, unsigned Keep, unsigned Reserve>
struct context_client {
    struct worker {
        model::atomic<std::uintptr_t> free{0};
        model::atomic<std::uint32_t> asleep{0};
    };
    lock_word lock;
    context_stock<atom, context, lock_word> stock{lock};
    box<context> made[Most];
    worker workers[Workers];
    // Of the checker itself.
    unsigned alive = 0;
    unsigned busy = Workers;
    unsigned ended = 0;
    bool over = false;

    context_client() { stock.set_limits(Most, Reserve); }

    // ---- as in the library ------------------------------------------------------------------------
    [[nodiscard]] std::uintptr_t refill(unsigned i) {
        context* first = stock.take(Keep, Keep, [this]() -> context* {
            for (auto& b : made) {
                if (!b.alive()) {
                    ++alive;
                    return b.make();
                }
            }
            check(false, "more contexts than the limit");
            return nullptr;
        });
        const std::uintptr_t list = first != nullptr ? first->link.load(rlx) : 0;
        workers[i].free.store(list, rlx);
        return list;
    }
    void give(context* list) {
        for (context* c = list; c != nullptr; c = ranked<context>::node(c->next.load(rlx))) {
            check(c->owner == -1, "a context is given away while somebody runs on it");
        }
        stock.give(list, [this](context* c) {
            for (auto& b : made) {
                if (b.get() == c) {
                    --alive;
                    b.end();
                }
            }
        });
    }
    [[nodiscard]] bool has_context(unsigned i) { return workers[i].free.load(rlx) != 0 || refill(i) != 0; }
    /// switcher::start(), scope::spawn.
    [[nodiscard]] context* take(unsigned i) {
        context* c = ranked<context>::node(workers[i].free.load(rlx));
        workers[i].free.store(c->next.load(rlx), rlx);
        check(c->owner == -1, "a context has two owners");
        c->owner = static_cast<int>(i);
        c->on.run();
        return c;
    }
    /// put_context(), by code that still runs on `c` until it has switched away.
    void put(unsigned i, context* c) {
        auto& free = workers[i].free;
        if (c->next.load(rlx) == free.load(rlx)) {
            free.store(c->link.load(rlx), rlx);
        } else if (context* rest = put_and_cut(free, c, Keep)) {
            give(rest);
        }
        check(length(i) <= Keep, "a worker keeps more contexts than it may");
        c->on.run();
        check(c->owner == static_cast<int>(i), "a context has two owners");
        c->owner = -1;
    }
    /// sleeper::sleep(): a worker that would sleep with a context that others lack returns it.
    void sleep(unsigned i) {
        if (stock.exhausted() && has_context(i)) {
            give(ranked<context>::node(workers[i].free.exchange(0, rlx)));
        }
        auto& state = workers[i].asleep;
        state.store(1, rlx);
        if (over) {
            return;
        }
        while (state.load(std::memory_order_acquire) == 1) {
            park::wait(state, 1);
        }
    }
    /// One that lacks a stack wakes a sleeper, which may hold one, and looks again soon.
    void wake_others(unsigned i) {
        for (unsigned k = 1; k < Workers; ++k) {
            auto& state = workers[(i + k) % Workers].asleep;
            if (state.load(rlx) == 1 && state.exchange(0, std::memory_order_acq_rel) == 1) {
                park::wake(state);
            }
        }
    }
    // -----------------------------------------------------------------------------------------------
    /// The worker's list, whose ranks must fall.
    [[nodiscard]] unsigned length(unsigned i) {
        unsigned n = 0;
        std::uint32_t above = Keep + 1;
        for (std::uintptr_t at = workers[i].free.load(rlx); at != 0; ++n) {
            check(ranked<context>::rank(at) < above, "a rank says less than the length of the list");
            above = ranked<context>::rank(at);
            context* c = ranked<context>::node(at);
            check(c->link.load(rlx) == at, "a context and the list say different ranks of it");
            at = c->next.load(rlx);
        }
        return n;
    }
    [[nodiscard]] context* take_or_wait(unsigned i) {
        while (!has_context(i)) {
            wake_others(i);
            here().relax(); // 500 us
        }
        return take(i);
    }
    /// Worker `i` has nothing to do any more; the last one ends it all.
    void idle(unsigned i) {
        const bool last = --busy == 0;
        over = over || last;
        while (!over) {
            sleep(i);
        }
        ++ended;
        while (last && ended < Workers) {
            for (unsigned k = 1; k < Workers; ++k) {
                auto& state = workers[(i + k) % Workers].asleep;
                (void)state.exchange(0, std::memory_order_acq_rel);
                park::wake(state);
            }
            if (ended < Workers) {
                here().relax();
            }
        }
    }
    void finish() {
        // Every living context is in exactly one list.
        unsigned found = 0;
        for (auto& w : workers) {
            for (context* c = ranked<context>::node(w.free.load(rlx)); c != nullptr;
                 c = ranked<context>::node(c->next.load(rlx))) {
                check(c->owner == -1 && ++found <= Most, "a context lies in two lists");
                c->owner = -2;
            }
        }
        while (context* c = stock.take_last()) {
            check(c->owner == -1 && ++found <= Most, "a context lies in two lists");
            c->owner = -2;
        }
        check(found == alive && found == stock.live(), "a context was lost");
        check(stock.peak() <= Most, "more contexts than the limit");
    }
};

/// Every task takes a stack and ends on it.
struct short_tasks : context_client<2, 1, 1, 1> {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        for (unsigned k = 0; k < 2; ++k) {
            put(i, take_or_wait(i));
        }
        idle(i);
    }
};

/// Three workers and two stacks.
struct three_workers : context_client<3, 2, 1, 1> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        put(i, take_or_wait(i));
        idle(i);
    }
};

/// Contexts suspend on one worker and end on another: one list runs dry, the other one is cut.
struct wandering : context_client<2, 4, 2, 1> {
    static constexpr unsigned threads = 2;
    model::atomic<context*> suspended[3];
    void thread(unsigned i) {
        if (i == 0) {
            for (auto& s : suspended) {
                context* c = take_or_wait(0);
                c->on.leave();
                c->owner = -1;
                s.store(c, std::memory_order_release);
            }
            put(0, take_or_wait(0));
        } else {
            for (auto& s : suspended) {
                context* c = s.load(std::memory_order_acquire);
                while (c == nullptr) {
                    here().relax();
                    c = s.load(std::memory_order_acquire);
                }
                c->on.enter();
                c->owner = 1;
                put(1, c);
            }
            put(1, take_or_wait(1));
        }
        idle(i);
    }
};

/// Nested spawns, deep and less deep by turns: a peak leaves more contexts than the next one begins with.
template <unsigned Keep>
struct peaks : context_client<1, 6, Keep, 1> {
    static constexpr unsigned threads = 1;
    void nest(unsigned deep) {
        context* c = this->take_or_wait(0);
        if (deep > 1) {
            nest(deep - 1);
            if (deep == 3) {
                nest(1); // its list is another one than the one that `c` was taken from
            }
        }
        this->put(0, c);
    }
    void thread(unsigned i) {
        for (unsigned round = 0; round < 3; ++round) {
            nest(6);
        }
        this->idle(i);
    }
};

/// One worker after another: after a peak, all contexts but those that the first worker may keep must be
/// there for the second.
struct hoarding : context_client<2, 6, 2, 6> {
    static constexpr unsigned threads = 2;
    model::atomic<unsigned> turn{0};
    void thread(unsigned i) {
        while (turn.load(std::memory_order_acquire) != i) {
            here().relax();
        }
        context* deep[6];
        for (unsigned round = 0; round < 3; ++round) {
            const unsigned n = i == 0 ? 6 : 4;
            for (unsigned k = 0; k < n; ++k) {
                check(has_context(i), "a worker keeps the contexts that another one lacks");
                deep[k] = take(i);
            }
            for (unsigned k = n; k-- > 0;) {
                put(i, deep[k]);
            }
        }
        turn.store(i + 1, std::memory_order_release);
        idle(i);
    }
};

const registered<short_tasks> r1("contexts_one", "one stack for two workers");
const registered<three_workers> r2("contexts_three", "two stacks for three workers");
const registered<wandering> r3("contexts_wander",
                               "contexts that end on another worker, lists cut, a reserve of one");

const registered<peaks<2>> r4("contexts_peak_2", "peaks of one worker that keeps two contexts");
const registered<peaks<3>> r5("contexts_peak_3", "peaks of one worker that keeps three contexts");
const registered<hoarding> r6("contexts_hoard", "peaks of one worker, then of another one, and few contexts");

} // namespace
