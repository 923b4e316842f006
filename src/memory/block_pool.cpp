#include "memory/block_pool.hpp"

#include <atomic>
#include <new>
#include <utility>

#include <pilfer/detail/base/atom.hpp>

#include "context/sanitizer.hpp"
#include "platform/os.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

void destroy(free_block* list) noexcept {
    while (list != nullptr) {
        ::operator delete(std::exchange(list, list->next));
    }
}

// ---- of threads outside all pools ---------------------------------------------------------------

/// The block pool of all threads outside. It is still used after the program's static objects are destroyed.
union lasting_pool {
    constexpr lasting_pool() : of_all(block_pool::patience::gives_up) {}
    ~lasting_pool() {}
    block_pool of_all;
};
constinit lasting_pool blocks_outside;

/// The free blocks of a thread outside. The type has no destructor, for two reasons:
/// * registering it would need memory, and without memory the program would end;
/// * other destructors would still use the object after its end.
struct outside_list {
    enum class state : unsigned char { fresh, open, closed };
    plain_block_list of[block_classes];
    state now = state::fresh;
};
constinit thread_local outside_list kept_outside __attribute__((tls_model("initial-exec")));

void clear_list(outside_list& l) noexcept {
    for (plain_block_list& each : l.of) {
        each.clear();
    }
}
void close_list(outside_list& l) noexcept {
    l.now = outside_list::state::closed;
    clear_list(l);
}

std::atomic<unsigned> pools_that_use{0};

/// The list of the calling thread. Null if it keeps no blocks: there is no pool, no function is registered
/// for the thread's end, or the list is already closed.
[[nodiscard]] PILFER_ALWAYS_INLINE outside_list* list_outside() noexcept {
    using state = outside_list::state;
    if (kept_outside.now == state::fresh) [[unlikely]] {
        const san::never_lost note; // the note is in memory of the thread, which a child of fork() loses
        const bool told =
            os::at_thread_end([](void* l) { close_list(*static_cast<outside_list*>(l)); }, &kept_outside);
        kept_outside.now = told ? state::open : state::closed;
    }
    return kept_outside.now == state::open && pools_that_use.load(rlx) != 0 ? &kept_outside : nullptr;
}

/// Closes the list of the thread that ends the program: no thread-end function runs for it.
struct end_of_program {
    end_of_program() = default;
    end_of_program(const end_of_program&) = delete;
    end_of_program& operator=(const end_of_program&) = delete;
    ~end_of_program() {
        // This also runs at dlclose() if the library is unloaded. The blocks of other threads are lost then.
        os::forget_thread_ends();
        close_list(kept_outside);
        blocks_outside.of_all.close();
    }
};
const end_of_program at_the_end;

} // namespace

namespace blocks_outside_pools {

// Never inlined: the caller may be a frame that moves to another thread, and an inlined call would keep the
// address of the thread-local.
PILFER_NOINLINE void* take(std::size_t size_class) noexcept {
    outside_list* const l = list_outside();
    return l != nullptr ? l->of[size_class].take(blocks_outside.of_all, size_class) : nullptr;
}

PILFER_NOINLINE bool put(std::size_t size_class, void* block) noexcept {
    outside_list* const l = list_outside();
    if (l == nullptr) {
        return false;
    }
    l->of[size_class].put(blocks_outside.of_all, size_class, block);
    return true;
}

/// If another thread held the lock at the fork(), the blocks in the pool are lost.
void forget_holder() noexcept { blocks_outside.of_all.forget_holder(); }

} // namespace blocks_outside_pools

void plain_block_list::clear() noexcept {
    destroy(std::exchange(m_first, nullptr));
    m_count = 0;
}

/// The newest blocks go to the pool. In a list of this length the older ones are equally warm in the cache.
void plain_block_list::cut(block_pool& p, std::size_t size_class) noexcept {
    free_block* const batch = m_first;
    free_block* last = batch;
    for (unsigned i = 1; i < block_pool::batch_size; ++i) {
        last = last->next;
    }
    m_first = std::exchange(last->next, nullptr);
    m_count -= block_pool::batch_size;
    p.give(size_class, batch);
}

blocks_user::blocks_user() noexcept { pools_that_use.fetch_add(1, rlx); }

blocks_user::~blocks_user() {
    if (pools_that_use.fetch_sub(1, rlx) == 1) {
        clear_list(kept_outside);
        blocks_outside.of_all.clear();
    }
}

block_pool::~block_pool() { close(); }

void block_pool::close() noexcept {
    if (lock()) {
        m_closed = true;
        m_mutex.unlock();
    }
    clear();
}

void block_pool::forget_holder() noexcept {
    if (m_mutex.try_lock()) {
        m_mutex.unlock();
    } else {
        ::new (this) block_pool(m_patience);
    }
}

void block_pool::clear() noexcept {
    if (!lock()) {
        return;
    }
    const std::lock_guard held(m_mutex, std::adopt_lock);
    for (unsigned& count : m_count) {
        count = 0;
    }
    for (free_block*& first : m_batches) {
        while (first != nullptr) {
            destroy(std::exchange(first, first->next_batch));
        }
    }
}

free_block* block_pool::take(std::size_t size_class) noexcept {
    if (!lock()) {
        return nullptr;
    }
    const std::lock_guard held(m_mutex, std::adopt_lock);
    free_block* const batch = m_batches[size_class];
    if (batch != nullptr) {
        m_batches[size_class] = batch->next_batch;
        --m_count[size_class];
    }
    return batch;
}

void block_pool::give(std::size_t size_class, free_block* batch) noexcept {
    if (lock()) {
        const std::lock_guard held(m_mutex, std::adopt_lock);
        if (!m_closed && m_count[size_class] < most_batches) {
            batch->next_batch = std::exchange(m_batches[size_class], batch);
            ++m_count[size_class];
            return;
        }
    }
    if (this == &blocks_outside.of_all) {
        destroy(batch);
    } else {
        blocks_outside.of_all.give(size_class, batch);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
