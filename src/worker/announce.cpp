// The cold side of announcing and taking back: room, exposure, waking, yielding, lists.
#include <algorithm>
#include <cstdlib>
#include <thread>

#include "context/switch.hpp"
#include <pilfer/detail/cancel/points.hpp>

#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

struct handing_on : suspension {
    pool_core* pool;
};

struct travelling : handing_on {
    unsigned to;
};

} // namespace

bool scheduler::signalled(task_word task, way may) noexcept {
    if (deque.owner().weighs()) {
        deque.owner().weigh_newest();
    }
    return follow_push(task, may);
}

/// What follows every push that is looked after.
bool scheduler::follow_push(task_word task, way may) noexcept {
    using trip = signal_word<std_atom>;
    trip::word bits = 0;
    {
        const in_activity publishing(current_activity, activity::publishing);
        auto own = deque.owner();
        if (own.weighs() && !own.pinned() && own.has_room() && !deque.signal().has(trip::asked)) {
            return true; // it is only here to be weighed
        }
        // Room first: nothing may be announced before there is some.
        if (!own.make_room() && !grow_ring()) {
            const auto got = own.pop_if(task);
            if (got == split_deque<std_atom>::owner_end::popped::taken ||
                (got == split_deque<std_atom>::owner_end::popped::slow && own.pop_slow(1) == task)) {
                return false;
            }
            // Somebody took a task meanwhile: there is room for one more. deque.E3: acquired before its slot
            // is written.
            (void)own.make_room();
        }
        if (m_count_all) {
            count.announced.add();
        }
        bits = after_push();
    }
    if (PILFER_CHAOS_MAYBE(yield)) {
        bits |= trip::yield_request;
        m_patience = 1;
    }
    if ((bits & trip::yield_request) != 0) {
        if (m_patience > 0) {
            m_patience = m_patience - 1;
        }
        if (m_patience == 0 && may == way::make) {
            m_patience = yield_patience;
            return yield_after_announcing(task);
        }
        keep_yield_requests(bits);
    }
    return true;
}

/// Takes what others ask for. Whoever acts on it looks at the state behind each bit.
signal_word<std_atom>::word scheduler::take_bits() noexcept {
    if (deque.owner().pinned()) {
        // idle.S1: without membarrier the sleeper's fence orders only itself, so the push needs one of its
        // own. take() alone is no fence: it acquires, and the sleeper's set() releases.
        std_atom::fence_sc();
    }
    return deque.signal().take();
}

/// A summons that cannot be followed here stays until somebody makes way: the next announcement counts, and
/// loops and sync see it.
void scheduler::keep_yield_requests(signal_word<std_atom>::word bits) noexcept {
    if ((bits & signal_word<std_atom>::yield_request) != 0) {
        deque.signal().set(signal_word<std_atom>::yield_request);
    }
}

/// What every insertion owes to the policy and to others. Returns the bits that it took; `yield_request` is
/// left to the caller.
signal_word<std_atom>::word scheduler::after_push() noexcept {
    using trip = signal_word<std_atom>;
    const auto bits = take_bits();
    if (m_pool.settings().balance.exposure != exposure::on_demand) {
        // The contexts of one thread share this plain value, and ThreadSanitizer takes them for strangers.
        san::acquire(&m_exposer);
        const std::uint64_t n = m_exposer.after_push(load_now(), (bits & (trip::wanted | trip::expose)) != 0);
        san::release(&m_exposer);
        expose(n);
    } else if (PILFER_CHAOS_MAYBE(expose)) {
        expose_some();
    }
    answer(bits);
    return bits;
}

/// A reach may be under way, and then it is its numbers that count.
scales<std_atom> scheduler::load_now() noexcept { return deque.thief().scales(); }

/// The running frame goes behind what waits, and takes `task`, which it has just announced, along: what comes
/// now on this worker may never come back to its deque, and the frame would soon wait for a task that nobody
/// takes up. Its older tasks stay; idle workers take them.
bool scheduler::yield_after_announcing(task_word task) noexcept {
    std_atom::fence_sc(); // see yield_to_queued()
    if (!has_others_to_run()) {
        return true;
    }
    auto own = deque.owner();
    const std::uint64_t weight = own.newest_weight();
    const auto got = own.pop_if(task);
    const bool mine = got == split_deque<std_atom>::owner_end::popped::taken ||
                      (got == split_deque<std_atom>::owner_end::popped::slow && own.pop_slow(1) == task);
    if (mine && m_count_all) {
        count.run_inline.add(); // it is announced once more
    }
    yield_here();
    return !mine || of(this_worker()).announce_again(task, weight, way::keep);
}

