// All pools of the process, for reports that reach across pools and for debuggers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;
struct slab;
struct submission;

/// What a debugger reads of a worker: where its words lie. Without debug information it knows no type.
struct worker_entry {
    const void* thread_id;
    const void* current;
    const void* seat;
};

/// What a debugger reads of a pool.
struct pool_entry {
    pool_entry* next = nullptr;
    std::uint64_t number = 0; // 1, 2, ... in the order of making
    pool_core* pool = nullptr;
    std::uint64_t workers = 0;
    std::unique_ptr<worker_entry[]> worker;
    const slab* const* newest_slab = nullptr;
    pool_entry* next_on_shelf = nullptr; // see registry::submit_to()
};

namespace registry {

/// Makes room for the entry of a pool of up to `workers`.
void prepare(pool_core& p, unsigned workers);
void add(pool_core& p) noexcept;
void remove(pool_core& p) noexcept;

/// A task for the pool of that number, which may have ended. False: it has, or it is closed, and `s` was left
/// alone. Not under the lock of all pools, which a report holds for long: pools stand on 64 shelves by
/// their number, each with a lock for a few instructions and the wake-up of a worker.
[[nodiscard]] bool submit_to(std::uint64_t number, submission* s) noexcept;

/// In a child of fork(): the pool of that number was its parent's, also if it had ended by then. True for 0,
/// where there is none.
[[nodiscard]] bool is_forked_child(std::uint64_t number) noexcept;

/// Holds all pools in place. Taken before a stack pool's mutex, never by what a worker does between tasks
/// but for a report.
class all_pools {
public:
    all_pools();
    /// The newest pool, linked by next.
    [[nodiscard]] pool_entry* first() const noexcept;

private:
    std::lock_guard<std::mutex> m_lock;
};

} // namespace registry
} // namespace detail
} // namespace v0
} // namespace pilfer
