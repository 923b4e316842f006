// Two tasks wait for each other's results, so neither ends. dump() lists on demand the waiting tasks and what
// each waits for. The pool prints that list once by itself, to standard error, after it has had nothing to
// run for options.debug.stall_report.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>

#include <pilfer/pilfer.hpp>

// Numbers and addresses differ from run to run.
static std::string masked(std::string line) {
    for (const std::string before : {"context ", "0x"}) {
        for (std::size_t at = 0; (at = line.find(before, at)) != std::string::npos; at += 3) {
            const std::size_t end = line.find_first_not_of("0123456789abcdef", at + before.size());
            line.replace(at, end - at, "...");
        }
    }
    return line;
}

int main() {
    pilfer::options o;
    o.workers = 2;
    o.debug.stall_report = 100;       // milliseconds
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
    for (std::istringstream lines(text.str()); lines;) {
        std::string line;
        std::getline(lines, line);
        if (line.find("waits for a future") != std::string::npos &&
            line.find("suspended on worker") == line.npos) {
            std::printf("%s\n", masked(line).c_str());
        }
    }
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(300)); // the pool's own report
    std::_Exit(0);
}
