// promise: a result that any thread sets, once.
#pragma once

#include <exception>
#include <type_traits>
#include <utility>

#include <pilfer/future.hpp>

namespace pilfer {
inline namespace v0 {

/// The write end of a future: it is set once, by a task or by any thread.
///
/// The promise may be destroyed as soon as a waiter has seen the result. Destroyed unset, it gives its
/// waiters broken_promise. Setting it does not wait: waiting tasks are made runnable, continuations of then()
/// are announced. In a closed pool such a continuation is destroyed here without having run. A pool does not
/// end while a task waits for a promise that is never set: see the report of stalls.
template <class T>
class promise {
public:
    /// One allocation. Throws std::bad_alloc.
    promise() : m_state(new detail::promise_state<T>) {}
    /// Takes over the promise of `other`.
    promise(promise&& other) noexcept : m_state(std::exchange(other.m_state, nullptr)) {}
    /// Replaces the promise; the old one is abandoned if it was unset.
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

    /// False if it was moved from; any other call then throws usage_error.
    [[nodiscard]] bool valid() const noexcept { return m_state != nullptr; }
    /// The future of this promise; may be called again, unlike that of std::promise.
    [[nodiscard]] future<T> get_future() const {
        state().retain();
        return future<T>(m_state);
    }

    /// Sets the value, which is moved once; if that throws, the exception is the result.
    /// Throws promise_already_satisfied if it was set before. Cost: some atomic operations, and the wake-ups.
    void set_value(detail::regular_t<T> value) requires(!std::is_void_v<T>) {
        if constexpr (std::is_reference_v<T>) {
            set([&value]() -> T { return static_cast<T>(value); });
        } else {
            set([&value]() -> T { return std::move(value); });
        }
    }
    /// Makes the future ready.
    void set_value() requires std::is_void_v<T> {
        set([] {});
    }
    /// Sets an exception. Throws as set_value(), and usage_error if `error` is empty.
    void set_exception(std::exception_ptr error) {
        if (error == nullptr) {
            PILFER_THROW(usage_error("pilfer: a promise was given no exception"));
        }
        PILFER_TEST_POINT("sets a promise", m_state);
        const future<T> alive = get_future();
        if (!m_state->fail(std::move(error))) {
            PILFER_THROW(promise_already_satisfied());
        }
    }

private:
    template <class Make>
    void set(Make make) {
        PILFER_TEST_POINT("sets a promise", m_state);
        // As soon as a waiter sees the result, it may destroy this object and everything it refers to. This
        // reference keeps the state alive.
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
