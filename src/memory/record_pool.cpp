#include "memory/record_pool.hpp"

#include <new>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/sanitizer.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// The link between batches is the first word of the payload. The second word stays unchanged: a thief with a
/// stale entry of a deque may still read the scope word there.
[[nodiscard]] free_record*& next_batch(free_record* first) noexcept {
    return *reinterpret_cast<free_record**>(first + 1);
}
static_assert(sizeof(free_record) + sizeof(void*) <= record_bytes[0]);

} // namespace

free_record* record_pool::take(unsigned size_class) {
    const std::lock_guard lock(m_mutex);
    if (free_record* batch = m_batches[size_class]) {
        m_batches[size_class] = next_batch(batch);
        san::release(batch);
        return batch;
    }
    const std::size_t bytes = record_bytes[size_class];
    if (m_left[size_class] < batch_size * bytes) {
        m_chunks.reserve(m_chunks.size() + 1);
        // Records hold callables of any alignment up to 16, which operator new guarantees.
        m_chunks.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk_bytes));
        m_rest[size_class] = m_chunks.back().get();
        m_left[size_class] = chunk_bytes;
    }
    free_record* list = nullptr;
    for (unsigned i = 0; i < batch_size; ++i) {
        auto* r = ::new (m_rest[size_class]) free_record;
        r->next.store(list, rlx);
        r->rank.store(i + 1, rlx);
        san::release(r);
        list = r;
        m_rest[size_class] += bytes;
        m_left[size_class] -= bytes;
    }
    m_made[size_class] += batch_size;
    return list;
}

void record_pool::forget_holder() noexcept {
    if (m_mutex.try_lock()) {
        m_mutex.unlock();
    } else {
        ::new (this) record_pool; // the chunks are not freed, because they hold tasks
    }
}

std::size_t record_pool::made(unsigned size_class) noexcept {
    const std::lock_guard lock(m_mutex);
    return m_made[size_class];
}

std::size_t record_pool::kept(unsigned size_class) noexcept {
    const std::lock_guard lock(m_mutex);
    std::size_t n = 0;
    for (free_record* batch = m_batches[size_class]; batch != nullptr; batch = next_batch(batch)) {
        for (const free_record* r = batch; r != nullptr; r = r->next.load(rlx)) {
            ++n;
        }
    }
    return n;
}

void record_pool::give(unsigned size_class, free_record* batch) noexcept {
    san::acquire(batch);
    // The batch was cut from a longer list, so its ranks are too high. With these ranks the next owner's list
    // would look full too early, and would be cut again and again.
    std::uint32_t rank = batch_size;
    for (free_record* r = batch; r != nullptr; r = r->next.load(rlx)) {
        r->rank.store(rank--, rlx);
    }
    const std::lock_guard lock(m_mutex);
    next_batch(batch) = m_batches[size_class];
    m_batches[size_class] = batch;
}

void record_pool::put(std::atomic<free_record*>& list, unsigned size_class, free_record* r) noexcept {
    free_record* head = list.load(rlx);
    san::acquire(head);
    const std::uint32_t length = head != nullptr ? head->rank.load(rlx) + 1 : 1;
    r->next.store(head, rlx);
    r->rank.store(length, rlx);
    list.store(r, rlx);
    if (length < most_free_records) {
        return;
    }
    // The newest 32 records stay, because they are still in the cache. The 32 after them go to the pool.
    free_record* last = r;
    for (unsigned i = 1; i < batch_size; ++i) {
        last = last->next.load(rlx);
    }
    free_record* batch = last->next.load(rlx);
    free_record* end = batch;
    for (unsigned i = 1; i < batch_size; ++i) {
        end = end->next.load(rlx);
    }
    last->next.store(end->next.load(rlx), rlx);
    end->next.store(nullptr, rlx);
    std::uint32_t rank = last->next.load(rlx) != nullptr ? last->next.load(rlx)->rank.load(rlx) : 0;
    rank += batch_size;
    for (free_record* k = r; k != last->next.load(rlx); k = k->next.load(rlx)) {
        k->rank.store(rank--, rlx);
    }
    give(size_class, batch);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
