// Coroutines: tasks that wait without a stack.
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include <pilfer/pilfer.hpp>

using namespace std::chrono_literals;

namespace {

pilfer::task<int> half(int n) {
    if (n % 2 != 0) {
        throw std::invalid_argument("odd");
    }
    co_return n / 2;
}

// Parameters are kept in the frame: by value, or outliving the task.
pilfer::task<int> answer(pilfer::pool& pool) {
    const pilfer::future<int> early = pool.async([] { return 84; });
    co_await pilfer::resume_after(1ms); // no thread and no stack waits
    const int n = co_await early;
    co_await pool.schedule(); // lets others pass
    co_return co_await half(n);
}

pilfer::task<std::unique_ptr<int>> boxed(int n) { co_return std::make_unique<int>(co_await half(n)); }

pilfer::task<int> first_to(pilfer::pool& there, int n) {
    co_await there.schedule(); // resumes as a task of that pool
    co_return n + 1;
}

pilfer::task<long> counts(pilfer::pool& pool) {
    std::vector<pilfer::future<int>> parts;
    for (int i = 0; i < 1000; ++i) {
        parts.push_back(pool.async(half(2 * i))); // beside this one
    }
    long sum = 0;
    for (const auto& part : co_await pilfer::when_all(parts.begin(), parts.end())) {
        sum += co_await part;
    }
    co_return sum;
}

pilfer::task<> count_to(pilfer::channel<int>& numbers, int last) {
    for (int i = 1; i <= last; ++i) {
        (void)co_await pilfer::send(numbers, i); // no stack waits for room
    }
    numbers.close();
}

pilfer::task<int> add_up(pilfer::channel<int>& numbers) {
    int sum = 0;
    while (const auto n = co_await pilfer::receive(numbers)) {
        sum += *n;
    }
    co_return sum;
}

// Sums the requests until it is stopped. The frames of a stopped coroutine end like those of a function.
pilfer::task<> serve(pilfer::channel<int>& requests, int& sum, bool& left) {
    const struct at_end {
        bool& left;
        ~at_end() { left = true; }
    } end{left};
    while (const auto n = co_await pilfer::receive(requests)) {
        sum += *n;
    }
}

struct account {
    pilfer::mutex mutex;
    pilfer::condition_variable paid_in;
    long balance = 0;
};

// The lock stays held while the coroutine waits, and ends on whatever thread it goes on.
pilfer::task<> pay_in(account& a, long amount) {
    const auto guard = co_await pilfer::scoped_lock(a.mutex);
    const long before = a.balance;
    co_await pilfer::resume_after(10us);
    a.balance = before + amount; // no other payment has come between
    a.paid_in.notify_all();
}

pilfer::task<long> take_out(account& a, long amount) {
    auto guard = co_await pilfer::scoped_lock(a.mutex);
    while (a.balance < amount) {
        co_await pilfer::wait(a.paid_in, guard);
    }
    co_return a.balance -= amount;
}

// Objects that are reached by calls: the second one waits until there is something to take.
pilfer::task<> store(pilfer::monitor<std::vector<int>>& shelf, int n) {
    co_await pilfer::call(shelf, [n](std::vector<int>& v) { v.push_back(n); });
}
pilfer::task<int> fetch(pilfer::monitor<std::vector<int>>& shelf) {
    co_return co_await pilfer::call_when(
        shelf, [](const std::vector<int>& v) { return !v.empty(); },
        [](std::vector<int>& v) {
            const int last = v.back();
            v.pop_back();
            return last;
        });
}

// Both accounts at once. No two transfers wait for each other.
using funds = pilfer::synchronized<long>;
pilfer::task<long> transfer(funds& from, funds& to, long amount) {
    co_return co_await pilfer::call_all(std::tie(from, to), [amount](long& less, long& more) {
        less -= amount;
        return more += amount;
    });
}

// Steps of a simulation: a barrier separates them, and its completion runs once for each. No stack waits.
struct one_step {
    int* steps;
    void operator()() const noexcept { ++*steps; }
};
pilfer::task<> simulates(pilfer::barrier<one_step>& all, pilfer::latch& done, int steps) {
    for (int i = 0; i < steps; ++i) {
        co_await pilfer::arrive_and_wait(all);
    }
    done.count_down();
}

// Waits with a time limit: the lock owns nothing if the time was over first.
pilfer::task<bool> try_pay_in(account& a, long amount, std::chrono::milliseconds limit) {
    const auto guard = co_await pilfer::try_scoped_lock_for(a.mutex, limit);
    if (guard.owns_lock()) {
        a.balance += amount;
        a.paid_in.notify_all();
    }
    co_return guard.owns_lock();
}

// The next number, or -1 if none comes in time.
pilfer::task<int> next_within(pilfer::channel<int>& numbers, std::chrono::milliseconds limit) {
    const auto n = co_await pilfer::try_receive_for(numbers, limit);
    co_return n.value_or(-1);
}

} // namespace

