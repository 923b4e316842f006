// The life of a future: claims of its task, waits for it, and wake-ups.
#include <pilfer/future.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/task/nested.hpp>

#include "platform/os.hpp"
#include "pool/pool_core.hpp"
#include "profile/recorder.hpp"
#include "task/recorded_limit.hpp"
#include "wait/short_wait.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

struct future_wait : suspension {
    future_core* future;
    future_waiter entry;
};

/// Facts for a report about a wait with or without a time limit.
void look_at(const suspension& self, wait_facts& f) noexcept {
    static_cast<const future_core*>(self.object)->look(f);
}

// By future_source.
constexpr wait_kind kinds[] = {{"a future", &look_at, true},
                               {"a promise", &look_at},
                               {"a future", &look_at, true},
                               {"a combination of futures", &look_at, true},
                               {"a coroutine", &look_at, true}};

[[nodiscard]] const wait_kind& kind_of(future_source s) noexcept { return kinds[static_cast<unsigned>(s)]; }

[[nodiscard]] const char* pending_state(future_source s) noexcept {
    switch (s) {
    case future_source::promise:
        return "not set";
    case future_source::follower:
        return "to begin behind another future";
    case future_source::task:
    case future_source::combination:
    case future_source::coroutine:
        break;
    }
    return "incomplete";
}

/// Every this many claims that leave their announcement in the deque, the worker looks for others of the
/// kind. A look costs about a tenth of a claim.
constexpr unsigned sweep_every = 32;

} // namespace

// offsetof() is also used on types without standard layout. Both compilers place their members alike.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
struct future_layout {
    static constexpr std::uint64_t life = offsetof(future_core, m_life);
    static constexpr std::uint64_t runner = offsetof(future_core, m_runner);
};
#pragma GCC diagnostic pop

/// For tools/gdb/pilfer.py: the debug information of a program has only a declaration of this class, because
/// its virtual functions are in the library. The stage is the first word of m_life.
extern "C" PILFER_API __attribute__((used)) const std::uint64_t pilfer_v0_future_layout[] = {
    future_layout::life, future_layout::runner, sizeof(future_core)};

future_follower::future_follower(future_core& task) noexcept
    : future_listener([](future_listener& self) noexcept {
          return static_cast<future_follower&>(self).follower->go_ahead();
      }),
      follower(&task) {}

timed_waiters::timed_waiters() noexcept
    : future_listener([](future_listener& self) noexcept -> future_core* {
          go_on_all(static_cast<timed_waiters&>(self).waiter_list.close());
          return nullptr;
      }) {}

future_core::future_core() noexcept { run = &future_core::run_task; }

future_core::future_core(future_source from, std::uint32_t references) noexcept
    : m_life(future_protocol<std_atom>::pending, references), m_source(from) {
    run = &future_core::run_task;
}

future_core::~future_core() {
    delete m_end;
    delete m_waiters_cell.look();
}

void future_core::start(pool_core& p) {
    start_by(p, [](worker* w, task_word entry) { return announce(w, entry, way::keep); });
}

void future_core::start(pool_core& p, const task_options& o) {
    if (o.priority == priority::automatic) {
        start_by(
            p, [&o](worker* w, task_word entry) { return announce_weighted(w, entry, o.weight, way::keep); });
        return;
    }
    belongs_in(p);
    try {
        submit(p, this, o.priority);
    } catch (...) {
        release(); // the announcement's reference
        throw;
    }
}

template <class Announce>
void future_core::start_by(pool_core& p, Announce announce) {
    m_pool = &p;
    m_pool_number = p.listed.number;
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
    if (p.is_forked_child()) [[unlikely]] {
        release(); // the announcement's reference
        throw pool_forked();
    }
    begin_outstanding(w);
    if (!announce(w, reinterpret_cast<task_word>(static_cast<spark*>(this)) | kind_spark)) {
        nested_activation child(this_worker(), nullptr);
        (void)run_task(this, this_worker()); // it never resumes another task directly
    }
}

void future_core::belongs_in(pool_core& p) noexcept {
    m_pool = &p;
    m_pool_number = p.listed.number;
}

void future_core::start_behind(future_core& source, pool_core* p, future_follower& place) {
    if (p == nullptr && source.m_pool != nullptr) {
        m_pool = source.m_pool; // it may have ended, with the task of `source`
        m_pool_number = source.m_pool_number;
    } else {
        try {
            const worker* w = this_worker();
            m_pool = p != nullptr ? p : (w != nullptr ? w->pool : &common_core());
        } catch (...) {
            release(); // the announcement's reference
            throw;
        }
        m_pool_number = m_pool->listed.number;
    }
    source.listen(place);
}

