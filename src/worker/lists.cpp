// A worker's lists of free contexts, records and blocks: the cold paths, for a list that is empty or too
// long.
#include <new>

#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

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
    free_record* head = w->free_records[size_class].load(rlx);
    san::acquire(head);
    const std::uint32_t length = head != nullptr ? head->rank.load(rlx) + 1 : 1;
    r->next.store(head, rlx);
    r->rank.store(length, rlx);
    w->free_records[size_class].store(r, rlx);
    if (length < 1024) {
        return;
    }
    // The newest 32 records stay, because they are still in the cache. The 32 after them go to the pool.
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
    static_cast<scheduler*>(w)->crew().records.give(size_class, batch);
}

void* take_block(std::size_t bytes) noexcept {
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

} // namespace detail
} // namespace v0
} // namespace pilfer
