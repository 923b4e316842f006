// The life of a future: who claims its task, who waits, who is woken.
#include <pilfer/future.hpp>

#include "base/os.hpp"
#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// Ends the list of waiters: the result is there, nobody may join the list any more.
[[nodiscard]] future_waiter* closed() noexcept {
    static constinit future_waiter end;
    return &end;
}

struct future_wait : suspension {
    future_core* future;
    future_waiter entry;
    bool (*add)(future_core&, future_waiter&) noexcept;
};

} // namespace

future_core::future_core() noexcept { run = &future_core::run_task; }

future_core::~future_core() = default;

void future_core::start(pool_core& p) {
    m_pool = &p;
    worker* w = this_worker();
    if (w == nullptr || w->pool != &p) {
        try {
            submit(p, this);
        } catch (...) {
            release(); // the announcement's reference
            throw;
        }
        return;
    }
    unit_begins(w);
    if (!announce(w, reinterpret_cast<task_word>(static_cast<spark*>(this)) | kind_spark, way::keep)) {
        nested_activation child(this_worker());
        (void)run_task(this, this_worker()); // it never resumes anybody directly
    }
}

suspension* future_core::run_task(spark* self, worker* w) noexcept {
    auto* f = static_cast<future_core*>(static_cast<submission*>(self));
    if (f->claim()) {
        f->run_claimed(w);
    }
    // The last handle may be gone: then the result is destroyed here, which may run and suspend code of the
    // user. That is part of the unit; after its end the pool may shut down.
    f->release();
    unit_ends(this_worker());
    return nullptr;
}

void future_core::run_claimed(worker* w) noexcept {
    if (dropping(w)) {
        break_promise();
        count_dropped(w);
    } else {
        execute();
    }
    finish();
}

bool future_core::add_waiter(future_waiter& w) noexcept {
    future_waiter* head = m_waiters.load(acq);
    do {
        if (head == closed()) {
            return false;
        }
        w.next = head;
        PILFER_CHAOS_POINT(future);
    } while (!m_waiters.compare_exchange_weak(head, &w, rel, acq));
    return true;
}

void future_core::finish() noexcept {
    ensure([this] { return m_stage.load(rlx) == running; }, "a future was finished that nobody runs");
    PILFER_CHAOS_POINT(future);
    m_stage.store(done, rel);
    PILFER_CHAOS_POINT(future);
    future_waiter* w = m_waiters.exchange(closed(), acq_rel);
    while (w != nullptr) {
        future_waiter* after = w->next; // before its owner may go on
        const std::uintptr_t who = w->who;
        if ((who & waiter_is_foreign) != 0) {
            (void)release_waiter(who, nullptr);
        } else {
            make_runnable(reinterpret_cast<suspension*>(who));
        }
        w = after;
    }
}

void future_core::wait() noexcept {
    if (is_done()) {
        return;
    }
    worker* w = this_worker();
    if (w == nullptr) {
        foreign_waiter self;
        future_waiter entry;
        entry.who = reinterpret_cast<std::uintptr_t>(&self) | waiter_is_foreign;
        if (add_waiter(entry)) {
            block_on(self);
        }
        (void)is_done();
        return;
    }
    if (w->pool == m_pool && claim()) {
        // Nobody has started it: it runs here, as a task of its own. Its announcement finds it claimed.
        // Only in its own pool: its workers, stacks and shutdown are what the task was promised.
        nested_activation child(w);
        run_claimed(w);
        return;
    }
    while (static_cast<scheduler*>(this_worker())->help_on_top()) {
        if (is_done()) {
            return;
        }
    }
    future_wait s;
    s.future = this;
    s.entry.who = reinterpret_cast<std::uintptr_t>(static_cast<suspension*>(&s));
    s.add = [](future_core& f, future_waiter& e) noexcept { return f.add_waiter(e); };
    s.publish = [](suspension& self) noexcept {
        auto& wait = static_cast<future_wait&>(self);
        return wait.add(*wait.future, wait.entry);
    };
    suspend(this_worker(), s);
    (void)is_done();
}

} // namespace detail
} // namespace v0
} // namespace pilfer
