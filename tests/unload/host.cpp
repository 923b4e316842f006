// unload_host MODE PLUGIN [PLUGIN]: loads, uses and unloads them, beside threads that have used them and live
// on.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <latch>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "unload_host: %s\n", what);
    std::exit(1);
}

class plugin {
public:
    explicit plugin(const char* path) : m_path(path), m_handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        if (m_handle == nullptr) {
            fail(dlerror());
        }
    }
    plugin(const plugin&) = delete;
    plugin& operator=(const plugin&) = delete;
    ~plugin() { close(); }

    [[nodiscard]] int call(const char* function, int n) const {
        void* const f = dlsym(m_handle, function);
        return f != nullptr ? reinterpret_cast<int (*)(int)>(f)(n) : -1;
    }
    /// Is it gone?
    bool close() {
        if (m_handle == nullptr) {
            return true;
        }
        dlclose(m_handle);
        m_handle = nullptr;
        return dlopen(m_path, RTLD_NOW | RTLD_NOLOAD) == nullptr;
    }

private:
    const char* m_path;
    void* m_handle;
};

void expect(bool holds, const char* what) {
    if (!holds) {
        fail(what);
    }
}

[[nodiscard]] long threads() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
}

/// Is there but this thread, soon? The kernel lists a thread for a moment longer than join() waits for it.
[[nodiscard]] bool alone() {
    for (int i = 0; i < 10'000; ++i) {
        if (threads() == 1) {
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

/// Threads that have called `function`, and live until this ends.
class users {
public:
    users(const plugin& p, const char* function, int n, int result) : m_used(3) {
        for (int i = 0; i < 2; ++i) {
            m_threads.emplace_back([this, &p, function, n, result] {
                expect(p.call(function, n) == result, "a wrong result");
                m_used.count_down();
                m_end.wait();
            });
        }
        m_used.arrive_and_wait();
    }
    users(const users&) = delete;
    users& operator=(const users&) = delete;
    ~users() {
        m_end.count_down();
        for (std::thread& t : m_threads) {
            t.join();
        }
    }

private:
    std::latch m_used;
    std::latch m_end{1};
    std::vector<std::thread> m_threads;
};

/// Calls the handlers of fork() that an unloaded library may have left in the C library.
void fork_once() {
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child && status == 0, "a child of fork() has failed");
}

void mine(int) { _exit(42); }

void expect_my_handler() {
    struct sigaction present {};
    sigaction(SIGSEGV, nullptr, &present);
    expect((present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == &mine, "a handler was left behind");
}

void unload(const char* path, const char* function, int n, int result, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        plugin p(path);
        {
            const users living(p, function, n, result);
            expect(p.close(), "still loaded");
            fork_once();
            expect_my_handler();
        }
        expect(alone(), "a thread was left behind");
    }
}

/// Its threads run on: the library must stay.
void stays(const char* path, int rounds) {
    long before = 0;
    for (int round = 0; round < rounds; ++round) {
        plugin p(path);
        expect(p.call("plugin_common", 12) == 144, "a wrong result");
        const long now = threads();
        expect(round == 0 || now == before, "more threads than before");
        before = now;
        expect(!p.close(), "unloaded under threads that run");
        fork_once();
    }
}

void copies(const char* first, const char* second, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        plugin a(first);
        plugin b(second);
        const users of_a(a, "plugin_static", 10, 55);
        const users of_b(b, "plugin_static", 11, 89);
        // The second one's handler of faults was installed over the first one's.
        expect(b.close(), "the second copy is still loaded");
        expect(a.call("plugin_static", 12) == 144, "a wrong result beside the copy that is gone");
        expect(a.close(), "the first copy is still loaded");
        expect_my_handler();
        fork_once();
    }
}

} // namespace

int main(int count, char** argument) {
    if (count < 3) {
        fail("unload_host MODE PLUGIN [PLUGIN]");
    }
    struct sigaction handler {};
    handler.sa_handler = &mine;
    sigaction(SIGSEGV, &handler, nullptr);
    const char* const mode = argument[1];
    if (std::strcmp(mode, "local") == 0) {
        unload(argument[2], "plugin_sum", 1000, 499500, 10);
    } else if (std::strcmp(mode, "static") == 0) {
        unload(argument[2], "plugin_static", 12, 144, 100);
    } else if (std::strcmp(mode, "common") == 0) {
        stays(argument[2], 100);
    } else if (std::strcmp(mode, "copies") == 0 && count == 4) {
        copies(argument[2], argument[3], 50);
    } else {
        fail("no such mode");
    }
    std::puts("done");
    return 0;
}
