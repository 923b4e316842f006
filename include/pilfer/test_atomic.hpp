// Atomics at whose operations a test of schedules lets other tasks run. docs/guides/testing.md explains them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/yield.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// An operation of an atomic, from its point to the end of the expression.
template <class Atomic>
class atomic_step {
public:
    atomic_step([[maybe_unused]] const char* what, [[maybe_unused]] const void* object,
                Atomic atomic) noexcept
        :
#if defined(PILFER_TEST)
          m_step(what, object),
#endif
          m_atomic(atomic) {
    }
    [[nodiscard]] auto* operator->() noexcept { return &m_atomic; }

private:
#if defined(PILFER_TEST)
    test_step m_step;
#endif
    Atomic m_atomic;
};

} // namespace detail

namespace test {

template <class T>
class atomic_ref;

/// A std::atomic at whose operations other tasks may go on. Every order is taken for sequentially consistent.
/// Not here: overloads for volatile objects, and the free functions of std.
template <class T>
class atomic {
    using order = std::memory_order;
    static constexpr order last = std::memory_order_seq_cst;
    static constexpr bool counts = std::is_integral_v<T> && !std::is_same_v<T, bool>;
    static constexpr bool points = std::is_pointer_v<T> && std::is_object_v<std::remove_pointer_t<T>>;
    static constexpr bool adds = counts || std::is_floating_point_v<T> || points;
    static constexpr bool steps = counts || points;
    friend atomic_ref<T>;

public:
    /// T.
    using value_type = T;
    /// What is added: T, or std::ptrdiff_t for a pointer.
    using difference_type = std::conditional_t<points, std::ptrdiff_t, T>;
    /// As std's.
    static constexpr bool is_always_lock_free = std::atomic<T>::is_always_lock_free;

    /// Begins with T().
    constexpr atomic() noexcept(std::is_nothrow_default_constructible_v<T>) = default;
    /// Begins with `value`.
    constexpr atomic(T value) noexcept : m_value(value) {} // NOLINT(google-explicit-constructor): as std's
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    /// As std's. No step.
    [[nodiscard]] bool is_lock_free() const noexcept { return m_value.is_lock_free(); }
    /// Stores `value`.
    void store(T value, order = last) noexcept { at("stores to an atomic")->store(value); }
    /// The value.
    [[nodiscard]] T load(order = last) const noexcept { return at("loads an atomic")->load(); }
    /// Stores `value`, and returns the one before.
    T exchange(T value, order = last) noexcept { return at("exchanges an atomic")->exchange(value); }
    /// Stores `value` if the present one is `expected`. False: it is not, and is written to `expected`.
    bool compare_exchange_strong(T& expected, T value, order = last, order = last) noexcept {
        return at("compares and exchanges an atomic")->compare_exchange_strong(expected, value);
    }
    /// As compare_exchange_strong(). It fails without a reason only as one of options::faults.
    bool compare_exchange_weak(T& expected, T value, order = last, order = last) noexcept {
        if (PILFER_TEST_FAULT("a weak exchange of an atomic", this)) {
            expected = m_value.load();
            return false;
        }
        return compare_exchange_strong(expected, value);
    }

    /// Waits until the value is not `old`. It is only looked at again after a notification, so a lost one is
    /// a deadlock. Outside of an explored task: yields until then.
    void wait(T old, order = last) const noexcept {
        PILFER_TEST_CANNOT_REPEAT("a wait for a test::atomic");
        (void)at("begins to wait for an atomic");
        wait_at(this, m_value, old);
    }
    /// Wakes one wait(), by choice: std does not say which.
    void notify_one() noexcept {
        (void)at("notifies one waiter of an atomic");
        PILFER_TEST_NOTIFY(this, false);
    }
    /// Wakes all.
    void notify_all() noexcept {
        (void)at("notifies all waiters of an atomic");
        PILFER_TEST_NOTIFY(this, true);
    }

    /// Adds `by`, and returns the value before.
    T fetch_add(difference_type by, order = last) noexcept requires adds {
        return at("adds to an atomic")->fetch_add(by);
    }
    /// Subtracts `by`, and returns the value before.
    T fetch_sub(difference_type by, order = last) noexcept requires adds {
        return at("subtracts from an atomic")->fetch_sub(by);
    }
    /// Clears the bits that `bits` has not, and returns the value before.
    T fetch_and(T bits, order = last) noexcept requires counts {
        return at("clears bits of an atomic")->fetch_and(bits);
    }
    /// Sets bits, and returns the value before.
    T fetch_or(T bits, order = last) noexcept requires counts {
        return at("sets bits of an atomic")->fetch_or(bits);
    }
    /// Inverts bits, and returns the value before.
    T fetch_xor(T bits, order = last) noexcept requires counts {
        return at("inverts bits of an atomic")->fetch_xor(bits);
    }

    /// Stores `value`, and returns it.
    T operator=(T value) noexcept { // NOLINT(misc-unconventional-assign-operator): as std's
        store(value);
        return value;
    }
    /// The value.
    operator T() const noexcept { return load(); } // NOLINT(google-explicit-constructor): as std's
    /// Adds 1, and returns the new value.
    T operator++() noexcept requires steps { return static_cast<T>(fetch_add(1) + 1); }
    /// Adds 1, and returns the value before.
    T operator++(int) noexcept requires steps { return fetch_add(1); }
    /// Subtracts 1, and returns the new value.
    T operator--() noexcept requires steps { return static_cast<T>(fetch_sub(1) - 1); }
    /// Subtracts 1, and returns the value before.
    T operator--(int) noexcept requires steps { return fetch_sub(1); }
    /// Adds `by`, and returns the new value.
    T operator+=(difference_type by) noexcept requires adds { return static_cast<T>(fetch_add(by) + by); }
    /// Subtracts `by`, and returns the new value.
    T operator-=(difference_type by) noexcept requires adds { return static_cast<T>(fetch_sub(by) - by); }
    /// Clears bits, and returns the new value.
    T operator&=(T bits) noexcept requires counts { return static_cast<T>(fetch_and(bits) & bits); }
    /// Sets bits, and returns the new value.
    T operator|=(T bits) noexcept requires counts { return static_cast<T>(fetch_or(bits) | bits); }
    /// Inverts bits, and returns the new value.
    T operator^=(T bits) noexcept requires counts { return static_cast<T>(fetch_xor(bits) ^ bits); }

private:
    template <class Word>
    static void wait_at([[maybe_unused]] const void* object, const Word& word, const T& old) noexcept {
        for (;;) {
            const T now = word.load();
            if (std::memcmp(&now, &old, sizeof now) != 0) {
                return;
            }
            if (!PILFER_TEST_WAIT(object)) {
                pilfer::yield();
            }
        }
    }
    /// An operation: the expression that calls this is inside of it.
    [[nodiscard]] detail::atomic_step<std::atomic<T>&> at(const char* what) const noexcept {
        return {what, this, m_value};
    }
    mutable std::atomic<T> m_value{};
};

} // namespace test
} // namespace v0
} // namespace pilfer
