// The public face of a pool.
#include <pilfer/pool.hpp>

#include <pilfer/detail/base/race.hpp>

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

#include "backend/helping.hpp"
#include "backend/make.hpp"
#include "base/write.hpp"
#include "platform/os.hpp"
#include "pool/checked_options.hpp"
#include "pool/figures.hpp"
#include "pool/pool_core.hpp"
#include "pool/stand_in.hpp"

namespace pilfer {
inline namespace v0 {
pool::pool(const options& o) {
    const auto files = detail::written_files(o.only_workers);
#if defined(PILFER_TEST)
    if (detail::stand_in != nullptr && detail::test_backend == nullptr) {
        m_core = &detail::stand_in->begins(*this, detail::checked_options(o, files));
        return;
    }
#endif
    auto core = detail::make_pool(detail::checked_options(o, files), files, o, detail::makes_common_pool());
    if (os::is_static_in_program(this)) {
        core->must_note_exit();
    }
    m_core = core.release();
}

pool::~pool() {
#if defined(PILFER_TEST)
    if (detail::stood_for(*this) != nullptr) {
        detail::stand_in->ends(*this);
        return;
    }
#endif
    if (m_core->is_forked_child()) {
        m_core->abandon();
        return;
    }
    const detail::worker* w = detail::this_worker();
    const bool is_own = w != nullptr && w->pool == m_core;
    // A task has called exit():
    // 1. The task's thread cannot join itself.
    // 2. It must not wait for frames of another pool: a frame that waits for this task never resumes.
    // 3. So static pools of the program stay, as the common pool does.
    // 4. A static pool of a library may be about to be unloaded. It ends unless the task is its own.
    const bool in_task = w != nullptr || detail::helping::is_for_any();
    if (is_own ? os::is_static(this) : in_task && os::exit_has_begun() && os::is_static_in_program(this)) {
        return;
    }
    if (is_own) {
        os::write_error("pilfer: a pool was destroyed by one of its own tasks\n");
        std::terminate();
    }
    delete m_core;
}

unsigned pool::workers() const noexcept {
    detail::race::cannot_follow("the number of workers, of which a pool has one here");
#if defined(PILFER_TEST)
    if (const options* const asked = detail::stood_for(*this)) {
        return asked->workers;
    }
#endif
    return m_core->active();
}

unsigned pool::resize(unsigned n) { return m_core->threads.resize(n); }

const options& pool::settings() const noexcept {
#if defined(PILFER_TEST)
    if (const options* const asked = detail::stood_for(*this)) {
        return *asked;
    }
#endif
    return m_core->settings();
}

work_span pool::profile() const {
    const std::optional<work_span> figures = m_core->backend().figures();
    if (!figures) {
        throw usage_error("pilfer: this pool does not record: see options.debug.profile");
    }
    return *figures;
}

counters pool::counters() const noexcept { return detail::figures::sum(*m_core); }

counters pool::counters(unsigned i) const {
#if defined(PILFER_TEST)
    // One worker stands for all of them.
    if (const options* const asked = detail::stood_for(*this); asked != nullptr && i < asked->workers) {
        return detail::figures::of(m_core->at(0));
    }
#endif
    if (i >= m_core->size()) {
        throw std::out_of_range("pilfer: this pool has no such worker");
    }
    return detail::figures::of(m_core->at(i));
}

void pool::shutdown(shutdown_mode mode) {
    if (mode != shutdown_mode::drain && mode != shutdown_mode::drop) {
        throw std::invalid_argument("pilfer: shutdown's mode must be drain or drop, not " +
                                    std::to_string(static_cast<int>(mode)));
    }
#if defined(PILFER_TEST)
    if (detail::stood_for(*this) != nullptr) {
        detail::stand_in->drains();
        return;
    }
#endif
    m_core->shutdown(mode);
#if defined(PILFER_RACE)
    detail::race::acquire(detail::race::detached_tasks);
#endif
}

namespace detail {

void submit(pool_core& p, submission* s) {
    const worker* w = this_worker();
    p.gate.accept(s, w != nullptr ? static_cast<const scheduler*>(w)->level() : priority::normal);
}
void submit(pool_core& p, submission* s, priority level) {
    if (level == priority::automatic) {
        submit(p, s);
        return;
    }
    const worker* w = this_worker();
    if (w != nullptr && w->pool == &p) {
        p.check_here();
        p.gate.accept_inside(s, level);
    } else {
        p.gate.accept(s, level);
    }
}

void check(const task_options& o) {
    if (static_cast<unsigned>(o.priority) > static_cast<unsigned>(priority::automatic)) {
        throw std::invalid_argument("pilfer: a priority must be high, normal, low or automatic, not " +
                                    std::to_string(static_cast<unsigned>(o.priority)));
    }
    if (o.weight < 1 || o.weight > task_options::most_weight) {
        throw std::invalid_argument("pilfer: a weight must be from 1 to " +
                                    std::to_string(task_options::most_weight) + ", not " +
                                    std::to_string(o.weight));
    }
}

void check_child(const task_options& o) {
    check(o);
    if (o.priority != priority::automatic) {
        throw std::invalid_argument("pilfer: a child of a scope has no priority: it is in a deque");
    }
}

bool is_forked_child(const pool_core& p) noexcept { return p.is_forked_child(); }

} // namespace detail

} // namespace v0
} // namespace pilfer
