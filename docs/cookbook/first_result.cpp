// The first result wins
//
// Several searches run at once. The first one to call `exit_value` decides the result, and the scope cancels
// the others. A search that sleeps or waits ends at once. One that computes ends at its next fork, join, loop
// or wait.
#include <chrono>
#include <cstdio>
#include <string>

#include <pilfer/pilfer.hpp>

using namespace std::chrono_literals;

int main() {
    pilfer::pool pool;
    pool.run([] {
        pilfer::first_result_scope<std::string> first;
        first.fork([&] {
            pilfer::sleep_for(1h); // a slow mirror
            (void)first.exit_value("slow");
        });
        first.fork([&] {
            pilfer::sleep_for(5ms); // a fast one
            (void)first.exit_value("fast");
        });
        const auto found = first.sync(); // empty if no search has called exit_value
        std::printf("%s\n", found ? found->c_str() : "nothing");
    });
}