int main() {
    pilfer::pool pool;
    std::printf("answer: %d\n", pool.run(answer(pool)));
    std::printf("box: %d\n", *pool.run(boxed(14)));
    try {
        (void)pool.run(boxed(15));
    } catch (const std::invalid_argument& e) {
        std::printf("run threw: %s\n", e.what());
    }

    pilfer::pool other;
    std::printf("from the other pool: %d\n", pool.run(first_to(other, 1)));
    std::printf("sum: %ld\n", pool.run(counts(pool)));

    // Tasks and coroutines wait for each other.
    const auto later = pool.async(answer(pool)).then([](int n) { return n + 1; });
    std::printf("later: %d\n", pool.run([&] { return later.get(); }));

    pilfer::channel<int> numbers(4);
    pool.submit(count_to(numbers, 100));
    std::printf("received: %d\n", pool.run(add_up(numbers)));

    // Locks and objects.
    account shared;
    const auto left_over = pool.async(take_out(shared, 100));
    for (int i = 0; i < 10; ++i) {
        pool.submit(pay_in(shared, 10));
    }
    std::printf("balance: %ld\n", left_over.get());
    pilfer::monitor<std::vector<int>> shelf;
    const auto fetched = pool.async(fetch(shelf));
    pool.run(store(shelf, 17));
    std::printf("fetched: %d\n", fetched.get());

    shared.mutex.lock();
    std::printf("paid in: %d\n", pool.run(try_pay_in(shared, 10, 1ms)) ? 1 : 0);
    shared.mutex.unlock();
    std::printf("paid in: %d\n", pool.run(try_pay_in(shared, 10, 1h)) ? 1 : 0);

    funds mine(70L);
    funds yours(30L);
    const auto back = pool.async(transfer(yours, mine, 30));
    (void)pool.run(transfer(mine, yours, 30));
    (void)back.get();
    std::printf("moved, and moved back: %ld\n", mine.read([](long n) { return n; }));

    pilfer::channel<int> late(1);
    std::printf("nothing came: %d\n", pool.run(next_within(late, 1ms)));
    pilfer::after(pool, 1ms, [&] { (void)late.send(5); });
    std::printf("in time: %d\n", pool.run(next_within(late, 1h)));

    // Latches and barriers.
    int steps = 0;
    pilfer::barrier<one_step> all(100, one_step{&steps});
    pilfer::latch done(100);
    for (int i = 0; i < 100; ++i) {
        pool.submit(simulates(all, done, 10));
    }
    pool.run([](const pilfer::latch& l) -> pilfer::task<> { co_await pilfer::wait(l); }(done));
    std::printf("steps: %d\n", steps);

    // A scope that is cancelled takes the coroutines that its tasks run out of their waits.
    int sum = 0;
    bool left = false;
    pool.run([&] {
        pilfer::channel<int> requests(0);
        pilfer::scope s;
        s.fork([&] {
            pool.run(serve(requests, sum, left));
            std::puts("never printed: serve() leaves by pilfer::stopped");
        });
        s.fork([&] {
            for (const int n : {20, 22}) {
                (void)requests.send(n);
            }
            s.cancel();
        });
        s.sync();
    });
    std::printf("served until it was stopped: %d, %s\n", sum, left ? "left" : "still there");

    // Only the end of the pool waits for this one.
    int written = 0;
    pool.submit([](int& out) -> pilfer::task<> {
        co_await pilfer::resume_after(1ms);
        out = 1;
    }(written));
    pool.shutdown();
    std::printf("written: %d\n", written);
}
