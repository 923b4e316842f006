#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "common/bench.hpp"

namespace bench {
namespace {

const std::map<std::string, size> size_names{{"tiny", size::tiny},
                                             {"quick", size::quick},
                                             {"medium", size::medium},
                                             {"full", size::full},
                                             {"large", size::large}};

std::string name_of(size s) {
    for (const auto& [name, value] : size_names) {
        if (value == s)
            return name;
    }
    return "?";
}

// VmHWM and not getrusage: the kernel carries ru_maxrss over from the process that called exec, so that
// every small program would report the size of the script that started it.
long peak_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        long kib = 0;
        if (word == "VmHWM:" && status >> kib)
            return kib;
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

} // namespace

command_line parse(int argc, char** argv, std::string_view kernel, std::string_view runtime) {
    command_line line;
    CLI::App app{"Benchmark kernel " + std::string(kernel) + " on " + std::string(runtime)};
    app.add_option("--workers", line.workers, "number of workers")->check(CLI::Range(1, 4096));
    app.add_option("--size", line.size, "size of the problem")
        ->transform(CLI::CheckedTransformer(size_names, CLI::ignore_case));
    app.add_option("--repeat", line.repeat, "timed runs after one warm-up")->check(CLI::Range(1, 1'000'000));
    app.add_flag("--spoil", line.spoil, "falsify the answer, to see the check fail");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? 0 : 2);
    }
    return line;
}

int report(std::string_view kernel, std::string_view runtime, std::string_view compiler,
           const command_line& line, const measurement& result) {
    nlohmann::ordered_json json;
    json["kernel"] = kernel;
    json["runtime"] = runtime;
    json["compiler"] = compiler;
    json["workers"] = line.workers;
    json["size"] = name_of(line.size);
    json["seconds"] = result.seconds;
    if (!result.smallest_share.empty()) {
        json["smallest_share"] = result.smallest_share;
        json["largest_share"] = result.largest_share;
    }
    json["peak_kib"] = peak_kib();
    json["ok"] = result.ok;
    std::visit([&](auto value) { json["answer"] = value; }, result.answer);
    std::puts(json.dump().c_str());
    return result.ok ? 0 : 1;
}

void ensure_stack(char** argv, std::size_t bytes) {
    if (bytes == 0 || std::getenv("BENCH_STACK_SET") != nullptr)
        return;
    rlimit limit{};
    getrlimit(RLIMIT_STACK, &limit);
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur < bytes) {
        limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || limit.rlim_max > bytes ? bytes : limit.rlim_max;
        setrlimit(RLIMIT_STACK, &limit);
    }
    setenv("OMP_STACKSIZE", (std::to_string(bytes / 1024) + "k").c_str(), 1);
    setenv("BENCH_STACK_SET", "1", 1);
    execv("/proc/self/exe", argv);
    std::perror("restart with a larger stack");
    std::exit(2);
}

} // namespace bench
