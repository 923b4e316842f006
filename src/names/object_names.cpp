#include "names/object_names.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/raw_lock.hpp>

#include "platform/os.hpp"

extern "C" {
/// All names, for readers of this process' memory.
PILFER_API constinit pilfer::v0::detail::object_name_list pilfer_v0_object_names{};
}

namespace pilfer {
inline namespace v0 {
namespace detail::object_names {
namespace {

using by_address = std::multimap<std::uintptr_t, std::unique_ptr<named_object>>;

constinit raw_lock<std_atom, futex_park> lock; // of everything below
constinit by_address* names = nullptr;         // null: there are none
std::size_t longest = 0;                       // bytes of the largest object that had a name
std::uint64_t table = 0;
constinit std::atomic<bool> any{false};
constinit std::atomic<bool> prepared{false}; // for fork()

/// A change of the list. A child of fork(), and a reader of another process, see whether one is under way.
class change {
public:
    change() noexcept {
        pilfer_v0_object_names.changes.fetch_add(1, rlx);
        std::atomic_thread_fence(rel); // what is changed becomes visible after the count
    }
    change(const change&) = delete;
    change& operator=(const change&) = delete;
    ~change() { pilfer_v0_object_names.changes.fetch_add(1, rel); }
};

void link(named_object& n) noexcept {
    n.next = pilfer_v0_object_names.first;
    if (n.next != nullptr) {
        n.next->before = &n;
    }
    pilfer_v0_object_names.first = &n;
}

void unlink(const named_object& n) noexcept {
    (n.before != nullptr ? n.before->next : pilfer_v0_object_names.first) = n.next;
    if (n.next != nullptr) {
        n.next->before = n.before;
    }
}

/// Removes the names of the object at that address for which f holds.
template <class F>
void remove_if(const void* object, F f) noexcept {
    const auto [from, to] = names->equal_range(reinterpret_cast<std::uintptr_t>(object));
    for (auto at = from; at != to;) {
        if (f(*at->second)) {
            const change guard;
            unlink(*at->second);
            at = names->erase(at);
        } else {
            ++at;
        }
    }
    if (names->empty()) { // the library may be unloaded
        delete std::exchange(names, nullptr);
        any.store(false, rlx);
    }
}

[[nodiscard]] const named_object* find(const void* address) noexcept {
    const named_object* found = nullptr;
    if (names == nullptr) {
        return found;
    }
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    for (auto at = names->upper_bound(wanted); at != names->begin();) {
        --at;
        const std::uintptr_t inside = wanted - at->first;
        // Objects are nested or apart, so one that begins before `found` is larger.
        if (inside >= longest || (found != nullptr && found->object != at->second->object)) {
            break;
        }
        const named_object& n = *at->second;
        if (inside < n.bytes && (found == nullptr || n.bytes < found->bytes)) {
            found = &n;
        }
    }
    return found;
}

/// In a child of fork(): a thread that exists only in the parent may have been changing the names.
void forget_threads() noexcept {
    (void)lock.open_for_good();
    if ((pilfer_v0_object_names.changes.load(rlx) & 1) != 0) { // it may be torn, and its memory is lost
        pilfer_v0_object_names.changes.fetch_add(1, rlx);
        names = nullptr;
        pilfer_v0_object_names.first = nullptr;
        any.store(false, rlx);
        ++table;
    }
}

/// Programs may name objects, and fork, before they have a pool.
void prepare_for_fork() {
    if (prepared.load(acq)) {
        return;
    }
    // Two threads may both get here. The handler may run twice.
    if (!os::call_in_children(&forget_threads)) {
        throw std::bad_alloc();
    }
    prepared.store(true, rel);
}

} // namespace

named_object* add(const void* object, std::size_t bytes, std::string name, bool until_destroyed) {
    prepare_for_fork();
    auto made = std::make_unique<named_object>();
    made->object = object;
    made->bytes = bytes;
    made->name = std::move(name);
    made->text = made->name.c_str();
    made->until_destroyed = until_destroyed;
    const std::lock_guard guard(lock);
    const change here;
    if (names == nullptr) {
        names = new by_address;
    }
    made->table = table;
    named_object* const n = made.get();
    names->emplace(reinterpret_cast<std::uintptr_t>(object), std::move(made));
    longest = std::max(longest, bytes);
    link(*n);
    any.store(true, rlx);
    return n;
}

void remove(named_object* name) noexcept {
    const std::lock_guard guard(lock);
    if (name->table == table) {
        remove_if(name->object, [name](const named_object& n) { return &n == name; });
    }
}

void forget(const void* object, const named_object* kept) noexcept {
    if (!any.load(rlx)) {
        return;
    }
    const std::lock_guard guard(lock);
    if (names != nullptr) {
        remove_if(object, [kept](const named_object& n) { return n.until_destroyed && &n != kept; });
    }
}

std::string of(const void* address) {
    if (!any.load(rlx)) {
        return {};
    }
    const std::lock_guard guard(lock);
    const named_object* const n = find(address);
    return n != nullptr ? n->name : std::string();
}

bool copy(const void* address, char* to, std::size_t size) noexcept {
    if (!any.load(rlx)) {
        return false;
    }
    const std::lock_guard guard(lock);
    const named_object* const n = find(address);
    if (n == nullptr) {
        return false;
    }
    const std::size_t bytes = std::min(n->name.size(), size - 1);
    std::memcpy(to, n->text, bytes);
    to[bytes] = '\0';
    return true;
}

} // namespace detail::object_names
} // namespace v0
} // namespace pilfer
