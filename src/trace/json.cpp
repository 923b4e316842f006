#include "trace/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "platform/os.hpp"
#include "platform/ticks.hpp"

namespace pilfer {
inline namespace v0 {
namespace trace {
namespace {

constexpr std::array task_names = {"spark", "continuation", "forked", "submission"};

/// The entry in the file for one kind of event.
struct entry {
    enum shape { begin, end, instant } shape;
    const char* name; // of ends: how the slice ended
    const char* who;  // name of the argument, or null
    const char* n;    // name of the argument, or null
    bool with_task;   // the task is part of the name
    bool nested;      // on top of another slice
};

constexpr entry entries[kinds_of_event] = {
    {entry::begin, "own", nullptr, nullptr, true, false},
    {entry::begin, "stolen", "victim", "tasks", true, false},
    {entry::begin, "submitted", nullptr, nullptr, true, false},
    {entry::begin, "resumed here", nullptr, "context", false, false},
    {entry::begin, "resumed anywhere", nullptr, "context", false, false},
    {entry::begin, "resumed next", nullptr, "context", false, false},
    {entry::begin, "resumed again", nullptr, "context", false, false},
    {entry::begin, "on top: own", nullptr, nullptr, true, true},
    {entry::begin, "on top: stolen", "victim", nullptr, true, true},
    {entry::begin, "on top: submitted", nullptr, nullptr, true, true},
    {entry::begin, "sleep", nullptr, nullptr, false, false},
    {entry::begin, "nap", nullptr, nullptr, false, false},
    {entry::end, "ended", nullptr, nullptr, false, false},
    {entry::end, "suspended", nullptr, nullptr, false, false},
    {entry::end, "ended", nullptr, nullptr, false, true},
    {entry::end, "awake", nullptr, nullptr, false, false},
    {entry::instant, "missed steals", "failed", "lost", false, false},
    {entry::instant, "force expose", "victim", nullptr, false, false},
    {entry::instant, "expose", nullptr, "tasks", false, false},
    {entry::instant, "wake", "worker", nullptr, false, false},
    {entry::instant, "plain call", nullptr, nullptr, false, false},
    {entry::instant, "yield", nullptr, nullptr, false, false},
    {entry::instant, "place", nullptr, nullptr, false, false}, // never written: it is a part of the next wait
    {entry::instant, "object name", nullptr, nullptr, false, false}, // likewise
};

[[nodiscard]] const entry& entry_of(const event& e) noexcept {
    return entries[std::min(static_cast<unsigned>(e.what), kinds_of_event - 1)];
}

/// Text that is written in pieces. Not by the stream's own formatting: a locale of the program may group
/// digits.
class text {
public:
    explicit text(std::ostream& out) : m_out(out) {}
    text& operator<<(std::string_view s) {
        m_text += s;
        if (m_text.size() > 1U << 16) {
            flush();
        }
        return *this;
    }
    text& operator<<(std::uint64_t n) {
        char digits[20];
        const auto end = std::to_chars(digits, digits + sizeof digits, n).ptr;
        return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
    }
    text& operator<<(char) = delete; // would be written as a number
    void flush() {
        m_out.write(m_text.data(), static_cast<std::streamsize>(m_text.size()));
        m_text.clear();
    }

private:
    std::ostream& m_out;
    std::string m_text;
};

/// Converts ticks to nanoseconds since the document's begin, by the two moments.
class timeline {
public:
    explicit timeline(const document& d)
        : m_begin(d.begin.ticks),
          m_rate(d.end.ticks > d.begin.ticks ? static_cast<double>(d.end.ns - d.begin.ns) /
                                                   static_cast<double>(d.end.ticks - d.begin.ticks)
                                             : 1.0) {}
    [[nodiscard]] std::uint64_t at(std::uint64_t ticks) const noexcept {
        return ticks <= m_begin ? 0
                                : static_cast<std::uint64_t>(static_cast<double>(ticks - m_begin) * m_rate);
    }

private:
    std::uint64_t m_begin;
    double m_rate;
};

/// The places of all tracks, each source once. The file counts them from 1.
class place_table {
public:
    explicit place_table(const std::vector<std::vector<source_place>>& tracks) {
        for (const auto& track : tracks) {
            auto& numbers = m_numbers.emplace_back();
            for (const source_place& p : track) {
                const auto at = std::find(m_all.begin(), m_all.end(), p);
                numbers.push_back(p == source_place() ? 0
                                                      : static_cast<std::uint64_t>(at - m_all.begin()) + 1);
                if (numbers.back() > m_all.size()) {
                    m_all.push_back(p);
                }
            }
        }
    }
    /// 0: not known.
    [[nodiscard]] std::uint64_t number(std::uint64_t track, std::uint32_t place) const noexcept {
        return track < m_numbers.size() && place < m_numbers[track].size() ? m_numbers[track][place] : 0;
    }
    void write(text& out) const {
        std::string_view separator;
        for (const source_place& p : m_all) {
            out << separator << "{\"file\":" << quoted(p.file) << ",\"line\":" << std::uint64_t{p.line}
                << ",\"function\":" << quoted(p.function) << "}";
            separator = ",";
        }
    }

private:
    std::vector<source_place> m_all;
    std::vector<std::vector<std::uint64_t>> m_numbers;
};

class track_writer {
public:
    track_writer(text& out, const timeline& time, const place_table& places, const document& d,
                 std::uint64_t process, std::uint64_t track)
        : m_out(out), m_time(time), m_places(places), m_names(d.object_names), m_process(process),
          m_track(track) {}

    void write(const excerpt& e, std::uint64_t end_ticks) {
        name_track();
        if (begins_in_the_middle(e.events)) {
            step(e.events.front().ticks);
            open_cut();
        }
        for (const event& each : e.events) {
            step(each.ticks);
            add(each);
        }
        step(end_ticks);
        close_down_to(0, "cut");
    }

private:
    /// True if the first slice that ends has no begin.
    [[nodiscard]] static bool begins_in_the_middle(const std::vector<event>& events) {
        const auto first = std::find_if(events.begin(), events.end(), [](const event& e) {
            return entry_of(e).shape != entry::instant && !entry_of(e).nested;
        });
        return first != events.end() && entry_of(*first).shape == entry::end;
    }
    /// Advances the time. A thread that moved to another core may read a counter that is late: then the time
    /// does not change.
    void step(std::uint64_t ticks) { m_now = std::max(m_now, m_time.at(ticks)); }

    void add(const event& e) {
        const entry& kind = entry_of(e);
        if (e.what == what::place) {
            m_place = m_places.number(m_track, e.who);
            return;
        }
        if (e.what == what::object_name) {
            m_name = m_track < m_names.size() && e.who < m_names[m_track].size() ? &m_names[m_track][e.who]
                                                                                 : nullptr;
            return;
        }
        switch (kind.shape) {
        case entry::begin:
            if (!kind.nested) {
                close_down_to(0, "cut"); // only if an end was lost
            } else if (m_depth == 0) {
                open_cut();
            }
            open(e, kind);
            break;
        case entry::end:
            // A frame on top may have begun on another worker, below a wait: then there is nothing to end.
            if (!kind.nested) {
                close_down_to(0, kind.name, e.what == what::suspended ? &e : nullptr);
            } else if (m_depth > 1) {
                close_down_to(m_depth - 1, kind.name);
            }
            break;
        case entry::instant:
            head('i') << ",\"s\":\"t\",\"name\":\"" << kind.name << "\"";
            arguments(e, kind);
            m_out << "}";
            break;
        }
    }
    /// A slice whose begin was overwritten.
    void open_cut() {
        ++m_depth;
        head('B') << R"(,"cat":"cut","name":"cut"})";
    }
    void open(const event& e, const entry& kind) {
        const bool idle = e.what == what::sleep || e.what == what::nap;
        ++m_depth;
        head('B') << R"(,"cat":")" << (idle ? "idle" : "run") << R"(","name":")" << kind.name;
        if (kind.with_task) {
            m_out << " " << task_name(e);
        }
        m_out << "\"";
        arguments(e, kind);
        m_out << "}";
    }
    /// `wait`: the event of a context that suspends, else null.
    void close_down_to(unsigned depth, std::string_view how, const event* wait = nullptr) {
        for (; m_depth > depth; --m_depth) {
            // When a frame leaves, everything on top of it leaves, too.
            head('E') << R"(,"args":{"end":")" << (m_depth > depth + 1 ? "context " : "") << how << R"(")";
            if (m_depth == depth + 1 && wait != nullptr) {
                const char* const why = reason(static_cast<unsigned>(wait->task));
                m_out << R"(,"for":")" << std::string_view(why != nullptr ? why : "its turn")
                      << R"(","object":)" << std::uint64_t{wait->who} << R"(,"context":)"
                      << std::uint64_t{wait->n};
                if (const std::string* const name = std::exchange(m_name, nullptr); name != nullptr) {
                    m_out << ",\"object_name\":" << quoted(*name);
                }
                if (const std::uint64_t place = std::exchange(m_place, 0); place != 0) {
                    m_out << ",\"place\":" << place;
                }
            }
            m_out << "}}";
        }
    }
    void arguments(const event& e, const entry& kind) {
        std::string_view separator = R"(,"args":{)";
        const auto put = [&](const char* name, std::uint64_t value) {
            if (name != nullptr) {
                m_out << separator << "\"" << name << "\":" << value;
                separator = ",";
            }
        };
        put(kind.who, e.who);
        put(kind.n, e.n);
        if (separator == ",") {
            m_out << "}";
        }
    }
    [[nodiscard]] static std::string_view task_name(const event& e) {
        return task_names[std::min(static_cast<std::size_t>(e.task), task_names.size() - 1)];
    }
    text& head(char phase) {
        const char fraction[] = {static_cast<char>('0' + m_now % 1000 / 100),
                                 static_cast<char>('0' + m_now % 100 / 10),
                                 static_cast<char>('0' + m_now % 10)};
        // Microseconds with three decimals.
        return m_out << ",\n{\"ph\":\"" << std::string_view(&phase, 1) << R"(","pid":)" << m_process
                     << ",\"tid\":" << m_track + 1 << ",\"ts\":" << m_now / 1000 << "."
                     << std::string_view(fraction, sizeof fraction);
    }
    void name_track() {
        m_out << ",\n{\"ph\":\"M\",\"pid\":" << m_process << ",\"tid\":" << m_track + 1
              << R"(,"name":"thread_name","args":{"name":"pilfer/)" << m_track << "\"}}";
        m_out << ",\n{\"ph\":\"M\",\"pid\":" << m_process << ",\"tid\":" << m_track + 1
              << R"(,"name":"thread_sort_index","args":{"sort_index":)" << m_track << "}}";
    }

    text& m_out;
    const timeline& m_time;
    const place_table& m_places;
    const std::vector<std::vector<std::string>>& m_names;
    std::uint64_t m_place = 0;           // of the wait that comes next
    const std::string* m_name = nullptr; // of its object
    std::uint64_t m_process;
    std::uint64_t m_track;
    std::uint64_t m_now = 0;
    unsigned m_depth = 0;
};

