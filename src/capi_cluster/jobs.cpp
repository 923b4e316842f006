// Jobs of C, and joins of them.
#include "capi_cluster/jobs.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>

#include <pilfer/cancel.hpp>
#include <pilfer/error.hpp>

#include "capi/task.hpp"
#include "cluster/rank_work.hpp"
#include "cluster/tasks.hpp"

namespace pilfer {
inline namespace v0 {
namespace capi {
namespace {

constexpr std::size_t longest_name = 255;

[[nodiscard]] auto& jobs_by_name() {
    // Never destroyed, because the list of types refers to them.
    static auto& jobs = *new std::map<std::string, cluster_job*, std::less<>>;
    return jobs;
}

struct last_error {
    std::string text;
    int rank = -1;
};
thread_local last_error error_of_thread;

int keep_error(int code, const char* text, int rank = -1) noexcept {
    last_error& e = error_of_thread;
    e.rank = rank;
    try {
        e.text = text;
    } catch (const std::bad_alloc&) {
        e.text.clear();
    }
    return code;
}

/// A branch of a join on this rank.
struct branch_call {
    const cluster_job* job;
    const void* input;
    std::size_t size;
};
using branch_results = std::vector<cluster_bytes>;

/// Several branches of a join, for one shipment.
struct branches_task {
    std::vector<std::pair<std::uint32_t, cluster_bytes>> branches; // the number of each job, and its input
    branch_results operator()() const;
};
void serialize(cluster::archive& a, branches_task& t) { a(t.branches); }
constexpr const char* pilfer_cluster_name(const branches_task*) noexcept { return "branches of a join in C"; }

branch_results run_branches(std::span<const branch_call> all) {
    if (all.size() == 1) {
        branch_results one;
        one.push_back(call_job(*all[0].job, all[0].input, all[0].size));
        return one;
    }
    const auto first = all.first(all.size() - all.size() / 2);
    const auto rest = all.subspan(first.size());
    const auto left = [&] { return run_branches(first); };
    const auto right = [&] { return run_branches(rest); };
    const auto write = [&](cluster::archive& out) {
        branches_task t;
        for (const branch_call& b : rest) {
            const auto* begin = static_cast<const std::byte*>(b.input);
            t.branches.emplace_back(b.job->number, cluster_bytes(begin, begin + b.size));
        }
        out.put(t);
    };
    auto [a, b] = detail::fork_branches(detail::entry_of<branches_task>(), left, right, write);
    if (b.size() != rest.size()) { // another rank has sent them
        throw cluster::archive_error("results of another number");
    }
    for (cluster_bytes& one : b) {
        a.push_back(std::move(one));
    }
    return std::move(a);
}

branch_results branches_task::operator()() const {
    std::vector<branch_call> calls;
    for (const auto& [number, input] : branches) {
        calls.push_back({&job_of(number), input.data(), input.size()});
    }
    if (calls.empty()) {
        throw cluster::archive_error("a join of no branches");
    }
    return run_branches(calls);
}

void join(std::span<pilfer_cluster_branch> branches) {
    std::vector<branch_call> calls;
    for (const pilfer_cluster_branch& b : branches) {
        if (b.input == nullptr && b.size != 0) {
            throw std::invalid_argument("pilfer::cluster: a branch without its input");
        }
        calls.push_back({&job_of(b.name), b.input, b.size});
    }
    const branch_results results = run_branches(calls);
    for (std::size_t i = 0; i < results.size(); ++i) {
        branches[i].result = copy_for_c(results[i]);
        branches[i].result_size = results[i].size();
    }
}

} // namespace

cluster_job::cluster_job(const char* its_name, pilfer_cluster_function f)
    : cluster_job_name{its_name, std::string("job ") + its_name},
      cluster_task(text.c_str(), unique.c_str(), 0, 0, refuse), function(f) {}

void cluster_job::refuse(cluster::archive&, cluster::archive&) {
    throw cluster::archive_error("a job of C that does not travel so");
}

const cluster_job& job_of(const char* name) {
    const auto& jobs = jobs_by_name();
    const auto at = name != nullptr ? jobs.find(name) : jobs.end();
    if (at == jobs.end()) {
        throw std::invalid_argument("pilfer::cluster: no job has the name " +
                                    (name != nullptr ? '"' + std::string(name) + '"' : "NULL"));
    }
    return *at->second;
}

const cluster_job& job_of(std::uint32_t number) {
    const auto& tasks = detail::cluster_tasks();
    if (number >= tasks.size() || tasks[number]->run != cluster_job::refuse) {
        throw cluster::archive_error("a job of C that this program does not have");
    }
    return static_cast<const cluster_job&>(*tasks[number]);
}

cluster_bytes call_job(const cluster_job& job, const void* input, std::size_t size) {
    pilfer_cluster_job here;
    const int code = capi::call(job.function, &here, input, size);
    // A job that ends so without having been cancelled has failed: its caller gets the same error on any
    // rank.
    if (code == PILFER_ECANCELED && cancelled()) {
        throw stopped();
    }
    if (code == PILFER_EREMOTE && !here.error && here.remote) {
        throw *here.remote;
    }
    if (code == 0 && !here.lost) {
        return std::move(here.result);
    }
    std::string text = here.lost ? "no memory for the result of the job " + job.text
                                 : "the job " + job.text + " returned " + std::to_string(code);
    throw cluster::remote_error(detail::this_rank.load(detail::rlx), here.error.value_or(std::move(text)));
}

void* copy_for_c(const cluster_bytes& bytes) {
    if (bytes.empty()) {
        return nullptr;
    }
    void* copy = std::malloc(bytes.size());
    if (copy == nullptr) {
        throw std::bad_alloc();
    }
    return std::memcpy(copy, bytes.data(), bytes.size());
}

bool is_name(const char* text) noexcept {
    return text != nullptr && *text != '\0' && std::strlen(text) <= longest_name;
}

void require(bool holds, const char* what) {
    if (!holds) {
        throw std::invalid_argument(std::string("pilfer::cluster: ") + what);
    }
}

void refuse_name(const char* these, const char* name) {
    throw std::invalid_argument("pilfer::cluster: two " + std::string(these) + " have the name \"" + name +
                                '"');
}

int cluster_code_of_caught() noexcept {
    try {
        throw;
    } catch (const cluster::remote_error& e) {
        return keep_error(PILFER_EREMOTE, e.what(), e.rank);
    } catch (const stopped&) {
        return keep_error(PILFER_ECANCELED, "the task was stopped");
    } catch (const cluster::mismatch_error& e) {
        return keep_error(PILFER_EMISMATCH, e.what());
    } catch (const usage_error& e) {
        return keep_error(PILFER_EUSAGE, e.what());
    } catch (const std::bad_alloc& e) {
        return keep_error(PILFER_ENOMEM, e.what());
    } catch (const std::logic_error& e) { // invalid_argument, length_error
        return keep_error(PILFER_EINVAL, e.what());
    } catch (const std::exception& e) { // of MPI, of the job queue, of the system
        return keep_error(PILFER_ESYSTEM, e.what());
    } catch (...) {
        capi::escaped();
    }
}

} // namespace capi
} // namespace v0
} // namespace pilfer

