#include "child.hpp"

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "models.hpp"

namespace showcase {

outcome run_job(job const& what) {
    if (what.runtime == "serial")
        return run_serial(what);
    if (what.runtime == "pilfer")
        return run_pilfer(what);
    if (what.runtime == "tbb")
        return run_tbb(what);
    if (what.runtime == "openmp")
        return run_openmp(what);
    if (what.runtime == "std")
        return run_std(what);
    throw std::invalid_argument("no runtime is called " + what.runtime);
}

command child_command(job const& what) {
    command c;
    c.arguments = {"/proc/self/exe",
                   "--child",
                   what.program,
                   what.runtime,
                   std::to_string(what.workers),
                   std::to_string(what.stack_size),
                   what.input};
    c.stack_size = what.stack_size;
    // libgomp and libomp read it when they are loaded. "B": bytes.
    if (what.stack_size != 0)
        c.environment.emplace_back("OMP_STACKSIZE", std::to_string(what.stack_size) + "B");
    return c;
}

int child_main(std::vector<std::string> const& words) {
    try {
        if (words.size() != 5)
            throw std::invalid_argument("--child takes five words");
        job what;
        what.program = words[0];
        what.runtime = words[1];
        what.workers = static_cast<unsigned>(std::stoul(words[2]));
        what.stack_size = std::stoul(words[3]);
        what.input = words[4];

        outcome const done = run_job(what);
        nlohmann::json listed = nlohmann::json::array();
        for (problem const& p : done.listed)
            listed.push_back({{"path", p.path}, {"reason", p.reason}});
        nlohmann::json const line = {{"seconds", done.seconds},   {"result", done.result},
                                     {"items", done.items},       {"bytes", done.bytes},
                                     {"problems", done.problems}, {"listed", listed}};
        // File names need not be UTF-8, JSON has to be.
        std::string const text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        if (std::puts(text.c_str()) < 0 || std::fflush(stdout) != 0)
            throw std::runtime_error("cannot write the outcome");
        return 0;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}

std::optional<outcome> parse_outcome(std::string const& line) {
    try {
        auto const value = nlohmann::json::parse(line);
        outcome done;
        done.seconds = value.at("seconds");
        done.result = value.at("result");
        done.items = value.at("items");
        done.bytes = value.at("bytes");
        done.problems = value.at("problems");
        for (auto const& p : value.at("listed"))
            done.listed.push_back({p.at("path"), p.at("reason")});
        return done;
    } catch (nlohmann::json::exception const&) {
        return std::nullopt;
    }
}

} // namespace showcase