/// The future that it waited for is done. Runs on the stack of the thread that ended that future. So the task
/// is announced, and never run here.
future_core* future_core::go_ahead() noexcept {
    m_life.enqueue();
    worker* w = this_worker();
    if (w != nullptr && belongs_to(*w->pool) && backend_of(w).may_announce(*static_cast<scheduler*>(w))) {
        begin_outstanding(w);
        if (announce(w, reinterpret_cast<task_word>(static_cast<spark*>(this)) | kind_spark, way::keep)) {
            return nullptr;
        }
        end_outstanding(w); // no memory for a larger ring; the submission queue needs none
    }
    if (registry::submit_to(m_pool_number, this)) {
        return nullptr;
    }
    if (m_life.claim()) {
        refuse();
        return this;
    }
    release(); // a waiter has claimed it
    return nullptr;
}

suspension* future_core::run_task(spark* self, worker* w) noexcept {
    auto* f = static_cast<future_core*>(static_cast<submission*>(self));
    if (f->m_life.claim()) {
        f->run_claimed(w);
    }
    // The last handle may be gone: then the result is destroyed here, which may run and suspend code of the
    // user. That is part of the task; after its end the pool may shut down.
    f->release();
    end_outstanding(this_worker());
    return nullptr;
}

/// By the number: the pool of a task that has not begun may have ended, and another pool may have its
/// address.
bool future_core::belongs_to(const pool_core& p) const noexcept { return p.listed.number == m_pool_number; }

/// If no worker has started the task, it runs on top of the caller's frame, as a task of its own.
bool future_core::run_here(worker* w) noexcept {
    // If the task is the newest announcement of this very worker, it is taken back first: a loop that
    // announces and gets would otherwise fill the deque. Any other announcement stays in its place and finds
    // the task claimed.
    worker* home = m_life.now() == future_protocol<std_atom>::queued
                       ? reclaim(w, reinterpret_cast<task_word>(static_cast<spark*>(this)) | kind_spark)
                       : nullptr;
    w = home != nullptr ? home : this_worker();
    // Only tasks: the queues hold coroutines, too, and a waiter must not run one.
    if (home == nullptr && m_life.now() == future_protocol<std_atom>::queued &&
        backend_of(w).dequeue(*static_cast<scheduler*>(w), *this)) {
        home = w;
    }
    const bool mine = m_life.claim();
    if (mine) {
        nested_activation child(w, nullptr); // no scope encloses it, whichever task awaits it
        run_claimed(w);
    }
    if (home != nullptr) {
        release(); // not the last reference: the caller has one
        end_outstanding(this_worker());
        sweep();
    } else if (mine) {
        auto& stale_announcements = static_cast<scheduler*>(this_worker())->stale_announcements;
        stale_announcements = stale_announcements + 1;
        if (stale_announcements % sweep_every == 0) {
            sweep();
        }
    }
    return mine;
}

/// Ends announcements of this worker that found their tasks claimed, newest first, up to the first other
/// task. Otherwise they would pile up in a task that never returns to its scheduler and gets its oldest
/// future first.
void future_core::sweep() noexcept {
    for (;;) {
        auto& here = *static_cast<scheduler*>(this_worker());
        if (here.stale_announcements == 0) {
            return;
        }
        const task_word newest = here.sharing.take_newest_spark();
        if (newest == 0) {
            here.stale_announcements = 0;
            return;
        }
        auto* const s = reinterpret_cast<spark*>(newest & ~kind_mask);
        san::acquire(s); // another task of this thread may have announced it
        if ((newest & kind_mask) == kind_spark &&
            std::atomic_ref(s->run).load(rlx) == &future_core::run_task) {
            auto* const f = static_cast<future_core*>(static_cast<submission*>(s));
            if (f->m_life.now() > future_protocol<std_atom>::queued) {
                here.stale_announcements = here.stale_announcements - 1;
                f->release(); // may end the result, and with that move the frame
                end_outstanding(this_worker());
                continue;
            }
        }
        [[maybe_unused]] const bool back = announce_again(&here, newest, way::keep);
        ensure([back] { return back; }, "a task had no place where it had lain");
        return;
    }
}

void future_core::look(wait_facts& f) const noexcept {
    look_at_words(f);
    f.coroutine = coroutine();
}

void future_core::look_at_words(wait_facts& f) const noexcept {
    using life = future_protocol<std_atom>;
    const life::stage now = m_life.now();
    const char* const states[] = {pending_state(m_source), "queued", "running", "done"};
    f.state = states[now];
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
    end();
}

void future_core::end() noexcept {
    if (worker* w = this_worker(); w != nullptr) {
        m_end = backend_of(w).future_ends(this);
    }
    future_core* more = nullptr;
    tell(more);
    end_all(more);
}

/// Releases all waiters of this future. Afterwards only its references keep this object alive.
void future_core::tell(future_core*& more) noexcept {
    PILFER_TEST_ORDER("ends a future", this);
    ensure([this] { return m_life.now() == future_protocol<std_atom>::running; },
           "a future was finished that nobody runs");
    m_life.finish([&more](std::uintptr_t who) noexcept {
        if ((who & waiter_is_listener) != 0) {
            auto& l = *reinterpret_cast<future_listener*>(who & ~waiter_is_listener);
            if (future_core* const ended = l.fire(l)) {
                ended->next = more; // it is in no queue
                more = ended;
            }
        } else if ((who & waiter_is_foreign) != 0) {
            (void)release_waiter(who, nullptr);
        } else {
            make_runnable(reinterpret_cast<suspension*>(who));
        }
    });
}

