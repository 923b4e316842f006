// The errors that the runtime itself reports.
#pragma once

#include <cstdint>
#include <stdexcept>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {

/// Work was handed to a pool that is shut down or shutting down.
struct PILFER_API pool_closed : std::runtime_error {
    /// Makes the error with its usual text.
    pool_closed();
    ~pool_closed() override;
};

/// In a child of fork(): the pool was made by the parent process, where its threads are. Every call that
/// hands it work, waits for it or changes it throws this. Such a pool may be destroyed, which joins nothing.
struct PILFER_API pool_forked : std::runtime_error {
    /// Makes the error with its usual text.
    pool_forked();
    ~pool_forked() override;
};

/// Work was handed to a pool whose queue is full, with options.when_full == when_full::fail.
struct PILFER_API queue_full : std::runtime_error {
    /// Makes the error with its usual text.
    queue_full();
    ~queue_full() override;
};

/// The result will never come: its task was dropped by shutdown(drop), or its promise was destroyed unset.
/// Where there is no memory for this error, waiters get std::bad_alloc in its place.
struct PILFER_API broken_promise : std::runtime_error {
    /// Makes the error with its usual text.
    broken_promise();
    /// Makes the error with the text `what`.
    explicit broken_promise(const char* what);
    ~broken_promise() override;
};

/// A call that only the owner of a scope may make, or a call that a pool's own task must not make.
struct PILFER_API usage_error : std::logic_error {
    /// Makes the error with the text `what`.
    explicit usage_error(const char* what);
    ~usage_error() override;
};

/// A promise was set a second time.
struct PILFER_API promise_already_satisfied : usage_error {
    /// Makes the error with its usual text.
    promise_already_satisfied();
    ~promise_already_satisfied() override;
};

/// The number of exceptions that the last join, sync or loop of this thread swallowed beside the one that it
/// rethrew; meaningful in the catch block that follows. A destructor that waits between the throw and the
/// handler may move the frame to another thread, whose number this then is. Cost: one load.
[[nodiscard]] PILFER_API std::uint64_t suppressed_exceptions() noexcept;

} // namespace v0
} // namespace pilfer
