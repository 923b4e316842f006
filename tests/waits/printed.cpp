// For the gdb script's test: one object of each printed type, in a known state; then the program stops
// itself.
#include <unistd.h>

#include <csignal>
#include <thread>

#include <pilfer/pilfer.hpp>

namespace {

struct shown {
    pilfer::pool pool{{.workers = 2, .debug = {.stall_report = 0}}};
    pilfer::mutex held;
    pilfer::object_name held_name{held, "accounts"};
    pilfer::mutex free_one;
    pilfer::monitor<int> gate{0};
    pilfer::synchronized<int> table{5};
    pilfer::synchronized<int, pilfer::shared_mutex> shared_table{6};
    pilfer::synchronized<int, pilfer::shared_mutex> written{7};
    pilfer::synchronized<int, pilfer::shared_mutex> read{8};
    pilfer::shared_mutex shared;
    pilfer::shared_mutex alone;
    pilfer::channel<int> full{1};
    pilfer::event unset;
    pilfer::latch three{3};
    pilfer::barrier<> two{2};
    pilfer::counting_semaphore<> none{0};
    pilfer::promise<int> promised;
    pilfer::future<int> later = promised.get_future();
    pilfer::future<int> done;
    pilfer::future<int> empty;
    pilfer::graph idle_graph;
    pilfer::task<int> no_task;
    pilfer::scope* children = nullptr;

    void wait() {
        const auto task = [this](const char* name, auto f) { pool.submit({.name = name}, f); };
        task("owner", [this] {
            held.lock();
            shared.lock_shared();
            alone.lock();
            written.call([this](int&) {
                read.read([this](const int&) { table.call([this](int&) { unset.wait(); }); });
            });
        });
        task("keeper", [this] {
            pilfer::scope here;
            children = &here;
            here.spawn([this] { unset.wait(); });
            here.sync();
        });
        await_suspended(3);
        task("suitor", [this] { held.lock(); });
        task("sender", [this] {
            (void)full.send(1);
            (void)full.send(2);
        });
        task("guest", [this] { gate.call_when([](int n) { return n != 0; }, [](int&) {}); });
        task("reader", [this] { (void)later.get(); });
        done = pool.async([] { return 1; });
        (void)done.get();
        await_suspended(7);
    }

private:
    void await_suspended(std::uint64_t n) const {
        for (;;) {
            const pilfer::counters c = pool.counters();
            if (c.suspends - c.resumes == n) {
                return;
            }
            std::this_thread::yield();
        }
    }
};

} // namespace

int main() {
    static shown& s = *new shown;
    s.wait();
    std::raise(SIGTRAP);
    _exit(0);
}
