// The policies through which protocol headers reach the checker.
#pragma once

#include <cstring>
#include <type_traits>

#include "engine.hpp"

namespace model {

template <class T>
[[nodiscard]] std::uint64_t to_word(T v) noexcept {
    static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
    std::uint64_t word = 0;
    std::memcpy(&word, &v, sizeof v);
    return word;
}
template <class T>
[[nodiscard]] T from_word(std::uint64_t word) noexcept {
    T v;
    std::memcpy(&v, &word, sizeof v);
    return v;
}

/// std::atomic for the checker, with the operations that protocol headers use.
template <class T>
class atomic {
public:
    atomic() : atomic(T{}) {}
    atomic(T v) : m_id(here().add_location(this, to_word(v))) {} // as std::atomic: implicit
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;
    ~atomic() { here().remove_location(m_id, this); }

    [[nodiscard]] T load(std::memory_order o, where w = where::current()) const {
        return from_word<T>(here().load(m_id, this, o, w));
    }
    void store(T v, std::memory_order o, where w = where::current()) {
        here().store(m_id, this, to_word(v), o, w);
    }
    T exchange(T v, std::memory_order o, where w = where::current()) {
        return from_word<T>(
            here().update(m_id, this, access::exchange, o, w, [v](std::uint64_t) { return to_word(v); }));
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure,
                                 where w = where::current()) {
        return compare(expected, desired, success, failure, false, w);
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure,
                               where w = where::current()) {
        return compare(expected, desired, success, failure, true, w);
    }
    T fetch_add(T v, std::memory_order o, where w = where::current()) {
        return fetch(o, w, [v](T old) { return static_cast<T>(old + v); });
    }
    T fetch_sub(T v, std::memory_order o, where w = where::current()) {
        return fetch(o, w, [v](T old) { return static_cast<T>(old - v); });
    }
    T fetch_or(T v, std::memory_order o, where w = where::current()) {
        return fetch(o, w, [v](T old) { return static_cast<T>(old | v); });
    }
    T fetch_and(T v, std::memory_order o, where w = where::current()) {
        return fetch(o, w, [v](T old) { return static_cast<T>(old & v); });
    }
    [[nodiscard]] std::uint16_t id() const noexcept { return m_id; }

private:
    [[nodiscard]] bool compare(T& expected, T desired, std::memory_order success, std::memory_order failure,
                               bool weak, where w) {
        std::uint64_t word = to_word(expected);
        const bool done = here().compare(m_id, this, word, to_word(desired), success, failure, weak, w);
        expected = from_word<T>(word);
        return done;
    }
    template <class F>
    T fetch(std::memory_order o, where w, F f) {
        return from_word<T>(here().update(m_id, this, access::fetch, o, w,
                                          [f](std::uint64_t old) { return to_word(f(from_word<T>(old))); }));
    }
    std::uint16_t m_id;
};

/// A plain variable that is watched for data races.
template <class T>
class plain {
public:
    plain() : plain(T{}) {}
    plain(T v) : m_value(v) { here().plain_start(m_state); } // as a T: implicit
    plain(const plain& other) : plain(static_cast<T>(other)) {}
    plain& operator=(const plain& other) { return *this = static_cast<T>(other); }
    ~plain() { here().plain_end(m_state, this); }
    plain& operator=(T v) {
        here().plain_write(m_state, this);
        m_value = v;
        return *this;
    }
    operator T() const {
        here().plain_read(m_state, this);
        return m_value;
    }
    T operator->() const requires std::is_pointer_v<T> { return *this; }

private:
    mutable engine::plain_state m_state;
    T m_value;
};

struct atom {
    template <class T>
    using atomic = model::atomic<T>;
    template <class T>
    using plain = model::plain<T>;

    static void fence_sc(where w = where::current()) { here().fence(std::memory_order_seq_cst, w); }
    static void light_fence(where w = where::current()) { here().light_fence(w); }
    static void heavy_fence(where w = where::current()) { here().heavy_fence(w); }
    static void relax(unsigned) { here().relax(); }
    template <class T>
    static bool is(const atomic<T*>& word, const T* value, where w = where::current()) {
        return word.load(std::memory_order_relaxed, w) == value;
    }
};

/// A machine without membarrier: the heavy fence orders its own thread only.
struct symmetric_atom : atom {
    static void heavy_fence(where w = where::current()) { here().fence(std::memory_order_seq_cst, w); }
};

struct park {
    static void wait(atomic<std::uint32_t>& word, std::uint32_t expected, where w = where::current()) {
        here().park({{word.id(), &word, expected}}, w);
    }
    /// It may end at any time.
    static void wait_for(atomic<std::uint32_t>&, std::uint32_t, std::uint64_t) { here().relax(); }
    static void wait_either(atomic<std::uint32_t>& a, std::uint32_t in_a, atomic<std::uint32_t>& b,
                            std::uint32_t in_b, std::uint64_t, where w = where::current()) {
        here().park({{a.id(), &a, in_a}, {b.id(), &b, in_b}}, w);
    }
    static void wake(atomic<std::uint32_t>& word, where w = where::current()) {
        here().unpark(word.id(), &word, w);
    }
};

} // namespace model
