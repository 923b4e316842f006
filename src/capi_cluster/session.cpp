// The session of a process, and its runs, for C.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

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
    detail::journal* journal;   // null: there is none
};

/// Elements that follow each other.
struct piece {
    std::size_t first; // its place in the array
    std::span<const std::byte> inputs;
    std::span<const detail::saved_part> saved; // its parts that are in the journal
};

/// A piece that travels.
struct elements_task {
    std::uint32_t job;
    bool is_reduction;
    bool has_journal;
    std::uint64_t size;
    std::uint64_t result_size;
    std::uint64_t most;
    std::uint64_t first;
    cluster_bytes inputs;
    std::vector<detail::saved_part> saved;

    /// Of the reduction in progress on this rank.
    static inline constinit std::atomic<const combination*> current{nullptr};
    cluster_bytes operator()() const;
};
void serialize(cluster::archive& a, elements_task& t) {
    a(t.job, t.is_reduction, t.has_journal, t.size, t.result_size, t.most, t.first, t.inputs, t.saved);
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

/// Of a piece that is not cut further.
[[nodiscard]] cluster_bytes run_part(const elements_call& c, const piece& p) {
    if (!p.saved.empty()) {
        cluster::archive in(p.saved.front().value);
        cluster_bytes sum = in.take<cluster_bytes>();
        check_size(sum, c.result_size);
        return sum;
    }
    cluster_bytes sum = call_one(c, p.inputs.data());
    for (std::size_t at = c.size; at < p.inputs.size(); at += c.size) {
        add(c, sum, call_one(c, p.inputs.data() + at));
    }
    if (c.journal != nullptr) {
        cluster::archive out;
        out.put(sum);
        c.journal->keep({p.first / c.most, std::move(out.bytes())});
    }
    return sum;
}

/// As in map_reduce(): the shape depends on the number of elements alone.
[[nodiscard]] std::pair<piece, piece> cut(const elements_call& c, const piece& p) {
    std::size_t half = c.most;
    while (2 * half < p.inputs.size() / c.size) {
        half *= 2;
    }
    const std::size_t middle = p.first + half;
    const auto is_right = [&](const detail::saved_part& s) { return s.part >= middle / c.most; };
    const auto saved = static_cast<std::size_t>(std::ranges::find_if(p.saved, is_right) - p.saved.begin());
    return {{p.first, p.inputs.first(half * c.size), p.saved.first(saved)},
            {middle, p.inputs.subspan(half * c.size), p.saved.subspan(saved)}};
}

[[nodiscard]] cluster_bytes run_elements(const elements_call& c, const piece& p) {
    const std::size_t count = p.inputs.size() / c.size;
    if (count <= c.most) {
        return run_part(c, p);
    }
    const auto [first, rest] = cut(c, p);
    const auto left = [&, &part = first] { return run_elements(c, part); };
    const auto right = [&, &part = rest] { return run_elements(c, part); };
    if (p.saved.size() == (count + c.most - 1) / c.most) { // nothing is left to run
        cluster_bytes sum = left();
        add(c, sum, right());
        return sum;
    }
    const auto write = [&, &part = rest](cluster::archive& out) {
        out.put(elements_task{c.job->number,
                              c.combine != nullptr,
                              c.journal != nullptr,
                              c.size,
                              c.result_size,
                              c.most,
                              part.first,
                              {part.inputs.begin(), part.inputs.end()},
                              {part.saved.begin(), part.saved.end()}});
    };
    auto [a, b] = detail::fork_branches(detail::entry_of<elements_task>(), left, right, write);
    check_size(b, c.combine != nullptr ? c.result_size : rest.inputs.size() / c.size * c.result_size);
    add(c, a, b);
    return std::move(a);
}

cluster_bytes elements_task::operator()() const {
    const combination* combine = is_reduction ? current.load(detail::acq) : nullptr; // run_map() on this rank
    detail::journal* journal = has_journal ? detail::journal::current.load(detail::acq) : nullptr;
    if ((is_reduction && combine == nullptr) || (has_journal && journal == nullptr)) {
        throw usage_error("pilfer::cluster: this rank is not inside the pilfer_cluster_reduce() or "
                          "pilfer_cluster_reduce_journaled() that another rank runs");
    }
    if (size == 0 || most == 0 || inputs.empty() || inputs.size() % size != 0) {
        throw cluster::archive_error("a part of a map that is no whole number of inputs");
    }
    if (journal != nullptr) { // whose parts are counted from 0
        const std::uint64_t parts = (inputs.size() / size - 1) / most + 1;
        if (first / most >= journal->parts() || parts > journal->parts() - first / most) {
            throw cluster::archive_error("a part of a map that its journal does not have");
        }
    }
    return run_elements({&job_of(job), size, result_size, most, combine, journal}, {first, inputs, saved});
}

/// The array of a map or a reduction.
struct elements {
    const char* job;
    const void* inputs;
    std::size_t count;
    std::size_t size;
    std::size_t result_size;
};

/// Throws std::invalid_argument.
void check_array(const elements& e, const void* results) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    require(e.size != 0 && e.result_size != 0, "elements of 0 bytes");
    require(e.count <= most / e.size && e.count <= most / e.result_size,
            "an array of more than PTRDIFF_MAX bytes");
    require(e.count == 0 || (e.inputs != nullptr && results != nullptr), "an array that is NULL");
}

