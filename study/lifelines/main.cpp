// Lifelines on 1,000 to 100,000 machines, simulated. The runtime's own code decides: `balancer` (whom a rank
// asks, when it is silent, what a victim gives) and `pace` (when a rank looks). Machines and the network
// between them are modelled.
//
//     pilfer-lifelines [--ranks N,...] [--tasks N,...] [--split P,...] [--latency US] [--message US] [--task
//     US]
//
// The work is a tree over `tasks` leaves for each machine. A node gives the part P of its leaves to other
// machines, and runs the rest itself: 0.5 is a balanced tree, a small P a deep one whose offers are small.
// Ends with 1 if a leaf is lost.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <queue>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cluster/pace.hpp"
#include "engines/balancer.hpp"

namespace {

namespace detail = pilfer::detail;
using detail::parcel;
using detail::parcel_result;
using time_ns = std::uint64_t;

struct model {
    unsigned ranks = 1000;
    std::uint64_t leaves = 100'000;
    double split = 0.5;
    time_ns leaf = 1'000'000;    ///< half to one and a half of it
    time_ns inner = 1'000;       ///< a node that only forks
    time_ns latency = 20'000;    ///< of a message
    time_ns per_message = 2'000; ///< of the communicating thread, for one that it sends or receives
};

struct node {
    std::uint64_t leaves;
    std::uint64_t seed;
};
[[nodiscard]] std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9u;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11ebu;
    return x ^ (x >> 31);
}

enum class event_kind : std::uint8_t { arrival, ring, look, worker };
struct event {
    time_ns when;
    std::uint64_t order;
    std::uint32_t rank;
    std::uint32_t letter; // of an arrival
    event_kind kind;
    bool operator>(const event& other) const {
        return when != other.when ? when > other.when : order > other.order;
    }
};

class machine;

/// All machines, and what happens next.
class simulation {
public:
    explicit simulation(const model& m);
    ~simulation();
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;
    void run();

    void at(time_ns when, std::uint32_t rank, event_kind kind, std::uint32_t letter = 0) {
        m_events.push({when, ++m_order, rank, letter, kind});
    }
    void deliver(std::uint32_t from, std::uint32_t to, std::vector<std::byte> bytes, time_ns when);

    const model what;
    time_ns now = 0;
    std::uint64_t leaves_run = 0;
    double work_ns = 0;
    std::uint64_t messages = 0;
    std::vector<std::unique_ptr<machine>> machines;
    bool over = false;

private:
    std::priority_queue<event, std::vector<event>, std::greater<>> m_events;
    std::uint64_t m_order = 0;
    std::vector<std::pair<std::uint32_t, std::vector<std::byte>>> m_letters; // on the way: sender and bytes
    std::vector<std::uint32_t> m_free_letters;
};

/// One rank with one worker.
class machine final : public detail::transport, public detail::local_work {
public:
    machine(simulation& s, std::uint32_t number) : m_all(s), m_number(number) {
        detail::balancer::settings settings;
        settings.tasks = 1;
        settings.beat_every = UINT64_MAX / 2; // heartbeats are no part of the question
        settings.silent_after = 0;
        m_balancer = std::make_unique<detail::balancer>(*this, *this, settings);
    }

    // The network, for the balancer.
    [[nodiscard]] unsigned rank() const noexcept override { return m_number; }
    [[nodiscard]] unsigned size() const noexcept override { return m_all.what.ranks; }
    void send(unsigned to, std::vector<std::byte> message) override {
        m_busy_until = std::max(m_busy_until, m_all.now) + m_all.what.per_message;
        ++handled;
        m_all.deliver(m_number, to, std::move(message), m_busy_until + m_all.what.latency);
    }
    void wake(unsigned to) noexcept override {
        m_all.at(m_busy_until + m_all.what.latency, to, event_kind::ring);
    }
    bool receive(unsigned& from, std::vector<std::byte>& message) override {
        if (m_inbox.empty()) {
            return false;
        }
        from = m_inbox.front().first;
        message = std::move(m_inbox.front().second);
        m_inbox.pop_front();
        m_busy_until = std::max(m_busy_until, m_all.now) + m_all.what.per_message;
        ++handled;
        return true;
    }
    [[nodiscard]] bool is_receiving() const override { return false; }
    bool all_sent() override { return true; }
    void begin_exchange(const detail::rank_tally&) override {}
    bool end_exchange(std::vector<detail::rank_tally>&) override { return false; }

