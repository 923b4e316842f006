// The cold calls that templates make into a worker: what its back-end does, and lists of free contexts,
// records and blocks that are empty or too long.
#include <new>

#include "worker/team.hpp"

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/test_point.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

bool announce_signalled(worker* w, task_word task, way may) noexcept {
    return backend_of(w).announce(*static_cast<scheduler*>(w), task, may);
}

bool announce_weighted(worker* w, task_word task, std::uint64_t weight, way may) noexcept {
    if (weight == 1) {
        return announce(w, task, may); // needs no scales
    }
#if defined(PILFER_TEST)
    counts_fork(w, task);
#endif
    san::release(reinterpret_cast<const void*>(task & ~kind_mask));
    return backend_of(w).announce_weighted(*static_cast<scheduler*>(w), task, weight, may);
}

void attend(worker* w) noexcept { backend_of(w).attend(*static_cast<scheduler*>(w)); }

worker* reclaim_slow(worker* w, task_word task) noexcept {
    return backend_of(w).reclaim(*static_cast<scheduler*>(w), task);
}

void suspend(worker* w, suspension& s) noexcept { backend_of(w).suspend(*static_cast<scheduler*>(w), s); }

void make_runnable(suspension* s) noexcept {
    team& t = scheduler::of(s->home).crew();
    const team::pin_guard here(t);
    t.backend().make_runnable(*s);
}

std::uintptr_t refill_contexts(worker* w) noexcept {
    return backend_of(w).refill_contexts(*static_cast<scheduler*>(w));
}

bool backend::may_announce(const scheduler& w) const noexcept {
    return w.current.load(rlx) != nullptr; // on the stack of a scheduler nothing can be announced
}

void put_context_cold(worker* w, context* c) noexcept {
    auto& stacks = static_cast<scheduler*>(w)->crew().stacks;
    if (context* rest = put_and_cut(w->free_contexts, c, stacks.keep())) {
        if (!static_cast<scheduler*>(w)->crew().is_forked_child()) { // else its lock may be held for ever
            stacks.give(rest);
        }
    }
}

void* take_record_cold(worker* w, unsigned size_class) {
    free_record* list = static_cast<scheduler*>(w)->crew().records.take(size_class);
    san::acquire(list);
    w->free_records[size_class].store(list->next.load(rlx), rlx);
    return list + 1;
}

void put_record_cold(worker* w, unsigned size_class, free_record* r) noexcept {
    static_cast<scheduler*>(w)->crew().records.put(w->free_records[size_class], size_class, r);
}

void* take_block(std::size_t bytes) noexcept {
    if (PILFER_TEST_MEMORY_FAULT("no memory for the state of a future")) {
        return nullptr;
    }
    const std::size_t c = block_class_of(bytes);
    if (c == block_classes) {
        return ::operator new(bytes, std::nothrow);
    }
    if (recycles_blocks) {
        auto* const self = static_cast<scheduler*>(this_worker());
        void* const block =
            self != nullptr ? self->blocks[c].take(self->crew().blocks, c) : blocks_outside_pools::take(c);
        if (block != nullptr) {
            return block;
        }
    }
    return ::operator new(block_bytes[c], std::nothrow);
}

void put_block(void* block, std::size_t bytes) noexcept {
    const std::size_t c = block_class_of(bytes);
    if (!recycles_blocks || c == block_classes) {
        ::operator delete(block);
        return;
    }
    if (auto* const self = static_cast<scheduler*>(this_worker())) {
        self->blocks[c].put(self->crew().blocks, c, block);
    } else if (!blocks_outside_pools::put(c, block)) {
        ::operator delete(block);
    }
}

void count_dropped(worker* w, std::uint64_t tasks) noexcept {
#if defined(PILFER_RACE)
    race::cannot_follow(race::left_out);
#endif
    if (w != nullptr) {
        static_cast<scheduler*>(w)->count.dropped.add(tasks);
    }
}

void count_plain_call(worker* w) noexcept {
    auto& self = *static_cast<scheduler*>(w);
    self.count.no_context.add();
    self.log.note(trace::what::plain_call);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
