// Functions that run each time something happens: an event is set, a channel has a value, a descriptor is
// ready.
#pragma once

#include <type_traits>
#include <utility>

#include <pilfer/channel.hpp>
#include <pilfer/detail/io/reaction.hpp>
#include <pilfer/detail/pool/detached.hpp>
#include <pilfer/detail/sync/repeated_wait.hpp>
#include <pilfer/event.hpp>
#include <pilfer/io.hpp>
#include <pilfer/named.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/timer.hpp>

namespace pilfer {
inline namespace v0 {

/// A handle to a function that runs each time. Copies refer to the same function, which also runs if no
/// handle is left. A default-made handle refers to none.
class subscription {
public:
    subscription() noexcept = default;
    /// Makes another handle to the same function.
    subscription(const subscription& other) noexcept : m_reaction(other.m_reaction) {
        if (m_reaction != nullptr) {
            m_reaction->retain();
        }
    }
    /// Takes over the handle of `other`.
    subscription(subscription&& other) noexcept : m_reaction(std::exchange(other.m_reaction, nullptr)) {}
    /// Replaces the handle.
    subscription& operator=(subscription other) noexcept {
        std::swap(m_reaction, other.m_reaction);
        return *this;
    }
    ~subscription() {
        if (m_reaction != nullptr) {
            m_reaction->release();
        }
    }

    /// False if it refers to no function.
    [[nodiscard]] bool valid() const noexcept { return m_reaction != nullptr; }
    /// Cancels it. Returns true if it does not begin again because of this call; a run that has begun goes on
    /// until over(). Returns false if it would not have begun anyway, or if this handle refers to none. From
    /// any thread, also from the function itself. Cost: a lock.
    bool cancel() noexcept { return m_reaction != nullptr && m_reaction->cancel(); }
    /// True if the function neither runs nor will run again: the event, channel or descriptor may go.
    [[nodiscard]] bool over() const noexcept { return m_reaction == nullptr || m_reaction->is_over(); }

    /// For the library.
    explicit subscription(detail::reaction* adopted) noexcept : m_reaction(adopted) {}

private:
    detail::reaction* m_reaction = nullptr;
};

// on() runs f as a task of `p` each time, until it is cancelled, f returns false (if it returns bool), the
// channel or descriptor ends, or the pool is shut down. A run never overlaps another one of the same f, and
// there is no stack between two runs. An exception of f goes to options.on_error, and it goes on. The event,
// channel or descriptor must outlive it: until over(). Throws pool_closed, std::bad_alloc. Cost: one
// allocation for all runs; a submission and a short lock or two for each. Without a pool: in that of the
// calling worker, or in pool::common().

/// Runs f() once for each event::set(), and at once if it is set. Calls of set() before a run begins count as
/// one.
template <class F>
subscription on(pool& p, event& e, F&& f) {
    using made = detail::plain_reaction<detail::event_reaction, std::decay_t<F>>;
    return detail::started(p.core(), new made(e, std::forward<F>(f)));
}
/// As on(p, e, f), in the pool of the calling worker or in pool::common().
template <class F>
subscription on(event& e, F&& f) {
    using made = detail::plain_reaction<detail::event_reaction, std::decay_t<F>>;
    detail::pool_core& pool = detail::own_or_common(); // throws before there is a reaction
    return detail::started(pool, new made(e, std::forward<F>(f)));
}

/// Runs f(T&&) for each value, in order; ends after the last value of a closed channel. A value that was
/// received and not given to f when it is cancelled, or when its pool ends, is the channel's first again.
template <class T, class F>
subscription on(pool& p, channel<T>& c, F&& f) {
    return detail::started(p.core(), new detail::channel_reaction<T, std::decay_t<F>>(c, std::forward<F>(f)));
}
/// As on(p, c, f), in the pool of the calling worker or in pool::common().
template <class T, class F>
subscription on(channel<T>& c, F&& f) {
    detail::pool_core& pool = detail::own_or_common(); // throws before there is a reaction
    return detail::started(pool, new detail::channel_reaction<T, std::decay_t<F>>(c, std::forward<F>(f)));
}

/// Runs f() as long as the descriptor is ready, so f should read or write what there is. Ends with
/// io::forget() or io::close() of it; a run that has begun goes on to its end. Also throws std::system_error:
/// for a bad descriptor, for one that is always ready (a file), and in a pool on one lock.
template <class F>
subscription on(pool& p, io::when w, F&& f) {
    using made = detail::plain_reaction<detail::descriptor_reaction, std::decay_t<F>>;
    return detail::started(p.core(), new made(w, std::forward<F>(f)));
}
/// As on(p, w, f), in the pool of the calling worker or in pool::common().
template <class F>
subscription on(io::when w, F&& f) {
    using made = detail::plain_reaction<detail::descriptor_reaction, std::decay_t<F>>;
    detail::pool_core& pool = detail::own_or_common(); // throws before there is a reaction
    return detail::started(pool, new made(w, std::forward<F>(f)));
}

} // namespace v0
} // namespace pilfer
