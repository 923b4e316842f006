// The work of this process in one run, as the engine that connects the processes sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "cluster/wire.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A message that breaks the rules, or a rank that is silent. The run cannot go on.
struct balance_error : std::runtime_error {
    explicit balance_error(const std::string& what) : std::runtime_error(what) {}
};

/// The work of this rank, for a balancer or a queue.
class local_work {
public:
    local_work() = default;
    local_work(const local_work&) = delete;
    local_work& operator=(const local_work&) = delete;
    virtual ~local_work() = default;

    /// About how many tasks another rank could take. Of tasks of other ranks that wait here, at most half:
    /// see branch_bag::take_half().
    [[nodiscard]] virtual std::size_t available() const = 0;
    /// True if a worker has nothing to do, and no task waits that it could take.
    [[nodiscard]] virtual bool hungry() = 0;
    /// About half of the tasks that wait, the oldest ones.
    [[nodiscard]] virtual std::vector<parcel> take_half() = 0;
    virtual void start(parcel&& p) = 0;
    /// The result of a parcel that take_half() gave. Throws balance_error for a ticket that it does not know.
    virtual void complete(parcel_result&& r) = 0;

    struct finished {
        std::uint32_t origin;
        parcel_result result;
    };
    /// Parcels of start() that have ended since the last call.
    [[nodiscard]] virtual std::vector<finished> take_finished() = 0;

    /// Tickets of parcels whose results are not wanted any longer, since the last call. Their results are
    /// still awaited.
    [[nodiscard]] virtual std::vector<parcel_result> take_unwanted() = 0;
    /// A rank wants the result of its parcel no longer: here, on the way here, or elsewhere. Ends the parcel
    /// soon if it is or comes here.
    virtual void drop(std::uint32_t origin, std::uint64_t ticket) = 0;

    /// The bounds that tasks of this rank have made better since the last call.
    [[nodiscard]] virtual std::vector<parcel_result> take_bounds() = 0;
    /// A bound as another rank knows it.
    virtual void learn_bound(const parcel_result& r) = 0;

    /// Parts that have ended here since the last call, for rank 0's journal.
    [[nodiscard]] virtual std::vector<parcel_result> take_parts() = 0;
    /// Rank 0: a part that has ended on another rank. Throws balance_error if there is no such part.
    virtual void keep_part(parcel_result&& r) = 0;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
