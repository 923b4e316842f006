#include "trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "table.hpp"

namespace study {
namespace {

constexpr std::uint64_t most_workers = 65'536;
constexpr double most_us = 1e13;                                      // ten million seconds
constexpr std::uint64_t most_ns_of_all = 10'000'000'000'000'000'000U; // of all workers together

/// A moment at which a context starts to wait, or is resumed.
struct turn {
    std::uint64_t when;
    unsigned reason;
    std::uint64_t object;
    unsigned worker;
    std::uint64_t place;
    unsigned name; // of the object
};

[[nodiscard]] doing kind_of(std::string_view name, bool idle, bool cut) {
    if (idle) {
        return doing::asleep;
    }
    if (cut) {
        return doing::cut;
    }
    constexpr std::pair<std::string_view, doing> kinds[] = {{"own", doing::own},
                                                            {"stolen", doing::stolen},
                                                            {"submitted", doing::submitted},
                                                            {"resumed", doing::resumed},
                                                            {"on top", doing::on_top}};
    for (const auto& [start, kind] : kinds) {
        if (name.starts_with(start)) {
            return kind;
        }
    }
    throw std::runtime_error(fmt::format("'{}' is no slice of a trace of pilfer", name));
}

/// One object of `traceEvents`, with its arguments.
struct trace_event {
    std::string phase, name, category, awaited, object_name;
    double us = -1;
    std::uint64_t track = 0, object = 0, context = 0, place = 0;
};

class trace_builder {
public:
    void add(const trace_event& e) {
        if (e.phase == "M") {
            if (e.name == "thread_name") {
                (void)track(e);
            }
            return;
        }
        if (e.phase != "B" && e.phase != "E" && e.phase != "i") {
            throw std::runtime_error(fmt::format("an event has the phase '{}'", e.phase));
        }
        if (!(e.us >= 0 && e.us <= most_us)) {
            throw std::runtime_error(fmt::format("an event has no time from 0 to {} us", most_us));
        }
        const unsigned worker = track(e);
        open& o = m_open[worker];
        const auto now = static_cast<std::uint64_t>(std::llround(e.us * 1000));
        if (now < o.since) {
            throw std::runtime_error(fmt::format("the times of worker {} fall", worker));
        }
        m_last = std::max(m_last, now);
        if (e.phase == "B") {
            close(worker, now);
            o.stack.push_back(kind_of(e.name, e.category == "idle", e.category == "cut"));
            m_trace.tasks += e.category == "run" && !e.name.starts_with("resumed") ? 1 : 0;
            if (e.context != 0) {
                m_contexts[e.context].resumed.push_back(now);
            }
        } else if (e.phase == "E") {
            if (o.stack.empty()) {
                throw std::runtime_error(fmt::format("worker {} ends a slice that it has not begun", worker));
            }
            close(worker, now);
            o.stack.pop_back();
            if (e.context != 0 && !e.awaited.empty()) {
                m_contexts[e.context].waited.push_back({now, number(e.awaited, m_reasons, m_trace.reasons),
                                                        e.object, worker, e.place,
                                                        number(e.object_name, m_names, m_trace.names)});
            }
        }
    }
    [[nodiscard]] recorded_trace finish(std::uint64_t duration, std::uint64_t overwritten,
                                        std::vector<source_line> places) {
        m_trace.places = std::move(places);
        m_trace.places.insert(m_trace.places.begin(), source_line());
        for (unsigned w = 0; w < m_open.size(); ++w) {
            if (!m_open[w].stack.empty()) {
                throw std::runtime_error(fmt::format("worker {} has a slice without an end", w));
            }
        }
        if (m_trace.workers.empty()) {
            throw std::runtime_error("there is no worker in it");
        }
        m_trace.duration = std::max(duration, m_last);
        if (m_trace.duration > most_ns_of_all / m_trace.workers.size()) {
            throw std::runtime_error(fmt::format("its {} workers have more than {} ns together",
                                                 m_trace.workers.size(), most_ns_of_all));
        }
        m_trace.overwritten = overwritten;
        for (auto& [context, all] : m_contexts) {
            match(all);
        }
        std::sort(m_trace.waits.begin(), m_trace.waits.end(), [](const auto& a, const auto& b) {
            return std::tie(a.begin, a.end, a.worker, a.object) <
                   std::tie(b.begin, b.end, b.worker, b.object);
        });
        return std::move(m_trace);
    }

private:
    struct open {
        std::vector<doing> stack;
        std::uint64_t since = 0;
    };
    struct turns {
        std::vector<turn> waited;
        std::vector<std::uint64_t> resumed;
    };

