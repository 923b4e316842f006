#include "guest/blocking.hpp"

#include "backend/helping.hpp"
#include "platform/os.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr std::uint64_t patience = 10'000'000'000; // ns that a thread rests before it ends

} // namespace

bool run_elsewhere(blocking_job& job) noexcept {
    worker* w = this_worker();
    if (w == nullptr) {
        return false;
    }
    backend_of(w).run_blocking(*static_cast<scheduler*>(w), job);
    return true;
}

blocking_threads::blocking_threads(pool_core& owner, unsigned most) noexcept : m_pool(owner), m_most(most) {
    if (most != 0) {
        owner.add(*this);
    }
}

bool blocking_threads::take(blocking_job& job) noexcept {
    const std::lock_guard lock(m_mutex);
    if (m_over) {
        return false;
    }
    m_busy.fetch_add(1, rlx);
    if (helper* const h = m_resting) {
        m_resting = h->below;
        h->job = &job;
        h->word.store(called, rel);
        os::futex_wake(&h->word, 1);
        return true;
    }
    if (start(job)) {
        return true;
    }
    m_busy.fetch_sub(1, rlx);
    return false;
}

/// Under the mutex.
bool blocking_threads::start(blocking_job& job) noexcept {
    helper* h = nullptr;
    for (const auto& old : m_helpers) {
        if (!old->alive) {
            h = old.get();
            break;
        }
    }
    if (h != nullptr) {
        os::thread_join(h->thread); // it is no longer alive: only its last instructions are left
    } else {
        if (m_helpers.size() >= m_most) {
            return false;
        }
        try {
            m_helpers.push_back(std::make_unique<helper>());
        } catch (...) {
            return false; // no memory: the worker runs the job itself
        }
        h = m_helpers.back().get();
    }
    h->home = this;
    h->job = &job;
    h->word.store(called, rlx);
    h->alive = os::thread_start(h->thread, &blocking_threads::main, h) == 0;
    if (!h->alive) {
        // There is no thread to join.
        std::erase_if(m_helpers, [h](const auto& one) { return one.get() == h; });
        return false;
    }
    return true;
}

void* blocking_threads::main(void* self) {
    auto& h = *static_cast<helper*>(self);
    name_helper(h.home->m_pool.settings());
    const helping here(h.home->m_pool);
    h.home->run_jobs(h);
    return nullptr;
}

void blocking_threads::run_jobs(helper& h) noexcept {
    do {
        blocking_job& job = *h.job;
        job.run(job);
        m_busy.fetch_sub(1,
                         rel); // before the frame resumes: a thread that sees it suspended also sees this job
        go_on(job.done);
    } while (rest(h));
}

/// False: the thread is to end.
bool blocking_threads::rest(helper& h) noexcept {
    {
        const std::lock_guard lock(m_mutex);
        if (m_over) {
            return false;
        }
        h.word.store(resting, rlx);
        h.below = m_resting;
        m_resting = &h;
    }
    const instant until = now() + patience;
    for (;;) {
        const std::uint32_t word = h.word.load(acq);
        if (word != resting) {
            return word == called;
        }
        const instant t = now();
        if (t < until && until - t <= patience) { // else the clock was set back, or the time is over
            os::futex_wait_for(h.word, resting, until - t);
            continue;
        }
        const std::lock_guard lock(m_mutex);
        if (h.word.load(rlx) == resting) {
            for (helper** at = &m_resting; *at != nullptr; at = &(*at)->below) {
                if (*at == &h) {
                    *at = h.below;
                    break;
                }
            }
            h.alive = false;
            return false;
        }
    }
}

void blocking_threads::join() noexcept {
    {
        const std::lock_guard lock(m_mutex);
        m_over = true;
        for (helper* h = m_resting; h != nullptr; h = h->below) {
            h->word.store(ended, rel);
            os::futex_wake(&h->word, 1);
        }
        m_resting = nullptr;
    }
    for (const auto& h : m_helpers) { // no thread adds a helper any more
        os::thread_join(h->thread);
    }
    m_helpers.clear();
}

} // namespace detail
} // namespace v0
} // namespace pilfer
