// A worker that always finds own work robs others now and then. Tasks that no other worker can take up do not
// wait for the end of that work.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/harness.hpp"
#include "worker/stand_still.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

/// Work of a worker that is never without any, until it is called off or has ended `left` tasks.
class work {
public:
    explicit work(std::int64_t ends) : m_left(ends) {}
    /// Counts the end of a task. False: no more.
    [[nodiscard]] bool goes_on() { return m_left.fetch_sub(1) > 1; }
    [[nodiscard]] bool is_there() const { return m_left > 0; }
    [[nodiscard]] std::int64_t left() const { return m_left; }
    void call_off() { m_left = 0; }

private:
    std::atomic<std::int64_t> m_left;
};

/// As many frames for each worker, so that at least one can run at each look.
constexpr int frames = 64;

struct chain {
    work& w;
    void operator()() const {
        if (w.goes_on()) {
            (void)pilfer::async(chain{w});
        }
    }
};
void local_tasks(work& w) { chain{w}(); }

void timers(work& w) {
    for (int i = 0; i < frames; ++i) {
        (void)pilfer::async([&w] {
            while (w.goes_on()) {
                pilfer::sleep_for(1us);
            }
        });
    }
}

void yields(work& w) {
    for (int i = 0; i < frames; ++i) {
        (void)pilfer::async([&w] {
            while (w.goes_on()) {
                pilfer::yield();
            }
        });
    }
}

/// Two that wait for each other in turn: one of them can always run.
void resumes(work& w) {
    for (int i = 0; i < frames; ++i) {
        struct pair {
            pilfer::counting_semaphore<> ping{0};
            pilfer::counting_semaphore<> pong{0};
        };
        const auto both = std::make_shared<pair>();
        (void)pilfer::async([&w, both] {
            while (w.goes_on()) {
                both->ping.release();
                both->pong.acquire();
            }
            both->ping.release();
        });
        (void)pilfer::async([&w, both] {
            do {
                both->ping.acquire();
                both->pong.release();
            } while (w.goes_on());
            both->pong.release();
        });
    }
}

/// The end of each child resumes its parent at once.
void parents_behind_their_last_child(work& w) {
    for (int i = 0; i < frames; ++i) {
        (void)pilfer::async([&w] {
            while (w.goes_on()) {
                pilfer::scope s;
                pilfer::counting_semaphore<> go(0);
                s.spawn([&go] { go.acquire(); });
                go.release();
                s.sync();
            }
        });
    }
}

/// Those of a thread outside, which has queued them before.
void submissions(work&) {}

struct kind {
    const char* name;
    void (*begin)(work&);
    bool submitted = false;
};

std::ostream& operator<<(std::ostream& out, const kind& k) { return out << k.name; }

class endless_work : public ::testing::TestWithParam<std::tuple<kind, unsigned>> {
    watchdog m_watchdog{patience};
};

TEST_P(endless_work, does_not_keep_the_child_of_a_silent_task_from_running) {
    const auto& [kind, n] = GetParam();
    const auto ends = static_cast<std::int64_t>(hundredth_of(1'000'000)) * (n - 1);
    work w(ends);
    std::int64_t left = -1; // when the child ran
    std::atomic<unsigned> here{0};
    std::atomic<bool> hidden{false};
    std::atomic<bool> begin{false};
    pilfer::pool pool(workers(n));
    const auto arrive = [&] {
        count(here);
        wait(here, n); // each has a worker for itself
    };
    std::vector<pilfer::future<void>> busy;
    for (unsigned i = 1; i < n; ++i) {
        busy.push_back(pool.async([&, works = kind.begin] {
            arrive();
            wait(begin);
            works(w);
        }));
    }
    auto silent = pool.async([&] {
        arrive();
        for (int i = 0; i < 3; ++i) {
            (void)pilfer::join([] {}, [] {}); // answers earlier requests
        }
        pilfer::scope s;
        s.fork([&] {
            left = w.left();
            w.call_off();
        });
        open(hidden);
        while (w.is_there()) {
            std::this_thread::sleep_for(20us);
        }
        s.sync();
    });
    wait(hidden);
    if (kind.submitted) {
        for (std::int64_t i = 0; i < ends; ++i) {
            pool.submit([&w] { (void)w.goes_on(); });
        }
    }
    open(begin);
    silent.get();
    for (auto& b : busy) {
        b.get();
    }
    pool.shutdown();
    EXPECT_GT(left, 0) << "it ran only when all the work was done";
}

INSTANTIATE_TEST_SUITE_P(of, endless_work,
                         ::testing::Combine(::testing::Values(kind{"local_tasks", local_tasks},
                                                              kind{"timers", timers}, kind{"yields", yields},
                                                              kind{"resumes", resumes},
                                                              kind{"parents_behind_their_last_child",
                                                                   parents_behind_their_last_child},
                                                              kind{"submissions", submissions, true}),
                                            ::testing::Values(2U, 3U, 8U)),
                         [](const auto& at) {
                             return std::string(std::get<0>(at.param).name) + "_" +
                                    std::to_string(std::get<1>(at.param));
                         });

} // namespace