    [[nodiscard]] unsigned track(const trace_event& e) {
        if (e.track < 1 || e.track > most_workers) {
            throw std::runtime_error(fmt::format("an event has no thread from 1 to {}", most_workers));
        }
        if (m_open.size() < e.track) {
            m_open.resize(e.track);
            m_trace.workers.resize(e.track);
        }
        return static_cast<unsigned>(e.track - 1);
    }
    /// The index of a text in `all`.
    [[nodiscard]] static unsigned number(const std::string& text, std::map<std::string, unsigned>& known,
                                         std::vector<std::string>& all) {
        const auto [at, is_new] = known.try_emplace(text, static_cast<unsigned>(all.size()));
        if (is_new) {
            all.push_back(one_line(text));
        }
        return at->second;
    }
    /// Ends the stretch of the innermost slice.
    void close(unsigned worker, std::uint64_t now) {
        open& o = m_open[worker];
        if (!o.stack.empty() && now > o.since) {
            m_trace.workers[worker].push_back({o.since, now, o.stack.back()});
        }
        o.since = now;
    }
    /// Pairs the waits of one context with its resumptions. Each may lack the other one, because rings lose
    /// events.
    void match(turns& t) {
        const auto earlier = [](const turn& a, const turn& b) {
            return std::tie(a.when, a.reason, a.object) < std::tie(b.when, b.reason, b.object);
        };
        std::sort(t.waited.begin(), t.waited.end(), earlier);
        std::sort(t.resumed.begin(), t.resumed.end());
        auto next = t.resumed.begin();
        for (std::size_t i = 0; i < t.waited.size(); ++i) {
            const turn& w = t.waited[i];
            next = std::lower_bound(next, t.resumed.end(), w.when);
            const bool last = i + 1 == t.waited.size();
            std::uint64_t end = w.when;
            if (next != t.resumed.end() && (last || *next <= t.waited[i + 1].when)) {
                end = *next++;
            } else if (last) {
                end = m_trace.duration; // it still waits
            }
            if (w.place >= m_trace.places.size()) {
                throw std::runtime_error(fmt::format("a wait is at place {}, which has no line", w.place));
            }
            m_trace.waits.push_back(
                {w.when, end, w.reason, w.object, w.worker, static_cast<unsigned>(w.place), w.name});
        }
    }

