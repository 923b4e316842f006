// Two tasks lock two mutexes in opposite orders, so neither ends. Names of the tasks and of the mutexes make
// the message on standard error, pool.dump() and `pilfer top` readable.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <sstream>
#include <string>

#include <pilfer/pilfer.hpp>

struct table {
    explicit table(const char* called) : name(rows, called) {}
    pilfer::mutex rows;
    pilfer::object_name name; // after the mutex, so that it ends first
};

static table accounts("accounts");
static table audit_log("audit log");
static pilfer::barrier both_hold(2);

static void lock_both(table& first, table& second) {
    const std::lock_guard outer(first.rows);
    both_hold.arrive_and_wait();
    const std::lock_guard inner(second.rows); // for ever
}

int main() {
    auto* pool = new pilfer::pool({.workers = 2}); // never destroyed: its tasks never end
    pool->submit({.name = "transfer money"}, [] { lock_both(accounts, audit_log); });
    pool->submit({.name = "close account"}, [] { lock_both(audit_log, accounts); });

    std::string text;
    for (const char* name : {"a mutex (\"accounts\", ", "a mutex (\"audit log\", "}) {
        while (text.find(name) == std::string::npos) {
            std::ostringstream out;
            pool->dump(out);
            text = out.str();
        }
    }
    std::set<std::string> waits; // sorted
    for (std::istringstream lines(text); std::getline(lines, text);) {
        if (text.find("suspended on worker") != std::string::npos) { // without numbers, which differ
            const auto words = [&text](const char* from, const char* to) {
                const std::size_t at = text.find(from);
                return text.substr(at, text.find(to, at) - at);
            };
            waits.insert(words("\"", ", suspended") + " " + words("waits for", ", 0x") + ")");
        }
    }
    for (const std::string& wait : waits) {
        std::printf("%s\n", wait.c_str());
    }
    std::fflush(stdout);
    std::_Exit(0);
}
