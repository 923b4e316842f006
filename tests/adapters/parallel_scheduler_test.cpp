// The back-end of std::execution's parallel scheduler, through a minimal form of the interface: each item
// once, one completion, no allocation, errors.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <pilfer/adapters/parallel_scheduler.hpp>

#include "adapters/replaceable.hpp"
#include "support/allocations.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

using backend = pilfer::adapters::parallel_scheduler_backend<replaceable::parallel_scheduler_backend,
                                                             replaceable::receiver_proxy,
                                                             replaceable::bulk_item_receiver_proxy>;

namespace replaceable {
std::shared_ptr<parallel_scheduler_backend> query_parallel_scheduler_backend() {
    return std::make_shared<::backend>(pilfer::pool::common());
}
} // namespace replaceable

namespace {

using namespace support;

class parallel_scheduler_over_workers : public over_workers {};
PILFER_OVER_WORKERS(parallel_scheduler_over_workers);
class parallel_scheduler : public guarded {};

template <class Base>
struct outcome : Base {
    std::atomic<int> values{0}, errors{0}, stops{0};
    std::exception_ptr error;
    pilfer::event done;
    void set_value() noexcept override {
        ++values;
        done.set();
    }
    void set_error(std::exception_ptr e) noexcept override {
        ++errors;
        error = std::move(e);
        done.set();
    }
    void set_stopped() noexcept override {
        ++stops;
        done.set();
    }
};
struct receiver final : outcome<replaceable::receiver_proxy> {};
struct items final : outcome<replaceable::bulk_item_receiver_proxy> {
    explicit items(std::size_t n) : calls(n) {}
    std::vector<std::atomic<int>> calls;
    std::atomic<std::size_t> parts{0};
    void execute(std::size_t first, std::size_t end) noexcept override {
        EXPECT_LT(first, end);
        ++parts;
        for (; first != end; ++first) {
            ++calls.at(first);
        }
    }
    [[nodiscard]] bool once_each() const {
        for (const auto& c : calls) {
            if (c != 1) {
                return false;
            }
        }
        return true;
    }
};
/// The scratch space that stdexec gives to a bulk operation.
struct scratch_space {
    alignas(std::max_align_t) std::array<std::byte, 64> bytes;
    [[nodiscard]] std::span<std::byte> all() { return bytes; }
};

TEST_P(parallel_scheduler_over_workers, operations_complete_once_and_have_run_each_item) {
    pilfer::pool pool({.workers = GetParam()});
    backend b(pool);
    receiver r;
    scratch_space s;
    b.schedule(r, s.all());
    r.done.wait();
    EXPECT_EQ(r.values, 1);
    for (const std::size_t n : {0u, 1u, 7u, 100'000u}) {
        items chunks(n);
        b.schedule_bulk_chunked(n, chunks, s.all());
        chunks.done.wait();
        EXPECT_EQ(chunks.values, 1);
        EXPECT_TRUE(chunks.once_each());
        items single(n);
        b.schedule_bulk_unchunked(n, single, s.all());
        single.done.wait();
        EXPECT_EQ(single.values, 1);
        EXPECT_TRUE(single.once_each());
        EXPECT_EQ(single.parts, n);
    }
}

TEST_P(parallel_scheduler_over_workers, operations_inside_tasks_of_the_pool) {
    pilfer::pool pool({.workers = GetParam()});
    backend b(pool);
    std::atomic<int> right{0};
    pool.run([&] {
        pilfer::for_each(0, 20, [&](int) {
            items chunks(1000);
            scratch_space s;
            b.schedule_bulk_chunked(1000, chunks, s.all());
            chunks.done.wait();
            right += chunks.once_each();
        });
    });
    EXPECT_EQ(right, 20);
}

TEST_F(parallel_scheduler, nothing_is_allocated_inside_the_scratch_space) {
    if (!counts_allocations) {
        GTEST_SKIP() << "a sanitizer has its own operator new";
    }
    pilfer::pool pool({.workers = 2});
    backend b(pool);
    scratch_space s;
    items chunks(10'000);
    items single(10'000);
    receiver r;
    // A round in which a worker needs another stack is not the operation's. An allocation of it would be in
    // each.
    std::uint64_t least = UINT64_MAX;
    for (int round = 0; round < 20; ++round) {
        const std::uint64_t before = allocation_count;
        b.schedule(r, s.all());
        r.done.wait();
        r.done.reset();
        b.schedule_bulk_chunked(10'000, chunks, s.all());
        chunks.done.wait();
        chunks.done.reset();
        b.schedule_bulk_unchunked(10'000, single, s.all());
        single.done.wait();
        single.done.reset();
        least = std::min<std::uint64_t>(least, allocation_count - before);
    }
    EXPECT_EQ(least, 0u);
}

TEST_F(parallel_scheduler, a_scratch_space_that_is_too_small_or_crooked_is_no_error) {
    pilfer::pool pool({.workers = 2});
    backend b(pool);
    scratch_space s;
    for (const std::span<std::byte> space :
         {std::span<std::byte>(), s.all().first(8), s.all().subspan(1), s.all().subspan(3, 20)}) {
        receiver r;
        b.schedule(r, space);
        r.done.wait();
        EXPECT_EQ(r.values, 1);
        items chunks(100);
        b.schedule_bulk_chunked(100, chunks, space);
        chunks.done.wait();
        EXPECT_TRUE(chunks.once_each());
    }
}

TEST_F(parallel_scheduler, a_closed_pool_is_an_error_of_the_receiver) {
    pilfer::pool pool({.workers = 2});
    backend b(pool);
    pool.shutdown();
    scratch_space s;
    receiver r;
    b.schedule(r, s.all());
    items chunks(10);
    b.schedule_bulk_chunked(10, chunks, {});
    EXPECT_EQ(r.errors, 1);
    EXPECT_EQ(chunks.errors, 1);
    EXPECT_EQ(chunks.parts, 0u);
    EXPECT_THROW(std::rethrow_exception(r.error), pilfer::pool_closed);
}

TEST_F(parallel_scheduler, dropped_operations_are_stopped) {
    pilfer::pool pool({.workers = 1});
    backend b(pool);
    std::atomic<bool> begun{false};
    std::atomic<bool> go{false};
    pool.submit([&] {
        begun = true;
        while (!go) {
            std::this_thread::yield();
        }
    });
    ASSERT_TRUE(eventually([&] { return begun.load(); }));
    scratch_space s;
    receiver r;
    b.schedule(r, s.all());
    items chunks(10);
    b.schedule_bulk_chunked(10, chunks, {});
    std::thread closer([&] { pool.shutdown(pilfer::shutdown_mode::drop); });
    ASSERT_TRUE(eventually([&] {
        try {
            pool.submit([] {});
            return false;
        } catch (const pilfer::pool_closed&) {
            return true;
        }
    }));
    go = true;
    closer.join();
    EXPECT_EQ(r.stops, 1);
    EXPECT_EQ(r.values + r.errors, 0);
    EXPECT_EQ(chunks.stops, 1);
    EXPECT_EQ(chunks.parts, 0u);
}

TEST_F(parallel_scheduler, the_programs_own_function_gives_the_backend) {
    const auto b = replaceable::query_parallel_scheduler_backend();
    ASSERT_NE(b, nullptr);
    items chunks(1000);
    b->schedule_bulk_chunked(1000, chunks, {});
    chunks.done.wait();
    EXPECT_TRUE(chunks.once_each());
}

} // namespace
