// The simulator against the runtime: equal programs, equal policies.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <thread>

#include <pilfer/pilfer.hpp>

#include "balance/text.hpp"
#include "measure.hpp"
#include "study/simulator.hpp"
#include "study/table.hpp"
#include "study/workload.hpp"

namespace measure {
namespace {

/// Computes and touches no memory. Counted in steps and not by the clock, which runs on while a thread does
/// not.
[[gnu::noinline]] void compute(std::uint64_t steps) {
    std::uint64_t x = steps;
    for (std::uint64_t i = 0; i < steps; ++i) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        asm volatile("" : "+r"(x));
    }
}

[[nodiscard]] double measured_steps_per_ns() {
    std::vector<double> all;
    for (unsigned k = 0; k < 301; ++k) {
        constexpr std::uint64_t steps = 20'000;
        const auto begin = wall_clock::now();
        compute(steps);
        all.push_back(static_cast<double>(steps) / ns_since(begin));
    }
    return median(all);
}

/// Any workload without forks and arrivals, on the real runtime.
class interpreter {
public:
    interpreter(const study::workload& program, double steps_per_ns)
        : m_program(program), m_steps_per_ps(steps_per_ns / 1'000) {}
    void run(std::uint64_t task) const {
        using kind = study::step::kind;
        pilfer::scope children;
        for (std::uint64_t place = 0;;) {
            const study::step s = m_program.next(task, place);
            switch (s.what) {
            case kind::compute:
                compute(static_cast<std::uint64_t>(static_cast<double>(s.value) * m_steps_per_ps));
                break;
            case kind::announce:
                children.fork([this, child = s.value] { run(child); });
                break;
            case kind::call:
                run(s.value);
                break;
            case kind::sync:
                children.sync();
                break;
            default:
                return;
            }
        }
    }

private:
    const study::workload& m_program;
    double m_steps_per_ps;
};

constexpr std::array works = {
    "loop:tasks=4000,length=2000",
    "tree:height=15,length=1000",
    "geometric:branching=4,depth=7,length=4000",
    "binomial:root=400,children=4,probability=0.2,length=4000",
    "pareto:tasks=1000,length=4000,announced=1",
};
constexpr std::array policies = {
    "one,random,on-demand",          "1/4,random,on-demand",         "half,random,on-demand",
    "3/4,random,on-demand",          "all-but-one,random,on-demand", "adaptive,random,on-demand",
    "half,ring,on-demand",           "half,sticky,on-demand",        "half,nearest,on-demand",
    "half,longest,on-demand",        "one,random,always-public",     "half,random,always-public",
    "half,random,threshold:8:2:1/2", "half,random,doubling",         "half,random,short-eager:4",
    "half,random,waiter-first",
};

/// One pool with one policy, and the time of each workload on it.
struct contender {
    study::setup how;
    std::string policy;
    std::unique_ptr<pilfer::pool> pool;
    std::vector<std::vector<double>> ns = std::vector<std::vector<double>>(works.size());
};

} // namespace

void validate(const study::costs& price, const std::vector<unsigned>& wanted, unsigned rounds) {
    std::vector<unsigned> workers = wanted;
    for (unsigned n = 1; wanted.empty() && n <= std::thread::hardware_concurrency(); ++n) {
        workers.push_back(n);
    }
    std::vector<contender> all;
    for (const unsigned n : workers) {
        for (const char* policy : policies) {
            contender c;
            c.policy = policy;
            pilfer::balance::resolve(c.how.policy, policy);
            c.how.workers = n;
            c.how.price = price;
            c.pool = std::make_unique<pilfer::pool>(pilfer::options{.workers = n, .balance = c.how.policy});
            all.push_back(std::move(c));
        }
    }
    std::vector<std::unique_ptr<study::workload>> programs;
    std::vector<std::uint64_t> roots;
    for (const char* w : works) {
        programs.push_back(study::make_workload(w, 1));
        programs.back()->begin(1, [&roots](unsigned, std::uint64_t task) { roots.push_back(task); });
    }
    std::vector<double> pace;
    for (unsigned r = 0; r < rounds; ++r) {
        pace.push_back(measured_steps_per_ns());
        for (std::size_t w = 0; w < works.size(); ++w) {
            const interpreter real(*programs[w], median(pace));
            for (contender& c : all) {
                const auto begin = wall_clock::now();
                c.pool->run([&real, root = roots[w]] { real.run(root); });
                c.ns[w].push_back(ns_since(begin));
            }
        }
    }
    study::table t{{"workload", "policy", "workers", "runtime, us", "simulated, us", "error, %"}, {}};
    std::vector<double> errors;
    for (std::size_t w = 0; w < works.size(); ++w) {
        for (const contender& c : all) {
            const double real = *std::min_element(c.ns[w].begin(), c.ns[w].end()) / 1'000;
            const double simulated = study::to_ns(study::simulate(c.how, *programs[w]).makespan) / 1'000;
            const double error = (simulated / real - 1) * 100;
            errors.push_back(std::fabs(error));
            t.rows.push_back({std::string(works[w]), c.policy, static_cast<double>(c.how.workers), real,
                              simulated, error});
        }
    }
    const auto within = std::count_if(errors.begin(), errors.end(), [](double e) { return e <= 15; });
    fmt::print("{}\nmachine: {}\nthe fastest of {} interleaved rounds, because disturbances only add; error: "
               "simulated against runtime\n"
               "median error {:.1f} %, {} of {} within 15 %\n",
               study::to_text(t), price.machine, rounds, median(errors), within, errors.size());
}

} // namespace measure
