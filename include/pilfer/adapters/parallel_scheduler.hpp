// A pool as the back-end of std::execution's parallel scheduler (P2079R10).
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <version>

#include <pilfer/algorithm/spaces.hpp>
#include <pilfer/detail/coroutine/coroutine.hpp>
#include <pilfer/parallel/for_each.hpp>
#include <pilfer/pool.hpp>

#if defined(__cpp_lib_parallel_scheduler)
#include <execution>
#endif

namespace pilfer {
inline namespace v0 {
namespace adapters {

/// The back-end for an interface in the shape of the working draft, [exec.sysctxrepl]. Refers to the pool,
/// which must outlive it.
///
/// Template parameters: the classes parallel_scheduler_backend, receiver_proxy and bulk_item_receiver_proxy
/// of a library. Their namespace has changed several times, and no standard library of Debian 12 has them.
///
/// The operation is placed in the scratch space of the caller; one that is too small costs an allocation. If
/// the pool is closed, or without memory, the receiver gets set_error() in the call. shutdown(drop) gives
/// set_stopped() to what has not started. Nothing throws.
template <class Interface, class Receiver, class BulkReceiver>
class parallel_scheduler_backend final : public Interface {
    static_assert(std::is_base_of_v<Receiver, BulkReceiver>);

public:
    /// Makes the back-end of `p`.
    explicit parallel_scheduler_backend(pool& p) noexcept : m_pool(&p) {}

    /// Calls r.set_value() in a task.
    void schedule(Receiver& r, std::span<std::byte> scratch) noexcept override {
        start(r, scratch, [](Receiver&) noexcept {});
    }
    /// Calls r.execute(first, end) for parts of [0, n), in parallel, then r.set_value().
    void schedule_bulk_chunked(std::size_t n, BulkReceiver& r,
                               std::span<std::byte> scratch) noexcept override {
        start(r, scratch, [n](BulkReceiver& to) {
            pilfer::for_each_chunk(std::size_t{0}, n,
                                   [&to](std::size_t first, std::size_t end) { to.execute(first, end); });
        });
    }
    /// Calls r.execute(i, i + 1) for each i of [0, n), in parallel, then r.set_value().
    void schedule_bulk_unchunked(std::size_t n, BulkReceiver& r,
                                 std::span<std::byte> scratch) noexcept override {
        start(r, scratch, [n](BulkReceiver& to) {
            pilfer::for_each(std::size_t{0}, n, [&to](std::size_t i) { to.execute(i, i + 1); });
        });
    }

private:
    template <class R, class Work>
    struct operation final : detail::submission {
        operation(R& r, Work w, bool a) noexcept : receiver(&r), work(w), allocated(a) { run = &run_in_pool; }
        static detail::suspension* run_in_pool(detail::spark* self, detail::worker* w) noexcept {
            auto* const me = static_cast<operation*>(static_cast<detail::submission*>(self));
            R& r = *me->receiver;
            if (detail::dropping(w)) {
                detail::count_dropped(w);
                me->end();
                r.set_stopped();
            } else {
                detail::note_suppressed(0); // of an earlier task on this thread
                me->work(r);
                me->end(); // the completion may end the scratch space
                r.set_value();
            }
            detail::end_outstanding(detail::this_worker()); // the receiver may have moved this frame
            return nullptr;
        }
        void end() noexcept {
            if (allocated) {
                delete this;
            } else {
                this->~operation();
            }
        }
        R* receiver;
        Work work;
        bool allocated;
    };

    template <class R, class Work>
    void start(R& r, std::span<std::byte> scratch, Work work) noexcept {
        using op = operation<R, Work>;
        void* place = scratch.data();
        std::size_t left = scratch.size();
        op* o = nullptr;
        if (place != nullptr && std::align(alignof(op), sizeof(op), place, left) != nullptr) {
            o = ::new (place) op(r, work, false);
        } else {
            o = new (std::nothrow) op(r, work, true);
        }
        if (o == nullptr) {
            r.set_error(std::make_exception_ptr(std::bad_alloc()));
        } else if (!detail::start_in(m_pool->core(), o)) {
            o->end();
            r.set_error(detail::closed_error());
        }
    }

    pool* m_pool;
};

#if defined(__cpp_lib_parallel_scheduler)
/// The back-end for the standard library, to be returned by a program's own
/// query_parallel_scheduler_backend().
using std_parallel_scheduler_backend =
    parallel_scheduler_backend<std::execution::parallel_scheduler_replacement::parallel_scheduler_backend,
                               std::execution::parallel_scheduler_replacement::receiver_proxy,
                               std::execution::parallel_scheduler_replacement::bulk_item_receiver_proxy>;
#endif

} // namespace adapters
} // namespace v0
} // namespace pilfer
