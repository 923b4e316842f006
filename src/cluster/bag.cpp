// The bag of branches that other ranks may take.
#include <algorithm>
#include <mutex>

#include <pilfer/cluster.hpp>
#include <pilfer/detail/base/park.hpp>

#include "cluster/owned_lock.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The branches of one worker, oldest first. Its owner is the first worker that puts one there.
struct alignas(128) bag_shelf {
    owned_lock<std_atom, futex_park> lock{heavy_fence_reaches_all()};
    std::atomic<const worker*> owner{nullptr};
    shared_branch* oldest = nullptr;
    shared_branch* newest = nullptr;
    std::atomic<std::uint32_t> size{0}; // written under the lock

    [[nodiscard]] bool is_of(const worker* w) const noexcept { return w != nullptr && owner.load(rlx) == w; }
    /// Nothing if another worker was first: one of another pool, or of a pool that has grown.
    void claim(const worker* w) noexcept {
        if (const worker* none = nullptr; owner.load(rlx) == none) [[unlikely]] {
            owner.compare_exchange_strong(none, w, rlx, rlx);
        }
    }
    void add(shared_branch& b) noexcept {
        b.m_shelf = this;
        b.m_state = shared_branch::state::waiting;
        b.m_older = newest;
        b.m_newer = nullptr;
        (newest != nullptr ? newest->m_newer : oldest) = &b;
        newest = &b;
        size.store(size.load(rlx) + 1, rlx);
    }
    void unlink(shared_branch& b) noexcept {
        (b.m_older != nullptr ? b.m_older->m_newer : oldest) = b.m_newer;
        (b.m_newer != nullptr ? b.m_newer->m_older : newest) = b.m_older;
        size.store(size.load(rlx) - 1, rlx);
    }
    /// False: the branch has been shipped or taken back.
    bool take_back(shared_branch& b) noexcept {
        if (b.m_state != shared_branch::state::waiting) {
            return false;
        }
        b.m_state = shared_branch::state::outside;
        unlink(b);
        return true;
    }
};

namespace {

/// f() under the lock of the shelf. `w`: the calling worker.
template <class F>
PILFER_ALWAYS_INLINE auto under_lock(bag_shelf& s, const worker* w, F f) noexcept {
    if (s.is_of(w)) [[likely]] {
        s.lock.lock_as_owner();
        struct leave {
            bag_shelf& shelf;
            ~leave() { shelf.lock.unlock_as_owner(); }
        } at_end{s};
        return f();
    }
    const std::lock_guard hold(s.lock);
    return f();
}

[[nodiscard]] std::size_t half(const bag_shelf& s, bool is_of_guests) noexcept {
    const std::size_t n = s.size.load(rlx);
    return is_of_guests ? n / 2 : (n + 1) / 2;
}

} // namespace

branch_bag::branch_bag(unsigned workers, branch_watcher* watcher)
    : m_shelves(workers + std::size_t{1}), m_watcher(watcher) {}
branch_bag::~branch_bag() = default;

void branch_bag::add(shared_branch& b) noexcept {
    const worker* w = this_worker();
    const std::size_t last = m_shelves.size() - 1; // of the communicating thread
    bag_shelf& s = m_shelves[w == nullptr ? last : w->index < last ? w->index : w->index % last];
    s.claim(w); // that of guests has no owner
    under_lock(s, w, [&] { s.add(b); });
}

void branch_bag::tell_of_branch() noexcept {
    if (m_is_awaited.exchange(false, rlx)) {
        m_watcher->branch_is_there();
    }
}

bool branch_bag::take_back(shared_branch& b) noexcept {
    bag_shelf& s = *b.m_shelf; // it never moves to another shelf
    return under_lock(s, this_worker(), [&] { return s.take_back(b); });
}

std::size_t branch_bag::size() const noexcept {
    std::size_t sum = 0;
    for (const bag_shelf& s : m_shelves) {
        sum += s.size.load(rlx); // a hint: the locks decide
    }
    return sum;
}

std::size_t branch_bag::available() const noexcept {
    std::size_t sum = 0;
    for (const bag_shelf& s : m_shelves) {
        sum += half(s, &s == &m_shelves.back());
    }
    return sum;
}

std::vector<shared_branch*> branch_bag::take_half(std::size_t most) {
    std::vector<shared_branch*> taken;
    std::size_t want = std::min(most, available());
    taken.reserve(want);
    m_first = (m_first + 1) % m_shelves.size();
    for (std::size_t i = 0; i < m_shelves.size() && want != 0; ++i) {
        bag_shelf& s = m_shelves[(m_first + i) % m_shelves.size()];
        const std::size_t here = std::min(want, half(s, &s == &m_shelves.back()));
        if (here == 0) {
            continue; // its worker is not disturbed
        }
        std::vector<promise<void>> ends(here); // their memory comes before the branches are anybody's
        const std::lock_guard hold(s.lock);
        for (promise<void>& ended : ends) {
            shared_branch* b = s.oldest;
            if (b == nullptr) {
                break;
            }
            s.unlink(*b);
            b->m_state = shared_branch::state::shipped;
            b->m_ended.emplace(std::move(ended));
            taken.push_back(b); // reserved
            --want;
        }
    }
    return taken;
}

void shared_branch::check_end() const {
    if (m_end.failed) {
        throw cluster::remote_error(
            static_cast<int>(m_end.rank),
            std::string(reinterpret_cast<const char*>(m_end.bytes.data()), m_end.bytes.size()));
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
