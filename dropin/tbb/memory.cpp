// Memory: small objects of tasks, and what the allocators of TBB ask for.
#include "scheduler.hpp"

#include <cstdlib>
#include <limits>
#include <new>

namespace tbb::detail::r1 {

namespace {
constexpr std::size_t line = 128;
constexpr std::size_t unit = 64;
constexpr std::size_t classes = 4; // up to 256 bytes
constexpr std::size_t slab_bytes = std::size_t{16} * 1024;

[[nodiscard]] constexpr std::size_t class_of(std::size_t bytes) noexcept {
    return (bytes + unit - 1) / unit - 1;
}

struct block {
    block* next;
};

short_lock pools_lock;
} // namespace

std::size_t cache_line_size() { return line; }

void* cache_aligned_allocate(std::size_t bytes) {
    if (bytes > std::numeric_limits<std::size_t>::max() - line) {
        throw_exception(exception_id::bad_alloc);
    }
    void* p = std::aligned_alloc(line, (std::max<std::size_t>(bytes, 1) + line - 1) / line * line);
    if (p == nullptr) {
        throw_exception(exception_id::bad_alloc);
    }
    return p;
}

void cache_aligned_deallocate(void* p) { std::free(p); }

void* allocate_memory(std::size_t bytes) {
    void* p = std::malloc(std::max<std::size_t>(bytes, 1));
    if (p == nullptr) {
        throw_exception(exception_id::bad_alloc);
    }
    return p;
}

void deallocate_memory(void* p) { std::free(p); }

bool is_tbbmalloc_used() { return false; }

/// Free blocks of one thread, by size. Other threads give blocks back through lists of their own. A pool is
/// never destroyed: when its thread has ended, the next new thread adopts it.
class small_pool : public d1::small_object_pool {
public:
    void* take(std::size_t bytes) {
        const std::size_t k = class_of(bytes);
        block* b = m_free[k];
        if (b == nullptr) {
            b = m_returned[k].exchange(nullptr, std::memory_order_acquire); // from give_from_elsewhere()
            if (b == nullptr) {
                return carve((k + 1) * unit);
            }
        }
        m_free[k] = b->next;
        return b;
    }
    void give(void* p, std::size_t bytes) noexcept {
        const std::size_t k = class_of(bytes);
        m_free[k] = new (p) block{m_free[k]};
    }
    void give_from_elsewhere(void* p, std::size_t bytes) noexcept {
        auto& top = m_returned[class_of(bytes)];
        auto* b = new (p) block{top.load(std::memory_order_relaxed)};
        while (!top.compare_exchange_weak(b->next, b, std::memory_order_release, std::memory_order_relaxed)) {
        }
    }

    small_pool* next_free = nullptr;
    small_pool* next_of_all = nullptr; // keeps it reachable, for leak checkers

private:
    void* carve(std::size_t bytes) {
        if (m_left < bytes) {
            auto* slab = static_cast<char*>(cache_aligned_allocate(slab_bytes));
            *reinterpret_cast<void**>(slab) = m_slabs;
            m_slabs = slab;
            m_rest = slab + unit;
            m_left = slab_bytes - unit;
        }
        void* p = m_rest;
        m_rest += bytes;
        m_left -= bytes;
        return p;
    }
    block* m_free[classes]{};
    char* m_rest = nullptr;
    std::size_t m_left = 0;
    void* m_slabs = nullptr;
    alignas(line) std::atomic<block*> m_returned[classes]{};
};

namespace {
small_pool* free_pools = nullptr; // both under pools_lock
small_pool* all_pools = nullptr;

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t most_small = 0; // the sanitizer sees each object alone
#else
constexpr std::size_t most_small = classes * unit;
#endif

void* allocate_in(thread_data& t, d1::small_object_pool*& pool, std::size_t bytes) {
    pool = t.pool;
    return bytes > most_small || bytes == 0 ? cache_aligned_allocate(bytes) : t.pool->take(bytes);
}

void deallocate_in(const thread_data* t, d1::small_object_pool& pool, void* p, std::size_t bytes) noexcept {
    auto& owner = static_cast<small_pool&>(pool);
    if (bytes > most_small || bytes == 0) {
        cache_aligned_deallocate(p);
    } else if (t != nullptr && t->pool == &owner) {
        owner.give(p, bytes);
    } else {
        owner.give_from_elsewhere(p, bytes);
    }
}
} // namespace

void adopt_pool(thread_data& t) {
    const guard held(pools_lock);
    if (free_pools != nullptr) {
        t.pool = free_pools;
        free_pools = t.pool->next_free;
    } else {
        t.pool = new small_pool;
        t.pool->next_of_all = all_pools;
        all_pools = t.pool;
    }
}

void abandon_pool(thread_data& t) noexcept {
    const guard held(pools_lock);
    t.pool->next_free = free_pools;
    free_pools = t.pool;
}

void open_pools() noexcept { (void)pools_lock.open_for_good(); }

void* allocate(d1::small_object_pool*& pool, std::size_t bytes, const d1::execution_data& ed) {
    return allocate_in(*static_cast<const execution_data_ext&>(ed).thread, pool, bytes);
}
void* allocate(d1::small_object_pool*& pool, std::size_t bytes) {
    return allocate_in(thread_data::here(), pool, bytes);
}
void deallocate(d1::small_object_pool& pool, void* p, std::size_t bytes, const d1::execution_data& ed) {
    deallocate_in(static_cast<const execution_data_ext&>(ed).thread, pool, p, bytes);
}
void deallocate(d1::small_object_pool& pool, void* p, std::size_t bytes) {
    deallocate_in(thread_data::if_there(), pool, p, bytes);
}

} // namespace tbb::detail::r1