    // The work, for the balancer.
    [[nodiscard]] std::size_t available() const override {
        return (m_waiting.size() - m_guests + 1) / 2 + m_guests / 2;
    }
    [[nodiscard]] bool hungry() override { return m_waiting.empty() && m_running == nullptr; }
    [[nodiscard]] std::vector<parcel> take_half() override {
        std::vector<parcel> taken;
        for (std::size_t n = available(); n != 0; --n) {
            frame* f = m_waiting.front();
            m_waiting.pop_front();
            pilfer::cluster::archive out;
            out.put(f->what);
            if (f->is_guest) {
                --m_guests;
                --m_open;
                taken.push_back({f->origin, 0, f->ticket, std::move(out.bytes())});
                delete f;
            } else { // its address is the ticket
                taken.push_back({m_number, 0, reinterpret_cast<std::uint64_t>(f), std::move(out.bytes())});
            }
        }
        return taken;
    }
    void start(parcel&& p) override {
        pilfer::cluster::archive in(p.description);
        m_waiting.push_back(new frame{in.take<node>(), nullptr, 0, true, p.origin, p.ticket});
        ++m_guests;
        ++m_open;
        if (first_work == 0) {
            first_work = m_all.now;
        }
    }
    void complete(parcel_result&& r) override {
        auto* f = reinterpret_cast<frame*>(r.ticket);
        f->pending = 0;
        ends(f);
    }
    [[nodiscard]] std::vector<finished> take_finished() override { return std::exchange(m_finished, {}); }
    [[nodiscard]] std::vector<parcel_result> take_unwanted() override { return {}; }
    void drop(std::uint32_t, std::uint64_t) override {}
    [[nodiscard]] std::vector<parcel_result> take_bounds() override { return {}; }
    void learn_bound(const parcel_result&) override {}
    [[nodiscard]] std::vector<parcel_result> take_parts() override { return {}; }
    void keep_part(parcel_result&&) override {}

    // Events.
    void start_root() { m_waiting.push_back(new frame{{m_all.what.leaves, 1}, nullptr, 0, false, 0, 0}); }
    void arrives(std::uint32_t from, std::vector<std::byte> bytes) {
        m_inbox.emplace_back(from, std::move(bytes));
        look_soon();
    }
    void look() {
        if (m_next_look != m_all.now) {
            return; // another one came earlier
        }
        m_next_look = 0;
        while (m_balancer->step(m_all.now)) {
        }
        m_moved = m_all.now;
        run_next();
        if (!m_inbox.empty() || !m_finished.empty()) {
            look_soon();
        }
    }
    void worker_ends() {
        frame* f = m_running;
        m_running = nullptr;
        if (f->what.leaves == 1) {
            ++m_all.leaves_run;
            ends(f);
        } else {
            const auto away =
                std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::llround(
                                              m_all.what.split * static_cast<double>(f->what.leaves))),
                                          1, f->what.leaves - 1);
            f->pending = 2;
            m_waiting.push_back(new frame{{away, mix(f->what.seed + 1)}, f, 0, false, 0, 0});
            m_waiting.push_back(new frame{{f->what.leaves - away, mix(f->what.seed + 2)}, f, 0, false, 0, 0});
        }
        run_next();
        if (hungry() || (m_open == 0 && !m_finished.empty()) ||
            (m_balancer->is_awaited() && available() != 0)) {
            look_at(m_all.now); // the pool rings
        } else if (!m_finished.empty()) {
            look_soon();
        }
    }
    void look_at(time_ns when) {
        when = std::max(when, m_busy_until);
        if (m_next_look == 0 || when < m_next_look) {
            m_next_look = when;
            m_all.at(when, m_number, event_kind::look);
        }
    }

    std::uint64_t handled = 0; // messages
    time_ns first_work = 0;

private:
    struct frame {
        node what;
        frame* parent;
        unsigned pending;
        bool is_guest;
        std::uint32_t origin;
        std::uint64_t ticket;
    };
    /// When the communicating thread looks next by itself, from now on.
    void look_soon() {
        const auto what = m_balancer->has_work() ? detail::looks_for::asks : detail::looks_for::work;
        detail::pace looks;
        time_ns when = m_moved;
        while (when < m_all.now) {
            when += looks.pause(what);
            looks.slept(what);
        }
        look_at(when);
    }
    void run_next() {
        if (m_running != nullptr || m_waiting.empty()) {
            return;
        }
        m_running = m_waiting.back();
        m_waiting.pop_back();
        m_guests -= m_running->is_guest ? 1 : 0;
        const bool is_leaf = m_running->what.leaves == 1;
        const time_ns leaf = m_all.what.leaf;
        const time_ns takes = is_leaf ? leaf / 2 + mix(m_running->what.seed) % leaf : m_all.what.inner;
        m_all.work_ns += static_cast<double>(takes);
        m_all.at(m_all.now + takes, m_number, event_kind::worker);
    }
    void ends(frame* f) {
        while (f->pending == 0) {
            frame* parent = f->parent;
            if (f->is_guest) {
                m_finished.push_back({f->origin, {.ticket = f->ticket}});
                --m_open;
            } else if (parent == nullptr) {
                m_all.over = true;
            }
            delete f;
            if (parent == nullptr) {
                return;
            }
            --parent->pending;
            f = parent;
        }
    }

    simulation& m_all;
    std::uint32_t m_number;
    std::unique_ptr<detail::balancer> m_balancer;
    std::deque<std::pair<std::uint32_t, std::vector<std::byte>>> m_inbox;
    std::deque<frame*> m_waiting; // oldest first
    std::size_t m_guests = 0;     // of those that wait
    std::size_t m_open = 0;       // guests that have not ended
    frame* m_running = nullptr;
    std::vector<finished> m_finished;
    time_ns m_next_look = 0; // 0: none
    time_ns m_moved = 0;
    time_ns m_busy_until = 0;
};

