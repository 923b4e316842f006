#include "worker/block_pool.hpp"

#include <new>
#include <utility>

#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

// A sanitizer shall see the end of each state.
#if defined(PILFER_ASAN) || defined(PILFER_TSAN)
constexpr bool recycles = false;
#else
constexpr bool recycles = true;
#endif

[[nodiscard]] constexpr std::size_t class_of(std::size_t bytes) noexcept {
    std::size_t c = 0;
    while (c < block_classes && block_bytes[c] < bytes) {
        ++c;
    }
    return c;
}

void destroy(free_block* list) noexcept {
    while (list != nullptr) {
        ::operator delete(std::exchange(list, list->next));
    }
}

} // namespace

void* take_block(std::size_t bytes) noexcept {
    const std::size_t c = class_of(bytes);
    if (c == block_classes) {
        return ::operator new(bytes, std::nothrow);
    }
    if (worker* w = this_worker(); recycles && w != nullptr) {
        auto& self = *static_cast<scheduler*>(w);
        if (void* block = self.blocks[c].take(self.core().blocks, c)) {
            return block;
        }
    }
    return ::operator new(block_bytes[c], std::nothrow);
}

void put_block(void* block, std::size_t bytes) noexcept {
    const std::size_t c = class_of(bytes);
    worker* w = this_worker();
    if (!recycles || c == block_classes || w == nullptr) {
        ::operator delete(block);
        return;
    }
    auto& self = *static_cast<scheduler*>(w);
    self.blocks[c].put(self.core().blocks, c, block);
}

block_list::~block_list() { destroy(m_first); }

/// The newest go: they were given back one after the other, and the older ones are as warm to a list so long.
void block_list::cut(block_pool& p, std::size_t size_class) noexcept {
    free_block* const batch = m_first;
    free_block* last = batch;
    for (unsigned i = 1; i < block_pool::batch_size; ++i) {
        last = last->next;
    }
    m_first = std::exchange(last->next, nullptr);
    m_count -= block_pool::batch_size;
    p.give(size_class, batch);
}

block_pool::~block_pool() {
    for (free_block* batch : m_batches) {
        while (batch != nullptr) {
            destroy(std::exchange(batch, batch->next_batch));
        }
    }
}

free_block* block_pool::take(std::size_t size_class) noexcept {
    const std::lock_guard lock(m_mutex);
    free_block* const batch = m_batches[size_class];
    if (batch != nullptr) {
        m_batches[size_class] = batch->next_batch;
        --m_count[size_class];
    }
    return batch;
}

void block_pool::give(std::size_t size_class, free_block* batch) noexcept {
    {
        const std::lock_guard lock(m_mutex);
        if (m_count[size_class] < most_batches) {
            batch->next_batch = std::exchange(m_batches[size_class], batch);
            ++m_count[size_class];
            return;
        }
    }
    destroy(batch);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
