// Memory for the states of futures, which may outlive every pool: blocks of operator new in two sizes.
// Workers keep those that were given back on them for the next one, and hand batches to and from their pool.
// So do threads outside all pools, by what they share: see block_pool.cpp.
//
// Not the records of `fork`: those are cut out of chunks that end with the pool.
#pragma once

#include <cstddef>
#include <mutex>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct free_block {
    free_block* next;
    free_block* next_batch; // of the first block of a batch
};

inline constexpr std::size_t block_bytes[] = {128, 256};
inline constexpr std::size_t block_classes = sizeof block_bytes / sizeof block_bytes[0];

/// What a pool's workers share, or all threads outside. Batches only: its lock is taken once in 32 times.
class block_pool {
public:
    static constexpr unsigned batch_size = 32;

    enum class patience : bool { waits, gives_up };

    /// `gives_up`: where another thread holds its lock it is as if empty, or full. A child of fork() may find
    /// the lock held by a thread that it does not have.
    constexpr explicit block_pool(patience p = patience::waits) : m_patience(p) {}
    block_pool(const block_pool&) = delete;
    block_pool& operator=(const block_pool&) = delete;
    ~block_pool();

    /// 32 blocks, linked by next; null: none are here.
    [[nodiscard]] free_block* take(std::size_t size_class) noexcept;
    /// Takes 32 linked blocks. What is more than a pool keeps goes to the threads outside, which take it
    /// where they only submit, and what is more than those keep to the system's allocator.
    void give(std::size_t size_class, free_block* batch) noexcept;
    /// Gives all back to the system's allocator.
    void clear() noexcept;
    /// The same, and from now on all that comes.
    void close() noexcept;
    /// In a child of fork(), where nobody else is: whoever holds the lock is not there either.
    void forget_holder() noexcept;

private:
    static constexpr unsigned most_batches = 64; // half a megabyte of the larger ones

    [[nodiscard]] bool lock() noexcept {
        if (m_patience == patience::gives_up) {
            return m_mutex.try_lock();
        }
        m_mutex.lock();
        return true;
    }

    const patience m_patience;
    std::mutex m_mutex;
    free_block* m_batches[block_classes] = {};
    unsigned m_count[block_classes] = {};
    bool m_closed = false;
};

/// Of one thread; by it only. clear() ends it.
class plain_block_list {
public:
    /// Null: neither here nor in the pool.
    [[nodiscard]] void* take(block_pool& p, std::size_t size_class) noexcept {
        if (m_first == nullptr) {
            m_first = p.take(size_class);
            m_count = m_first != nullptr ? block_pool::batch_size : 0;
            if (m_first == nullptr) {
                return nullptr;
            }
        }
        free_block* const b = m_first;
        m_first = b->next;
        --m_count;
        return b;
    }
    void clear() noexcept;
    void put(block_pool& p, std::size_t size_class, void* block) noexcept {
        m_first = ::new (block) free_block{m_first, nullptr};
        if (++m_count == most) {
            cut(p, size_class);
        }
    }

private:
    /// A thread on which many are given back keeps so many.
    static constexpr unsigned most = 8 * block_pool::batch_size;

    PILFER_COLD void cut(block_pool& p, std::size_t size_class) noexcept;

    free_block* m_first = nullptr;
    unsigned m_count = 0;
};

/// A part of each pool. With the last one goes what the thread that ends it keeps, and all threads outside in
/// common: without a pool nothing is kept any more.
class blocks_user {
public:
    blocks_user() noexcept;
    blocks_user(const blocks_user&) = delete;
    blocks_user& operator=(const blocks_user&) = delete;
    ~blocks_user();
};

/// Of one worker.
class block_list : public plain_block_list {
public:
    block_list() = default;
    block_list(const block_list&) = delete;
    block_list& operator=(const block_list&) = delete;
    ~block_list() { clear(); }
};

} // namespace detail
} // namespace v0
} // namespace pilfer
