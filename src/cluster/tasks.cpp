// The types of tasks of this program, and the errors of a cluster.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>

#include <pilfer/detail/cluster/bound_word.hpp>

#include "cluster/build.hpp"
#include "cluster/rank_work.hpp"
#include "cluster/tasks.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constinit cluster_task* newest_task = nullptr; // the list of all; written before main()

/// Of the executable, then of the shared library of each task; empty for a task of the executable.
const std::vector<std::string>& builds_of_program() {
    static const std::vector<std::string> builds = [] {
        std::vector<const void*> code{nullptr};
        for (const cluster_task* t : cluster_tasks()) {
            code.push_back(reinterpret_cast<const void*>(t->run));
        }
        std::vector<std::string> all = builds_with(code);
        std::replace(all.begin() + 1, all.end(), std::string(all.front()), std::string());
        return all;
    }();
    return builds;
}

[[nodiscard]] bool works_with_any_build() {
    const char* text = std::getenv("PILFER_CLUSTER_ANY_BUILD");
    const std::string_view value = text != nullptr ? text : "0";
    if (value != "0" && value != "1") {
        throw std::invalid_argument("pilfer::cluster: PILFER_CLUSTER_ANY_BUILD is \"" + std::string(value) +
                                    "\", but must be 0 or 1");
    }
    return value == "1";
}

[[nodiscard]] program_facts without_builds(program_facts f) {
    f.build.clear();
    for (auto& t : f.tasks) {
        t.build.clear();
    }
    return f;
}

/// Of programs that differ in nothing else.
[[nodiscard]] std::string difference_of_builds(const program_facts& here, const program_facts& there) {
    const auto text = [](const std::string& what, const std::string& mine, const std::string& other) {
        return "another build of " + what + ", " + other + " instead of " + mine +
               " (PILFER_CLUSTER_ANY_BUILD=1 allows that)";
    };
    if (here.build.empty() || there.build.empty()) {
        return "";
    }
    if (here.build != there.build) {
        return text("the program", here.build, there.build);
    }
    for (std::size_t i = 0; i < here.tasks.size(); ++i) {
        if (here.tasks[i].build != there.tasks[i].build) {
            return text("the library with the task " + here.tasks[i].name, here.tasks[i].build,
                        there.tasks[i].build);
        }
    }
    return "";
}

} // namespace

cluster_task::cluster_task(const char* n, const char* t, std::size_t b, std::size_t r,
                           run_function f) noexcept
    : name(n), type(t), bytes(b), result_bytes(r), run(f), next(newest_task) {
    newest_task = this;
}

const std::vector<cluster_task*>& cluster_tasks() {
    // In the order of their names. Types of equal names, of two files, keep the order in which they were
    // entered, which is the same in each process of a program.
    static const std::vector<cluster_task*> tasks = [] {
        std::vector<cluster_task*> all;
        for (cluster_task* t = newest_task; t != nullptr; t = t->next) {
            t->number = static_cast<std::uint32_t>(all.size());
            all.push_back(t);
        }
        std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) {
            const int order = std::strcmp(a->type, b->type);
            return order != 0 ? order < 0 : a->number < b->number;
        });
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i]->number = static_cast<std::uint32_t>(i);
        }
        return all;
    }();
    return tasks;
}

std::vector<bound_word*>& cluster_bounds() {
    // Never destroyed, because a bound of another file may end later.
    static auto& bounds = *new std::vector<bound_word*>;
    return bounds;
}

bound_word::bound_word(const char* type, std::uint64_t worst) : m_type(type), m_worst(worst), m_bits(worst) {
    if (session_made.load(rlx)) {
        throw usage_error("pilfer::cluster: a bound is made before the session, as a global variable");
    }
    cluster_bounds().push_back(this);
}

bound_word::~bound_word() { std::erase(cluster_bounds(), this); }

program_facts facts_of_program() {
    program_facts facts;
    for (const cluster_task* t : cluster_tasks()) {
        facts.tasks.push_back({t->name, t->type, t->bytes, t->result_bytes});
    }
    for (const bound_word* b : cluster_bounds()) {
        facts.bounds.emplace_back(b->type(), b->worst());
    }
    if (!works_with_any_build()) {
        facts.build = builds_of_program().front();
        for (std::size_t i = 0; i < facts.tasks.size(); ++i) {
            facts.tasks[i].build = builds_of_program()[i + 1];
        }
    }
    return facts;
}

hello read_hello(std::span<const std::byte> bytes) {
    cluster::archive in(bytes);
    hello h = in.take<hello>();
    if (h.facts.wire == wire_version) {
        in.end();
    } else {
        h.who = "of an unknown name";
    }
    return h;
}

std::string difference(const program_facts& here, const program_facts& there) {
    if (here.wire != there.wire) {
        return "version " + std::to_string(there.wire) + " of pilfer's messages instead of " +
               std::to_string(here.wire);
    }
    const auto find = [](const program_facts& in, const program_facts::task& t) {
        return std::find_if(in.tasks.begin(), in.tasks.end(),
                            [&](const auto& other) { return other.type == t.type; });
    };
    for (const auto& t : here.tasks) {
        const auto other = find(there, t);
        if (other == there.tasks.end()) {
            return "no task " + t.name;
        }
        if (other->bytes != t.bytes || other->result_bytes != t.result_bytes) {
            return "a task " + t.name + " of " + std::to_string(other->bytes) + " bytes with a result of " +
                   std::to_string(other->result_bytes) + " bytes instead of " + std::to_string(t.bytes) +
                   " and " + std::to_string(t.result_bytes);
        }
    }
    for (const auto& t : there.tasks) {
        if (find(here, t) == here.tasks.end()) {
            return "one more task, " + t.name;
        }
    }
    if (here.bounds != there.bounds) {
        return std::to_string(there.bounds.size()) + " bounds instead of " +
               std::to_string(here.bounds.size()) + ", or bounds of other types or worst values";
    }
    return without_builds(here) == without_builds(there) ? difference_of_builds(here, there)
                                                         : "other tasks of the same names";
}

void throw_as_remote() {
    try {
        throw;
    } catch (const cluster::remote_error&) {
        throw;
    } catch (const stopped&) {
        throw;
    } catch (const std::exception& e) {
        throw cluster::remote_error(this_rank.load(rlx), e.what());
    } catch (...) {
        throw cluster::remote_error(this_rank.load(rlx), "an exception that is no std::exception");
    }
}

} // namespace detail

namespace cluster {

remote_error::remote_error(int where, const std::string& text) : std::runtime_error(text), rank(where) {}
remote_error::~remote_error() = default;
mismatch_error::~mismatch_error() = default;
queue_error::~queue_error() = default;

} // namespace cluster
} // namespace v0
} // namespace pilfer