/// Shares if somebody wants work, and wakes one who sleeps for lack of it.
void scheduler::answer(signal_word<std_atom>::word bits) noexcept {
    using trip = signal_word<std_atom>;
    if ((bits & (trip::expose | trip::wanted)) == 0 || m_pool.is_forked_child()) {
        return;
    }
    expose_some();
    if ((bits & trip::wanted) != 0 && deque.thief().has_any()) {
        unsigned last = m_last_woken;
        if (m_pool.idle().publish(index, last, deque.signal())) {
            woke(last);
        }
        m_last_woken = last;
    }
}

void scheduler::attend() noexcept {
    const auto bits = take_bits();
    answer(bits);
    if ((bits & signal_word<std_atom>::yield_request) != 0) {
        m_patience = yield_patience;
        yield_to_queued();
    }
}

/// Somebody asked: as many of the oldest as its amount needs.
///
/// A thief that takes one task at a time comes back soon, and asking costs it about a task of a microsecond.
/// So the on-demand rule gives it an eighth of what is private where nothing is shared: that keeps it busy in
/// flat parallelism and is one or two tasks of a recursion. At most 64: each that comes back costs the owner
/// a lock and a fence.
void scheduler::expose_some() noexcept {
    const options& o = m_pool.settings();
    const auto now = load_now();
    if (o.balance.steal.what == steal_amount::rule::one && o.balance.exposure == exposure::on_demand) {
        if (now.shared == 0) {
            expose(std::clamp<std::uint64_t>(now.own / 8, 1, 64));
        }
        return;
    }
    expose(balance::exposer::for_thief(balance::steal_batch(requested.load(rlx)), o.balance.steal, now));
}

bool scheduler::anything_queued(priority lowest) noexcept {
    // Submissions before runnable contexts: a worker that makes way pushes its context and takes a submission
    // afterwards, so one of the two is seen.
    return !m_inbox.empty() || !m_pool.submissions.empty_from(lowest) || !m_pool.runnable.empty();
}

bool scheduler::anything_ready() noexcept {
    if (m_pool.stopping() || anything_queued()) {
        return true;
    }
    for (unsigned k = 0; k < m_pool.size(); ++k) {
        if (m_pool.at((index + k) % m_pool.size()).deque.thief().has_any()) {
            return true;
        }
    }
    return false;
}

/// Everybody is summoned, one is needed: most find that nothing waits any more. A bit that was taken
/// while an earlier one was being served is not lost: it is set again before the next context starts.
void scheduler::yield_to_queued() noexcept {
    std_atom::fence_sc(); // with the one in notify: who found the bit still set has pushed before this look
    if (has_others_to_run()) {
        yield_here();
    }
}

/// Is there anything that the running frame would make way for? Not in a child of fork(), whatever the parent
/// had queued: that runs in the parent.
bool scheduler::has_others_to_run() noexcept {
    return (anything_queued(m_level) || retires() || anything_left()) && !m_pool.is_forked_child();
}

/// Alone a worker has nobody to share with, whatever its policy exposes.
void scheduler::mark_task(task_word task) noexcept {
    if (m_pool.size() > 1) {
        const auto* const at = reinterpret_cast<const void*>(task & ~kind_mask);
        san::acquire(at); // deque.R2 again: the owner's stores are those of several fibers
        mark_scopes(scope_access::parent(task));
        san::release(at); // behind this look at its frame
    }
}

void scheduler::expose(std::uint64_t n) noexcept {
    if (n == 0) {
        return;
    }
    const std::int64_t moved = deque.owner().expose(static_cast<std::int64_t>(n), marking());
    if (moved > 0) {
        count.exposures.add();
        count.exposed_tasks.add(static_cast<std::uint64_t>(moved));
        note(trace::what::expose, 0, static_cast<std::uint32_t>(moved));
    }
}

bool scheduler::grow_ring() noexcept {
    auto own = deque.owner();
    const bool weighs = own.weighs();
    if (weighs && own.capacity() >= most_weighed) {
        return false;
    }
    ring<std_atom>* bigger = make_ring(own.capacity() * 2, weighs);
    if (bigger == nullptr) {
        return false;
    }
    own.grow(bigger);
    return true;
}

