// The list of stacks that sleep, and which of them a task, a slot or a release wakes.
#include "scheduler.hpp"

namespace tbb::detail::r1 {

namespace sleepers {
namespace {
short_lock lock;
chain<sleeper> all;
std::atomic<int> count{0};

template <class Wanted>
void wake(Wanted wanted, bool one) noexcept {
    const guard held(lock);
    for (sleeper* s = all.first(); s != nullptr; s = s->next) {
        if (!s->rest.woken() && wanted(*s)) {
            s->rest.wake();
            if (one) {
                return;
            }
        }
    }
}

/// It sleeps in `a` until there is a task.
bool in(const arena& a, const sleeper& s) noexcept { return s.place == &a && !s.wants_slot; }
bool allows(const sleeper& s, std::intptr_t isolation) noexcept {
    return s.isolation == 0 || s.isolation == isolation;
}
} // namespace

void add(sleeper& s) noexcept {
    const guard held(lock);
    all.push_back(s);
    count.fetch_add(1, std::memory_order_seq_cst);
    if (s.place != nullptr) {
        (s.wants_slot ? s.place->m_slot_seekers : s.place->m_sleepers)
            .fetch_add(1, std::memory_order_seq_cst);
    }
}

void remove(sleeper& s) noexcept {
    const guard held(lock);
    all.remove(s);
    count.fetch_sub(1, std::memory_order_relaxed);
    if (s.place != nullptr) {
        (s.wants_slot ? s.place->m_slot_seekers : s.place->m_sleepers)
            .fetch_sub(1, std::memory_order_relaxed);
    }
}

void wake_for_spawned(arena& a, std::intptr_t isolation) noexcept {
    const bool no_worker = a.workers_only_queued();
    wake(
        [&](const sleeper& s) {
            return in(a, s) && allows(s, isolation) && !s.is_deep && !(no_worker && s.is_worker);
        },
        true);
}

void wake_for_queued(arena& a) noexcept {
    wake([&](const sleeper& s) { return in(a, s) && s.is_outermost && s.isolation == 0 && !s.is_deep; },
         false);
}

void wake_for_critical(arena& a, std::intptr_t isolation) noexcept {
    wake([&](const sleeper& s) { return in(a, s) && allows(s, isolation); }, false);
}

void wake_all_in(arena& a) noexcept {
    wake([&](const sleeper& s) { return in(a, s); }, false);
}

void wake_slot_keepers() noexcept {
    wake([](const sleeper& s) { return s.keeps_slot; }, false);
}

void wake_for_slot(arena& a) noexcept {
    // With suspended stacks some wait for one slot and no other.
    wake([&](const sleeper& s) { return s.place == &a && s.wants_slot; }, !suspended::any());
}

void wake_for_release(std::uintptr_t released) noexcept {
    // After the last release, which is a seq_cst read-modify-write of the caller's.
    if (count.load(std::memory_order_seq_cst) != 0) {
        wake([&](const sleeper& s) { return s.released == released; }, false);
    }
}

void forget_threads() noexcept {
    (void)lock.open_for_good();
    all = {};
    count.store(0, std::memory_order_relaxed);
}
} // namespace sleepers

void notify_waiters(std::uintptr_t released) { sleepers::wake_for_release(released); }

} // namespace tbb::detail::r1
