#include "mutate.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "harness.hpp"

namespace model {
namespace {

using std::memory_order;

[[nodiscard]] std::string file_of(const where& w) {
    const char* slash = std::strrchr(w.file_name(), '/');
    return slash != nullptr ? slash + 1 : w.file_name();
}

/// The name alone: signatures differ between compilers.
[[nodiscard]] std::string function_of(const where& w) {
    std::string name = w.function_name();
    const std::size_t open = name.find('(');
    name.resize(open == std::string::npos ? name.size() : open);
    // A template's arguments may follow its name.
    while (!name.empty() && name.back() == '>') {
        const std::size_t angle = name.rfind('<');
        name.resize(angle == std::string::npos ? 0 : angle);
    }
    const std::size_t start = name.find_last_of(" :*&");
    return start == std::string::npos ? name : name.substr(start + 1);
}

/// One step down; more than one way for both halves of acq_rel.
[[nodiscard]] std::vector<memory_order> weaker(const site& s) {
    switch (s.kind) {
    case access::light:
        return {std::memory_order_relaxed};
    case access::heavy:
        return {std::memory_order_relaxed};
    case access::fence:
        if (s.order == std::memory_order_seq_cst) {
            return {std::memory_order_acq_rel};
        }
        break;
    default:
        break;
    }
    switch (s.order) {
    case std::memory_order_seq_cst:
        return {s.kind == access::load    ? std::memory_order_acquire
                : s.kind == access::store ? std::memory_order_release
                                          : std::memory_order_acq_rel};
    case std::memory_order_acq_rel:
        return {std::memory_order_acquire, std::memory_order_release};
    case std::memory_order_acquire:
    case std::memory_order_release:
        return {std::memory_order_relaxed};
    default:
        return {};
    }
}

[[nodiscard]] std::string step(const mutation& m) {
    switch (m.original.kind) {
    case access::light:
        return "removed";
    case access::heavy:
        return "own fence only";
    default:
        return std::string(to_string(m.original.order)) + " > " + to_string(m.weaker) +
               (m.original.on_failure ? " on failure" : "");
    }
}

struct mutant {
    mutation what;
    std::string name;              // stable against moved lines
    std::vector<unsigned> killers; // harnesses that come by, most promising first
};

using place_key = std::tuple<std::string, unsigned, unsigned, access, bool>;

[[nodiscard]] place_key key_of(const site& s) {
    return {file_of(s.place), s.place.line(), s.place.column(), s.kind, s.on_failure};
}

/// Production text only: the harnesses' own accesses belong to no protocol.
[[nodiscard]] bool is_production(const site& s) {
    return std::strstr(s.place.file_name(), "tests/") == nullptr;
}

[[nodiscard]] std::vector<mutant> all_mutants(const std::string& only) {
    std::map<place_key, std::pair<site, std::set<unsigned>>> sites;
    const auto& all = harnesses();
    for (unsigned h = 0; h < all.size(); ++h) {
        random_walk s(7);
        std::vector<site> seen;
        for (unsigned i = 0; i < 400 && s.begin(); ++i) {
            seen.clear();
            here().collect(&seen);
            (void)here().run(all[h], s);
            here().collect(nullptr);
            for (const site& one : seen) {
                if (is_production(one)) {
                    sites.try_emplace(key_of(one), one, std::set<unsigned>{}).first->second.second.insert(h);
                }
            }
        }
    }
    std::map<std::string, unsigned> twins; // the map is in the order of lines
    std::vector<mutant> mutants;
    for (const auto& [key, found] : sites) {
        const auto& [s, guests] = found;
        for (const memory_order o : weaker(s)) {
            mutant m{{s, o}, "", {guests.begin(), guests.end()}};
            m.name =
                file_of(s.place) + " " + function_of(s.place) + " " + to_string(s.kind) + " " + step(m.what);
            const unsigned twin = ++twins[m.name];
            m.name += " #" + std::to_string(twin);
            if (m.name.find(only) != std::string::npos) {
                mutants.push_back(std::move(m));
            }
        }
    }
    return mutants;
}

/// Lines "name : why"; # starts a comment.
[[nodiscard]] bool read_explanations(const std::string& path, std::map<std::string, std::string>& out) {
    std::ifstream in(path);
    if (!in) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        return false;
    }
    for (std::string line; std::getline(in, line);) {
        const std::size_t colon = line.find(" : ");
        if (line.empty() || line[0] == '#') {
            continue;
        }
        if (colon == std::string::npos ||
            !out.emplace(line.substr(0, colon), line.substr(colon + 3)).second) {
            std::fprintf(stderr, "%s: not 'name : why', or a name for the second time: %s\n", path.c_str(),
                         line.c_str());
            return false;
        }
    }
    return true;
}

/// Small budgets first over all harnesses: most mutants die at once. `briefly`: only these.
void hunt(const mutant& m, const budget& b, bool briefly, report& r) {
    here().mutate(&m.what);
    for (std::uint64_t part = 64; part >= (briefly ? 64 : 1); part /= 64) {
        for (const kind k : {kind::priorities, kind::random, kind::exhaustive}) {
            for (const unsigned h : m.killers) {
                budget small = b;
                small.random /= part;
                small.priorities /= part;
                small.exhaustive /= part;
                report one;
                explore(harnesses()[h], k, small, one);
                r.executions += one.executions;
                if (one.failed) {
                    r.failed = true;
                    set_text(r.message, sizeof r.message,
                             std::string(harnesses()[h].name) + ": " + one.message);
                    set_text(r.choices, sizeof r.choices, one.choices);
                    here().mutate(nullptr);
                    return;
                }
            }
        }
    }
    here().mutate(nullptr);
}

} // namespace

