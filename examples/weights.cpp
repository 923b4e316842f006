// Tasks of very different size. With weights, which say how much each task has to do, a thief takes half of
// the work. Without them it takes half of the tasks.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace {

/// The sizes of some files, in megabytes: one is most of it.
const std::vector<std::uint64_t> sizes = {700, 100, 100, 100, 100, 100, 100, 100};

/// One worker announces a task for each file and starts a long task. Prints the first theft of the other
/// worker.
void first_theft(const char* text, bool weighted) {
    pilfer::options o;
    o.workers = 2;
    o.balance.steal = pilfer::steal_amount::half();
    pilfer::pool pool(o);
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
        const std::uint64_t before = pool.counters().tasks_stolen; // it was stolen, too
        std::atomic<bool> stolen{false};
        std::atomic<bool> end{false};
        pilfer::scope s;
        for (const std::uint64_t size : sizes) {
            const auto hash = [&] {
                stolen = true;
                while (!end) {
                    std::this_thread::yield();
                }
            };
            if (weighted) {
                s.fork({.weight = size}, hash);
            } else {
                s.fork(hash);
            }
        }
        go_on = true;
        while (!stolen) {
            std::this_thread::yield();
        }
        const auto tasks = static_cast<std::size_t>(pool.counters().tasks_stolen - before);
        std::uint64_t taken = 0;
        std::uint64_t left = 0;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            (i < tasks ? taken : left) += sizes[i]; // the oldest were stolen
        }
        std::printf("%s: the thief takes %zu of %zu tasks, %llu MB; %llu MB are left\n", text, tasks,
                    sizes.size(), static_cast<unsigned long long>(taken),
                    static_cast<unsigned long long>(left));
        end = true;
        s.sync();
        other.get();
    });
}

} // namespace

int main() {
    first_theft("without weights", false);
    first_theft("with weights", true);
    try {
        (void)pilfer::async({.weight = 0}, [] {});
    } catch (const std::invalid_argument& e) {
        std::printf("%s\n", e.what());
    }
}
