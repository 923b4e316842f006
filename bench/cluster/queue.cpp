// The program behind queues.py: empty jobs on a job queue, without tasks.
//   bench-queue work URL                  serves jobs until one says "end"
//   bench-queue submit URL JOBS WINDOW    submits jobs, at most WINDOW at a time
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jobqueue/job_queue.hpp"
#include "jobqueue/sockets.hpp"

namespace {

namespace detail = pilfer::detail;
using clock_type = std::chrono::steady_clock;

const std::string queue = "pilfer/pilfer/bench";

double seconds_since(clock_type::time_point begin) {
    return std::chrono::duration<double>(clock_type::now() - begin).count();
}
std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}
detail::job_event next(detail::job_queue& q, detail::socket_bell& bell) {
    detail::job_event e;
    while (!q.next(e)) {
        q.watch(bell, 0);
        bell.wait(1'000'000'000);
    }
    return e;
}

void work(detail::job_queue& q, detail::socket_bell& bell) {
    q.serve(queue, true);
    for (bool goes_on = true; goes_on;) {
        q.fetch(true);
        const detail::job_event e = next(q, bell);
        goes_on = e.content.empty();
        q.ack(e.job, {});
    }
    for (detail::job_event none; (void)q.next(none), q.is_sending();) {
        bell.wait(1'000'000);
    }
}

void submit(detail::job_queue& q, detail::socket_bell& bell, std::size_t jobs, std::size_t window) {
    std::unordered_map<std::uint64_t, clock_type::time_point> begun;
    std::vector<double> times;
    const auto one = [&](std::string_view content) {
        const auto now = clock_type::now();
        begun.emplace(q.submit(queue, bytes_of(content)), now);
    };
    const auto ended = [&] {
        detail::job_event e;
        do {
            e = next(q, bell);
        } while (e.what != detail::job_event::kind::done);
        return seconds_since(begun.extract(e.job).mapped());
    };
    one("");
    (void)ended(); // both are connected
    const auto begin = clock_type::now();
    for (std::size_t sent = 0; times.size() < jobs;) {
        for (; sent < jobs && begun.size() < window; ++sent) {
            one("");
        }
        times.push_back(ended());
    }
    const double all = seconds_since(begin);
    std::ranges::sort(times);
    std::printf("median_us %.1f\njobs_per_second %.0f\n", times[jobs / 2] * 1e6,
                static_cast<double>(jobs) / all);
    one("end");
    (void)ended();
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc > 2 ? argv[1] : "";
    detail::socket_bell bell;
    if (mode == "work") {
        work(*detail::connect_to_gearman(detail::parse_queue(argv[2])), bell);
    } else if (mode == "submit" && argc > 4) {
        submit(*detail::connect_to_gearman(detail::parse_queue(argv[2])), bell,
               std::strtoul(argv[3], nullptr, 10), std::strtoul(argv[4], nullptr, 10));
    } else {
        return 2;
    }
}
