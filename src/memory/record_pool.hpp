// Memory for the records of `fork`: chunks are cut once, and the records are recycled for the pool's
// lifetime.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <pilfer/detail/memory/record.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class record_pool {
public:
    /// Takes 32 records of a class, linked by `next`. Throws std::bad_alloc.
    [[nodiscard]] free_record* take(unsigned size_class);
    /// Gives 32 linked records back to the pool.
    void give(unsigned size_class, free_record* batch) noexcept;
    /// Puts a record in front of a worker's list. A list that becomes too long gives 32 records to the pool.
    void put(std::atomic<free_record*>& list, unsigned size_class, free_record* r) noexcept;

    /// Called in a child of fork() by its only thread. If the lock is held, its holder may have linked the
    /// records incompletely. Then the present records are never used again.
    void forget_holder() noexcept;

    /// How many records of a class were ever made, and how many of them are here: for checks.
    [[nodiscard]] std::size_t made(unsigned size_class) noexcept;
    [[nodiscard]] std::size_t kept(unsigned size_class) noexcept;

    static constexpr unsigned batch_size = 32;
    // A cut removes the second batch of a worker's list. So a full list must have a second batch, and enough
    // records must stay for the work until the next cut.
    static_assert(most_free_records >= 4 * batch_size);

private:
    static constexpr std::size_t chunk_bytes = std::size_t{64} * 1024;

    std::mutex m_mutex;
    // A batch is linked to the next one through the payload of its first record.
    free_record* m_batches[2] = {};
    std::vector<std::unique_ptr<std::byte[]>> m_chunks;
    std::byte* m_rest[2] = {};
    std::size_t m_left[2] = {};
    std::size_t m_made[2] = {};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
