// The work of this rank in one run: its tasks in the pool, its bag, and what other ranks have of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pilfer/cluster.hpp>
#include <pilfer/scope.hpp>

#include "cluster/doorbell.hpp"
#include "cluster/local_work.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The types of tasks by number.
[[nodiscard]] const std::vector<cluster_task*>& cluster_tasks();

class rank_work final : public local_work, private branch_watcher {
public:
    /// `waker`, if there is one, sleeps in place of this: see sleep(). It lives longer than the pool.
    /// `may_give_up`: give_up() may be called.
    rank_work(pool& p, std::uint32_t rank, doorbell* waker = nullptr, bool may_give_up = false);
    /// All tasks must have ended: see is_quiet().
    ~rank_work() override;

    /// Runs `root` as a task; is_root_done() says when it has ended.
    void start_root(std::function<void(cluster::archive&)> root);
    [[nodiscard]] bool is_root_done() const noexcept { return m_root_done.load(acq); } // start_root()
    [[nodiscard]] parcel_result& root() noexcept { return m_root; }

    [[nodiscard]] std::size_t available() const override { return m_bag.available(); }
    [[nodiscard]] bool hungry() override;
    [[nodiscard]] std::vector<parcel> take_half() override { return take_oldest(most_parcels); }
    /// At most `most` of take_half().
    [[nodiscard]] std::vector<parcel> take_oldest(std::size_t most);
    void start(parcel&& p) override;
    void complete(parcel_result&& r) override;
    [[nodiscard]] std::vector<finished> take_finished() override;
    [[nodiscard]] std::vector<parcel_result> take_unwanted() override;
    void drop(std::uint32_t origin, std::uint64_t ticket) override;
    /// A parcel does not come here any longer: erases what drop() has noted for start().
    void forget_drop(std::uint32_t origin, std::uint64_t ticket);
    [[nodiscard]] std::vector<parcel_result> take_bounds() override;
    void learn_bound(const parcel_result& r) override;
    [[nodiscard]] std::vector<parcel_result> take_parts() override;
    void keep_part(parcel_result&& r) override;

    /// True if a task of another rank is here.
    [[nodiscard]] bool has_guests() const noexcept { return m_open.load(rlx) != 0; }
    /// True if no branch waits, here or for another rank.
    [[nodiscard]] bool has_no_branches() const noexcept { return m_bag.size() == 0 && m_shipped.empty(); }
    /// True if none of its tasks is in the pool.
    [[nodiscard]] bool is_quiet() const noexcept { return m_tasks.load(acq) == 0; } // ends_task()

    /// No result comes any longer: cancels all tasks, and ends branches that were shipped with this error.
    void give_up(const std::string& why);

    /// True: the next branch that is put into the bag is an event. Called before each look for branches.
    void await_branch(bool is_awaited) noexcept { m_bag.await_branch(is_awaited); }
    /// The number of events so far, for sleep(). Writes of a task before such an event are seen after it.
    [[nodiscard]] std::uint32_t events() const noexcept { return m_bell->events.load(acq); }
    /// Blocks the thread for about `ns`, or until an event after `seen`.
    void sleep(std::uint32_t seen, std::uint64_t ns) noexcept;

private:
    class foreign_branch;
    using name = std::pair<std::uint32_t, std::uint64_t>; // of a parcel: its origin and its ticket
    /// The words that a look touches. Other tasks of the pool may keep it waiting beyond the end of the run.
    struct bell {
        std::atomic<bool> idle{false};    // a worker had nothing better to do than to look
        std::atomic<bool> looking{false}; // that look waits in the pool
        std::atomic<std::uint32_t> events{0};
        std::atomic<bool> sleeps{false};
        doorbell* waker = nullptr; // lives longer than the pool
        void ring() noexcept;
    };
    static constexpr std::size_t most_parcels = 4096; ///< of one take_half()

    template <class F>
    void submit(F f);
    /// Runs all parcels of m_arrived, as branches of one task. As a task each, those that wait would make
    /// busy workers yield to them, and each would be suspended with a stack.
    void run_arrived() noexcept;
    void run_all(std::span<foreign_branch* const> guests) noexcept; ///< at least one
    void run(foreign_branch* b) noexcept;
    /// False if the branch does not wait here any longer.
    [[nodiscard]] bool run_cancellable(foreign_branch& b) noexcept;
    /// Under the lock: the parcel has ended here.
    void end_guest(const name& parcel, parcel_result&& r);
    [[nodiscard]] parcel_result end_of_stopped() const;
    /// result_of(f), unless give_up() has been called or is called meanwhile.
    template <class F>
    [[nodiscard]] parcel_result cancellable_result_of(F&& f) noexcept;
    void ends_task() noexcept { m_tasks.fetch_sub(1, rel); } // the last access of a task: is_quiet()
    /// Runs `f(archive&)` into a result.
    template <class F>
    [[nodiscard]] parcel_result result_of(F&& f) const noexcept;
    void ring() noexcept { m_bell->ring(); }
    void branch_is_there() noexcept override { ring(); }

    pool& m_pool;
    std::uint32_t m_rank;
    bool m_may_give_up;
    branch_bag m_bag;
    set_while<branch_bag> m_here;

    // Of the communicating thread.
    std::unordered_map<std::uint64_t, shared_branch*> m_shipped; // by ticket
    std::uint64_t m_last_ticket = 0;
    std::vector<std::uint64_t> m_known_bounds; // what other ranks know, or have been sent

    parcel_result m_root;
    std::atomic<bool> m_root_done{false};
    std::atomic<std::uint32_t> m_tasks{0};
    std::atomic<std::uint32_t> m_open{0}; // parcels that have not ended
    std::shared_ptr<bell> m_bell = std::make_shared<bell>();

    raw_lock<std_atom, futex_park> m_lock;
    // All under the lock:
    std::vector<finished> m_finished;
    std::map<name, foreign_branch*> m_guests; // that wait or run
    std::vector<foreign_branch*> m_arrived;   // for run_arrived()
    std::set<name> m_unwanted;                // dropped parcels that were not here
    scope* m_root_scope = nullptr;            // that give_up() cancels
    bool m_given_up = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
