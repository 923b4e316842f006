#include "timeline.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace showcase {
namespace {

struct slice {
    std::size_t worker = 0;
    activity what = activity::own;
    double begin = 0; // microseconds
    double end = 0;
};

// The outermost slices: a slice inside another one is part of it.
std::vector<slice> outermost(nlohmann::json const& events, std::size_t workers) {
    std::vector<slice> done;
    std::vector<std::vector<slice>> open(workers);
    for (auto const& event : events) {
        std::string const phase = event.at("ph");
        if (phase != "B" && phase != "E")
            continue;
        std::size_t const worker = event.at("tid").get<std::size_t>() - 1;
        double const at = event.at("ts");
        if (phase == "B") {
            bool const idle = event.at("cat") == "idle";
            bool const stolen = event.at("name").get<std::string>().find("stolen") != std::string::npos;
            open.at(worker).push_back(
                {worker, idle ? activity::asleep : (stolen ? activity::stolen : activity::own), at, at});
        } else if (!open.at(worker).empty()) {
            slice const ended = open[worker].back();
            open[worker].pop_back();
            if (open[worker].empty())
                done.push_back({worker, ended.what, ended.begin, at});
        }
    }
    return done;
}

// Adds the slice's time to each part that it touches.
using part_times = std::array<double, 4>; // by activity

void spread(slice const& s, double begin, double length, std::vector<part_times>& parts) {
    double const first = std::clamp((s.begin - begin) / length, 0.0, 1.0) * static_cast<double>(parts.size());
    double const last = std::clamp((s.end - begin) / length, 0.0, 1.0) * static_cast<double>(parts.size());
    for (auto part = static_cast<std::size_t>(first); part < parts.size(); ++part) {
        double const left = std::max(first, static_cast<double>(part));
        double const right = std::min(last, static_cast<double>(part + 1));
        if (right <= left)
            break;
        parts[part].at(static_cast<std::size_t>(s.what)) += right - left;
    }
}

std::vector<activity> strongest(std::vector<part_times>& parts) {
    std::vector<activity> chosen;
    for (part_times& part : parts) {
        part[0] = 1 - part[1] - part[2] - part[3]; // between slices a worker looks for work
        chosen.push_back(static_cast<activity>(std::max_element(part.begin(), part.end()) - part.begin()));
    }
    return chosen;
}

} // namespace

double timeline::share(std::size_t worker, activity what) const {
    auto const& parts = workers.at(worker);
    return static_cast<double>(std::count(parts.begin(), parts.end(), what)) /
           static_cast<double>(parts.size());
}

timeline parse_trace(std::string_view json) {
    timeline made;
    try {
        auto const trace = nlohmann::json::parse(json);
        auto const& other = trace.at("otherData");
        std::size_t const workers = other.at("tracks").size();
        made.thefts = other.at("counters").at("run_stolen");
        made.sleeps = other.at("counters").at("sleeps");
        std::vector<slice> const slices = outermost(trace.at("traceEvents"), workers);
        double begin = 0;
        double end = 0;
        bool any = false;
        for (slice const& s : slices) {
            if (s.what == activity::asleep)
                continue;
            begin = any ? std::min(begin, s.begin) : s.begin;
            end = std::max(end, s.end);
            any = true;
        }
        if (!any || end <= begin) {
            made.failure = "the trace has no tasks";
            return made;
        }
        made.seconds = (end - begin) / 1e6;
        std::vector<std::vector<part_times>> parts(workers, std::vector<part_times>(timeline_parts));
        for (slice const& s : slices)
            spread(s, begin, end - begin, parts.at(s.worker));
        for (auto& of_worker : parts)
            made.workers.push_back(strongest(of_worker));
    } catch (std::exception const& error) {
        made = {};
        made.failure = std::string("the trace cannot be read: ") + error.what();
    }
    return made;
}

} // namespace showcase
