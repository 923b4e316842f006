// The bag of branches that other ranks may take.
#include <algorithm>
#include <mutex>

#include <pilfer/cluster.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

void branch_bag::add(shared_branch& b) noexcept {
    const worker* w = this_worker();
    const std::size_t last = m_shelves.size() - 1; // of the communicating thread
    bag_shelf& s = m_shelves[w != nullptr ? w->index % last : last];
    const std::lock_guard hold(s.lock);
    b.m_shelf = &s;
    b.m_state = shared_branch::state::waiting;
    b.m_older = s.newest;
    b.m_newer = nullptr;
    (s.newest != nullptr ? s.newest->m_newer : s.oldest) = &b;
    s.newest = &b;
    s.size.store(s.size.load(rlx) + 1, rlx);
}

void branch_bag::tell_of_branch() noexcept {
    if (m_is_awaited.exchange(false, rlx)) {
        m_watcher->branch_is_there();
    }
}

void branch_bag::unlink(bag_shelf& s, shared_branch& b) noexcept {
    (b.m_older != nullptr ? b.m_older->m_newer : s.oldest) = b.m_newer;
    (b.m_newer != nullptr ? b.m_newer->m_older : s.newest) = b.m_older;
    s.size.store(s.size.load(rlx) - 1, rlx);
}

bool branch_bag::take_back(shared_branch& b) noexcept {
    const std::lock_guard hold(b.m_shelf->lock); // it never moves to another shelf
    if (b.m_state != shared_branch::state::waiting) {
        return false;
    }
    b.m_state = shared_branch::state::outside;
    unlink(*b.m_shelf, b);
    return true;
}

std::size_t branch_bag::size() const noexcept {
    std::size_t sum = 0;
    for (const bag_shelf& s : m_shelves) {
        sum += s.size.load(rlx); // a hint: the locks decide
    }
    return sum;
}

std::size_t branch_bag::half(const bag_shelf& s) const noexcept {
    const std::size_t n = s.size.load(rlx);
    return &s == &m_shelves.back() ? n / 2 : (n + 1) / 2;
}

std::size_t branch_bag::available() const noexcept {
    std::size_t sum = 0;
    for (const bag_shelf& s : m_shelves) {
        sum += half(s);
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
        const std::size_t here = std::min(want, half(s));
        for (std::size_t n = 0; n < here; ++n) {
            promise<void> ended; // its memory comes before the branch is anybody's
            const std::lock_guard hold(s.lock);
            shared_branch* b = s.oldest;
            if (b == nullptr) {
                break;
            }
            unlink(s, *b);
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
