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

struct object_name_list;
class pool_core;
struct pool_entry;
struct slab;
struct submission;

/// The entry for `pilfer top`, which reads this process from outside. An ELF note has the address.
struct reader_entry {
    const std::uint64_t* layout;   // pilfer_v0_layout
    std::uint64_t words;           // of it
    pool_entry* const* pools;      // pilfer_v0_pools
    const object_name_list* names; // pilfer_v0_object_names
};

/// The place in the table of what a build has set that changes the layout of objects, and its bit for a
/// library with PILFER_TEST.
inline constexpr std::size_t place_of_build_kind = 23;
inline constexpr std::uint64_t build_of_test = 4;

/// This library's own one. A reader compares it with that of the other process: with equal layouts it may
/// interpret the other's objects as its own types.
[[nodiscard]] const reader_entry& own_reader_entry() noexcept;

/// Addresses of a worker's words, for a debugger. A debugger without debug information knows no type.
struct worker_entry {
    const void* thread_id;
    const void* current;
    const void* seat;
};

/// One pool, for a debugger.
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

/// In a child of fork(), by its only thread.
void forget_all() noexcept;

/// Makes room for the entry of a pool of up to `workers`.
void prepare(pool_core& p, unsigned workers);
void add(pool_core& p) noexcept;
void remove(pool_core& p) noexcept;

/// Submits a task to the pool with that number. False: the pool has ended or is closed, and `s` is unchanged.
///
/// The lock of all pools is not used, because a report holds it for long. Instead each pool is on one of 64
/// shelves, chosen by its number. A shelf's lock is held for a few instructions and one wake-up of a worker.
[[nodiscard]] bool submit_to(std::uint64_t number, submission* s) noexcept;

/// In a child of fork(): true if the pool with that number was made in a parent process, even if the pool has
/// ended. Also true for 0, which is no pool's number.
[[nodiscard]] bool is_forked_child(std::uint64_t number) noexcept;

/// Keeps all pools alive and listed. Acquired before a stack pool's mutex and before the lists of
/// descriptors. A worker acquires it between tasks only to write a report. A task acquires it to make the
/// first slots for 64 descriptors in its pool, and waits meanwhile for a report that is being written.
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
