// Errors of a cluster.
#pragma once

#include <stdexcept>
#include <string>

namespace pilfer {
inline namespace v0 {
namespace cluster {

/// An exception of a task, in the form that it has on every rank.
struct remote_error : std::runtime_error {
    /// Makes the error of `text`, thrown on rank `where`.
    remote_error(int where, const std::string& text);
    ~remote_error() override;
    /// The rank on which the task threw.
    int rank;
};

/// The ranks cannot work together: one runs another program, or calls something else than the others.
struct mismatch_error : std::runtime_error {
    /// Makes the error with the text `what`.
    explicit mismatch_error(const std::string& what) : std::runtime_error(what) {}
    ~mismatch_error() override;
};

/// The job queue of an elastic run cannot be used: its server does not answer or has ended, or the
/// coordinator has.
struct queue_error : std::runtime_error {
    /// Makes the error with the text `what`.
    explicit queue_error(const std::string& what) : std::runtime_error(what) {}
    ~queue_error() override;
};

} // namespace cluster
} // namespace v0
} // namespace pilfer
