// How work spreads: how much a thief takes, from which victim, and when tasks are exposed to it. For pools
// that leave it open, PILFER_BALANCE=half,ring,doubling in the environment chooses.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include <pilfer/pilfer.hpp>

namespace {

/// One worker announces 64 tasks and goes into a long task; the other one takes them all.
void spread(const char* text, pilfer::steal_amount amount) {
    pilfer::options o;
    o.workers = 2;
    o.balance.steal = amount;
    o.balance.victim = pilfer::victim::ring;
    o.balance.exposure = pilfer::exposure::on_demand;
    pilfer::pool pool(o);
    std::atomic<int> ran{0};
    pilfer::counters before;
    pool.run([&] {
        std::atomic<bool> busy{false};
        std::atomic<bool> go_on{false};
        auto other = pool.async([&] { // keeps the other worker away while the tasks are announced
            busy = true;
            while (!go_on) {
                std::this_thread::yield();
            }
        });
        while (!busy) {
            std::this_thread::yield();
        }
        before = pool.counters(); // it was stolen, too
        pilfer::scope s;
        for (int i = 0; i < 64; ++i) {
            s.fork([&] { ran.fetch_add(1); });
        }
        go_on = true;
        while (ran != 64) {
            std::this_thread::yield();
        }
        s.sync();
        other.get();
    });
    const pilfer::counters after = pool.counters();
    std::printf("%s: %llu tasks in %llu thefts\n", text,
                static_cast<unsigned long long>(after.tasks_stolen - before.tasks_stolen),
                static_cast<unsigned long long>(after.run_stolen - before.run_stolen));
}

} // namespace

int main() {
    unsetenv("PILFER_BALANCE");
    spread("one", pilfer::steal_amount::one());
    spread("half", pilfer::steal_amount::half());
    spread("all but one", pilfer::steal_amount::all_but_one());
    spread("adaptive", pilfer::steal_amount::adaptive());

    setenv("PILFER_BALANCE", "halve", 1);
    try {
        const pilfer::pool impossible;
    } catch (const std::invalid_argument& e) {
        std::printf("%s\n", e.what());
    }
}
