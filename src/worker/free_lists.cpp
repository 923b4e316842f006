// Records and blocks for templates: a worker's lists of free ones that are empty or too long.
#include <new>

#include "worker/team.hpp"

#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/task/free_lists.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

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

} // namespace detail
} // namespace v0
} // namespace pilfer