void write_counters(text& out, const counters& c) {
    const std::pair<const char*, std::uint64_t> all[] = {
        {"run_own", c.run_own},
        {"run_submitted", c.run_submitted},
        {"run_stolen", c.run_stolen},
        {"tasks_stolen", c.tasks_stolen},
        {"run_resumed", c.run_resumed},
        {"steals_tried", c.steals_tried},
        {"steals_failed", c.steals_failed},
        {"steals_lost", c.steals_lost},
        {"reaches", c.reaches},
        {"exposures", c.exposures},
        {"exposed_tasks", c.exposed_tasks},
        {"scopes_shared", c.scopes_shared},
        {"suspends", c.suspends},
        {"resumes", c.resumes},
        {"sleeps", c.sleeps},
        {"wakes", c.wakes},
        {"dropped", c.dropped},
        {"exceptions_suppressed", c.exceptions_suppressed},
        {"no_context", c.no_context},
        {"contexts_live", c.contexts_live},
        {"contexts_peak", c.contexts_peak},
        {"announced", c.announced},
        {"run_inline", c.run_inline},
    };
    static_assert(sizeof(all) / sizeof(all[0]) == sizeof(counters) / sizeof(std::uint64_t));
    std::string_view separator = "{";
    for (const auto& [name, value] : all) {
        out << separator << "\"" << name << "\":" << value;
        separator = ",";
    }
    out << "}";
}

} // namespace