simulation::simulation(const model& m) : what(m) {
    for (unsigned r = 0; r < m.ranks; ++r) {
        machines.push_back(std::make_unique<machine>(*this, r));
    }
}
simulation::~simulation() = default;

void simulation::deliver(std::uint32_t from, std::uint32_t to, std::vector<std::byte> bytes, time_ns when) {
    ++messages;
    if (m_free_letters.empty()) {
        m_free_letters.push_back(static_cast<std::uint32_t>(m_letters.size()));
        m_letters.emplace_back();
    }
    const std::uint32_t letter = m_free_letters.back();
    m_free_letters.pop_back();
    m_letters[letter] = {from, std::move(bytes)};
    at(when, to, event_kind::arrival, letter);
}

void simulation::run() {
    machines[0]->start_root();
    now = 1;
    for (auto& m : machines) {
        m->look_at(now);
    }
    while (!over && !m_events.empty()) {
        const event e = m_events.top();
        m_events.pop();
        now = e.when;
        machine& m = *machines[e.rank];
        switch (e.kind) {
        case event_kind::arrival:
            m.arrives(m_letters[e.letter].first, std::move(m_letters[e.letter].second));
            m_free_letters.push_back(e.letter);
            break;
        case event_kind::ring:
            m.look_at(now);
            break;
        case event_kind::look:
            m.look();
            break;
        case event_kind::worker:
            m.worker_ends();
            break;
        }
    }
}

template <class T>
std::vector<T> list_of(const char* text) {
    std::vector<T> values;
    std::istringstream in(text);
    for (std::string one; std::getline(in, one, ',');) {
        values.push_back(static_cast<T>(std::atof(one.c_str())));
    }
    return values;
}

/// One line of the table. False if something is wrong.
bool row(const model& m) {
    simulation s(m);
    s.run();
    std::uint64_t most = 0;
    time_ns last_first_work = 0;
    unsigned without = 0;
    for (const auto& one : s.machines) {
        most = std::max(most, one->handled);
        last_first_work = std::max(last_first_work, one->first_work);
        without += one->first_work == 0 && one != s.machines[0] ? 1 : 0;
    }
    const double ms = static_cast<double>(s.now) / 1e6;
    std::printf("%9u %9.2f %10llu %10.1f %9.3f %11.1f %10u %12.1f %10llu\n", m.ranks, m.split,
                static_cast<unsigned long long>(m.leaves / m.ranks), ms, s.work_ns / 1e6 / ms / m.ranks,
                static_cast<double>(last_first_work) / 1e6, without,
                static_cast<double>(s.messages) / m.ranks, static_cast<unsigned long long>(most));
    std::fflush(stdout);
    if (!s.over || s.leaves_run != m.leaves) {
        std::fprintf(stderr, "lifelines: %llu leaves of %llu have run\n",
                     static_cast<unsigned long long>(s.leaves_run),
                     static_cast<unsigned long long>(m.leaves));
        return false;
    }
    return true;
}

} // namespace

int main(int argc, char** argv) {
    model m;
    std::vector<unsigned> ranks{1000, 10'000, 100'000};
    std::vector<std::uint64_t> tasks{20, 100};
    std::vector<double> splits{0.5, 0.1, 0.02};
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        const char* value = i + 1 < argc ? argv[i + 1] : "";
        const auto us = static_cast<time_ns>(std::atof(value) * 1000);
        if (*value == '\0') {
            std::fprintf(stderr, "lifelines: %s has no value\n", name.c_str());
            return 2;
        }
        if (name == "--ranks") {
            ranks = list_of<unsigned>(value);
        } else if (name == "--tasks") {
            tasks = list_of<std::uint64_t>(value);
        } else if (name == "--split") {
            splits = list_of<double>(value);
        } else if (name == "--latency") {
            m.latency = us;
        } else if (name == "--message") {
            m.per_message = us;
        } else if (name == "--task") {
            m.leaf = us;
        } else {
            std::fprintf(stderr, "lifelines: %s is no option\n", name.c_str());
            return 2;
        }
    }
    std::printf("a task %.0f us, a message %.0f us and %.1f us of each end\n",
                static_cast<double>(m.leaf) / 1e3, static_cast<double>(m.latency) / 1e3,
                static_cast<double>(m.per_message) / 1e3);
    std::printf("%9s %9s %10s %10s %9s %11s %10s %12s %10s\n", "machines", "split", "tasks/each", "ms",
                "efficiency", "spread, ms", "no work", "messages/each", "most");
    for (const unsigned n : ranks) {
        for (const std::uint64_t each : tasks) {
            for (const double split : splits) {
                if (n < 2 || each == 0 || !(split > 0 && split < 1)) {
                    std::fprintf(stderr,
                                 "lifelines: at least 2 machines, 1 task, and a split between 0 and 1\n");
                    return 2;
                }
                m.ranks = n;
                m.leaves = each * n;
                m.split = split;
                if (!row(m)) {
                    return 1;
                }
            }
        }
    }
}