    recorded_trace m_trace;
    std::vector<open> m_open;
    std::map<std::string, unsigned> m_reasons;
    std::map<std::string, unsigned> m_names{{"", 0}};
    std::unordered_map<std::uint64_t, turns> m_contexts;
    std::uint64_t m_last = 0;
};

/// Reads the JSON as it comes: a document of a million events would take gigabytes.
class trace_reader final : public nlohmann::json_sax<nlohmann::json> {
public:
    [[nodiscard]] recorded_trace finish() {
        if (!m_has_events || !m_has_data) {
            throw std::runtime_error("it is no trace of pilfer: it lacks 'traceEvents' or 'otherData'");
        }
        return m_builder.finish(m_duration, m_overwritten, std::move(m_places));
    }
    std::string error;

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t n) override { return put(static_cast<double>(n)); }
    bool number_unsigned(number_unsigned_t n) override { return put(n); }
    bool number_float(number_float_t x, const string_t&) override { return put(x); }
    bool string(string_t& text) override {
        if (!m_in_events) {
            if (m_has_data && m_key == "format" && text != "pilfer-trace 2") {
                throw std::runtime_error(fmt::format(
                    "the format '{}' is not known: this command reads 'pilfer-trace 2' and older ones",
                    text));
            }
            if (!m_places.empty() && m_in_places) {
                if (m_key == "file") {
                    m_places.back().file = one_line(text);
                } else if (m_key == "function") {
                    m_places.back().function = one_line(text);
                }
            }
            return true;
        }
        if (m_depth == event_depth) {
            if (m_key == "ph") {
                m_event.phase = text;
            } else if (m_key == "name") {
                m_event.name = text;
            } else if (m_key == "cat") {
                m_event.category = text;
            }
        } else if (m_depth == event_depth + 1) {
            if (m_key == "for") {
                m_event.awaited = text;
            } else if (m_key == "object_name") {
                m_event.object_name = text;
            }
        }
        return true;
    }
    bool binary(binary_t&) override { return true; }
    bool key(string_t& name) override {
        m_key = name;
        return true;
    }
    bool start_object(std::size_t) override {
        if (m_depth == 1 && m_key == "otherData") {
            m_has_data = true;
        }
        if (++m_depth == event_depth && m_in_events) {
            m_event = trace_event();
        } else if (m_in_places) {
            m_places.emplace_back();
        }
        return true;
    }
    bool end_object() override {
        if (m_depth-- == event_depth && m_in_events) {
            m_builder.add(m_event);
        }
        return true;
    }
    bool start_array(std::size_t) override {
        if (m_depth == 1 && m_key == "traceEvents") {
            m_has_events = true;
            m_in_events = true;
        }
        m_in_places = m_has_data && !m_in_events && m_key == "places";
        ++m_depth;
        return true;
    }
    bool end_array() override {
        m_in_places = false;
        if (--m_depth == 1) {
            m_in_events = false;
        }
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
        error = e.what();
        return false;
    }

private:
    static constexpr unsigned event_depth = 3; // the document, the array, the event

    template <class N>
    bool put(N n) {
        if (m_in_events && m_depth == event_depth) {
            if (m_key == "ts") {
                m_event.us = static_cast<double>(n);
            } else if (m_key == "tid") {
                m_event.track = whole(n);
            }
        } else if (m_in_events && m_depth == event_depth + 1) {
            if (m_key == "object") {
                m_event.object = whole(n);
            } else if (m_key == "context") {
                m_event.context = whole(n);
            } else if (m_key == "place") {
                m_event.place = whole(n);
            }
        } else if (m_in_places && m_key == "line" && !m_places.empty()) {
            m_places.back().line = static_cast<unsigned>(std::min<std::uint64_t>(whole(n), UINT32_MAX));
        } else if (m_has_data && m_key == "duration_ns") {
            m_duration = std::min(whole(n), static_cast<std::uint64_t>(most_us * 1000));
        } else if (m_has_data && m_key == "overwritten") {
            m_overwritten += whole(n);
        }
        return true;
    }
    [[nodiscard]] static std::uint64_t whole(std::uint64_t n) { return n; }
    [[nodiscard]] static std::uint64_t whole(double x) {
        return x >= 0 && x < 9e15 ? static_cast<std::uint64_t>(x) : 0;
    }

    trace_builder m_builder;
    trace_event m_event;
    std::string m_key;
    unsigned m_depth = 0;
    bool m_in_events = false;
    bool m_has_events = false;
    bool m_has_data = false;
    bool m_in_places = false;
    std::vector<source_line> m_places;
    std::uint64_t m_duration = 0;
    std::uint64_t m_overwritten = 0;
};

} // namespace

recorded_trace read_trace(std::istream& in, const std::string& name) {
    trace_reader r;
    std::string why;
    try {
        if (nlohmann::json::sax_parse(in, &r)) {
            return r.finish();
        }
        // The library begins with the number of its error in brackets.
        const std::size_t number = r.error.find("] ");
        why = "it is cut or no JSON: " + r.error.substr(number == std::string::npos ? 0 : number + 2);
    } catch (const std::runtime_error& error) {
        why = error.what();
    }
    throw std::runtime_error(name + ": " + one_line(why));
}

} // namespace study