/// Ends futures that have their results. The end of one may cause the end of others.
void future_core::end_all(future_core* more) noexcept {
    while (more != nullptr) {
        future_core* const f = more;
        more = static_cast<future_core*>(static_cast<submission*>(f->next));
        f->tell(more);
        f->release();
    }
}

void future_core::listen(future_listener& l) noexcept {
    PILFER_TEST_ORDER("listens to a future", this);
    if (!m_life.add_waiter(l)) {
        if (future_core* const ended = l.fire(l)) {
            ended->next = nullptr;
            end_all(ended);
        }
    }
}

/// The end of the task is part of the critical path of a task that waited for it.
void future_core::wait() {
    wait_for_end(may_leave::when_stopped);
    record_wait();
}

void future_core::wait_to_the_end() noexcept {
    wait_for_end(may_leave::no);
    record_wait();
}

void future_core::record_wait() noexcept {
    race::acquire(this);
    if (m_end == nullptr) {
        return;
    }
    worker* w = this_worker();
    if (w == nullptr || !backend_of(w).got(*m_end)) {
        m_end->home->got_outside(*m_end);
    }
}

/// Called if the future is not done. Throws if the task that would end it is in the parent process.
void future_core::check_here() const {
    if (m_pool_number != 0 && registry::is_forked_child(m_pool_number)) [[unlikely]] {
        throw pool_forked();
    }
}

void future_core::wait_for_end(may_leave when) {
    PILFER_TEST_POINT("waits for a future", this);
    if (is_done()) {
        return;
    }
    check_here();
    worker* w = this_worker();
    if (w == nullptr) {
        if (short_wait::is_over([this] { return is_done(); })) {
            return;
        }
        foreign_waiter self;
        future_waiter entry;
        entry.who = reinterpret_cast<std::uintptr_t>(&self) | waiter_is_foreign;
        if (m_life.add_waiter(entry)) {
            block_on(self);
        }
        (void)is_done();
        return;
    }
    // A task runs here only in its own pool: its workers, stacks and shutdown are what the task was promised.
    if (belongs_to(*w->pool) && backend_of(w).may_run_awaited() && run_here(w)) {
        return;
    }
    while (help_on_top(this_worker())) {
        if (is_done()) {
            return;
        }
    }
    if (when == may_leave::when_stopped && wait_stoppably()) {
        return;
    }
    future_wait s;
    s.future = this;
    s.why = &kind_of(m_source);
    s.object = this;
    s.entry.who = reinterpret_cast<std::uintptr_t>(static_cast<suspension*>(&s));
    s.publish = [](suspension& self) noexcept {
        auto& wait = static_cast<future_wait&>(self);
        return wait.future->m_life.add_waiter(wait.entry);
    };
    suspend(this_worker(), s);
    (void)is_done();
}

/// Those who wait for the end leave only with it, so a task that may be stopped before waits in the list of
/// those with a time limit. False: it is to wait as any other.
bool future_core::wait_stoppably() {
    if (worker* w = this_worker(); w == nullptr || !can_be_stopped(w)) {
        return false; // see wait_in()
    }
    timed_waiters* const there = try_timed_list();
    if (there == nullptr) {
        return false; // without memory it is stopped after its wait
    }
    waiters::entry e;
    if (there->waiter_list.enter(e)) {
        wait_in(there->waiter_list.waiters(), e, never, kind_of(m_source), this, awaited::anything,
                leaves::when_stopped);
    }
    if (!is_done()) {
        leave_if_stopped();
    }
    return is_done();
}

bool future_core::wait_until(instant until) {
    PILFER_TEST_POINT("waits for a future with a time limit", this);
    if (!is_done()) {
        check_here();
        if (!time_is_over_as_recorded(until <= detail::now())) {
            auto& waiter_list = this->waiter_list().waiter_list;
            waiters::entry e;
            if (waiter_list.enter(e)) {
                wait_in(waiter_list.waiters(), e, until, kind_of(m_source), this, awaited::anything,
                        leaves::when_stopped);
            }
        } else {
            give_way();
        }
        if (!is_done()) { // the end may have come right after the time
            leave_if_stopped();
            return false;
        }
    }
    record_wait();
    return true;
}

timed_waiters& future_core::waiter_list() {
    timed_waiters* there = m_waiters_cell.look();
    if (there == nullptr) {
        auto mine = std::make_unique<timed_waiters>();
        there = m_waiters_cell.put(mine.get());
        if (there == nullptr) {
            there = mine.release();
            listen(*there); // at once, if the end has come: then no entry enters
        }
    }
    return *there;
}

timed_waiters* future_core::try_timed_list() noexcept {
    try {
        return &waiter_list();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
