#include "explore/ready_list.hpp"

#if defined(PILFER_TEST)

#include <algorithm>

namespace pilfer {
inline namespace v0 {
namespace detail {

void ready_list::clear() noexcept {
    m_all.clear();
    m_joined = 0;
    m_yielded.clear();
}

void ready_list::add(ready r) {
    r.joined = ++m_joined;
    m_all.push_back(r);
}

ready ready_list::take(std::size_t place) {
    const ready r = m_all[place];
    m_all.erase(m_all.begin() + static_cast<std::ptrdiff_t>(place));
    return r;
}

bool ready_list::has(task_word task, const context* by) const noexcept {
    return std::any_of(m_all.begin(), m_all.end(),
                       [&](const ready& r) { return r.task == task && r.by == by; });
}

bool ready_list::take_back(task_word task, const context* by) {
    const auto at = std::find_if(m_all.begin(), m_all.end(),
                                 [&](const ready& r) { return r.task == task && r.by == by; });
    if (at == m_all.end()) {
        return false;
    }
    m_all.erase(at);
    return true;
}

std::uint64_t ready_list::yields(std::uint32_t task) {
    if (task >= m_yielded.size()) {
        m_yielded.resize(task + std::size_t{1}, 0);
    }
    return std::exchange(m_yielded[task], m_joined + 1);
}

void ready_outside::add(ready r) {
    const std::lock_guard lock(m_mutex);
    m_all.push_back(r);
    m_any.store(true, rel);
}

std::vector<ready> ready_outside::take_all() {
    std::vector<ready> all;
    if (m_any.load(acq)) {
        const std::lock_guard lock(m_mutex);
        all.swap(m_all);
        m_any.store(false, rlx);
    }
    return all;
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
