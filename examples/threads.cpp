// The threads of a pool: their names, their first and last calls, and their priority.
#include <atomic>
#include <cstdio>
#include <stdexcept>

#include <pilfer/pilfer.hpp>

namespace {

/// Something that each thread needs one of: a connection, a buffer, a thread-local of another library.
thread_local int* scratch = nullptr;

} // namespace

int main() {
    std::atomic<int> made{0};
    std::atomic<int> freed{0};
    pilfer::options o;
    o.workers = 2;
    o.name = "index"; // the threads index/0 and index/1 of `top -H` and of a debugger
    o.priority = 5;   // added to the nice value: others come first. Refused, it is no error: see dump()
    o.on_start = [&](unsigned) {
        scratch = new int(0);
        ++made;
    };
    o.on_stop = [&](unsigned) {
        delete scratch;
        ++freed;
    };
    {
        pilfer::pool pool(o);
        std::printf("made before the first task: %d\n", made.load());
        pool.run([] { std::printf("there in a task: %s\n", scratch != nullptr ? "yes" : "no"); });
    }
    std::printf("freed with the pool: %d\n", freed.load());

    o.on_start = [](unsigned worker) {
        if (worker == 1) {
            throw std::runtime_error("no connection for the second one");
        }
        scratch = new int(0);
    };
    try {
        const pilfer::pool impossible(o);
    } catch (const std::runtime_error& e) {
        std::printf("%s; freed: %d\n", e.what(), freed.load());
    }
}
