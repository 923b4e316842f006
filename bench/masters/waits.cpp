// A scope is cancelled in which thousands of tasks wait, and one beside them.
#include <atomic>
#include <cstdio>
#include <thread>

#include <pilfer/pilfer.hpp>

#include "masters/masters.hpp"

namespace bench::masters {
namespace {

using namespace std::chrono_literals;

/// The objects that the tasks wait for. None of them is ever set, filled or unlocked.
struct never {
    pilfer::event event;
    pilfer::promise<int> promise;
    pilfer::future<int> future = promise.get_future();
    pilfer::channel<int> channel{1};
    pilfer::monitor<int> object{0};
    pilfer::mutex mutex; // held by the canceller
};

struct count {
    std::atomic<unsigned> begun{0};
    std::atomic<unsigned> left{0};
};
struct visit {
    count& of;
    explicit visit(count& c) : of(c) { of.begun.fetch_add(1, std::memory_order_relaxed); }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    ~visit() { of.left.fetch_add(1, std::memory_order_relaxed); }
};

template <class Wait>
void begin_waits(pilfer::scope& s, unsigned n, count& c, const Wait& wait) {
    const unsigned before = c.begun.load(std::memory_order_relaxed);
    for (unsigned i = 0; i < n; ++i) {
        s.fork([&] {
            const visit v(c);
            wait();
        });
    }
    while (c.begun.load(std::memory_order_relaxed) != before + n)
        pilfer::sleep_for(1ms);
    pilfer::sleep_for(5ms); // the last ones are on their way into the wait
}

/// As many tasks that wait for an event are resumed: the time of their ends without a cancellation.
double us_of_woken(unsigned n, bool& right) {
    pilfer::event event;
    count c;
    pilfer::scope crowd;
    begin_waits(crowd, n, c, [&] { event.wait(); });
    const auto begin = clock::now();
    event.set();
    crowd.sync();
    right = right && c.left == n;
    return us_since(begin);
}

template <class Wait>
bool figure(const setting& s, const char* name, unsigned n, never& what, const Wait& wait) {
    std::vector<double> calls;
    std::vector<double> all;
    std::vector<double> beside;
    std::vector<double> woken;
    bool right = true;
    pilfer::pool pool({.workers = s.workers});
    for (unsigned round = 0; round < s.repeat; ++round) {
        pool.run([&] {
            what.mutex.lock();
            count waiting;
            count other;
            pilfer::scope crowd;
            begin_waits(crowd, n, waiting, wait);
            {
                pilfer::scope one;
                begin_waits(one, 1, other, [] { pilfer::sleep_for(1h); });
                const auto begin = clock::now();
                one.cancel();
                one.sync();
                beside.push_back(us_since(begin));
            }
            right = right && other.left == 1 && waiting.left == 0;
            const auto begin = clock::now();
            crowd.cancel();
            calls.push_back(us_since(begin));
            crowd.sync();
            all.push_back(us_since(begin));
            right = right && waiting.begun == n && waiting.left == n;
            what.mutex.unlock();
            woken.push_back(us_of_woken(n, right));
        });
    }
    std::printf("%6u %-24s %12.0f %14.0f %12.1f %10.2f %20.1f\n", n, name, median(calls), median(all),
                1000 * median(all) / n, median(all) / median(woken), median(beside));
    return right;
}

} // namespace

bool waits(const setting& s) {
    std::printf("%u workers, medians of %u rounds\n", s.workers, s.repeat);
    std::printf("tasks wait for a              cancel(), us  all left, us  ns per task   / woken  one beside "
                "them, us\n");
    never what;
    bool right = true;
    const unsigned sizes[] = {100, 1000, 10'000};
    for (const unsigned n : sizes) {
        if (!s.tiny || n == sizes[0])
            right = figure(s, "time (sleep_for)", n, what, [] { pilfer::sleep_for(1h); }) && right;
    }
    const unsigned n = s.tiny ? 100 : 10'000;
    right = figure(s, "event", n, what, [&] { what.event.wait(); }) && right;
    right = figure(s, "future", n, what, [&] { (void)what.future.get(); }) && right;
    right = figure(s, "channel", n, what, [&] { (void)what.channel.receive(); }) && right;
    right = figure(s, "condition of a call", n, what,
                   [&] { what.object.call_when([](int v) { return v != 0; }, [](int&) {}); }) &&
            right;
    return figure(s, "mutex (cancellable)", n, what, [&] { what.mutex.lock_cancellable(); }) && right;
}

} // namespace bench::masters
