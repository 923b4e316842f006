// Where the time of an empty loop on two workers goes: the steps between its call and its return, for
// for_each, loop_team and OpenMP. Each body notes the time and its thread; a step is a difference of such
// times.
//
// Arguments: loops, and microseconds between two loops (0: none). Prints medians in nanoseconds.
#include <omp.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace {

constexpr std::size_t bodies = 64;

[[nodiscard]] std::int64_t now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

[[nodiscard]] unsigned thread_number() {
    static std::atomic<unsigned> threads{0};
    thread_local const unsigned mine = threads.fetch_add(1);
    return mine;
}

/// The notes of one loop.
struct loop_notes {
    std::array<std::int64_t, bodies> at{};
    std::array<unsigned, bodies> by{};
    void note(std::size_t i) {
        at[i] = now();
        by[i] = thread_number();
    }
};

/// The steps of all loops so far, each a list of times.
struct step_times {
    std::vector<std::int64_t> own, other, last, returns, whole, alone;
    std::size_t moved = 0; ///< loops that returned on another thread

    void add(const loop_notes& n, unsigned caller, std::int64_t begin, std::int64_t end) {
        constexpr std::int64_t none = INT64_MAX;
        std::int64_t first_own = none;
        std::int64_t first_other = none;
        for (std::size_t i = 0; i < bodies; ++i) {
            std::int64_t& first = n.by[i] == caller ? first_own : first_other;
            first = std::min(first, n.at[i]);
        }
        if (first_own == none || first_other == none) {
            alone.push_back(end - begin);
            return;
        }
        const std::int64_t latest = *std::max_element(n.at.begin(), n.at.end());
        own.push_back(first_own - begin);
        other.push_back(first_other - begin);
        last.push_back(latest - begin);
        returns.push_back(end - latest);
        whole.push_back(end - begin);
    }
};

[[nodiscard]] std::string median(std::vector<std::int64_t>& times) {
    if (times.empty()) {
        return "-";
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return std::to_string(*middle);
}

void print(const char* name, step_times& s) {
    const std::size_t both = s.whole.size();
    const std::size_t all = both + s.alone.size();
    std::printf("%-10s | %9s | %9s | %9s | %9s | %9s | %9s | %5.0f %% | %3.0f %%\n", name,
                median(s.own).c_str(), median(s.other).c_str(), median(s.last).c_str(),
                median(s.returns).c_str(), median(s.whole).c_str(), median(s.alone).c_str(),
                100.0 * static_cast<double>(both) / static_cast<double>(all),
                100.0 * static_cast<double>(s.moved) / static_cast<double>(all));
}

void busy_for(std::int64_t nanoseconds) {
    const std::int64_t end = now() + nanoseconds;
    while (nanoseconds != 0 && now() < end) {
    }
}

/// The form of the output.
struct report {
    std::int64_t gap; ///< nanoseconds
    std::int64_t body;

    void head() const {
        if (body != 0) {
            std::printf("%-10s | %9s | %9s | %9s | %9s\n", "us", "median", "90 %", "99 %", "longest");
        } else {
            std::printf("%-10s | %9s | %9s | %9s | %9s | %9s | %9s | %7s | %s\n", "ns", "own", "other",
                        "last body", "return", "whole", "alone", "by both", "moved");
        }
    }
    void row(const char* name, step_times& s) const {
        if (body == 0) {
            print(name, s);
            return;
        }
        std::vector<std::int64_t> all = s.whole;
        all.insert(all.end(), s.alone.begin(), s.alone.end());
        std::sort(all.begin(), all.end());
        const auto at = [&all](std::size_t percent) {
            return static_cast<double>(all[std::min(all.size() - 1, all.size() * percent / 100)]) / 1000;
        };
        std::printf("%-10s | %9.1f | %9.1f | %9.1f | %9.1f\n", name, at(50), at(90), at(99), at(100));
    }
};

/// Runs loop(notes) over and over.
template <class Loop>
step_times measure(int loops, std::int64_t gap, Loop loop) {
    step_times steps;
    loop_notes notes;
    for (int i = 0; i < loops; ++i) {
        busy_for(gap);
        const unsigned caller =
            thread_number(); // before the loop: a task may be on another thread afterwards
        const std::int64_t begin = now();
        loop(notes);
        const std::int64_t end = now();
        steps.moved += caller != thread_number() ? 1 : 0;
        steps.add(notes, caller, begin, end);
    }
    return steps;
}

} // namespace

int main(int argc, char** argv) {
    const int loops = argc > 1 ? std::atoi(argv[1]) : 20'000;
    const report r{argc > 2 ? 1000 * std::atoll(argv[2]) : 0, argc > 3 ? std::atoll(argv[3]) : 0};
    const auto body = [&r](loop_notes& n, std::size_t i) {
        busy_for(r.body);
        n.note(i);
    };
    r.head();
    {
        pilfer::pool pool(pilfer::options{.workers = 2});
        pool.run([&] {
            auto steps = measure(loops, r.gap, [&body](loop_notes& n) {
                pilfer::for_each(std::size_t{0}, bodies, [&](std::size_t i) { body(n, i); });
            });
            r.row("for_each", steps);
            pilfer::loop_team team;
            steps = measure(loops, r.gap, [&](loop_notes& n) {
                team.for_each(std::size_t{0}, bodies, [&](std::size_t i) { body(n, i); });
            });
            r.row("loop_team", steps);
        });
    }
    omp_set_num_threads(2);
    auto steps = measure(loops, r.gap, [&body](loop_notes& n) {
#pragma omp parallel for schedule(static)
        for (std::size_t i = 0; i < bodies; ++i) {
            body(n, i);
        }
    });
    r.row("OpenMP", steps);
}
