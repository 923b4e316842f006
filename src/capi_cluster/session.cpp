// The session of a process, and its runs, for C.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <thread>

#include <pilfer/error.hpp>

#include "capi/options.hpp"
#include "capi/task.hpp"
#include "capi_cluster/jobs.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

struct session_access {
    [[nodiscard]] static session_core& core(cluster::session& s) { return *s.m_core; }
    template <class F>
    [[nodiscard]] static auto run(cluster::session& s, const cluster_run& here, const F& f) {
        return s.run_root(here, f);
    }
};

} // namespace detail

namespace capi {
namespace {

using detail::cluster_run;
using detail::session_access;

// Of the process. A session that the program does not end is never destroyed: its destructor waits for the
// other ranks.
cluster::session* session = nullptr;
std::thread::id session_thread;

[[nodiscard]] cluster::session& session_of_caller() {
    if (session == nullptr) {
        throw usage_error("pilfer::cluster: there is no session");
    }
    return *session;
}

void require(bool holds, const char* what) {
    if (!holds) {
        throw std::invalid_argument(std::string("pilfer::cluster: ") + what);
    }
}

/// The function that makes two results one.
struct combination {
    void (*function)(void* left, const void* right, void* arg);
    void* arg;
};

/// A map or a reduction, as one rank runs it.
struct elements_call {
    const cluster_job* job;
    std::size_t size;
    std::size_t result_size;
    std::size_t most;           // elements of a piece that is not cut further
    const combination* combine; // null: the results follow each other
};

/// A piece of a map or a reduction.
struct elements_task {
    std::uint32_t job;
    bool is_reduction;
    std::uint64_t size;
    std::uint64_t result_size;
    std::uint64_t most;
    cluster_bytes inputs;

    /// Of the reduction in progress on this rank.
    static inline constinit std::atomic<const combination*> current{nullptr};
    cluster_bytes operator()() const;
};
void serialize(cluster::archive& a, elements_task& t) {
    a(t.job, t.is_reduction, t.size, t.result_size, t.most, t.inputs);
}
constexpr const char* pilfer_cluster_name(const elements_task*) noexcept { return "part of a map in C"; }

void add(const elements_call& c, cluster_bytes& a, const cluster_bytes& b) {
    if (c.combine != nullptr) {
        capi::call(c.combine->function, static_cast<void*>(a.data()), static_cast<const void*>(b.data()),
                   c.combine->arg);
    } else {
        a.insert(a.end(), b.begin(), b.end());
    }
}

/// Throws archive_error: another rank has sent results of another size.
void check_size(const cluster_bytes& results, std::size_t bytes) {
    if (results.size() != bytes) {
        throw cluster::archive_error("results of another size");
    }
}

[[nodiscard]] cluster_bytes call_one(const elements_call& c, const std::byte* input) {
    cluster_bytes result = call_job(*c.job, input, c.size);
    if (result.size() != c.result_size) {
        throw std::runtime_error("the job " + c.job->text + " has written " + std::to_string(result.size()) +
                                 " bytes instead of " + std::to_string(c.result_size));
    }
    return result;
}

[[nodiscard]] cluster_bytes run_elements(const elements_call& c, std::span<const std::byte> inputs) {
    const std::size_t count = inputs.size() / c.size;
    if (count > c.most) {
        // As in map_reduce(): the shape depends on the number of elements alone.
        std::size_t half = c.most;
        while (2 * half < count) {
            half *= 2;
        }
        const auto first = inputs.first(half * c.size);
        const auto rest = inputs.subspan(half * c.size);
        const auto left = [&] { return run_elements(c, first); };
        const auto right = [&] { return run_elements(c, rest); };
        const auto write = [&](cluster::archive& out) {
            out.put(elements_task{c.job->number,
                                  c.combine != nullptr,
                                  c.size,
                                  c.result_size,
                                  c.most,
                                  {rest.begin(), rest.end()}});
        };
        auto [a, b] = detail::fork_branches(detail::entry_of<elements_task>(), left, right, write);
        check_size(b, c.combine != nullptr ? c.result_size : (count - half) * c.result_size);
        add(c, a, b);
        return std::move(a);
    }
    cluster_bytes sum = call_one(c, inputs.data());
    for (std::size_t i = 1; i < count; ++i) {
        add(c, sum, call_one(c, inputs.data() + i * c.size));
    }
    return sum;
}

cluster_bytes elements_task::operator()() const {
    const combination* combine =
        is_reduction ? current.load(detail::acq) : nullptr; // reduction_of() on this rank
    if (is_reduction && combine == nullptr) {
        throw usage_error(
            "pilfer::cluster: this rank is not inside the pilfer_cluster_reduce() that another rank runs");
    }
    if (size == 0 || most == 0 || inputs.empty() || inputs.size() % size != 0) {
        throw cluster::archive_error("a part of a map that is no whole number of inputs");
    }
    return run_elements({&job_of(job), size, result_size, most, combine}, inputs);
}

/// The results of all elements, or their combination.
[[nodiscard]] cluster_bytes run_map(const char* name, const void* inputs, std::size_t count, std::size_t size,
                                    std::size_t result_size, const combination* combine) {
    constexpr std::size_t pieces = 8192; // at most, as in map_reduce()
    const elements_call c{&job_of(name), size, result_size, (count + pieces - 1) / pieces, combine};
    cluster::session& s = session_of_caller();
    const cluster_run here(session_access::core(s), detail::entry_of<elements_task>());
    const detail::set_while<const combination> mine(elements_task::current, combine);
    const std::span all(static_cast<const std::byte*>(inputs), count * size);
    cluster_bytes results = session_access::run(s, here, [&] { return run_elements(c, all); });
    check_size(results, combine != nullptr ? result_size : count * result_size);
    return results;
}

void check_array(const void* inputs, std::size_t count, std::size_t size, const void* results,
                 std::size_t result_size) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    require(size != 0 && result_size != 0, "elements of 0 bytes");
    require(count <= most / size && count <= most / result_size, "an array of more than PTRDIFF_MAX bytes");
    require(count == 0 || (inputs != nullptr && results != nullptr), "an array that is NULL");
}

} // namespace
} // namespace capi
} // namespace v0
} // namespace pilfer

