// One schedule: which task goes on at each step, and what is kept of the steps.
#pragma once

#if defined(PILFER_TEST)

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pilfer/detail/base/test_point.hpp>

#include "explore/ready_list.hpp"
#include "explore/steps.hpp"
#include "search/chooser.hpp"
#include "search/exploration.hpp"
#include "search/recorded.hpp"
#include "search/watched_thread.hpp"
#include "task/service.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class team;

/// On the worker's thread, one schedule after the other.
class interleaving {
public:
    interleaving(team& t, pool_core& p, exploration& x, watched_thread& here) noexcept
        : m_team(t), m_pool(p), m_exploration(x), m_thread(here) {}

    /// While it lives, what the task allocates is not the program's, and does not fail. No task suspends
    /// meanwhile.
    class bookkeeping {
    public:
        explicit bookkeeping(interleaving& x) noexcept
            : m_of(x), m_before(std::exchange(x.m_keeps_books, true)) {}
        bookkeeping(const bookkeeping&) = delete;
        bookkeeping& operator=(const bookkeeping&) = delete;
        ~bookkeeping() { m_of.m_keeps_books = m_before; }

    private:
        interleaving& m_of;
        const bool m_before;
    };

    // ---- between tasks
    void begins_on(scheduler& w) noexcept;
    void begin(const plan& p);
    /// What runs next, until it waits, ends or is preempted. Empty: an alarm has fired, or a step was one too
    /// many.
    [[nodiscard]] std::optional<ready> next() noexcept;
    /// The next alarm fires, and time jumps to it if it is not due. False: none is set.
    [[nodiscard]] bool fire_next_alarm() noexcept;
    /// True: waits of wait_until_quiet() have ended. `in_vain`: nothing can run any more.
    [[nodiscard]] bool ends_quiet_waits(bool in_vain) noexcept;

    // ---- inside tasks
    void point(const char* what, const void* object) noexcept;
    /// True if an operation that may fail does.
    [[nodiscard]] bool fault(fault_kind kind, const char* what, const void* object) noexcept;
    /// Waits for notify() of the object.
    void wait_for(const void* object) noexcept;
    void notify(const void* object, bool all) noexcept;
    /// Waits until no task is outstanding that was submitted, as the end of a pool does. `exact`: otherwise
    /// it also ends if nothing can run any more.
    void wait_until_quiet(bool exact) noexcept;
    void yield() noexcept;
    /// A task that ended has jumped to this one.
    void was_handed() noexcept;
    /// True in the task that has called the body.
    [[nodiscard]] bool is_in_body() { return running() == 1; }

    // ---- a recording instead of choices
    /// True if the schedule is the order of a recording.
    [[nodiscard]] bool follows() const noexcept { return m_order != nullptr; }
    /// The running task is about to do this: waits until the recording has it.
    void follow(const char* what, const void* object) noexcept;
    /// True if `by` has announced the task, and another one than `by` runs it in the recording.
    [[nodiscard]] bool begins_elsewhere(task_word task, const context* by) const noexcept;
    /// Takes the newest child of that scope that its parent runs in the recording. Null: there is none.
    [[nodiscard]] spark* take_own_child(scope_node* scope) noexcept;
    /// What a task of a repetition believes of a time limit, inside an operation.
    [[nodiscard]] bool time_is_over(bool is_over) noexcept;
    /// False: the running task is in no repetition, or in no operation. Otherwise it has waited.
    [[nodiscard]] bool wait_as_recorded(limited_wait& wait) noexcept;
    /// Ends a wait if the recording says that its time limit does so next. `any`: one of those that are left
    /// after it. False: there is none.
    [[nodiscard]] bool ends_limit(bool any) noexcept;
    /// Nothing can run any more. The recording may want more.
    void check_all_followed();
    /// The schedule has passed. The recording may have failed.
    void check_failed_too();

