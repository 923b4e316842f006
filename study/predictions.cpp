// Simulated runs of recorded graphs, with the policies that the runtime has by default.
#include "predictions.hpp"

#include <algorithm>
#include <utility>

#include "balance/text.hpp"
#include "simulator.hpp"

namespace study {
namespace {

/// When each worker ran tasks, in nanoseconds.
class busy_slices final : public observer {
public:
    explicit busy_slices(unsigned workers) : slices(workers), m_since(workers, never) {}
    void busy(moment when, unsigned worker, bool now) override {
        if (now) {
            m_since[worker] = when;
        } else {
            close(worker, when);
        }
    }
    void holds(moment, unsigned, std::uint64_t) override {}
    void finish(moment when) {
        for (unsigned w = 0; w < m_since.size(); ++w) {
            close(w, when);
        }
    }
    std::vector<std::vector<slice>> slices;

private:
    void close(unsigned w, moment when) {
        const moment began = std::exchange(m_since[w], never);
        if (began == never || when / 1000 <= began / 1000) {
            return;
        }
        slices[w].push_back({began / 1000, when / 1000, doing::own});
    }
    std::vector<moment> m_since;
};

/// A recorded graph whose strands take another time.
class edited final : public workload {
public:
    edited(const recorded_graph& g, const std::vector<double>& factor, bool by_line)
        : m_graph(g), m_factor(factor), m_by_line(by_line) {}
    step next(std::uint64_t task, std::uint64_t& place) const override {
        const std::uint64_t here = place;
        step s = m_graph.next(task, place);
        if (s.what == step::kind::compute) {
            // A strand of no time at all would be no event.
            const double time = static_cast<double>(s.value) *
                                m_factor[m_by_line ? m_graph.line_at(task, here) : m_graph.part_of(task)];
            s.value = std::max<moment>(static_cast<moment>(time), 1);
        }
        return s;
    }
    void begin(unsigned workers, const std::function<void(unsigned, std::uint64_t)>& put) const override {
        m_graph.begin(workers, put);
    }
    [[nodiscard]] std::uint64_t awaitable() const override { return m_graph.awaitable(); }
    [[nodiscard]] moment work() const override { return m_graph.work(); }
    [[nodiscard]] unsigned locks() const override { return m_graph.locks(); }

private:
    const recorded_graph& m_graph;
    const std::vector<double>& m_factor;
    bool m_by_line;
};

[[nodiscard]] setup usual(unsigned workers, const costs& price) {
    setup how;
    how.price = price;
    how.workers = workers;
    pilfer::balance::resolve(how.policy, nullptr);
    return how;
}

} // namespace

simulated_run simulate_run(const workload& graph, unsigned workers, const costs& price) {
    simulated_run r;
    r.workers = workers;
    r.alone = simulate(usual(1, price), graph).makespan;
    busy_slices seen(workers);
    r.time = simulate(usual(workers, price), graph, &seen).makespan;
    seen.finish(r.time);
    r.timeline = std::move(seen.slices);
    return r;
}

moment predicted(const recorded_graph& g, unsigned workers, const costs& price,
                 const std::vector<double>& factor) {
    return simulate(usual(workers, price), edited(g, factor, false)).makespan;
}

moment predicted(const recorded_graph& g, unsigned workers, const costs& price) {
    return predicted(g, workers, price, std::vector<double>(g.parts().size(), 1));
}

moment predicted_by_line(const recorded_graph& g, unsigned workers, const costs& price,
                         const std::vector<double>& factor) {
    return simulate(usual(workers, price), edited(g, factor, true)).makespan;
}

std::string left_out(const recorded_graph& g) {
    return g.locks() > 1
               ? "Caches, memory, readers of shared mutexes, semaphores and locks of std are not simulated."
               : "Locks, caches and memory are not simulated: a trace (PILFER_TRACE, pilfer view) "
                 "shows waits for locks.";
}

} // namespace study