using namespace pilfer::capi;
using pilfer::capi::session; // the object, not the class

extern "C" int pilfer_cluster_begin(int argc, char** argv, const pilfer_options* options) {
    return cluster_guarded([&] {
        require(argc >= 0 && (argc == 0 || argv != nullptr), "the arguments of main() are NULL");
        session = new pilfer::cluster::session(argc, argv,
                                               options != nullptr ? options->values : pilfer::options{});
        session_thread = std::this_thread::get_id();
    });
}

extern "C" int pilfer_cluster_end(void) {
    return cluster_guarded([] {
        pilfer::cluster::session& s = session_of_caller();
        if (pilfer::detail::this_worker() != nullptr || std::this_thread::get_id() != session_thread) {
            throw pilfer::usage_error("pilfer::cluster: the thread that began a session ends it");
        }
        session = nullptr;
        delete &s;
    });
}

extern "C" int pilfer_cluster_rank(void) { return session != nullptr ? session->rank() : -1; }
extern "C" int pilfer_cluster_size(void) { return session != nullptr ? session->size() : 0; }
extern "C" pilfer_pool* pilfer_cluster_pool(void) {
    return session != nullptr ? reinterpret_cast<pilfer_pool*>(&session->pool()) : nullptr;
}

extern "C" int pilfer_cluster_run(const char* name, const void* input, size_t size, void** result,
                                  size_t* result_size) {
    if (result != nullptr) {
        *result = nullptr;
    }
    return cluster_guarded([&] {
        require(result != nullptr && result_size != nullptr && (input != nullptr || size == 0),
                "a run without its input or its result");
        *result_size = 0;
        auto& job = const_cast<cluster_job&>(job_of(name));
        pilfer::cluster::session& s = session_of_caller();
        const cluster_run here(session_access::core(s), job);
        const cluster_bytes bytes = session_access::run(s, here, [&] { return call_job(job, input, size); });
        *result = copy_for_c(bytes);
        *result_size = bytes.size();
    });
}

extern "C" int pilfer_cluster_map(const char* name, const void* inputs, size_t count, size_t size,
                                  void* results, size_t result_size) {
    return cluster_guarded([&] {
        check_array(inputs, count, size, results, result_size);
        if (count != 0) {
            const cluster_bytes all = run_map(name, inputs, count, size, result_size, nullptr);
            std::memcpy(results, all.data(), all.size());
        }
    });
}

extern "C" int pilfer_cluster_reduce(const char* name, const void* inputs, size_t count, size_t size,
                                     void (*combine)(void* left, const void* right, void* arg), void* arg,
                                     void* result, size_t result_size) {
    return cluster_guarded([&] {
        check_array(inputs, count, size, result, result_size);
        require(combine != nullptr && result != nullptr, "a reduction without its function or its result");
        if (count != 0) {
            const combination both{combine, arg};
            const cluster_bytes sum = run_map(name, inputs, count, size, result_size, &both);
            pilfer::capi::call(combine, result, static_cast<const void*>(sum.data()), arg);
        }
    });
}

extern "C" int pilfer_cluster_rank_stats(int rank, struct pilfer_cluster_stats* out) {
    return cluster_guarded([&] {
        const auto all = session_of_caller().stats();
        require(out != nullptr && rank >= 0 && static_cast<std::size_t>(rank) < all.size(),
                "figures of a rank that does not exist");
        const pilfer::cluster::rank_stats& s = all[static_cast<std::size_t>(rank)];
        *out = {s.messages, s.bytes, s.asks, s.thefts, s.tasks_in, s.tasks_out, s.idle_ns};
    });
}