/// The running context goes behind everything else that waits for this worker.
void scheduler::yield_here() noexcept {
    handing_on s;
    s.pool = &m_pool;
    s.publish = [](suspension& self) noexcept {
        static_cast<handing_on&>(self).pool->requeue(&self);
        return true;
    };
    note(trace::what::yield);
    m_submissions_first = true;
    m_yielded_for = static_cast<priority>(m_level);
    suspend_here(s);
}

void scheduler::let_others_first() noexcept {
    if (m_pool.is_forked_child()) {
        std::this_thread::yield(); // the frame cannot leave its stack, nor anything run on top of it
        return;
    }
    m_own_first = true;
    yield_here();
}

void scheduler::go_to(unsigned number) noexcept {
    travelling s;
    s.pool = &m_pool;
    s.to = number;
    s.publish = [](suspension& self) noexcept {
        auto& frame = static_cast<travelling&>(self);
        frame.pool->send_to(&frame, frame.to);
        return true;
    };
    suspend_here(s);
}

worker* scheduler::reclaim_slow(task_word task) noexcept {
    const std::int64_t most = m_pool.settings().balance.unshare == unshare::all ? INT64_MAX / 4 : 1;
    const task_word got = deque.owner().pop_slow(most);
    if (got != task) {
        // Thieves take the oldest first: when `task` is gone, so is everything older.
        if (got != 0) {
            os::write_error("pilfer: internal error: a stranger's task was taken back\n");
            std::abort();
        }
        return nullptr;
    }
    if (m_count_all) {
        count.run_inline.add();
    }
    if (m_pool.settings().resume != resume::elsewhere || m_pool.size() == 1 || m_pool.is_forked_child()) {
        return this;
    }
    // Test mode: this join goes on on another worker.
    handing_on s;
    s.pool = &m_pool;
    s.publish = [](suspension& self) noexcept {
        static_cast<handing_on&>(self).pool->send_elsewhere(&self, self.home->index);
        return true;
    };
    suspend_here(s);
    return this_worker();
}

task_word scheduler::take_newest_spark() noexcept {
    auto own = deque.owner();
    if (own.weighs() || own.private_size() <= 0) { // what is announced again would have lost its weight
        return 0;
    }
    const task_word newest = own.peek();
    if (newest == 0 || (newest & kind_mask) != kind_spark) {
        return 0;
    }
    const task_word got = own.pop(1);
    if (got != 0 && m_count_all) {
        count.run_inline.add();
    }
    return got;
}

bool scheduler::help_on_top() noexcept {
    // A worker that suspends its last context must be able to start another one, or have nothing left to
    // start: otherwise its tasks would wait for a stack, and the stacks for its tasks.
    if (m_pool.is_forked_child() || has_context() || takes_beyond()) {
        return false;
    }
    const task_word task = help_own();
    if (task != 0) {
        count.run_own.add();
        count.no_context.add();
        note_run(trace::what::top_own, task);
        run_on_top(task);
        return true;
    }
    // What this frame announced may lie in the deque of a worker that it has left, where nobody has a
    // stack to start it on.
    for (unsigned k = 1; k < m_pool.size(); ++k) {
        if (const task_word stolen = help_other((index + k) % m_pool.size())) {
            count.run_stolen.add();
            count.tasks_stolen.add();
            count.no_context.add();
            note_run(trace::what::top_stolen, stolen, (index + k) % m_pool.size());
            run_on_top(stolen);
            return true;
        }
    }
    // Children that another pool's task gave this frame's scope are submissions, and where there are levels
    // of the highest one. Nothing below the level of this frame begins on top of it. None is missed: nobody
    // else may have a stack for it.
    const priority mine = m_level;
    if (m_pool.submissions.empty_from(mine)) {
        return false;
    }
    const auto [n, level] = m_pool.submissions.insist_from(mine);
    if (n == nullptr) {
        return false;
    }
    m_pool.left_queue();
    count.run_submitted.add();
    count.no_context.add();
    note_slice(trace::what::top_submitted, trace::task::submission);
    spark* job = static_cast<submission*>(n);
    san::release(job);
    m_level = level;
    run_on_top(reinterpret_cast<task_word>(job));
    of(this_worker()).m_level = mine;
    return true;
}

