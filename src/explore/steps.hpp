// Texts of steps and waits: tasks and objects have numbers there, in the order of their first use.
#pragma once

#if defined(PILFER_TEST)

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "search/exploration.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

struct context;
class pool_core;

/// The numbers of the tasks of one schedule, from 1.
class task_numbers {
public:
    void clear() noexcept;
    [[nodiscard]] std::uint32_t next() noexcept { return ++m_newest; }
    /// The task on that stack; a new number if it has none.
    [[nodiscard]] std::uint32_t of(const context* c);
    void set(const context* c, std::uint32_t number) { m_numbers[c] = number; }

private:
    std::unordered_map<const context*, std::uint32_t> m_numbers;
    std::uint32_t m_newest = 0;
};

/// The steps of one schedule.
class step_log {
public:
    /// `is_kept`: steps are kept. Otherwise their hash is not made either.
    void clear(bool is_kept);
    [[nodiscard]] bool is_kept() const noexcept { return m_is_kept; }
    /// `of` follows `what`, and both live long enough.
    void add(std::uint32_t task, const char* name, const char* what, const char* of, const void* object,
             std::uint32_t other);
    [[nodiscard]] trace_step& last() noexcept { return m_steps.back(); }
    [[nodiscard]] const std::vector<trace_step>& all() const noexcept { return m_steps; }
    [[nodiscard]] std::uint32_t hash() const noexcept { return m_hash; }
    /// "locks a mutex" becomes "locks mutex 2": the second object that this schedule has used. If it has a
    /// name: "locks mutex 2 "accounts"".
    [[nodiscard]] std::string with_name(std::string what, const void* object);

private:
    bool m_is_kept = false;
    std::uint32_t m_hash = 0;
    std::vector<trace_step> m_steps;
    std::map<std::pair<const void*, std::string_view>, unsigned> m_objects; // numbers of those that are named
};

/// A line for each task of the pool that waits: for what, for whom, and where in the code. `lines`: places
/// have lines of the source. `elsewhere`: one of them waits for another pool.
[[nodiscard]] std::string text_of_waits(const pool_core& p, task_numbers& tasks, step_log& steps, bool lines,
                                        bool& elsewhere);
/// The innermost functions that are not the library's, one a line.
[[nodiscard]] std::string text_of_frames(const void* const* frames, std::size_t depth);

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
