// Two tasks wait for each other's results, so neither ends. dump() tells on demand who waits for what; the
// pool itself reports it too, once, to standard error, after it has had nothing to run for
// options.stall_report.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <thread>

#include <pilfer/pilfer.hpp>

int main() {
    pilfer::options o;
    o.workers = 2;
    o.stall_report = 100;             // milliseconds
    auto* pool = new pilfer::pool(o); // never destroyed: its tasks never end

    static pilfer::future<int> price;
    static pilfer::future<int> tax;
    static std::atomic<int> begun = 0; // so that neither runs the other on top of itself
    const auto both_run = [] {
        ++begun;
        while (begun < 3) {
            std::this_thread::yield();
        }
    };
    price = pool->async([=] {
        both_run();
        return tax.get() + 100;
    });
    tax = pool->async([=] {
        both_run();
        return price.get() / 10;
    });
    ++begun;

    while (pool->counters().suspends < 2) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::ostringstream text;
    pool->dump(text);
    const std::regex address("0x[0-9a-f]+|context [0-9]+");
    for (std::istringstream lines(text.str()); lines;) {
        std::string line;
        std::getline(lines, line);
        if (line.find("waits for a future") != std::string::npos &&
            line.find("suspended on worker") == line.npos) {
            std::printf("%s\n", std::regex_replace(line, address, "...").c_str());
        }
    }
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(300)); // the pool's own report
    std::_Exit(0);
}