moment now() noexcept { return {os::ticks(), os::now_ns()}; }

void write(const document& d, std::ostream& stream) {
    text out(stream);
    const std::uint64_t process = os::process_id();
    const place_table places(d.places);
    out << R"({"displayTimeUnit":"ns","otherData":{"format":"pilfer-trace 2","begin_ns":)" << d.begin.ns
        << ",\"duration_ns\":" << d.end.ns - d.begin.ns << ",\"counters\":";
    write_counters(out, d.counters);
    out << ",\"tracks\":[";
    std::string_view separator;
    for (std::size_t i = 0; i < d.tracks.size(); ++i) {
        out << separator << "{\"worker\":" << i << ",\"events\":" << d.tracks[i].events.size()
            << ",\"overwritten\":" << d.tracks[i].overwritten << "}";
        separator = ",";
    }
    out << "],\"places\":[";
    places.write(out);
    out << "]},\n\"traceEvents\":[\n"
        << R"({"ph":"M","pid":)" << process << R"(,"name":"process_name","args":{"name":"pilfer"}})";
    const timeline time(d);
    for (std::size_t i = 0; i < d.tracks.size(); ++i) {
        track_writer(out, time, places, d, process, i).write(d.tracks[i], d.end.ticks);
    }
    out << "\n]}\n";
    out.flush();
}

} // namespace trace
} // namespace v0
} // namespace pilfer
