// Ranks in one process: a network with random delays, and work that is a tree of nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "engines/balancer.hpp"

namespace simulated {

using pilfer::cluster::archive;
namespace detail = pilfer::detail;

/// All messages under way. Those of one pair of ranks stay in order.
class network {
public:
    network(unsigned ranks, std::uint64_t seed, std::uint64_t longest_delay)
        : m_random(seed), m_longest(longest_delay), m_ranks(ranks), m_tallies(ranks), m_exchanges(ranks) {}

    [[nodiscard]] unsigned size() const { return m_ranks; }
    void send(unsigned from, unsigned to, std::vector<std::byte> bytes) {
        auto& line = m_lines[{from, to}];
        std::uint64_t arrives = now + m_random() % (m_longest + 1);
        if (!line.empty()) {
            arrives = std::max(arrives, line.back().arrives);
        }
        line.push_back({arrives, std::move(bytes)});
        ++sent;
    }
    bool receive(unsigned& from, unsigned to, std::vector<std::byte>& bytes) {
        for (unsigned i = 0; i < m_ranks; ++i) {
            const unsigned sender = (i + static_cast<unsigned>(m_random() % m_ranks)) % m_ranks;
            auto& line = m_lines[{sender, to}];
            if (!line.empty() && line.front().arrives <= now) {
                from = sender;
                bytes = std::move(line.front().bytes);
                line.pop_front();
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] bool is_empty() const {
        for (const auto& [pair, line] : m_lines) {
            if (!line.empty()) {
                return false;
            }
        }
        return true;
    }
    [[nodiscard]] bool is_under_way(unsigned from, unsigned to) const {
        const auto line = m_lines.find({from, to});
        return line != m_lines.end() && !line->second.empty();
    }
    void begin_exchange(unsigned rank, const detail::rank_tally& mine) {
        m_tallies[rank][++m_exchanges[rank]] = mine;
    }
    bool end_exchange(unsigned rank, std::vector<detail::rank_tally>& all) {
        const unsigned round = m_exchanges[rank];
        all.clear();
        for (auto& rounds : m_tallies) {
            const auto at = rounds.find(round);
            if (at == rounds.end()) {
                return false;
            }
            all.push_back(at->second);
        }
        return true;
    }

    std::uint64_t now = 1;
    std::uint64_t sent = 0;
    std::uint64_t wakes = 0;   // messages for ranks that may sleep
    bool is_receiving = false; // a large message is arriving at each rank

private:
    struct letter {
        std::uint64_t arrives;
        std::vector<std::byte> bytes;
    };
    std::mt19937_64 m_random;
    std::uint64_t m_longest;
    unsigned m_ranks;
    std::map<std::pair<unsigned, unsigned>, std::deque<letter>> m_lines;
    std::vector<std::map<unsigned, detail::rank_tally>> m_tallies;
    std::vector<unsigned> m_exchanges;
};

class end_point final : public detail::transport {
public:
    end_point(network& n, unsigned rank) : m_network(n), m_rank(rank) {}
    unsigned rank() const noexcept override { return m_rank; }
    unsigned size() const noexcept override { return m_network.size(); }
    void send(unsigned to, std::vector<std::byte> message) override {
        m_network.send(m_rank, to, std::move(message));
    }
    bool receive(unsigned& from, std::vector<std::byte>& message) override {
        return m_network.receive(from, m_rank, message);
    }
    bool is_receiving() const override { return m_network.is_receiving; }
    void wake(unsigned) noexcept override { ++m_network.wakes; }
    bool all_sent() override { return true; }
    void begin_exchange(const detail::rank_tally& mine) override { m_network.begin_exchange(m_rank, mine); }
    bool end_exchange(std::vector<detail::rank_tally>& all) override {
        return m_network.end_exchange(m_rank, all);
    }

private:
    network& m_network;
    unsigned m_rank;
};

/// A node of a tree whose shape is a function of the description.
struct node {
    std::uint32_t depth;
    std::uint64_t state;
    bool is_endless = false; // has 3 children; those of depth 0 never end by themselves

    [[nodiscard]] unsigned children() const {
        if (is_endless) {
            return depth == 0 ? 0 : 3;
        }
        return depth == 0 ? 0 : static_cast<unsigned>((state >> 20) % 5);
    }
    [[nodiscard]] node child(unsigned i) const {
        return {depth - 1, (state + i + 1) * 0x9e37'79b9'7f4a'7c15u, is_endless};
    }
    [[nodiscard]] std::uint64_t count() const {
        std::uint64_t sum = 1;
        for (unsigned i = 0; i < children(); ++i) {
            sum += child(i).count();
        }
        return sum;
    }
};

/// One worker: runs the newest node first. Each node waits for the counts of its children.
class tree_work final : public detail::local_work {
public:
    /// `offers` is the last offer of all ranks: every other node offers the next larger number.
    explicit tree_work(unsigned rank, std::uint64_t* offers = nullptr) : m_rank(rank), m_offers(offers) {}

    void start_root(const node& root) { m_waiting.push_back(make(root, nullptr)); }
    /// Runs one node. True if the root has ended.
    bool run_one() {
        if (m_waiting.empty()) {
            return root_done;
        }
        frame* f = m_waiting.back();
        m_waiting.pop_back();
        ++nodes_run;
        if (f->what.is_endless && f->what.depth == 0) {
            m_waiting.push_front(f);
            return root_done;
        }
        m_parts.push_back({.ticket = nodes_run});
        if (m_offers != nullptr && f->what.state % 2 == 0) {
            best = ++*m_offers;
        }
        f->pending = f->what.children();
        for (unsigned i = f->pending; i-- != 0;) {
            m_waiting.push_back(make(f->what.child(i), f));
            f->children.push_back(m_waiting.back());
        }
        f->sum = 1;
        end_if_complete(f);
        return root_done;
    }

    std::size_t available() const override {
        const auto guests = static_cast<std::size_t>(
            std::count_if(m_waiting.begin(), m_waiting.end(), [](const frame* f) { return f->is_guest; }));
        const std::size_t own = m_waiting.size() - guests;
        return (own + 1) / 2 + guests / 2;
    }
    bool hungry() override { return m_waiting.empty(); }
    std::vector<detail::parcel> take_half() override {
        std::vector<detail::parcel> taken;
        for (std::size_t n = available(); n != 0; --n) {
            frame* f = m_waiting.front();
            m_waiting.pop_front();
            if (f->is_guest) { // to a third rank
                taken.push_back(
                    {.origin = f->origin, .task = 0, .ticket = f->ticket, .description = bytes_of(f->what)});
                m_frames.erase(f);
                continue;
            }
            m_shipped[++m_last_ticket] = f;
            taken.push_back(
                {.origin = m_rank, .task = 0, .ticket = m_last_ticket, .description = bytes_of(f->what)});
        }
        return taken;
    }
    void start(detail::parcel&& p) override {
        if (m_dropped.erase({p.origin, p.ticket}) != 0) {
            m_finished.push_back(
                {.origin = p.origin, .result = {.ticket = p.ticket, .bytes = bytes_of(std::uint64_t{0})}});
            return;
        }
        archive in(p.description);
        frame* f = make(in.take<node>(), nullptr);
        f->is_guest = true;
        f->origin = p.origin;
        f->ticket = p.ticket;
        m_waiting.push_back(f);
    }
    void complete(detail::parcel_result&& r) override {
        const auto at = m_shipped.find(r.ticket);
        if (at == m_shipped.end()) {
            throw detail::balance_error("an unknown ticket");
        }
        archive in(r.bytes);
        frame* f = at->second;
        m_shipped.erase(at);
        f->sum = in.take<std::uint64_t>();
        f->pending = 0;
        end_if_complete(f);
    }
    std::vector<finished> take_finished() override { return std::exchange(m_finished, {}); }

    /// Ends all that is below the root, here or elsewhere.
    void cancel_root() {
        for (const auto& [pointer, f] : m_frames) {
            if (f->parent == nullptr && !f->is_guest) {
                cancel(pointer);
                return;
            }
        }
    }
    std::vector<detail::parcel_result> take_unwanted() override { return std::exchange(m_unwanted, {}); }
    void drop(std::uint32_t origin, std::uint64_t ticket) override {
        for (const auto& [pointer, f] : m_frames) {
            if (f->is_guest && f->origin == origin && f->ticket == ticket) {
                cancel(pointer);
                return;
            }
        }
        m_dropped.insert({origin, ticket});
    }

    std::vector<detail::parcel_result> take_bounds() override {
        if (best == m_known) {
            return {};
        }
        m_known = best;
        return {{.ticket = 0, .bytes = bytes_of(best)}};
    }
    void learn_bound(const detail::parcel_result& r) override {
        archive in(r.bytes);
        if (const auto value = in.take<std::uint64_t>(); value > best) {
            best = m_known = value;
        }
    }

    /// Every node is a part.
    std::vector<detail::parcel_result> take_parts() override {
        return m_rank == 0 ? std::vector<detail::parcel_result>{} : std::exchange(m_parts, {});
    }
    void keep_part(detail::parcel_result&& r) override { m_parts.push_back(std::move(r)); }
    [[nodiscard]] std::size_t parts_kept() const { return m_parts.size(); }

    [[nodiscard]] bool is_empty() const { return m_frames.empty() && m_shipped.empty() && m_waiting.empty(); }

    bool root_done = false;
    std::uint64_t total = 0;
    std::uint64_t nodes_run = 0;
    std::uint64_t best = 0; // the bound

    template <class T>
    static std::vector<std::byte> bytes_of(const T& value) {
        archive out;
        out.put(value);
        return std::move(out.bytes());
    }

private:
    struct frame {
        node what;
        frame* parent;
        unsigned pending = 0;
        std::uint64_t sum = 0;
        bool is_guest = false;
        std::uint32_t origin = 0;
        std::uint64_t ticket = 0;
        std::vector<frame*> children{}; // some may have ended
    };
    /// Ends a frame that waits here. The others end after their children.
    void cancel(frame* f) {
        if (const auto at = std::find(m_waiting.begin(), m_waiting.end(), f); at != m_waiting.end()) {
            m_waiting.erase(at);
            f->pending = 0;
            end_if_complete(f);
            return;
        }
        for (const auto& [ticket, shipped] : m_shipped) {
            if (shipped == f) {
                m_unwanted.push_back({.ticket = ticket});
                return;
            }
        }
        for (frame* const child : std::vector<frame*>(f->children)) {
            if (m_frames.contains(child) && child->parent == f) {
                cancel(child);
            }
        }
    }
    frame* make(const node& what, frame* parent) {
        auto f = std::make_unique<frame>(frame{what, parent});
        frame* const p = f.get();
        m_frames.emplace(p, std::move(f));
        return p;
    }
    void end_if_complete(frame* f) {
        while (f->pending == 0) {
            frame* const parent = f->parent;
            if (f->is_guest) {
                m_finished.push_back(
                    {.origin = f->origin, .result = {.ticket = f->ticket, .bytes = bytes_of(f->sum)}});
            } else if (parent != nullptr) {
                parent->sum += f->sum;
                --parent->pending;
            } else {
                root_done = true;
                total = f->sum;
            }
            m_frames.erase(f);
            if (parent == nullptr) {
                return;
            }
            f = parent;
        }
    }

    unsigned m_rank;
    std::uint64_t* m_offers;
    std::uint64_t m_known = 0;
    std::deque<frame*> m_waiting; // oldest first
    std::map<frame*, std::unique_ptr<frame>> m_frames;
    std::map<std::uint64_t, frame*> m_shipped;
    std::uint64_t m_last_ticket = 0;
    std::vector<finished> m_finished;
    std::vector<detail::parcel_result> m_parts;
    std::vector<detail::parcel_result> m_unwanted;
    std::set<std::pair<std::uint32_t, std::uint64_t>> m_dropped; // parcels that may still come
};

/// All ranks of a run.
struct cluster {
    static constexpr std::uint64_t short_patience = 30;

    cluster(unsigned ranks, std::uint64_t seed, std::uint64_t longest_delay, std::uint64_t silent_after = 0)
        : net(ranks, seed, longest_delay), order(seed + 1) {
        for (unsigned r = 0; r < ranks; ++r) {
            ends.push_back(std::make_unique<end_point>(net, r));
            works.push_back(std::make_unique<tree_work>(r, &offers));
            detail::balancer::settings s;
            s.seed = seed;
            s.tasks = 1;
            s.bounds = 1;
            s.beat_every = 1000;
            s.silent_after = silent_after;
            if (seed % 2 == 0) { // some answers are late
                s.answer_within = short_patience;
            }
            balancers.push_back(std::make_unique<detail::balancer>(*ends[r], *works[r], s));
        }
    }
    /// One step of each rank, in random order; some ranks run no node in it.
    void step() {
        ++net.now;
        for (unsigned i = 0; i < net.size(); ++i) {
            const auto r = static_cast<unsigned>(order() % net.size());
            if (order() % 4 != 0 && (works[r]->run_one() && r == 0 && !finished)) {
                finished = true;
                balancers[0]->finish({.bytes = tree_work::bytes_of(works[0]->total)});
            }
            if (!balancers[r]->is_over()) {
                (void)balancers[r]->step(net.now);
            }
        }
    }
    [[nodiscard]] bool is_over() const {
        for (const auto& b : balancers) {
            if (!b->is_over()) {
                return false;
            }
        }
        return true;
    }

    network net;
    std::mt19937_64 order;
    std::vector<std::unique_ptr<end_point>> ends;
    std::vector<std::unique_ptr<tree_work>> works;
    std::vector<std::unique_ptr<detail::balancer>> balancers;
    bool finished = false;
    std::uint64_t offers = 0;
};

} // namespace simulated
