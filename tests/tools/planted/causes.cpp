// Programs with planted causes, for the tests of `pilfer profile`, `view` and `whatif`. They are compiled by
// every compiler at hand, with and without debug information. The comment `HERE: name` marks the line that
// must come first. They compute by the CPU's time, so that other programs on the machine change little.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <mutex>
#include <utility>

#include <pilfer/pilfer.hpp>

namespace {

[[nodiscard]] std::uint64_t cpu_ns() {
    std::timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}
[[gnu::noinline]] void compute(std::uint64_t us) {
    for (const std::uint64_t end = cpu_ns() + us * 1'000; cpu_ns() < end;) {
    }
}

/// Work that is as parallel as can be.
[[gnu::noinline]] void healthy() {
    pilfer::scope s;
    for (int i = 0; i < 40; ++i) {
        s.fork([] { compute(250); });
    }
    s.sync();
}

void serial() {
    healthy();
    pilfer::scope s;
    s.fork([] { compute(100); });
    s.sync(); // HERE: serial
    compute(20'000);
}

[[gnu::noinline]] int leaves(int depth) {
    if (depth == 0) {
        return 1;
    }
    const auto less = [depth] { return leaves(depth - 1); };
    const auto [a, b] = pilfer::join(less, less); // HERE: tiny
    return a + b;
}
void tiny() {
    pilfer::scope s;
    s.fork([] { compute(100); });
    s.sync();
    (void)leaves(13);
}

void lock() {
    pilfer::mutex other;
    pilfer::mutex wanted;
    pilfer::scope s;
    for (int i = 0; i < 30; ++i) {
        s.fork([&] {
            { const std::lock_guard held(other); }
            compute(20);
            const std::lock_guard held(wanted); // HERE: lock
            compute(1'000);
        });
    }
    s.sync();
}

void future() {
    healthy();
    auto slow = pilfer::async([] { compute(20'000); }); // HERE: future
    auto quick = pilfer::async([] { compute(100); });
    quick.get();
    slow.get(); // HERE: get
}

void unbalanced() {
    healthy();
    pilfer::for_each(0, 40, [](int i) { compute(i == 7 ? 20'000 : 50); }); // HERE: unbalanced
}

/// Other ways to run things at once, each with work of its own.
void kinds() {
    healthy();
    pilfer::scope s;
    s.spawn([] { compute(3'000); }); // HERE: spawn
    s.sync();
    pilfer::graph g;
    auto first = g.task([] { compute(1'000); });
    (void)g.task([] { compute(2'000); }, first);
    g.run(); // HERE: graph
    const auto value = [](long i) {
        compute(100);
        return i;
    };
    (void)pilfer::reduce(0, 30, 0L, value, std::plus<>{}); // HERE: reduce
}

/// A parent computes between its forks, and its tasks do next to nothing.
void parent() {
    pilfer::scope s;
    for (int i = 0; i < 200; ++i) {
        s.fork([] {}); // HERE: parent
        compute(20);
    }
    s.sync();
}

/// A loop is split so often that its recursion is deeper than a recording looks at.
void deep() {
    compute(1'000);
    pilfer::for_each(0, 10'000, [](int) { compute(5); }); // HERE: deep
}

void channel() {
    pilfer::channel<int> c(1);
    pilfer::scope s;
    s.fork([&c] {
        compute(20'000);
        (void)c.send(1);
    });
    compute(2'000);    // until the other worker has taken the task
    (void)c.receive(); // HERE: channel
    s.sync();
}

/// The first task holds a lock until all others want it, and then computes. The counts are the same on any
/// machine.
void held() {
    constexpr int others = 10;
    pilfer::mutex wanted;
    const pilfer::object_name name(wanted, "the table");
    pilfer::event taken;
    pilfer::latch all_want(others);
    pilfer::scope s;
    s.fork([&] {
        const std::lock_guard held(wanted);
        taken.set();
        all_want.wait(); // HERE: latch
        compute(5'000);
    });
    for (int i = 0; i < others; ++i) {
        s.fork([&] {
            taken.wait(); // HERE: event
            all_want.count_down();
            const std::lock_guard held(wanted); // HERE: held
        });
    }
    s.sync();
}

} // namespace

int main(int count, char** words) {
    const char* const name = count > 1 ? words[1] : "";
    constexpr std::pair<const char*, void (*)()> all[] = {
        {"serial", serial},         {"tiny", tiny},   {"lock", lock},       {"future", future},
        {"unbalanced", unbalanced}, {"kinds", kinds}, {"channel", channel}, {"held", held},
        {"parent", parent},         {"deep", deep}};
    for (const auto& [known, f] : all) {
        if (std::strcmp(known, name) == 0) {
            pilfer::options o;
            o.workers = 2;
            pilfer::pool pool(o);
            pool.run(f);
            return 0;
        }
    }
    std::fprintf(stderr, "no such program: '%s'\n", name);
    return 2;
}
