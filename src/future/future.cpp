// The life of a future: who claims its task, who waits, who is woken.
#include <pilfer/future.hpp>

#include "base/os.hpp"
#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

struct future_wait : suspension {
    future_core* future;
    future_waiter entry;
};

constexpr wait_kind future_kind{"a future", [](const suspension& self, wait_facts& f) noexcept {
                                    static_cast<const future_wait&>(self).future->look(f);
                                }};

} // namespace

future_core::future_core() noexcept { run = &future_core::run_task; }

future_core::~future_core() { delete m_end; }

void future_core::start(pool_core& p) {
    start_by(p, [](worker* w, task_word entry) { return announce(w, entry, way::keep); });
}

void future_core::start(pool_core& p, weight heavy) {
    start_by(p, [heavy](worker* w, task_word entry) {
        return announce_weighted(w, entry, heavy.value(), way::keep);
    });
}

template <class Announce>
void future_core::start_by(pool_core& p, Announce announce) {
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
    if (!announce(w, reinterpret_cast<task_word>(static_cast<spark*>(this)) | kind_spark)) {
        nested_activation child(this_worker(), nullptr);
        (void)run_task(this, this_worker()); // it never resumes anybody directly
    }
}

suspension* future_core::run_task(spark* self, worker* w) noexcept {
    auto* f = static_cast<future_core*>(static_cast<submission*>(self));
    if (f->m_life.claim()) {
        f->run_claimed(w);
    }
    // The last handle may be gone: then the result is destroyed here, which may run and suspend code of the
    // user. That is part of the unit; after its end the pool may shut down.
    f->release();
    unit_ends(this_worker());
    return nullptr;
}

void future_core::look(wait_facts& f) const noexcept {
    using life = future_protocol<std_atom>;
    const life::stage now = m_life.now();
    f.state = now == life::queued ? "queued" : (now == life::running ? "running" : "done");
    f.runner = now == life::running ? m_runner.load(rlx) : nullptr;
    f.elsewhere = m_pool;
}

void future_core::run_claimed(worker* w) noexcept {
    m_runner.store(w->current.load(rlx)->ctx, rlx);
    if (dropping(w)) {
        break_promise();
        count_dropped(w);
    } else {
        execute();
    }
    if (auto* r = static_cast<scheduler*>(this_worker())->recorder()) {
        m_end = r->fulfilled(reinterpret_cast<profile::key>(static_cast<spark*>(this)));
    }
    finish();
}

void future_core::finish() noexcept {
    ensure([this] { return m_life.now() == future_protocol<std_atom>::running; },
           "a future was finished that nobody runs");
    m_life.finish([](std::uintptr_t who) noexcept {
        if ((who & waiter_is_foreign) != 0) {
            (void)release_waiter(who, nullptr);
        } else {
            make_runnable(reinterpret_cast<suspension*>(who));
        }
    });
}

/// Where the task ended is part of the path of whoever goes on behind it.
void future_core::wait() noexcept {
    wait_for_end();
    if (m_end == nullptr) {
        return;
    }
    worker* w = this_worker();
    if (w != nullptr && static_cast<scheduler*>(w)->recorder() == m_end->home.get()) {
        m_end->home->got(*m_end);
    } else {
        m_end->home->got_outside(*m_end);
    }
}

void future_core::wait_for_end() noexcept {
    if (is_done()) {
        return;
    }
    worker* w = this_worker();
    if (w == nullptr) {
        foreign_waiter self;
        future_waiter entry;
        entry.who = reinterpret_cast<std::uintptr_t>(&self) | waiter_is_foreign;
        if (m_life.add_waiter(entry)) {
            block_on(self);
        }
        (void)is_done();
        return;
    }
    // A worker that records leaves the task to its scheduler, which sees where it begins and ends.
    if (w->pool == m_pool && !static_cast<scheduler*>(w)->records() && m_life.claim()) {
        // Nobody has started it: it runs here, as a task of its own. Its announcement finds it claimed.
        // Only in its own pool: its workers, stacks and shutdown are what the task was promised.
        nested_activation child(w, nullptr); // whoever awaits it, it is below of no scope
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
    s.why = &future_kind;
    s.object = this;
    s.entry.who = reinterpret_cast<std::uintptr_t>(static_cast<suspension*>(&s));
    s.publish = [](suspension& self) noexcept {
        auto& wait = static_cast<future_wait&>(self);
        return wait.future->m_life.add_waiter(wait.entry);
    };
    suspend(this_worker(), s);
    (void)is_done();
}

} // namespace detail
} // namespace v0
} // namespace pilfer
