// Results of tasks: void becomes std::monostate, references stay references, exceptions are kept.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>

#include <pilfer/detail/base/errors.hpp>
#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/base/sanitizer.hpp>
#include <pilfer/detail/fwd.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The type of a result that is kept: a value is not constant, so that it can be moved out.
template <class T>
using regular_t = std::conditional_t<std::is_void_v<T>, std::monostate, std::remove_cv_t<T>>;

/// The result type of a call without arguments. It is not std::invoke_result, which instantiates a dozen more
/// classes for each function.
template <class F>
using called_t = decltype(std::declval<F&>()());

template <class F>
using result_t = regular_t<called_t<F>>;

/// For a function whose result nobody looks at.
template <class F>
constexpr void refuse_coroutines() noexcept {
    static_assert(!is_coroutine<std::remove_cvref_t<called_t<F>>>,
                  "pilfer: a task<T> does not run by being returned: give it to a pool, as in "
                  "pool.submit(work()), or await it");
}

/// Calls f; void gives std::monostate.
template <class F>
[[nodiscard]] PILFER_ALWAYS_INLINE result_t<F> invoke_regular(F& f) {
    if constexpr (std::is_void_v<called_t<F>>) {
        f();
        return {};
    } else {
        return f();
    }
}

/// A place for a result or an exception. The thread that runs the task fills it once; it is read once it is
/// known to be filled. Nothing is initialised before, because the usual join never uses it.
template <class T>
class outcome {
    using stored = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>;

public:
    outcome() noexcept {}
    outcome(const outcome&) = delete;
    outcome& operator=(const outcome&) = delete;
    ~outcome() {}

    template <class F>
    void fill(F& f) noexcept {
        PILFER_TRY {
            if constexpr (std::is_reference_v<T>) {
                ::new (static_cast<void*>(std::addressof(m_value)))
                    stored(std::addressof(detail::invoke_regular(f)));
            } else {
                // A prvalue: results that cannot move are built in place.
                ::new (static_cast<void*>(std::addressof(m_value))) stored(detail::invoke_regular(f));
            }
            m_failed = false;
        }
        PILFER_CATCH_ALL { fail(detail::caught_error()); }
    }
    void fail(std::exception_ptr error) noexcept {
        ::new (static_cast<void*>(&m_error)) std::exception_ptr(std::move(error));
        m_failed = true;
    }
    [[nodiscard]] bool failed() const noexcept { return m_failed; }
    /// The exception, if failed().
    [[nodiscard]] const std::exception_ptr& error() const noexcept { return m_error; }
    /// Destroys the result or the exception.
    void discard() noexcept {
        if (m_failed) {
            // A thread that caught the exception elsewhere has given up its share, by a count inside the C++
            // runtime.
            const san::hidden_order count_of_the_runtime;
            std::destroy_at(&m_error);
        } else {
            std::destroy_at(std::addressof(m_value));
        }
    }
    [[nodiscard]] T take() {
        struct cleaner {
            outcome& self;
            ~cleaner() { self.discard(); }
        } clean{*this};
        if (m_failed) {
            std::rethrow_exception(m_error);
        }
        if constexpr (std::is_reference_v<T>) {
            return static_cast<T>(*m_value);
        } else {
            return std::move(m_value);
        }
    }
    /// Moves the value out and leaves the shell to discard().
    [[nodiscard]] T take_keeping() {
        if (m_failed) {
            std::rethrow_exception(m_error);
        }
        return std::move(m_value);
    }
    /// The value without taking it; rethrows.
    [[nodiscard]] const stored& look() const {
        if (m_failed) {
            std::rethrow_exception(m_error);
        }
        return m_value;
    }

private:
    union {
        stored m_value;
        std::exception_ptr m_error;
    };
    bool m_failed;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
