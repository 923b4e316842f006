// Each constant of the model, measured with the runtime as users get it.
#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <fstream>
#include <thread>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/deque/deque.hpp>
#include <pilfer/pilfer.hpp>

#include "measure.hpp"

namespace measure {
namespace {

[[gnu::noinline]] void work() { asm volatile(""); }

/// The lower decile. Other programs and interrupts only ever add, and they add a thousand times the measured
/// time.
[[nodiscard]] double undisturbed(std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 10];
}

void spin_for(double ns) {
    for (const auto begin = wall_clock::now(); ns_since(begin) < ns;) {
    }
}

[[nodiscard]] pilfer::options with(unsigned workers, pilfer::exposure exposure) {
    pilfer::options o;
    o.workers = workers;
    o.balance.exposure = exposure;
    return o;
}

constexpr unsigned many = 10'000;

/// Nanoseconds of one call, of `many` in a row, on a pool of one worker.
template <class F>
[[nodiscard]] double each_of_many(pilfer::pool& pool, F f) {
    return pool.run([&f] {
        const auto begin = wall_clock::now();
        for (unsigned i = 0; i < many; ++i) {
            f();
        }
        return ns_since(begin) / many;
    });
}

/// A child that is announced, and popped by the sync; its call is not counted.
[[nodiscard]] double spawn(pilfer::pool& pool) {
    return pool.run([] {
        const auto begin = wall_clock::now();
        for (unsigned i = 0; i < many / 100; ++i) {
            pilfer::scope s;
            for (unsigned k = 0; k < 100; ++k) {
                s.fork(work);
            }
            s.sync();
        }
        return ns_since(begin) / many;
    });
}

/// A spawned child costs a switch to its stack and one back.
[[nodiscard]] double context_switch(pilfer::pool& pool) {
    return each_of_many(pool,
                        [] {
                            pilfer::scope s;
                            s.spawn(work);
                            s.sync();
                        }) /
           2;
}

[[nodiscard]] double join(pilfer::pool& pool) {
    return each_of_many(pool, [] { pilfer::join(work, work); });
}

/// One round of a search that finds nothing: eight pauses and a look at lines that no thread has written.
[[nodiscard]] double steal_miss() {
    std::atomic<unsigned> word{0};
    const auto begin = wall_clock::now();
    for (unsigned i = 0; i < many; ++i) {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        (void)word.load(std::memory_order_acquire);
        for (unsigned k = 0; k < 8; ++k) {
            pilfer::detail::cpu_relax();
        }
    }
    return ns_since(begin) / many;
}

/// On the k-th CPU that this process may use. A thread that is woken on its waker's CPU would run in the
/// middle of the measurement.
void stay_on(unsigned k) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    (void)sched_getaffinity(getpid(), sizeof mask, &mask);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &mask) && k-- == 0) {
            CPU_ZERO(&mask);
            CPU_SET(cpu, &mask);
            (void)sched_setaffinity(0, sizeof mask, &mask);
            return;
        }
    }
}

struct offered {
    double call;  // of the announcement
    double whole; // until the other worker runs the child
};

/// One child offered by a worker that keeps forking, as a busy program does.
[[nodiscard]] offered offer_to_other() {
    std::atomic<bool> started{false};
    double whole = 0;
    pilfer::scope s;
    const auto begin = wall_clock::now();
    s.fork([&] {
        whole = ns_since(begin);
        stay_on(1);
        started.store(true, std::memory_order_release);
    });
    const double call = ns_since(begin);
    while (!started.load(std::memory_order_acquire)) {
        pilfer::join([] {}, [] {});
    }
    s.sync();
    return {call, whole};
}

struct theft {
    double hit, wake_call, wake_and_hit;
};

