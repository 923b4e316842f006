// Branches that other ranks may take, and the bag that holds them while they wait.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <pilfer/cluster/archive.hpp>
#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/cluster/task.hpp>
#include <pilfer/join.hpp>
#include <pilfer/promise.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class branch_bag;
struct bag_shelf;

/// How a branch ended on another rank.
struct remote_end {
    std::vector<std::byte> bytes; ///< the result, or the text of the error
    std::uint32_t rank = 0;       ///< of the error
    bool failed = false;
};

/// A branch that waits in the bag. One party gets it: the frame that put it there, or the rank's
/// communication, which ships it to another rank.
class shared_branch {
public:
    explicit shared_branch(cluster_task& type) noexcept : m_type(&type) {}
    shared_branch(const shared_branch&) = delete;
    shared_branch& operator=(const shared_branch&) = delete;
    virtual ~shared_branch() = default;

    /// Writes the description of a task of type(). Called on the rank's communicating thread.
    virtual void write(cluster::archive& out) const = 0;
    [[nodiscard]] cluster_task& type() const noexcept { return *m_type; }

    /// The communicating thread: the branch has ended on another rank. The last access to it.
    void ends(remote_end&& end) {
        m_end = std::move(end);
        m_ended->set_value();
    }
    /// True if it was shipped. Read after take_back() has returned false.
    [[nodiscard]] bool is_shipped() const noexcept { return m_state == state::shipped; }
    /// Waits for the end of a shipped branch. Throws stopped if the calling task is cancelled.
    void wait() { m_ended->get_future().wait(); }
    /// The communicating thread: true once after branch_bag::disown().
    [[nodiscard]] bool take_unwanted() noexcept { return m_unwanted.exchange(false, rlx); }
    /// Waits for the end of a shipped branch; also a cancelled task waits to the end.
    void wait_to_the_end() noexcept { m_ended->get_future().core().wait_to_the_end(); }
    /// The result of a shipped branch that has ended. Throws remote_error, archive_error.
    template <class R>
    [[nodiscard]] R take_end() {
        check_end();
        cluster::archive in(m_end.bytes);
        R result = in.take<R>();
        in.end();
        return result;
    }

private:
    friend class branch_bag;
    friend struct bag_shelf;
    enum class state : unsigned char { outside, waiting, shipped };
    void check_end() const;

    cluster_task* m_type;
    // Under the shelf's lock.
    shared_branch* m_older = nullptr;
    shared_branch* m_newer = nullptr;
    bag_shelf* m_shelf = nullptr;
    state m_state = state::outside;
    std::optional<promise<void>> m_ended; // made when it is shipped
    std::atomic<bool> m_unwanted{false};  // set before branch_bag::m_has_unwanted
    remote_end m_end;
};

/// Is notified of a branch that is put into a bag.
class branch_watcher {
public:
    virtual void branch_is_there() noexcept = 0;

protected:
    ~branch_watcher() = default;
};

/// All branches of a rank that another rank may take. Each worker has a shelf, so that its lock is its own
/// unless another thread takes something.
class branch_bag {
public:
    explicit branch_bag(unsigned workers, branch_watcher* watcher = nullptr);
    branch_bag(const branch_bag&) = delete;
    branch_bag& operator=(const branch_bag&) = delete;
    ~branch_bag();

    /// Offers a branch, as the newest of the calling worker.
    void put(shared_branch& b) noexcept {
        add(b);
        if (m_is_awaited.load(rlx)) [[unlikely]] {
            tell_of_branch();
        }
    }
    /// The communicating thread: the watcher is notified of the next branch, or is not. A hint.
    void await_branch(bool is_awaited) noexcept {
        if (m_is_awaited.load(rlx) != is_awaited) {
            m_is_awaited.store(is_awaited, rlx);
        }
    }
    /// True: the branch was still there, and the caller alone has it now.
    [[nodiscard]] bool take_back(shared_branch& b) noexcept;
    /// About how many there are.
    [[nodiscard]] std::size_t size() const noexcept;
    /// About how many another rank could take.
    [[nodiscard]] std::size_t available() const noexcept;
    /// Takes about half of each shelf, the oldest branches; at most `most`. They are shipped from here on.
    ///
    /// Of the guests, which came from other ranks, it leaves at least one: a single task could otherwise be
    /// passed from one idle rank to the next without end. Throws std::bad_alloc, which ends the run.
    [[nodiscard]] std::vector<shared_branch*> take_half(std::size_t most);

