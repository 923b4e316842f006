// The interface that an elastic run needs of a queue of jobs: submit, fetch, ack, extend, fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jobqueue/tls.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// An event of a job.
struct job_event {
    enum class kind : unsigned char {
        fetched, ///< a job of another process, or of this one, is here: ack() or fail() ends it
        lives,   ///< a job of submit() has been fetched, and its worker has called extend()
        done,    ///< a job of submit() has ended by ack()
        failed,  ///< a job of submit() has ended by fail(), or the server has given it up
    };
    kind what = kind::lives;
    std::uint64_t job = 0;
    std::uint32_t worker = 0;         ///< of lives: the number that it gave
    std::string queue{};              ///< of a job that was fetched
    std::vector<std::byte> content{}; ///< of fetched and done
};

/// One connection with the server of named queues. A job whose worker has lost its connection is fetched
/// again; a job whose submitter has lost it is dropped. One thread makes all calls. No call waits. Each
/// throws cluster::queue_error once the connection is lost.
class job_queue {
public:
    using bytes = std::span<const std::byte>;
    job_queue() = default;
    job_queue(const job_queue&) = delete;
    job_queue& operator=(const job_queue&) = delete;
    virtual ~job_queue() = default;

    /// Puts a job into a queue. Returns its number among those of this connection.
    virtual std::uint64_t submit(const std::string& queue, bytes description) = 0;
    /// Whether one job of the queues that serve() names is wanted. It comes as an event, once there is one;
    /// perhaps also just after it is not wanted any longer. Then no other one is wanted.
    virtual void fetch(bool wanted) = 0;
    /// Ends a fetched job with its result.
    virtual void ack(std::uint64_t job, bytes result) = 0;
    /// Says that a fetched job is being worked on, by the process of this number.
    virtual void extend(std::uint64_t job, std::uint32_t worker) = 0;
    /// Ends a fetched job without a result.
    virtual void fail(std::uint64_t job) = 0;

    /// Whether fetch() takes jobs of this queue; at first it takes none. Then none of its jobs comes, and
    /// those that are here go back: no call may name them any longer.
    virtual void serve(const std::string& queue, bool on) = 0;
    /// Asks how many connections serve each queue, and how many jobs wait in it.
    virtual void ask_servers() = 0;
    /// The answers so far.
    [[nodiscard]] virtual std::uint64_t answers() const noexcept = 0;
    /// How many connections serve a queue, by the last answer.
    [[nodiscard]] virtual unsigned servers(const std::string& queue) const = 0;
    /// How many jobs of a queue no connection has fetched, by the last answer.
    [[nodiscard]] virtual unsigned waiting(const std::string& queue) const = 0;

    /// Asks the server to drop the queues whose names begin so and that had no server by the last answer. One
    /// with jobs stays; `with_jobs`: it loses those whose submitters are lost, and a later call drops it. The
    /// server may count this against other jobs as if a worker had died. A job of a queue that is served may
    /// come as an event, as if it was wanted.
    virtual void forget(const std::string& prefix, bool with_jobs) = 0;

    /// True while something has not been sent to the server yet.
    [[nodiscard]] virtual bool is_sending() const noexcept = 0;
    /// The next event; false if there is none.
    [[nodiscard]] virtual bool next(job_event& event) = 0;
    /// The next wait of `a` ends when this connection can go on.
    virtual void watch(socket_bell& a, std::size_t place) = 0;
    /// Nanoseconds since something came from the server, while an answer is awaited; else 0.
    [[nodiscard]] virtual std::uint64_t silence() const noexcept = 0;
};

/// Where a queue is, and the name of the runs that share it.
struct queue_address {
    std::string host;
    std::uint16_t port = 4730; ///< of Gearman
    std::string name = "pilfer";
    bool is_secure = false; ///< by TLS
    tls_files files{};
};
/// Reads `gearman://host[:port][/name]`, or `gearmans://` for TLS. Throws std::invalid_argument, with the
/// text.
[[nodiscard]] queue_address parse_queue(std::string_view url);
/// Connects with a Gearman server. Waits at most 5 s, and 5 s more for TLS. Throws cluster::queue_error.
[[nodiscard]] std::unique_ptr<job_queue> connect_to_gearman(const queue_address& where);

} // namespace detail
} // namespace v0
} // namespace pilfer