bool scheduler::takes_beyond() noexcept {
    const context* const here = current.load(rlx)->ctx;
    const auto at = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (here == nullptr ||
        at - reinterpret_cast<std::uintptr_t>(here->low) >= m_pool.stacks.stack_size() / 2) {
        return false;
    }
    const context* const one = m_pool.stacks.take_beyond();
    if (one == nullptr) {
        return false;
    }
    free_contexts.store(one->link.load(rlx), rlx);
    return true;
}

/// A continuation needs no stack: where one is the oldest, any idle worker goes on with it, and whatever lies
/// behind it is that frame's affair.
task_word scheduler::help_other(unsigned victim) noexcept {
    return m_pool.at(victim).deque.thief().steal_until_settled(
        [](task_word t) { return (t & kind_mask) != kind_continuation; },
        [this](steal_status status) {
            count.steals_tried.add();
            if (status == steal_status::lost) {
                count.steals_lost.add();
            } else if (status != steal_status::success) {
                count.steals_failed.add();
            }
        },
        marking());
}

task_word scheduler::help_own() noexcept {
    auto own = deque.owner();
    const task_word newest = own.peek();
    if (newest == 0 || (newest & kind_mask) == kind_continuation) {
        return 0;
    }
    return own.pop(1); // the same one, or nothing where thieves were faster
}

void scheduler::run_on_top(task_word task) noexcept {
    nested_activation child(this, scope_access::parent(task));
    (void)stopped_here(this); // see start()
    void* const beneath = m_backend.task_leaves();
    m_backend.task_begins(*this, task);
    auto* job = reinterpret_cast<spark*>(task & ~kind_mask);
    if (suspension* next = std::atomic_ref(job->run).load(rlx)(job, this)) {
        make_runnable(next);
    }
    scheduler& here = of(this_worker());
    m_backend.task_ends();
    m_backend.task_returns(here, beneath);
    here.note(trace::what::top_ended);
}

// ---- lists ------------------------------------------------------------------------------------

std::uintptr_t scheduler::refill_contexts() noexcept {
    if (m_pool.is_forked_child()) {
        return 0; // in a child of fork(): another thread may have held the lock of the stacks
    }
    // Only a pool with a limit: what the others promise while stacks can be had stays promised.
    if (m_pool.settings().max_contexts != 0 && PILFER_CHAOS_MAYBE(refuse_context)) {
        return 0;
    }
    PILFER_CHAOS_POINT(contexts);
    const context* const first = m_pool.stacks.take(32);
    const std::uintptr_t list = first != nullptr ? first->link.load(rlx) : 0;
    free_contexts.store(list, rlx);
    return list;
}

void put_context_cold(worker* w, context* c) noexcept {
    auto& stacks = static_cast<scheduler*>(w)->core().stacks;
    if (context* rest = put_and_cut(w->free_contexts, c, stacks.keep())) {
        if (!static_cast<scheduler*>(w)->core().is_forked_child()) { // else its lock may be held for ever
            stacks.give(rest);
        }
    }
}

void* take_record_cold(worker* w, unsigned size_class) {
    free_record* list = static_cast<scheduler*>(w)->core().records.take(size_class);
    san::acquire(list);
    w->free_records[size_class].store(list->next.load(rlx), rlx);
    return list + 1;
}

void put_record_cold(worker* w, unsigned size_class, free_record* r) noexcept {
    free_record* head = w->free_records[size_class].load(rlx);
    san::acquire(head);
    const std::uint32_t length = head != nullptr ? head->rank.load(rlx) + 1 : 1;
    r->next.store(head, rlx);
    r->rank.store(length, rlx);
    w->free_records[size_class].store(r, rlx);
    if (length < 1024) {
        return;
    }
    // The newest stay, they are warm: the 32 behind the first 32 go.
    free_record* last = r;
    for (unsigned i = 1; i < record_pool::batch_size; ++i) {
        last = last->next.load(rlx);
    }
    free_record* batch = last->next.load(rlx);
    free_record* end = batch;
    for (unsigned i = 1; i < record_pool::batch_size; ++i) {
        end = end->next.load(rlx);
    }
    last->next.store(end->next.load(rlx), rlx);
    end->next.store(nullptr, rlx);
    std::uint32_t rank = last->next.load(rlx) != nullptr ? last->next.load(rlx)->rank.load(rlx) : 0;
    rank += record_pool::batch_size;
    for (free_record* k = r; k != last->next.load(rlx); k = k->next.load(rlx)) {
        k->rank.store(rank--, rlx);
    }
    static_cast<scheduler*>(w)->core().records.give(size_class, batch);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
