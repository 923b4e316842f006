// A queue of jobs on a Gearman server, in the binary form of its protocol (gearman.org/protocol). The only
// file that knows Gearman.
//
// Not libgearman: it keeps one job at a time on a connection, by a callback. Here a job that waits for jobs
// of its own stays open while others are fetched. docs/investigations/gearman.md has the trial.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <pilfer/cluster/error.hpp>

#include "jobqueue/job_queue.hpp"
#include "jobqueue/sockets.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

enum class packet : std::uint32_t {
    can_do = 1,
    cant_do = 2,
    pre_sleep = 4,
    noop = 6,
    submit_job = 7,
    job_created = 8,
    grab_job = 9,
    no_job = 10,
    job_assign = 11,
    work_status = 12,
    work_complete = 13,
    work_fail = 14,
    error = 19,
};

constexpr std::size_t head_bytes = 12; // "\0REQ" or "\0RES", the type and the size of the rest
constexpr std::size_t most_bytes = (std::size_t{1} << 30) + (std::size_t{1} << 20);

void put_number(std::vector<std::byte>& to, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        to.push_back(static_cast<std::byte>(value >> shift));
    }
}
[[nodiscard]] std::uint32_t number_at(const std::byte* from) noexcept {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
        value = value << 8 | std::to_integer<std::uint32_t>(from[i]);
    }
    return value;
}

class gearman_queue final : public job_queue {
public:
    explicit gearman_queue(const queue_address& where)
        : m_where(where.host + ":" + std::to_string(where.port)), m_socket(socket_call([&] {
              auto plain = connect_socket(where.host, where.port);
              return where.is_secure ? secure(std::move(plain), where.host, where.files) : std::move(plain);
          })),
          m_heard(now_ns()) {}

    std::uint64_t submit(const std::string& queue, bytes description) override {
        write(packet::submit_job, {queue, ""}, description); // no unique key: equal jobs are not merged
        m_uncreated.push_back(++m_last_job);
        return m_last_job;
    }
    void fetch(bool wanted) override {
        m_wants = wanted;
        if (m_wants && m_fetching == stage::idle) {
            write(packet::grab_job);
            m_fetching = stage::asked;
        }
    }
    void ack(std::uint64_t job, bytes result) override {
        write(packet::work_complete, {m_fetched.at(job)}, result);
        m_fetched.erase(job);
    }
    void extend(std::uint64_t job, std::uint32_t worker) override { // the parts of the job that are done
        write(packet::work_status, {m_fetched.at(job), std::to_string(worker)}, one());
    }
    void fail(std::uint64_t job) override {
        write(packet::work_fail, {}, as_bytes(m_fetched.at(job)));
        m_fetched.erase(job);
    }
    void serve(const std::string& queue, bool on) override {
        write(on ? packet::can_do : packet::cant_do, {}, as_bytes(queue));
        if (on) {
            m_served.insert(queue);
        } else { // the server gives them to others
            m_served.erase(queue);
            std::erase_if(m_events, [&](const job_event& e) {
                return e.what == job_event::kind::fetched && e.queue == queue && m_fetched.erase(e.job) != 0;
            });
        }
        if (on && m_fetching == stage::sleeping) { // the server does not wake it for jobs that are there
            m_fetching = stage::idle;
            fetch(m_wants);
        }
    }
    void ask_servers() override {
        if (!std::exchange(m_asked, true)) {
            m_asked_at = now_ns();
            append(as_bytes("status\n")); // the administrative protocol, on the same connection
            m_question = m_out.size();
        }
    }
    void forget(const std::string& prefix, bool with_jobs) override {
        for (const auto& [name, c] : m_servers) {
            if (!name.starts_with(prefix) || c.servers != 0) {
                continue;
            }
            if (c.jobs == 0) {
                append(as_bytes("drop function " + name + "\n"));
                ++m_drops;
            } else if (with_jobs) { // the server drops those of lost connections once it is asked for a job
                write(packet::can_do, {}, as_bytes(name));
                write(packet::grab_job);
                write(packet::cant_do, {}, as_bytes(name)); // gives back one whose submitter lives
            }
        }
    }
    [[nodiscard]] std::uint64_t answers() const noexcept override { return m_answers; }
    [[nodiscard]] bool is_sending() const noexcept override { return m_out.size() > m_sent; }
    [[nodiscard]] unsigned servers(const std::string& queue) const override {
        return counts_of(queue).servers;
    }
    [[nodiscard]] unsigned waiting(const std::string& queue) const override {
        const counts& c = counts_of(queue);
        return c.jobs - std::min(c.jobs, c.running);
    }
    [[nodiscard]] std::uint64_t silence() const noexcept override {
        return !m_asked ? 0 : now_ns() - std::max(m_heard, m_asked_at);
    }

