// join, scopes, async and pool::run call the library's functions, also when the functors' namespace has
// greedy templates of the same names.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "support/harness.hpp"
#include "support/hijack.hpp"

namespace greedy {

/// A result type of the same namespace. Its address is known to std::addressof alone.
struct number {
    int value;
    void operator&() const = delete;
};
struct give {
    int value;
    number operator()() const { return {value}; }
    void operator&() const = delete;
};
struct twice {
    number operator()(const number& n) const { return {2 * n.value}; }
};
struct add {
    number operator()(const number& a, const number& b) const { return {a.value + b.value}; }
};
struct positive {
    bool operator()(const number& n) const { return n.value > 0; }
};
struct set_event {
    pilfer::event* done;
    void operator()() const { done->set(); }
    void operator&() const = delete;
};
// More specialised than the library's templates, so that these would win even if the greedy ones lose.
number invoke_regular(give&) = delete;
number run_last(give&) = delete;
template <class Spark>
number run_first(give&, Spark&) = delete;
template <class Worker>
void join_two(Worker, give&, give&) = delete;
template <class Worker, class... Others>
void join_all(Worker, give&, Others&...) = delete;
template <class Spark>
void join_announced(give&, Spark&) = delete;
template <template <class> class Spark>
std::uintptr_t address_again(Spark<give>&) = delete;
/// Too large for the place that holds small closures by value.
struct give_large {
    int values[64];
    number operator()() const { return {values[63]}; }
};
struct give_reference {
    number* target;
    number& operator()() const { return *target; }
};
struct give_error {
    number operator()() const { throw std::runtime_error("asked for"); }
};
struct count_one {
    std::atomic<int>* count;
    void operator()() const { count->fetch_add(1); }
};
/// Neither copied by plain stores nor small.
struct count_shared {
    std::shared_ptr<std::atomic<int>> count;
    char padding[200];
    void operator()() const { count->fetch_add(1); }
};

} // namespace greedy

namespace {

using namespace support;

class join_adl : public over_workers {};

TEST_P(join_adl, join) {
    pilfer::pool pool(with_workers());
    greedy::number n{7};
    greedy::give_large large{};
    large.values[63] = 3;
    const auto all = pool.run([&] {
        return pilfer::join(greedy::give{1}, greedy::give{2}, large,
                            greedy::give_reference{std::addressof(n)});
    });
    EXPECT_EQ(std::get<0>(all).value, 1);
    EXPECT_EQ(std::get<1>(all).value, 2);
    EXPECT_EQ(std::get<2>(all).value, 3);
    EXPECT_EQ(std::addressof(std::get<3>(all)), std::addressof(n));
}

TEST_P(join_adl, join_that_throws) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        EXPECT_THROW((void)pilfer::join(greedy::give_error{}, greedy::give{2}), std::runtime_error);
        EXPECT_THROW((void)pilfer::join(greedy::give{1}, greedy::give_error{}), std::runtime_error);
    });
}

TEST_P(join_adl, run_and_async) {
    pilfer::pool pool(with_workers());
    EXPECT_EQ(pool.run(greedy::give{4}).value, 4);
    EXPECT_EQ(pool.async(greedy::give{5}).get().value, 5);
    EXPECT_EQ(pool.run([] { return pilfer::async(greedy::give{6}).take().value; }), 6);
}

TEST_P(join_adl, timers_and_subscriptions) {
    pilfer::pool pool(with_workers());
    pilfer::event first;
    pilfer::event second;
    pilfer::subscription linked = pilfer::on(pool, first, greedy::set_event{&second});
    (void)pilfer::after(pool, std::chrono::milliseconds(0), greedy::set_event{&first});
    second.wait();
    (void)linked.cancel();
    while (!linked.over()) {
        std::this_thread::yield();
    }
}

TEST_P(join_adl, followers_channels_and_objects) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        auto doubled = pilfer::async(greedy::give{6}).then(greedy::twice{});
        EXPECT_EQ(doubled.get().value, 12);
        pilfer::channel<greedy::number> c(2);
        EXPECT_TRUE(c.send({3}));
        EXPECT_EQ(c.receive()->value, 3);
        pilfer::synchronized<greedy::number> a(greedy::number{1});
        pilfer::synchronized<greedy::number> b(greedy::number{2});
        EXPECT_EQ(pilfer::call_all(greedy::add{}, a, b).value, 3);
        pilfer::monitor<greedy::number> m(greedy::number{5});
        EXPECT_EQ(m.call_when(greedy::positive{}, greedy::twice{}).value, 10);
    });
}

TEST_P(join_adl, scope) {
    pilfer::pool pool(with_workers());
    std::atomic<int> count{0};
    auto shared = std::make_shared<std::atomic<int>>(0);
    pool.run([&] {
        pilfer::scope s;
        for (int i = 0; i < 100; ++i) {
            s.spawn(greedy::count_one{&count});
            s.fork(greedy::count_one{&count});
            s.spawn(greedy::count_shared{shared, {}});
            s.fork(greedy::count_shared{shared, {}});
        }
        s.sync();
    });
    EXPECT_EQ(count, 200);
    EXPECT_EQ(*shared, 200);
}

TEST(join_adl_outside, outside_a_pool) {
    std::atomic<int> count{0};
    EXPECT_EQ(std::get<1>(pilfer::join(greedy::give{1}, greedy::give{2})).value, 2);
    pilfer::scope s;
    s.fork(greedy::count_one{&count});
    s.sync();
    EXPECT_EQ(count, 1);
}

PILFER_OVER_WORKERS(join_adl);

} // namespace
