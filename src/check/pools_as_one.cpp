#include "check/pools_as_one.hpp"

#if defined(PILFER_TEST)

#include <algorithm>

#include <pilfer/error.hpp>

#include "explore/explored_pool.hpp"
#include "explore/interleaving.hpp"
#include "platform/os.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

pool_core& pools_as_one::begins(const pool& p, const options& checked) {
    const worker* const w = this_worker();
    if (explored_task() == nullptr) {
        throw usage_error("pilfer: a pool is made outside of main() and of the tasks of a program whose "
                          "schedules are explored");
    }
    m_several = m_several || !m_all.empty();
    w->pool->must_note_exit();
    m_all.push_front({&p, checked});
    return *w->pool;
}

const options* pools_as_one::settings(const pool& p) const noexcept {
    const auto at = std::find_if(m_all.begin(), m_all.end(), [&](const one& o) { return o.at == &p; });
    return at != m_all.end() ? &at->asked : nullptr;
}

/// A task does not know its pool, so the end of a pool waits for the tasks of all pools.
/// 1. Several pools, or main() has called exit(): the wait ends also if nothing can run any more.
/// 2. Another task has called exit(): no wait. pool::~pool() does not wait for static pools either.
void pools_as_one::drains() noexcept {
    interleaving* const x = explored_task();
    const bool exits = os::exit_has_begun();
    if (x != nullptr && (!exits || x->is_in_body())) {
        x->wait_until_quiet(!m_several && !exits);
    }
}

void pools_as_one::ends(const pool& p) noexcept {
    drains();
    m_all.remove_if([&](const one& o) { return o.at == &p; });
}

bool pools_as_one::handles(const std::exception_ptr& error) const {
    const auto at =
        std::find_if(m_all.begin(), m_all.end(), [](const one& o) { return o.asked.on_error != nullptr; });
    if (at == m_all.end()) {
        return false;
    }
    at->asked.on_error(error);
    return true;
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
