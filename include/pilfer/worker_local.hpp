// worker_local: one value per worker, and one more for each use that waits or runs beside others.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/sanitizer.hpp>
#include <pilfer/detail/objects/instances.hpp>
#include <pilfer/detail/objects/leases.hpp>
#include <pilfer/detail/task/worker.hpp>
#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {

template <class T>
class worker_local;

/// The right to use one instance of a worker_local alone. The right ends with this object, on any thread. A
/// lease may be moved to another task. The worker_local must outlive it.
template <class T>
class [[nodiscard]] worker_lease {
public:
    /// Takes over the lease of `other`.
    worker_lease(worker_lease&& other) noexcept
        : m_owner(other.m_owner), m_instance(std::exchange(other.m_instance, nullptr)) {}
    /// Ends this lease and takes over the lease of `other`.
    worker_lease& operator=(worker_lease&& other) noexcept {
        if (this != std::addressof(other)) {
            end();
            m_owner = other.m_owner;
            m_instance = std::exchange(other.m_instance, nullptr);
        }
        return *this;
    }
    ~worker_lease() { end(); }

    /// The instance. Not for a lease that was moved from.
    [[nodiscard]] T& operator*() const noexcept { return m_instance->value; }
    /// The members of the instance.
    [[nodiscard]] T* operator->() const noexcept { return std::addressof(m_instance->value); }

private:
    friend class worker_local<T>;
    using instance = typename worker_local<T>::instance;

    worker_lease(detail::instances& owner, instance& i) noexcept : m_owner(&owner), m_instance(&i) {
        detail::race::acquire(m_instance);
    }
    void end() noexcept {
        if (m_instance != nullptr) {
            detail::race::release(m_instance);
            m_owner->give(std::exchange(m_instance, nullptr));
        }
    }

    detail::instances* m_owner;
    instance* m_instance;
};

/// Instances of T for tasks that collect, count or need scratch space.
///
/// Unlike a thread_local, an instance is leased for each use. A use that spawns, waits or is suspended keeps
/// its instance, and other tasks on that worker get another one. The number of instances is at most the
/// number of uses at the same time. These are workers and foreign threads that use it, and uses that wait or
/// have others on top of them. Instances are made when needed and destroyed with this object. Usable from any
/// thread, and from tasks of any number of pools.
template <class T>
class worker_local {
    static_assert(std::is_object_v<T> && !std::is_const_v<T>, "worker_local<T> needs a T that can change");

public:
    /// Instances are T{}.
    worker_local() requires std::default_initializable<T> : m_make([] { return T{}; }) {}
    /// Instances are what make() returns. Several threads may call make() at once.
    template <class Make>
    requires(!std::same_as<std::remove_cvref_t<Make>, worker_local> &&
             std::is_invocable_r_v<T, std::decay_t<Make>&> &&
             std::copy_constructible<std::decay_t<Make>>) explicit worker_local(Make&& make)
        : m_make(std::forward<Make>(make)) {}
    worker_local(const worker_local&) = delete;
    worker_local& operator=(const worker_local&) = delete;
    /// If an instance is still leased, prints a message and terminates the program: the lease would refer to
    /// freed memory.
    ~worker_local() {
        instance* first = nullptr;
        instance* last = nullptr;
        if (!take_all(first, last)) {
            detail::destroyed_while_leased();
        }
        while (first != nullptr) {
            instance* const next = static_cast<instance*>(first->newer);
            delete first;
            first = next;
        }
    }

    /// Leases an instance to the caller alone. Usually it is the instance that this worker gave back, in the
    /// state in which it was left. Throws what the factory throws, and std::bad_alloc; then nothing has
    /// changed.
    ///
    /// Cost on a worker: no atomic read-modify-write. If the worker has no free instance, and on foreign
    /// threads: a lock. Before a new instance is made: a membarrier and a look at the places of all workers.
    [[nodiscard]] worker_lease<T> lease() {
        if (auto* i = m_all.take()) [[likely]] {
            return {m_all, *static_cast<instance*>(i)};
        }
        auto made = std::make_unique<instance>(m_make);
        m_all.add(made.get());
        return {m_all, *made.release()};
    }

    /// Calls f(instance) for each instance, in the order in which they were made, on the caller. Throws
    /// usage_error if any is leased, and what f throws. All instances are leased meanwhile, so a lease by f
    /// makes a new one.
    template <class F>
    requires std::invocable<F&, T&>
    void for_each(F&& f) {
        const all_of_them all(*this);
        for (instance* i = all.first; i != nullptr;
             i = i == all.last ? nullptr : static_cast<instance*>(i->newer)) {
            std::invoke(f, i->value);
        }
    }
    /// Returns op(...op(op(a, b), c)..., z): a copy of the first instance combined with all others, which
    /// stay. If there is no instance, returns what the factory makes. Throws usage_error if any is leased,
    /// and what the factory and op throw.
    template <class Op>
    requires std::copyable<T> && std::is_invocable_r_v<T, Op&, T, const T&>
    [[nodiscard]] T combine(Op&& op) {
        const all_of_them all(*this);
        if (all.first == nullptr) {
            return m_make();
        }
        T sum(all.first->value);
        for (instance* i = all.first; i != all.last;) {
            i = static_cast<instance*>(i->newer);
            sum = std::invoke(op, std::move(sum), std::as_const(i->value));
        }
        return sum;
    }
    /// How many instances have been made.
    [[nodiscard]] std::size_t size() const noexcept { return m_all.size(); }

private:
    friend class worker_lease<T>;
    struct instance final : detail::instances::instance {
        explicit instance(const std::function<T()>& make) : value(make()) {}
        T value;
    };
    struct all_of_them {
        explicit all_of_them(worker_local& w) : owner(w) {
            if (!w.take_all(first, last)) {
                PILFER_THROW(usage_error("pilfer: an instance of this worker_local is leased"));
            }
        }
        all_of_them(const all_of_them&) = delete;
        all_of_them& operator=(const all_of_them&) = delete;
        ~all_of_them() { owner.m_all.give_all(first, last); }
        worker_local& owner;
        instance* first = nullptr;
        instance* last = nullptr;
    };
    [[nodiscard]] bool take_all(instance*& first, instance*& last) noexcept {
        detail::instances::instance* a = nullptr;
        detail::instances::instance* b = nullptr;
        const bool taken = m_all.take_all(a, b);
        first = static_cast<instance*>(a);
        last = static_cast<instance*>(b);
        return taken;
    }

    std::function<T()> m_make;
    detail::instances m_all;
};

} // namespace v0
} // namespace pilfer