    bool next(job_event& event) override {
        flush();
        for (;;) {
            while (parse()) {
                if (!m_events.empty()) {
                    event = std::move(m_events.front());
                    m_events.pop_front();
                    return true;
                }
            }
            if (!read_some()) {
                flush(); // what a packet has led to
                return false;
            }
        }
    }
    void watch(socket_bell& a, std::size_t place) override {
        a.watch(place, m_socket->descriptor(), m_out.size() > m_sent);
    }

private:
    enum class stage : unsigned char { idle, asked, sleeping };
    struct counts {
        unsigned jobs = 0;
        unsigned running = 0;
        unsigned servers = 0;
    };
    [[nodiscard]] const counts& counts_of(const std::string& queue) const {
        static constexpr counts none;
        const auto at = m_servers.find(queue);
        return at == m_servers.end() ? none : at->second;
    }

    [[noreturn]] void lost(const std::string& why) const {
        throw cluster::queue_error("pilfer::cluster: the job queue at " + m_where + " " + why);
    }
    [[noreturn]] void is_no_gearman() const { lost("sends what no Gearman server sends"); }

    [[nodiscard]] static bytes as_bytes(std::string_view text) noexcept {
        return std::as_bytes(std::span(text.data(), text.size()));
    }
    [[nodiscard]] static bytes one() noexcept { return as_bytes("1"); }

    /// Calls the socket. An error names this queue.
    template <class F>
    std::invoke_result_t<F> socket_call(F f) const {
        try {
            return f();
        } catch (const std::runtime_error& e) {
            lost(e.what());
        }
    }

