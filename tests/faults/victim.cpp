// The program under test: runs one scenario while calls fail, then checks the process.
//
//   victim <scenario>     0 and `outcome: ...` if the scenario ended in one of the documented ways
//   victim --list         the names of all scenarios
//
// Failures are printed to standard error and end with 1: wrong results, undocumented exceptions, a leaked
// thread, block, mapping or descriptor, and a process that can make no pool any more.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <system_error>

#include "faults/inject.h"
#include "faults/watched.hpp"
#include "support/process.hpp"

namespace faults {
namespace {

[[nodiscard]] std::size_t descriptors() {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
        ++n;
    }
    return n;
}

/// Objects that libstdc++ makes once, at first use, would look like a leak.
void use_streams_once() {
    std::ifstream file("/proc/self/cgroup");
    std::string word;
    double number = 0;
    file >> word >> number;
    std::istringstream("1.5") >> number;
    try {
        throw std::system_error(EAGAIN, std::generic_category(), "first");
    } catch (const std::system_error&) {
        number = 0;
    }
    (void)descriptors();
    (void)support::thread_count();
}

/// How a scenario ended; empty: in a way that is none.
[[nodiscard]] std::string run_armed(const scenario& s) {
    std::string wrong;
    const char* how = nullptr;
    pilfer_fault_arm();
    try {
        s.run();
        how = missing != 0 ? "fewer workers"
              : plain      ? "plain calls"
              : unpinned   ? "unpinned"
                           : "as without fault";
    } catch (const std::bad_alloc&) {
        how = "bad_alloc";
    } catch (const std::system_error&) {
        how = "system_error";
    } catch (const refused&) {
        how = "refused";
    } catch (const wrong_result& e) {
        const harness_code harness;
        wrong = e.what;
    } catch (const std::exception& e) {
        const harness_code harness;
        wrong = std::string("exception: ") + e.what();
    }
    pilfer_fault_disarm();
    if (how != nullptr) {
        return how;
    }
    std::fprintf(stderr, "victim: %s\n", wrong.c_str());
    return {};
}

[[nodiscard]] bool nothing_left(const scenario& s, std::size_t descriptors_before) {
    bool clean = true;
    const std::size_t threads = s.uses_common ? pilfer::pool::common().workers() : 0;
    if (!support::threads_become(1 + threads)) {
        std::fprintf(stderr, "victim: %zu threads are left\n", support::thread_count() - 1 - threads);
        clean = false;
    }
    if (const std::size_t now = descriptors(); now != descriptors_before) {
        std::fprintf(stderr, "victim: %zu descriptors before, %zu after\n", descriptors_before, now);
        clean = false;
    }
    // pool::common() is never destroyed, so it keeps its memory by design.
    const pilfer_fault_left left = pilfer_fault_leaks();
    if (!s.uses_common && (left.blocks != 0 || left.mapped != 0)) {
        std::fprintf(stderr, "victim: %ld blocks and %ld mapped bytes are left\n", left.blocks, left.mapped);
        pilfer_fault_name_leaks();
        clean = false;
    }
    return clean;
}

int run(const scenario& s) {
    use_streams_once();
    const std::size_t before = descriptors();
    const std::string outcome = run_armed(s);
    bool right = !outcome.empty();
    // Leaks first: a leaked thread must not be mistaken for one of the pools made next.
    right = nothing_left(s, before) && right;
    try {
        works_again(s.uses_common);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "victim: no pool works afterwards: %s\n", e.what());
        right = false;
    } catch (const wrong_result& e) {
        std::fprintf(stderr, "victim: no pool works afterwards: %s\n", e.what.c_str());
        right = false;
    }
    if (right) {
        std::printf("outcome: %s\nmissing: %u\n", outcome.c_str(), missing.load());
    }
    return right ? 0 : 1;
}

} // namespace
} // namespace faults

int main(int count, char** arguments) {
    using namespace faults;
    const std::string wanted = count == 2 ? arguments[1] : "";
    if (wanted == "--list" || wanted == "--list-broken") {
        const bool broken = wanted == "--list-broken";
        for (const auto list : {broken ? broken_scenarios() : task_scenarios(),
                                broken ? std::span<const scenario>{} : pool_scenarios()}) {
            for (const scenario& s : list) {
                std::printf("%s\n", s.name);
            }
        }
        return 0;
    }
    if (pilfer_fault_arm == nullptr) {
        std::fprintf(stderr, "victim: the injector is not preloaded (LD_PRELOAD)\n");
        return 2;
    }
    for (const auto list : {task_scenarios(), pool_scenarios(), broken_scenarios()}) {
        for (const scenario& s : list) {
            if (wanted == s.name) {
                return run(s);
            }
        }
    }
    std::fprintf(stderr, "usage: victim <scenario> | --list | --list-broken\n");
    return 2;
}
