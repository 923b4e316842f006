// What a pool that records is told of the tasks of oneTBB: which are queued, and who waits for them.
//
// A task does not say which wait_context it will release: the program's headers release it, without a call.
// So a task is awaited where its parent is, if it has the parent's context. The first task of a wait is
// awaited there. Any other task is awaited by a wait for its context.
#include <cstdlib>
#include <cstring>

#include "pool/pool_core.hpp"
#include "scheduler.hpp"
#include "worker/scheduler.hpp"

namespace tbb::detail::r1::recording {

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

} // namespace tbb::detail::r1::recording
