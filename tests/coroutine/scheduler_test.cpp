// A pool as a scheduler: the shape of P2300, and the completions of its operations.
#include <gtest/gtest.h>

#include <atomic>
#include <concepts>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <pilfer/pilfer.hpp>

#include "pool/pool_core.hpp"
#include "support/allocations.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;

// ---- the shape, as far as the tests need it ---------------------------------------------------

template <class R>
concept receiver = std::move_constructible<R> && requires(R r) {
    { std::move(r).set_value() }
    noexcept;
    { std::move(r).set_stopped() }
    noexcept;
};
template <class O>
concept operation_state = std::is_object_v<O> && std::destructible<O> && requires(O& o) {
    typename O::operation_state_concept;
    { o.start() }
    noexcept;
};
template <class S, class R>
concept sender_to = receiver<R> && std::copy_constructible<S> && requires(const S& s, R r) {
    typename S::sender_concept;
    { s.connect(std::move(r)) } -> operation_state;
    s.get_env();
};
template <class S, class R>
concept scheduler_for = std::copyable<S> && std::equality_comparable<S> && requires(const S& s) {
    typename S::scheduler_concept;
    { s.schedule() } -> sender_to<R>;
};

struct counting_receiver {
    std::atomic<int>* values;
    std::atomic<int>* stops;
    pilfer::pool* where = nullptr;

    void set_value() && noexcept {
        EXPECT_EQ(pilfer::detail::this_worker()->pool, &where->core());
        ++*values;
    }
    void set_stopped() && noexcept { ++*stops; }
};
static_assert(scheduler_for<pilfer::pool_scheduler, counting_receiver>);
static_assert(sender_to<pilfer::schedule_sender, counting_receiver>);
static_assert(!std::movable<
              decltype(std::declval<pilfer::schedule_sender>().connect(std::declval<counting_receiver>()))>);

class schedulers : public over_workers {};
PILFER_OVER_WORKERS(schedulers);

TEST_P(schedulers, complete_on_a_worker_of_their_pool) {
    std::atomic<int> values = 0;
    std::atomic<int> stops = 0;
    pilfer::pool pool(with_workers());
    const pilfer::pool_scheduler s = pool.get_scheduler();
    EXPECT_EQ(s, pilfer::pool_scheduler(pool));
    using operation = decltype(s.schedule().connect(counting_receiver{&values, &stops, &pool}));
    std::vector<std::unique_ptr<operation>> all;
    for (int i = 0; i < 100; ++i) {
        all.emplace_back(new operation(s.schedule().connect(counting_receiver{&values, &stops, &pool})));
    }
    for (int i = 0; i < 50; ++i) {
        all[static_cast<std::size_t>(i)]->start();
    }
    pool.run([&] {
        for (std::size_t i = 50; i < 100; ++i) {
            all[i]->start();
        }
    });
    pool.shutdown();
    EXPECT_EQ(values, 100);
    EXPECT_EQ(stops, 0);

    auto late = s.schedule().connect(counting_receiver{&values, &stops, &pool});
    late.start();
    EXPECT_EQ(stops, 1) << "a closed pool, in the call itself";
}

TEST_P(schedulers, report_that_they_were_dropped) {
    std::atomic<int> values = 0;
    std::atomic<int> stops = 0;
    pilfer::pool pool(with_workers());
    std::atomic<unsigned> held = 0;
    std::atomic<bool> go = false;
    for (unsigned i = 0; i < GetParam(); ++i) {
        pool.submit([&] {
            ++held;
            while (!go) {
                std::this_thread::yield();
            }
        });
    }
    while (held != GetParam()) {
        std::this_thread::yield();
    }
    auto one = pool.schedule().connect(counting_receiver{&values, &stops, &pool});
    auto other = pool.schedule().connect(counting_receiver{&values, &stops, &pool});
    one.start();
    other.start();
    std::thread end([&] { pool.shutdown(pilfer::shutdown_mode::drop); });
    while (!pool.core().dropping()) {
        std::this_thread::yield();
    }
    go = true;
    end.join();
    EXPECT_EQ(values, 0);
    EXPECT_EQ(stops, 2);
    EXPECT_EQ(pool.counters().dropped, 2U);
}

/// Holds its own operation, and starts the next one out of the completion that ends it.
struct relay {
    struct next_receiver {
        relay* self;
        void set_value() && noexcept { self->hop(); }
        void set_stopped() && noexcept { ADD_FAILURE(); }
    };
    struct holder {
        holder(pilfer::pool& p, relay* self) : operation(p.schedule().connect(next_receiver{self})) {}
        pilfer::detail::schedule_operation<next_receiver> operation;
    };

    explicit relay(pilfer::pool& p) : pool(p) {}
    void run(int hops) {
        left = hops;
        over = false;
        place.emplace(pool, this);
        place->operation.start();
        while (!over) {
            std::this_thread::yield();
        }
    }
    void hop() noexcept {
        if (left-- == 0) {
            over = true;
            return;
        }
        place.emplace(pool, this); // ends the operation of this receiver
        place->operation.start();
    }

    pilfer::pool& pool;
    int left = 0;
    std::atomic<bool> over = false;
    std::optional<holder> place;
};

TEST_P(schedulers, an_operation_may_end_in_its_completion_and_starting_one_allocates_nothing) {
    const int hops = static_cast<int>(hundredth_of(100'000, 100));
    pilfer::pool pool(with_workers());
    relay r(pool);
    r.run(hops); // now stacks and lists exist
    const auto before = allocations();
    r.run(hops);
    if (counts_allocations && GetParam() == 1) { // any other worker may run its first task only now
        EXPECT_EQ(allocations(), before);
    }
    pool.shutdown();
}

} // namespace
