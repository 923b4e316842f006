// The interface of a replaceable parallel scheduler, as the working draft of C++26 has it
// ([exec.sysctxrepl]). It stands for a standard library that has it: no queries.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <span>

namespace replaceable {

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

} // namespace replaceable
