// Shared by the harnesses of waiting: objects whose life ends at once, and the frame of a waiting task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "../harness.hpp"

namespace model {

/// An object that is built and destroyed while others may wrongly still use it: the memory stays.
template <class T>
class box {
public:
    box() = default;
    box(const box&) = delete;
    box& operator=(const box&) = delete;

    template <class... Args>
    T* make(Args&&... args) {
        check(!m_alive, "an object is built twice");
        m_alive = true;
        return ::new (static_cast<void*>(m_bytes)) T(std::forward<Args>(args)...);
    }
    void end() {
        check(m_alive, "an object is destroyed twice");
        m_alive = false;
        std::destroy_at(get());
    }
    [[nodiscard]] T* get() noexcept { return reinterpret_cast<T*>(m_bytes); }
    [[nodiscard]] T* operator->() noexcept { return get(); }
    [[nodiscard]] bool alive() const noexcept { return m_alive; }

private:
    alignas(T) std::byte m_bytes[sizeof(T)];
    bool m_alive = false; // of the checker itself
};

/// The stack of a task, as far as races are concerned: the thread that runs on it writes it all the time.
class stack {
public:
    /// Code runs on it: one word of it changes.
    void run() { m_word = m_word + 1; }
    /// The registers are saved there, and the next instruction runs elsewhere.
    void leave() { run(); }
    /// The registers are loaded.
    void enter() { run(); }

private:
    plain<unsigned> m_word = 0;
};

} // namespace model