    /// The result of a shipped branch is not wanted any longer. Its end is still awaited.
    void disown(shared_branch& b) noexcept {
        b.m_unwanted.store(true, rlx);
        // An exchange, so that a store of another worker that is not taken yet stays in the release sequence.
        m_has_unwanted.exchange(true, rel); // take_unwanted()
    }
    /// The communicating thread: true if it has to look for disowned branches.
    [[nodiscard]] bool take_unwanted() noexcept {
        return m_has_unwanted.load(rlx) && m_has_unwanted.exchange(false, acq); // disown()
    }

private:
    void add(shared_branch& b) noexcept;
    void tell_of_branch() noexcept;
    std::vector<bag_shelf> m_shelves; // one for each worker, and the last one for guests
    std::size_t m_first = 0;          // the shelf where the next take_half() begins
    std::atomic<bool> m_has_unwanted{false};
    std::atomic<bool> m_is_awaited{false};
    branch_watcher* m_watcher;
};

/// The bag of the run in progress; null while there are no other ranks.
inline constinit std::atomic<branch_bag*> cluster_bag{nullptr};
[[nodiscard]] PILFER_ALWAYS_INLINE branch_bag* current_bag() noexcept {
    return cluster_bag.load(rlx); // set before the first task of a run is submitted
}

/// A branch with its result. `Run` runs it here, `Write` writes its description.
template <class Run, class Write>
class typed_branch final : public shared_branch {
public:
    using value = result_t<const Run>;
    typed_branch(cluster_task& type, const Run& run, const Write& write) noexcept
        : shared_branch(type), m_run(run), m_write(write) {}
    void write(cluster::archive& out) const override { m_write(out); }
    void run_here() { m_value.emplace(detail::invoke_regular(m_run)); }
    [[nodiscard]] value take() { return std::move(*m_value); }

private:
    const Run& m_run;
    const Write& m_write;
    std::optional<value> m_value;
};

/// Runs `left` here. This frame, a worker of this rank or another rank runs the branch: the first that takes
/// it. Then returns both results. Inlined, it would make the frame of each join larger where there is no bag.
template <class Left, class Run, class Write>
PILFER_NOINLINE std::tuple<result_t<const Left>, result_t<const Run>>
fork_shared(branch_bag& bag, cluster_task& type, const Left& left, const Run& run, const Write& write) {
    using value = result_t<const Run>;
    typed_branch<Run, Write> right(type, run, write);
    bag.put(right);
    PILFER_TRY {
        auto results = pilfer::join(left, [&] {
            if (bag.take_back(right)) {
                right.run_here();
            }
        });
        if (!right.is_shipped()) {
            return {std::get<0>(std::move(results)), right.take()};
        }
        right.wait();
        return {std::get<0>(std::move(results)), right.template take_end<value>()};
    }
    PILFER_CATCH_ALL {
        // No other thread may know this frame when it ends.
        if (!bag.take_back(right) && right.is_shipped()) {
            bag.disown(right);
            right.wait_to_the_end();
        }
        PILFER_RETHROW;
    }
}

/// fork_shared(), or where there are no other ranks a join.
template <class Left, class Run, class Write>
PILFER_ALWAYS_INLINE auto fork_branches(cluster_task& type, const Left& left, const Run& run,
                                        const Write& write) {
    if (branch_bag* bag = detail::current_bag(); bag != nullptr) [[unlikely]] {
        return detail::fork_shared(*bag, type, left, run, write);
    }
    return pilfer::join(left, run);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
