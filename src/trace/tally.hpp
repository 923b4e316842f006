// A worker's own counters: written by its thread only, read by any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include <pilfer/counters.hpp>
#include <pilfer/detail/base/chaos.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class tally_counter {
public:
    void add(std::uint64_t n = 1) noexcept {
        m_value.store(m_value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t get() const noexcept {
        return m_value.load(std::memory_order_relaxed) - start();
    }

private:
#if defined(PILFER_CHAOS)
    [[nodiscard]] std::uint64_t start() const noexcept { return m_start; }
    const std::uint64_t m_start = PILFER_CHAOS_START(std::uint64_t);
    std::atomic<std::uint64_t> m_value{m_start};
#else
    [[nodiscard]] static std::uint64_t start() noexcept { return 0; }
    std::atomic<std::uint64_t> m_value{0};
#endif
};

/// A word of the worker's own thread that several of its contexts touch. It is plain for the machine, but no
/// race for ThreadSanitizer, which treats the contexts of one thread as unrelated threads.
template <class T>
class own_word {
public:
    explicit own_word(T value) noexcept : m_value(value) {}
    own_word& operator=(T value) noexcept {
        m_value.store(value, std::memory_order_relaxed);
        return *this;
    }
    operator T() const noexcept { return m_value.load(std::memory_order_relaxed); }

private:
    std::atomic<T> m_value;
};

struct tally {
    tally_counter run_own, run_submitted, run_stolen, run_resumed, tasks_stolen;
    tally_counter steals_tried, steals_failed, steals_lost, reaches;
    tally_counter exposures, exposed_tasks;
    tally_counter suspends, resumes, sleeps, wakes;
    tally_counter dropped, exceptions_suppressed, no_context;
    tally_counter scopes_shared;
    tally_counter announced, run_inline;

    void add_to(counters& c) const noexcept {
        c.run_own += run_own.get();
        c.run_submitted += run_submitted.get();
        c.run_stolen += run_stolen.get();
        c.run_resumed += run_resumed.get();
        c.tasks_stolen += tasks_stolen.get();
        c.steals_tried += steals_tried.get();
        c.steals_failed += steals_failed.get();
        c.steals_lost += steals_lost.get();
        c.reaches += reaches.get();
        c.exposures += exposures.get();
        c.exposed_tasks += exposed_tasks.get();
        c.suspends += suspends.get();
        c.resumes += resumes.get();
        c.sleeps += sleeps.get();
        c.wakes += wakes.get();
        c.dropped += dropped.get();
        c.exceptions_suppressed += exceptions_suppressed.get();
        c.no_context += no_context.get();
        c.scopes_shared += scopes_shared.get();
        c.announced += announced.get();
        c.run_inline += run_inline.get();
    }
};

} // namespace detail
} // namespace v0
} // namespace pilfer
