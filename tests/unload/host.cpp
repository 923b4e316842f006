// unload_host PLUGIN: loads it, has two threads use it, unloads it, and only then ends the threads.
#include <cstdio>
#include <latch>
#include <thread>
#include <vector>

#include <dlfcn.h>

int main(int, char** argv) {
    for (int round = 0; round < 3; ++round) {
        void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (plugin == nullptr) {
            std::fprintf(stderr, "unload_host: %s\n", dlerror());
            return 1;
        }
        using sum_t = int(int);
        auto* const sum = reinterpret_cast<sum_t*>(dlsym(plugin, "plugin_sum"));
        if (sum == nullptr) {
            std::fprintf(stderr, "unload_host: %s\n", dlerror());
            return 1;
        }
        std::latch used{3};
        std::latch unloaded{1};
        std::vector<std::thread> threads;
        std::vector<int> sums(2);
        for (int& result : sums) {
            threads.emplace_back([&] {
                result = sum(1000);
                used.count_down();
                unloaded.wait();
            });
        }
        used.arrive_and_wait();
        dlclose(plugin);
        const bool gone = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) == nullptr;
        unloaded.count_down();
        for (std::thread& each : threads) {
            each.join();
        }
        if (!gone || sums != std::vector<int>{499500, 499500}) {
            std::fprintf(stderr, "unload_host: %s, sums %d and %d\n", gone ? "unloaded" : "still loaded",
                         sums[0], sums[1]);
            return 1;
        }
    }
    std::puts("unloaded 3 times beside threads that had used it");
    return 0;
}
