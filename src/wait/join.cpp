// Waiting and releasing: for contexts and for foreign threads alike.
#include <exception>

#include "platform/os.hpp"
#include "wait/host.hpp"
#include "wait/short_wait.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

struct join_wait : suspension {
    completion<std_atom>* end;
    const pool_core* pool;
};

void look_at_task(const suspension& self, wait_facts& f) noexcept {
    f.task = static_cast<const spark*>(self.object);
    f.elsewhere = static_cast<const join_wait&>(self).pool;
}

constexpr wait_kind join_kind{"another branch of its join", &look_at_task, true};
constexpr wait_kind run_kind{"the task that it gave to another pool's run()", &look_at_task};

// Used by threads outside only, whose code never moves to another thread.
constinit thread_local host* host_here = nullptr;

} // namespace

PILFER_NOINLINE host* host::here() noexcept { return host_here; }
void host::set_here(host* h) noexcept { host_here = h; }

void block_on(foreign_waiter& waiter) noexcept {
    if (host* const h = host::here()) {
        h->work_until_released(waiter);
    }
    waiter.wait<futex_park>();
}

suspension* release_waiter(std::uintptr_t word, worker* w) noexcept {
    if ((word & waiter_is_foreign) != 0) {
        reinterpret_cast<foreign_waiter*>(word & ~waiter_is_foreign)->release<futex_park>();
        return nullptr;
    }
    auto* s = reinterpret_cast<suspension*>(word);
    team& home = scheduler::of(s->home).crew();
    if (s->home->pool != w->pool) {
        make_runnable(s);
        return nullptr;
    }
    switch (home.settings().resume) {
    case resume::anywhere:
        return s;
    case resume::own_thread:
        if (s->home == w) {
            return s;
        }
        make_runnable(s);
        return nullptr;
    case resume::elsewhere:
        if (home.size() == 1) {
            return s;
        }
        home.wakes.send_elsewhere(s, s->home->index);
        return nullptr;
    }
    return s;
}

void wait_for(completion<std_atom>& end, const spark* task, const pool_core* p) noexcept {
    worker* w = this_worker();
    if (w == nullptr) {
        if (short_wait::is_over([&end] { return end.is_done(); })) {
            return;
        }
        foreign_waiter self;
        if (end.publish(reinterpret_cast<std::uintptr_t>(&self) | waiter_is_foreign)) {
            block_on(self);
        }
        return;
    }
    while (!end.is_done()) {
        if (help_on_top(w)) {
            w = this_worker();
            continue;
        }
        join_wait s;
        s.end = &end;
        s.why = p == nullptr ? &join_kind : &run_kind;
        s.object = task;
        s.pool = p;
        s.publish = [](suspension& self) noexcept {
            return static_cast<join_wait&>(self).end->publish(
                reinterpret_cast<std::uintptr_t>(static_cast<suspension*>(&self)));
        };
        suspend(this_worker(), s);
        w = this_worker();
    }
    if (p == nullptr) {
        backend_of(w).joined(task);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
