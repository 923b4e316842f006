// attachment: a thread that is no worker works for a pool while it waits.
#pragma once

#include <utility>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/fwd.hpp>

namespace pilfer {
inline namespace v0 {

/// The result of pool::attach(). While it lives, the thread that made it works for the pool whenever it waits
/// in run(), get(), wait(), sync(), receive() and so on. It does not work for the pool while it waits for a
/// lock or for room in a full queue. The object must be destroyed on that thread, before the pool.
class PILFER_API attachment {
public:
    /// Takes over the attachment of `other`, on the same thread.
    attachment(attachment&& other) noexcept : m_thread(std::exchange(other.m_thread, nullptr)) {}
    attachment& operator=(attachment&&) = delete;
    ~attachment();

private:
    friend class pool;
    explicit attachment(detail::attached_thread* t) noexcept : m_thread(t) {}
    detail::attached_thread* m_thread;
};

} // namespace v0
} // namespace pilfer