    void append(bytes b) { m_out.insert(m_out.end(), b.begin(), b.end()); }
    /// The packet of these texts, each with a zero after it, and the rest.
    void write(packet type, std::initializer_list<std::string_view> texts = {}, bytes rest = {}) {
        std::size_t size = rest.size();
        for (const std::string_view t : texts) {
            size += t.size() + 1;
        }
        append(as_bytes(std::string_view("\0REQ", 4)));
        put_number(m_out, static_cast<std::uint32_t>(type));
        put_number(m_out, static_cast<std::uint32_t>(size));
        for (const std::string_view t : texts) {
            append(as_bytes(t));
            m_out.push_back(std::byte{0});
        }
        append(rest);
    }
    void flush() {
        while (m_sent < m_out.size()) {
            const std::size_t n = socket_call([&] { return m_socket->send(bytes(m_out).subspan(m_sent)); });
            if (n == 0) {
                return;
            }
            if (m_sent < m_question) { // it waits behind large packets: the server cannot answer yet
                m_asked_at = now_ns();
            }
            m_sent += n;
        }
        m_out.clear();
        m_sent = m_question = 0;
    }
    /// True if something came.
    bool read_some() {
        constexpr std::size_t block = std::size_t{1} << 16;
        m_in.erase(m_in.begin(), m_in.begin() + static_cast<std::ptrdiff_t>(std::exchange(m_parsed, 0)));
        const std::size_t before = m_in.size();
        // A large packet is read in growing pieces, but each read clears its whole piece first.
        m_in.resize(before + std::clamp(before, block, 16 * block));
        const std::size_t n = socket_call([&] { return m_socket->receive(std::span(m_in).subspan(before)); });
        m_in.resize(before + n);
        m_heard = n != 0 ? now_ns() : m_heard;
        return n != 0;
    }
    /// Takes one packet, or a line of text, from what was read. False: there is no whole one.
    bool parse() {
        const bytes left = bytes(m_in).subspan(m_parsed);
        if (left.empty()) {
            return !m_events.empty();
        }
        if (left.front() != std::byte{0}) {
            const auto end = std::find(left.begin(), left.end(), std::byte{'\n'});
            if (end == left.end()) {
                if (left.size() > 4096 || (!m_asked && m_drops == 0)) {
                    is_no_gearman();
                }
                return false;
            }
            const auto size = static_cast<std::size_t>(end - left.begin());
            m_parsed += size + 1;
            handle_line({reinterpret_cast<const char*>(left.data()), size});
            return true;
        }
        if (left.size() < head_bytes) {
            return false;
        }
        const std::size_t size = number_at(left.data() + 8);
        if (std::memcmp(left.data(), "\0RES", 4) != 0 || size > most_bytes) {
            is_no_gearman();
        }
        if (left.size() < head_bytes + size) {
            return false;
        }
        m_parsed += head_bytes + size;
        handle(static_cast<packet>(number_at(left.data() + 4)), left.subspan(head_bytes, size));
        return true;
    }
    /// A line of status: queue, jobs, running ones and workers, with tabs. A point ends them. Other programs
    /// may have tabs in the names of their queues.
    void handle_line(std::string_view line) {
        if (m_drops != 0 && (line.starts_with("OK") || line.starts_with("ERR ")) &&
            line.find('\t') == std::string_view::npos) {
            --m_drops;
            return;
        }
        if (!m_asked) {
            is_no_gearman();
        }
        if (line == ".") {
            m_servers = std::exchange(m_coming, {});
            ++m_answers;
            m_asked = false;
            return;
        }
        counts c;
        for (unsigned* number : {&c.servers, &c.running, &c.jobs}) { // from the end
            const std::size_t tab = line.rfind('\t');
            if (tab == std::string_view::npos) {
                is_no_gearman();
            }
            *number = number_of(line.substr(tab + 1));
            line = line.substr(0, tab);
        }
        m_coming.emplace(line, c);
    }
    [[nodiscard]] std::uint32_t number_of(std::string_view digits) const {
        std::uint32_t number = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (error != std::errc() || end != digits.data() + digits.size()) {
            is_no_gearman();
        }
        return number;
    }
    /// The text up to the next zero, which is taken from `rest`.
    [[nodiscard]] std::string take_text(bytes& rest) const {
        const auto end = std::find(rest.begin(), rest.end(), std::byte{0});
        std::string text(reinterpret_cast<const char*>(rest.data()),
                         static_cast<std::size_t>(end - rest.begin()));
        rest = rest.subspan(std::min(rest.size(), text.size() + 1));
        return text;
    }
    void handle(packet type, bytes rest) {
        switch (type) {
        case packet::noop:
            if (m_fetching == stage::sleeping) {
                m_fetching = stage::idle;
                fetch(m_wants);
            }
            return;
        case packet::no_job:
            write(packet::pre_sleep);
            m_fetching = stage::sleeping;
            return;
        case packet::job_assign: {
            const std::string handle = take_text(rest);
            std::string queue = take_text(rest);
            m_fetching = stage::idle;
            if (!m_served.contains(
                    queue)) { // CANT_DO has given it back, so that any word about it is an error
                fetch(m_wants);
                return;
            }
            m_wants = false;
            m_fetched.emplace(++m_last_fetched, handle);
            m_events.push_back(
                {job_event::kind::fetched, m_last_fetched, 0, std::move(queue), {rest.begin(), rest.end()}});
            return;
        }
        case packet::job_created:
            if (m_uncreated.empty()) {
                is_no_gearman();
            }
            m_submitted.emplace(take_text(rest), m_uncreated.front());
            m_uncreated.pop_front();
            return;
        case packet::work_status:
        case packet::work_complete:
        case packet::work_fail: {
            const auto at = m_submitted.find(take_text(rest));
            if (at == m_submitted.end()) {
                return;
            }
            const std::uint64_t job = at->second;
            if (type == packet::work_status) {
                m_events.push_back({job_event::kind::lives, job, number_of(take_text(rest))});
                return;
            }
            m_submitted.erase(at);
            if (type == packet::work_fail) {
                m_events.push_back({job_event::kind::failed, job});
            } else {
                m_events.push_back({job_event::kind::done, job, 0, {}, {rest.begin(), rest.end()}});
            }
            return;
        }
        case packet::error: {
            (void)take_text(rest);
            lost("refuses a call: " + take_text(rest));
        }
        default:
            return; // what nothing here has asked for
        }
    }

