#include "kernels.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "process.hpp"

namespace showcase {
namespace {

std::string program_path(std::string const& kernel, std::string const& runtime) {
    static std::filesystem::path const here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return (here.parent_path() / "bench/bin" / fmt::format("bench-{}-{}", kernel, runtime)).string();
}

// Appends the program's measurements. Returns why they are useless, or an empty text.
std::string take(kernel_report& kernel, row& r, std::string const& output) {
    try {
        auto const line = nlohmann::json::parse(output);
        std::string const answer = line.at("answer").dump();
        if (!line.at("ok").get<bool>())
            return "wrong answer " + answer;
        if (kernel.answer.empty())
            kernel.answer = answer;
        if (answer != kernel.answer)
            return fmt::format("wrong answer {} instead of {}", answer, kernel.answer);
        auto const seconds = line.at("seconds").get<std::vector<double>>();
        r.seconds.insert(r.seconds.end(), seconds.begin(), seconds.end());
        return seconds.empty() ? "gave no measurement" : "";
    } catch (nlohmann::json::exception const&) {
        return "gave no measurement";
    }
}

} // namespace

kernel_report kernel_rows(std::string kernel, std::vector<std::string> const& runtimes,
                          std::vector<unsigned> const& workers) {
    kernel_report made{std::move(kernel), {}, {}};
    for (std::string const& runtime : runtimes) {
        if (::access(program_path(made.name, runtime).c_str(), X_OK) != 0)
            continue;
        for (unsigned const count : runtime == "serial" ? std::vector<unsigned>{1} : workers)
            made.rows.push_back({runtime, {}, 0, {}, count});
    }
    return made;
}

void run_kernel(kernel_report& kernel, row& r, unsigned repeat, std::function<void()> const& tick) {
    command c;
    c.arguments = {program_path(kernel.name, r.runtime),
                   "--size",
                   "quick",
                   "--repeat",
                   std::to_string(repeat),
                   "--workers",
                   std::to_string(r.workers)};
    finished const end = run_process(c, tick);
    r.peak_bytes = std::max(r.peak_bytes, end.peak_bytes);
    std::string failure = end.failure.empty() ? take(kernel, r, end.output) : end.failure;
    if (r.failure.empty())
        r.failure = std::move(failure);
}

std::vector<unsigned> worker_counts(unsigned highest) {
    std::vector<unsigned> counts;
    for (unsigned count = 1; count < highest; count *= 2)
        counts.push_back(count);
    counts.push_back(highest);
    return counts;
}

} // namespace showcase
