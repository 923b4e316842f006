#include "driver.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>
#include <vector>

#include <pilfer/detail/base/chaos.hpp>

#include "commands.hpp"
#include "lane.hpp"
#include "observe/hidden.hpp"

namespace tools {
namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Any thread may get the signal; a std::sig_atomic_t is for the thread that handles it.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

/// The first signal asks for the verdict so far, the second one ends the program.
class signals {
public:
    signals() {
        interrupted.store(false);
        struct sigaction action {};
        action.sa_handler = [](int) { interrupted.store(true); };
        action.sa_flags = static_cast<int>(SA_RESETHAND);
        sigaction(SIGINT, &action, &m_int);
        sigaction(SIGTERM, &action, &m_term);
    }
    signals(signals const&) = delete;
    signals& operator=(signals const&) = delete;
    ~signals() {
        sigaction(SIGINT, &m_int, nullptr);
        sigaction(SIGTERM, &m_term, nullptr);
    }

private:
    struct sigaction m_int {};
    struct sigaction m_term {};
};

std::vector<std::unique_ptr<lane>> const* lanes_alive = nullptr;
std::uint64_t seed_alive = 0;

/// The library aborts when a task overflows its stack or when it finds itself inconsistent. Then the seed and
/// the current works are the most valuable information.
class last_words {
public:
    last_words(drive const& d, std::vector<std::unique_ptr<lane>> const& lanes) {
        lanes_alive = &lanes;
        seed_alive = d.seed;
        struct sigaction action {};
        action.sa_handler = [](int) {
            char line[96];
            int const n = std::snprintf(line, sizeof line, "pilfer: ABORTED: seed %#llx\n",
                                        static_cast<unsigned long long>(seed_alive));
            (void)!write(STDERR_FILENO, line, static_cast<std::size_t>(n));
            for (auto const& l : *lanes_alive) {
                l->last_words();
            }
        };
        action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_ONSTACK; // abort() raises it once more
        sigaction(SIGABRT, &action, &m_before);
    }
    last_words(last_words const&) = delete;
    last_words& operator=(last_words const&) = delete;
    ~last_words() { sigaction(SIGABRT, &m_before, nullptr); }

private:
    struct sigaction m_before {};
};

/// Looks every millisecond for a ready task that a sleeping worker has overlooked. No other check would find
/// it: such a task runs late, but it runs.
class hidden_lookout {
public:
    explicit hidden_lookout(std::atomic<bool>& over)
        : m_thread([this, &over](std::stop_token const& stop) {
              while (!stop.stop_requested()) {
                  if (auto const hidden = m_watch.look()) {
                      m_failure = hidden->text();
                      over.store(true);
                      return;
                  }
                  std::this_thread::sleep_for(1ms);
              }
          }) {}
    /// Stops looking. The result describes what it found; empty: nothing.
    [[nodiscard]] std::string end(totals& counted) {
        m_thread.request_stop();
        m_thread.join();
        counted.looks = m_watch.looks();
        counted.longest_hidden = m_watch.longest();
        return m_failure;
    }

private:
    pilfer::detail::hidden_watch m_watch;
    std::string m_failure;
    std::jthread m_thread; // last: it uses the others
};

[[nodiscard]] double resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    file >> size >> resident;
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

[[nodiscard]] std::string as_time(double seconds) {
    auto const s = static_cast<std::uint64_t>(seconds);
    return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                    : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

/// The mean over a part of the time: pools come and go, single values jump.
class mean {
public:
    void add(double x) noexcept {
        m_sum += x;
        ++m_count;
    }
    [[nodiscard]] double value() const noexcept {
        return m_count == 0 ? 0 : m_sum / static_cast<double>(m_count);
    }

private:
    double m_sum = 0;
    std::uint64_t m_count = 0;
};

class monitor {
public:
    monitor(drive const& d, std::vector<std::unique_ptr<lane>>& lanes)
        : m_drive(d), m_lanes(lanes), m_begin(clock::now()), m_looked(m_begin), m_live(is_terminal()) {}

    /// Until the time is over or `over` is set.
    void watch(std::atomic<bool>& over) {
        auto const end = m_begin + m_drive.time;
        while (!over.load() && clock::now() < end) {
            std::this_thread::sleep_for(std::min<clock::duration>(100ms, end - clock::now()));
            m_interrupted = interrupted.load();
            if (m_interrupted) {
                break;
            }
            look();
            remember(resident_bytes());
            say();
        }
        over.store(true);
    }
    /// The lanes end their rounds: still under the watch.
    void watch_end(std::atomic<unsigned> const& running) {
        while (running.load() != 0) {
            std::this_thread::sleep_for(5ms);
            look();
        }
        if (m_live && m_drive.progress) {
            fmt::print(stderr, "\r\033[K");
        }
    }
    [[nodiscard]] totals counted() const {
        totals all;
        for (auto const& l : m_lanes) {
            all += l->counted();
        }
        namespace chaos = pilfer::detail::chaos;
        for (unsigned p = 0; p < static_cast<unsigned>(chaos::point::count); ++p) {
            all.disturbances += chaos::disturbances(static_cast<chaos::point>(p));
        }
        for (unsigned c = 0; c < static_cast<unsigned>(chaos::choice::count); ++c) {
            all.disturbances += chaos::disturbances(static_cast<chaos::choice>(c));
        }
        return all;
    }
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(clock::now() - m_begin).count();
    }
    [[nodiscard]] bool was_interrupted() const noexcept { return m_interrupted; }
    /// Means over the second and the last tenth of the samples.
    void fill(verdict& v) const {
        std::size_t const tenth = m_resident.size() / 10;
        mean early;
        mean late;
        for (std::size_t i = 0; i < m_resident.size(); ++i) {
            if (i >= tenth && i < 2 * tenth + 1) {
                early.add(m_resident[i]);
            }
            if (i + tenth + 1 >= m_resident.size()) {
                late.add(m_resident[i]);
            }
        }
        v.resident_early = early.value();
        v.resident_late = late.value();
    }

private:
    static bool is_terminal() {
        char const* const kind = std::getenv("TERM");
        return isatty(STDERR_FILENO) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
    }

    void look() {
        auto const now = clock::now();
        bool stuck = false;
        m_beats.resize(m_lanes.size());
        m_moved_at.resize(m_lanes.size(), now);
        for (std::size_t i = 0; i < m_lanes.size(); ++i) {
            std::uint64_t const b = m_lanes[i]->beats();
            // A process that was stopped as a whole has not looked for long either; then no lane is to blame.
            if (b != m_beats[i] || now - m_looked > 2s) {
                m_beats[i] = b;
                m_moved_at[i] = now;
            }
            stuck = stuck || now - m_moved_at[i] > m_drive.patience;
        }
        m_looked = now;
        if (!stuck) {
            return;
        }
        fmt::print(stderr, "{}pilfer: HANGS: no work has ended for {} s (seed {:#x}, after {})\n",
                   m_live ? "\r\033[K" : "", m_drive.patience.count(), m_drive.seed, as_time(seconds()));
        for (auto const& l : m_lanes) {
            fmt::print(stderr, "{}\n", l->state());
        }
        std::fflush(stderr);
        if (char const* const wait = std::getenv("PILFER_TEST_HANG"); wait != nullptr && *wait == 'w') {
            pause(); // for a debugger
        }
        _exit(exit_hangs);
    }

    /// Thinned out when it gets long: a day of samples needs no more room than a minute.
    void remember(double resident) {
        if (m_skipped++ % m_every != 0) {
            return;
        }
        m_resident.push_back(resident);
        if (m_resident.size() == 4000) {
            for (std::size_t i = 0; i < 2000; ++i) {
                m_resident[i] = m_resident[2 * i];
            }
            m_resident.resize(2000);
            m_every *= 2;
        }
    }

    void say() {
        if (!m_drive.progress) {
            return;
        }
        double const passed = seconds();
        if (!m_live && passed - m_said < 10) {
            return;
        }
        m_said = passed;
        totals const t = counted();
        std::string const line =
            fmt::format("{} of {}: {} tasks, {} steals, {} suspensions, {} sleeps, {} wakes, {} pools, "
                        "{:.1f} MiB, seed {:#x}",
                        as_time(passed), as_time(std::chrono::duration<double>(m_drive.time).count()),
                        grouped(t.tasks), grouped(t.steals), grouped(t.suspensions), grouped(t.sleeps),
                        grouped(t.wakes), grouped(t.pools), resident_bytes() / (1 << 20), m_drive.seed);
        if (m_live) {
            winsize size{};
            std::size_t const width =
                ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 ? 80 : size.ws_col;
            fmt::print(stderr, "\r\033[K{}", std::string_view(line).substr(0, width - 1));
        } else {
            fmt::print(stderr, "{}\n", line);
        }
        std::fflush(stderr);
    }

    drive const& m_drive;
    std::vector<std::unique_ptr<lane>>& m_lanes;
    clock::time_point m_begin, m_looked;
    std::vector<std::uint64_t> m_beats;
    std::vector<clock::time_point> m_moved_at;
    std::vector<double> m_resident;
    std::uint64_t m_skipped = 0, m_every = 1;
    double m_said = 0;
    bool m_live;
    bool m_interrupted = false;
};

} // namespace

