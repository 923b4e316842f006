// Coroutines that wait for locks, and the locks of coroutines. Argument: src/coroutine/README.md.
#pragma once

#include <pilfer/condition_variable.hpp>
#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/cancel/holding.hpp>
#include <pilfer/detail/cancel/points.hpp>
#include <pilfer/detail/coroutine/coroutine.hpp>
#include <pilfer/detail/sync/owner_wait.hpp>
#include <pilfer/mutex.hpp>
#include <pilfer/semaphore.hpp>
#include <pilfer/shared_mutex.hpp>

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
            detail::takes_lock(detail::running_task(), nullptr);
        }
    }
    /// Called after the unlock. It may run code of the user.
    static void gives(coroutine_root* root) noexcept {
        if (root != nullptr) {
            --root->locks;
            detail::gives_lock(detail::running_task(), nullptr);
        }
    }

    [[nodiscard]] static bool try_lock(mutex& m) noexcept {
        PILFER_TEST_POINT("tries to lock a mutex", &m);
        return m.m_core.lock_fast();
    }
    static void took(mutex& m, coroutine_root* root) noexcept {
        m.m_owner.store(root != nullptr ? detail::coroutine_owner(root) : nullptr, rlx); // sync.O1
        takes(root);
    }
    /// Nothing of the mutex is touched after the unlock. The caller calls gives() afterwards.
    static void release(mutex& m, [[maybe_unused]] coroutine_root* root) noexcept {
        PILFER_TEST_POINT("unlocks a mutex", &m);
        detail::ensure(
            [&] { return root == nullptr || m.m_owner.load(rlx) == detail::coroutine_owner(root); },
            "a mutex is unlocked by another coroutine than has locked it");
        m.m_owner.store(nullptr, rlx);
        if (!m.m_core.unlock_fast()) [[unlikely]] {
            m.unlock_slow();
        }
    }
    /// The running task has the lock of `guard`, too: it is the coroutine's no more.
    template <class Guard>
    static void disown(Guard& guard) noexcept {
        guard.m_mutex = nullptr;
        gives(guard.m_root);
    }
    static void release(shared_mutex& m, coroutine_root* /*root*/) noexcept { m.release(); }
    static void release_shared(shared_mutex& m) noexcept { m.release_shared(); }
};

/// A wait for a mutex: an entry of its list, as a task or a thread has one.
class PILFER_API mutex_resumption : public listed_resumption {
public:
    mutex_resumption() noexcept { run = &mutex_resumption::run_called; }
    /// True: the coroutine is suspended, and the caller touches nothing of this. False: it has the mutex, or
    /// was taken out.
    [[nodiscard]] bool wait_for(mutex& m);

protected:
    /// For a coroutine that has begun to wait, and whose wait no cancellation ends. True: it is suspended.
    [[nodiscard]] bool lock_again(mutex& m) noexcept;

private:
    using protocol = mutex_protocol<std_atom, futex_park>;

    static suspension* run_called(spark* self, worker* w) noexcept;
    [[nodiscard]] bool suspend() noexcept;
    [[nodiscard]] bool waits_again() noexcept;
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

/// A wait for a shared mutex.
class PILFER_API shared_mutex_resumption : public listed_resumption {
public:
    [[nodiscard]] static bool try_lock(shared_mutex& m, bool shared) noexcept {
        PILFER_TEST_POINT("tries to lock a shared mutex", &m);
        return shared ? m.try_share_within(0) : m.try_lock_within(0);
    }
    /// As mutex_resumption::wait_for().
    [[nodiscard]] bool wait_for(shared_mutex& m, bool shared);
    /// After a wait that ended without the mutex: readers after a writer may have waited only for it.
    void leaves_queue(shared_mutex& m) const noexcept;
    /// After the wait.
    void leave_if_taken_out(shared_mutex& m) const;

private:
    waiters::entry m_entry;
};

struct semaphore_access {
    template <std::ptrdiff_t LeastMax>
    [[nodiscard]] static semaphore_core& core(counting_semaphore<LeastMax>& s) noexcept {
        return s.m_core;
    }
};

/// A wait for a permit.
class PILFER_API semaphore_resumption : public listed_resumption {
public:
    /// True: the coroutine is suspended, and the caller touches nothing of this. False: it has a permit, or
    /// was taken out.
    [[nodiscard]] bool wait_for(semaphore_core& s);

private:
    waiters::entry m_entry;
};

/// A wait for a condition, and then for the mutex.
class PILFER_API condition_resumption : public mutex_resumption {
public:
    /// `m` is locked by the coroutine. Afterwards the coroutine has it again, also if it was taken out. True:
    /// the coroutine is suspended, and the caller touches nothing of this. Throws before anything has
    /// happened.
    [[nodiscard]] bool wait_for(condition_variable& c, mutex& m, coroutine_root* of);

private:
    static suspension* run_notified(spark* self, worker* w) noexcept;

    mutex* m_again = nullptr;
    waiters::entry m_place;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
