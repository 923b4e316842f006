// An exception of a task arrives at the call that awaits it, with its own type.
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <pilfer/pilfer.hpp>

namespace {

void of_a_join() {
    try {
        pilfer::join([] { throw std::out_of_range("the first branch"); }, [] {});
    } catch (const std::out_of_range& e) {
        std::printf("join threw: %s\n", e.what());
    }
}

void of_a_scope() {
    pilfer::scope s;
    s.spawn([] { pilfer::sleep_for(std::chrono::hours(1)); }); // its sibling's failure ends it
    s.spawn([] { throw std::runtime_error("a child"); });
    s.spawn([] {}); // dropped if the failure is known by now
    try {
        s.sync();
    } catch (const std::runtime_error& e) {
        std::printf("sync threw: %s\n", e.what());
    }
    // The scope can be used again.
    bool ran = false;
    s.spawn([&ran] { ran = true; });
    s.sync();
    std::printf("the next child ran: %s\n", ran ? "yes" : "no");
}

void of_a_loop() {
    try {
        pilfer::for_each(0, 100, [](int i) {
            if (i == 42) {
                throw std::invalid_argument("iteration " + std::to_string(i));
            }
        });
    } catch (const std::invalid_argument& e) {
        std::printf("for_each threw: %s\n", e.what());
    }
}

} // namespace

int main() {
    pilfer::pool pool;
    pool.run([] {
        of_a_join();
        of_a_scope();
        of_a_loop();
    });
    try {
        pool.run([] { throw std::logic_error("the task"); });
    } catch (const std::logic_error& e) {
        std::printf("run threw: %s\n", e.what());
    }
}
