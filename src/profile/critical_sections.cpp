// The critical sections of a recorded graph: which task has which lock.
#include <algorithm>

#include "profile/recorder_inside.hpp"

namespace pilfer {
inline namespace v0 {
namespace profile {

void recorder::locked(const void* lock, const spot& here) noexcept {
    on_worker([&] {
        if (m_running == nullptr || m_graph == nullptr) {
            return;
        }
        const auto self = reinterpret_cast<key>(lock);
        auto at = m_locks.find(self);
        if (at == m_locks.end()) {
            at = m_locks.emplace(self, lock_entry{m_locks.size() + 1, place_of(here, *m_running)}).first;
        }
        m_running->held.push_back(self);
        write_strand();
        m_running->words.locked(at->second.number);
    });
}

void recorder::unlocked(const void* lock) noexcept {
    on_worker([&] {
        if (m_running == nullptr || m_graph == nullptr) {
            return;
        }
        const auto self = reinterpret_cast<key>(lock);
        auto& held = m_running->held;
        const auto at = std::find(held.begin(), held.end(), self);
        if (at != held.end()) { // else it was taken before the task was recorded
            held.erase(at);
            write_strand();
            m_running->words.unlocked(m_locks.at(self).number);
        }
    });
}

void recorder::write_locks() {
    for (const auto& [lock, entry] : m_locks) {
        write_lock(*m_graph, entry.number, entry.place);
    }
}

} // namespace profile
} // namespace v0
} // namespace pilfer