bool mutate_all(const budget& b, unsigned processes, const std::string& explanations, const std::string& only,
                bool believe, bool verbose) {
    std::map<std::string, std::string> why;
    if (!read_explanations(explanations, why)) {
        return false;
    }
    const std::vector<mutant> mutants = all_mutants(only);
    const auto reports =
        run_jobs(static_cast<unsigned>(mutants.size()), processes, [&](unsigned i, report& r) {
            hunt(mutants[i], b, believe && why.count(mutants[i].name) != 0, r);
        });
    unsigned killed = 0;
    unsigned explained = 0;
    unsigned wrong = 0;
    for (unsigned i = 0; i < mutants.size(); ++i) {
        const report& r = reports[i];
        const auto reason = why.find(mutants[i].name);
        const char* verdict = "killed";
        if (!r.done) {
            verdict = "THE CHECKER DIED";
            ++wrong;
        } else if (r.failed) {
            ++killed;
            if (reason != why.end()) {
                verdict = "KILLED, BUT EXPLAINED AS HARMLESS";
                ++wrong;
            }
        } else if (reason != why.end()) {
            verdict = "explained";
            ++explained;
        } else {
            verdict = "SURVIVED";
            ++wrong;
        }
        if (reason != why.end()) {
            why.erase(reason);
        }
        if (verbose || verdict[0] < 'a') {
            std::printf("%-34s %s (line %u): %llu executions%s%s\n", verdict, mutants[i].name.c_str(),
                        mutants[i].what.original.place.line(), static_cast<unsigned long long>(r.executions),
                        r.failed ? ", " : "", r.message);
        }
    }
    for (const auto& [name, reason] : why) {
        if (name.find(only) != std::string::npos) {
            std::printf("NO SUCH MUTANT: %s (%s)\n", name.c_str(), reason.c_str());
            ++wrong;
        }
    }
    std::printf("mutation: %zu mutants, %u killed, %u explained, %u wrong\n", mutants.size(), killed,
                explained, wrong);
    return wrong == 0 && !mutants.empty();
}

} // namespace model
