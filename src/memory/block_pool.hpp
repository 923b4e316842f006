// Memory for the states of futures, which may outlive every pool: blocks of operator new in two sizes.
//
// A worker keeps freed blocks in its own list, and exchanges batches with its pool. Threads outside all pools
// do so with one common block pool: see block_pool.cpp. The records of `fork` are different: they are cut out
// of chunks that end with the pool.
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

/// The size class of a block of `bytes`; block_classes: it is too large for any.
[[nodiscard]] constexpr std::size_t block_class_of(std::size_t bytes) noexcept {
    std::size_t c = 0;
    while (c < block_classes && block_bytes[c] < bytes) {
        ++c;
    }
    return c;
}

// With a sanitizer each block is freed at once, so that it sees the end of each state.
#if defined(PILFER_ASAN) || defined(PILFER_TSAN)
inline constexpr bool recycles_blocks = false;
#else
inline constexpr bool recycles_blocks = true;
#endif

/// Blocks that the workers of a pool share, or all threads outside. It holds batches of 32, so its lock is
/// taken once per 32 blocks.
class block_pool {
public:
    static constexpr unsigned batch_size = 32;

    enum class patience : bool { waits, gives_up };

    /// `gives_up`: while another thread holds the lock, the pool acts as if empty, or full. In a child of
    /// fork() the lock may be held by a thread that exists only in the parent.
    constexpr explicit block_pool(patience p = patience::waits) : m_patience(p) {}
    block_pool(const block_pool&) = delete;
    block_pool& operator=(const block_pool&) = delete;
    ~block_pool();

    /// Takes 32 blocks, linked by `next`. Null: the pool is empty.
    [[nodiscard]] free_block* take(std::size_t size_class) noexcept;
    /// Gives 32 linked blocks to this pool. A full pool passes them to the pool of the threads outside, which
    /// need blocks if they only submit. If that one is full too, the blocks go to the system's allocator.
    void give(std::size_t size_class, free_block* batch) noexcept;
    /// Gives all back to the system's allocator.
    void clear() noexcept;
    /// Gives all blocks back to the system's allocator, and refuses blocks from now on.
    void close() noexcept;
    /// Called in a child of fork() by its only thread. If the lock is held, its holder exists only in the
    /// parent, and the pool is made anew.
    void forget_holder() noexcept;

private:
    static constexpr unsigned most_batches = 64; // half a megabyte of the larger blocks

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

/// The free blocks of one thread, used by that thread only. clear() frees them; there is no destructor.
class plain_block_list {
public:
    /// Takes a block. Null: neither the list nor the pool has one.
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
    /// A list never keeps more blocks than this.
    static constexpr unsigned most = 8 * block_pool::batch_size;

    PILFER_COLD void cut(block_pool& p, std::size_t size_class) noexcept;

    free_block* m_first = nullptr;
    unsigned m_count = 0;
};

/// A member of each pool. The last pool's end frees the blocks that its ending thread keeps, and those of the
/// common pool of threads outside. Without a pool no blocks are kept.
class blocks_user {
public:
    blocks_user() noexcept;
    blocks_user(const blocks_user&) = delete;
    blocks_user& operator=(const blocks_user&) = delete;
    ~blocks_user();
};

/// The blocks of threads outside all pools.
namespace blocks_outside_pools {
/// Null: there is no free block.
[[nodiscard]] void* take(std::size_t size_class) noexcept;
/// False: the block was not taken.
[[nodiscard]] bool put(std::size_t size_class, void* block) noexcept;
/// Called in a child of fork() by its only thread.
void forget_holder() noexcept;
} // namespace blocks_outside_pools

/// The free blocks of one worker.
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
