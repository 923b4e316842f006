// What a pool that records is told of the tasks of oneTBB: which are queued, and who waits for them.
//
// A task does not say which wait_context it will release: the program's headers release it, without a call.
// So a task is awaited where its parent is, if it has the parent's context. The first task of a wait is
// awaited there. Any other task is awaited by a wait for its context.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <pilfer/detail/base/time.hpp>

#include "pool/pool_core.hpp"
#include "scheduler.hpp"
#include "wait/host.hpp"
#include "worker/scheduler.hpp"

namespace tbb::detail::r1 {

void nap::sleep_outside(bool (*late)(std::uint64_t& state), std::uint64_t state) noexcept {
    pilfer::detail::foreign_waiter self;
    if (!m_entry.done.publish(reinterpret_cast<std::uintptr_t>(&self) | pilfer::detail::waiter_is_foreign)) {
        return;
    }
    bool is_over = false;
    do {
        const pilfer::detail::instant end = pilfer::detail::after(std::chrono::seconds(10));
        is_over = self.wait_while<pilfer::detail::futex_park>([end]() noexcept -> std::uint64_t {
            const pilfer::detail::instant t = pilfer::detail::now();
            return t < end ? end - t : 0;
        });
    } while (!is_over && late(state));
    if (!is_over) {
        self.wait<pilfer::detail::futex_park>();
    }
}

namespace recording {

namespace {

/// The function that runs `t`: d1::task's third virtual one, after two destructors.
const void* code_of(const d1::task& t) noexcept {
    constexpr std::size_t of_execute = 2;
    const void* const* functions = nullptr;
    std::memcpy(&functions, static_cast<const void*>(&t), sizeof functions);
    return functions[of_execute];
}

} // namespace

pilfer::detail::backend* of(const pilfer::detail::worker& w) noexcept {
    pilfer::detail::backend& b = pilfer::detail::backend_of(&w);
    return b.records() ? &b : nullptr;
}

void queued(d1::task& t, const d1::task_group_context* c, const thread_data& here) noexcept {
    const pilfer::detail::worker* const w = pilfer::detail::this_worker();
    const auto note = [&](pilfer::detail::backend& b) {
        const bool of_parent = c != nullptr && c == here.context && here.awaited_by != nullptr;
        const void* const scope = of_parent ? here.awaited_by : c;
        task_accessor::set_awaited_by(t, scope);
        b.foreign_queued(&t, code_of(t), scope);
    };
    if (w == nullptr) {
        if (const outside pool; pool) {
            note(*pool.operator->());
        }
    } else if (pilfer::detail::backend* const b = of(*w)) { // Outside of all calls `here` knows no pool.
        note(*b);
    }
}

std::atomic<std::uint64_t> events{0};

void sleep_outside(nap& n) noexcept {
    if (pilfer::detail::host::here() != nullptr) {
        n.sleep(); // it works for another pool meanwhile
        return;
    }
    static std::atomic<bool> is_reported{false};
    const auto late = [](std::uint64_t& before) {
        if (before != events.load(std::memory_order_relaxed)) {
            before = events.load(std::memory_order_relaxed);
            return true;
        }
        if (!is_reported.exchange(true)) {
            std::fputs("libpilfer-tbb: in a recording one thread runs all tasks, and none has begun or ended "
                       "for 10 s. "
                       "If a task waits for another one by a loop or a lock of the system, it may never end: "
                       "run the "
                       "program without PILFER_PROFILE and PILFER_PROFILE_GRAPH.\n",
                       stderr);
        }
        return false;
    };
    n.sleep_outside(late, events.load(std::memory_order_relaxed));
}

// `pilfer profile` sets them, too.
const bool outside::s_is_wanted =
    std::getenv("PILFER_PROFILE") != nullptr || std::getenv("PILFER_PROFILE_GRAPH") != nullptr;

void outside::find() noexcept {
    pilfer::detail::pool_core* p = pilfer::detail::common_core_if_made();
    if (p == nullptr) {
        m_own = workers::own_pool();
        p = m_own != nullptr ? &m_own->core() : nullptr;
    }
    if (p != nullptr && p->backend().records()) {
        m_backend = &p->backend();
    }
}

} // namespace recording

/// A task that `t` returns is a part of it.
void thread_data::execute_recorded(d1::task* t, std::uint64_t& floating_point) {
    const void* const outer = std::exchange(awaited_by, task_accessor::awaited_by(*t));
    void* const caller = records->foreign_begins(t);
    recording::events.fetch_add(1, std::memory_order_relaxed);
    call_task(t, floating_point);
    recording::events.fetch_add(1, std::memory_order_relaxed);
    records->foreign_ends(caller);
    awaited_by = outer;
}

void thread_data::wait_for_others(d1::wait_context& until) {
    while (external_waiter::is_running(until)) {
        sleeper s;
        s.released = reinterpret_cast<std::uintptr_t>(&until);
        sleepers::add(s);
        pilfer::detail::heavy_fence(); // as in sleep()
        if (external_waiter::is_running(until)) {
            // Threads outside may have all slots.
            step_out(
                true, [](void* on) { recording::sleep_outside(*static_cast<nap*>(on)); }, &s.rest);
        }
        sleepers::remove(s);
    }
}

} // namespace tbb::detail::r1
