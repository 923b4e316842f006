// The cold side of announcing and taking back: room, exposure, waking, yielding, lists.
#include <cstdlib>

#include "context/switch.hpp"
#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// How many tasks a summoned worker may still start before it yields to what waits for it.
constexpr unsigned summon_patience = 64;

struct handing_on : suspension {
    pool_core* pool;
};

}  // namespace

bool announce_tripped(worker* w, task_word task) noexcept {
    return static_cast<scheduler*>(w)->tripped(task);
}

bool scheduler::tripped(task_word task) noexcept {
    using trip = tripwire<std_atom>;
    auto own = deque.owner();
    // Room first: nothing may be announced before there is some.
    if (!own.make_room() && !grow_ring()) {
        const auto got = own.pop_if(task);
        if (got == split_deque<std_atom>::owner_end::popped::taken ||
            (got == split_deque<std_atom>::owner_end::popped::slow && own.pop_slow(1) == task)) {
            return false;
        }
        // Somebody took a task meanwhile: there is room for one more.
    }
    if (m_count_all) {
        count.announced.add();
    }
    const auto bits = deque.trip().take();
    if (m_pool.settings().exposure == exposure::always_public) {
        expose(INT64_MAX / 4);
    } else if ((bits & (trip::expose | trip::wanted)) != 0 && own.shared_size() <= 0) {
        expose(1);
    }
    if ((bits & trip::wanted) != 0) {
        const unsigned before = m_last_woken;
        m_last_woken = m_pool.idle().publish(index, before, deque.trip());
        if (m_last_woken != before && m_last_woken != pool_core::pool_sleepers::nobody) {
            count.wakes.add();
        }
    }
    if ((bits & trip::summon) != 0 && m_summoned == 0) {
        m_summoned = summon_patience;
        deque.trip().pin(true);
    }
    if (m_summoned != 0 && --m_summoned == 0) {
        deque.trip().pin(deque.owner().pinned());
        yield_here();
    }
    return true;
}

void scheduler::expose(std::int64_t n) noexcept {
    const std::int64_t moved = deque.owner().expose(n);
    if (moved > 0) {
        count.exposures.add();
        count.exposed_tasks.add(static_cast<std::uint64_t>(moved));
    }
}

bool scheduler::grow_ring() noexcept {
    auto own = deque.owner();
    ring<std_atom>* bigger = make_ring(own.capacity() * 2);
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
    m_ends |= fairness_mask;  // the next look starts at the submissions
    suspend_here(s);
}

worker* reclaim_slow(worker* w, task_word task) noexcept {
    return static_cast<scheduler*>(w)->reclaim_slow(task);
}

worker* scheduler::reclaim_slow(task_word task) noexcept {
    const std::int64_t most = m_pool.settings().take_back == take_back::all ? INT64_MAX / 4 : 1;
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
    if (m_pool.settings().resume != resume::elsewhere || m_pool.size() == 1) {
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

bool scheduler::help_on_top() noexcept {
    // A worker that suspends its last context must be able to start another one, or have nothing left to
    // start: otherwise its tasks would wait for a stack, and the stacks for its tasks.
    if (has_context()) {
        return false;
    }
    auto own = deque.owner();
    const task_word newest = own.peek();
    if (newest == 0 || (newest & kind_mask) == kind_continuation) {
        return false;
    }
    const task_word task = own.pop(1);
    if (task == 0) {
        return false;
    }
    if ((task & kind_mask) == kind_continuation) {
        (void)announce(this, task);
        return false;
    }
    count.run_own.add();
    count.no_context.add();
    nested_activation child(this);
    auto* job = reinterpret_cast<spark*>(task & ~kind_mask);
    if (suspension* next = job->run(job, this)) {
        make_runnable(next);
    }
    return true;
}

void suspend(worker* w, suspension& s) noexcept {
    static_cast<scheduler*>(w)->suspend_here(s);
}

// ---- lists ------------------------------------------------------------------------------------

context* refill_contexts(worker* w) noexcept {
    auto& self = *static_cast<scheduler*>(w);
    context* list = self.core().stacks.take(32);
    if (list == nullptr) {
        self.count.no_context.add();
    }
    w->free_contexts.store(list, rlx);
    return list;
}

void put_context_cold(worker* w, context* c) noexcept {
    context* head = w->free_contexts.load(rlx);
    const std::uint32_t rank = head != nullptr ? head->rank.load(rlx) + 1 : 1;
    stack_pool& stacks = static_cast<scheduler*>(w)->core().stacks;
    c->next.store(head, rlx);
    c->rank.store(rank, rlx);
    w->free_contexts.store(c, rlx);
    if (rank <= stacks.keep() || head == nullptr) {
        return;
    }
    // Half of the list goes back, but never `c`: the caller still stands on it.
    context* last = c;
    for (std::uint32_t n = 1; n < rank / 2 && last->next.load(rlx) != nullptr; ++n) {
        last = last->next.load(rlx);
    }
    context* rest = last->next.exchange(nullptr, rlx);
    std::uint32_t n = 0;
    for (context* k = c; k != nullptr; k = k->next.load(rlx)) {
        ++n;
    }
    for (context* k = c; k != nullptr; k = k->next.load(rlx)) {
        k->rank.store(n--, rlx);
    }
    stacks.give(rest);
}

void* take_record_cold(worker* w, unsigned size_class) {
    free_record* list = static_cast<scheduler*>(w)->core().records.take(size_class);
    w->free_records[size_class].store(list->next.load(rlx), rlx);
    san::acquire(list);
    return list + 1;
}

void put_record_cold(worker* w, unsigned size_class, free_record* r) noexcept {
    free_record* head = w->free_records[size_class].load(rlx);
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

}  // namespace detail
}  // namespace v0
}  // namespace pilfer