/// The call that a journal belongs to. Two arrays of equal bytes are the same one.
[[nodiscard]] detail::journal_facts facts_of(const elements& e, const elements_call& c, const piece& all) {
    const std::string type = "pilfer_cluster_reduce_journaled " + std::to_string(e.size) + ' ' +
                             std::to_string(e.result_size) + ' ' +
                             std::to_string(detail::journal::checksum(all.inputs)) + ' ' + e.job;
    return {type, 0, e.count, c.most};
}

/// The results of all elements, or their combination. `path`, unless null, is that of a journal.
[[nodiscard]] cluster_bytes run_map(const elements& e, const combination* combine, const char* path) {
    constexpr std::size_t pieces = 8192; // at most, as in map_reduce()
    elements_call c{&job_of(e.job), e.size, e.result_size, (e.count + pieces - 1) / pieces, combine, nullptr};
    cluster::session& s = session_of_caller();
    const cluster_run here(session_access::core(s), detail::entry_of<elements_task>());
    const detail::set_while<const combination> mine(elements_task::current, combine);
    piece all{0, {static_cast<const std::byte*>(e.inputs), e.count * e.size}, {}};
    cluster_bytes results;
    if (path == nullptr) {
        results = session_access::run(s, here, [&] { return run_elements(c, all); });
    } else {
        detail::journal journal(s.rank() == 0, (e.count + c.most - 1) / c.most);
        const detail::set_while<detail::journal> kept(detail::journal::current, &journal);
        c.journal = &journal;
        results = session_access::run(s, here, [&] {
            const auto saved = journal.open(path, facts_of(e, c, all),
                                            [](cluster::archive& in) { (void)in.take<cluster_bytes>(); });
            all.saved = saved;
            return run_elements(c, all);
        });
    }
    check_size(results, combine != nullptr ? e.result_size : e.count * e.result_size);
    return results;
}

/// A reduction into `*result`.
void reduce(const elements& e, const combination& both, void* result, const char* path) {
    check_array(e, result);
    require(both.function != nullptr && result != nullptr, "a reduction without its function or its result");
    if (e.count != 0) {
        const cluster_bytes sum = run_map(e, &both, path);
        capi::call(both.function, result, static_cast<const void*>(sum.data()), both.arg);
    }
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
        const elements e{name, inputs, count, size, result_size};
        check_array(e, results);
        if (count != 0) {
            const cluster_bytes all = run_map(e, nullptr, nullptr);
            std::memcpy(results, all.data(), all.size());
        }
    });
}

extern "C" int pilfer_cluster_reduce(const char* name, const void* inputs, size_t count, size_t size,
                                     void (*combine)(void* left, const void* right, void* arg), void* arg,
                                     void* result, size_t result_size) {
    return cluster_guarded([&] {
        reduce({name, inputs, count, size, result_size}, {combine, arg}, result, nullptr);
    });
}

extern "C" int pilfer_cluster_reduce_journaled(const char* path, const char* name, const void* inputs,
                                               size_t count, size_t size,
                                               void (*combine)(void* left, const void* right, void* arg),
                                               void* arg, void* result, size_t result_size) {
    return cluster_guarded([&] {
        require(path != nullptr, "a journal without its path");
        reduce({name, inputs, count, size, result_size}, {combine, arg}, result, path);
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
