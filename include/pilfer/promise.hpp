// promise: a result that anybody sets, once.
#pragma once

#include <exception>
#include <type_traits>
#include <utility>

#include <pilfer/future.hpp>

namespace pilfer {
inline namespace v0 {

/// The write end of a future. It is set once, by a task or by any thread, and may be destroyed as soon as
/// somebody has seen the result, even while the call that sets it has not returned. Destroyed unset, it gives
/// broken_promise to whoever waits (std::bad_alloc where there is no memory for one).
///
/// Setting it does not wait: tasks that waited are made runnable, what was attached by then() is announced.
/// Only where the pool of that is closed by then, its function is destroyed here, unrun. Where a task waits
/// for a promise that nobody sets any more, the pool does not end: see options.stall_report.
template <class T>
class promise {
public:
    /// One allocation. Throws std::bad_alloc.
    promise() : m_state(new detail::promise_state<T>) {}
    promise(promise&& other) noexcept : m_state(std::exchange(other.m_state, nullptr)) {}
    promise& operator=(promise&& other) noexcept {
        promise moved(std::move(other));
        std::swap(m_state, moved.m_state);
        return *this;
    }
    promise(const promise&) = delete;
    promise& operator=(const promise&) = delete;
    ~promise() {
        if (m_state != nullptr) {
            m_state->abandon();
            m_state->release();
        }
    }

    /// False: it was moved from. Any other call then throws usage_error.
    [[nodiscard]] bool valid() const noexcept { return m_state != nullptr; }
    /// As often as wanted, unlike std::promise: the handle may be copied anyway.
    [[nodiscard]] future<T> get_future() const {
        state().retain();
        return future<T>(m_state);
    }

    /// Throws promise_already_satisfied if it was set, or is just being set, by anybody. The value is moved
    /// once; where that throws, the exception is the result. Cost: some atomic operations, and what waking
    /// those who wait takes.
    void set_value(detail::regular_t<T> value) requires(!std::is_void_v<T>) {
        if constexpr (std::is_reference_v<T>) {
            set([&value]() -> T { return static_cast<T>(value); });
        } else {
            set([&value]() -> T { return std::move(value); });
        }
    }
    void set_value() requires std::is_void_v<T> {
        set([] {});
    }
    /// The same with an exception. Throws usage_error if there is none in `error`, too.
    void set_exception(std::exception_ptr error) {
        if (error == nullptr) {
            PILFER_THROW(usage_error("pilfer: a promise was given no exception"));
        }
        const future<T> alive = get_future();
        if (!m_state->fail(std::move(error))) {
            PILFER_THROW(promise_already_satisfied());
        }
    }

private:
    template <class Make>
    void set(Make make) {
        // Whoever sees the result may destroy this object, and all that it refers to but for this reference.
        const future<T> alive = get_future();
        if (!m_state->set(make)) {
            PILFER_THROW(promise_already_satisfied());
        }
    }
    [[nodiscard]] detail::promise_state<T>& state() const {
        if (m_state == nullptr) {
            PILFER_THROW(usage_error("pilfer: this promise was moved from"));
        }
        return *m_state;
    }
    detail::promise_state<T>* m_state;
};

} // namespace v0
} // namespace pilfer
