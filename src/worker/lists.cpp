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
    static_cast<scheduler*>(w)->crew().records.put(w->free_records[size_class], size_class, r);
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
