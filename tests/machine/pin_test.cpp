// Workers really run on the CPUs of the plan.
#include <gmock/gmock.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "machine/detect.hpp"
#include "machine/plan.hpp"
#include "pool/pool_core.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
namespace machine = pilfer::machine;
namespace os = pilfer::os;
using pilfer::pinning;
using cpus = std::vector<unsigned>;

[[nodiscard]] pilfer::options pinned(unsigned workers, pinning how) {
    pilfer::options o = support::workers(workers);
    o.pin = how;
    return o;
}

/// The mask that the kernel reports, not the one that the library remembers.
[[nodiscard]] cpus kernel_mask() {
    cpu_set_t set;
    CPU_ZERO(&set);
    cpus all;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &set)) {
                all.push_back(cpu);
            }
        }
    }
    return all;
}

bool allow_only(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

/// By worker: the mask of its thread. As many tasks as workers, and none ends before all have begun.
[[nodiscard]] std::vector<cpus> masks(pilfer::pool& pool) {
    const unsigned n = pool.workers();
    std::vector<cpus> of(n);
    std::mutex lock;
    std::condition_variable all_here;
    unsigned here = 0;
    const auto meet = [&] {
        std::unique_lock hold(lock);
        of[pilfer::detail::this_worker()->index] = kernel_mask();
        if (++here == n) {
            all_here.notify_all();
        }
        all_here.wait(hold, [&] { return here == n; });
    };
    std::vector<pilfer::future<void>> tasks;
    for (unsigned i = 0; i < n; ++i) {
        tasks.push_back(pool.async(meet));
    }
    for (auto& t : tasks) {
        t.get();
    }
    return of;
}

class pinned_workers : public guarded {};

TEST_F(pinned_workers, each_worker_has_the_cpu_of_the_plan) {
    const cpus mine = kernel_mask();
    for (const auto how : {pinning::compact, pinning::spread}) {
        for (const unsigned n : {1U, 2U, 3U, 5U}) {
            pilfer::pool pool(pinned(n, how));
            EXPECT_EQ(pool.settings().pin, how);
            const cpus plan = machine::seat(n, n, how, machine::this_machine(mine)).cpu;
            const auto got = masks(pool);
            ASSERT_EQ(plan.size(), n);
            std::map<unsigned, std::size_t> share;
            for (unsigned i = 0; i < n; ++i) {
                EXPECT_EQ(got[i], cpus{plan[i]}) << "worker " << i << " of " << n;
                ++share[plan[i]];
            }
            for (const auto& [cpu, workers] : share) {
                EXPECT_GE(workers, n / mine.size());
                EXPECT_LE(workers, (n + mine.size() - 1) / mine.size());
            }
            std::ostringstream text;
            pool.dump(text);
            EXPECT_THAT(text.str(), testing::HasSubstr(", CPU " + std::to_string(plan[n - 1]) + "): "));
        }
    }
    EXPECT_EQ(kernel_mask(), mine) << "the thread that made the pools keeps its mask";
}

TEST_F(pinned_workers, off_is_the_default_and_leaves_the_mask_unchanged) {
    if (std::getenv("PILFER_PIN") != nullptr) {
        GTEST_SKIP() << "PILFER_PIN is set";
    }
    const cpus mine = kernel_mask();
    pilfer::pool pool(support::workers(3));
    EXPECT_EQ(pool.settings().pin, pinning::off);
    for (const cpus& mask : masks(pool)) {
        EXPECT_EQ(mask, mine);
    }
    std::ostringstream text;
    pool.dump(text);
    EXPECT_THAT(text.str(), testing::Not(testing::HasSubstr(", CPU ")));
}

TEST_F(pinned_workers, the_mask_of_one_cpu_is_obeyed) {
    const unsigned last = kernel_mask().back();
    const auto result = in_child([last] {
        if (!allow_only(last)) {
            return 2;
        }
        for (const auto how : {pinning::compact, pinning::spread}) {
            pilfer::pool pool(pinned(3, how));
            const auto got = masks(pool);
            if (got != std::vector<cpus>(3, cpus{last})) {
                return 3;
            }
            unsigned cpu = 0;
            pool.run([&] { cpu = static_cast<unsigned>(sched_getcpu()); });
            if (cpu != last) {
                return 4;
            }
        }
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

TEST_F(pinned_workers, a_pool_made_by_a_pinned_worker_is_not_crowded_on_its_cpu) {
    const cpus mine = kernel_mask();
    pilfer::pool outer(pinned(2, pinning::compact));
    outer.run([&] {
        EXPECT_EQ(kernel_mask().size(), 1U);
        EXPECT_EQ(os::affinity_mask(), mine);
        EXPECT_EQ(os::affinity_cpus(), mine.size());
    });
    std::unique_ptr<pilfer::pool> unpinned;
    std::unique_ptr<pilfer::pool> also_pinned;
    outer.run([&] {
        unpinned = std::make_unique<pilfer::pool>(pinned(2, pinning::off));
        also_pinned = std::make_unique<pilfer::pool>(pinned(2, pinning::spread));
    });
    for (const cpus& mask : masks(*unpinned)) {
        EXPECT_EQ(mask, mine);
    }
    const cpus plan = machine::seat(2, 2, pinning::spread, machine::this_machine(mine)).cpu;
    const auto got = masks(*also_pinned);
    EXPECT_EQ(got[0], cpus{plan[0]});
    EXPECT_EQ(got[1], cpus{plan[1]});
}

TEST_F(pinned_workers, a_refused_cpu_leaves_the_thread_unpinned) {
    const cpus mine = kernel_mask();
    EXPECT_FALSE(os::pin_thread(1U << 17, mine)) << "no machine has that many";
    EXPECT_EQ(kernel_mask(), mine);
    EXPECT_EQ(os::affinity_mask(), mine);
}

TEST_F(pinned_workers, the_environment_applies_without_an_option) {
    for (const auto how : {pinning::off, pinning::compact, pinning::spread}) {
        const auto result = in_child([how] {
            setenv("PILFER_PIN", std::string(machine::name(how)).c_str(), 1);
            const pilfer::pool automatic(support::workers(1));
            const pilfer::pool off(pinned(1, pinning::off));
            const pilfer::pool spread(pinned(1, pinning::spread));
            const bool right = automatic.settings().pin == how && off.settings().pin == pinning::off &&
                               spread.settings().pin == pinning::spread;
            return right ? 0 : 1;
        });
        EXPECT_TRUE(result.exited_with(0)) << machine::name(how) << ": " << result;
    }
}

TEST_F(pinned_workers, complete_their_work) {
    for (const auto how : {pinning::compact, pinning::spread}) {
        for (const unsigned n : {1U, 2U, 3U, 8U, 64U}) {
            pilfer::pool pool(pinned(n, how));
            EXPECT_EQ(pool.run([] { return fib_join(15); }), fib(15));
            EXPECT_EQ(pool.run([] { return fib_spawn(12); }), fib(12));
        }
    }
}

} // namespace
