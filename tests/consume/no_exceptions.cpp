// A program without exceptions and type information: its calls work, and an error that would be thrown ends
// it with a text. `no_exceptions` runs; `no_exceptions WHAT` makes the error WHAT.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <pilfer/pilfer.hpp>

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "this program is compiled with -fno-exceptions -fno-rtti"
#endif

namespace {

long fib(long n) {
    if (n < 2) {
        return n;
    }
    auto [a, b] = pilfer::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

long fib_spawn(long n) {
    if (n < 2) {
        return n;
    }
    long a = 0;
    pilfer::scope s;
    s.spawn([&, n] { a = fib_spawn(n - 1); });
    const long b = fib_spawn(n - 2);
    s.sync();
    return a + b;
}

pilfer::task<int> twice(int n) {
    co_return co_await pilfer::async([n] { return n; }) + n;
}

bool works() {
    pilfer::pool pool({.workers = 2});
    bool good = pool.run([] { return fib(15) == 610 && fib_spawn(12) == 144; });
    std::atomic<long> sum{0};
    pool.run([&] {
        pilfer::scope s;
        for (int i = 0; i < 100; ++i) {
            s.fork([&sum, i] { sum += i; });
        }
        s.sync();
        pilfer::for_each(0, 1'000, [&](int i) { sum += i; });
        sum += pilfer::reduce(
            0, 101, 0L, [](int i) { return long{i}; }, [](long a, long b) { return a + b; });
    });
    good = good && sum == 4'950 + 499'500 + 5'050;
    // Move-only values, references, continuations, several.
    auto text = pool.async([] { return std::make_unique<std::string>("text"); });
    good = good && *text.take() == "text";
    pilfer::promise<int> p;
    auto f = p.get_future().then([](const int& n) { return n + 1; });
    p.set_value(41);
    good = good && f.get() == 42;
    std::vector<pilfer::future<int>> all{pool.async([] { return 1; }), pool.async([] { return 2; })};
    pilfer::when_all(std::move(all)).wait();
    // Locks, channels, objects, time.
    pilfer::mutex m;
    pilfer::condition_variable changed;
    pilfer::channel<int> c(1);
    pilfer::synchronized<int> number(0);
    pilfer::monitor<int> queue(0);
    pool.run([&] {
        pilfer::scope s;
        s.fork([&] {
            const std::lock_guard hold(m);
            number.call([](int& n) { n += 1; });
            queue.call([](int& n) { n += 1; });
            (void)c.send(7);
        });
        good = good && c.receive() == 7;
        queue.call_when([](const int& n) { return n == 1; }, [](int& n) { n = 0; });
        pilfer::sleep_for(std::chrono::milliseconds(1));
        good = good && pilfer::blocking([] { return 5; }) == 5;
        s.sync();
    });
    good = good && number.call([](int& n) { return n; }) == 1 && pool.run(twice(21)) == 42;
    pool.submit(pilfer::named("the last one", [&] { sum = 1; }));
    pool.shutdown();
    return good && sum == 1;
}

void goes_wrong(const char* what) {
    if (std::strcmp(what, "closed") == 0) {
        pilfer::pool pool({.workers = 1});
        pool.shutdown();
        pool.run([] {}); // thrown by the library
    } else if (std::strcmp(what, "empty") == 0) {
        const pilfer::future<int> none;
        none.wait(); // thrown by a header
    } else if (std::strcmp(what, "option") == 0) {
        const pilfer::pool pool({.workers = 5'000});
    } else if (std::strcmp(what, "in-task") == 0) {
        pilfer::pool other({.workers = 1});
        other.shutdown();
        pilfer::pool pool({.workers = 1});
        pool.run([&] { other.run([] {}); });
    } else if (std::strcmp(what, "stopped") == 0) {
        pilfer::pool pool({.workers = 1});
        pool.run([] {
            pilfer::scope s;
            s.spawn([&] {
                s.cancel();
                (void)fib(5); // a stopped task must ask cancelled(), and announce no more
            });
        });
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1) {
        goes_wrong(argv[1]);
        std::puts("nothing happened");
        return 1;
    }
    std::puts(works() ? "consumed 42 and 55" : "wrong");
}
