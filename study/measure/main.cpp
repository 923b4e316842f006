// pilfer-measure WHAT ROUNDS OUTPUT COSTS [WORKERS...]: the arguments that `pilfer` passes on, "-" for a
// default.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>

#include "measure.hpp"

namespace {

void run(std::span<const std::string> words) {
    if (words.size() < 4 || (words[0] != "calibrate" && words[0] != "validate")) {
        throw std::runtime_error("is started by `pilfer calibrate` and `pilfer study --validate`");
    }
    const auto rounds = static_cast<unsigned>(std::stoul(words[1]));
    if (words[0] == "calibrate") {
        const std::string json = study::to_json(measure::calibrate(rounds));
        if (words[2] == "-") {
            fmt::print("{}", json);
            return;
        }
        std::ofstream out(words[2]);
        out << json;
        out.close();
        if (!out) {
            throw std::runtime_error(words[2] + ": cannot be written");
        }
        return;
    }
    std::vector<unsigned> workers;
    for (const std::string& w : words.subspan(4)) {
        workers.push_back(static_cast<unsigned>(std::stoul(w)));
    }
    // Without constants from a file they are measured now: those of another machine would prove nothing.
    measure::validate(words[3] == "-" ? measure::calibrate(15) : study::read_costs(words[3]), workers,
                      rounds);
}

} // namespace

int main(int count, char** arguments) {
    try {
        const std::vector<std::string> words(arguments + 1, arguments + count);
        run(words);
        if (std::fflush(stdout) != 0) {
            throw std::system_error(errno, std::generic_category(), "standard output");
        }
    } catch (const std::exception& error) {
        fmt::print(stderr, "pilfer-measure: {}\n", error.what());
        return 1;
    }
    return 0;
}
