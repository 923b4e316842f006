#include "pool/registry.hpp"

#include <iterator>
#include <new>

#include <pilfer/detail/base/raw_lock.hpp>

#include "context/sanitizer.hpp"
#include "names/object_names.hpp"
#include "pool/pool_core.hpp"

extern "C" {
/// The list of pools. tools/gdb/pilfer.py begins here.
PILFER_API pilfer::v0::detail::pool_entry* pilfer_v0_pools = nullptr;
extern pilfer::v0::detail::object_name_list pilfer_v0_object_names;
}

namespace pilfer {
inline namespace v0 {
namespace detail {

// offsetof() is also used on types without standard layout. Both compilers place their members alike.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace {

#if defined(PILFER_ISA_X86_64)
constexpr std::uint64_t saved_layout = 1;
#elif defined(PILFER_ISA_AARCH64)
constexpr std::uint64_t saved_layout = 2;
#else
constexpr std::uint64_t saved_layout = 3;
#endif

struct shelf {
    raw_lock<std_atom, futex_park> lock;
    pool_entry* first = nullptr;
};
shelf shelves[64];

[[nodiscard]] shelf& shelf_of(std::uint64_t number) noexcept { return shelves[number % std::size(shelves)]; }

constinit std::mutex list_mutex;
std::uint64_t made = 0;
constinit std::atomic<std::uint64_t> parents{0}; // the pools of that number and below, in a child of fork()

} // namespace

/// The options of a build that change the layout of objects.
[[nodiscard]] constexpr std::uint64_t build_kind() noexcept {
    std::uint64_t kind = checked_build ? 1 : 0;
#if defined(PILFER_CHAOS)
    kind |= 2;
#endif
#if defined(PILFER_TEST)
    kind |= build_of_test;
#endif
#if defined(PILFER_TSAN)
    kind |= 8;
#endif
#if defined(PILFER_ASAN)
    kind |= 16;
#endif
    return kind;
}

/// Offsets for a debugger that has no debug information; the order is that of the script. Then what a reader
/// of another process compares: a change of a member's meaning without a change of a size needs a new number
/// of the version.
extern "C" PILFER_API __attribute__((used)) const std::uint64_t pilfer_v0_layout[] = {
    3, // version of this table
    saved_layout,
    offsetof(pool_entry, next),
    offsetof(pool_entry, number),
    offsetof(pool_entry, workers),
    offsetof(pool_entry, worker),
    offsetof(pool_entry, newest_slab),
    sizeof(worker_entry),
    offsetof(worker_entry, thread_id),
    offsetof(worker_entry, current),
    offsetof(worker_entry, seat),
    offsetof(slab, next),
    offsetof(slab, number),
    offsetof(slab, contexts),
    stack_pool::most_in_slab,
    offsetof(context, waiting),
    offsetof(suspension, sp),
    offsetof(suspension, home),
    offsetof(suspension, why),
    offsetof(suspension, object),
    offsetof(worker, index),
    offsetof(activation, ctx),
    offsetof(context, low),
    build_kind(),
    sizeof(pool_entry),
    offsetof(pool_entry, pool),
    sizeof(pool_core),
    offsetof(pool_core, submissions),
    offsetof(pool_core, stacks),
    offsetof(pool_core, gate),
    offsetof(pool_core, alarms),
    sizeof(scheduler),
    offsetof(scheduler, thread_id),
    offsetof(scheduler, count),
    sizeof(context),
    offsetof(context, waits),
    offsetof(context, name),
    offsetof(context, job),
    sizeof(suspension),
    offsetof(suspension, timed),
    sizeof(activation),
    sizeof(slab),
    sizeof(options),
    offsetof(object_name_list, first),
    offsetof(object_name_list, changes),
    offsetof(named_object, next),
    offsetof(named_object, object),
    offsetof(named_object, bytes),
    offsetof(named_object, text),
};

/// The object that the note names. Hidden, so that the distance is known when this library or program is
/// linked.
extern "C" __attribute__((used, visibility("hidden"))) const reader_entry pilfer_v0_for_readers{
    pilfer_v0_layout, std::size(pilfer_v0_layout), &pilfer_v0_pools, &pilfer_v0_object_names};

// A note is loaded with the program, and strip keeps it: a reader needs neither symbols nor the file. Owner
// "pilfer", type 1, and the distance from here to pilfer_v0_for_readers.
asm(".pushsection .note.pilfer, \"a\", %note\n\t"
    ".balign 4\n\t"
    ".4byte 7, 8, 1\n\t"
    ".asciz \"pilfer\"\n\t"
    ".balign 4\n\t"
    ".8byte pilfer_v0_for_readers - .\n\t"
    ".popsection");

#pragma GCC diagnostic pop

const reader_entry& own_reader_entry() noexcept { return pilfer_v0_for_readers; }

namespace registry {

void prepare(pool_core& p, unsigned workers) { p.listed.worker = std::make_unique<worker_entry[]>(workers); }

void add(pool_core& p) noexcept {
    pool_entry& e = p.listed;
    e.pool = &p;
    e.workers = p.size();
    for (unsigned i = 0; i < p.size(); ++i) {
        e.worker[i] = {&p.at(i).thread_id, &p.at(i).current, p.idle().state_of(i)};
    }
    e.newest_slab = p.stacks.newest_slab();
    {
        const std::lock_guard lock(list_mutex);
        e.number = ++made;
        e.next = pilfer_v0_pools;
        pilfer_v0_pools = &e;
    }
    shelf& s = shelf_of(e.number);
    const std::lock_guard lock(s.lock);
    e.next_on_shelf = s.first;
    s.first = &e;
}

void remove(pool_core& p) noexcept {
    {
        shelf& s = shelf_of(p.listed.number);
        const std::lock_guard lock(s.lock);
        for (pool_entry** at = &s.first; *at != nullptr; at = &(*at)->next_on_shelf) {
            if (*at == &p.listed) {
                *at = p.listed.next_on_shelf;
                break;
            }
        }
    }
    const std::lock_guard lock(list_mutex);
    for (pool_entry** at = &pilfer_v0_pools; *at != nullptr; at = &(*at)->next) {
        if (*at == &p.listed) {
            *at = p.listed.next;
            return;
        }
    }
}

bool submit_to(std::uint64_t number, submission* s) noexcept {
    shelf& at = shelf_of(number);
    const std::lock_guard lock(at.lock);
    for (pool_entry* e = at.first; e != nullptr; e = e->next_on_shelf) {
        if (e->number == number) {
            return e->pool->gate.try_accept(s);
        }
    }
    return false;
}

namespace {

/// Shows the stacks of pools that outlive the program's static objects, above all the common pool. Such pools
/// may hold tasks whose end is not awaited. This is no destructor of an object: that one would run before the
/// program's own destructors. The leak check runs after this function.
[[gnu::destructor]] void show_to_leak_sanitizer() noexcept {
    if (!san::leak_sanitizer()) {
        return;
    }
    const std::lock_guard lock(list_mutex);
    for (const pool_entry* e = pilfer_v0_pools; e != nullptr; e = e->next) {
        e->pool->stacks.show_to_leak_sanitizer([e](const context& c) noexcept {
            for (unsigned i = 0; i < e->pool->schedulers(); ++i) {
                if (e->pool->at(i).reserve.keeps_at_rest(c)) {
                    return true;
                }
            }
            return false;
        });
    }
}

} // namespace

void forget_all() noexcept {
    for (const pool_entry* e = san::leak_sanitizer() ? pilfer_v0_pools : nullptr; e != nullptr; e = e->next) {
        e->pool->stacks.show_all_to_leak_sanitizer();
    }
    for (shelf& s : shelves) {
        ::new (&s) shelf;
    }
    ::new (&list_mutex) std::mutex;
    pilfer_v0_pools = nullptr;
    parents.store(made, rlx);
}

bool is_forked_child(std::uint64_t number) noexcept { return number <= parents.load(rlx); }

all_pools::all_pools() : m_lock(list_mutex) {}

pool_entry* all_pools::first() const noexcept { return pilfer_v0_pools; }

} // namespace registry
} // namespace detail
} // namespace v0
} // namespace pilfer
