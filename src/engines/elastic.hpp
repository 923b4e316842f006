// An elastic run: one coordinator and workers that come, go and die, over a queue of jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pilfer/cluster.hpp>

#include "cluster/rank_work.hpp"
#include "cluster/tasks.hpp"
#include "jobqueue/job_queue.hpp"
#include "jobqueue/sockets.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// This process in all runs of a session. README.md has the argument.
class elastic {
public:
    /// Connects. A worker waits for a coordinator, without a limit, and for its consent. `patience`: seconds
    /// until a worker that is silent has lost its jobs, and until a silent server is an error; 0: never.
    /// Throws cluster::queue_error, cluster::mismatch_error for a worker with other tasks, and usage_error
    /// for a second coordinator.
    elastic(const queue_address& where, bool is_worker, unsigned patience);
    elastic(const elastic&) = delete;
    elastic& operator=(const elastic&) = delete;
    /// The coordinator answers workers until they have gone, or have been silent for the patience.
    ~elastic();

    /// 0: the coordinator. Workers count from 1, in the order of their arrival.
    [[nodiscard]] unsigned rank() const noexcept { return m_rank; }
    /// How many processes have come so far, as far as this one knows.
    [[nodiscard]] unsigned size() const noexcept { return m_size; }
    [[nodiscard]] std::vector<cluster::rank_stats> stats() const;

    /// One run. The coordinator runs `root`; a worker takes jobs until the result is there, or has it at
    /// once if the run is over. Throws cluster::queue_error, cluster::mismatch_error.
    [[nodiscard]] parcel_result run(pool& p, cluster_task& type, std::function<void(cluster::archive&)> root);

private:
    /// A task in a run: the process that submitted it first, and its ticket there. Copies have the same name.
    using task_name = std::pair<std::uint32_t, std::uint64_t>;
    /// The ticket of a drop that means each task of its submitter.
    static constexpr std::uint64_t each_task = 0;
    /// A task of another process, or of this one, that came as a job.
    struct visit {
        std::uint64_t job;
        task_name task;
    };
    /// A task of this process, or of a visit, that is in the queue.
    struct shipment {
        std::uint32_t origin;
        std::uint64_t ticket;
        std::vector<std::byte> description; // to submit it again
        std::uint64_t heard;                // of its worker, or when it was submitted
        bool is_fetched = false;
        unsigned copies = 1; // jobs of it that have not ended
    };

    /// A job of a shipment.
    struct copy {
        std::uint64_t shipment;
        std::uint32_t worker = UINT32_MAX; // the last one that has said that it works on it
    };

    using job_name = std::unordered_map<std::uint64_t, copy>::iterator;

    static constexpr std::uint64_t second = 1'000'000'000; // in nanoseconds
    static constexpr std::uint32_t guest = UINT32_MAX;     // the origin of a task that came as a job
    /// Tasks of a process that wait in the queue. One is there while another is on its way to a worker.
    static constexpr unsigned most_unfetched = 2;

    void greet();
    void welcome(const job_event& hello);
    void answer(const job_event& call);
    void heed(const call& c);
    void ask();
    void drop(const std::vector<parcel_result>& drops);
    [[nodiscard]] bool is_unwanted(const task_name& task) const;
    void end(std::vector<std::byte> bytes);
    [[nodiscard]] std::vector<std::byte> news_since(std::uint64_t drops) const;
    void tell(const std::vector<std::byte>& bytes);
    const std::vector<std::byte>& leave_run(const cluster_task& type, const parcel_result& end);
    bool share(rank_work& work);
    void serve_control();
    [[nodiscard]] bool step(rank_work& work);
    bool offer(rank_work& work);
    void handle(rank_work& work, job_event&& e);
    void admit(rank_work& work, const job_event& e);
    void hear(rank_work& work, job_event&& e);
    void release_held(const job_event& e);
    void follow(rank_work& work, job_name name, const job_event& e);
    [[nodiscard]] parcel_result result_of(const job_event& e) const;
    void finish(local_work::finished&& f);
    void send_all();
    void submit(std::uint32_t origin, std::uint64_t ticket, std::vector<std::byte> description);
    void watch();
    [[nodiscard]] unsigned servers_now(const std::string& queue);
    void check(const job_queue& q) const;
    void watch_sockets();
    void sleep(std::uint64_t ns);
    [[nodiscard]] parcel_result end_of(const std::vector<std::byte>& bytes, const cluster_task& type) const;
    [[nodiscard]] parcel_result run(rank_work& work, cluster_task& type,
                                    std::function<void(cluster::archive&)> root);

    const std::string m_prefix;
    const std::uint64_t m_patience; // nanoseconds
    socket_bell m_alarm;
    std::unique_ptr<job_queue> m_queue;   // of tasks, and of a worker's questions
    std::unique_ptr<job_queue> m_control; // coordinator: of workers' questions
    std::string m_session;                // the prefix of this session's queues
    unsigned m_rank = 0;
    unsigned m_size = 1;

    // Of the coordinator.
    std::vector<std::vector<std::byte>> m_ends; // of all runs, for workers that come late
    std::vector<std::uint64_t> m_callers;       // jobs of workers that wait for the end of a run
    std::uint64_t m_asked = 0;                  // when a worker asked something
    std::uint64_t m_told = 0;                   // version of the news that all callers have
    std::vector<task_name> m_drops;             // of the run, in the order of the answers
    std::uint64_t m_told_drops = 0;             // that all callers have

    // Of a run.
    std::uint64_t m_run = 0;
    std::string m_jobs; // its queue
    std::uint64_t m_call = 0;
    rank_work* m_work = nullptr;
    std::uint64_t m_version = 0;              // of the news: bounds and drops
    std::set<task_name> m_unwanted;           // drops that this process has heard of
    std::set<task_name> m_disowned;           // worker: its own drops, of which it may not have heard yet
    std::vector<parcel_result> m_gone;        // drops of processes that have lost a job of this one
    std::uint64_t m_report = 0;               // worker: a job with news that has not ended; 0: none
    std::vector<local_work::finished> m_held; // results that wait for that
    std::vector<std::byte> m_end;
    bool m_has_end = false;
    std::uint64_t m_next_watch = 0;
    std::uint64_t m_old_answers = 0; // of the server, before this run; one more may have been under way
    std::uint64_t m_last_visit = 0;
    std::unordered_map<std::uint64_t, visit> m_visits; // by their numbers
    std::uint64_t m_last_shipment = 0;
    std::unordered_map<std::uint64_t, shipment> m_shipments;
    std::unordered_map<std::uint64_t, copy> m_by_job; // by the numbers of jobs
    unsigned m_unfetched = 0;                         // shipments that no worker has yet

    cluster::rank_stats m_stats;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
