// The interface that the balancing between ranks needs of a carrier of messages.
#pragma once

#include <cstddef>
#include <vector>

#include <pilfer/cluster.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The message of each rank to all others at the end of a run.
struct rank_tally {
    std::uint64_t sent = 0;     ///< messages of this run
    std::uint64_t received = 0; ///< messages of this run
    cluster::rank_stats stats;
};

/// Carries messages of one run. No call waits. One thread makes all calls.
class transport {
public:
    transport() = default;
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;
    virtual ~transport() = default;

    [[nodiscard]] virtual unsigned rank() const noexcept = 0;
    [[nodiscard]] virtual unsigned size() const noexcept = 0;

    /// Takes the message and begins to send it to another rank.
    virtual void send(unsigned to, std::vector<std::byte> message) = 0;
    /// Ends the sleep of another rank that waits for the message of the last send(), if that is possible.
    virtual void wake(unsigned) noexcept {}
    /// One message of this run that has arrived whole; false if there is none. Messages of one rank arrive in
    /// the order in which it sent them.
    virtual bool receive(unsigned& from, std::vector<std::byte>& message) = 0;
    /// True if a message is arriving.
    [[nodiscard]] virtual bool is_receiving() const = 0;
    /// True if every message has left.
    virtual bool all_sent() = 0;

    /// Begins to exchange tallies; all ranks begin it equally often.
    virtual void begin_exchange(const rank_tally& mine) = 0;
    /// True once, when the tallies of all ranks are in `all`, by rank.
    virtual bool end_exchange(std::vector<rank_tally>& all) = 0;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
