// References to plain objects whose operations a test of schedules interleaves. docs/guides/testing.md
// explains them.
#pragma once

#include <atomic>
#include <cstddef>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/test_atomic.hpp>

namespace pilfer {
inline namespace v0 {
namespace test {

/// A std::atomic_ref at whose operations other tasks may go on. All references to an object are one atomic.
/// Every order is taken for sequentially consistent.
template <class T>
class atomic_ref {
    using order = std::memory_order;
    static constexpr order last = std::memory_order_seq_cst;
    using owner = atomic<T>;
    static constexpr bool counts = owner::counts;
    static constexpr bool adds = owner::adds;
    static constexpr bool steps = owner::steps;

public:
    /// T.
    using value_type = T;
    /// What is added: T, or std::ptrdiff_t for a pointer.
    using difference_type = typename owner::difference_type;
    /// As std's.
    static constexpr bool is_always_lock_free = std::atomic_ref<T>::is_always_lock_free;
    /// As std's.
    static constexpr std::size_t required_alignment = std::atomic_ref<T>::required_alignment;

    /// Refers to `object`, which must outlive this, and must have required_alignment.
    explicit atomic_ref(T& object) noexcept : m_object(std::addressof(object)) {}
    /// Refers to the same object.
    atomic_ref(const atomic_ref&) noexcept = default;
    atomic_ref& operator=(const atomic_ref&) = delete;

    /// As std's. No step.
    [[nodiscard]] bool is_lock_free() const noexcept { return word().is_lock_free(); }
    /// Stores `value`.
    void store(T value, order = last) const noexcept { at("stores to an atomic")->store(value); }
    /// The value.
    [[nodiscard]] T load(order = last) const noexcept { return at("loads an atomic")->load(); }
    /// Stores `value`, and returns the one before.
    T exchange(T value, order = last) const noexcept { return at("exchanges an atomic")->exchange(value); }
    /// Stores `value` if the present one is `expected`. False: it is not, and is written to `expected`.
    bool compare_exchange_strong(T& expected, T value, order = last, order = last) const noexcept {
        return at("compares and exchanges an atomic")->compare_exchange_strong(expected, value);
    }
    /// As compare_exchange_strong(). It fails without a reason only as one of options::faults.
    bool compare_exchange_weak(T& expected, T value, order = last, order = last) const noexcept {
        if (PILFER_TEST_FAULT("a weak exchange of an atomic", m_object)) {
            expected = word().load();
            return false;
        }
        return compare_exchange_strong(expected, value);
    }

    /// Waits until the value is not `old`. See atomic::wait().
    void wait(T old, order = last) const noexcept {
        PILFER_TEST_CANNOT_REPEAT("a wait for a test::atomic");
        (void)at("begins to wait for an atomic");
        owner::wait_at(m_object, word(), old);
    }
    /// Wakes one wait(), by choice: std does not say which.
    void notify_one() const noexcept {
        (void)at("notifies one waiter of an atomic");
        PILFER_TEST_NOTIFY(m_object, false);
    }
    /// Wakes all.
    void notify_all() const noexcept {
        (void)at("notifies all waiters of an atomic");
        PILFER_TEST_NOTIFY(m_object, true);
    }

    /// Adds `by`, and returns the value before.
    T fetch_add(difference_type by, order = last) const noexcept requires adds {
        return at("adds to an atomic")->fetch_add(by);
    }
    /// Subtracts `by`, and returns the value before.
    T fetch_sub(difference_type by, order = last) const noexcept requires adds {
        return at("subtracts from an atomic")->fetch_sub(by);
    }
    /// Clears the bits that `bits` has not, and returns the value before.
    T fetch_and(T bits, order = last) const noexcept requires counts {
        return at("clears bits of an atomic")->fetch_and(bits);
    }
    /// Sets bits, and returns the value before.
    T fetch_or(T bits, order = last) const noexcept requires counts {
        return at("sets bits of an atomic")->fetch_or(bits);
    }
    /// Inverts bits, and returns the value before.
    T fetch_xor(T bits, order = last) const noexcept requires counts {
        return at("inverts bits of an atomic")->fetch_xor(bits);
    }

    /// Stores `value`, and returns it.
    T operator=(T value) const noexcept { // NOLINT(misc-unconventional-assign-operator): as std's
        store(value);
        return value;
    }
    /// The value.
    operator T() const noexcept { return load(); } // NOLINT(google-explicit-constructor): as std's
    /// Adds 1, and returns the new value.
    T operator++() const noexcept requires steps { return static_cast<T>(fetch_add(1) + 1); }
    /// Adds 1, and returns the value before.
    T operator++(int) const noexcept requires steps { return fetch_add(1); }
    /// Subtracts 1, and returns the new value.
    T operator--() const noexcept requires steps { return static_cast<T>(fetch_sub(1) - 1); }
    /// Subtracts 1, and returns the value before.
    T operator--(int) const noexcept requires steps { return fetch_sub(1); }
    /// Adds `by`, and returns the new value.
    T operator+=(difference_type by) const noexcept requires adds {
        return static_cast<T>(fetch_add(by) + by);
    }
    /// Subtracts `by`, and returns the new value.
    T operator-=(difference_type by) const noexcept requires adds {
        return static_cast<T>(fetch_sub(by) - by);
    }
    /// Clears bits, and returns the new value.
    T operator&=(T bits) const noexcept requires counts { return static_cast<T>(fetch_and(bits) & bits); }
    /// Sets bits, and returns the new value.
    T operator|=(T bits) const noexcept requires counts { return static_cast<T>(fetch_or(bits) | bits); }
    /// Inverts bits, and returns the new value.
    T operator^=(T bits) const noexcept requires counts { return static_cast<T>(fetch_xor(bits) ^ bits); }

private:
    [[nodiscard]] std::atomic_ref<T> word() const noexcept { return std::atomic_ref<T>(*m_object); }
    [[nodiscard]] detail::atomic_step<std::atomic_ref<T>> at(const char* what) const noexcept {
        return {what, m_object, word()};
    }
    T* m_object;
};

} // namespace test
} // namespace v0
} // namespace pilfer
