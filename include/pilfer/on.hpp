// Functions that run each time something happens: an event is set, a channel has a value, a descriptor is
// ready.
#pragma once

#include <type_traits>
#include <utility>

#include <pilfer/channel.hpp>
#include <pilfer/detail/io/reaction.hpp>
#include <pilfer/detail/sync/repeated_wait.hpp>
#include <pilfer/detail/worker/detached.hpp>
#include <pilfer/event.hpp>
#include <pilfer/io.hpp>
#include <pilfer/named.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/timer.hpp>

namespace pilfer {
inline namespace v0 {

/// A handle to a function that runs each time. Copies refer to the same one; it runs also if no handle is
/// left. A default-made one refers to none.
class subscription {
public:
    subscription() noexcept = default;
    subscription(const subscription& other) noexcept : m_reaction(other.m_reaction) {
        if (m_reaction != nullptr) {
            m_reaction->retain();
        }
    }
    subscription(subscription&& other) noexcept : m_reaction(std::exchange(other.m_reaction, nullptr)) {}
    subscription& operator=(subscription other) noexcept {
        std::swap(m_reaction, other.m_reaction);
        return *this;
    }
    ~subscription() {
        if (m_reaction != nullptr) {
            m_reaction->release();
        }
    }

    [[nodiscard]] bool valid() const noexcept { return m_reaction != nullptr; }
    /// True: thanks to this call it does not begin again; a run that has begun goes on, over() says when it
    /// has ended. False: it would not have anyway, or this handle refers to none. Any thread, its own
    /// function included. Cost: a lock.
    bool cancel() noexcept { return m_reaction != nullptr && m_reaction->cancel(); }
    /// Nothing runs any more, and nothing will: what it waited for may go.
    [[nodiscard]] bool over() const noexcept { return m_reaction == nullptr || m_reaction->is_over(); }

    /// For the library.
    explicit subscription(detail::reaction* adopted) noexcept : m_reaction(adopted) {}

private:
    detail::reaction* m_reaction = nullptr;
};

// Runs f as a task of `p` each time, until it is cancelled, f returns false (if it returns bool), what it
// waits for ends, or the pool is shut down: a drain waits only for runs that have been queued. It never
// overlaps itself. Between two runs it has no stack. What f throws goes to options.on_error, and it goes on.
// What it waits for must outlive it: until over(). Throws pool_closed, std::bad_alloc. Cost: one allocation
// for all runs, each a submission and a short lock or two. Without a pool: in that of the calling worker, or
// in pool::common().

/// f(): once for each event::set(), but all that come before a run begins are one; and at once, if it is set.
template <class F>
subscription on(pool& p, event& e, F&& f) {
    using made = detail::plain_reaction<detail::event_reaction, std::decay_t<F>>;
    return detail::started(p.core(), new made(e, std::forward<F>(f)));
}
template <class F>
subscription on(event& e, F&& f) {
    using made = detail::plain_reaction<detail::event_reaction, std::decay_t<F>>;
    return detail::started(detail::own_or_common(), new made(e, std::forward<F>(f)));
}

/// f(T&&): for each value, in order; ends behind the last value of a closed channel. A value that it has
/// received when it is cancelled, or its pool ends, and that f has not begun with, is the channel's first
/// again.
template <class T, class F>
subscription on(pool& p, channel<T>& c, F&& f) {
    return detail::started(p.core(), new detail::channel_reaction<T, std::decay_t<F>>(c, std::forward<F>(f)));
}
template <class T, class F>
subscription on(channel<T>& c, F&& f) {
    return detail::started(detail::own_or_common(),
                           new detail::channel_reaction<T, std::decay_t<F>>(c, std::forward<F>(f)));
}

/// f(): as long as the descriptor is ready, so f should read or write what there is. Ends with io::forget()
/// or io::close() of it. Throws std::system_error besides: a bad descriptor, one that is always ready (a
/// file), a pool on one lock.
template <class F>
subscription on(pool& p, io::when w, F&& f) {
    using made = detail::plain_reaction<detail::descriptor_reaction, std::decay_t<F>>;
    return detail::started(p.core(), new made(w, std::forward<F>(f)));
}
template <class F>
subscription on(io::when w, F&& f) {
    using made = detail::plain_reaction<detail::descriptor_reaction, std::decay_t<F>>;
    return detail::started(detail::own_or_common(), new made(w, std::forward<F>(f)));
}

} // namespace v0
} // namespace pilfer
