// A coroutine that waits for a mutex, and the locks of coroutines. Argument: src/coroutine/README.md.
#pragma once

#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/cancel/points.hpp>
#include <pilfer/detail/coroutine/coroutine.hpp>
#include <pilfer/detail/sync/owner_wait.hpp>
#include <pilfer/mutex.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The locks that coroutines hold by co_await. `root` follows the coroutine; null: it is of another library.
struct coroutine_locks {
    template <class Promise>
    [[nodiscard]] static coroutine_root* root_of(std::coroutine_handle<Promise> h) noexcept {
        if constexpr (std::derived_from<Promise, coroutine_frame>) {
            return h.promise().driver->root;
        } else {
            return nullptr;
        }
    }
    /// Counts a lock for the coroutine and for its running task.
    static void takes(coroutine_root* root) noexcept {
        if (root != nullptr) {
            ++root->locks;
            detail::takes_lock(detail::running_task());
        }
    }
    /// Called after the unlock. It may run code of the user.
    static void gives(coroutine_root* root) noexcept {
        if (root != nullptr) {
            --root->locks;
            detail::gives_lock(detail::running_task());
        }
    }

    [[nodiscard]] static bool try_lock(mutex& m) noexcept { return m.m_core.lock_fast(); }
    static void took(mutex& m, coroutine_root* root) noexcept {
        m.m_owner.store(root != nullptr ? detail::coroutine_owner(root) : nullptr, rlx); // sync.O1
        takes(root);
    }
    /// Nothing of the mutex is touched after the unlock. The caller calls gives() afterwards.
    static void release(mutex& m, [[maybe_unused]] coroutine_root* root) noexcept {
        detail::ensure(
            [&] { return root == nullptr || m.m_owner.load(rlx) == detail::coroutine_owner(root); },
            "a mutex is unlocked by another coroutine than has locked it");
        m.m_owner.store(nullptr, rlx);
        if (!m.m_core.unlock_fast()) [[unlikely]] {
            m.unlock_slow();
        }
    }
    static void unlock(mutex& m, coroutine_root* root) noexcept {
        release(m, root);
        gives(root);
    }
};

/// A wait for a mutex: an entry of its list, as a task or a thread has one.
class PILFER_API mutex_resumption : public listed_resumption {
public:
    mutex_resumption() noexcept { run = &mutex_resumption::run_called; }
    /// True: the coroutine is suspended, and the caller touches nothing of this. False: it has the mutex, or
    /// was taken out.
    [[nodiscard]] bool wait_for(mutex& m);

private:
    using protocol = mutex_protocol<std_atom, futex_park>;

    static suspension* run_called(spark* self, worker* w) noexcept;
    [[nodiscard]] bool suspend() noexcept;
    [[nodiscard]] protocol::step look() noexcept;
    void name_cycles() noexcept;
    void leaves_table() noexcept;

    mutex* m_mutex = nullptr;
    waiters::entry m_entry;
    bool m_is_named = false;
    union {
        named_wait m_named; // while m_is_named
    };
};

} // namespace detail
} // namespace v0
} // namespace pilfer
