// How late timers, descriptors and deadlines are while every worker computes a tree without end.
#include "masters/masters.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace bench::masters {
namespace {

using namespace std::chrono_literals;

struct busy {
    std::atomic<bool> stop{false};

    // NOLINTNEXTLINE(misc-no-recursion)
    long joins(int depth) {
        if (depth == 0 || stop.load(std::memory_order_relaxed))
            return 1;
        const auto [a, b] =
            pilfer::join([=, this] { return joins(depth - 1); }, [=, this] { return joins(depth - 1); });
        return a + b;
    }
    // NOLINTNEXTLINE(misc-no-recursion)
    long forks(int depth) {
        if (depth == 0 || stop.load(std::memory_order_relaxed))
            return 1;
        long a = 0;
        pilfer::scope s;
        s.fork([&] { a = forks(depth - 1); });
        const long b = forks(depth - 1);
        s.sync();
        return a + b;
    }
};

void print(const char* name, const char* where, bool by_join, const std::vector<double>& late) {
    std::printf("%-22s %-6s %-5s %10.0f %10.0f %10.0f\n", name, where, by_join ? "join" : "fork",
                median(late), quantile(late, 0.99), *std::max_element(late.begin(), late.end()));
}

/// Endless trees on all workers; `measure(pool, late)` appends microseconds, on a thread outside.
template <class Measure>
void figure(const setting& s, const char* name, Measure measure) {
    for (const bool by_join : {true, false}) {
        std::vector<double> late;
        busy tree;
        pilfer::pool pool({.workers = s.workers});
        std::vector<pilfer::future<long>> trees;
        for (unsigned i = 0; i < s.workers; ++i)
            trees.push_back(pool.async([&, by_join] { return by_join ? tree.joins(60) : tree.forks(60); }));
        const unsigned rounds = s.tiny ? 3 : 20 * s.repeat;
        for (unsigned i = 0; i < rounds; ++i)
            measure(pool, late);
        tree.stop = true;
        for (auto& t : trees)
            t.get();
        print(name, "beside", by_join, late);
    }
}

constexpr auto wait = 5ms;

/// The number of the timekeeper's sleeps, from the kernel's counts of its thread; 0 if there is none.
std::uint64_t sleeps_of_timekeeper() {
    std::uint64_t sum = 0;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(thread.path() / "comm"), name);
        if (name != "pilfer/time")
            continue;
        std::ifstream status(thread.path() / "status");
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("voluntary_ctxt_switches:"))
                sum += std::stoull(line.substr(line.find(':') + 1));
    }
    return sum;
}

/// The timekeeper's wake-ups with `busy_workers` busy workers, and with the alarms that `arm` sets.
template <class Arm>
void wake_ups(const setting& s, const char* name, unsigned busy_workers, Arm arm) {
    busy tree;
    pilfer::pool pool({.workers = s.workers});
    pilfer::timer armed = arm(pool);
    std::vector<pilfer::future<void>> trees;
    for (unsigned i = 0; i < busy_workers; ++i)
        trees.push_back(pool.async([&] {
            while (!tree.stop.load(std::memory_order_relaxed))
                (void)pilfer::join([] {}, [] {});
        }));
    std::this_thread::sleep_for(100ms);
    const auto begin = clock::now();
    const auto before = sleeps_of_timekeeper();
    std::this_thread::sleep_for(s.tiny ? 10ms : 3s);
    std::printf("%-50s %10.1f\n", name,
                static_cast<double>(sleeps_of_timekeeper() - before) * 1e6 / us_since(begin));
    armed.cancel(); // else the pool's end waits for it
    tree.stop = true;
    for (auto& t : trees)
        t.get();
}

} // namespace

bool late(const setting& s) {
    std::printf("%u workers, %u rounds, us late       median       99 %%      worst\n", s.workers,
                s.tiny ? 3 : 20 * s.repeat);
    const auto beyond = [](clock::time_point begin) { return us_since(begin + wait); };
    figure(s, "sleep_for", [&](pilfer::pool& p, std::vector<double>& late) {
        late.push_back(p.run([&] {
            const auto begin = clock::now();
            pilfer::sleep_for(wait);
            return beyond(begin);
        }));
    });
    figure(s, "event.wait_for", [&](pilfer::pool& p, std::vector<double>& late) {
        late.push_back(p.run([&] {
            pilfer::event e;
            const auto begin = clock::now();
            (void)e.wait_for(wait);
            return beyond(begin);
        }));
    });
    figure(s, "after", [&](pilfer::pool& p, std::vector<double>& late) {
        pilfer::promise<double> result;
        const auto begin = clock::now();
        const auto t = pilfer::after(p, wait, [&] { result.set_value(beyond(begin)); });
        late.push_back(result.get_future().get());
        while (!t.over())
            std::this_thread::yield();
    });
    figure(s, "resume_after", [&](pilfer::pool& p, std::vector<double>& late) {
        late.push_back(p.run([](auto over) -> pilfer::task<double> {
            const auto begin = clock::now();
            co_await pilfer::resume_after(wait);
            co_return over(begin);
        }(beyond)));
    });
    int ends[2];
    if (pipe(ends) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    (void)pilfer::io::make_nonblocking(ends[0]);
    figure(s, "readable pipe", [&](pilfer::pool& p, std::vector<double>& late) {
        std::atomic<bool> waits{false};
        auto end = p.async([&] {
            waits = true;
            char c = 0;
            (void)pilfer::io::read(ends[0], &c, 1);
            return clock::now();
        });
        while (!waits)
            std::this_thread::yield();
        std::this_thread::sleep_for(wait);
        const auto begin = clock::now();
        if (write(ends[1], "x", 1) == 1)
            late.push_back(us_between(begin, end.get()));
    });
    close(ends[0]);
    close(ends[1]);
    for (const bool by_join : {true, false}) {
        std::vector<double> late;
        for (unsigned i = 0; i < (s.tiny ? 3 : 20 * s.repeat); ++i) {
            pilfer::pool pool({.workers = s.workers}); // the search keeps all of its workers busy
            late.push_back(pool.run([&] {
                busy search;
                const auto begin = clock::now();
                pilfer::scope all;
                const pilfer::deadline limit(all, wait);
                all.fork([&] { (void)(by_join ? search.joins(60) : search.forks(60)); });
                all.sync();
                return beyond(begin); // the search has left, too
            }));
        }
        print("deadline", "over", by_join, late);
    }
    std::printf("\nwake-ups of the timekeeper per second\n");
    const auto alarm = [](pilfer::pool& p) { return pilfer::after(p, 1h, [] {}); };
    const auto nothing = [](pilfer::pool&) { return pilfer::timer{}; };
    wake_ups(s, "one worker busy, the others asleep, a far alarm", 1, alarm);
    wake_ups(s, "all workers busy, nothing armed", s.workers, nothing);
    wake_ups(s, "all workers busy, a far alarm", s.workers, alarm);
    return true;
}

} // namespace bench::masters
