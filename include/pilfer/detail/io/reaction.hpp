// Reactions: functions that run at each event, without a stack in between.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <pilfer/channel.hpp>
#include <pilfer/detail/pool/detached.hpp>
#include <pilfer/detail/sync/repeated_wait.hpp>
#include <pilfer/detail/task/named.hpp>
#include <pilfer/event.hpp>
#include <pilfer/io.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

class subscription;

namespace detail {

/// A repeated function, its place in the list of the object that it waits for, and its place in the
/// submission queue. Stages and edges: src/io/README.md.
class PILFER_API reaction : public submission {
public:
    reaction(const reaction&) = delete;
    reaction& operator=(const reaction&) = delete;

    void retain() noexcept { m_references.fetch_add(1, rlx); }
    void release() noexcept {
        if (m_references.fetch_sub(1, acq_rel) == 1) {
            delete this;
        }
    }
    /// Begins to wait. Throws pool_closed and what the first enter() throws.
    void start(pool_core& p);
    [[nodiscard]] bool cancel() noexcept;
    [[nodiscard]] bool is_over() const noexcept { return m_wait.is_over(); }
    /// Called at the end of its pool, which has taken it out of its list: see repeated_wait::sweep().
    [[nodiscard]] bool sweep() noexcept {
        return m_wait.sweep([this]() -> waiters& { return list(); });
    }
    /// After sweep(), when code of the user may run.
    void pool_has_ended() noexcept;

protected:
    enum class found { waits, ready, closed };

    reaction() noexcept;
    virtual ~reaction() = default;
    /// Enters the list. waits: `e` is in list(). ready: what it waits for is there. closed: it will never be
    /// there. Throws only when called by start().
    [[nodiscard]] virtual found enter(waiters::entry& e, bool first) = 0;
    [[nodiscard]] virtual waiters& list() noexcept = 0;
    /// Called after a notification: takes what came. False: nothing will come any more.
    [[nodiscard]] virtual bool take(waiters::entry& e) noexcept = 0;
    /// Runs the function. False: do not run it again.
    [[nodiscard]] virtual bool execute() = 0;
    /// Called at the end: gives back what was taken and not used.
    virtual void give_back() noexcept {}
    /// Called once, when the function will not run again.
    virtual void end_function() noexcept = 0;
    [[nodiscard]] pool_core& pool() noexcept { return *m_pool; }

private:
    friend class descriptor_watch;
    /// The waiter in the word of an entry, with the bit waiter_is_callback.
    struct caller : callback_waiter {
        caller() noexcept : callback_waiter{nullptr} {}
        reaction* owner = nullptr;
    };
    [[nodiscard]] bool begin(pool_core& p);
    void end_unbegun() noexcept;
    static void is_called(callback_waiter& self) noexcept;
    static suspension* run_task(spark* self, worker* w) noexcept;
    [[nodiscard]] bool run_once(worker* w) noexcept;
    void arm(found how) noexcept;
    void next() noexcept;
    void end() noexcept;

    repeated_wait<std_atom, futex_park> m_wait;
    caller m_caller;
    std::atomic<std::uint32_t> m_references{2}; // the handle's, and that of what makes it run
    pool_core* m_pool = nullptr;                // not to be touched once it is over
    bool m_taken = false;                       // of the thread that runs it: enter() has found it ready
    // Of the pool's list:
    reaction* m_next_in_pool = nullptr;
    reaction* m_previous_in_pool = nullptr;
};

/// Calls f(args...) repeatedly, until f returns false.
template <class F>
class reaction_function {
public:
    template <class G>
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): made from functions only
    explicit reaction_function(G&& g) : m_function(std::forward<G>(g)) {}
    ~reaction_function() {} // NOLINT(modernize-use-equals-default): the function has ended before
    template <class... Args>
    [[nodiscard]] bool operator()(Args&&... args) {
        if constexpr (is_named<F>) {
            return m_function.call_or(
                true, [] { nobody_waits_for(this_worker(), detail::caught_error()); },
                std::forward<Args>(args)...);
        } else if constexpr (std::same_as<std::invoke_result_t<F&, Args...>, bool>) {
            return std::invoke(m_function, std::forward<Args>(args)...);
        } else {
            std::invoke(m_function, std::forward<Args>(args)...);
            return true;
        }
    }
    void end() noexcept { std::destroy_at(std::addressof(m_function)); }

private:
    union {
        F m_function;
    };
};

/// The part of a reaction to an event that knows the event.
class PILFER_API event_reaction : public reaction {
protected:
    explicit event_reaction(event& e) noexcept;

private:
    found enter(waiters::entry& e, bool first) override;
    waiters& list() noexcept override;
    bool take(waiters::entry& e) noexcept override;
    event& m_event;
    std::uint64_t m_seen = 0; // number of settings of the event that were seen
};

class PILFER_API descriptor_reaction : public reaction {
protected:
    explicit descriptor_reaction(io::when w) noexcept : m_when(w) {}

private:
    found enter(waiters::entry& e, bool first) override;
    waiters& list() noexcept override;
    bool take(waiters::entry& e) noexcept override;
    void give_back() noexcept override;
    io::when m_when;
    std::uint32_t m_forgets = 0; // how often the descriptor had been forgotten when it began
    waiters* m_list = nullptr;   // null: it has not begun
};

/// A reaction whose function has no arguments. `Base` knows the object of the wait.
template <class Base, class F>
class plain_reaction final : public Base {
public:
    template <class Source, class G>
    plain_reaction(Source&& from, G&& g) : Base(std::forward<Source>(from)), m_function(std::forward<G>(g)) {}

private:
    bool execute() override { return m_function(); }
    void end_function() noexcept override { m_function.end(); }
    reaction_function<F> m_function;
};

template <class T, class F>
class channel_reaction final : public reaction {
public:
    template <class G>
    channel_reaction(channel<T>& c, G&& g) : m_channel(c), m_function(std::forward<G>(g)) {}

private:
    using item = typename channel<T>::item;
    using protocol = channel_core::protocol;

    found enter(waiters::entry& e, bool) override {
        const auto o = m_channel.m_core.state().take(&e);
        if (o.next != nullptr) {
            go_on(*o.next);
        }
        m_got = static_cast<item*>(o.got);
        return o.what == protocol::step::wait ? found::waits
                                              : (m_got != nullptr ? found::ready : found::closed);
    }
    waiters& list() noexcept override { return m_channel.m_core.state().list(); }
    bool take(waiters::entry& e) noexcept override {
        m_got = static_cast<item*>(protocol::taken(e));
        return m_got != nullptr;
    }
    bool execute() override {
        const std::unique_ptr<item> one(std::exchange(m_got, nullptr));
        return m_function(std::move(one->value));
    }
    void give_back() noexcept override {
        if (m_got != nullptr) {
            m_channel.m_core.put_back(*std::exchange(m_got, nullptr));
        }
    }
    void end_function() noexcept override { m_function.end(); }

    channel<T>& m_channel;
    item* m_got = nullptr;
    reaction_function<F> m_function;
};

/// Starts a reaction and returns its handle. `Handle`: subscription, which is incomplete here.
template <class Handle = subscription>
[[nodiscard]] Handle started(pool_core& p, reaction* made) {
    Handle handle(made);
    made->start(p);
    return handle;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