    std::string m_where;
    std::unique_ptr<stream> m_socket;
    std::uint64_t m_heard;
    std::vector<std::byte> m_out;
    std::size_t m_sent = 0;     // of m_out
    std::size_t m_question = 0; // the end of ask_servers() in m_out
    std::vector<std::byte> m_in;
    std::size_t m_parsed = 0; // of m_in

    std::uint64_t m_last_job = 0;
    std::deque<std::uint64_t> m_uncreated; // submitted, without a handle yet
    std::unordered_map<std::string, std::uint64_t> m_submitted;
    std::uint64_t m_last_fetched = 0;
    std::unordered_map<std::uint64_t, std::string> m_fetched;
    std::set<std::string> m_served;
    stage m_fetching = stage::idle;
    bool m_wants = false;
    std::deque<job_event> m_events;

    bool m_asked = false;    // an answer about servers is awaited
    std::size_t m_drops = 0; // answers about dropped queues that are awaited
    std::uint64_t m_asked_at = 0;
    std::uint64_t m_answers = 0;
    std::map<std::string, counts, std::less<>> m_servers;
    std::map<std::string, counts, std::less<>> m_coming;
};

} // namespace

queue_address parse_queue(std::string_view url) {
    const auto refuse = [&](const char* why) {
        throw std::invalid_argument("pilfer::cluster: PILFER_CLUSTER is \"" + std::string(url) +
                                    "\": " + why +
                                    "; it must be gearman://host[:port][/name], or gearmans:// for TLS");
    };
    constexpr std::string_view plain = "gearman://";
    constexpr std::string_view secure = "gearmans://";
    queue_address a;
    a.is_secure = url.starts_with(secure);
    if (!a.is_secure && !url.starts_with(plain)) {
        refuse("another scheme");
    }
    std::string_view rest = url.substr(a.is_secure ? secure.size() : plain.size());
    if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
        a.name = rest.substr(slash + 1);
        rest = rest.substr(0, slash);
        const auto is_plain = [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                   c == '_' || c == '.';
        };
        if (a.name.empty() || a.name.size() > 64 || !std::ranges::all_of(a.name, is_plain)) {
            refuse("a name has 1 to 64 letters, digits, -, _ and points");
        }
    }
    if (rest.starts_with('[')) { // an address of IPv6
        const std::size_t end = rest.find(']');
        if (end == std::string_view::npos) {
            refuse("a ] is missing");
        }
        a.host = rest.substr(1, end - 1);
        rest = rest.substr(end + 1);
    } else {
        a.host = rest.substr(0, rest.find(':'));
        rest = rest.substr(a.host.size());
    }
    if (a.host.empty() || a.host.find_first_of(" \t\n@?#") != std::string::npos) {
        refuse("no host");
    }
    if (!rest.empty()) {
        const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), a.port);
        if (rest.front() != ':' || error != std::errc() || end != rest.data() + rest.size() || a.port == 0) {
            refuse("no port from 1 to 65535");
        }
    }
    return a;
}

std::unique_ptr<job_queue> connect_to_gearman(const queue_address& where) {
    return std::make_unique<gearman_queue>(where);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