using namespace pilfer::capi;

extern "C" int pilfer_cluster_register(const char* name, pilfer_cluster_function f) {
    return cluster_guarded([&] {
        require(is_name(name) && f != nullptr, "a job is a function with a name of 1 to 255 bytes");
        if (pilfer::detail::session_made.load(pilfer::detail::rlx)) {
            throw pilfer::usage_error("pilfer::cluster: jobs are registered before the session begins");
        }
        auto [at, is_new] = jobs_by_name().try_emplace(name);
        if (!is_new) {
            refuse_name("jobs", name);
        }
        try {
            at->second = new cluster_job(name, f);
        } catch (...) {
            jobs_by_name().erase(at);
            throw;
        }
    });
}

extern "C" int pilfer_cluster_write(pilfer_cluster_job* job, const void* data, size_t size) {
    return cluster_guarded([&] {
        require(job != nullptr && (data != nullptr || size == 0), "a result without its job or its bytes");
        try {
            const auto* begin = static_cast<const std::byte*>(data);
            job->result.insert(job->result.end(), begin, begin + size);
        } catch (...) {
            job->lost = true;
            throw std::bad_alloc();
        }
    });
}

extern "C" int pilfer_cluster_fail(pilfer_cluster_job* job, const char* text) {
    const int code = cluster_guarded([&] {
        require(job != nullptr && text != nullptr, "an error without its job or its text");
        job->error = text;
    });
    return code != 0 ? code : PILFER_EREMOTE;
}

extern "C" int pilfer_cluster_join(pilfer_cluster_job* job, pilfer_cluster_branch* branches, size_t count) {
    for (size_t i = 0; branches != nullptr && i < count; ++i) {
        branches[i].result = nullptr;
        branches[i].result_size = 0;
    }
    const int code = cluster_guarded([&] {
        require(job != nullptr && branches != nullptr && count != 0,
                "a join without its job or its branches");
        try {
            join({branches, count});
        } catch (const pilfer::cluster::remote_error& e) {
            job->remote = e;
            throw;
        }
    });
    for (size_t i = 0; code != 0 && branches != nullptr && i < count; ++i) {
        std::free(branches[i].result);
        branches[i].result = nullptr;
        branches[i].result_size = 0;
    }
    return code;
}

extern "C" const char* pilfer_cluster_error(int* rank) {
    const last_error& e = error_of_thread;
    if (rank != nullptr) {
        *rank = e.rank;
    }
    return e.text.c_str();
}
