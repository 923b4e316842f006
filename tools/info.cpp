// pilfer info: the features of this machine and the library's decisions, a line each.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "balance/text.hpp"
#include "commands.hpp"
#include "machine.hpp"
#include "machine/detect.hpp"
#include "machine/plan.hpp"
#include "platform/cpus.hpp"
#include "platform/os.hpp"
#include "platform/pressure.hpp"
#include "pool/environment.hpp"

namespace tools {
namespace {

namespace machine = pilfer::machine;
namespace os = pilfer::os;
using numbers = std::vector<unsigned>;

struct info_settings {
    unsigned workers = 0;
    std::string pin;
    std::string other; // another machine
};

/// "0-3,8"
[[nodiscard]] std::string ranges(numbers const& ascending) {
    std::string text;
    for (std::size_t first = 0, last = 0; first < ascending.size(); first = last) {
        for (last = first + 1; last < ascending.size() && ascending[last] == ascending[last - 1] + 1;) {
            ++last;
        }
        text += fmt::format("{}{}", text.empty() ? "" : ",", ascending[first]);
        if (last - first > 1) {
            text += fmt::format("-{}", ascending[last - 1]);
        }
    }
    return text;
}

[[nodiscard]] std::string counted(std::size_t n, char const* noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

[[nodiscard]] std::string describe(machine::topology const& cpus) {
    machine::extent const e = machine::extent_of(cpus);
    return fmt::format("{}, {}, {}, {}, {}, {}, {}", counted(e.packages, "package"),
                       counted(e.nodes, "memory node"), counted(e.caches3, "third-level cache"),
                       counted(e.caches2, "second-level cache"), counted(e.cores, "core"),
                       counted(cpus.size(), "CPU"), counted(e.speeds, "kind") + " of cores");
}

/// A file, else a synthetic description.
[[nodiscard]] machine::topology read_other(std::string const& what) {
    auto const cpus =
        access(what.c_str(), R_OK) == 0 ? machine::read_file(what) : machine::read_synthetic(what);
    if (!cpus) {
        throw CLI::ValidationError(
            "--machine", fmt::format("'{}' is neither a file of hwloc's XML nor a description such as "
                                     "\"package:2 core:4 pu:2\" ({})",
                                     what, machine::reader()));
    }
    return *cpus;
}

[[nodiscard]] std::string balance_in_force() {
    pilfer::balance_options o;
    pilfer::balance::resolve(o, std::getenv("PILFER_BALANCE"));
    return pilfer::balance::name(o);
}

[[nodiscard]] char const* source(char const* option, std::string const& asked, char const* variable) {
    return !asked.empty() ? option : std::getenv(variable) != nullptr ? variable : "the default";
}

/// The reason for the number of workers.
[[nodiscard]] char const* reason(info_settings const& s, std::optional<unsigned> quota) {
    if (s.workers != 0) {
        return "--workers";
    }
    if (!s.other.empty()) {
        return "the CPUs of --machine";
    }
    if (std::getenv("PILFER_WORKERS") != nullptr) {
        return "PILFER_WORKERS";
    }
    return quota && *quota < os::affinity_cpus() ? "the quota, which is less than the affinity mask"
                                                 : "the affinity mask";
}

/// Asked on a thread of its own, for it may be granted.
[[nodiscard]] std::string priorities() {
    int const now = os::nice_of(0);
    bool raised = false;
    std::thread([&] { raised = os::make_nice(now - 1); }).join();
    return fmt::format("nice {}; a higher priority is {}", now,
                       raised ? "granted" : "refused (see RLIMIT_NICE)");
}

int run_info(info_settings const& s) {
    bool const here = s.other.empty();
    numbers const mask = os::affinity_mask();
    std::optional<machine::topology> const whole = here ? machine::read_machine() : read_other(s.other);
    machine::topology const cpus = !here   ? *whole
                                   : whole ? machine::within(*whole, mask)
                                           : machine::flat(mask);
    auto const how = machine::pinning_from(s.pin.empty() ? std::getenv("PILFER_PIN") : s.pin.c_str());
    unsigned const workers = s.workers != 0 ? s.workers
                             : here         ? os::automatic_workers()
                                            : static_cast<unsigned>(cpus.size());
    auto const quota = os::cgroup_cpus("");
    machine::seating const seats = machine::seat(workers, workers, how, cpus);
    machine_facts const facts = look_at_machine();

    fmt::print("pilfer: " PILFER_TOOL_VERSION "\n");
    fmt::print("workers: {}\n", workers);
    fmt::print("workers because of: {}\n", reason(s, quota));
    if (here) {
        fmt::print("CPUs: {} online\n", sysconf(_SC_NPROCESSORS_ONLN));
        fmt::print("affinity mask: {}\n", mask.empty() ? "unknown" : ranges(mask));
        fmt::print("quota: {}\n", quota ? counted(*quota, "CPU") : "none");
    }
    fmt::print("reader: {}\n", machine::reader());
    fmt::print("topology: {}\n", whole ? describe(cpus) : "unknown, so every CPU counts as a core");
    fmt::print("pinning: {}\n", machine::name(seats.how));
    fmt::print("CPUs by worker: {}\n",
               seats.cpu.empty() ? "any" : fmt::format("{}", fmt::join(seats.cpu, " ")));
    fmt::print("pinning because of: {}\n", source("--pin", s.pin, "PILFER_PIN"));
    fmt::print("balance: {}\n", balance_in_force());
    fmt::print("balance because of: {}\n", source("", "", "PILFER_BALANCE"));
    fmt::print("stack: {} bytes\n", pilfer::detail::stack_from(std::getenv("PILFER_STACK")));
    fmt::print("stack because of: {}\n", source("", "", "PILFER_STACK"));
    fmt::print("spin: {}\n", pilfer::detail::name(pilfer::detail::spin_from(std::getenv("PILFER_SPIN"))));
    fmt::print("spin because of: {}\n", source("", "", "PILFER_SPIN"));
    if (here) {
        fmt::print("governor: {}\n", os::waited_ns("", os::thread_id())
                                         ? os::stalled_ns("") ? "can measure: schedstat and pressure"
                                                              : "can measure: schedstat, no pressure"
                                         : "off: this kernel keeps no schedstat");
        fmt::print("priority: {}\n", priorities());
        fmt::print("kernel: {}\n", facts.kernel);
        fmt::print("membarrier: {}\n", facts.membarrier);
        fmt::print("guards: {}\n", facts.guards);
        fmt::print("stacks: {}\n", facts.stacks);
    }
    return exit_good;
}

} // namespace

void add_info(CLI::App& app, int& code) {
    auto const s = std::make_shared<info_settings>();
    CLI::App* const c = app.add_subcommand(
        "info", "Prints the features of the machine and the library's decisions: workers, pinning.");
    c->add_option("--workers", s->workers,
                  "decisions for a pool of so many workers (default: the automatic number)")
        ->check(CLI::Range(1, 4096));
    c->add_option("--pin", s->pin,
                  "decisions for this pinning: off, compact, spread (default: PILFER_PIN, or off)")
        ->check(CLI::IsMember({"off", "compact", "spread"}));
    c->add_option(
        "--machine", s->other,
        "decisions on another machine: an XML file of hwloc (lstopo --of xml), or a description such as "
        "\"package:2 core:4 pu:2\"");
    c->callback([s, &code] { code = run_info(*s); });
}

} // namespace tools
