// A written trace, read back: every rule of the format is checked on the way.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace support {

/// One line of a track as the tests compare it: `own spark`, `stolen forked victim=1`, `expose tasks=3`; of
/// an end, how it ended: `suspended`.
struct line {
    std::string text;
    double ts = 0;
    char phase = ' ';
};

class document {
public:
    explicit document(const std::string& text) : m_json(nlohmann::json::parse(text)) { read(); }

    /// Of one track; `instants` false: slices only.
    [[nodiscard]] std::vector<std::string> track(std::size_t worker, bool instants = true) const {
        std::vector<std::string> texts;
        for (const line& l : m_tracks.at(worker)) {
            if (instants || l.phase != 'i') {
                texts.push_back(l.text);
            }
        }
        return texts;
    }
    /// One track with times and phases.
    [[nodiscard]] const std::vector<line>& lines(std::size_t worker) const { return m_tracks.at(worker); }
    [[nodiscard]] std::size_t tracks() const { return m_tracks.size(); }
    [[nodiscard]] std::uint64_t events() const {
        std::uint64_t n = 0;
        for (const auto& [worker, lines] : m_tracks) {
            n += lines.size();
        }
        return n;
    }
    /// How many lines of all tracks begin like this.
    [[nodiscard]] std::uint64_t count(const std::string& start) const {
        std::uint64_t n = 0;
        for (const auto& [worker, lines] : m_tracks) {
            for (const line& l : lines) {
                n += l.text.rfind(start, 0) == 0;
            }
        }
        return n;
    }
    /// Sum of an argument over all events of a name.
    [[nodiscard]] std::uint64_t sum(const std::string& name, const std::string& argument) const {
        std::uint64_t n = 0;
        for (const auto& e : m_json.at("traceEvents")) {
            if (e.value("name", "") == name) {
                n += e.at("args").at(argument).get<std::uint64_t>();
            }
        }
        return n;
    }
    [[nodiscard]] std::uint64_t counter(const std::string& name) const {
        return m_json.at("otherData").at("counters").at(name).get<std::uint64_t>();
    }
    [[nodiscard]] std::uint64_t overwritten() const {
        std::uint64_t n = 0;
        for (const auto& t : m_json.at("otherData").at("tracks")) {
            n += t.at("overwritten").get<std::uint64_t>();
        }
        return n;
    }
    [[nodiscard]] const nlohmann::json& json() const { return m_json; }

private:
    void read() {
        std::map<std::uint64_t, std::size_t> worker_of;
        std::map<std::uint64_t, double> last;
        std::map<std::uint64_t, std::vector<std::string>> open;
        for (const auto& e : m_json.at("traceEvents")) {
            const auto phase = e.at("ph").get<std::string>();
            ASSERT_EQ(phase.size(), 1U);
            if (phase == "M") {
                name(e, worker_of);
                continue;
            }
            const auto tid = e.at("tid").get<std::uint64_t>();
            ASSERT_TRUE(worker_of.contains(tid)) << "an event before its track has a name";
            const auto ts = e.at("ts").get<double>();
            EXPECT_GE(ts, last[tid]) << "times fall";
            last[tid] = ts;
            if (phase == "B") {
                open[tid].push_back(e.at("name"));
                EXPECT_LE(open[tid].size(), 64U);
            } else if (phase == "E") {
                ASSERT_FALSE(open[tid].empty()) << "an end without a begin at " << ts;
                open[tid].pop_back();
            } else {
                ASSERT_EQ(phase, "i");
                EXPECT_EQ(e.at("s").get<std::string>(), "t");
            }
            m_tracks[worker_of[tid]].push_back({text_of(e), ts, phase[0]});
        }
        for (const auto& [tid, slices] : open) {
            EXPECT_TRUE(slices.empty()) << "no end for " << slices.back();
        }
    }
    void name(const nlohmann::json& e, std::map<std::uint64_t, std::size_t>& worker_of) {
        if (e.at("name").get<std::string>() != "thread_name") {
            return;
        }
        const auto name = e.at("args").at("name").get<std::string>();
        ASSERT_EQ(name.rfind("pilfer/", 0), 0U);
        const std::size_t worker = std::stoul(name.substr(7));
        worker_of[e.at("tid").get<std::uint64_t>()] = worker;
        m_tracks[worker]; // also for an empty track
    }
    [[nodiscard]] static std::string text_of(const nlohmann::json& e) {
        if (e.at("ph") == "E") {
            return e.at("args").at("end");
        }
        std::string text = e.at("name");
        if (e.contains("args")) {
            for (const auto& [key, value] : e.at("args").items()) {
                if (key != "context") { // an address, in short
                    text += " " + key + "=" + std::to_string(value.get<std::uint64_t>());
                }
            }
        }
        return text;
    }

    nlohmann::json m_json;
    std::map<std::size_t, std::vector<line>> m_tracks;
};

[[nodiscard]] inline document written(const pilfer::pool& pool) {
    std::ostringstream out;
    pilfer::write_trace(pool, out);
    return document(out.str());
}

[[nodiscard]] inline pilfer::options traced(unsigned workers, std::size_t events = 1 << 16) {
    pilfer::options o;
    o.workers = workers;
    o.debug.trace_events = events;
    return o;
}

} // namespace support