[[nodiscard]] theft offers(pilfer::pool& pool) {
    return pool.run([] {
        stay_on(0);
        (void)offer_to_other(); // there the other one finds its place
        std::vector<double> hits;
        std::vector<double> calls;
        std::vector<double> wakes;
        for (unsigned i = 0; i < 11; ++i) {
            spin_for(300'000); // longer than an idle worker searches before it sleeps
            const offered asleep = offer_to_other();
            calls.push_back(asleep.call);
            wakes.push_back(asleep.whole);
            hits.push_back(offer_to_other().whole); // it has just been up
        }
        return theft{undisturbed(hits), undisturbed(calls), undisturbed(wakes)};
    });
}

/// Another thread, which answers each change of a word.
class echo {
public:
    /// The time that a line takes from one core to another.
    [[nodiscard]] double one_way() {
        std::vector<double> all;
        for (unsigned k = 0; k < 60; ++k) {
            const auto begin = wall_clock::now();
            for (unsigned i = 0; i < 20; ++i) {
                const unsigned now = m_word.load(std::memory_order_relaxed);
                m_word.store(now + 1, std::memory_order_release);
                while (m_word.load(std::memory_order_acquire) != now + 2) {
                }
            }
            all.push_back(ns_since(begin) / 40);
        }
        return undisturbed(all);
    }
    /// With a thread that runs on the other CPU, as in a pool that computes.
    [[nodiscard]] double heavy_fence() {
        std::vector<double> all;
        for (unsigned k = 0; k < 60; ++k) {
            const auto begin = wall_clock::now();
            pilfer::detail::heavy_fence();
            all.push_back(ns_since(begin));
        }
        return undisturbed(all);
    }
    echo()
        : m_thread([this] {
              stay_on(1);
              answer();
          }) {}
    echo(const echo&) = delete;
    echo& operator=(const echo&) = delete;
    ~echo() {
        m_stop.store(true, std::memory_order_relaxed);
        m_thread.join();
    }

private:
    void answer() {
        while (!m_stop.load(std::memory_order_relaxed)) {
            const unsigned now = m_word.load(std::memory_order_acquire);
            if (now % 2 == 1) {
                m_word.store(now + 1, std::memory_order_release);
            }
        }
    }
    alignas(128) std::atomic<unsigned> m_word{0};
    alignas(128) std::atomic<bool> m_stop{false};
    std::thread m_thread;
};

/// A row of thefts from a deque that another thread has filled, each pushed on an own deque.
[[nodiscard]] double steal_more() {
    using atom = pilfer::detail::std_atom;
    using ring = pilfer::detail::ring<atom>;
    using deque = pilfer::detail::split_deque<atom>;
    constexpr std::int64_t capacity = 1'024;
    constexpr unsigned tasks = 512;
    std::vector<ring::slot> from_slots(capacity);
    std::vector<ring::slot> to_slots(capacity);
    ring from_ring{capacity - 1, nullptr, from_slots.data()};
    ring to_ring{capacity - 1, nullptr, to_slots.data()};
    deque from(&from_ring, false);
    deque to(&to_ring, false);
    std::thread([&from] {
        for (unsigned i = 0; i < tasks; ++i) {
            (void)from.owner().push(64 * (i + 1));
        }
        (void)from.owner().expose(tasks);
    }).join();
    auto thief = from.thief();
    auto own = to.owner();
    const auto begin = wall_clock::now();
    for (unsigned i = 0; i < tasks; ++i) {
        const auto got = thief.steal([](pilfer::detail::task_word) { return true; });
        (void)own.push(got.task);
    }
    return ns_since(begin) / tasks;
}

[[nodiscard]] std::string machine_name() {
    std::string model = "unknown CPU";
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        if (line.starts_with("model name")) {
            model = line.substr(line.find(':') + 2);
            break;
        }
    }
    utsname name{};
    (void)uname(&name);
    return fmt::format("{}, {} CPUs, {} {}", model, std::thread::hardware_concurrency(), name.sysname,
                       name.release);
}

} // namespace

study::costs calibrate(unsigned rounds) {
    pilfer::pool alone(with(1, pilfer::exposure::on_demand));
    pilfer::pool alone_public(with(1, pilfer::exposure::always_public));
    pilfer::pool pair(with(2, pilfer::exposure::on_demand));
    std::array<std::vector<double>, 10> all;
    for (unsigned r = 0; r < rounds; ++r) {
        all[0].push_back(spawn(alone));
        const double quick = join(alone);
        all[1].push_back(std::max(join(alone_public) - quick, 0.0));
        const theft t = offers(pair);
        all[2].push_back(t.hit);
        all[3].push_back(steal_miss());
        all[4].push_back(steal_more());
        all[5].push_back(t.wake_call);
        all[6].push_back(std::max(t.wake_and_hit - t.hit, 0.0));
        all[7].push_back(context_switch(alone));
        std::thread([&all] {
            stay_on(0);
            echo other;
            all[8].push_back(other.one_way());
            all[9].push_back(other.heavy_fence());
        }).join();
    }
    study::costs c;
    std::array<double*, 10> to = {&c.spawn,       &c.slow_path, &c.steal_hit,    &c.steal_miss,
                                  &c.steal_more,  &c.wake_call, &c.wake_latency, &c.context_switch,
                                  &c.remote_line, &c.reach};
    for (std::size_t i = 0; i < to.size(); ++i) {
        const double value = median(all[i]);
        // Three digits: more of them would be noise.
        const double parts = value < 100 ? 10 : (value < 1'000 ? 1 : 0.1);
        *to[i] = std::round(value * parts) / parts;
    }
    c.machine = machine_name();
    return c;
}

} // namespace measure