totals& totals::operator+=(totals const& o) noexcept {
    works += o.works, tasks += o.tasks, pools += o.pools;
    steals += o.steals, reaches += o.reaches, exposures += o.exposures, suspensions += o.suspensions;
    sleeps += o.sleeps, wakes += o.wakes, submissions += o.submissions, suppressed += o.suppressed;
    dropped += o.dropped, without_stack += o.without_stack, disturbances += o.disturbances;
    looks += o.looks, longest_hidden = std::max(longest_hidden, o.longest_hidden);
    return *this;
}

double verdict::drift() const noexcept {
    return resident_early > 0 ? (resident_late / resident_early - 1) * 100 : 0;
}

std::string grouped(std::uint64_t n) {
    std::string const digits = std::to_string(n);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i != 0 && (digits.size() - i) % 3 == 0) {
            text += ',';
        }
        text += digits[i];
    }
    return text;
}

verdict run_drive(drive const& d) {
    signals const handlers;
    if (d.progress) {
        fmt::print(stderr, "pools of up to {} workers, seed {:#x}, Ctrl-C for the verdict so far\n",
                   d.workers, d.seed);
    }
    pilfer::detail::chaos::configure({d.seed, d.chaos, d.near_wrap});
    std::atomic<bool> over{false};
    std::atomic<unsigned> running{d.lanes};
    std::vector<std::unique_ptr<lane>> lanes;
    for (unsigned i = 0; i < d.lanes; ++i) {
        lanes.push_back(std::make_unique<lane>(d, i));
    }
    last_words const handler(d, lanes);
    monitor watcher(d, lanes);
    verdict v;
    hidden_lookout lookout(over);
    {
        std::vector<std::jthread> threads;
        for (auto const& l : lanes) {
            threads.emplace_back([&over, &running, &l] {
                l->run(over);
                running.fetch_sub(1);
            });
        }
        watcher.watch(over);
        watcher.watch_end(running);
    }
    v.seconds = watcher.seconds();
    v.interrupted = watcher.was_interrupted();
    v.counted = watcher.counted();
    v.failure = lookout.end(v.counted);
    watcher.fill(v);
    for (auto const& l : lanes) {
        if (!l->failure().empty()) {
            v.failure += v.failure.empty() ? "" : "\n";
            v.failure += l->failure();
        }
    }
    if (v.failure.empty() && d.most_drift > 0 && v.drift() > d.most_drift) {
        v.failure = fmt::format("resident memory grew by {:.1f} %, more than {} %", v.drift(), d.most_drift);
    }
    pilfer::detail::chaos::configure({d.seed, 0, false});
    return v;
}

} // namespace tools