    // ---- of the schedule
    void add(task_word task, suspension* frame, std::uint32_t number, const context* by);
    [[nodiscard]] ready_list& list() noexcept { return m_ready; }
    [[nodiscard]] task_numbers& tasks() noexcept { return m_tasks; }
    /// `has_stack`: it is the task's, and tells where it is.
    void note(const char* what, const void* object = nullptr, std::uint32_t other = 0, const char* of = "",
              bool has_stack = true);
    /// The first failure of a schedule is its result.
    void fails(verdict how, std::string message);
    void nobody_waits_for(const std::exception_ptr& error);
    /// As text_of_waits().
    [[nodiscard]] std::string waits(bool& elsewhere);
    [[nodiscard]] bool shows_lines() const noexcept {
        return m_steps.is_kept() && m_exploration.shows_lines();
    }
    [[nodiscard]] run_report& report() noexcept { return m_report; }
    /// Tells the exploration.
    void over();

    /// The time of the pool.
    [[nodiscard]] instant clock() const noexcept { return m_clock; }
    [[nodiscard]] std::uint64_t ticks() noexcept { return ++m_ticks; }

private:
    /// The place of the running task among the candidates.
    enum class turn {
        over,      ///< It is none.
        goes_on,   ///< The first one; another one preempts it.
        is_handed, ///< The first one, to which a task that ended has jumped. Another one is no preemption.
        yields,    ///< The last one, if it owes no other task its turn.
    };
    struct preempted;
    struct notified;

    [[nodiscard]] bool has_no_end() noexcept;
    void preempt(std::size_t next, std::uint64_t owes = 0, const char* held_at = nullptr) noexcept;
    [[nodiscard]] bool has_followed_all() const noexcept { return m_followed == m_order->operations.size(); }
    [[nodiscard]] bool expects(std::string_view what, std::uint64_t task) const noexcept;
    [[nodiscard]] std::string expected() const;
    [[nodiscard]] std::string recorded_name(std::uint64_t task) const;
    [[nodiscard]] bool may_run(const ready& r) const noexcept;
    [[nodiscard]] bool finds_next_followed() noexcept;
    void does_not_fit(std::string why);
    void goes_on(turn how) noexcept;
    [[nodiscard]] std::size_t choose(turn how, std::uint64_t owes = 0);
    [[nodiscard]] std::size_t chosen(bool runs);
    void suspend_in(std::vector<notified*>& list, const wait_kind& why, const void* object) noexcept;
    [[nodiscard]] std::uint32_t running();

    team& m_team;
    pool_core& m_pool;
    exploration& m_exploration;
    watched_thread& m_thread;
    scheduler* m_here = nullptr; // the one worker

    chooser m_chooser;
    const recorded_order* m_order = nullptr; // of the schedule
    std::size_t m_followed = 0;              // operations of it
    bool m_goes_beyond = false;              // tasks do more than the recording has
    struct limit {
        std::uint64_t task;
        limited_wait* wait;
    };
    std::vector<limit> m_limits;  // of the tasks that wait inside operations
    unsigned m_alarms_beyond = 0; // that have fired after all operations of it
    ready_list m_ready;
    // Places in m_ready, and what is no such place.
    static constexpr std::size_t none = SIZE_MAX;
    static constexpr std::size_t alarm_place = SIZE_MAX - 1;
    static constexpr std::size_t running_place = SIZE_MAX - 2;
    std::size_t m_next = none; // was chosen as a task was preempted
    task_numbers m_tasks;
    step_log m_steps;
    std::uint64_t m_made = 0; // steps
    std::uint64_t m_faults = 0;
    std::vector<notified*> m_notified; // waits that notify() ends, the oldest first
    std::vector<notified*> m_quiet;    // waits until no task is outstanding
    bool m_keeps_books = false;
    bool m_quiet_is_exact = true;
    std::uint64_t m_yields = 0; // since something became ready, or an alarm fired
    run_report m_report;
    std::vector<std::uint32_t> m_candidates; // numbers of tasks
    std::vector<std::size_t> m_places;       // of the candidates
    instant m_clock = 0;
    std::uint64_t m_ticks = 0;
};

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
