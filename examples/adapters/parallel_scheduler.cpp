// A program replaces the parallel scheduler of std::execution. No standard library here has it yet, so the
// namespace `execution` below stands for it: a part of its interface, and a sync_bulk() instead of its
// senders.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>

#include <pilfer/adapters/parallel_scheduler.hpp>
#include <pilfer/pilfer.hpp>

namespace execution {
struct receiver_proxy {
    virtual ~receiver_proxy() = default;
    virtual void set_value() noexcept = 0;
    virtual void set_error(std::exception_ptr) noexcept = 0;
    virtual void set_stopped() noexcept = 0;
};
struct bulk_item_receiver_proxy : receiver_proxy {
    virtual void execute(std::size_t first, std::size_t end) noexcept = 0;
};
struct parallel_scheduler_backend {
    virtual ~parallel_scheduler_backend() = default;
    virtual void schedule(receiver_proxy&, std::span<std::byte>) noexcept = 0;
    virtual void schedule_bulk_chunked(std::size_t, bulk_item_receiver_proxy&,
                                       std::span<std::byte>) noexcept = 0;
    virtual void schedule_bulk_unchunked(std::size_t, bulk_item_receiver_proxy&,
                                         std::span<std::byte>) noexcept = 0;
};
std::shared_ptr<parallel_scheduler_backend> query_parallel_scheduler_backend();

template <class F>
void sync_bulk(std::size_t n, F f) {
    struct receiver final : bulk_item_receiver_proxy {
        explicit receiver(F& g) : function(g) {}
        void set_value() noexcept override { done.set(); }
        void set_error(std::exception_ptr) noexcept override { std::terminate(); }
        void set_stopped() noexcept override { done.set(); }
        void execute(std::size_t first, std::size_t end) noexcept override { function(first, end); }
        F& function;
        pilfer::event done;
    } r(f);
    std::byte scratch[64];
    query_parallel_scheduler_backend()->schedule_bulk_chunked(n, r, scratch);
    r.done.wait();
}
} // namespace execution

// The part that a program writes.
std::shared_ptr<execution::parallel_scheduler_backend> execution::query_parallel_scheduler_backend() {
    using backend = pilfer::adapters::parallel_scheduler_backend<parallel_scheduler_backend, receiver_proxy,
                                                                 bulk_item_receiver_proxy>;
    return std::make_shared<backend>(pilfer::pool::common());
}

int main() {
    std::atomic<std::size_t> items{0};
    execution::sync_bulk(1'000'000, [&](std::size_t first, std::size_t end) { items += end - first; });
    std::printf("items: %zu\n", items.load());
}
